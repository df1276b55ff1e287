"""Confidence limits of shares within a row, and of differences and ratios of two of them.

A share within a row is a ratio of two masses that both have errors. Its limits are the values r at which
"cell - r * row" is not significantly different from zero. They hold also where the row is hardly known, and are then
infinite: the share may be anything from 0 to 1.

- Score limits compare "cell - r * row" with the variance that it has where r is the true share, as Wilson's do. They
  hold where few people are behind a cell.
- Fieller's limits take the estimated variance: for mechanisms of which no more is known.

Differences and ratios of two shares are made from their limits by MOVER (Zou and Donner, 2008), which keeps the
asymmetry that shares near 0 and 1 have.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_HALVINGS = 40  # of the distance to a limit, at most 3: to 3e-12


@dataclass(frozen=True, slots=True)
class ScoreMoments:
    """Second moments of the estimate from one report, for mechanisms that treat all cells alike.

    Where reports have one length, the estimated shares x add up to one. So the mean of x_s**2 over reports, which is
    `base` + `slope` p_s, determines that of x_s x_t, which is linear in p_s + p_t.

    Parameters
    ----------
    base, slope : float
        As in `theory.ErrorModel`.
    cells : int
        Cells of the whole table, three or more.

    Examples
    --------
    >>> ScoreMoments(base=0.0, slope=1.0, cells=4).variance(np.array(0.2), np.array(0.5), 2).round(3)  # 0.5 * 0.2 * 0.8
    np.float64(0.08)
    """

    base: float
    slope: float
    cells: int

    def variance(self, share: Floats, row: Floats, columns: int) -> Floats:
        """Of "cell - share * row" from one report, where the share of the cell within its row is `share`.

        Beyond 0 and 1, where no share can be, it is that of a share of 0 or 1.
        """
        both = (1 - self.slope) / (self.cells - 2)
        none = -(self.base + both) / (self.cells - 1)
        inner = np.clip(share, 0.0, 1.0)
        cell = inner * row
        own = self.base + self.slope * cell
        across = own + (columns - 1) * none + both * ((columns - 1) * cell + row - cell)
        whole = columns * (self.base + (columns - 1) * none) + (self.slope + 2 * (columns - 1) * both) * row
        return np.asarray(own - 2 * share * across + share**2 * whole - ((inner - share) * row) ** 2)


def score_limits(table: Floats, rows: Floats, moments: ScoreMoments, n: float, z: float) -> Floats:
    """Limits of the shares within rows; shape (..., 2). Infinite where no share is ruled out on a side.

    Parameters
    ----------
    table : ndarray
        Unbiased estimates of all cells.
    rows : ndarray
        The masses of the rows for the variance, none below zero.
    moments : ScoreMoments
        Of one report.
    n : float
        Reports.
    z : float
        Quantile of the normal distribution, such as 1.96.

    Examples
    --------
    >>> plain = ScoreMoments(base=0.0, slope=1.0, cells=4)  # nothing is random: Wilson's limits for 1 of 10
    >>> score_limits(np.array([[0.1, 0.9], [0.0, 0.0]]), np.array([1.0, 0.0]), plain, 10, 1.96)[0, 0].round(4)
    array([0.0179, 0.4042])
    """
    whole, row = table.sum(axis=1, keepdims=True), rows[:, None]
    centre = np.divide(table, whole, out=np.zeros_like(table), where=whole > 0)

    def away(share: Floats) -> Floats:
        """How many standard errors the share is away from its estimate."""
        variance = np.maximum(moments.variance(share, row, table.shape[1]), 0.0) / n
        reach = np.abs(table - share * whole)
        return np.asarray(np.divide(reach, np.sqrt(variance), out=np.full(table.shape, np.inf), where=variance > 0))

    found = []
    for end, unlimited in ((-1.0, -np.inf), (2.0, np.inf)):  # differences need limits outside 0 and 1, too
        near, far = np.clip(centre, -1.0, 2.0), np.full(table.shape, end)
        limited = (whole > 0) & (away(far) > z)
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            outside = away(middle) > z
            near, far = np.where(outside, near, middle), np.where(outside, middle, far)
        found.append(np.where(limited, far, unlimited))
    return np.stack(found, axis=-1)


def fieller(part: Floats, whole: Floats, moments: tuple[Floats, Floats, Floats], z: float) -> Floats:
    """Limits of part / whole; shape (..., 2). Infinite where the whole may be nothing.

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
    low, high = np.where(known, (b - root) / safe, -np.inf), np.where(known, (b + root) / safe, np.inf)
    return np.stack([low, high], axis=-1)


def difference_limits(first: Floats, second: Floats, limits: tuple[Floats, Floats], correlation: Floats) -> Floats:
    """Limits of first - second from the limits of both; shape (..., 2).

    Reaches are added in squares, as errors of two estimates are. Where a limit is infinite the share ends at 0 or 1,
    which is no matter of chance: the difference to it is taken as it is.

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
    (a, ends_a), (b, ends_b) = _ended(limits[0]), _ended(limits[1])
    (down_a, up_a), (down_b, up_b) = _reaches(first, a), _reaches(second, b)
    apart = first - second
    below = np.sqrt(np.maximum(down_a**2 + up_b**2 - 2 * correlation * down_a * up_b, 0.0))
    above = np.sqrt(np.maximum(up_a**2 + down_b**2 - 2 * correlation * up_a * down_b, 0.0))
    low = np.where(ends_a[..., 0] | ends_b[..., 1], a[..., 0] - b[..., 1], apart - below)
    high = np.where(ends_a[..., 1] | ends_b[..., 0], a[..., 1] - b[..., 0], apart + above)
    return np.stack([np.maximum(low, -1.0), np.minimum(high, 1.0)], axis=-1)


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
    (of_a, ends_a), (of_b, ends_b) = _ended(limits[0]), _ended(limits[1])
    (down_a, up_a), (down_b, up_b) = _reaches(a, of_a), _reaches(b, of_b)
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
    low = np.where(ends_b[..., 1], np.maximum(least, 0.0), low)
    high = np.where(ends_a[..., 1] & known, 1.0 / np.where(known, b - down_b, 1.0), high)
    return np.stack([low, high], axis=-1)


def _ended(limits: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Limits with 0 and 1 for infinite ones, and which those were."""
    infinite = np.isinf(limits)
    return np.where(infinite, (limits > 0).astype(float), limits), infinite


def _reaches(value: Floats, limits: Floats) -> tuple[Floats, Floats]:
    """Distances from an estimate to its lower and upper limit."""
    return np.maximum(value - limits[..., 0], 0.0), np.maximum(limits[..., 1] - value, 0.0)
