"""The devices that windows have in common, learnt from the windows: which part of them stays, and keeps its answer.

It is learnt twice: with the models of movement, for bands, and as if nothing moved. All that differs from window to
window is noise then, so that is a lower bound of what they share, which differences and changes use.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.tracking.averaging import Moving, Series, average, averaged, fitted
from deniable.tracking.sharing import Sharing, correlations

__all__ = ["Attendance", "Lives", "Overlap", "learn_kept"]

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


@dataclass(frozen=True)
class Lives:
    """What was said of the devices.

    Attributes
    ----------
    turnover
        The part of them that are replaced in each window; None if it is not known.
    change
        The part of those that stay that draw their answer anew; None if it is not known.
    """

    turnover: float | None = None
    change: float | None = None


@dataclass(frozen=True)
class Attendance:
    """What is known of the devices of each window before anything is learnt.

    Attributes
    ----------
    sizes
        Reports of each window; 0 where it is missing.
    continues
        Whether each window is of the same survey as the one before.
    lives
        Which part of the devices are replaced in each window, and change their answer, as far as it was said.
    returns
        The chance that an answer that is drawn anew has the cells of the one before.
    """

    sizes: Floats
    continues: npt.NDArray[np.bool_]
    lives: Lives
    returns: float

    def sharing(self, stay: float, keep: float) -> Sharing:
        """If a part of the devices stay from each window to the next, and a part of those keep their answer."""
        both, alone = (correlations(part, self.sizes, self.continues) for part in (stay * keep, stay))
        return Sharing(both, alone, self.returns)

    @property
    def most(self) -> Sharing:
        """The upper bound: all stay and keep their answers, but for the turnover and the change that were given."""
        return self.sharing(1 - (self.lives.turnover or 0.0), 1 - (self.lives.change or 0.0))

    def possible(self, changed: Floats, gone: Floats) -> Floats:
        """Pairs of the part that stays and the part of those that keeps its answer, shape (V, 2)."""
        if self.lives.change is not None:
            changed = np.array([self.lives.change])
        if self.lives.turnover is not None:
            return np.stack([np.full(len(changed), 1 - self.lives.turnover), 1 - changed], axis=1)
        if self.lives.change is not None:
            return np.stack([1 - gone, np.full(len(gone), 1 - self.lives.change)], axis=1)
        leave = np.stack([1 - gone, np.ones(len(gone))], axis=1)
        some = changed[changed > 0]  # those who leave never return, those who change their answer may
        return np.concatenate([leave, np.stack([np.ones(len(some)), 1 - some], axis=1)]) if self.returns else leave


@dataclass(frozen=True)
class Overlap:
    """Possible shares of devices that stay, and that keep their answer.

    Attributes
    ----------
    values
        The part of the devices that stay and the part of those that keep their answer, shape (V, 2).
    trust
        The posterior probability of each pair, shape (V,).
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
        """The part of the devices that are the same, with the same answer, as in the window before."""
        return float(self.values.prod(axis=1) @ self.trust)

    def sharings(self, devices: Attendance) -> list[Sharing]:
        """What windows share under each."""
        return [devices.sharing(*pair) for pair in self.values.tolist()]

    def typical(self, devices: Attendance) -> Sharing:
        """What windows share at the mean of them."""
        stay, keep = (self.trust @ self.values).tolist()
        return devices.sharing(stay, keep)


NONE = Overlap(np.zeros((1, 2)), np.ones(1))  # where nobody takes part again


def learn_kept(series: Series, devices: Attendance) -> tuple[Moving, Overlap, Overlap]:
    """Track under each possible share of devices that stay, and average by posterior probability.

    Parameters
    ----------
    series
        The estimates of single windows.
    devices
        What is known of their devices.

    Returns
    -------
    tuple
        The levels, the overlap of windows if shares move as the models say, and the overlap if they stand still: a
        lower bound, because then all that differs from window to window is noise.
    """
    if not series.permanent.any():
        return averaged(series, Sharing.none(len(series.there))), NONE, NONE
    values = devices.possible(_CHANGED, _GONE)
    judges = series
    if len(series.values) > _JUDGES:
        order = np.argsort(series.values[:, series.there].mean(axis=1))
        judges = series[order[np.linspace(0, len(order) - 1, _JUDGES).astype(np.intp)]]
    fits = [fitted(judges, devices.sharing(*pair)) for pair in values.tolist()]
    evidence = np.array([one.evidence for one in fits])
    found = Overlap.of(values, evidence)
    if judges is series:
        chosen = found.values.tolist()
        moving = [one.moving() for one, pair in zip(fits, values.tolist(), strict=True) if pair in chosen]
    else:
        moving = [averaged(series, sharing) for sharing in found.sharings(devices)]
    calm = ~fits[int(evidence.argmax())].jumps.any(axis=1)
    least = devices.possible(_FINELY, _FINELY)
    quiet = judges[np.flatnonzero(calm)] if calm.any() else judges
    still = np.array([_still_evidence(quiet, devices.sharing(*pair)) for pair in least.tolist()])
    return average(moving, found.trust), found, Overlap.of(least, still)


def _still_evidence(series: Series, sharing: Sharing) -> float:
    """The log-likelihood of what windows share, if no symbol moves; a level has a diffuse prior."""
    there, unit = series.there, series.unit
    y = (series.values / unit)[:, there]
    deviations = np.sqrt((series.variances / unit**2).mean(axis=0)[there])
    part, symbols = float(series.permanent.mean()), len(y)
    alike = sharing.matrix[np.ix_(there, there)]
    cover = part * alike + max(1 - part, _LEAST_FRESH) * np.eye(len(alike))
    cover *= np.outer(deviations, deviations)
    inverse = np.linalg.inv(cover)
    level = inverse.sum(axis=0)
    squares = float(np.einsum("st,tu,su->", y, inverse, y)) - float(((y @ level) ** 2).sum()) / float(level.sum())
    logs = float(np.linalg.slogdet(cover)[1]) + float(np.log(level.sum()))
    # The noise of shares that add up to one has one dimension less.
    return -0.5 * (squares + symbols * logs) * max(symbols - 1, 1) / symbols
