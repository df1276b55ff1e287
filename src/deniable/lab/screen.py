"""How good a setting of k, C and h will be, without simulating it: what the grid search is pruned by.

Under random hashing H'H is close to d I plus a common part, so least squares is the truth plus noise that is nearly
independent between symbols, and the projected l1 loss of such a vector takes microseconds to draw. Two corrections
make this good enough to prune with:

* noise grows as equations run short. With y = (symbols to find) / (equations), E[1/eigenvalue] of a random Gram matrix
  is 1 / (1 - y) times what it would be (Marchenko and Pastur); permutations are free projections instead, for which it
  is rho (C - 1) / (C rho - 1), rho = (k - 1) / (S - 1);
* beyond y = 1 the solution of least norm keeps only a random 1 / y of the signal and smears it.

A single cohort's collisions are not averaged by anything, so that case draws real hash functions. Nothing here is ever
reported; tests/statistical/test_screen.py and the table `screen` of every run say how far off it was.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniable.lab.regression import Cell, Point, mechanism_of, truth
from deniable.lab.streams import stream_of

__all__ = ["ScreenTask", "predicted"]

Floats = npt.NDArray[np.float64]

_NUMBERS = 1536  # normal draws a prediction averages over; a large alphabet averages by itself


@lru_cache(maxsize=4)
def _noise(symbols: int) -> tuple[Floats, Floats]:
    """The same draws for every setting, so that settings are compared on equal terms."""
    rng = stream_of(0, "screen", symbols)
    rows = max(2, _NUMBERS // symbols)
    return rng.standard_normal((rows, symbols)), rng.standard_normal((rows, symbols))


def predicted(cell: Cell, point: Point) -> float:
    """The l1 loss that this setting will have at this point, roughly.

    >>> round(predicted(Cell("open", 256, 64, 256, 1), Point("O-RR", 10**6, 2.0)), 2)
    0.24
    """
    cell = cell.like(point.mechanism)
    p, size = truth(cell.symbols), cell.symbols
    mechanism = mechanism_of(point.mechanism, cell.k, cell.h, point.epsilon)
    miss, r = mechanism.affine
    if cell.alphabet == "open":
        taken = 1 - (1 - 1 / cell.k) ** cell.h  # that a given symbol occupies a given cell
        met = taken
        collide = True
    else:
        occupied = min(cell.k, size)
        taken = 1 - (1 - 1 / occupied) ** cell.h
        met = 1 - (1 - max(0.0, (size / occupied - 1) / (size - 1))) ** cell.h
        collide = cell.k < size or cell.h > 1
    cells = cell.k if cell.alphabet == "open" else min(cell.k, size)
    depth = cell.C * cells * taken * (1 - met)  # d: a symbol's cells, less those it shares by chance
    mean = miss + r * (p + (1 - p) * met)
    row = mean if mechanism.one_column else mean * (1 - mean)
    noise = cell.C * row / (point.n * r**2)
    if cell.C == 1 and cell.h == 1 and collide:
        return _one_cohort(cell, p, mean=miss, r=r, n=point.n, index=mechanism.one_column)
    z, smear = _noise(size)
    if not collide:
        return _loss(p + z * np.sqrt(noise / depth), p)
    # The bits of one-hot answers add up to one, so one equation a cohort is known beforehand; Bloom filters have none.
    short = (size - 1) / (cell.C * (cells - (cell.h == 1)))
    if short < 1:
        growth = 1 / (1 - short)
        if cell.alphabet == "closed" and cell.h == 1:
            rho = (cell.k - 1) / (size - 1)
            growth = rho * (cell.C - 1) / (cell.C * rho - 1) if cell.C * rho > 1 else np.inf
        return _loss(p + z * np.sqrt(noise / depth * min(growth, 1e6)), p)
    kept = 1 / short
    centred = p - 1 / size
    blur = kept * (1 - kept) * float(centred @ centred) / size
    shrunk = 1 / size + kept * centred + smear * np.sqrt(blur)
    return _loss(shrunk + z * np.sqrt(noise / depth / (short * max(short - 1, 1e-6))), p)


def _one_cohort(cell: Cell, p: Floats, *, mean: float, r: float, n: int, index: bool) -> float:
    """One cohort: symbols that collide get equal shares of their cell, which nothing can tell apart."""
    rng = stream_of(0, "screen", cell.name)
    rows = []
    for z in _noise(cell.symbols)[0]:
        if cell.alphabet == "open":
            place = rng.integers(0, cell.k, cell.symbols)
        else:
            place = rng.permutation(cell.symbols) % cell.k
        _, place, held = np.unique(place, return_inverse=True, return_counts=True)
        mass = mean + r * np.bincount(place, p)
        row = mass if index else mass * (1 - mass)
        found = np.bincount(place, p) + np.resize(z, len(mass)) * np.sqrt(row / (n * r**2))
        rows.append((found / held)[place])
    return _loss(np.stack(rows), p)


def _loss(rows: Floats, p: Floats) -> float:
    """The mean l1 distance to p of rows projected on the simplex."""
    ordered = -np.sort(-rows, axis=1)
    sums = np.cumsum(ordered, axis=1) - 1.0
    counts = np.arange(1, rows.shape[1] + 1)
    last = (ordered * counts > sums).sum(axis=1) - 1
    theta = sums[np.arange(len(rows)), last] / (last + 1)
    return float(np.abs(np.maximum(rows - theta[:, None], 0.0) - p).sum(axis=1).mean())


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
