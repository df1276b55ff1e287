"""Binomial probabilities as intervals of integers: every number is enclosed, no rounding is left to chance.

An interval (low, high) stands for low / 2**BITS <= x <= high / 2**BITS. Single probabilities come from Stirling's
series with its error bound, in decimal arithmetic; neighbours follow from them by exact ratios, rounded outwards.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import factorial

BITS = 192  # fractional bits of an interval's ends: rounding moves a bound by at most 2**-192 a step

_DIGITS = 120  # decimal digits of a logarithm: those of 10**9 factorials have ten before the point
_KNOWN = 64  # binary digits of a tail that are computed
_SMALL = 3000  # factorials below this are multiplied out
# Numerators and denominators of B_2j / (2j (2j - 1)), Stirling's series. At 3000 the first one left out is below 1e-60.
_STIRLING = (
    (1, 12),
    (-1, 360),
    (1, 1260),
    (-1, 1680),
    (1, 1188),
    (-691, 360360),
    (1, 156),
    (-3617, 122400),
    (43867, 244188),
    (-174611, 125400),
)
_LEFT_OUT = Fraction(77683, 5796)  # the coefficient after those: the error is below it times n**-(2 * 11 - 1)

# pi to 120 digits; the digits of its logarithm follow.
_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328"
    "2306647"
)

Interval = tuple[int, int]


def _log_factorial(n: int) -> tuple[Decimal, Decimal]:
    """ln n! and a bound of its error; needs a context of `_DIGITS` digits."""
    if n < _SMALL:
        return Decimal(factorial(n)).ln(), Decimal(10) ** (12 - _DIGITS)
    x = Decimal(n)
    series = sum((Decimal(a) / b / x ** (2 * j + 1) for j, (a, b) in enumerate(_STIRLING)), Decimal(0))
    value = (x + Decimal("0.5")) * x.ln() - x + (2 * _PI).ln() / 2 + series
    left_out = Decimal(_LEFT_OUT.numerator) / _LEFT_OUT.denominator / x ** (2 * len(_STIRLING) + 1)
    return value, left_out + Decimal(10) ** (12 - _DIGITS) * (1 + x)


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def probability(n: int, p: Fraction, k: int) -> Interval:
    """P(Binomial(n, p) = k), enclosed.

    Parameters
    ----------
    n : int
        Trials, up to 10**12.
    p : Fraction
        The chance of one, above 0 and below 1.
    k : int
        Successes.

    Examples
    --------
    >>> low, high = probability(10, Fraction(1, 2), 5)
    >>> low / 2**BITS <= 252 / 1024 <= high / 2**BITS, high - low < 2**64
    (True, True)
    """
    with localcontext() as context:
        context.prec = _DIGITS
        logs = [_log_factorial(n), _log_factorial(k), _log_factorial(n - k)]
        chances = k * _decimal(p).ln() + (n - k) * _decimal(1 - p).ln()
        value = logs[0][0] - logs[1][0] - logs[2][0] + chances
        error = sum((each[1] for each in logs), Decimal(10) ** (12 - _DIGITS) * (1 + abs(chances)))
        scale = Decimal(2) ** BITS
        # exp is correctly rounded, so one more unit of its last digit on each side encloses it.
        slack = 1 + Decimal(10) ** (4 - _DIGITS)
        return int((value - error).exp() * scale / slack), int((value + error).exp() * scale * slack) + 1


def scaled(value: Interval, numerator: int, denominator: int) -> Interval:
    """The interval times a ratio that is not negative, rounded outwards.

    Parameters
    ----------
    value : Interval
        What to multiply.
    numerator, denominator : int
        The ratio: at least 0, above 0.

    Examples
    --------
    >>> scaled((10, 11), 1, 3)
    (3, 4)
    """
    return value[0] * numerator // denominator, -(-value[1] * numerator // denominator)


@dataclass(frozen=True, slots=True)
class BinomialWindow:
    """Probabilities of successive values of a binomial variable, and how likely it is outside of them.

    Examples
    --------
    >>> window = BinomialWindow.around(100, Fraction(1, 2), cut=Fraction(1, 10**9))
    >>> window.first, window.last, float(window.outside) < 1e-9
    (19, 81, True)
    """

    first: int
    values: tuple[Interval, ...]
    outside: Fraction

    @property
    def last(self) -> int:
        """The last value that it holds."""
        return self.first + len(self.values) - 1

    @classmethod
    @lru_cache(maxsize=4)  # a search looks at one window many times; the largest has some 10**5 values
    def around(cls, n: int, p: Fraction, cut: Fraction) -> "BinomialWindow":
        """All values of Binomial(n, p) but for tails of at most `cut` in all; zeros stand beyond 0 and n.

        Parameters
        ----------
        n : int
            Trials.
        p : Fraction
            The chance of one, above 0 and at most 1.
        cut : Fraction
            What the two tails may have.

        Examples
        --------
        >>> whole = BinomialWindow.around(2, Fraction(1, 2), cut=Fraction(0))
        >>> whole.first, [round(low / 2**BITS, 9) for low, _ in whole.values]
        (-1, [0.0, 0.25, 0.5, 0.25, 0.0])
        """
        if n == 0 or p == 1:
            return cls(n - 1, ((0, 0), (1 << BITS, 1 << BITS), (0, 0)), Fraction(0))
        mode = min(int((n + 1) * p), n)
        centre = probability(n, p, mode)
        a, b = p.numerator, p.denominator - p.numerator
        below, above = [], []
        outside = Fraction(0)
        limit = int(cut / 2 * (1 << BITS))
        value, k = centre, mode
        while True:  # down: P(k - 1) = P(k) k (1 - p) / ((n - k + 1) p), and so on, each ratio below the one before
            top, bottom = k * b, (n - k + 1) * a
            if top < bottom and value[1] * bottom <= limit * (bottom - top):
                outside += Fraction(value[1], 1 << BITS) * Fraction(bottom, bottom - top)
                break
            value, k = scaled(value, top, bottom), k - 1
            below.append(value)
            if k < 0:
                break
        first = k
        value, k = centre, mode
        while True:
            top, bottom = (n - k) * a, (k + 1) * b
            if top < bottom and value[1] * bottom <= limit * (bottom - top):
                outside += Fraction(value[1], 1 << BITS) * Fraction(bottom, bottom - top)
                break
            value, k = scaled(value, top, bottom), k + 1
            above.append(value)
            if k > n:
                break
        return cls(first, (*reversed(below), centre, *above), outside)


def tail(n: int, p: Fraction, k: int) -> Interval:
    """P(Binomial(n, p) >= k), enclosed, for 1 <= k <= n.

    Parameters
    ----------
    n : int
        Trials.
    p : Fraction
        The chance of one, above 0 and below 1.
    k : int
        The least number that counts.

    Examples
    --------
    >>> low, high = tail(4, Fraction(1, 2), 3)
    >>> low / 2**BITS <= 5 / 16 <= high / 2**BITS
    True
    """
    a, b = p.numerator, p.denominator - p.numerator
    value = probability(n, p, k)
    low, high = value
    while k < n:
        top, bottom = (n - k) * a, (k + 1) * b
        if top < bottom:
            # The ratios only fall, so what is left is at most a geometric series.
            left = -(-value[1] * top // (bottom - top))
            if left <= max(high >> _KNOWN, 1):
                return low, high + left
        value, k = scaled(value, top, bottom), k + 1
        low, high = low + value[0], high + value[1]
    return low, high
