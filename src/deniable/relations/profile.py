"""Limits of parameters by their profile likelihood: where twice the log-likelihood has fallen by chi-square's quantile.

Unlike Wald's they need no symmetry, and are infinite on one side alone where only that side is unknown.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.relations.estimating import plain_start
from deniable.relations.fitting import FAR, maximise
from deniable.relations.outcome_models import Logit
from deniable.relations.problem import ReportLikelihood

Floats = npt.NDArray[np.float64]

MAX_MOVES = 25  # of a parameter until its likelihood has fallen by as much as asked for
FAR_ERRORS = 100.0  # of the first step: where a limit of a parameter with an estimate is taken for infinite
CLOSE = 1e-4  # of the signed root of the fall, in standard normal units


def profile_limits(
    problem: ReportLikelihood, theta: Floats, place: int, z: float, error: float, also: Floats | None = None
) -> tuple[float, float]:
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
    error : float
        Its standard error; infinite where there is no estimate.
    also : ndarray, optional
        Where the others are searched from, too: from a maximum that is far away the likelihood may look flat.

    Examples
    --------
    >>> from deniable.relations.outcome_models import Logit
    >>> one = ReportLikelihood(Logit(2, 0), (np.ones((2, 1)),), np.eye(2), np.zeros(2), np.array([90.0, 10.0]))
    >>> low, high = profile_limits(one, np.array([np.log(1 / 9)]), 0, 1.96, 0.33)
    >>> round(low, 3), round(high, 3)
    (-2.915, -1.594)
    """
    best = problem.value(theta)
    low, high = (_limit(problem, theta, place, side * z, error, best, also) for side in (-1, 1))
    return low, high


def all_profile_limits(problem: ReportLikelihood, theta: Floats, errors: Floats, z: float) -> Floats:
    """Both limits of every parameter of the outcome, shape (parameters, 2); see `profile_limits`.

    A linear model whose standard deviation may be zero has no maximum: its limits are infinite. Errors are infinite for
    a parameter without an estimate.
    """
    size = problem.outcome_size
    known = np.isfinite(errors[:size])
    if not (isinstance(problem.model, Logit) or known.all()):
        return np.tile([-np.inf, np.inf], (size, 1))
    also = None if np.isfinite(errors).all() else plain_start(problem)
    return np.array([profile_limits(problem, theta, place, z, float(errors[place]), also) for place in range(size)])


def _limit(
    problem: ReportLikelihood, theta: Floats, place: int, z: float, error: float, best: float, also: Floats | None
) -> float:
    """Along one side. The signed root of the fall is nearly linear in the parameter: secants take few moves."""
    side, known = math.copysign(1.0, z), math.isfinite(error) and error > 0
    step = error if known else 1.0
    others = np.delete(np.arange(len(theta)), place)
    last, fallen, rest = theta[place], 0.0, theta[others]
    end = FAR_ERRORS * abs(z) * step if known else FAR - side * float(theta[place])
    if end <= 0:
        return side * math.inf
    here = last + side * min(abs(z) * step, end)
    tied = _tied(problem, place)[others]
    found_at = float(theta[place])  # where the others are those of `rest`
    near, far = 0.0, math.inf  # distances from the maximum between which the limit is
    for _ in range(MAX_MOVES):
        starts = [rest + tied * (here - found_at)]
        starts += [] if also is None else [also[others] + tied * (here - also[place])]
        ends = [_constrained(problem, place, here, others, start) for start in starts]
        value, rest_here = max(ends, key=lambda end: end[0])
        root = math.sqrt(max(2 * (best - value), 0.0))
        away = abs(here - theta[place])
        if abs(root - abs(z)) < CLOSE:
            return float(here)
        if root < abs(z):
            near, rest, found_at = max(near, away), rest_here, here
        else:
            far = min(far, away)
        slope = (root - fallen) / (here - last) if here != last else 0.0
        last, fallen = here, root
        goal = abs(here + (abs(z) - root) / slope - theta[place]) if slope * side > 0 else 2 * away
        if not near < goal < far:
            goal = 2 * away if math.isinf(far) else (near + far) / 2
        goal = min(goal, 3 * max(near, abs(z) * step))
        if near >= end:
            return side * math.inf
        goal = min(goal, end)
        here = theta[place] + side * goal
    return float(here) if math.isfinite(far) else side * math.inf


def _tied(problem: ReportLikelihood, place: int) -> Floats:
    """How the others go with a parameter so that predictions hardly change: a search from there is short."""
    x = np.concatenate(problem.x)
    block, column = divmod(place, x.shape[1])
    tied = np.zeros(problem.size)
    if x.shape[1] > 1 and (isinstance(problem.model, Logit) or not block):
        rest = np.delete(np.arange(x.shape[1]), column)
        tied[block * x.shape[1] + rest] = -np.linalg.lstsq(x[:, rest], x[:, column], rcond=None)[0]
    return tied


def _constrained(
    problem: ReportLikelihood, place: int, fixed: float, others: npt.NDArray[np.intp], start: Floats
) -> tuple[float, Floats]:
    """The highest likelihood with one parameter held, and the others there."""

    def whole(rest: Floats, held: float = fixed) -> Floats:
        theta = np.empty(len(others) + 1)
        theta[place], theta[others] = held, rest
        return theta

    if not len(others):
        return problem.value(whole(start)), start
    inner = np.ix_(others, others)

    def parts(rest: Floats) -> tuple[float, Floats, Floats, Floats, Callable[[], Floats]]:
        value, score, observed, complete, squares = problem.parts(whole(rest))
        return value, score[others], observed[inner], complete[inner], lambda: squares()[inner]

    def reach(move: Floats) -> float:
        return problem.reach(whole(move, 0.0))

    found = maximise(lambda rest: problem.value(whole(rest)), parts, start, reach)
    return problem.value(whole(found.theta)), found.theta
