"""The predicted loss of a setting of k, C and h, without simulation, by which the grid search is pruned.

`theory.cohorts` has the errors of least squares over cohorts, on average over hash functions, and `expected_loss` the
projected l1 loss that follows. With a single cohort, collisions do not average out, so that case draws real hash
functions. No prediction is reported as a result. tests/statistical/test_screen.py and the table `screen` of every run
compare predictions with simulations.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deniable.decoders import Inversion, project_rows
from deniable.lab.regression import Cell, Point, mechanism_of, truth
from deniable.lab.streams import normal_draws, stream_of
from deniable.theory import CohortSettings, expected_loss, losses_of, mechanism_model

Floats = npt.NDArray[np.float64]

_NUMBERS = 1536  # normal numbers of one prediction; a large alphabet needs fewer draws of all its symbols
_DECODER = Inversion()  # whose surrogate projects


def _rows(symbols: int) -> int:
    return max(2, _NUMBERS // symbols)


def predicted(cell: Cell, point: Point) -> float:
    """The l1 loss that this setting will have at this point, roughly.

    >>> round(predicted(Cell("open", 256, 64, 256, 1), Point("O-RR", 10**6, 2.0)), 2)
    0.24
    """
    cell = cell.like(point.mechanism)
    settings = CohortSettings(cell.symbols, cell.alphabet == "open", cells=cell.k, cohorts=cell.C, hashes=cell.h)
    if cell.C == 1 and cell.h == 1 and settings.met > 0:
        return _one_cohort(cell, point)
    model = settings.index_model if point.mechanism in ("O-RR", "k-RR") else settings.bit_model
    errors = model(point.epsilon, point.n, joint=True).pick(0, 1)
    normals = normal_draws(cell.symbols, _rows(cell.symbols))
    return expected_loss(errors, truth(cell.symbols), point.n, _DECODER, normals=normals).l1


def _one_cohort(cell: Cell, point: Point) -> float:
    """One cohort: symbols in one cell cannot be told apart, so each gets an equal part of its estimate."""
    p, rng = truth(cell.symbols), stream_of(0, "screen", cell.name)
    errors = mechanism_model(mechanism_of(point.mechanism, cell.k, cell.h, point.epsilon))
    rows = []
    for z in normal_draws(cell.symbols, _rows(cell.symbols)):
        if cell.alphabet == "open":
            place = rng.integers(0, cell.k, cell.symbols)
        else:
            place = rng.permutation(cell.symbols) % cell.k
        _, place, held = np.unique(place, return_inverse=True, return_counts=True)
        mass: Floats = np.bincount(place, p).astype(np.float64)
        found = mass + np.resize(z, len(mass)) * np.sqrt(errors.at(mass) / point.n)
        rows.append((found / held)[place])
    return float(losses_of(project_rows(np.stack(rows)), p)[0].mean())


@dataclass(frozen=True)
class ScreenTask:
    """The predictions of many cells at many points."""

    cells: tuple[Cell, ...]
    points: tuple[Point, ...]

    def key(self, point: Point) -> str:
        first, last = self.cells[0], self.cells[-1]
        return f"screen/{first.name}/to/{last.name}/{len(self.cells)}/{point.name}"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.key(point) for point in self.points)

    @property
    def cost(self) -> float:
        return len(self.cells) * len(self.points) * (3e-4 if self.cells[0].symbols <= 1024 else 6e-4)

    def only(self, keys: Collection[str]) -> "ScreenTask":
        return replace(self, points=tuple(point for point in self.points if self.key(point) in keys))

    def run(self, seed: int) -> dict[str, list[float]]:
        return {self.key(point): [predicted(cell, point) for cell in self.cells] for point in self.points}
