"""H of a block design: one cohort, s cells per symbol, l cells shared by any two symbols of one block, none by others.

Least squares has a closed form there. With z = H' u, the sum of u over each symbol's cells, and W its sum over each
symbol's block,

    E z = (s - l) p + l P      and      E W = s P      (P the probability of the symbol's block)

so p = (z - (l / s) W) / (s - l): the empirical estimator of k-RR, k-RAPPOR and OUE (s = 1, l = 0), of Hadamard response
and of projective geometry response. Products are those of `incidence`: the identity, or fast transforms.
"""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.columns import Cells, Words, cell_table
from deniable.matrices.incidence import Incidence, incidence_of
from deniable.matrices.matrix import Design
from deniable.survey import Encoding

Floats = npt.NDArray[np.float64]


class BlockDesign(Design):
    """The matrix H of a block design, with its inverse in closed form.

    Parameters
    ----------
    encoding : Encoding
        A block encoding.
    keys : ndarray of uint64
        The keys of the candidates (`columns.encode.keys_of`).

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.matrices import design_of
    >>> design = design_of(dn.hadamard(symbols=5, epsilon=1))
    >>> p = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    >>> design.invert(design.forward(p)).round(12)
    array([0.1, 0.2, 0.3, 0.4, 0. ])
    >>> design.block_sums(np.ones((1, 8)))
    array([8., 8., 8., 8., 8.])
    >>> design.inverse_gram(np.ones((1, 8))).shape
    (5, 5)
    """

    def __init__(self, encoding: Encoding, keys: Words) -> None:
        assert encoding.occupied is not None
        assert encoding.shared is not None
        self.encoding, self.keys, self.cells = encoding, keys.astype(np.intp), encoding.cells
        self.occupied, self.shared = encoding.occupied, encoding.shared  # s, l
        self.blocks: int = getattr(encoding, "blocks", 1)

    @cached_property
    def table(self) -> Cells:  # type: ignore[override]
        """The cells of every symbol, computed on first use."""
        return cell_table(self.encoding, self.keys.astype(np.uint64))

    @property
    def cohorts(self) -> int:
        return 1

    @property
    def hashes(self) -> int:
        return self.occupied

    @property
    def symbols(self) -> int:
        return len(self.keys)

    @property
    def distance(self) -> int:
        """s - l: how many cells of a symbol another one of its block does not share."""
        return self.occupied - self.shared

    @cached_property
    def _incidence(self) -> Incidence:
        return incidence_of(self.encoding, self.keys)

    def cells_of(self, symbols: slice) -> Cells:
        return np.asarray(cell_table(self.encoding, self.keys[symbols].astype(np.uint64))[0])

    def forward(self, p: Floats) -> Floats:
        return self._incidence.forward(p)[None]

    def _adjoint(self, stack: Floats) -> Floats:
        return self._incidence.adjoint(stack[:, 0])

    def block_sums(self, values: Floats) -> Floats:
        """The sum of u over the block of each symbol.

        Parameters
        ----------
        values : ndarray
            u, shape (1, b).

        Returns
        -------
        ndarray
            Shape (S,).
        """
        return np.asarray(values.reshape(self.blocks, -1).sum(axis=1)[self.keys % self.blocks])

    def invert(self, values: Floats) -> Floats:
        """The p with H p = u, in closed form. It is unbiased for every u with E u = H p.

        Parameters
        ----------
        values : ndarray
            u, shape (1, b).

        Returns
        -------
        ndarray
            Shape (S,).
        """
        if self.shared == 0:
            return self.adjoint(values) / self.occupied
        share = self.shared / self.occupied
        return (self.adjoint(values) - share * self.block_sums(values)) / self.distance

    def weighted_gram(self, weights: Floats | None = None) -> Floats:
        if weights is None:
            same = self.keys[:, None] % self.blocks == self.keys % self.blocks
            gram = np.where(same, float(self.shared), 0.0)
            np.fill_diagonal(gram, float(self.occupied))
            return gram
        return self._incidence.gram(weights[0])

    def add_gram(self, packed: Floats, weights: Floats | None, *, lower: bool) -> None:
        gram = self.weighted_gram(weights)
        packed += np.tril(gram) if lower else np.triu(gram)

    def inverse_gram(self, weights: Floats) -> Floats:
        """L diag(w) L', where L is the matrix of `invert`.

        L = (H' - c R) / (s - l) with c = l / s and R(x, y) = 1 for the cells y of the block of x. The products with R
        are sums over sets and blocks, and vanish for symbols of different blocks.

        Parameters
        ----------
        weights : ndarray
            w, shape (1, b).

        Returns
        -------
        ndarray
            Dense, S x S.
        """
        gram = self.weighted_gram(weights)
        if self.shared:
            c = self.shared / self.occupied
            block = self.keys % self.blocks
            z, total = self.adjoint(weights), self.block_sums(weights)
            gram -= np.where(block[:, None] == block, c * (z[:, None] + z) - c**2 * total, 0.0)
        return gram / float(self.distance) ** 2

    @property
    def condition(self) -> float:
        """The condition number of H' H, whose blocks are (s - l) I + l J."""
        largest = int(np.bincount(self.keys % self.blocks).max(initial=1))
        return 1 + self.shared * largest / self.distance if self.shared else 1.0

    @property
    def twins(self) -> list[npt.NDArray[np.intp]]:
        """None: no two symbols have the same cells."""
        return []
