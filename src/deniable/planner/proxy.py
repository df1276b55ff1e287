"""The loss of an option before any report is simulated: normal noise of the right size, decoded.

An unbiased estimate is the truth plus noise whose variance is known in closed form (`catalogue`), and nearly normal.
So one draw of it costs a few numbers, and whole alphabets are decoded in milliseconds. The draws are the same for every
option, n and epsilon, which makes losses smooth in all of them, and comparisons sharper than either side.

What the decoder does with such an estimate stands in `decoded`, and nowhere else in the planner.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniable.decoders.empirical_bayes import ENOUGH, FEW
from deniable.decoders.posterior import Posterior
from deniable.decoders.prior import Observations, learned
from deniable.lab.streams import stream_of
from deniable.planner.options import Moments
from deniable.planner.shapes import Shape

__all__ = ["METRICS", "POWERS", "Losses", "Proxy", "Table", "decoded", "losses_of", "projected_rows"]

Floats = npt.NDArray[np.float64]

METRICS = ("l1", "l2", "max")
POWERS = {"l1": 1.0, "l2": 2.0, "max": 8.0}  # the norm of the noise that ranks options for a loss

# Numbers drawn for one loss, and rows of them. A plan takes about a hundred losses: what `decoded` costs decides these.
_NUMBERS = 40_000
_ROWS = (10, 2000)
_FITTED, _ORDERS = 96, 2  # observations that the prior is learned from, and orders they are visited in
_TABLE = 256  # estimates for which the posterior is tabulated
_EMPIRICAL = 400  # rows from which the quantile is read off rather than taken as normal
# (quantile - mean) / sd of a maximum of many is a little more than a sum's; Gumbel's law, at 90 % 1.30 for 1.28.
_EULER = 0.5772156649


def decoded(observed: Floats, base: float, slope: float) -> Floats:
    """What the default decoder makes of unbiased estimates, one a row, whose variances are base + slope p.

    All rows are draws of one population under one noise, so the prior is learned from the first of them, and what it
    makes of an estimate is tabulated once. Up to eight symbols the default projects.

    >>> decoded(np.array([[0.9, 0.3, -0.2]]), 0.01, 0.0).round(3)
    array([[0.8, 0.2, 0. ]])
    """
    if observed.shape[1] <= FEW:
        return projected_rows(observed)
    reach = float(observed.min()), float(observed.max())
    return Table.of(observed[0], base, slope, reach, fitted=_FITTED, orders=_ORDERS).decoded(observed)


@dataclass(frozen=True)
class Table:
    """What the default decoder makes of an estimate under the prior that one survey, the teacher, suggests."""

    grid: Floats
    means: Floats
    quantiles: Floats  # those of the common level at which the teacher's add up to one
    sparse: float

    @classmethod
    def of(cls, teacher: Floats, base: float, slope: float, reach: tuple[float, float], **effort: int) -> "Table":
        """`reach` is where estimates lie; `effort` is what `learned` takes, the decoder's own unless told."""
        size = len(teacher)
        prior = learned(Observations(teacher, np.full(size, base), slope), **effort)
        # Where estimates are, and, near zero, no coarser than the noise.
        ordered = np.sort(teacher)
        near = np.linspace(reach[0], min(float(ordered[-1]), 8 * base**0.5), _TABLE // 2)
        grid = np.union1d(near, np.append(ordered[:: max(1, 2 * size // _TABLE)], reach[1]))
        known = prior.posterior(Observations(grid, np.full(len(grid), base), slope))
        sparse = max(0.5, float(np.interp(ordered, grid, known.zero).mean()))
        return cls(grid, known.means, known.at(_common_level(known, grid, ordered)), sparse)

    def decoded(self, rows: Floats) -> Floats:
        """The answers to unbiased estimates, one a row."""
        size = rows.shape[1]
        quantiles = np.interp(rows, self.grid, self.quantiles)
        total = quantiles.sum(axis=1, keepdims=True)
        quantiles = np.where(total > 0, quantiles / np.maximum(total, 1e-300), 1 / size)
        found = projected_rows(np.interp(rows, self.grid, self.means))
        found += self.sparse * (quantiles - found)
        trust = min((size - FEW) / (ENOUGH - FEW), 1.0)
        return np.asarray((1 - trust) * projected_rows(rows) + trust * found if trust < 1 else found)


def _common_level(known: Posterior, grid: Floats, values: Floats) -> float:
    """The level at which the quantiles of these values, between those of the grid, add up to one."""
    left = np.clip(np.searchsorted(grid, values, side="right") - 1, 0, len(grid) - 2)
    part = np.clip((values - grid[left]) / (grid[left + 1] - grid[left]), 0.0, 1.0)
    counts = np.bincount(left, 1 - part, len(grid)) + np.bincount(left + 1, part, len(grid))
    low, high = 0.0, 1.0
    for _ in range(20):
        level = (low + high) / 2
        low, high = (level, high) if known.at(level) @ counts < 1 else (low, level)
    return (low + high) / 2


def projected_rows(rows: Floats) -> Floats:
    """Every row's nearest point of the simplex: `decoders.simplex.project` on many rows at once.

    >>> projected_rows(np.array([[0.97, 0.235, 0.06, -0.08, -0.185]]))
    array([[0.8675, 0.1325, 0.    , 0.    , 0.    ]])
    """
    ordered = -np.sort(-rows, axis=1)
    sums = np.cumsum(ordered, axis=1) - 1.0
    counts = np.arange(1, rows.shape[1] + 1)
    last = (ordered * counts > sums).sum(axis=1) - 1
    theta = sums[np.arange(len(rows)), last] / (last + 1)
    return np.asarray(np.maximum(rows - theta[:, None], 0.0))


def losses_of(found: Floats, p: Floats) -> Floats:
    """The l1, l2 and largest error of every row, shape (3, rows).

    >>> losses_of(np.array([[0.6, 0.4]]), np.array([0.5, 0.5])).round(3).ravel()
    array([0.2  , 0.141, 0.1  ])
    """
    error = np.abs(found - p)
    return np.stack([error.sum(axis=1), np.sqrt((error**2).sum(axis=1)), error.max(axis=1)])


@dataclass(frozen=True)
class Losses:
    """The losses of many draws, by metric."""

    rows: Floats  # (3, draws)

    def mean(self, metric: str) -> float:
        return float(self.rows[METRICS.index(metric)].mean())

    def spread(self, metric: str) -> float:
        return float(self.rows[METRICS.index(metric)].std(ddof=1))

    def quantile(self, metric: str, level: float) -> float:
        """The `level` quantile: read off where draws are many, else from the mean and the spread, nearly normal."""
        found = self.rows[METRICS.index(metric)]
        if len(found) >= _EMPIRICAL:
            return float(np.quantile(found, level))
        from scipy.special import ndtri

        reach = float(ndtri(level))
        if metric == "max":
            reach = (-np.log(-np.log(level)) - _EULER) * np.sqrt(6) / np.pi
        return self.mean(metric) + reach * self.spread(metric)


@lru_cache(maxsize=2)
def _normal(size: int, rows: int, seed: int) -> Floats:
    return stream_of(seed, "planner", size).standard_normal((rows, size + 1))


@dataclass(frozen=True)
class Proxy:
    """Draws of the loss for one alphabet size; `paper` decodes as the paper does, whatever the default is.

    >>> uniform = Shape.of("uniform", np.full(16, 1 / 16))
    >>> small = Proxy(16).losses(Moments(1.0, 1.0, 1.0), 10_000, uniform, phantoms=0)
    >>> 0.05 < small.mean("l1") < small.quantile("l1", 0.9) < 0.2
    True
    """

    size: int
    seed: int = 0
    paper: bool = False

    @property
    def rows(self) -> int:
        low, high = _ROWS
        return int(min(max(_NUMBERS // self.size, low), high))

    def losses(
        self, moments: Moments, n: float, shape: Shape, *, phantoms: int | None, rows: int | None = None
    ) -> Losses:
        """Losses under noise of these moments from n people.

        With `phantoms` the errors of the symbols and of so many more that nobody has add up to zero.
        """
        observed = self.observed(moments, n, shape, phantoms=phantoms, rows=rows)
        base, slope = moments.base / n, moments.slope / n
        found = projected_rows(observed) if self.paper else decoded(observed, base, slope)
        return Losses(losses_of(found, shape.p))

    def observed(
        self, moments: Moments, n: float, shape: Shape, *, phantoms: int | None, rows: int | None = None
    ) -> Floats:
        """Draws of the unbiased estimate, one a row."""
        z = _normal(self.size, max(self.rows, rows or 0), self.seed)[:rows]
        variances = moments.at(shape.p) / n
        if phantoms is None:
            noise = z[:, :-1] * np.sqrt(variances)
        else:
            beside = phantoms * moments.base / n
            wide = _without_sum(variances, beside)
            noise = z[:, :-1] * np.sqrt(wide)
            total = noise.sum(axis=1, keepdims=True) + z[:, -1:] * beside**0.5
            noise -= total * (wide / (wide.sum() + beside))
        return np.asarray(shape.p + noise)


def _without_sum(variances: Floats, beside: float) -> Floats:
    """The v for which v - v**2 / (sum v + beside) are the variances: independent noise, conditioned to sum to zero.

    For k-RR v is the multinomial's own m / (n r**2), and the law of the noise its covariance exactly.
    """
    v = variances.copy()
    for _ in range(12):
        v = variances / np.maximum(1 - v / (v.sum() + beside), 0.5)
    return v
