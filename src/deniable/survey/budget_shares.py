"""How a form shares its budget among its parts: where a little more of it lowers the error most.

The error of a part is the variance of the estimated share of one answer, a report each, at the uniform population. The
shares minimise the sum of these over all parts: by convexity, whoever gains most by the next thousandth gets it.
"""

import heapq
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms import Blocks, HitOrMiss, Registry, Sensitive, SensitiveDesign
from deniable.survey.channels import sensitive_cost
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
    return variances.of(survey.mechanism)(survey)


# Only of mechanisms that have other budgets: the share of one that keeps its own is not asked for.
variances: Registry[Callable[[Survey], float]] = Registry(
    "deniable.survey.budget_shares.variances", HitOrMiss, "variance of a share"
)


@variances.add(HitOrMiss)
def _by_cells(survey: Survey) -> float:
    mechanism, encoding = survey.mechanism, survey.encoding
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    own = (encoding.occupied or 1) if mechanism.one_column else 1
    mean = own * (miss + (hit - miss) * (encoding.occupied or 1) / encoding.cells)
    background = own * miss if encoding.own_cells else mean
    return mean * (1 - mean) / (own * hit - background) ** 2


@variances.add(Sensitive, SensitiveDesign)
def _by_sensitivity(survey: Survey) -> float:
    mechanism: Any = survey.mechanism
    hidden, design = len(mechanism.sensitive), getattr(mechanism, "design", None)
    b, s, shared = (hidden, 1, 0) if design is None else (design.cells, design.occupied, design.shared)
    return sensitive_cost(survey.cells, hidden, b, s, shared, float(mechanism.odds)) / survey.cells


@variances.add(Blocks)
def _by_groups(survey: Survey) -> float:
    """Which group an answer is of is known: only the columns of its group speak of it."""
    mechanism: Any = survey.mechanism
    total, size = 0.0, mechanism.cells
    for group, members in enumerate(mechanism.sizes):
        kind, share = mechanism.kinds[group], members / size
        other = kind.others[group] / mechanism.span
        r = kind.own / mechanism.span - other
        mean = other * share + r / size
        total += members * (mean * (1 - mean) + other**2 * share * (1 - share) - 2 * other * mean * (1 - share)) / r**2
    return float(total / size)


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
