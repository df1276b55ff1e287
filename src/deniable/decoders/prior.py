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

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.decoders.posterior import Posterior, slices_of

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["COARSE", "Observations", "Prior", "fixed_words", "learned", "posterior"]

Floats = npt.NDArray[np.float64]

_NODES = 64  # of the quadrature over each share
COARSE = 32  # of the same, where the answers of several rounds are averaged
_REACH = 6.0  # standard deviations that it covers
_FITTED = 512  # observations that the weights are learned from, evenly spread over the sorted ones
_ORDERS = 4
_DECAY = 2 / 3
_STEPS = (8, 64)  # of expectation maximisation: one for so many observations, and at most so many
_WIDTHS = (1.0, 0.3, 0.1)  # of the bumps, on the logarithm
_LEVEL_WIDTH = 0.03  # of the bumps near 1 / S, where a flat population has all its shares
_ATOMS = (0.1, 0.5, 0.9)  # what a family first believes about how many shares are zero
_RESOLVED = 0.15  # standard deviations below which no width can be told from another
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
    nodes: int = _NODES  # of the quadrature over each share

    def log_likelihood(self, shares: Floats) -> Floats:
        """Up to a constant for each observation; `shares` has shape (S, G)."""
        return self._log_likelihood(shares, slice(None))

    @cached_property
    def _is_normal(self) -> bool:
        return self.slope <= 0 or float(np.median(self.base)) > _NORMAL_FROM * self.slope**2

    def _log_likelihood(self, shares: Floats, rows: slice) -> Floats:
        x, base = self.values[rows, None], self.base[rows, None]
        if self._is_normal:
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
        places, likelihood, at_zero = (np.empty((len(self.values), count)) for count in (self.nodes, self.nodes, 1))
        for rows in slices_of(len(places)):
            places[rows], widths = self._nodes(rows)
            inside, none = (self._log_likelihood(where, rows) for where in (places[rows], np.zeros((1, 1))))
            top = np.maximum(inside.max(axis=1, keepdims=True), none)
            np.exp(inside - top, out=likelihood[rows])
            likelihood[rows] *= widths / places[rows]
            at_zero[rows] = np.exp(none - top)
        return places, likelihood, at_zero[:, 0]

    @cached_property
    def falls(self) -> Floats:
        """How far the largest likelihood of a share is below that of the estimate itself, which can be negative."""
        up = np.maximum(self.values, 0.0)
        falls = self.log_likelihood(up[:, None]) - self.log_likelihood(self.values[:, None])
        return np.minimum(falls[:, 0], 0.0)

    def _nodes(self, rows: slice) -> tuple[Floats, Floats]:
        """Where the posterior of each share can be, and the weights of the midpoint rule there."""
        values, base = self.values[rows], self.base[rows]
        t = (np.arange(self.nodes) + 0.5) / self.nodes
        least = 1e-3 * base
        up = np.maximum(values, 0.0)
        spread = np.sqrt(np.maximum(base + self.slope * up, least))
        wider = np.sqrt(np.maximum(base + self.slope * (up + _REACH * spread), least))
        high, low = up + _REACH * np.maximum(spread, wider), np.maximum(values - _REACH * spread, 0.0)
        span, near = (high - low)[:, None], (low == 0)[:, None]
        # Close to zero the nodes crowd towards it, so that small bumps are seen.
        places = np.where(near, span * t**2, low[:, None] + span * t)
        return places, np.where(near, span * 2 * t, span) / self.nodes


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
        places, _, at_zero = seen.likelihood
        masses, zero = np.zeros_like(places), np.zeros_like(at_zero)
        for family, rows, some, none in self._known(seen, np.flatnonzero(self.trust)):
            some *= self.trust[family]
            masses[rows] += some
            zero[rows] += self.trust[family] * none
        return Posterior(places, masses, zero)

    def posteriors(self, seen: Observations, least: float = 0.0) -> list[tuple[float, Posterior]]:
        """What each family knows, with the trust in it, where that is at least so much of the most trusted one's."""
        places, _, at_zero = seen.likelihood
        families = np.flatnonzero((self.trust > 0) & (self.trust >= least * self.trust.max()))
        found = {f: Posterior(places, np.empty_like(places), np.empty_like(at_zero)) for f in families.tolist()}
        for family, rows, some, none in self._known(seen, families):
            found[family].masses[rows], found[family].zero[rows] = some, none
        return [(float(self.trust[family]), known) for family, known in found.items()]

    def _known(self, seen: Observations, families: npt.NDArray[np.intp]) -> Iterator[tuple[int, slice, Floats, Floats]]:
        """Family, rows, and the masses on places and on zero that it knows there; the next piece overwrites them."""
        places, likelihood, at_zero = seen.likelihood
        steps = np.diff(self.densities, append=self.densities[:, -1:])
        for rows in slices_of(len(places)):
            # Linear interpolation, the same places for each family; the grid is even.
            left, part = _between(np.log(places[rows]), self.logs)
            some, start = np.empty_like(part), np.empty_like(part)
            for family in families.tolist():
                steps[family].take(left, out=some, mode="clip")  # "clip" writes in place; all points are there
                some *= part
                some += self.densities[family].take(left, out=start, mode="clip")
                some *= likelihood[rows]
                none = at_zero[rows] * self.zeros[family]
                scale = 1 / np.maximum(some.sum(axis=1) + none, 1e-300)
                some *= scale[:, None]
                yield family, rows, some, none * scale


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
    families = _families(seen)
    order = np.argsort(seen.values, kind="stable")
    if len(order) > fitted:
        order = order[np.linspace(0, len(order) - 1, fitted).astype(np.intp)]
    some = Observations(seen.values[order], seen.base[order], seen.slope, seen.nodes)
    places, likelihood, at_zero = some.likelihood
    logs = np.linspace(families[0][0][0] - 5, families[0][0][-1] + 5, 1024)
    spread = _on_grid(np.log(places), likelihood, logs)
    shapes = [_bumps(logs, centres, taus) for centres, taus in families]
    tables = [np.concatenate([at_zero[:, None], spread @ shape], axis=1) + 1e-300 for shape in shapes]
    weights, evidences = _fitted(tables, [taus for _, taus in families], orders)
    trust = np.exp(evidences - evidences.max()).ravel()
    told = float(evidences.max()) + float(np.log(trust.mean())) + float(some.falls.sum())
    trust[trust < 1e-4 * trust.sum()] = 0.0
    told *= len(seen.values) / len(order)
    zeros = np.concatenate([found[0] for found in weights])
    densities = np.concatenate([(shape @ found[1:]).T for shape, found in zip(shapes, weights, strict=True)])
    return Prior(logs, trust / trust.sum(), zeros, densities, told)


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


def _between(logs: Floats, grid: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """The point of an even grid to the left of each place, and how much of the way to the next one it is."""
    at = np.clip((logs - grid[0]) / (grid[1] - grid[0]), 0.0, len(grid) - 1.0)
    left = np.minimum(at.astype(np.intp), len(grid) - 2)
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


def _fitted(tables: list[Floats], taus: list[Floats], turns: int) -> tuple[list[Floats], Floats]:
    """The weights of atom and bumps of each family, a column for each first belief about the atom, and log evidences.

    All families visit the observations together: a step is so little work that calling for it costs most. Weights are
    kept divided by what the steps so far have left of the first ones, so that a step only adds to them.
    """
    table = np.concatenate(tables, axis=1)
    own = np.repeat(np.eye(len(tables)), [part.shape[1] for part in tables], axis=0)  # whose bump it is
    family = np.ascontiguousarray(own.T)
    starts = [np.concatenate([np.append(atom, (1 - atom) * t / t.sum()) for t in taus]) for atom in _ATOMS]
    weights = np.repeat(starts, turns, axis=0)
    orders = np.tile(_fixed_orders(len(table), turns), (len(_ATOMS), 1))
    gains = np.arange(2.0, len(table) + 2) ** -_DECAY
    left = np.cumprod(1 - gains)
    totals, pulled, scale = (
        np.empty((len(table), len(weights), len(tables))),
        np.empty_like(weights),
        np.empty_like(weights),
    )
    for gain, rows, total in zip((gains / left).tolist(), np.ascontiguousarray(orders.T), totals, strict=True):
        table.take(rows, axis=0, out=pulled, mode="clip")  # "clip" writes in place; all rows are there
        np.multiply(pulled, weights, out=pulled)
        np.matmul(pulled, own, out=total)
        np.matmul(gain / total, family, out=scale)
        np.multiply(pulled, scale, out=pulled)
        np.add(weights, pulled, out=weights)
    means = (weights * left[-1]).reshape(len(_ATOMS), turns, -1).mean(axis=1)
    logs = np.log(totals).sum(axis=0).reshape(len(_ATOMS), turns, -1) + float(np.log(left[:-1]).sum())
    top = logs.max(axis=1)
    evidences = top + np.log(np.exp(logs - top[:, None]).mean(axis=1))
    edges = np.cumsum([part.shape[1] for part in tables])[:-1]
    firsts = np.split(means.T, edges)
    return [_refined(part, first) for part, first in zip(tables, firsts, strict=True)], evidences.T


def _refined(table: Floats, weights: Floats) -> Floats:
    """Some steps of expectation maximisation, of each column of weights."""
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
