"""H, the paper's kC x S binary matrix, stored as cell numbers: products are gathers and scatters.

H(y, c | s) = 1 when symbol s occupies cell y in cohort c. It depends on the encoding and the candidates alone, not on
epsilon or on the data, so one `Design` (and one factorisation of its Gram matrix) serves every tally, every epsilon
and every day of a survey. Theory and decoders share it. Its products are those of `fused`.
"""

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns import Cells
from deniable.matrices.factor import GramFactor
from deniable.matrices.fused import FusedCohorts
from deniable.matrices.pairs import RowBlock, counted, gathered, multiplied
from deniable.matrices.triangles import add_squares

# Limits between algorithms for the same product, measured with benchmarks/decoding.py on two cores.
_SPARSE_CELLS = 32  # cells from which a sparse product is faster than a dense one, with one hash
_SPARSE_CELLS_A_HASH = 12  # the same per hash, for Bloom filters
_FEW = 1024  # candidates up to which one dense or sparse product is faster than `pairs` row by row
_COUNTED_CELLS = 48  # cells up to which pairs are counted bit by bit
_DENSE_CELLS_A_HASH = 9  # cells per hash up to which a dense product is faster than gathering lists
_SHORT_LIST = 16  # candidates per cell below which lists are too short to gather

Floats = npt.NDArray[np.float64]


class Design:
    """The matrix H of one encoding and one list of candidates.

    Parameters
    ----------
    table : ndarray of int
        The cell of each cohort, hash and symbol, shape (C, h, S). The cell number k marks a repeated cell of one
        symbol, which H has once.
    cells : int
        k, the number of cells.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> from deniable.matrices import design_of
    >>> design = design_of(dn.orr(symbols=4, epsilon=1, cells=2, cohorts=2, seed=bytes(16)))
    >>> design.forward(np.array([0.1, 0.2, 0.3, 0.4])).sum(axis=1)
    array([1., 1.])
    >>> design.cohorts, design.hashes, design.symbols, design.cells_of(slice(0, 2)).shape
    (2, 1, 4, (1, 2))
    >>> v = np.arange(4.0).reshape(2, 2)
    >>> bool(np.isclose(design.adjoint(v) @ np.full(4, 0.25), (v * design.forward(np.full(4, 0.25))).sum()))
    True
    >>> packed = np.zeros((4, 4), order="F")
    >>> design.add_gram(packed, None, lower=True)
    >>> bool((packed == np.tril(design.weighted_gram())).all())
    True
    >>> design.cohort_scores(v).shape, design.pair_form(np.full(4, 0.25), v)
    ((4, 2), array([0., 0.]))
    >>> design.only(np.array([True, False])).cohorts
    1
    """

    def __init__(self, table: Cells, cells: int) -> None:
        self.table, self.cells = table, cells

    @property
    def cohorts(self) -> int:
        """C: cohorts."""
        return int(self.table.shape[0])

    @property
    def hashes(self) -> int:
        """h: cells of a symbol in each cohort."""
        return int(self.table.shape[1])

    @property
    def symbols(self) -> int:
        """S: candidates."""
        return int(self.table.shape[2])

    def cells_of(self, symbols: slice) -> Cells:
        """The cells of some symbols in the first cohort.

        Parameters
        ----------
        symbols : slice
            Which candidates.

        Returns
        -------
        ndarray of int
            Shape (h, symbols).
        """
        return self.table[0, :, symbols]

    @cached_property
    def _fused(self) -> FusedCohorts:
        return FusedCohorts(self.table, self.cells)

    def forward(self, p: Floats) -> Floats:
        """H p: the share of respondents who occupy each cell.

        Parameters
        ----------
        p : ndarray
            One share a symbol, shape (S,). Of `float32` it may be multiplied in single precision.

        Returns
        -------
        ndarray
            Shape (C, k).
        """
        return self._fused.forward(p)

    def adjoint(self, values: Floats) -> Floats:
        """H' v: the sum of v over the cells of each symbol.

        Parameters
        ----------
        values : ndarray
            v, shape (C, k), or a stack of them, (R, C, k). Of `float32` they may be added in single precision.

        Returns
        -------
        ndarray
            Shape (S,), or (R, S).
        """
        if values.ndim == 3:  # a few at a time, so that their tables stay in cache together
            pieces = [values[start : start + 8] for start in range(0, len(values), 8)]
            return np.concatenate([self._adjoint(piece) for piece in pieces])
        return np.asarray(self._adjoint(values[None])[0])

    def _adjoint(self, stack: Floats) -> Floats:
        return self._fused.adjoint(stack)

    def weighted_gram(self, weights: Floats | None = None) -> Floats:
        """H' diag(w) H; without weights the Gram matrix H' H.

        Counts below 2**24 are exact in float32, so the unweighted product runs in single precision.

        Parameters
        ----------
        weights : ndarray, optional
            w >= 0, shape (C, k); without it 1.

        Returns
        -------
        ndarray
            Dense, S x S.
        """
        if not self.symbols:
            return np.zeros((0, 0))
        blocks = self._pair_blocks(weights)
        if blocks is None:
            single = weights is None and self.cohorts * self.hashes < 1 << 24
            gram = np.zeros((self.symbols, self.symbols), np.float32 if single else np.float64, order="F")
            self._dense_gram(gram, weights, lower=False)
            return _mirrored(gram.astype(np.float64))
        full = np.empty((self.symbols, self.symbols))
        for start, block in blocks:
            full[start : start + len(block), start:] = block
        return _mirrored(full)

    def add_gram(self, packed: Floats, weights: Floats | None, *, lower: bool) -> None:
        """Add H' diag(w) H to one triangle, with the diagonal, of a matrix.

        Parameters
        ----------
        packed : ndarray
            S x S in Fortran order; overwritten.
        weights : ndarray, optional
            w >= 0, shape (C, k); without it 1.
        lower : bool
            Which triangle is added to; the other is unchanged.
        """
        blocks = self._pair_blocks(weights)
        if blocks is None:
            self._dense_gram(packed, weights, lower=lower)
            return
        for start, block in blocks:
            stop = start + len(block)
            corner = np.triu(block[:, : stop - start])
            if lower:
                packed[start:stop, start:stop] += corner.T
                packed[stop:, start:stop] += block[:, stop - start :].T
            else:
                packed[start:stop, start:stop] += corner
                packed[start:stop, stop:] += block[:, stop - start :]

    def _pair_blocks(self, weights: Floats | None) -> Iterator[RowBlock] | None:
        """The upper triangle of H' diag(w) H in blocks of rows; None where a dense product is faster."""
        if self.symbols <= _FEW:
            return multiplied(self.table, self.cells, weights) if self.is_sparse else None
        if weights is None and self.hashes == 1 and self.cells <= _COUNTED_CELLS:
            return counted(self.table[:, 0], self.cells)
        if self.cells <= _DENSE_CELLS_A_HASH * self.hashes:
            return None
        if self.symbols * self.hashes < _SHORT_LIST * self.cells:
            return multiplied(self.table, self.cells, weights)
        return gathered(self.table, self.cells, np.ones((self.cohorts, self.cells)) if weights is None else weights)

    def _dense_gram(self, gram: npt.NDArray[Any], weights: Floats | None, *, lower: bool) -> None:
        """The same as a dense product."""
        step = max(1, (1 << 22) // ((self.cells + 1) * self.symbols))
        for start in range(0, self.cohorts, step):
            some = slice(start, start + step)
            onehot = self._onehot(some, gram.dtype)
            if weights is not None:
                onehot[:, :, : self.cells] *= np.sqrt(weights[some])
            add_squares(gram, onehot.reshape(self.symbols, -1), sign=1.0, lower=lower)

    def _onehot(self, some: slice, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """H' of some cohorts, dense: shape (S, cohorts, k), with one more column of zeros where cells may repeat."""
        part = self.table[some]
        onehot = np.zeros((self.symbols, len(part), self.cells + (self.hashes > 1)), dtype)
        for rows in np.moveaxis(part, 1, 0):
            onehot[np.arange(self.symbols)[:, None], np.arange(len(part)), rows.T] = 1
        if self.hashes > 1:
            onehot[:, :, self.cells] = 0  # repeats
        return onehot

    def cohort_scores(self, values: Floats) -> Floats:
        """Column c is H_c' v_c: the sum of v over the cells of each symbol in cohort c.

        Parameters
        ----------
        values : ndarray
            v, shape (C, k).

        Returns
        -------
        ndarray
            Shape (S, C).
        """
        if self.cohorts == 1:
            return self.adjoint(values)[:, None]
        padded = np.concatenate([values, np.zeros((self.cohorts, 1))], axis=1)
        scores = np.zeros((self.cohorts, self.symbols))
        for j in range(self.hashes):
            scores += np.take_along_axis(padded, self.table[:, j].astype(np.intp), axis=1)
        return scores.T

    def pair_form(self, p: Floats, values: Floats) -> Floats:
        """v_c' (K_c - diag K_c) v_c for each cohort c, with K_c = H_c diag(p) H_c': the part of pairs of bits of one
        answer.

        Parameters
        ----------
        p : ndarray
            One share a symbol, shape (S,).
        values : ndarray
            v, shape (C, k).

        Returns
        -------
        ndarray
            Shape (C,).
        """
        return np.asarray(p @ self.cohort_scores(values) ** 2 - (self.forward(p) * values**2).sum(axis=1))

    def _patterns(self, cohort: int) -> Floats:
        """H_c' as a dense matrix, shape (S, k)."""
        patterns = np.zeros((self.symbols, self.cells + 1))
        np.put_along_axis(patterns, self.table[cohort].T.astype(np.intp), 1.0, axis=1)
        return patterns[:, : self.cells]

    def _pairs(self, patterns: Floats, p: Floats) -> Floats:
        """The probabilities that two columns are occupied by the same answer, off the diagonal."""
        return np.asarray(patterns.T @ (p[:, None] * patterns))

    @property
    def is_sparse(self) -> bool:
        """Whether few candidates share a cell, so that a sparse product is faster than a dense one."""
        return self.cells > max(_SPARSE_CELLS, _SPARSE_CELLS_A_HASH * self.hashes)

    @cached_property
    def gram(self) -> Floats:
        """H' H: the number of cells that two candidates share."""
        return self.weighted_gram()

    @cached_property
    def factor(self) -> GramFactor:
        """The Gram matrix, factored once for every tally and every epsilon."""
        if self.symbols > _FEW and "gram" not in self.__dict__:  # one triangle is enough, and is not kept
            packed = np.zeros((self.symbols, self.symbols), order="F")
            self.add_gram(packed, None, lower=False)
            # No entry is negative, so its column sums are G 1.
            norm = float(self.adjoint(self.forward(np.ones(self.symbols))).max())
            found = GramFactor.in_place(packed, norm)
            if found is not None:
                return found
        return GramFactor.of(self.gram)

    @property
    def is_factored(self) -> bool:
        """Whether the factor is cached, so that using it costs only a solve."""
        return "factor" in self.__dict__

    def only(self, kept: npt.NDArray[np.bool_]) -> "Design":
        """The design of some of the cohorts.

        Parameters
        ----------
        kept : ndarray of bool
            Which cohorts, shape (C,).

        Returns
        -------
        Design
            Of those cohorts; the same object if that is all of them.
        """
        return self if kept.all() else Design(self.table[kept], self.cells)

    @cached_property
    def twins(self) -> list[npt.NDArray[np.intp]]:
        """Groups of two or more candidates whose columns of H are identical: no data can tell them apart."""
        # Sets of cells are compared, not their order: Bloom cells are sorted first.
        columns = np.ascontiguousarray(np.sort(self.table, axis=1).reshape(self.cohorts * self.hashes, self.symbols).T)
        _, inverse, sizes = np.unique(
            columns.view([("", columns.dtype)] * columns.shape[1]).ravel()
            if columns.shape[1] <= 64
            else _row_digests(columns),
            return_inverse=True,
            return_counts=True,
        )
        order = np.argsort(inverse, kind="stable")
        starts = np.cumsum(sizes) - sizes
        return [np.sort(order[a : a + n]) for a, n in zip(starts, sizes, strict=True) if n > 1]


def _mirrored(full: Floats, block: int = 512) -> Floats:
    """The same matrix, its upper triangle copied to the lower one in blocks that stay in the cache."""
    for start in range(0, len(full), block):
        rows = slice(start, start + block)
        full[rows, rows] = np.triu(full[rows, rows]) + np.triu(full[rows, rows], 1).T
        for other in range(start + block, len(full), block):
            full[other : other + block, rows] = full[rows, other : other + block].T
    return full


def _row_digests(rows: Cells) -> npt.NDArray[np.void]:
    """16 bytes a row that differ when the rows do (SHA-256, truncated)."""
    digests = b"".join(hashlib.sha256(row.tobytes()).digest()[:16] for row in rows)
    return np.frombuffer(digests, "V16")
