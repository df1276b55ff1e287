"""Limits of parameters by their profile likelihood: where twice the log-likelihood has fallen by chi-square's quantile.

Unlike Wald's they need no symmetry, and are infinite on one side alone where only that side is unknown.
"""

import math

import numpy as np
import numpy.typing as npt

from deniable.relations.fitting import FAR, maximise
from deniable.relations.problem import ReportLikelihood

Floats = npt.NDArray[np.float64]

MAX_MOVES = 25  # of a parameter until its likelihood has fallen by as much as asked for
CLOSE = 1e-4  # of the signed root of the fall, in standard normal units


def profile_limits(problem: ReportLikelihood, theta: Floats, place: int, z: float, step: float) -> tuple[float, float]:
    """Both limits of one parameter; infinite where the likelihood does not fall that far.

    Parameters
    ----------
    problem : ReportLikelihood
        The likelihood.
    theta : ndarray
        Its maximum.
    place : int
        Which parameter.
    z : float
        Quantile of the normal distribution, such as 1.96.
    step : float
        A standard error, or a guess: where the search begins.

    Examples
    --------
    >>> from deniable.relations.outcome_models import Logit
    >>> one = ReportLikelihood(Logit(2, 0), (np.ones((2, 1)),), np.eye(2), np.zeros(2), np.array([90.0, 10.0]))
    >>> low, high = profile_limits(one, np.array([np.log(1 / 9)]), 0, 1.96, 0.33)
    >>> round(low, 3), round(high, 3)
    (-2.915, -1.594)
    """
    best = problem.value(theta)
    return _limit(problem, theta, place, -z, step, best), _limit(problem, theta, place, z, step, best)


def _limit(problem: ReportLikelihood, theta: Floats, place: int, z: float, step: float, best: float) -> float:
    """Along one side. The signed root of the fall is nearly linear in the parameter: secants take few moves."""
    side = math.copysign(1.0, z)
    others = np.delete(np.arange(len(theta)), place)
    last, fallen, rest = theta[place], 0.0, theta[others]
    here = last + side * abs(z) * step
    near, far = 0.0, math.inf  # distances from the maximum between which the limit is
    for _ in range(MAX_MOVES):
        value, rest_here = _constrained(problem, place, here, others, rest)
        root = math.sqrt(max(2 * (best - value), 0.0))
        away = abs(here - theta[place])
        if abs(root - abs(z)) < CLOSE:
            return float(here)
        if root < abs(z):
            near, rest = max(near, away), rest_here
        else:
            far = min(far, away)
        slope = (root - fallen) / (here - last) if here != last else 0.0
        last, fallen = here, root
        goal = abs(here + (abs(z) - root) / slope - theta[place]) if slope * side > 0 else 2 * away
        if not near < goal < far:
            goal = 2 * away if math.isinf(far) else (near + far) / 2
        goal = min(goal, 3 * max(near, abs(z) * step))
        if goal > 4 * FAR:
            return side * math.inf
        here = theta[place] + side * goal
    return float(here) if math.isfinite(far) else side * math.inf


def _constrained(
    problem: ReportLikelihood, place: int, fixed: float, others: npt.NDArray[np.intp], start: Floats
) -> tuple[float, Floats]:
    """The highest likelihood with one parameter held, and the others there."""

    def whole(rest: Floats) -> Floats:
        theta = np.empty(len(others) + 1)
        theta[place], theta[others] = fixed, rest
        return theta

    if not len(others):
        return problem.value(whole(start)), start
    inner = np.ix_(others, others)

    def parts(rest: Floats) -> tuple[float, Floats, Floats, Floats]:
        value, score, observed, complete = problem.parts(whole(rest))
        return value, score[others], observed[inner], complete[inner]

    found = maximise(lambda rest: problem.value(whole(rest)), parts, start)
    return problem.value(whole(found.theta)), found.theta
