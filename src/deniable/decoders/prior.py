"""Priors for empirical Bayes: the distribution of shares in this population, fitted to the noisy estimates themselves.

Each estimate is a noisy observation of a share p >= 0 with known variance. A prior is the distribution of p. Several
families are fitted and averaged:

* A family is a mixture of an atom at zero and log-normal components at a fixed relative distance. Wide components suit
  populations whose shares vary smoothly, narrow ones those in which many shares are equal. No component is narrower
  than the noise allows to resolve.
* Its weights are found by predictive recursion (Newton 2002): observations are visited one by one, and each moves the
  weights towards its own posterior. The product of the predictions on the way is the evidence of the family. A few
  steps of expectation maximisation follow, more of them for more symbols. Their limit, the maximum likelihood, is
  concentrated on a few atoms and overconfident.
* Families, and their initial weights of the atom, are averaged by their evidence.

Observations are sorted and visited in fixed pseudo-random orders, so the answer depends on the data alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import exp, log, sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.columns import fixed_words
from deniable.decoders.posterior import Posterior, slices_of
from deniable.decoders.tuned_constants import PRIOR, EmpiricalBayesSettings

if TYPE_CHECKING:
    import scipy.sparse

Floats = npt.NDArray[np.float64]

_DEFAULT = EmpiricalBayesSettings()
_GRID = 1024  # points of log p at which the densities of a prior are tabulated
_KEPT = 8  # tables of densities, some 400 KiB each: priors of like surveys, as planners fit them, have the same four
_MIN_EXCESS = float(np.nextafter(-1, 0))  # the relative distance of a Poisson mean to its count, at least
_NORMAL_FROM = 1e7  # reports behind an observation from which its likelihood is normal to double precision


@dataclass(frozen=True)
class Observations:
    """Unbiased estimates x of shares p, with variance base + slope * p.

    With a positive slope x is a shifted and scaled count: N = (x + base / slope) / slope is Poisson with the mean
    (p + base / slope) / slope. That has this variance, and the skewness of small counts.
    """

    values: Floats
    base: Floats
    slope: float
    nodes: int = PRIOR.nodes  # of the quadrature over each share

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
        counted = x + shift > 0  # least squares can be below any count
        centre = np.where(counted, x + shift, 1.0)
        # Where noise is far less than one report, a share of zero would round to -1 and its logarithm to -infinity.
        excess = np.maximum(np.where(counted, (shares - x) / centre, 0.0), _MIN_EXCESS)
        poisson = centre / self.slope * (np.log1p(excess) - excess)
        return np.asarray(np.where(counted, poisson, -(shares + shift) / self.slope))

    @cached_property
    def likelihood(self) -> tuple[Floats, Floats, Floats]:
        """Quadrature nodes of each share, its likelihood times the quadrature weight there, and its likelihood at 0.

        Both likelihoods have one common factor per share. Those at nodes are for densities of log p.
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
        """The largest log-likelihood of a share p >= 0, less that at the estimate itself, which may be negative."""
        up = np.maximum(self.values, 0.0)
        falls = self.log_likelihood(up[:, None]) - self.log_likelihood(self.values[:, None])
        return np.minimum(falls[:, 0], 0.0)

    def _nodes(self, rows: slice) -> tuple[Floats, Floats]:
        """Nodes that cover the posterior of each share, and the weights of the midpoint rule there."""
        values, base = self.values[rows], self.base[rows]
        t = (np.arange(self.nodes) + 0.5) / self.nodes
        least = 1e-3 * base
        up = np.maximum(values, 0.0)
        spread = np.sqrt(np.maximum(base + self.slope * up, least))
        wider = np.sqrt(np.maximum(base + self.slope * (up + PRIOR.reach * spread), least))
        high, low = up + PRIOR.reach * np.maximum(spread, wider), np.maximum(values - PRIOR.reach * spread, 0.0)
        span, near = (high - low)[:, None], (low == 0)[:, None]
        # Near zero nodes are denser, so that narrow components there are resolved.
        places = np.where(near, span * t**2, low[:, None] + span * t)
        return places, np.where(near, span * 2 * t, span) / self.nodes


@dataclass(frozen=True)
class Prior:
    """A mixture of families of distributions of a share.

    Parameters
    ----------
    logs
        The grid of log p.
    trust
        The posterior probability of each family.
    zeros
        The weight of each family's atom at zero.
    densities
        Each family's density of log p on the grid, shape (families, grid).
    evidence
        The log-likelihood of the prior, relative to that of shares equal to the estimates.
    """

    logs: Floats
    trust: Floats
    zeros: Floats
    densities: Floats
    evidence: float

    def posterior(self, seen: Observations) -> Posterior:
        """The posterior of each observed share."""
        places, _, at_zero = seen.likelihood
        masses, zero = np.zeros_like(places), np.zeros_like(at_zero)
        for family, rows, some, none in self._known(seen, np.flatnonzero(self.trust)):
            some *= self.trust[family]
            masses[rows] += some
            zero[rows] += self.trust[family] * none
        return Posterior(places, masses, zero)

    def posteriors(self, seen: Observations, least: float = 0.0) -> list[tuple[float, Posterior]]:
        """The posterior under each family and its trust, for families of at least `least` of the largest trust."""
        places, _, at_zero = seen.likelihood
        families = np.flatnonzero((self.trust > 0) & (self.trust >= least * self.trust.max()))
        found = {f: Posterior(places, np.empty_like(places), np.empty_like(at_zero)) for f in families.tolist()}
        for family, rows, some, none in self._known(seen, families):
            found[family].masses[rows], found[family].zero[rows] = some, none
        return [(float(self.trust[family]), known) for family, known in found.items()]

    def _known(self, seen: Observations, families: npt.NDArray[np.intp]) -> Iterator[tuple[int, slice, Floats, Floats]]:
        """Family, rows, and its posterior masses on nodes and on zero; the next item overwrites the arrays."""
        places, likelihood, at_zero = seen.likelihood
        steps = np.diff(self.densities, append=self.densities[:, -1:])
        for rows in slices_of(len(places)):
            # Linear interpolation at the same nodes for each family; the grid is even.
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


def learned(
    seen: Observations, *, fitted: int = _DEFAULT.prior_observations, orders: int = _DEFAULT.prior_orders
) -> Prior:
    """The prior fitted to at most `fitted` of these observations, visited in `orders` orders.

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
    low, high = float(families[0][0][0] - 5), float(families[0][0][-1] + 5)
    logs = np.linspace(low, high, _GRID)
    spread = _on_grid(np.log(places), likelihood, logs)
    shapes = [_components(low, high, centres, taus) for centres, taus in families]
    tables = [np.concatenate([at_zero[:, None], spread @ shape], axis=1) + 1e-300 for shape in shapes]
    weights, evidences = _fitted(tables, [taus for _, taus in families], orders)
    trust = np.exp(evidences - evidences.max()).ravel()
    evidence = float(evidences.max()) + float(np.log(trust.mean())) + float(some.falls.sum())
    trust[trust < 1e-4 * trust.sum()] = 0.0
    evidence *= len(seen.values) / len(order)
    zeros = np.concatenate([found[0] for found in weights])
    densities = np.concatenate([(shape @ found[1:]).T for shape, found in zip(shapes, weights, strict=True)])
    return Prior(logs, trust / trust.sum(), zeros, densities, evidence)


def _on_grid(logs: Floats, likelihood: Floats, grid: Floats) -> "scipy.sparse.csr_array":
    """The likelihood of each observation, split between the two grid points beside each of its nodes.

    Its product with a function on the grid is then the quadrature of the function's linear interpolation.
    """
    from scipy import sparse

    left, part = _between(logs, grid)
    index = np.stack([left, left + 1], axis=2).reshape(len(logs), -1)
    values = np.stack([likelihood * (1 - part), likelihood * part], axis=2).reshape(len(logs), -1)
    pointers = np.arange(0, index.size + 1, index.shape[1])
    return sparse.csr_array((values.ravel(), index.ravel(), pointers), shape=(len(logs), len(grid)))


def _between(logs: Floats, grid: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """The index of the grid point to the left of each value, and its relative distance from it."""
    at = np.clip((logs - grid[0]) / (grid[1] - grid[0]), 0.0, len(grid) - 1.0)
    left = np.minimum(at.astype(np.intp), len(grid) - 2)
    return left, at - left


def _families(seen: Observations) -> list[tuple[Floats, Floats]]:
    """Centres and standard deviations of the components of each family, in log p."""
    size, base, slope = len(seen.values), float(np.median(seen.base)), float(seen.slope)
    spread = sqrt(base)
    low = log(min(0.05 * spread, 0.2 / size))
    high = log(min(max(float(seen.values.max()), spread) * 1.5, 1.5))

    def ladder(low: float, high: float, width: float) -> tuple[Floats, Floats]:
        centre, centres, widths = low, [low], []
        while True:
            share = exp(centre)
            noise = sqrt(max(base + slope * share, 1e-3 * base)) / share
            widths.append(min(max(PRIOR.resolution * noise, width), 1.0))
            if centre > high:
                return np.array(centres), np.array(widths)
            centre += widths[-1]
            centres.append(centre)

    found = [ladder(low, high, width) for width in PRIOR.widths]
    level, coarse = ladder(log(0.2 / size), log(5 / size), PRIOR.uniform_width), ladder(low, high, 0.3)
    found.append((np.concatenate([coarse[0], level[0]]), np.concatenate([coarse[1], level[1]])))
    return found


def _components(low: float, high: float, centres: Floats, taus: Floats) -> Floats:
    """The density of each component on the grid of log p from `low` to `high`, read-only."""
    return _tabulated(low, high, centres.tobytes(), taus.tobytes())


@lru_cache(maxsize=_KEPT)
def _tabulated(low: float, high: float, centres: bytes, taus: bytes) -> Floats:
    """`_components`, of numbers as bytes; computed in place, as fresh memory costs more than the arithmetic."""
    middle, wide = np.frombuffer(centres), np.frombuffer(taus)
    z = np.linspace(low, high, _GRID)[:, None] - middle
    z /= wide
    z *= z
    z *= -0.5
    np.exp(z, out=z)
    z /= wide * np.sqrt(2 * np.pi)
    z.flags.writeable = False
    return np.asarray(z)


def _fitted(tables: list[Floats], taus: list[Floats], turns: int) -> tuple[list[Floats], Floats]:
    """The weights of atom and components of each family, one column per initial atom, and the log evidences.

    All families visit the observations together: one step is so little work that the calls cost most of it. A step
    multiplies all weights by 1 - gain and adds to some; the weights here are divided by the product of these factors,
    so that a step only adds.
    """
    table = np.concatenate(tables, axis=1)
    own = np.repeat(np.eye(len(tables)), [part.shape[1] for part in tables], axis=0)  # family of each component
    family = np.ascontiguousarray(own.T)
    starts = [np.concatenate([np.append(atom, (1 - atom) * t / t.sum()) for t in taus]) for atom in PRIOR.zero_masses]
    weights = np.repeat(starts, turns, axis=0)
    orders = np.tile(_fixed_orders(len(table), turns), (len(PRIOR.zero_masses), 1))
    gains = np.arange(2.0, len(table) + 2) ** -PRIOR.decay
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
    means = (weights * left[-1]).reshape(len(PRIOR.zero_masses), turns, -1).mean(axis=1)
    logs = np.log(totals).sum(axis=0).reshape(len(PRIOR.zero_masses), turns, -1) + float(np.log(left[:-1]).sum())
    top = logs.max(axis=1)
    evidences = top + np.log(np.exp(logs - top[:, None]).mean(axis=1))
    edges = np.cumsum([part.shape[1] for part in tables])[:-1]
    firsts = np.split(means.T, edges)
    return [_refined(part, first) for part, first in zip(tables, firsts, strict=True)], evidences.T


def _refined(table: Floats, weights: Floats) -> Floats:
    """A few steps of expectation maximisation, of each column of weights."""
    for _ in range(min(len(table) // PRIOR.observations_per_em_step, PRIOR.max_em_steps)):
        weights = weights * (table.T @ (1 / (table @ weights))) / len(table)
    return weights


def _fixed_orders(size: int, count: int) -> npt.NDArray[np.intp]:
    """Pseudo-random permutations of `size` items that never change."""
    return np.argsort(fixed_words(size * count).reshape(count, size), axis=1, kind="stable")
