"""The test of independence: whether two answers have anything to do with each other.

Under independence the unbiased estimate of each cell differs from the product of its row and column by chance alone.
How much chance allows is the covariance that the mechanism has at the independent population; the sum of squares of
the deviations, weighted by its inverse, has a chi-square distribution where the counts behind it are large enough.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_ENOUGH, _LEAST, _MOST_SMALL = 5.0, 1.0, 0.2  # Cochran's rule (1954) for chi-square tests: expected counts
_RELATIVE_RANK = 1e-9  # eigenvalues below this part of the largest are rounding


@dataclass(frozen=True, slots=True)
class Independence:
    """A test of independence.

    Parameters
    ----------
    statistic : float
        The weighted sum of squares of the deviations.
    freedom : int
        Degrees of freedom.
    pvalue : float
        The probability of a statistic at least as large if the answers are independent; NaN where it is not known.
    why_not : str
        Why there is no p-value; else empty.

    Examples
    --------
    >>> print(Independence(3.84, 1, 0.05, ""))
    Independence is not ruled out: chi-square 3.8 with 1 degree of freedom, p = 0.05.
    """

    statistic: float
    freedom: int
    pvalue: float
    why_not: str

    def __str__(self) -> str:
        if self.why_not:
            return f"Independence cannot be tested: {self.why_not}."
        degrees = f"{self.freedom} degree{'s' * (self.freedom != 1)} of freedom"
        chance = "p < 0.0001" if self.pvalue < 1e-4 else f"p = {self.pvalue:.2g}"
        told = "The answers are related" if self.pvalue < 0.05 else "Independence is not ruled out"
        return f"{told}: chi-square {self.statistic:.1f} with {degrees}, {chance}."


def chi_square(deviations: Floats, covariance: Floats, freedom: int, expected: Floats) -> Independence:
    """The test on deviations of known covariance under independence.

    Parameters
    ----------
    deviations : ndarray
        What would be zero without noise.
    covariance : ndarray
        Of the deviations, under independence.
    freedom : int
        How many of the deviations are free.
    expected : ndarray
        Expected counts of the reports behind them, under independence.

    Examples
    --------
    >>> print(chi_square(np.array([0.2]), np.array([[0.01]]), 1, np.array([50.0])))
    The answers are related: chi-square 4.0 with 1 degree of freedom, p = 0.046.
    """
    from scipy.special import chdtrc

    small = expected < _ENOUGH
    if freedom < 1:
        return Independence(math.nan, 0, math.nan, "each question must have two answers")
    if len(expected) and (expected.min() < _LEAST or small.mean() > _MOST_SMALL):
        why = f"{int(small.sum())} of {len(expected)} kinds of reports are expected fewer than {_ENOUGH:.0f} times"
        return Independence(math.nan, freedom, math.nan, why)
    values, vectors = np.linalg.eigh(covariance)
    free = np.argsort(values)[::-1][:freedom]
    if not np.isfinite(values).all() or values[free].min() <= _RELATIVE_RANK * values.max():
        return Independence(math.nan, freedom, math.nan, "the reports do not determine all cells")
    along = vectors[:, free].T @ deviations
    statistic = float((along**2 / values[free]).sum())
    return Independence(statistic, freedom, float(chdtrc(freedom, statistic)), "")
