"""The upper triangle of H' diag(w) H in blocks of rows, by three algorithms with the same result.

Which is fastest depends on the number of cells:

    counted      few cells, no weights: C bits per candidate for each binary digit of its cells, 64 cohorts per word
    gathered     lists of the candidates in each cell, added up over the cells of a candidate
    multiplied   many cells and short lists: a product of sparse matrices

With even fewer cells `Design.weighted_gram` uses a dense product instead.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns import Cells
from deniable.matrices.cores import on_every_core

Floats = npt.NDArray[np.float64]
RowBlock = tuple[int, Floats]  # the first row, and rows from it on of the columns from it on

_ROWS = 512  # rows of a block: one task of a thread
_SPARE = 64  # bins for the padding of short lists; with one bin every sum would wait for the one before it


def _blocks(size: int, work: Callable[[int], Floats]) -> Iterator[RowBlock]:
    """Blocks in order, computed as many at once as there are cores."""
    starts, at_once = range(0, size, _ROWS), os.cpu_count() or 1
    for first in range(0, len(starts), at_once):
        some = starts[first : first + at_once]
        yield from zip(some, on_every_core(work, some), strict=True)


def counted(table: Cells, cells: int) -> Iterator[RowBlock]:
    """How many cohorts put two candidates into one cell; `table` has shape (C, S).

    Two cells are the same where no binary digit differs: one bit per cohort.

    >>> [(start, block.tolist()) for start, block in counted(np.array([[0, 1, 0], [2, 2, 1]]), 3)]
    [(0, [[2.0, 1.0, 1.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])]
    """
    cohorts, size = table.shape
    padded = np.zeros((-(-cohorts // 64) * 64, size), np.uint8)
    digits = []
    for place in range(max(int(cells - 1).bit_length(), 1)):
        padded[:cohorts] = (table >> place) & 1
        digits.append(np.packbits(padded, axis=0).reshape(-1, 8, size).swapaxes(1, 2).copy().view(np.uint64)[:, :, 0])

    narrow = np.uint16 if cohorts < 1 << 16 else np.int64

    def work(start: int) -> Floats:
        found = np.zeros((min(_ROWS, size - start), size - start))
        bits = np.empty((2, *digits[0][:, start:].shape), np.uint64)
        for row in range(len(found)):
            differ, other = bits[:, :, row:]
            rest = slice(start + row, None)
            np.bitwise_xor(digits[0][:, rest], digits[0][:, start + row, None], out=differ)
            for digit in digits[1:]:
                np.bitwise_xor(digit[:, rest], digit[:, start + row, None], out=other)
                np.bitwise_or(differ, other, out=differ)
            found[row, row:] = cohorts - np.bitwise_count(differ).sum(axis=0, dtype=narrow)
        return found

    return _blocks(size, work)


def _lists(mine: npt.NDArray[np.int32], cells: int) -> npt.NDArray[np.int32]:
    """The candidates in each cell, last one first, padded with spare bins; `mine` has the cells of each candidate.

    The cell number k of a cohort marks a repeated cell; its list is empty.
    """
    from scipy import sparse

    kept = mine[::-1] % (cells + 1) < cells
    pointers = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    places = mine[::-1][kept]
    shape = (len(mine), -(-(int(mine.max()) + 1) // (cells + 1)) * (cells + 1))
    members = sparse.csr_array((np.ones(len(places), np.int8), places, pointers), shape=shape).tocsc()
    lengths = np.diff(members.indptr)
    longest = int(lengths.max(initial=1))
    lists = np.repeat(len(mine) + np.arange(longest, dtype=np.int32)[None] % _SPARE, len(lengths), axis=0)
    lists[np.arange(longest) < lengths[:, None]] = len(mine) - 1 - members.indices
    return lists


def gathered(table: Cells, cells: int, weights: Floats) -> Iterator[RowBlock]:
    """The total weight of the cells that two candidates share; `table` has shape (C, h, S), weights (C, k).

    >>> table, weights = np.array([[[0, 1, 0]], [[2, 2, 1]]]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> [(start, block.tolist()) for start, block in gathered(table, 3, weights)]
    [(0, [[7.0, 6.0, 1.0], [6.0, 8.0, 0.0], [1.0, 0.0, 6.0]])]
    """
    from scipy import sparse

    cohorts, hashes, size = table.shape
    flat = np.concatenate([weights, np.zeros((cohorts, 1))], axis=1).ravel()
    offsets = (np.arange(cohorts, dtype=np.int32) * (cells + 1))[:, None, None]
    mine = np.ascontiguousarray((table.astype(np.int32) + offsets).reshape(cohorts * hashes, size).T)
    lists = _lists(mine, cells)
    spare = np.arange(cells, len(flat), cells + 1)

    def work(start: int) -> Floats:
        # Lists begin with the last candidate, so candidates from `start` on are at their beginning. The sums of others
        # that are there too are not used.
        lengths = np.bincount(mine[start:].ravel(), minlength=len(lists))
        lengths[spare] = 0
        some = np.ascontiguousarray(lists[:, : max(int(lengths.max()), 1)])
        taken = np.empty((cohorts * hashes, some.shape[1]), np.int32)
        ends = np.arange(0, taken.size + 1, some.shape[1], dtype=np.int32)
        # Its indices are `taken` itself, which is overwritten for each candidate.
        sums = sparse.csc_array((np.ones(taken.size), taken.ravel(), ends), shape=(size + _SPARE, len(taken)))
        sums.indices = taken.ravel()
        found = np.empty((min(_ROWS, size - start), size - start))
        for row, places in enumerate(mine[start : start + _ROWS]):
            np.take(some, places, axis=0, out=taken, mode="clip")
            found[row] = (sums @ flat[places])[start:size]
        return found

    return _blocks(size, work)


def multiplied(table: Cells, cells: int, weights: Floats | None) -> Iterator[RowBlock]:
    """The same as `gathered` by SciPy's product of sparse matrices; without weights each cell counts one.

    >>> [(start, block.tolist()) for start, block in multiplied(np.array([[[0, 1, 0]], [[2, 2, 1]]]), 3, None)]
    [(0, [[2.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0]])]
    """
    from scipy import sparse

    cohorts, hashes, size = table.shape
    dtype: Any = np.int64 if cohorts * max(cells, hashes * size) >= 1 << 31 else np.int32
    kept = table < cells  # the cell number k marks a repeat
    index = np.where(kept, table, 0).astype(dtype) + (np.arange(cohorts, dtype=dtype) * cells)[:, None, None]
    places = np.ascontiguousarray(index.reshape(cohorts * hashes, size).T).ravel()
    ones = np.ascontiguousarray(kept.reshape(cohorts * hashes, size).T).ravel().astype(np.float64)
    pointers = np.arange(0, len(places) + 1, cohorts * hashes, dtype=dtype)
    rows = sparse.csr_array((ones, places, pointers), shape=(size, cohorts * cells))
    scaled = rows if weights is None else rows.multiply(weights.reshape(1, -1)).tocsr()

    def work(start: int) -> Floats:
        return np.asarray((scaled[start : start + _ROWS] @ rows[start:].T).toarray())

    return _blocks(size, work)
