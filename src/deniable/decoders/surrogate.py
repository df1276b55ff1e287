"""A fast approximation of empirical Bayes for many simulated surveys at once: the planner predicts losses with it.

All rows are surveys of one population with the same noise. So the prior is fitted to one of them, the teacher, and the
posterior is tabulated once as a function of the estimate. The guard is left out: it changes few answers, and little.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.posterior import Posterior
from deniable.decoders.prior import Observations, learned
from deniable.decoders.simplex import project_rows

Floats = npt.NDArray[np.float64]

_TABLE = 256  # estimates for which the posterior is tabulated; others are interpolated


@dataclass(frozen=True)
class Table:
    """The answer of the default decoder to an estimate, under the prior that is fitted to one survey, the teacher."""

    grid: Floats
    means: Floats
    quantiles: Floats  # those of the common level at which the teacher's add up to one
    sparse: float

    @classmethod
    def of(cls, teacher: Floats, base: float, slope: float, reach: tuple[float, float], **effort: int) -> "Table":
        """`reach` is where estimates lie; `effort` is what `learned` takes."""
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
        found = project_rows(np.interp(rows, self.grid, self.means))
        found += self.sparse * (quantiles - found)
        return np.asarray(found)


def _common_level(known: Posterior, grid: Floats, values: Floats) -> float:
    """The level at which the quantiles of these values, between those of the grid, add up to one."""
    left = np.clip(np.searchsorted(grid, values, side="right") - 1, 0, len(grid) - 2)
    part = np.clip((values - grid[left]) / (grid[left + 1] - grid[left]), 0.0, 1.0)
    counts = np.bincount(left, 1 - part, len(grid)) + np.bincount(left + 1, part, len(grid))
    used = np.flatnonzero(counts)
    counts, known = counts[used], Posterior(known.places[used], known.masses[used], known.zero[used])
    low, high = 0.0, 1.0
    for _ in range(20):
        level = (low + high) / 2
        low, high = (level, high) if known.at(level) @ counts < 1 else (low, level)
    return (low + high) / 2
