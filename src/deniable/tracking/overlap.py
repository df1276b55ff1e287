"""The noise that windows share: the permanent part of a report's noise, and the share of devices that stay.

Devices that take part in several windows and memoise their noise repeat it. Two windows s, t with n_s and n_t reports,
of which o_st are from devices in both whose answer did not change, have the covariance o_st V_perm / (n_s n_t), where
V_perm is the variance a person of the permanent stage alone. Here o_st = kept ** |t - s| sqrt(n_s n_t), where `kept` is
the share of devices that are the same, with the same answer, as in the window before.
"""

import numpy as np
import numpy.typing as npt

from deniable.tracking.averaging import Moving, Series, average, averaged, fitted

__all__ = ["correlation_matrix", "correlations", "learn_kept"]

Floats = npt.NDArray[np.float64]

# Shares of the devices that stay but change their answer from one window to the next: the grid of a discrete prior.
_CHANGED = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])
_GONE = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0])  # or that leave, where turnover is not given
_JUDGES = 64  # symbols from which the share of devices that stay is estimated; more would only cost time
_NEGLIGIBLE = 0.02  # posterior probability below which a value is dropped


def correlations(kept: float, sizes: Floats, continues: npt.NDArray[np.bool_]) -> Floats:
    """The correlation of the shared noise of each window with that of the window before.

    Parameters
    ----------
    kept
        The part of the devices that are the same, with the same answer, as in the window before.
    sizes
        Reports of each window; 0 where it is missing.
    continues
        Whether each window is of the same survey as the one before: a new survey has noise of its own.

    Returns
    -------
    array
        One number for each window; the first is not used.

    Examples
    --------
    >>> correlations(0.9, np.array([100.0, 100.0, 400.0]), np.array([False, True, True]))
    array([0.  , 0.9 , 0.45])
    """
    there = sizes > 0
    last = np.maximum.accumulate(np.where(there, np.arange(len(sizes)), 0))
    filled = np.maximum(sizes[last], 1.0)  # a missing window has the devices of the last one
    found = np.zeros(len(sizes))
    ratio = filled[1:] / filled[:-1]
    found[1:] = np.where(continues[1:], kept * np.sqrt(np.minimum(ratio, 1 / ratio)), 0.0)
    return found


def learn_kept(
    series: Series, sizes: Floats, continues: npt.NDArray[np.bool_], turnover: float | None
) -> tuple[Moving, Floats, Floats]:
    """Track under each possible share of devices that stay, and average by posterior probability.

    Parameters
    ----------
    series
        The estimates of single windows.
    sizes
        Reports of each window; 0 where it is missing.
    continues
        Whether each window is of the same survey as the one before.
    turnover
        The part of the devices that are replaced in each window; None if it is not known.

    Returns
    -------
    tuple
        The levels, values of `kept` and the posterior probability of each.
    """
    if not series.permanent.any():
        return averaged(series, np.zeros(len(sizes))), np.zeros(1), np.ones(1)
    values = 1 - _GONE if turnover is None else (1 - turnover) * (1 - _CHANGED)
    judges = series
    if len(series.values) > _JUDGES:
        order = np.argsort(series.values[:, series.there].mean(axis=1))
        judges = series[order[np.linspace(0, len(order) - 1, _JUDGES).astype(np.intp)]]
    fits = [fitted(judges, correlations(kept, sizes, continues)) for kept in values]
    evidence = np.array([one.evidence for one in fits])
    trust = np.exp(evidence - evidence.max())
    trust /= trust.sum()
    likely = trust >= _NEGLIGIBLE
    values, trust = values[likely], trust[likely] / trust[likely].sum()
    if judges is series:
        found = [one.moving() for one, is_likely in zip(fits, likely, strict=True) if is_likely]
    else:
        found = [averaged(series, correlations(kept, sizes, continues)) for kept in values]
    return average(found, trust), values, trust


def correlation_matrix(steps: Floats) -> Floats:
    """Correlations of any two windows: the product of the correlations of the neighbours between them."""
    size = len(steps)
    found = np.eye(size)
    for t in range(1, size):
        found[t, :t] = found[t - 1, :t] * steps[t]
        found[:t, t] = found[t, :t]
    return found
