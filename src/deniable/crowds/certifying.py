"""Where a certified curve falls to delta: few looks at it, because each costs a walk over a whole crowd.

Sums of many reports are nearly normal, so one look at the curve says about which pair of normal laws it is like, and
that says where to look next. The normal law only guides: what is returned was looked at.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from deniable.crowds.blanket import Blanket
from deniable.crowds.divergence import Pair
from deniable.mechanisms import exp_bounds

PRECISION = 1e-4  # of epsilon, relative: how close the search comes to the certified curve
_BITS = 96  # fractional bits of e**epsilon
_CUT = 10**-4  # of delta: how much of the numbers of others a sum may leave out
_LOOKS = 60  # at a curve, at most


def certified_above(blankets: Sequence[Blanket], n: int, delta: float, *, cohorts: int, largest: float) -> float:
    """An epsilon at which no two crowds are told apart with more than delta, close to the least.

    Parameters
    ----------
    blankets : sequence of Blanket
        What two answers may be.
    n : int
        People, the one included.
    delta : float
        The limit.
    cohorts : int
        Cohorts of the survey.
    largest : float
        An epsilon for which that is known.

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.crowds.variations import variation_of
    >>> variation = variation_of(dn.krr(symbols=3, epsilon=1))
    >>> above = certified_above(variation.blankets, 1000, 1e-6, cohorts=1, largest=1)
    >>> below = certified_below(variation.attained[0], 1000, 1e-6, largest=1)
    >>> below < above < 1.01 * below
    True
    """
    limit, found = Fraction(delta), 0.0

    def curve(blanket: Blanket, epsilon: float) -> Fraction:
        return divergence_above(blanket, n, epsilon, delta, cohorts=cohorts)

    for blanket in blankets:
        if found and (found >= largest or curve(blanket, found) <= limit):
            continue
        hiding = max(int((n - 1) * blanket.mass / cohorts), 0) + 1
        guess = normal_epsilon(blanket.pair, hiding, delta)
        found = max(found, _search(partial(curve, blanket), guess, delta, largest)[1])
    return found


def divergence_above(blanket: Blanket, n: int, epsilon: float, delta: float, *, cohorts: int) -> Fraction:
    """An upper bound of how far apart two crowds are at one epsilon, to a share of delta.

    Parameters
    ----------
    blanket : Blanket
        What two answers may be.
    n : int
        People, the one included.
    epsilon : float
        In nats.
    delta : float
        What it will be compared with.
    cohorts : int
        Cohorts of the survey.
    """
    odds = Fraction(exp_bounds(Fraction(epsilon), _BITS)[0], 1 << _BITS)
    return blanket.divergence(n, odds, cut=Fraction(delta) * Fraction(_CUT), cohorts=cohorts)


def certified_below(pair: Pair, n: int, delta: float, *, largest: float) -> float:
    """An epsilon at which two crowds are told apart with more than delta, close to the largest; or 0.

    Parameters
    ----------
    pair : Pair
        The pair.
    n : int
        People, the one included.
    delta : float
        The limit.
    largest : float
        An epsilon for which that is not so.
    """

    def curve(epsilon: float) -> Fraction:
        odds = Fraction(exp_bounds(Fraction(epsilon), _BITS)[1], 1 << _BITS)
        return pair.divergence(n, odds, Fraction(delta) * Fraction(_CUT))[0]

    return _search(curve, normal_epsilon(pair, n, delta), delta, largest, from_below=True)[0]


def _search(
    curve: Callable[[float], Fraction], guess: float, delta: float, high: float, *, from_below: bool = False
) -> tuple[float, float]:
    """Above delta at the first number (or it is 0), at most delta at the second; the wanted one is within PRECISION."""
    limit, low = Fraction(delta), 0.0
    side = -PRECISION / 3 if from_below else PRECISION / 3
    middle = guess * (1 + side) if guess < high else high / 2
    for _ in range(_LOOKS):
        value = curve(middle)
        certain = value <= limit
        low, high = (low, middle) if certain else (middle, high)
        root = _crossing(middle, float(value), delta)
        near = abs(root - middle) <= PRECISION * middle
        if high - low <= PRECISION * high or (near and certain is not from_below):
            break
        if near:
            side *= 2  # the right distance, on the wrong side
        following = root * (1 + side)
        middle = following if low < following < high else (low + high) / 2
        if high < 1e-12:
            break
    return low, high


def normal_epsilon(pair: Pair, n: int, delta: float) -> float:
    """About the epsilon of a crowd, if its counts were normal; it certifies nothing.

    Parameters
    ----------
    pair : Pair
        The pair.
    n : int
        People, the one included.
    delta : float
        The limit.

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.crowds.variations import variation_of
    >>> round(normal_epsilon(variation_of(dn.krr(symbols=100, epsilon=4)).attained[0], 100_000, 1e-6), 4)
    0.0685
    """
    first, second, others = ((*each, 1 - sum(each)) for each in (pair.first, pair.second, pair.others))
    kinds = zip(first, second, others, strict=True)
    mean = math.sqrt(sum(float((p - q) ** 2 / other) for p, q, other in kinds if other) / n)
    return _largest(lambda epsilon: _normal(mean, epsilon) > delta / float(pair.share), 64.0)


def _crossing(epsilon: float, value: float, delta: float) -> float:
    """Where the curve of the normal laws that goes through (epsilon, value) falls to delta."""
    if value <= 0:
        return 0.0
    mean = _largest(lambda mean: _normal(mean, epsilon) < value, 1e3)
    return _largest(lambda epsilon: _normal(mean, epsilon) > delta, 64.0)


def _largest(holds: Callable[[float], bool], high: float) -> float:
    """The largest positive number for which something holds that holds for small ones only."""
    low = 1e-15
    for _ in range(64):  # halving the exponent first: numbers from 1e-15 to 1e3 are all alike
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _normal(mean: float, epsilon: float) -> float:
    """The divergence of normal laws of deviation 1 whose means are so far apart."""
    above, below = (epsilon / mean - mean / 2) / math.sqrt(2), (epsilon / mean + mean / 2) / math.sqrt(2)
    tail = math.erfc(below)
    return 0.5 * (math.erfc(above) - (math.exp(epsilon) * tail if tail else 0.0))
