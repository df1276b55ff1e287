"""What is read off several windows: a weighted sum of them, and a step from one to the next, with error bars."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders import check_level
from deniable.survey import Symbol
from deniable.tracking.averaging import Series
from deniable.tracking.overlap import Attendance, Overlap
from deniable.tracking.sharing import Sharing

__all__ = ["Change", "Contrast", "around", "variances_of_sums"]

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

    reach = float(stats.norm.isf((1 - check_level(level)) / 2 / tests)) * errors
    return np.stack([values - reach, values + reach], axis=-1)


def variances_of_sums(series: Series, weights: Floats, devices: Attendance, learnt: tuple[Overlap, Overlap]) -> Floats:
    """The variances of weighted sums of windows, one for each symbol.

    Parameters
    ----------
    series
        The estimates of single windows.
    weights
        One number a window, or a row of them for each symbol, in two dimensions.
    devices
        What is known of the devices of each window.
    learnt
        What windows share, with shares that move and with shares that stand still.

    Returns
    -------
    ndarray
        More devices in common make a sum wider, fewer a difference: whichever it is, the largest variance holds, of
        what was learnt and of the upper bound.
    """
    used = np.flatnonzero(weights.any(axis=0))
    w, variances, permanent = weights[:, used], series.variances[:, used], series.permanent[:, None]
    alone = ((1 - permanent) * variances * w**2).sum(axis=1)
    if not permanent.any():
        return np.asarray(alone)
    side = np.sqrt(permanent * variances) * w

    def shared(sharing: Sharing) -> Floats:
        return np.asarray(np.einsum("st,tu,su->s", side, sharing.matrix[np.ix_(used, used)], side))

    possible = [
        sum(trust * shared(sharing) for trust, sharing in zip(one.trust, one.sharings(devices), strict=True))
        for one in learnt
    ]
    return np.asarray(np.maximum(alone + np.max([*possible, shared(devices.most)], axis=0), 0.0))
