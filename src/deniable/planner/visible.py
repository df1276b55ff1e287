"""The smallest visible share: significantly above zero with a wanted probability (the power of the test).

A symbol is visible if the lower end of its simultaneous interval (`Estimate.intervals(0.95, simultaneous=True)`) is
above zero. Where the reports that support a symbol are counted, the interval is Clopper and Pearson's, and this is
exact: the critical count c is the least whose tail probability under a share of zero is at most alpha / (2 S), and the
share follows from the binomial that reaches c with the wanted probability. Over cohorts and blocks both steps use the
normal approximation.
"""

from collections.abc import Callable
from math import inf, sqrt

from deniable.theory import ErrorModel


def smallest_visible(
    model: ErrorModel,
    n: float,
    size: int,
    *,
    collision: float = 0.0,
    level: float = 0.95,
    power: float = 0.9,
) -> float:
    """The least share whose symbol is visible with probability `power` among `size` symbols; infinite if none is.

    `collision` is the probability that two people answer alike, where that is known.

    Claim: exact where the model has the (hit, miss) of a binomial.
    Proof: tests/unit/planner/test_visible.py::test_the_share_shows_as_often_as_it_should

    >>> from deniable.theory import support_model
    >>> round(smallest_visible(support_model(0.75, 0.25), 10_000, 2), 4)
    0.0308
    """
    from scipy.special import betainc, betaincinv, ndtri

    alpha = (1 - level) / (2 * size)
    if model.support is not None:
        hit, miss = model.support
        people = max(int(n), 1)
        if betainc(people, 1, miss) > alpha:  # even support by all reports is not significant
            return inf
        low, high = 0, people  # the tail at low is above alpha, at high it is not
        while high - low > 1:
            middle = (low + high) // 2
            if betainc(middle, people - middle + 1, miss) > alpha:
                low = middle
            else:
                high = middle
        share = (float(betaincinv(high, people - high + 1, power)) - miss) / (hit - miss)
        return share if share <= 1 else inf
    reach, chance = -float(ndtri(alpha)), float(ndtri(power))

    def deviation(share: float) -> float:
        return sqrt(max(model.variance(share, collision), 0.0) / n)

    if not deviation(0.0) < 1:
        return inf
    seen = _fixed(lambda share: reach * deviation(share))
    share = _fixed(lambda share: seen + chance * deviation(share)) if seen < 1 else inf
    return share if share <= 1 else inf


def _fixed(step: Callable[[float], float]) -> float:
    """The x in [0, 1] with x = step(x), by halving; 2 where step stays above x."""
    low, high = 0.0, 1.0
    if step(high) > high:
        return 2.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if step(middle) > middle else (low, middle)
    return high
