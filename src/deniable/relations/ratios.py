"""Confidence limits of shares within a row, and of differences and ratios of two of them.

A share within a row is a ratio of two masses that both have errors. Fieller's limits are the values r at which
"cell - r * row" is not significantly different from zero; they hold also where the row is hardly known, and are then
0 and 1. Differences and ratios of two shares are made from their limits by MOVER (Zou and Donner, 2008), which keeps
the asymmetry that shares near 0 and 1 have.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def fieller(part: Floats, whole: Floats, moments: tuple[Floats, Floats, Floats], z: float) -> Floats:
    """Limits of part / whole; shape (..., 2). 0 and 1 where the whole may be nothing.

    Parameters
    ----------
    part, whole : ndarray
        Unbiased estimates of the two masses.
    moments : tuple of ndarray
        Variance of `part`, covariance of both, variance of `whole`.
    z : float
        Quantile of the normal distribution, such as 1.96.

    Examples
    --------
    >>> fieller(np.array([0.1]), np.array([0.5]), (np.array([1e-4]), np.array([0.0]), np.array([1e-4])), 1.96).round(3)
    array([[0.16, 0.24]])
    """
    own, both, row = moments
    a = whole**2 - z**2 * row
    b = part * whole - z**2 * both
    root = np.sqrt(np.maximum(b**2 - a * (part**2 - z**2 * own), 0.0))
    known = (a > 0) & (whole > 0)
    safe = np.where(known, a, 1.0)
    low, high = np.where(known, (b - root) / safe, 0.0), np.where(known, (b + root) / safe, 1.0)
    return np.stack([low, high], axis=-1)


def difference_limits(first: Floats, second: Floats, limits: tuple[Floats, Floats], correlation: Floats) -> Floats:
    """Limits of first - second from the limits of both; shape (..., 2).

    Parameters
    ----------
    first, second : ndarray
        Two shares.
    limits : tuple of ndarray
        Their lower and upper limits, each of shape (..., 2).
    correlation : ndarray
        Of the errors of the two estimates.

    Examples
    --------
    >>> limits = np.array([[0.4, 0.6]]), np.array([[0.2, 0.4]])
    >>> difference_limits(np.array([0.5]), np.array([0.3]), limits, np.array([0.0])).round(3)
    array([[0.059, 0.341]])
    """
    (down_a, up_a), (down_b, up_b) = _reaches(first, limits[0]), _reaches(second, limits[1])
    apart = first - second
    below = np.sqrt(np.maximum(down_a**2 + up_b**2 - 2 * correlation * down_a * up_b, 0.0))
    above = np.sqrt(np.maximum(up_a**2 + down_b**2 - 2 * correlation * up_a * down_b, 0.0))
    return np.stack([np.maximum(apart - below, -1.0), np.minimum(apart + above, 1.0)], axis=-1)


def ratio_limits(first: Floats, second: Floats, limits: tuple[Floats, Floats], correlation: Floats) -> Floats:
    """Limits of first / second: where the limit of "first - r * second" is zero. Infinite where second may be zero.

    Parameters
    ----------
    first, second : ndarray
        Two shares.
    limits : tuple of ndarray
        Their lower and upper limits, each of shape (..., 2).
    correlation : ndarray
        Of the errors of the two estimates.

    Examples
    --------
    >>> limits = np.array([[0.4, 0.6]]), np.array([[0.2, 0.4]])
    >>> ratio_limits(np.array([0.5]), np.array([0.3]), limits, np.array([0.0])).round(2)
    array([[1.16, 2.59]])
    """
    a, b = np.clip(first, 0.0, 1.0), np.clip(second, 0.0, 1.0)
    (down_a, up_a), (down_b, up_b) = _reaches(a, limits[0]), _reaches(b, limits[1])
    least, most = a - down_a, b - down_b  # the lower limits
    middle = a * b - correlation * down_a * up_b
    start, slope = a**2 - down_a**2, b**2 - up_b**2
    root = np.sqrt(np.maximum(middle**2 - slope * start, 0.0))
    low = np.where(least > 0, np.maximum(start, 0.0) / np.where(middle + root > 0, middle + root, 1.0), 0.0)
    middle = a * b - correlation * up_a * down_b
    start, slope = a**2 - up_a**2, b**2 - down_b**2
    root = np.sqrt(np.maximum(middle**2 - slope * start, 0.0))
    known = (most > 0) & (slope > 0)
    high = np.where(known, (middle + root) / np.where(known, slope, 1.0), np.inf)
    return np.stack([low, high], axis=-1)


def _reaches(value: Floats, limits: Floats) -> tuple[Floats, Floats]:
    """Distances from an estimate to its lower and upper limit."""
    return np.maximum(value - limits[..., 0], 0.0), np.maximum(limits[..., 1] - value, 0.0)
