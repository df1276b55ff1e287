"""H of very many candidates of an open alphabet: only keys are stored, cells are hashed when needed.

A million candidates and 256 cohorts are 256 million cells. H' v needs each of them once, so candidates are processed in
blocks: hash a block for a cohort, gather v at its cells, add to one sum per candidate. Not to be confused with
`Design`, which stores all cells because its products are needed many times.
"""

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns import Cells, Words, cell_rows, cell_table
from deniable.matrices.background import OpenDesign
from deniable.matrices.cores import on_every_core
from deniable.matrices.matrix import Design
from deniable.survey import Encoding

Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]

_BLOCK = 1 << 14  # candidates per block: its words, cells and sums stay in the second-level cache
_MOST_HELD = 1 << 26  # bytes of cells that are kept, at most: 64 MiB


class StreamedDesign(Design):
    """The matrix H of hashed candidates, stored as their keys.

    Parameters
    ----------
    encoding : Encoding
        A hashed encoding.
    keys : ndarray of uint64
        The keys of the candidates (`columns.encode.keys_of`).
    hold : bool, default False
        Keep the cells once they are hashed, if they fit in 64 MiB: products that follow take half of the time.

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.columns import keys_of
    >>> survey = dn.orr(epsilon=1, cells=4, cohorts=2, seed=bytes(16))
    >>> design = StreamedDesign(survey.encoding, keys_of(survey, ["a", "b", "c"]))
    >>> values = np.arange(8.0).reshape(2, 4)
    >>> np.array_equal(design.adjoint(values), Design(design.table, 4).adjoint(values))
    True
    >>> bool((design.scores(values[None])[0] == design.adjoint(values)).all()), design.part(np.array([0, 2])).symbols
    (True, 3)
    """

    def __init__(self, encoding: Encoding, keys: Words, *, hold: bool = False) -> None:
        self.encoding, self.keys, self.cells = encoding, keys, encoding.cells
        self._narrow = np.min_scalar_type(encoding.cells)  # the cell number k marks a repeat
        size = len(keys) * encoding.cohorts * encoding.hashes * self._narrow.itemsize
        self._held: dict[int, npt.NDArray[Any]] | None = {} if hold and size <= _MOST_HELD else None

    @property
    def cohorts(self) -> int:
        return self.encoding.cohorts

    @property
    def hashes(self) -> int:
        return self.encoding.hashes

    @property
    def symbols(self) -> int:
        return len(self.keys)

    @cached_property
    def table(self) -> Cells:  # type: ignore[override]
        """All cells at once, computed on first use."""
        return cell_table(self.encoding, self.keys)

    def part(self, places: npt.NDArray[np.intp]) -> OpenDesign:
        """The design of a few of the candidates.

        Parameters
        ----------
        places : ndarray of int
            Which candidates.

        Returns
        -------
        OpenDesign
            With the background as its last column.
        """
        return OpenDesign(Design(cell_table(self.encoding, self.keys[places]), self.cells), self.hashes)

    def _rows(self, block: slice) -> Iterable[npt.NDArray[Any]]:
        """The cells of a block of candidates, a cohort at a time."""
        rows = cell_rows(self.encoding, self.keys[block])
        if self._held is None:
            return rows
        if block.start not in self._held:
            self._held[block.start] = np.stack([row.astype(self._narrow) for row in rows])
        return self._held[block.start]

    def _adjoint(self, stack: Floats) -> Floats:
        return self.scores(stack)

    def scores(self, stack: Floats, progress: Progress | None = None) -> Floats:
        """H' v for a stack of v's.

        Claim: the same as the products of `Design`, whose contract tests it shares.
        Proof: tests/contracts/test_streamed.py::test_products_are_those_of_the_table

        Parameters
        ----------
        stack : ndarray
            Vectors v, shape (R, C, k).
        progress : callable, optional
            Called with the number of candidates that are done, and of all.

        Returns
        -------
        ndarray
            Shape (R, S).
        """
        # The cell number k marks a repeated cell of one symbol, which adds zero.
        tables = np.zeros((len(stack), self.cohorts, self.cells + 1))
        tables[:, :, : self.cells] = stack
        found = np.zeros((len(stack), self.symbols))
        blocks = [slice(start, start + _BLOCK) for start in range(0, self.symbols, _BLOCK)]

        def gather(block: slice) -> None:
            sums = found[:, block]
            taken = np.empty(sums.shape[1])
            for c, rows in enumerate(self._rows(block)):
                for cells in rows:
                    for values, total in zip(tables[:, c], sums, strict=True):
                        np.take(values, cells, out=taken, mode="clip")
                        total += taken

        at_once = 4 * (os.cpu_count() or 1)
        for start in range(0, len(blocks), at_once):
            on_every_core(gather, blocks[start : start + at_once])
            if progress is not None:
                progress(min((start + at_once) * _BLOCK, self.symbols), self.symbols)
        return found
