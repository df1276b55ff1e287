"""Exact binomial bounds (Clopper and Pearson 1934), on whole arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def lower_bound(hits: npt.ArrayLike, trials: npt.ArrayLike, alpha: float) -> Floats:
    """A number that is above the true probability with a chance of at most `alpha`, whatever that probability is.

    >>> float(lower_bound(0, 100, 0.01)), round(float(lower_bound(100, 100, 0.01)), 4)
    (0.0, 0.955)
    """
    from scipy.special import betaincinv

    x, n = np.broadcast_arrays(np.asarray(hits, np.float64), np.asarray(trials, np.float64))
    found: Any = betaincinv(np.maximum(x, 1), n - np.maximum(x, 1) + 1, alpha)
    return np.where(x <= 0, 0.0, found)


def upper_bound(hits: npt.ArrayLike, trials: npt.ArrayLike, alpha: float) -> Floats:
    """A number that is below the true probability with a chance of at most `alpha`.

    >>> float(upper_bound(100, 100, 0.01)), round(float(upper_bound(0, 100, 0.01)), 4)
    (1.0, 0.045)
    """
    from scipy.special import betainccinv

    x, n = np.broadcast_arrays(np.asarray(hits, np.float64), np.asarray(trials, np.float64))
    found: Any = betainccinv(np.minimum(x, n - 1) + 1, n - np.minimum(x, n - 1), alpha)
    return np.where(x >= n, 1.0, found)
