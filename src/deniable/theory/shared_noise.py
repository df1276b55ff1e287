"""Noise that the reports of one device share: its permanent part, as a share of the whole variance.

A device that memoises draws the permanent response to an answer once. All its reports of that answer have this part of
the noise in common, and a second stage (`epsilon_report`) adds a fresh part to each.
"""

import numpy as np
import numpy.typing as npt

from deniable.mechanisms import Mechanism
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]


def permanent_share(survey: Survey, shares: Floats) -> Floats:
    """The part of the variance of one report's estimate that all reports of an unchanged answer have in common.

    One where a memoised report is repeated as it is. Less where it is randomised again from a permanent response
    (`epsilon_report`): then it is the ratio of the variances of a cell's estimate, c (1 - c) / (hit - miss)**2 with c
    the chance that the cell is hit, under the permanent stage alone and under both.

    Parameters
    ----------
    survey
        The survey that was answered.
    shares
        Approximate shares of the symbols.

    Returns
    -------
    array
        A number in (0, 1] for each symbol.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> permanent_share(dn.krr(symbols=4, epsilon=2), np.full(4, 0.25))
    array([1., 1., 1., 1.])
    >>> permanent_share(dn.krr(symbols=4, epsilon=2, epsilon_report=1), np.full(4, 0.25)).round(3)
    array([0.239, 0.239, 0.239, 0.239])
    """
    if not survey.mechanism.twice:
        return np.ones_like(shares)
    first, both = (cell_variance(survey, stage, shares) for stage in (survey.mechanism.permanent, survey.mechanism))
    return np.minimum(first / both, 1.0)


def cell_variance(survey: Survey, mechanism: Mechanism, shares: Floats) -> Floats:
    """The variance a person of the estimate from a symbol's cell: c (1 - c) / (hit - miss)**2.

    Parameters
    ----------
    survey
        The survey that was answered.
    mechanism
        All of its mechanism, or the permanent stage alone.
    shares
        Approximate shares of the symbols.

    Returns
    -------
    array
        A variance for each share. Where cells are shared it is smaller than that of the estimate, in the same
        proportion for all shares.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> survey = dn.krr(symbols=4, epsilon=2)
    >>> cell_variance(survey, survey.mechanism, np.array([0.0, 0.25])).round(3)
    array([0.23 , 0.496])
    """
    size = np.clip(shares, 0.0, 1.0)
    # Where there are fewer cells than symbols, other symbols share a symbol's cell.
    others = 0.0 if survey.encoding.own_cells else 1 / survey.cells
    miss, gap = mechanism.affine
    chance = np.clip(miss + gap * (size + (1 - size) * others), 1e-12, 1 - 1e-12)
    return np.asarray(chance * (1 - chance) / gap**2)
