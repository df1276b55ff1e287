"""Products with H by groups of cohorts (the method of four Russians).

t cohorts of k cells are one cohort of k**t cells, so a product touches C / t numbers per symbol instead of C. The table
of k**t cells of a group is filled or summed once per product. All tables together are larger than a core's first cache,
so a product makes several passes over the symbols, each with the tables of some groups.
"""

import os
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns import Cells
from deniable.matrices.cores import on_every_core

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

# Measured with benchmarks/decoding.py on two cores.
_FUSED_CELLS = 1 << 18  # numbers in all tables, at most: 2 MiB
_UNDIVIDED_CELLS = 1 << 14  # numbers in all tables up to which one pass reads them all: 128 KiB
_CELLS_A_PASS = 1 << 12  # numbers in the tables of one of several passes: 32 KiB
_GROUPS_A_PASS = 8  # groups of cohorts in one pass, at least: each pass also writes one number a symbol
_WORTH_THREADS = 1 << 20  # entries from which several threads are faster than one

Floats = npt.NDArray[np.float64]


class FusedCohorts:
    """H of one list of candidates, with the cohorts in groups.

    Products of arrays of `float32` are computed in single precision, which takes three quarters of the time.

    Parameters
    ----------
    table : ndarray of int
        The cell of each cohort, hash and symbol, shape (C, h, S); k marks a repeated cell of one symbol.
    cells : int
        k, the number of cells.

    Examples
    --------
    >>> fused = FusedCohorts(np.array([[[0, 1, 1]], [[1, 0, 1]]]), 2)
    >>> fused.forward(np.array([0.5, 0.25, 0.25]))
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    >>> fused.adjoint(np.array([[[1.0, 2.0], [10.0, 20.0]]]))
    array([[21., 12., 22.]])
    """

    def __init__(self, table: Cells, cells: int) -> None:
        self.cohorts, self.hashes, self.symbols = map(int, table.shape)
        self.cells = cells
        self._rows = table.reshape(self.cohorts * self.hashes, self.symbols)
        m = self._digits = cells + (self.hashes > 1)
        t, count = 1, len(self._rows)
        # Filling a group's table costs m**t, its gather S: the table must be no larger than either S or the cache.
        while t < count and m ** (t + 1) <= min(self.symbols, _FUSED_CELLS * (t + 1) // count):
            t += 1
        self._together, self._width = t, m**t
        self._groups = -(-count // t)
        numbers = self._groups * self._width
        divided = min(numbers // _CELLS_A_PASS, self._groups // _GROUPS_A_PASS) if numbers > _UNDIVIDED_CELLS else 1
        self._passes = max(1, divided)
        # SciPy's kernels release the interpreter's lock, so symbols are divided among the cores.
        workers = (os.cpu_count() or 1) if self._groups * self.symbols >= _WORTH_THREADS else 1
        bounds = np.linspace(0, self.symbols, workers + 1).astype(int).tolist()
        self._parts = list(pairwise(bounds))

    @cached_property
    def _double(self) -> "list[csr_array]":
        """For each part of the symbols, a row for each pass and symbol, a column for each number of the tables.

        A row has a 1 in each group of its pass; the sum of a symbol's rows over the passes is its row of H'.
        """
        from scipy import sparse

        width, groups, passes = self._width, self._groups, self._passes
        kind = np.int64 if groups * max(width, self.symbols) >= 1 << 31 else np.int32
        cells = self._group_cells(kind)
        edges = np.linspace(0, groups, passes + 1).astype(int).tolist()
        ones = np.ones(groups * max(stop - start for start, stop in self._parts))  # of all parts
        found = []
        for start, stop in self._parts:
            size = stop - start
            places = np.empty(groups * size, kind)
            for low, high in pairwise(edges):
                run = places[low * size : high * size].reshape(size, high - low)
                np.add(cells[low:high, start:stop].T, np.arange(low, high, dtype=kind) * width, out=run)
            pointers = np.zeros(size * passes + 1, kind)
            np.cumsum(np.repeat(np.diff(edges), size), out=pointers[1:])
            shape = size * passes, groups * width
            found.append(sparse.csr_array((ones[: len(places)], places, pointers), shape=shape))
        return found

    def _group_cells(self, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """The cell of each symbol in each group, shape (groups, S): the cells of its cohorts are the digits."""
        found = np.zeros((self._groups, self.symbols), kind)
        for place in range(self._together):
            members = self._rows[place :: self._together]
            found[: len(members)] *= self._digits
            found[: len(members)] += members
        if short := len(self._rows) % self._together:  # the last group is short: its members are the leading digits
            found[-1] *= self._digits ** (self._together - short)
        return found

    @cached_property
    def _single(self) -> "list[csr_array]":
        """The same in single precision, with the same lists of places."""
        from scipy import sparse

        ones = np.ones(max(part.nnz for part in self._double), np.float32)
        return [
            sparse.csr_array((ones[: part.nnz], part.indices, part.indptr), shape=part.shape) for part in self._double
        ]

    # The transposes, without a copy; cached, because making one costs as much as a small product.
    @cached_property
    def _double_turned(self) -> "list[csc_array]":
        return [part.T for part in self._double]

    @cached_property
    def _single_turned(self) -> "list[csc_array]":
        return [part.T for part in self._single]

    def forward(self, p: Floats) -> Floats:
        """H p: one number a symbol to one a cell, shape (C, k)."""
        turned = self._single_turned if p.dtype == np.float32 else self._double_turned
        passes = self._passes  # each over the same p
        pieces = [
            (part, p[a:b] if passes == 1 else np.tile(p[a:b], passes))
            for part, (a, b) in zip(turned, self._parts, strict=True)
        ]
        tables, *others = on_every_core(lambda piece: piece[0] @ piece[1], pieces)
        for other in others:
            tables += other
        flat = _fold(tables.reshape(-1, self._width), self._together, self._digits).reshape(-1, self._digits)
        flat = flat[: len(self._rows), : self.cells]
        return np.asarray(flat.reshape(self.cohorts, self.hashes, self.cells).sum(axis=1))

    def adjoint(self, stack: Floats) -> Floats:
        """H' v for a stack of v's: shape (R, C, k) to (R, S)."""
        count, single = len(stack), stack.dtype == np.float32
        rows = np.zeros((self._groups * self._together, self._digits, count), np.float32 if single else np.float64)
        rows[: len(self._rows), : self.cells] = np.repeat(np.moveaxis(stack, 0, 2), self.hashes, axis=0)
        tables = _fill(rows.reshape(self._groups, self._together, self._digits, count))
        columns = tables.ravel() if count == 1 else tables.reshape(-1, count)
        parts = self._single if single else self._double

        def summed(part: "csr_array") -> Floats:
            found = np.asarray(part @ columns)
            return found if self._passes == 1 else found.reshape(self._passes, -1, *found.shape[1:]).sum(axis=0)

        found = np.concatenate(on_every_core(summed, parts))
        return np.ascontiguousarray(found.reshape(self.symbols, count).T)


def _fill(rows: Floats) -> Floats:
    """The sum of one entry of each row, for every choice of entries: shape (G, t, m, R) to (G, m**t, R).

    Halves are built first, so that the last step, which is most of the work, adds long runs.

    >>> _fill(np.array([[[[1.0], [2.0]], [[10.0], [20.0]]]])).ravel()
    array([11., 21., 12., 22.])
    """
    groups, t, _, count = rows.shape
    if t == 1:
        return rows[:, 0]
    left, right = _fill(rows[:, : t // 2]), _fill(rows[:, t // 2 :])
    return np.asarray((left[:, :, None] + right[:, None]).reshape(groups, -1, count))


def _fold(tables: Floats, t: int, m: int) -> Floats:
    """The adjoint of `_fill` for one vector: sums over all choices with a given entry, (G, m**t) to (G, t, m).

    >>> _fold(np.array([[11.0, 21.0, 12.0, 22.0]]), 2, 2)
    array([[[32., 34.],
            [23., 43.]]])
    """
    if t == 1:
        return tables[:, None]
    halves = tables.reshape(len(tables), m ** (t // 2), -1)
    # On short axes einsum takes a quarter of the time of a sum.
    left, right = _fold(np.einsum("gab->ga", halves), t // 2, m), _fold(np.einsum("gab->gb", halves), t - t // 2, m)
    return np.concatenate([left, right], axis=1)
