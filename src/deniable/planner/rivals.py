"""Other mechanisms that may need less than the one that was predicted to be the best, by simulation.

A prediction is a few per cent off, and up to a third for level populations. Where the loss hardly falls with epsilon, a
few per cent of the loss are a third of epsilon. So the mechanisms whose predicted loss is within the uncertainty of the
prediction are simulated, too: all of them with a small budget, and the best of those with a full one.
"""

from collections.abc import Callable
from math import log

from deniable.planner.evaluation import Evaluation, trust_of
from deniable.planner.measure import BUDGET, effort_for
from deniable.planner.options import Family
from deniable.planner.search import Search

_UNCERTAIN = 4.0  # predicted losses may be larger by so many standard deviations of the prediction
_MOST = 3  # mechanisms that are simulated, at most, besides the first
_SCREENING = BUDGET / 3  # numbers touched by the first measurement of each
_LEAST_REPEATS = 12  # surveys decoded in it: where there would be fewer, nothing is compared
_GAIN = 1.03  # least factor of epsilon (its square, of n) that a change of mechanism is worth

Measure = Callable[[Family, float, int], Evaluation]  # of a family, with a budget and the number of the measurement


def close_rivals(search: Search, point: Evaluation) -> list[Family]:
    """The families whose predicted loss at this point may really be less, the least predicted loss first."""
    request = search.request
    ours = search.loss(point.option, point.spends, point.n)
    found = []
    for option, _ in search.ranked(point.spends, point.n):
        if option.family.name == point.option.family.name:
            continue
        trust = max(trust_of(one.cohorts, request.size) for one in (option, point.option))
        loss = search.loss(option, point.spends, point.n)
        survey = request.survey_of(option, point.epsilon)
        affordable = effort_for(survey, request.size, _SCREENING).repeats >= _LEAST_REPEATS
        if loss <= (1 + _UNCERTAIN * trust) * ours and affordable:
            found.append((loss, option.family))
    return [family for _, family in sorted(found, key=lambda pair: pair[0])][:_MOST]


def best_rival(
    rivals: list[Family], least: float, measure: Measure, bound: Callable[[Evaluation], tuple[float, float]]
) -> Family | None:
    """The family whose measured bound is below `least`, or None.

    `bound` gives the bound of a measurement and its standard error. What is worse by more than that after a small
    measurement is dropped. The best of the others is measured again, unless it is better by as much.
    """
    screened = []
    for place, family in enumerate(rivals):
        value, error = bound(measure(family, _SCREENING, 0))
        if value - error <= least:
            screened.append((value, place, error))
    if not screened:
        return None
    value, place, error = min(screened)
    if value + error > least:
        value = bound(measure(rivals[place], BUDGET, 1))[0]
    return rivals[place] if value <= least else None


def worth(slope: float, power: int) -> float:
    """The share of the present loss below which a rival lowers epsilon or n by at least the worthwhile factor.

    `slope` is minus that of the log loss in log epsilon or log n, `power` 1 for epsilon and 2 for n.

    >>> round(worth(1.0, 1), 3), round(worth(0.2, 1), 3)
    (0.971, 0.994)
    """
    return float(_GAIN ** (-power * max(slope, 0.0)))


def needs_less(point: Evaluation, other: Evaluation, power: int) -> bool:
    """Whether the other plan needs less of what is found, by the least worthwhile factor."""
    return other.place <= point.place - power * log(_GAIN)
