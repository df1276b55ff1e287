"""Baselines that see the answers themselves: what could be known without privacy.

Paper: supplement, "Discrete Distribution Estimation". These take true counts and belong to experiments only.
"""

import numpy as np
import numpy.typing as npt

from deniable.errors import DecodeError

Floats = npt.NDArray[np.float64]


def _checked(counts: npt.ArrayLike) -> tuple[Floats, float]:
    given = np.asarray(counts, np.float64)
    if given.ndim != 1 or given.size < 1 or (given < 0).any() or not given.sum() > 0:
        raise DecodeError("counts must be a vector of non-negative numbers with a positive sum")
    return given, float(given.sum())


def empirical(counts: npt.ArrayLike) -> Floats:
    """T / n: the maximum likelihood and empirical estimator on the raw symbols.

    Paper: section `sec:ml_and_empirical`.

    >>> empirical([3, 1])
    array([0.75, 0.25])
    """
    given, n = _checked(counts)
    return given / n


def minimax(counts: npt.ArrayLike) -> Floats:
    """(T + sqrt(n) / k) / (n + sqrt(n)): the minimax estimator under squared error.

    Paper: supplement, before `eq:l2_minimax_risk`.

    >>> minimax([3, 1])
    array([0.66666667, 0.33333333])
    """
    given, n = _checked(counts)
    root = float(np.sqrt(n))
    return (given + root / given.size) / (n + root)
