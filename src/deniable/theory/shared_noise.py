"""Noise that the reports of one device share: its permanent part, as a share of the whole variance.

A device that memoises draws the permanent response to an answer once. All its reports of that answer have this part of
the noise in common, and a second stage (`epsilon_report`) adds a fresh part to each.

Windows s, t with n_s and n_t reports, of which o_st are from devices in both whose answers did not change, have the
covariance o_st V_perm / (n_s n_t). So the sum of windows with N reports in all has the variance V / N times the *design
effect* 1 + (V_perm / V) sum of o_st over s != t / N. Devices that change their answer repeat a part of their noise,
too, as often as the new answer has the same cells (`returning_share`).
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns import cell_rows, keys_of
from deniable.mechanisms import Mechanism
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]

_NEGLIGIBLE = 1e-9  # share of devices that stay, below which windows share nothing
_MOST_SETS = 10**300  # sets of cells that an answer may have: many hashes make numbers beyond all floats
_COHORTS = 32  # cohorts whose hash functions are looked at: the mean of their chances is known to a few per cent


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
    size, encoding = np.clip(shares, 0.0, 1.0), survey.encoding
    own, common = encoding.occupied or 1, encoding.shared
    # How many of a symbol's cells another one has: of its block some, of others none; where cells are drawn, by chance.
    met = 1 / survey.cells if common is None else common / int(getattr(encoding, "blocks", 1))
    miss, gap = mechanism.affine
    chance = np.clip(own * miss + gap * (own * size + (1 - size) * met), 1e-12, 1 - 1e-12)
    return np.asarray(chance * (1 - chance) / (gap * (own - (common or 0))) ** 2)


def sum_variance(mechanism: Mechanism, shares: Floats, cells: int) -> Floats:
    """The variance a person of the estimate of a sum of cells, of which a report is hit or missed one by one.

    With H the hits of a report among them, the estimate is (H - cells * miss) / (hit - miss). H has one law where the
    true cell is among them and one where it is not; both follow from the probabilities of a hit and of two hits.

    Parameters
    ----------
    mechanism
        It hits and misses cells alike (`two_valued`), each answer one cell.
    shares
        Shares of the sums.
    cells
        How many cells each sum has.

    Returns
    -------
    array
        A variance for each share.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable.mechanisms import KRR
    >>> mechanism = KRR(4, 2)
    >>> hits = 2 * float(mechanism.miss) + 0.5 * float(mechanism.hit - mechanism.miss)
    >>> found = sum_variance(mechanism, np.array([0.5]), 2)
    >>> bool(np.isclose(found, hits * (1 - hits) / float(mechanism.hit - mechanism.miss) ** 2))
    True
    """
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    neither, either = (float(chance) for chance in mechanism.pairs)
    others = cells - 1
    inside = hit * (1 - hit) + others * miss * (1 - miss) + 2 * others * (either - hit * miss)
    inside += others * (others - 1) * (neither - miss**2)
    outside = cells * miss * (1 - miss) + cells * others * (neither - miss**2)
    within = (shares * inside + (1 - shares) * outside) / (hit - miss) ** 2
    return np.asarray(within + shares * (1 - shares))


def returning_share(survey: Survey, shares: Floats, *, symbols: Sequence[object] | None = None) -> float:
    """The part of the permanent noise that a device repeats by chance, when it draws its answer anew.

    A device that memoises draws its noise once for the cells of an answer. Another answer has new noise only if its
    cells are others: with g cells the old noise is repeated once in g times, at any distance of windows. With p the
    chance that a report hits a symbol's cells, given an answer, the permanent noise of a person has the variance of
    that hit, E[p (1 - p)] + Var[p] over answers. Of two independent answers, those with the same cells share p (1 - p).

    Parameters
    ----------
    survey
        The survey that is answered.
    shares
        Approximate shares of the symbols. What they leave of one is of other answers, spread over all cells.
    symbols
        The symbols of `shares`, where the alphabet is open; without them answers are spread over all cells.

    Returns
    -------
    float
        On average over symbols, and over cohorts.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> round(returning_share(dn.krr(symbols=4, epsilon=2), np.full(4, 0.25)), 3)
    0.155
    >>> hashed = dn.orr(symbols=100, epsilon=1, cells=2, cohorts=16, seed=bytes(16))
    >>> round(returning_share(hashed, np.full(100, 0.01)), 2)  # half of 0.79
    0.39
    """
    known, encoding = np.clip(shares, 0.0, 1.0), survey.encoding
    known = known / max(float(known.sum()), 1.0)
    own, common = encoding.occupied or 1, encoding.shared or 0
    miss, gap = survey.mechanism.permanent.affine
    hit, miss = own * (miss + gap), own * miss + gap * common / int(getattr(encoding, "blocks", 1))
    inside, outside = hit * (1 - hit), miss * (1 - miss)
    names = survey.symbols if symbols is None else symbols
    spread, sets = 0.0, float(min(encoding.cells**encoding.hashes, _MOST_SETS))
    if encoding.own_cells or encoding.is_design:
        rows: Iterable[Any] = [np.arange(len(known))[None]]
    elif names is None:
        rows, known = [np.zeros((1, 1))], np.zeros(1)
        spread = 1 / sets
    else:
        rows = islice(cell_rows(encoding, keys_of(survey, names)), _COHORTS)
        spread = max(1.0 - float(known.sum()), 0.0) / sets
    found = []
    for cells in rows:
        _, which = np.unique(np.sort(cells, axis=0), axis=1, return_inverse=True)
        chances = np.bincount(np.ravel(which), weights=known) + spread
        empty = sets - len(chances)  # sets of cells that no known symbol has
        mine, alike = chances[np.ravel(which)], float((chances**2).sum()) + empty * spread**2
        chance = miss + (hit - miss) * mine
        repeated = outside * (alike - mine**2) + inside * mine**2
        found.append(float((repeated / (chance * (1 - chance))).mean()))
    return min(float(np.mean(found)), 1.0)


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
