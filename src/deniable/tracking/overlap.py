"""The noise that windows share: the permanent part of a report's noise, and the share of devices that stay.

Devices that take part in several windows and memoise their noise repeat it. Two windows s, t with n_s and n_t reports,
of which o_st are from devices in both whose answer did not change, have the covariance o_st V_perm / (n_s n_t), where
V_perm is the variance a person of the permanent stage alone. Here o_st = kept ** |t - s| sqrt(n_s n_t), where `kept` is
the share of devices that are the same, with the same answer, as in the window before.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.tracking.averaging import Moving, Series, average, averaged, fitted

__all__ = ["Overlap", "correlation_matrix", "correlations", "learn_kept"]

Floats = npt.NDArray[np.float64]

# Shares of the devices that stay but change their answer from one window to the next: the grid of a discrete prior.
_CHANGED = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])
_GONE = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0])  # or that leave, where turnover is not given
# The same, finely, for the bound of differences: a value off by a few per cent adds up over many windows.
_FINELY = np.array(
    [0.0, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.045, 0.06, 0.08, 0.1, 0.13, 0.17, 0.22, 0.3, 0.4, 0.55, 0.75, 1.0]
)
_LEAST_FRESH = 1e-4  # least share of a window's variance that is independent of other windows; keeps it positive
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


@dataclass(frozen=True)
class Overlap:
    """Possible shares of devices that are the same, with the same answer, as in the window before.

    Attributes
    ----------
    values, trust
        Shares, and the posterior probability of each.
    """

    values: Floats
    trust: Floats

    @classmethod
    def of(cls, values: Floats, evidence: Floats) -> "Overlap":
        """Those that are likely, by their log-likelihood."""
        trust = np.exp(evidence - evidence.max())
        likely = trust >= _NEGLIGIBLE * trust.sum()
        return cls(values[likely], trust[likely] / trust[likely].sum())

    @property
    def mean(self) -> float:
        return float(self.values @ self.trust)

    def correlations(self, sizes: Floats, continues: npt.NDArray[np.bool_]) -> list[Floats]:
        """The correlations of neighbouring windows under each."""
        return [correlations(float(kept), sizes, continues) for kept in self.values]


NONE = Overlap(np.zeros(1), np.ones(1))  # where nobody takes part again


def learn_kept(
    series: Series, sizes: Floats, continues: npt.NDArray[np.bool_], turnover: float | None
) -> tuple[Moving, Overlap, Overlap]:
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
        The levels, the overlap of windows if shares move as the models say, and the overlap if they stand still: a
        lower bound, because then all that differs from window to window is noise.
    """
    if not series.permanent.any():
        return averaged(series, np.zeros(len(sizes))), NONE, NONE
    values = 1 - _GONE if turnover is None else (1 - turnover) * (1 - _CHANGED)
    judges = series
    if len(series.values) > _JUDGES:
        order = np.argsort(series.values[:, series.there].mean(axis=1))
        judges = series[order[np.linspace(0, len(order) - 1, _JUDGES).astype(np.intp)]]
    fits = [fitted(judges, correlations(kept, sizes, continues)) for kept in values]
    evidence = np.array([one.evidence for one in fits])
    found = Overlap.of(values, evidence)
    if judges is series:
        moving = [one.moving() for one, kept in zip(fits, values, strict=True) if kept in found.values]
    else:
        moving = [averaged(series, steps) for steps in found.correlations(sizes, continues)]
    calm = ~fits[int(evidence.argmax())].jumps.any(axis=1)
    least = (1 - (turnover or 0.0)) * (1 - _FINELY)
    quiet = judges[np.flatnonzero(calm)] if calm.any() else judges
    return average(moving, found.trust), found, Overlap.of(least, _still_evidence(quiet, least, sizes, continues))


def _still_evidence(
    series: Series, values: Floats, sizes: Floats, continues: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """The log-likelihood of each share of devices that stay, if no symbol moves; a level has a diffuse prior."""
    there, unit = series.there, series.unit
    y = (series.values / unit)[:, there]
    deviations = np.sqrt((series.variances / unit**2).mean(axis=0)[there])
    part = float(series.permanent.mean())
    symbols, found = len(y), []
    for kept in values:
        alike = correlation_matrix(correlations(float(kept), sizes, continues))[np.ix_(there, there)]
        cover = part * alike + max(1 - part, _LEAST_FRESH) * np.eye(len(alike))
        cover *= np.outer(deviations, deviations)
        inverse = np.linalg.inv(cover)
        level = inverse.sum(axis=0)
        squares = float(np.einsum("st,tu,su->", y, inverse, y)) - float(((y @ level) ** 2).sum()) / float(level.sum())
        logs = float(np.linalg.slogdet(cover)[1]) + float(np.log(level.sum()))
        found.append(-0.5 * (squares + symbols * logs))
    # The noise of shares that add up to one has one dimension less.
    return np.array(found) * max(symbols - 1, 1) / symbols


def correlation_matrix(steps: Floats) -> Floats:
    """Correlations of any two windows: the product of the correlations of the neighbours between them."""
    size = len(steps)
    found = np.eye(size)
    for t in range(1, size):
        found[t, :t] = found[t - 1, :t] * steps[t]
        found[:t, t] = found[t, :t]
    return found
