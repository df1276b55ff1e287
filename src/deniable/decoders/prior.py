"""What shares look like in this population, learned from the noisy estimates themselves: a prior for empirical Bayes.

Each estimate is a noisy observation of a share p >= 0 with known variance. A prior on p says how shares are spread: so
many at zero, so many around each size. Several families are fitted and averaged:

* a family mixes an atom at zero with log-normal bumps, a fixed relative width apart: wide bumps for populations whose
  shares spread smoothly, narrow ones for populations in which many shares are equal. Where noise hides such detail
  bumps are as wide as the noise allows to tell;
* its weights are found by predictive recursion (Newton 2002): observations are visited one by one, each moving the
  weights a little towards its own posterior. The product of the predictions along the way is the evidence. A few steps
  of expectation maximisation follow, the more the more symbols there are; its limit, the maximum of the likelihood,
  collapses on a few atoms, which is too sure of itself;
* families, and what they first believe about how many shares are zero, are averaged by their evidence, so nobody has
  to choose.

Orders are fixed pseudo-random ones over the sorted observations: the answer depends on nothing but the data.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["Observations", "Posterior", "Prior", "fixed_words", "learned", "mixture", "posterior"]

Floats = npt.NDArray[np.float64]

_NODES = 64  # of the quadrature over each share
_REACH = 6.0  # standard deviations that it covers
_FITTED = 1024  # observations that the weights are learned from, evenly spread over the sorted ones
_ORDERS = 8
_DECAY = 2 / 3
_STEPS = (8, 64)  # of expectation maximisation: one for so many observations, and at most so many
_WIDTHS = (1.0, 0.3, 0.1)  # of the bumps, on the logarithm
_LEVEL_WIDTH = 0.03  # of the bumps near 1 / S, where a flat population has all its shares
_ATOMS = (0.1, 0.5, 0.9)  # what a family first believes about how many shares are zero
_RESOLVED = 0.15  # standard deviations below which no width can be told from another
_CUTS, _CLOSE = 60, 1e-9  # of the level at which quantiles add up: cuts at most, and how near their sum must be
_NEARLY_NOTHING = float(np.nextafter(-1, 0))  # of the mean of a count, less one
_NORMAL_FROM = 1e7  # counts behind an observation from which its law is normal


@dataclass(frozen=True)
class Observations:
    """Unbiased estimates of shares; the variance of one is base + slope * p.

    With a positive slope that is a count of noise and answers: N = (x + base / slope) / slope is Poisson with the mean
    (p + base / slope) / slope, which has this variance, and the skewness of small counts.
    """

    values: Floats
    base: Floats
    slope: float

    def log_likelihood(self, shares: Floats) -> Floats:
        """Up to a constant for each observation; `shares` has shape (S, G)."""
        x, base = self.values[:, None], self.base[:, None]
        if self.slope <= 0 or float(np.median(self.base)) > _NORMAL_FROM * self.slope**2:
            variance = np.maximum(base + self.slope * shares, 1e-3 * base)
            return np.asarray(-0.5 * (x - shares) ** 2 / variance - 0.5 * np.log(variance))
        shift = base / self.slope
        counted = x + shift > 0  # least squares can fall below what a count could give
        centre = np.where(counted, x + shift, 1.0)
        # Where noise is far less than one report a share of zero would round to -1, and the logarithm to infinity.
        excess = np.maximum(np.where(counted, (shares - x) / centre, 0.0), _NEARLY_NOTHING)
        poisson = centre / self.slope * (np.log1p(excess) - excess)
        return np.asarray(np.where(counted, poisson, -(shares + shift) / self.slope))

    @cached_property
    def likelihood(self) -> tuple[Floats, Floats, Floats]:
        """Places where each share can be, its likelihood there with the weight of the place, and that of zero.

        Both carry one common factor; that of the places is about densities of log p.
        """
        places, widths = self.nodes()
        inside, at_zero = self.log_likelihood(places), self.log_likelihood(np.zeros((len(places), 1)))[:, 0]
        top = np.maximum(inside.max(axis=1), at_zero)
        return places, np.exp(inside - top[:, None]) * widths / places, np.exp(at_zero - top)

    @cached_property
    def falls(self) -> Floats:
        """How far the largest likelihood of a share is below that of the estimate itself, which can be negative."""
        up = np.maximum(self.values, 0.0)
        falls = self.log_likelihood(up[:, None]) - self.log_likelihood(self.values[:, None])
        return np.minimum(falls[:, 0], 0.0)

    def nodes(self) -> tuple[Floats, Floats]:
        """Where the posterior of each share can be, and the weights of the midpoint rule there."""
        t = (np.arange(_NODES) + 0.5) / _NODES
        least = 1e-3 * self.base
        up = np.maximum(self.values, 0.0)
        spread = np.sqrt(np.maximum(self.base + self.slope * up, least))
        wider = np.sqrt(np.maximum(self.base + self.slope * (up + _REACH * spread), least))
        high, low = up + _REACH * np.maximum(spread, wider), np.maximum(self.values - _REACH * spread, 0.0)
        span, near = (high - low)[:, None], (low == 0)[:, None]
        # Close to zero the nodes crowd towards it, so that small bumps are seen.
        places = np.where(near, span * t**2, low[:, None] + span * t)
        return places, np.where(near, span * 2 * t, span) / _NODES


@dataclass(frozen=True)
class Posterior:
    """What is known about each share after all: masses on places, shape (S, G), and on zero."""

    places: Floats
    masses: Floats
    zero: Floats

    @property
    def means(self) -> Floats:
        return np.asarray((self.masses * self.places).sum(axis=1))

    @property
    def variances(self) -> Floats:
        return np.asarray((self.masses * self.places**2).sum(axis=1) - self.means**2)

    def expected_loss(self, answer: Floats, loss: str) -> float:
        """The l1 distance, or the squared l2 distance, that this posterior expects of an answer.

        >>> known = Posterior(np.array([[0.4]]), np.array([[0.75]]), np.array([0.25]))
        >>> round(known.expected_loss(np.array([0.2]), "l1"), 3), round(known.expected_loss(np.array([0.2]), "l2"), 3)
        (0.2, 0.04)
        """
        away = np.abs(self.places - answer[:, None])
        if loss == "l1":
            return float(self.zero @ answer) + float((self.masses * away).sum())
        return float(self.zero @ answer**2) + float((self.masses * away**2).sum())

    def quantiles(self, total: float) -> Floats:
        """The quantiles of one common level, the one at which they add up to `total`.

        Of all vectors with that sum it has the smallest expected l1 distance to the shares.
        """
        found = self.at(self.level(total))
        reached = float(found.sum())
        return found * (total / reached) if reached > 0 else np.full(len(found), total / len(found))

    def level(self, total: float) -> float:
        """The level at which the quantiles add up to `total`, or the highest.

        Their sum grows with the level, and hardly bends between two nodes: so the bracket is cut where the line through
        its ends meets the total. An end that stays counts half (the Illinois rule), and every third cut is in the
        middle, for sums that jump.
        """
        low, high = 0.0, 1 - 1e-15  # at one itself even a share that is surely zero is as large as it can be
        under, over = -total, float(self.at(high).sum()) - total
        if over <= 0:
            return high
        stayed = 0  # which end stayed the last time
        for turn in range(_CUTS):
            level = (low + high) / 2 if turn % 3 == 2 else low - under * (high - low) / (over - under)
            off = float(self.at(level).sum()) - total
            if abs(off) <= _CLOSE * total:
                return level
            if off < 0:
                low, under, over, stayed = level, off, over / 2 if stayed == 1 else over, 1
            else:
                high, over, under, stayed = level, off, under / 2 if stayed == -1 else under, -1
        return (low + high) / 2

    def at(self, level: float) -> Floats:
        """The quantile of every share at one level."""
        ladder, steps = self._ladder
        rows, last = np.arange(len(ladder)), ladder.shape[1] - 1
        above = np.count_nonzero(ladder <= level, axis=1)
        j = np.clip(above, 1, last)
        low, high = ladder[rows, j - 1], ladder[rows, j]
        part = np.clip((level - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
        found = steps[rows, j - 1] + part * (steps[rows, j] - steps[rows, j - 1])
        return np.asarray(np.where(above == 0, 0.0, found))

    @cached_property
    def _ladder(self) -> tuple[Floats, Floats]:
        """The distribution function of every share, and the places where it is known."""
        ladder = np.concatenate([self.zero[:, None], self.zero[:, None] + self.masses.cumsum(axis=1)], axis=1)
        ladder[:, 1:] -= self.masses / 2  # a node's mass lies around it
        steps = np.concatenate([np.zeros((len(self.zero), 1)), self.places], axis=1)
        return ladder, steps


@dataclass(frozen=True)
class Prior:
    """How shares are spread: families with the trust in each, its atom at zero and its density of log p on a grid."""

    logs: Floats
    trust: Floats
    zeros: Floats
    densities: Floats  # (families, len(logs))
    evidence: float  # the logarithm of the probability of the observations, where that of the shares seen is one

    def posterior(self, seen: Observations) -> Posterior:
        """What is known about shares that were observed so."""
        return mixture(self.posteriors(seen))

    def posteriors(self, seen: Observations, least: float = 0.0) -> Iterator[tuple[float, Posterior]]:
        """What each family knows, with the trust in it, where that is at least so much of the most trusted one's."""
        places, likelihood, at_zero = seen.likelihood
        # Linear interpolation, the same places for each family; the grid is even.
        left, part_right = _between(np.log(places), self.logs)
        for part, atom, density in zip(self.trust, self.zeros, self.densities, strict=True):
            if part == 0 or part < least * self.trust.max():
                continue
            some = np.diff(density, append=density[-1]).take(left)
            some *= part_right
            some += density.take(left)
            some *= likelihood
            none = at_zero * atom
            scale = 1 / np.maximum(some.sum(axis=1) + none, 1e-300)
            some *= scale[:, None]
            yield float(part), Posterior(places, some, none * scale)


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


def posterior(seen: Observations) -> Posterior:
    """The posterior of each share, under the average of the fitted priors.

    >>> shares = np.repeat([0.0, 0.02], [50, 50])
    >>> noise = 0.003 * np.array([1.0, -1.0, 0.4, -0.4] * 25)
    >>> found = posterior(Observations(shares + noise, np.full(100, 9e-6), 0.0))
    >>> bool(np.abs(found.means - shares).sum() < np.abs(noise).sum() / 2)
    True
    """
    return learned(seen).posterior(seen)


def learned(seen: Observations, *, fitted: int = _FITTED, orders: int = _ORDERS) -> Prior:
    """The prior that these observations suggest, from `fitted` of them at most, visited in so many orders.

    >>> prior = learned(Observations(np.full(40, 1 / 40), np.full(40, 1e-6), 0.0))
    >>> float(np.exp(prior.logs[np.argmax(prior.trust @ prior.densities)]).round(3))
    0.025
    """
    bumps = _families(seen)
    order = np.argsort(seen.values, kind="stable")
    if len(order) > fitted:
        order = order[np.linspace(0, len(order) - 1, fitted).astype(np.intp)]
    some = Observations(seen.values[order], seen.base[order], seen.slope)
    places, likelihood, at_zero = some.likelihood
    logs = np.linspace(bumps[0][0][0] - 5, bumps[0][0][-1] + 5, 2048 if fitted == _FITTED else 1024)
    spread = _on_grid(np.log(places), likelihood, logs)
    evidences, zeros, densities = [], [], []
    for centres, taus in bumps:
        shape = _bumps(logs, centres, taus)
        table = np.concatenate([at_zero[:, None], spread @ shape], axis=1) + 1e-300
        for weights, evidence in _fitted(table, taus, orders):
            evidences.append(evidence)
            zeros.append(weights[0])
            densities.append(shape @ weights[1:])
    trust = np.exp(np.array(evidences) - max(evidences))
    told = max(evidences) + float(np.log(trust.mean())) + float(some.falls.sum())
    trust[trust < 1e-4 * trust.sum()] = 0.0
    told *= len(seen.values) / len(order)
    return Prior(logs, trust / trust.sum(), np.array(zeros), np.array(densities), told)


def _on_grid(logs: Floats, likelihood: Floats, grid: Floats) -> "scipy.sparse.csr_array":
    """The likelihood of each observation, shared out between the two points of the grid beside each of its places.

    So its sum with any function on the grid is that with the function's linear interpolation.
    """
    from scipy import sparse

    left, part = _between(logs, grid)
    index = np.stack([left, left + 1], axis=2).reshape(len(logs), -1)
    values = np.stack([likelihood * (1 - part), likelihood * part], axis=2).reshape(len(logs), -1)
    pointers = np.arange(0, index.size + 1, index.shape[1])
    return sparse.csr_array((values.ravel(), index.ravel(), pointers), shape=(len(logs), len(grid)))


def _between(logs: Floats, grid: Floats) -> tuple[npt.NDArray[np.int32], Floats]:
    """The point of an even grid to the left of each place, and how much of the way to the next one it is."""
    at = np.clip((logs - grid[0]) / (grid[1] - grid[0]), 0.0, len(grid) - 1.0)
    left = np.minimum(at.astype(np.int32), len(grid) - 2)
    return left, at - left


def _families(seen: Observations) -> list[tuple[Floats, Floats]]:
    """Centres and widths of the bumps of each family, on the logarithm."""
    size, base = len(seen.values), float(np.median(seen.base))
    spread = np.sqrt(base)
    low = np.log(min(0.05 * spread, 0.2 / size))
    high = np.log(min(max(float(seen.values.max()), spread) * 1.5, 1.5))

    def ladder(low: float, high: float, width: float) -> tuple[Floats, Floats]:
        centres, widths = [low], []
        while True:
            share = np.exp(centres[-1])
            noise = np.sqrt(max(base + seen.slope * share, 1e-3 * base)) / share
            widths.append(min(max(_RESOLVED * noise, width), 1.0))
            if centres[-1] > high:
                return np.array(centres), np.array(widths)
            centres.append(centres[-1] + widths[-1])

    found = [ladder(low, high, width) for width in _WIDTHS]
    level, coarse = ladder(np.log(0.2 / size), np.log(5 / size), _LEVEL_WIDTH), ladder(low, high, 0.3)
    found.append((np.concatenate([coarse[0], level[0]]), np.concatenate([coarse[1], level[1]])))
    return found


def _bumps(logs: Floats, centres: Floats, taus: Floats) -> Floats:
    """The density of each bump, in place: fresh memory costs more than the arithmetic here."""
    z = logs[:, None] - centres
    z /= taus
    z *= z
    z *= -0.5
    np.exp(z, out=z)
    z /= taus * np.sqrt(2 * np.pi)
    return np.asarray(z)


def _fitted(table: Floats, taus: Floats, turns: int) -> list[tuple[Floats, float]]:
    """The weights of atom and bumps from each first belief about the atom, and the log evidence of that belief."""
    orders = np.tile(_fixed_orders(len(table), turns), (len(_ATOMS), 1))
    starts = [np.append(atom, (1 - atom) * taus / taus.sum()) for atom in _ATOMS]
    weights = np.repeat(starts, turns, axis=0)
    totals, pulled = np.empty((len(table), len(weights))), np.empty_like(weights)
    gains = np.arange(2.0, len(table) + 2) ** -_DECAY
    for gain, rows, total in zip(gains.tolist(), np.ascontiguousarray(orders.T), totals, strict=True):
        table.take(rows, axis=0, out=pulled, mode="clip")  # "clip" writes in place; all rows are there
        np.multiply(pulled, weights, out=pulled)
        np.add.reduce(pulled, axis=1, out=total)
        weights *= 1 - gain
        pulled *= (gain / total)[:, None]
        weights += pulled
    evidence = np.log(totals).sum(axis=0)
    found = []
    means, evidences = weights.reshape(len(_ATOMS), turns, -1).mean(axis=1), evidence.reshape(len(_ATOMS), turns)
    for mean, logs in zip(means, evidences, strict=True):
        top = float(logs.max())
        found.append((_refined(table, mean), top + float(np.log(np.exp(logs - top).mean()))))
    return found


def _refined(table: Floats, weights: Floats) -> Floats:
    """Some steps of expectation maximisation."""
    each, most = _STEPS
    for _ in range(min(len(table) // each, most)):
        weights = weights * (table.T @ (1 / (table @ weights))) / len(table)
    return weights


def _fixed_orders(size: int, count: int = _ORDERS) -> npt.NDArray[np.intp]:
    """A few orders of `size` things that look random and never change."""
    return np.argsort(fixed_words(size * count).reshape(count, size), axis=1, kind="stable")


def fixed_words(count: int) -> npt.NDArray[np.uint64]:
    """Words that look random and never change (splitmix64).

    >>> [hex(int(word)) for word in fixed_words(1)]
    ['0xe220a8397b1dcdaf']
    """
    words = np.arange(1, count + 1, dtype=np.uint64)
    words *= np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
