"""How far apart two crowds can be told that differ in one person, certified from both sides.

What anyone sees of a mixed crowd is how many reports of each kind it holds. For a pair of answers the kinds are three:
reports that speak for the first answer, those that speak for the second, and the rest. n - 1 others add (A, B) to the
first two, trinomial with chances (u, v); the one person adds one to either, or to none, with chances that depend on
the answer. The divergence is the sum of max(0, P - odds Q) over all (a, b): the delta of (ln odds, delta)-differential
privacy. Given t = a + b, P > odds Q exactly for a above a threshold that is linear in t, so the whole sum is one
walk along that line over t, with a binomial tail that is carried from each t to the next.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from deniable.crowds.binomials import BITS, BinomialWindow, Interval, probability, scaled, tail


@dataclass(frozen=True, slots=True)
class Pair:
    """What one person's report may be under two answers, and what the others' are.

    Parameters
    ----------
    first, second : tuple of Fraction
        The chances that the report speaks for the first and for the second answer, under each of the two.
    others : tuple of Fraction
        The same for each of the others.
    share : Fraction
        In which share of the cohorts that is so; elsewhere nothing is told.

    Examples
    --------
    >>> half, tenth = Fraction(1, 2), Fraction(1, 10)
    >>> low, high = Pair((half, tenth), (tenth, half), (tenth, tenth)).divergence(100, Fraction(2))
    >>> 0 < low <= high < low + Fraction(1, 10**9), round(float(high), 6)
    (True, 2e-06)
    """

    first: tuple[Fraction, Fraction]
    second: tuple[Fraction, Fraction]
    others: tuple[Fraction, Fraction]
    share: Fraction = Fraction(1)

    def divergence(self, n: int, odds: Fraction, cut: Fraction = Fraction(1, 10**12)) -> tuple[Fraction, Fraction]:
        """A lower and an upper bound of the divergence of a crowd of n.

        Parameters
        ----------
        n : int
            People, the one included.
        odds : Fraction
            e**epsilon, at least 1.
        cut : Fraction
            How much of the numbers of others may be left out of the sum; the upper bound has it added.
        """
        (u, v), m = self.others, n - 1
        one, two = (p - odds * q for p, q in zip(self.first, self.second, strict=True))
        rest = (1 - sum(self.first)) - odds * (1 - sum(self.second))
        if one <= 0:
            return Fraction(0), Fraction(0)
        if two > 0 or rest > 0:
            raise RuntimeError("a pair of answers must not have two kinds of reports that speak for the first")
        s = u + v
        window = BinomialWindow.around(m, s, cut)
        # P > odds Q at (a, t - a) where one a / u + two (t - a) / v + rest (m + 1 - t) / (1 - s) > 0: exact integers.
        line = [one / u, two / v, rest / (1 - s) if s < 1 else Fraction(0)]
        scale = lcm(*(each.denominator for each in line))
        first, second, third = (int(each * scale) for each in line)
        before_tail, before_point, here_tail, here_point = _walk(
            window, u / s, (-third * (m + 1), third - second, first - second)
        )
        unit, p = 1 << 2 * BITS, u / s

        def total(side: int) -> Fraction:
            """One end of the sum: the first weight is positive, the others are not."""
            other = 1 - side
            more = before_tail[side] + before_point[side]  # the report speaks for the first, so a - 1 others suffice
            both = here_tail[other] + p * here_point[other]
            return (one * more + two * before_tail[other] + rest * both) / unit

        return self.share * max(total(0), Fraction(0)), self.share * (total(1) + window.outside)


def _walk(
    window: BinomialWindow, p: Fraction, line: tuple[int, int, int]
) -> tuple[Interval, Interval, Interval, Interval]:
    """Sums over all t of a window of P(T = t - 1) P(X >= k), P(T = t - 1) P(X = k - 1), and both with P(T = t).

    T others speak for either answer; X ~ Binomial(t - 1, p) of t - 1 such for the first. `line` (c, d, e) says that k,
    the least number that counts, is floor((c + d t) / e) + 1. The unit is 2**(-2 BITS).
    """
    edge = _Edge(p)
    constant, slope, unit = line
    step, rise = divmod(slope, unit)
    start = window.first + 1
    whole, remainder = divmod(constant + slope * start, unit)
    # Plain integers, not intervals of them: this loop is what a certificate costs.
    a = b = c = d = e = f = g = h = 0
    before_low, before_high = window.values[0]
    for t, (here_low, here_high) in enumerate(window.values[1:], start):
        k = whole + 1
        whole, remainder = whole + step, remainder + rise
        if remainder >= unit:
            whole, remainder = whole + 1, remainder - unit
        if k <= t:
            if k > 0:
                edge.move(t, k)
                (tail_low, tail_high), (point_low, point_high) = edge.tail, edge.point
            else:
                (tail_low, tail_high), (point_low, point_high) = _ALL, (0, 0)
            a, b = a + before_low * tail_low, b + before_high * tail_high
            c, d = c + before_low * point_low, d + before_high * point_high
            e, f = e + here_low * tail_low, f + here_high * tail_high
            g, h = g + here_low * point_low, h + here_high * point_high
        before_low, before_high = here_low, here_high
    return (a, b), (c, d), (e, f), (g, h)


_ALL: Interval = (1 << BITS, 1 << BITS)  # a probability of 1
_UNITS, _DIGITS = 1 << 24, 32  # an interval wider than so many units must know at least so many binary digits


def _loose(value: Interval) -> bool:
    """Whether steps have widened an interval: those that began next to nothing may grow to something."""
    width = value[1] - value[0]
    return width > _UNITS and width << _DIGITS > value[1]


class _Edge:
    """P(X = k - 1) and P(X >= k) of X ~ Binomial(t - 1, p) along a line: each follows from the one before."""

    def __init__(self, p: Fraction) -> None:
        self.p = p
        self.a, self.b = p.numerator, p.denominator - p.numerator
        self.t = self.k = 0
        self.point = self.tail = (0, 0)

    def move(self, t: int, k: int) -> None:
        """To t and k, for 1 <= k <= t; in a few exact steps where it comes from t - 1 and a near k."""
        if self.t == 0 or t != self.t + 1 or abs(k - self.k) > 64 or _loose(self.point) or _loose(self.tail):
            self._start(t, k)
            return
        self._next(t)
        while self.k < k:
            self._up()
        while self.k > k:
            self._down()

    def _start(self, t: int, k: int) -> None:
        self.t, self.k = t, k
        if t == 1:
            self.point, self.tail = _ALL, (0, 0)
            return
        self.point = probability(t - 1, self.p, k - 1)
        self.tail = tail(t - 1, self.p, k) if k < t else (0, 0)

    def _next(self, t: int) -> None:
        """From t - 1 to t trials: the tail gains what is just below it, times p."""
        gain = scaled(self.point, self.a, self.a + self.b)
        self.tail = self.tail[0] + gain[0], self.tail[1] + gain[1]
        self.point = scaled(self.point, (t - 1) * self.b, (t - self.k) * (self.a + self.b))
        self.t = t

    def _up(self) -> None:
        point = scaled(self.point, (self.t - self.k) * self.a, self.k * self.b)
        self.tail = max(self.tail[0] - point[1], 0), max(self.tail[1] - point[0], 0)
        self.point, self.k = point, self.k + 1

    def _down(self) -> None:
        self.tail = self.tail[0] + self.point[0], self.tail[1] + self.point[1]
        self.k -= 1
        self.point = scaled(self.point, self.k * self.b, (self.t - self.k) * self.a)
