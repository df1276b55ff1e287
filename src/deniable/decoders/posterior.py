"""The posterior distribution of each share, on a few quadrature nodes per share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_MAX_STEPS = 60  # iterations, at most, of the search for the level at which quantiles add up to the total
_CLOSE = 1e-9  # relative error of their sum at which the search ends
_ROWS = 128  # shares that are worked on at a time, so that their nodes stay in the cache


@dataclass(frozen=True)
class Posterior:
    """Probability masses of each share on its nodes (`places`), shape (S, G), and on zero."""

    places: Floats
    masses: Floats
    zero: Floats

    @cached_property
    def means(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->i", self.masses, self.places))

    @property
    def variances(self) -> Floats:
        return np.asarray(np.einsum("ij,ij,ij->i", self.masses, self.places, self.places) - self.means**2)

    def expected_loss(self, answer: Floats, loss: str) -> float:
        """The posterior expectation of the l1 distance, or the squared l2 distance, to an answer.

        >>> known = Posterior(np.array([[0.4]]), np.array([[0.75]]), np.array([0.25]))
        >>> round(known.expected_loss(np.array([0.2]), "l1"), 3), round(known.expected_loss(np.array([0.2]), "l2"), 3)
        (0.2, 0.04)
        """
        away = self.places - answer[:, None]
        if loss == "l1":
            return float(self.zero @ answer) + float(np.vdot(self.masses, np.abs(away, out=away)))
        return float(self.zero @ answer**2) + float(np.vdot(self.masses, np.square(away, out=away)))

    def quantiles(self, total: float) -> Floats:
        """The quantiles of one common level, the one at which they add up to `total`.

        Of all vectors with that sum it has the smallest expected l1 distance to the shares.
        """
        found = self.at(self.level(total))
        reached = float(found.sum())
        return found * (total / reached) if reached > 0 else np.full(len(found), total / len(found))

    def level(self, total: float) -> float:
        """The level at which the quantiles add up to `total`, or the highest.

        Their sum increases with the level, and is nearly linear in its log odds. So these are Newton steps in the log
        odds, with bisection where a step leaves the bracket or the last one did not halve the error.
        """
        low, high = -700.0, 34.5  # log odds of 1e-304 and of 1 - 1e-15; at a level of 1 all quantiles are maximal
        if float(self.at(1 - 1e-15).sum()) <= total:
            return 1 - 1e-15
        odds, level, last = 0.0, 0.5, np.inf
        for _ in range(_MAX_STEPS):
            found, slopes = self._at(level)
            off = float(found.sum()) - total
            if abs(off) <= _CLOSE * total:
                return level
            low, high = (odds, high) if off < 0 else (low, odds)
            slope = float(slopes.sum()) * level * (1 - level)
            odds -= off / slope if slope > 0 else np.inf
            if not low < odds < high or abs(off) > last / 2:
                odds = (low + high) / 2
            level, last = 1 / (1 + float(np.exp(-odds))), abs(off)
        return level

    def at(self, level: float) -> Floats:
        """The quantile of every share at one level."""
        above, start, rise, _, part = self._between(level)
        return np.where(above == 0, 0.0, start + part * rise)

    def _at(self, level: float) -> tuple[Floats, Floats]:
        """The quantile of every share at one level, and its derivative there."""
        above, start, rise, width, part = self._between(level)
        inside = (above > 0) & (part < 1)
        return np.where(above == 0, 0.0, start + part * rise), np.where(inside, rise / width, 0.0)

    def _between(self, level: float) -> tuple[npt.NDArray[np.intp], Floats, Floats, Floats, Floats]:
        """Of every share: how many of its places lie below the level, the last of them and the way to the next, and the
        step of the distribution function there and how much of it is below the level."""
        ladder = self._ladder
        rows = np.arange(len(ladder))
        above = np.count_nonzero(ladder <= level, axis=1)
        j = np.minimum(np.maximum(above, 1), ladder.shape[1] - 1)
        low, high = ladder[rows, j - 1], ladder[rows, j]
        start = np.where(j > 1, self.places[rows, j - 2], 0.0)
        rise = self.places[rows, j - 1] - start
        width = np.maximum(high - low, 1e-300)
        part = np.minimum(np.maximum((level - low) / width, 0.0), 1.0)
        return above, start, rise, width, part

    @cached_property
    def _ladder(self) -> Floats:
        """The distribution function of every share: at zero, and at its places."""
        ladder = np.empty((len(self.zero), self.places.shape[1] + 1))
        ladder[:, 0] = self.zero
        for rows in slices_of(len(ladder)):
            inside = ladder[rows, 1:]
            np.cumsum(self.masses[rows], axis=1, out=inside)
            inside -= self.masses[rows] / 2  # the mass of a node is spread around it
            inside += self.zero[rows, None]
        return ladder


def mixture(parts: Iterable[tuple[float, Posterior]]) -> Posterior:
    """The average of posteriors on the same places, each with its weight.

    >>> places = np.array([[0.4]])
    >>> one, other = (Posterior(places, np.array([[m]]), np.array([1 - m])) for m in (1.0, 0.5))
    >>> mixture([(0.5, one), (0.5, other)]).zero
    array([0.25])
    """
    places, masses, zero = np.zeros((0, 0)), np.zeros(()), np.zeros(())
    for weight, part in parts:
        places, masses, zero = part.places, masses + weight * part.masses, zero + weight * part.zero
    return Posterior(places, masses, zero)


def slices_of(size: int) -> Iterator[slice]:
    """Slices that cover all rows, `_ROWS` at a time."""
    return (slice(start, start + _ROWS) for start in range(0, size, _ROWS))


def spike_and_slab(value: float, variance: float) -> tuple[float, float]:
    """Posterior mean and variance of the unallocated mass; its prior is half an atom at 0, half uniform on [0, 1]."""
    places = (np.arange(4096) + 0.5) / 4096
    fit = -0.5 * (value - places) ** 2 / variance
    none = -0.5 * value**2 / variance
    top = max(float(fit.max()), none)
    masses, spike = np.exp(fit - top) / len(places), float(np.exp(none - top))
    total = float(masses.sum()) + spike
    mean = float(masses @ places) / total
    return mean, max(float(masses @ places**2) / total - mean**2, 1e-12)
