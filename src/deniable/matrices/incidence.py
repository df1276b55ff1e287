"""Products with H for each family of block designs, without the matrix.

`Identity` has one cell per symbol, `Walsh` the rows of Hadamard matrices, `Orthogonal` the hyperplanes of projective
spaces. Each gives H p, H' v for a stack of v, and H' diag(w) H.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns import cell_table, projective_digits
from deniable.mechanisms import Registry
from deniable.survey import BlockEncoding, Direct, Encoding, Hadamard, Projective

if TYPE_CHECKING:
    import scipy.sparse

Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.intp]


class Incidence(ABC):
    """H of some symbols, by their keys."""

    @abstractmethod
    def forward(self, p: Floats) -> Floats:
        """H p, shape (b,)."""

    @abstractmethod
    def adjoint(self, stack: Floats) -> Floats:
        """H' v for each row v of a stack, shape (R, S)."""

    @abstractmethod
    def gram(self, weights: Floats) -> Floats:
        """H' diag(w) H, dense S x S."""


incidences: Registry[Callable[[Any, Keys], Incidence]] = Registry(
    "deniable.matrices.incidence.incidences", BlockEncoding, "product with H"
)


def incidence_of(encoding: Encoding, keys: Keys) -> Incidence:
    """H of a block design and some symbols."""
    return incidences.of(encoding)(encoding, keys)


@incidences.add(Direct)
class Identity(Incidence):
    """One cell per symbol."""

    def __init__(self, encoding: Direct, keys: Keys) -> None:
        self.cells, self.keys = encoding.cells, keys

    def forward(self, p: Floats) -> Floats:
        found = np.zeros(self.cells)
        found[self.keys] = p
        return found

    def adjoint(self, stack: Floats) -> Floats:
        return np.asarray(stack[:, self.keys])

    def gram(self, weights: Floats) -> Floats:
        return np.diag(weights[self.keys])


def walsh_hadamard(values: Floats) -> Floats:
    """The product of the last axis, of length 2**m, with the matrix (-1)**popcount(i & j), in m sweeps.

    >>> walsh_hadamard(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10., -2., -4.,  0.])
    """
    found = np.array(values, np.float64)
    shape, size, half = found.shape, found.shape[-1], 1
    while half < size:
        pairs = found.reshape(-1, size // (2 * half), 2, half)
        found = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        half *= 2
    return found.reshape(shape)


@incidences.add(Hadamard)
class Walsh(Incidence):
    """Rows of Hadamard matrices: h is +1 on its symbol's cells and -1 elsewhere in its block, so H' = (1 + h) / 2."""

    def __init__(self, encoding: Hadamard, keys: Keys) -> None:
        self.blocks, self.size = encoding.blocks, encoding.cells // encoding.blocks
        self.block, self.row = keys % self.blocks, keys // self.blocks + 1

    def forward(self, p: Floats) -> Floats:
        rows = np.zeros((self.blocks, self.size))
        rows[self.block, self.row] = p
        rows[:, 0] = rows.sum(axis=1)  # row 0 is +1 throughout
        return walsh_hadamard(rows).ravel() / 2

    def adjoint(self, stack: Floats) -> Floats:
        turned = walsh_hadamard(stack.reshape(len(stack), self.blocks, self.size))
        return np.asarray((turned[:, self.block, self.row] + turned[:, self.block, 0]) / 2)

    def gram(self, weights: Floats) -> Floats:
        # (1 + h)(1 + h') / 4, and the product of two rows is the row of their exclusive or.
        turned = walsh_hadamard(weights.reshape(self.blocks, self.size))
        mine = turned[self.block, self.row]
        both = turned[self.block[:, None], self.row[:, None] ^ self.row]
        found = (turned[self.block, 0][:, None] + mine[:, None] + mine + both) / 4
        return np.where(self.block[:, None] == self.block, found, 0.0)


@incidences.add(Projective)
class Orthogonal(Incidence):
    """Points of a projective space against the points that are orthogonal to them.

    Where H has fewer ones than there are vectors the sums run over lists of cells. Otherwise: let G(y) = v at the point
    of y, for every vector y but zero. Its Fourier transform at x sums v (r 1{orthogonal to x} - 1) over the points,
    because a point has r - 1 vectors and the sum of e**(2 pi i c / r) over all c is r or 0. So H' v is
    (F G + sum v) / r, by one fast transform.
    """

    def __init__(self, encoding: Projective, keys: Keys) -> None:
        self.encoding, self.keys = encoding, keys
        self.listed = len(keys) * encoding.hashes <= encoding.order**encoding.dimension

    @cached_property
    def _digits(self) -> npt.NDArray[np.int64]:
        return projective_digits(self.encoding)

    @cached_property
    def _sums(self) -> "scipy.sparse.csr_array":
        """H' itself, S x b."""
        from scipy import sparse

        index = np.ascontiguousarray(cell_table(self.encoding, self.keys.astype(np.uint64))[0].T).ravel()
        pointers = np.arange(0, index.size + 1, self.encoding.hashes)
        return sparse.csr_array((np.ones(index.size), index, pointers), shape=(len(self.keys), self.encoding.cells))

    @cached_property
    def _vectors(self) -> npt.NDArray[np.int64]:
        """The numbers that the r - 1 vectors of each point spell, shape (b, r - 1); the point's own first."""
        r, t = self.encoding.order, self.encoding.dimension
        multiples = self._digits[:, None, :] * np.arange(1, r)[:, None] % r
        return np.asarray(multiples @ r ** np.arange(t - 1, -1, -1, dtype=np.int64))

    def _transformed(self, values: Floats) -> Floats:
        """For each point the sum of v over the points that are orthogonal to it."""
        r, t = self.encoding.order, self.encoding.dimension
        spread = np.zeros(r**t)
        spread[self._vectors] = values[:, None]
        turned = np.fft.fftn(spread.reshape((r,) * t)).real.ravel()
        return np.asarray((turned[self._vectors[:, 0]] + values.sum()) / r)

    def forward(self, p: Floats) -> Floats:
        if self.listed:
            return np.asarray(self._sums.T @ p)
        placed = np.zeros(self.encoding.cells)
        placed[self.keys] = p
        return self._transformed(placed)

    def adjoint(self, stack: Floats) -> Floats:
        if self.listed:
            return np.ascontiguousarray((self._sums @ stack.T).T)
        return np.stack([self._transformed(row)[self.keys] for row in stack])

    def gram(self, weights: Floats) -> Floats:
        size = len(self.keys)
        found = np.zeros((size, size))
        step = max(1, (1 << 23) // size)
        for start in range(0, self.encoding.cells, step):
            part = slice(start, start + step)
            ones = (self._digits[self.keys] @ self._digits[part].T % self.encoding.order == 0).astype(np.float64)
            found += (ones * weights[part]) @ ones.T
        return found
