"""H with one more column, the background: the average column of an unlisted answer over hash functions.

The candidates of an open alphabet need not be all that was answered. Without a column for the rest, least squares
attributes it to the candidates: with one hash each of them gains about (missing mass) / k. A hash function sends an
unlisted answer to any cell with equal probability, so its column is the same number in every cell,

    b = 1 - (1 - 1/k)**h        (1/k with one hash)

and its coefficient is the mass that no candidate explains. An `OpenDesign` is used like any `Design`, with S + 1
unknowns of which the last is the unallocated mass.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.matrices.matrix import Design
from deniable.matrices.pairs import RowBlock

Floats = npt.NDArray[np.float64]


class OpenDesign(Design):
    """The design of some candidates, with the background as its last column.

    Parameters
    ----------
    listed : Design
        Of the candidates alone.
    hashes : int
        Hash functions of each cohort.

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.matrices import design_of
    >>> survey = dn.orr(epsilon=1, cells=4, cohorts=2, seed=bytes(16))
    >>> design = design_of(survey, ["a", "b", "c"], background=True)
    >>> design.symbols, design.forward(np.array([0.0, 0.0, 0.0, 1.0]))[0]
    (4, array([0.25, 0.25, 0.25, 0.25]))
    """

    def __init__(self, listed: Design, hashes: int) -> None:
        super().__init__(listed.table, k := listed.cells)
        self.listed = listed  # the candidates alone
        self.drawn = hashes  # hash functions per cohort
        self.level = 1 - (1 - 1 / k) ** hashes  # b: the probability that an unlisted answer occupies a cell
        # The probability that it occupies two given cells; 0 with one hash.
        self.both = 1 - 2 * (1 - 1 / k) ** hashes + (1 - 2 / k) ** hashes

    @property
    def symbols(self) -> int:
        return self.listed.symbols + 1

    def forward(self, p: Floats) -> Floats:
        return self.listed.forward(p[:-1]) + self.level * float(p[-1])

    def _adjoint(self, stack: Floats) -> Floats:
        rest = self.level * stack.sum(axis=(1, 2))
        return np.concatenate([self.listed.adjoint(stack), rest[:, None]], axis=1)

    def weighted_gram(self, weights: Floats | None = None) -> Floats:
        known = weights is None and "gram" in self.listed.__dict__
        inner = self.listed.gram if known else self.listed.weighted_gram(weights)
        w = np.ones((self.cohorts, self.cells)) if weights is None else weights
        edge = self.level * self.listed.adjoint(w)
        corner = self.level**2 * float(w.sum())
        return np.block([[inner, edge[:, None]], [edge[None], np.array([[corner]])]])

    def _pair_blocks(self, weights: Floats | None) -> Iterator[RowBlock] | None:
        listed = self.listed._pair_blocks(weights)
        return None if listed is None else self._with_background(listed, weights)

    def _with_background(self, listed: Iterator[RowBlock], weights: Floats | None) -> Iterator[RowBlock]:
        w = np.ones((self.cohorts, self.cells)) if weights is None else weights
        edge = self.level * self.listed.adjoint(w)
        for start, block in listed:
            yield start, np.column_stack([block, edge[start : start + len(block)]])
        yield self.listed.symbols, np.array([[self.level**2 * float(w.sum())]])

    def _onehot(self, some: slice, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        known = self.listed._onehot(some, dtype)
        rest = np.zeros_like(known, shape=(1, *known.shape[1:]))
        rest[:, :, : self.cells] = self.level
        return np.concatenate([known, rest])

    @property
    def is_sparse(self) -> bool:
        return self.listed.is_sparse

    def only(self, kept: npt.NDArray[np.bool_]) -> Design:
        return self if kept.all() else OpenDesign(self.listed.only(kept), self.drawn)

    @cached_property
    def twins(self) -> list[npt.NDArray[np.intp]]:
        """Those of the candidates: the background has no zeros, so it is no twin of any."""
        return self.listed.twins

    def cohort_scores(self, values: Floats) -> Floats:
        rest = self.level * values.sum(axis=1)
        return np.concatenate([self.listed.cohort_scores(values), rest[None]])

    def pair_form(self, p: Floats, values: Floats) -> Floats:
        rest = values.sum(axis=1) ** 2 - (values**2).sum(axis=1)
        return np.asarray(self.listed.pair_form(p[:-1], values) + self.both * float(p[-1]) * rest)

    def _patterns(self, cohort: int) -> Floats:
        known = self.listed._patterns(cohort)
        return np.concatenate([known, np.full((1, self.cells), self.level)])

    def _pairs(self, patterns: Floats, p: Floats) -> Floats:
        """Two cells are occupied together by a candidate, or by an unlisted answer, which occupies any two alike."""
        return self.listed._pairs(patterns[:-1], p[:-1]) + self.both * float(p[-1])
