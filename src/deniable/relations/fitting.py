"""Maximum likelihood of a regression on reports: Newton with a safe step, from several starts.

The likelihood is not concave. A step solves with the observed information where that is positive definite, and with the
information of the complete data (a step of expectation maximisation, which always goes up) where it is not.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
# theta -> total log-likelihood, score, observed information, information of the complete data
Parts = Callable[[Floats], tuple[float, Floats, Floats, Floats]]

MAX_STEPS = 200  # of Newton from one start
GRADIENT = 1e-9  # stop where a Newton step would gain less than this, in units of log-likelihood
RIDGE = 1e-10  # of the largest entry: keeps a step finite along what the data do not say
FLAT = 1e-7  # information of a direction, against that of the complete data, below which it counts as none
FAR = 40.0  # in log odds, where covariates have mean square one: no share beyond is told from zero


@dataclass(frozen=True, slots=True)
class Fit:
    """Where a search ended."""

    theta: Floats
    value: float
    converged: bool
    steps: int


def maximise(value: Callable[[Floats], float], parts: Parts, start: Floats, steps: int = MAX_STEPS) -> Fit:
    """Climb from one start.

    >>> def parts(t):
    ...     return -float(t @ t), -2 * t, 2 * np.eye(len(t)), 2 * np.eye(len(t))
    >>> found = maximise(lambda t: -float(t @ t), parts, np.array([3.0, -1.0]))
    >>> found.converged, found.theta.round(9).tolist() == [0, 0]
    (True, True)
    """
    theta = start.copy()
    for step in range(steps):
        now, score, observed, complete = parts(theta)
        move = _direction(score, observed, complete)
        gain = float(score @ move)
        if not np.isfinite(gain):
            return Fit(theta, now, False, step)
        if gain < GRADIENT:  # too little for a comparison of sums; the last step is taken as it is
            return Fit(theta + move, now, True, step)
        length, best = 1.0, -np.inf
        while length > 1e-8:
            best = value(theta + length * move)
            if best >= now + 1e-4 * length * gain:
                break
            length /= 2
        if not best > now:
            return Fit(theta, now, gain < 1e-5, step)
        theta = theta + length * move
        if np.abs(theta).max() > FAR * 25:
            return Fit(theta, best, False, step)
    return Fit(theta, value(theta), False, steps)


def _direction(score: Floats, observed: Floats, complete: Floats) -> Floats:
    size = len(score)
    for info in (observed, complete):
        try:
            factor = np.linalg.cholesky(info + RIDGE * np.abs(complete).max() * np.eye(size))
            return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, score)))
        except np.linalg.LinAlgError:
            continue
    return score / max(float(np.abs(complete).max()), 1e-12)


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


def share_errors(likely: Floats, weights: Floats, shares: Floats) -> Floats:
    """Standard errors of shares that are the same for everyone, by their observed information; of no log odds.

    >>> share_errors(np.eye(2), np.array([90.0, 10.0]), np.array([0.9, 0.1])).round(3).tolist()
    [0.03, 0.03]
    """
    free = np.eye(len(shares))[:, :-1] - np.eye(len(shares))[:, -1:]  # they add up to one
    slope = (likely @ free) / np.maximum(likely @ shares, 1e-12)[:, None]
    information = (slope * weights[:, None]).T @ slope
    inverse = np.linalg.pinv(information)
    return np.asarray(np.sqrt(np.maximum(np.diag(free @ inverse @ free.T), 0.0)))
