"""Maximum likelihood of a regression on reports: Newton with a safe step, from several starts.

The likelihood is not concave. A step solves with the observed information where that is positive definite; where it is
not, with the sum of the squares of all scores (Berndt, Hall, Hall and Hausman, 1974), which is nearly as large as that
and never negative; and where scores say nothing, with the information of the complete data (expectation maximisation).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
# theta -> total log-likelihood, score, observed information, information of the complete data, and what computes the
# sum of the squares of the rows' scores
Parts = Callable[[Floats], tuple[float, Floats, Floats, Floats, Callable[[], Floats]]]

MAX_STEPS = 200  # of Newton from one start
GRADIENT = 1e-9  # stop where a Newton step would gain less than this, in units of log-likelihood
RIDGE = 1e-10  # of the information of the complete data: keeps a step finite along what the data do not say
RANGE = 1e-20  # of the largest information: parameters with less are taken to have so much
LONGEST = 5.0  # log odds that a step changes, at most: far away shares are 0 or 1, and the way back looks flat
FLAT = 1e-7  # information of a direction, against that of the complete data, below which it counts as none
FAR = 40.0  # in log odds, where covariates have mean square one: no share beyond is told from zero


@dataclass(frozen=True, slots=True)
class Fit:
    """Where a search ended."""

    theta: Floats
    value: float
    converged: bool
    steps: int


def maximise(
    value: Callable[[Floats], float], parts: Parts, start: Floats, reach: Callable[[Floats], float] = lambda move: 0.0
) -> Fit:
    """Climb from one start; `reach` says by how much a step changes log odds at most.

    >>> def parts(t):
    ...     return -float(t @ t), -2 * t, 2 * np.eye(len(t)), 2 * np.eye(len(t)), lambda: np.eye(len(t))
    >>> found = maximise(lambda t: -float(t @ t), parts, np.array([3.0, -1.0]))
    >>> found.converged, found.theta.round(9).tolist() == [0, 0]
    (True, True)
    """
    theta = start.copy()
    for step in range(MAX_STEPS):
        now, score, observed, complete, squares = parts(theta)
        move = _direction(score, observed, squares, complete)
        gain = float(score @ move)
        if not np.isfinite(gain):
            return Fit(theta, now, False, step)
        if gain < GRADIENT:  # too little for a comparison of sums; the last step is taken as it is
            return Fit(theta + move, now, True, step)
        length, best = min(1.0, LONGEST / max(reach(move), LONGEST)), -np.inf
        while length > 1e-8:
            best = value(theta + length * move)
            if best >= now + 1e-4 * length * gain:
                break
            length /= 2
        if not best > now:
            return Fit(theta, now, gain < 1e-5, step)
        theta = theta + length * move
    return Fit(theta, value(theta), False, MAX_STEPS)


def _direction(score: Floats, observed: Floats, squares: Callable[[], Floats], complete: Floats) -> Floats:
    diagonal = np.diag(complete)
    # In units in which the complete data know each parameter equally well: means of incomes and a log of a deviation.
    unit = 1 / np.sqrt(np.maximum(diagonal, max(RANGE * float(diagonal.max()), 1e-300)))
    tried: tuple[Callable[[], Floats], ...] = (lambda: observed, squares, lambda: complete)
    for information in tried:
        try:
            factor = np.linalg.cholesky(information() * unit[:, None] * unit + RIDGE * np.eye(len(score)))
            return np.asarray(unit * np.linalg.solve(factor.T, np.linalg.solve(factor, unit * score)))
        except np.linalg.LinAlgError:
            continue
    return np.asarray(unit**2 * score)


def covariance(observed: Floats, complete: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The inverse of the information, and which parameters the data say nothing of (they get an infinite variance).

    >>> found, unknown = covariance(np.diag([4.0, 0.0]), np.diag([4.0, 1.0]))
    >>> found.tolist(), unknown.tolist()
    ([[0.25, 0.0], [0.0, inf]], [False, True])
    """
    scale = 1 / np.sqrt(np.maximum(np.diag(complete), 1e-300))
    values, vectors = np.linalg.eigh(observed * scale[:, None] * scale[None, :])
    flat = values < FLAT
    kept = np.where(flat, 1.0, values)
    inverse = (vectors * np.where(flat, 0.0, 1 / kept)) @ vectors.T * scale[:, None] * scale[None, :]
    unknown = (np.abs(vectors[:, flat]) > 1e-2).any(axis=1)
    inverse[unknown, :] = inverse[:, unknown] = 0.0
    inverse[unknown, unknown] = np.inf
    return inverse, unknown


def share_limits(likely: Floats, people: Floats, shares: Floats, z: float) -> tuple[Floats, Floats]:
    """Confidence limits of shares that are the same for everyone, from their maximum of likelihood; of no log odds.

    They are about the estimate that shares below 0 and above 1 would have, one Newton step away: where the best share
    is 0, limits about that would cover too much. So many people cannot rule out more than Wilson's limits do without
    any noise, though.

    >>> low, high = share_limits(np.eye(2), np.array([90.0, 10.0]), np.array([0.9, 0.1]), 2)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.84, 0.04], [0.96, 0.16])
    """
    free = np.eye(len(shares))[:, :-1] - np.eye(len(shares))[:, -1:]  # they add up to one
    slope = (likely @ free) / np.maximum(likely @ shares, 1e-12)[:, None]
    covariance = np.linalg.pinv((slope * people[:, None]).T @ slope)
    centre = shares + free @ (covariance @ (people @ slope))
    reach = z * np.sqrt(np.maximum(np.diag(free @ covariance @ free.T), 0.0))
    least = z**2 / (people.sum() + z**2)
    low, high = np.minimum(centre - reach, 1 - least), np.maximum(centre + reach, least)
    return np.clip(low, 0.0, shares), np.clip(high, shares, 1.0)
