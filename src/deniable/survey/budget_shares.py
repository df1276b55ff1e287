"""How a form shares its budget among its parts: where a little more of it lowers the error most.

The error of a part is the variance of the estimated share of one answer, a report each, at the uniform population. The
shares minimise the sum of these over all parts: by convexity, whoever gains most by the next thousandth gets it.
"""

import heapq
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction

from deniable.errors import SurveyError
from deniable.survey.survey import Survey

__all__ = ["share_out", "share_variance"]

UNITS = 1000  # parts of a budget that are given out one by one, where shares are not equal
_POINTS = 9  # budgets between a twentieth of an equal share and the whole at which variances are computed


def share_variance(survey: Survey) -> float:
    """The variance of the estimated share of one answer, for one report, at the uniform population, roughly.

    A report speaks for an answer if it names one of its cells. Answers that share cells with it do so as well, at the
    rate of the background. It compares budgets of one question, and mechanisms of one question, and no more than that.

    >>> import deniable as dn
    >>> round(share_variance(dn.krr(2, epsilon=1)), 3), round(share_variance(dn.krr(2, epsilon=2)), 3)
    (1.171, 0.431)
    """
    mechanism, encoding = survey.mechanism, survey.encoding
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    own = (encoding.occupied or 1) if mechanism.one_column else 1
    mean = own * (miss + (hit - miss) * (encoding.occupied or 1) / encoding.cells)
    background = own * miss if encoding.own_cells else mean
    return mean * (1 - mean) / (own * hit - background) ** 2


def share_out(epsilon: Fraction, make: Sequence[Callable[[Fraction], Survey]]) -> list[Fraction]:
    """A budget for each part, which add up to `epsilon`.

    `make[i](budget)` is the survey of part i at a budget.
    """
    equal = epsilon / len(make)
    curves = [_curve(part, equal, epsilon) for part in make]
    if all(curve == curves[0] for curve in curves):
        return [equal] * len(make)
    units = max(UNITS, 20 * len(make))
    step = float(epsilon) / units
    given = [max(1, units // (20 * len(make)))] * len(make)  # a twentieth of an equal share each, at least
    gains = [(-_gain(curve, own, step), place) for place, (curve, own) in enumerate(zip(curves, given, strict=True))]
    heapq.heapify(gains)
    for _ in range(units - sum(given)):
        _, place = heapq.heappop(gains)
        given[place] += 1
        heapq.heappush(gains, (-_gain(curves[place], given[place], step), place))
    return [epsilon * own / units for own in given]


def _gain(curve: list[tuple[float, float]], own: int, step: float) -> float:
    return _at(curve, own * step) - _at(curve, (own + 1) * step)


def _curve(make: Callable[[Fraction], Survey], equal: Fraction, epsilon: Fraction) -> list[tuple[float, float]]:
    """Logarithms of budgets and variances, between which a power law is used."""
    make(equal)  # what is wrong with the part itself is told as it is
    low, high = math.log(equal / 20), math.log(epsilon)
    found = []
    for place in range(_POINTS):
        budget = Fraction(math.exp(low + (high - low) * place / (_POINTS - 1))).limit_denominator(10**6)
        try:
            found.append((math.log(budget), math.log(share_variance(make(budget)))))
        except (SurveyError, ZeroDivisionError, ValueError):
            continue  # a budget that 64-bit words cannot realise
    if not found:
        raise SurveyError(f"epsilon must be large enough to be shared, got {float(epsilon):g}; use spend='sample'")
    return found


def _at(curve: list[tuple[float, float]], budget: float) -> float:
    x = math.log(budget)
    place = min(max(bisect_left(curve, (x, -math.inf)), 1), len(curve) - 1)
    if len(curve) == 1:
        return math.exp(curve[0][1])
    (x0, y0), (x1, y1) = curve[place - 1], curve[place]
    return math.exp(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
