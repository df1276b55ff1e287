"""Noise that the reports of one device share: its permanent part, as a share of the whole variance.

A device that memoises draws the permanent response to an answer once. All its reports of that answer have this part of
the noise in common, and a second stage (`epsilon_report`) adds a fresh part to each.

Windows s, t with n_s and n_t reports, of which o_st are from devices in both whose answers did not change, have the
covariance o_st V_perm / (n_s n_t). So the sum of windows with N reports in all has the variance V / N times the *design
effect* 1 + (V_perm / V) sum of o_st over s != t / N.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.mechanisms import Mechanism
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]

_NEGLIGIBLE = 1e-9  # share of devices that stay, below which windows share nothing


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


def repeated_reports(sizes: Sequence[int] | None, n: int, turnover: float | None = None) -> float:
    """How many other reports of a device there are beside one, at most: the sum of o_st over s != t, divided by N.

    Two windows share at most the devices of the smaller one, o_st <= min(n_s, n_t), and those that are left after
    a turnover a window. The order of windows is not known; the bound is that of consecutive windows, the largest
    first: then the windows above any size follow each other, where they share most.

    Parameters
    ----------
    sizes
        Reports of each window; None if they are not known. Then all may be of one device.
    n
        Reports in all.
    turnover
        The part of the devices that are replaced from one window to the next; None if it is not known.

    Returns
    -------
    float
        0 for one window, W - 1 for W windows of the same devices.

    Examples
    --------
    >>> repeated_reports([1000] * 20, 20_000), repeated_reports([1000], 1000), repeated_reports(None, 50)
    (19.0, 0.0, 49.0)
    >>> round(repeated_reports([1000] * 20, 20_000, turnover=0.5), 3), repeated_reports([10, 30], 40)
    (1.8, 0.5)
    """
    if sizes is None:
        return max(n - 1.0, 0.0)
    ordered = np.sort(np.asarray(sizes, np.float64))[::-1]
    kept = 1.0 if turnover is None else 1.0 - turnover
    if len(ordered) < 2 or kept <= 0:
        return 0.0
    if kept == 1.0:  # the j-th largest is the smaller one of j - 1 pairs
        return float(2 * (np.arange(len(ordered)) * ordered).sum() / n)
    total, share = 0.0, kept
    for apart in range(1, len(ordered)):
        total += share * float(ordered[apart:].sum())
        share *= kept
        if share < _NEGLIGIBLE:
            break
    return 2 * total / n
