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

from deniable.crowd.binomials import BITS, Interval, Window, probability, scaled, tail


@dataclass(frozen=True, slots=True)
class Pair:
    """What one person's report may be under two answers, and what the others' are.

    Parameters
    ----------
    first, second : tuple of Fraction
        The chances that the report speaks for the first and for the second answer, under each of the two.
    others : tuple of Fraction
        The same for each of the others.

    Examples
    --------
    >>> half, tenth = Fraction(1, 2), Fraction(1, 10)
    >>> low, high = Pair((half, tenth), (tenth, half), (tenth, tenth)).divergence(100, Fraction(2))
    >>> 0 < low <= high < low + Fraction(1, 10**9), round(float(high), 6)
    (True, 0.016606)
    """

    first: tuple[Fraction, Fraction]
    second: tuple[Fraction, Fraction]
    others: tuple[Fraction, Fraction]

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
        window = Window.around(m, s, cut)
        # P > odds Q at (a, t - a) where one a / u + two (t - a) / v + rest (m + 1 - t) / (1 - s) > 0: exact integers.
        line = [one / u, two / v, rest / (1 - s) if s < 1 else Fraction(0)]
        scale = lcm(*(each.denominator for each in line))
        first, second, third = (int(each * scale) for each in line)
        edge = _Edge(u / s)
        common = lcm(one.denominator, two.denominator, rest.denominator)
        weights = tuple(int(each * common) for each in (one, two, rest))
        low = high = 0
        for t in range(window.first + 1, window.last + 1):
            least = (-second * t - third * (m + 1 - t)) // (first - second) + 1  # the least a that counts
            before, here = window.values[t - 1 - window.first], window.values[t - window.first]
            if least > t:
                continue
            terms = edge.at(t, least) if least > 0 else (_ALL, _ALL, _ALL)
            low += _total(weights, terms, before, here, 0)
            high += _total(weights, terms, before, here, 1)
        unit = common << 2 * BITS
        return max(Fraction(low, unit), Fraction(0)), Fraction(high, unit) + window.outside


_ALL: Interval = (1 << BITS, 1 << BITS)


def _total(
    weights: tuple[int, ...], terms: tuple[Interval, Interval, Interval], before: Interval, here: Interval, side: int
) -> int:
    """One side of what all (a, t - a) with a from the threshold on add: the first weight is positive, the others not."""
    (more, same, both), other = terms, 1 - side
    return (
        weights[0] * more[side] * before[side]
        + weights[1] * same[other] * before[other]
        + weights[2] * both[other] * here[other]
    )


_UNITS, _DIGITS = 1 << 24, 32  # an interval wider than so many units must know at least so many binary digits


def _loose(value: Interval) -> bool:
    """Whether steps have widened an interval: those that began next to nothing may grow to something."""
    width = value[1] - value[0]
    return width > _UNITS and width << _DIGITS > value[1]


class _Edge:
    """Tails of binomial variables along a line: each follows from the one before in a few exact steps."""

    def __init__(self, p: Fraction) -> None:
        self.p = p
        self.a, self.b = p.numerator, p.denominator - p.numerator
        self.t = self.k = 0

    def at(self, t: int, k: int) -> tuple[Interval, Interval, Interval]:
        """P(X >= k - 1), P(X >= k) and P(X + Bernoulli >= k) for X ~ Binomial(t - 1, p) and 1 <= k <= t."""
        if self.t == 0 or t != self.t + 1 or abs(k - self.k) > 64 or _loose(self.point) or _loose(self.tail):
            self._start(t, k)
        else:
            self._next(t)
            while self.k < k:
                self._up()
            while self.k > k:
                self._down()
        (point, here), whole = (self.point, self.tail), self.a + self.b
        step = scaled(point, self.a, whole)
        return (here[0] + point[0], here[1] + point[1]), here, (here[0] + step[0], here[1] + step[1])

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
