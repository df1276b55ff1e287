"""What is read off several windows: a weighted sum of them, and a step from one to the next, with error bars."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.errors import DecodeError
from deniable.survey import Symbol

__all__ = ["Change", "Contrast", "around"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """A step in the share of a symbol.

    Parameters
    ----------
    symbol : symbol
        The symbol whose share changed.
    window : object
        The label of the first window after the step.
    size : float
        The share after the step less the share before it.
    interval : tuple of float
        A 95 % confidence interval of the size, for this step alone.
    p_value : float
        Family-wise: an upper bound of the probability that any symbol has so significant a step at any window of a
        history without changes.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["a", "b", "c"], epsilon=2)
    >>> before, after = dn.Tally(survey, [[700, 200, 100]]), dn.Tally(survey, [[400, 500, 100]])
    >>> change = dn.track([before] * 5 + [after] * 5).changes()[0]
    >>> change.symbol, change.size < 0, change.interval[1] < 0, change.p_value < 0.001
    ('a', True, True, True)
    """

    symbol: Symbol
    window: object
    size: float
    interval: tuple[float, float]
    p_value: float


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of windows for every symbol: a difference or an average, with standard errors.

    Parameters
    ----------
    symbols : tuple of symbols
        The symbols, in the order of the arrays.
    values : ndarray
        Unbiased estimates.
    standard_errors : ndarray
        Their standard errors, with the noise that windows share.

    Examples
    --------
    >>> Contrast(("a", "b"), np.array([0.1, -0.1]), np.array([0.02, 0.02])).intervals().round(3)
    array([[ 0.061,  0.139],
           [-0.139, -0.061]])
    """

    symbols: tuple[Symbol, ...]
    values: Floats
    standard_errors: Floats

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Confidence intervals, shape (S, 2).

        Parameters
        ----------
        level : float
            The coverage probability of an interval, between 0 and 1.
        simultaneous : bool
            Whether all intervals together have that coverage (Bonferroni).

        Returns
        -------
        ndarray
            Lower and upper limits, shape (S, 2).
        """
        return around(self.values, self.standard_errors, level, len(self.symbols) if simultaneous else 1)


def around(values: Floats, errors: Floats, level: float, tests: int) -> Floats:
    """Normal limits around each value, shape (S, 2); `tests` intervals hold at once with the level (Bonferroni)."""
    from scipy import stats

    if not 0 < level < 1:
        raise DecodeError(f"level must be between 0 and 1, got {level!r}")
    reach = float(stats.norm.isf((1 - level) / 2 / tests)) * errors
    return np.stack([values - reach, values + reach], axis=-1)
