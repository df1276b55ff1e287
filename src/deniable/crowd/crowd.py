"""`crowd`: the central epsilon of a mixed crowd, certified.

Whoever sees only how many reports of each kind there are learns less about one person than the report itself would
tell: the others' reports hide it. Not to be confused with a survey's own epsilon, which holds against everyone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from deniable.crowd.divergence import Pair
from deniable.crowd.variations import most_telling, variation_of
from deniable.errors import SurveyError
from deniable.mechanisms import check_size
from deniable.mechanisms.odds import exp_bounds
from deniable.survey import Survey

MAX_PEOPLE = 10**12  # people, at most: logarithms of factorials are computed to 120 digits

_BITS = 96  # fractional bits of e**epsilon
_PRECISION = 1e-5  # of epsilon, relative: how close the search comes to the certified curve


@dataclass(frozen=True, slots=True)
class Crowd:
    """What a crowd adds to the protection of each of its members.

    Attributes
    ----------
    epsilon : float
        A certified upper bound of the central epsilon at `delta`: rounded up, never down.
    lower : float
        What it cannot be below: two crowds that occur can be told apart this well.
    local : float
        What one report spends by itself, against everyone.
    n : int
        Honest people who answer.
    delta : float
        With which probability the bound may fail.
    cohorts : int
        Cohorts of the survey: a person hides among those of the same one.

    Examples
    --------
    >>> import deniable as dn
    >>> crowd(dn.krr(symbols=100, epsilon=4), n=100_000)
    Crowd(epsilon=0.06843..., lower=0.06842..., local=4.0, n=100000, delta=1e-06, cohorts=1)
    """

    epsilon: float
    lower: float
    local: float
    n: int
    delta: float
    cohorts: int


def crowd(survey: Survey, n: int, delta: float = 1e-6) -> Crowd:
    """The central epsilon of n mixed reports of one round.

    Claim: for any two crowds of n that differ in one answer, whatever the others answer, the counts of their reports
        are (epsilon, delta)-indistinguishable.
    Proof: tests/exact/test_crowd.py::test_the_certificate_is_never_below_the_truth

    Parameters
    ----------
    survey : Survey
        The survey.
    n : int
        Honest people who answer, the person included: those who collude, or are made up, hide nobody.
    delta : float
        With which probability it may fail, above 0 and below 1.

    Raises
    ------
    SurveyError
        If a size is out of range, or if a report may give an answer away for certain.

    Examples
    --------
    >>> import deniable as dn
    >>> few, many = (crowd(dn.krr(symbols=20, epsilon=2), n=n) for n in (1_000, 100_000))
    >>> few.local == many.local > few.epsilon > many.epsilon
    True
    """
    check_size("n", n, 1, MAX_PEOPLE)
    if not (isinstance(delta, (int, float)) and math.isfinite(delta) and 0 < delta < 1):
        raise SurveyError(f"delta must be above 0 and below 1, got {delta!r}; 1e-6 is usual")
    variation, cohorts, limit = variation_of(survey), survey.encoding.cohorts, Fraction(delta)
    local, cut = survey.mechanism.epsilon_report, Fraction(delta) / 10**6

    extreme = variation.extreme(cohorts)
    occurring = most_telling(variation.attained)
    occurring = Pair(occurring.first, occurring.second, (occurring.others[0] / cohorts, occurring.others[1] / cohorts))

    def above(epsilon: float) -> float:
        odds = Fraction(exp_bounds(Fraction(epsilon), _BITS)[0], 1 << _BITS)
        return _log_ratio(extreme.divergence(n, odds, cut)[1], limit)

    def below(epsilon: float) -> float:
        odds = Fraction(exp_bounds(Fraction(epsilon), _BITS)[1], 1 << _BITS)
        return _log_ratio(occurring.divergence(n, odds, cut)[0], limit)

    upper = math.nextafter(local, 64)
    epsilon = min(_crossing(above, upper, near=_normal(extreme, n, float(delta)))[1], upper)
    return Crowd(
        epsilon=epsilon,
        lower=_crossing(below, epsilon, near=_normal(occurring, n, float(delta)))[0],
        local=local,
        n=n,
        delta=float(delta),
        cohorts=cohorts,
    )


def _log_ratio(value: Fraction, limit: Fraction) -> float:
    """ln(value / limit), or a number below zero where value is next to nothing."""
    return math.log(value / limit) if value > limit / 10**99 else -1e9


def _normal(pair: Pair, n: int, delta: float) -> float:
    """About where the curve crosses zero, if sums were normal: where the search begins; it certifies nothing."""
    triples = zip(pair.first, pair.second, pair.others, strict=True)
    return math.sqrt(sum(float((p - q) ** 2 / other) for p, q, other in triples) / n * 2 * math.log(1 / delta))


def _crossing(curve: Callable[[float], float], high: float, *, near: float) -> tuple[float, float]:
    """Where a falling curve crosses zero, from both sides: above zero at the first end, not above it at the second.

    `high` is where it is not above zero; `near` is a guess.
    """
    low, at_low = 0.0, curve(0.0)
    if at_low <= 0:
        return 0.0, 0.0
    at_high = -math.inf
    middle = min(near, high / 2)
    while high - low > _PRECISION * high:
        value = curve(middle)
        if value > 0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
        # ln delta is about a parabola: its square root is about a line, which the chord follows; never to the ends.
        if at_high > -100:
            share = at_low / (at_low - at_high)
            middle = low + (high - low) * min(max(share, 0.02), 0.98)
        else:
            middle = min(1.5 * middle, (low + high) / 2)
    return low, high
