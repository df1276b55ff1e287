"""H of answers in an order, each with its neighbours' cells: products are differences of running sums.

Answer x occupies the cells x to x + 2 w, so H p is a moving sum of p and H' v one of v. Two answers share the cells
from the later one's first to the earlier one's last, so a weighted Gram matrix is a difference of running sums, too.
"""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.columns import Cells, Words, cell_table
from deniable.matrices.matrix import Design
from deniable.survey import Neighbours

Floats = npt.NDArray[np.float64]


class NeighbourDesign(Design):
    """The matrix H of answers that share cells with their neighbours.

    Parameters
    ----------
    encoding : Neighbours
        Which cells an answer occupies.
    keys : ndarray of uint64
        The answers, by their place in the order.

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.matrices import design_of
    >>> design = design_of(dn.ordered(5, 1, reach=1))
    >>> design.forward(np.array([0.5, 0.25, 0.25, 0.0, 0.0]))
    array([[0.5 , 0.75, 1.  , 0.5 , 0.25, 0.  , 0.  ]])
    >>> design.columns(np.eye(5)[:, :2]).shape, design.weighted_gram()[0]
    ((7, 2), array([3., 2., 1., 0., 0.]))
    """

    def __init__(self, encoding: Neighbours, keys: Words) -> None:
        self.encoding, self.keys, self.cells = encoding, keys.astype(np.intp), encoding.cells
        self.own = encoding.hashes  # cells of an answer

    @cached_property
    def table(self) -> Cells:  # type: ignore[override]
        """The cells of every answer, computed on first use."""
        return cell_table(self.encoding, self.keys.astype(np.uint64))

    @property
    def cohorts(self) -> int:
        return 1

    @property
    def hashes(self) -> int:
        return self.own

    @property
    def symbols(self) -> int:
        return len(self.keys)

    def columns(self, values: Floats) -> Floats:
        """H V, the moving sums of every column of V.

        Parameters
        ----------
        values : ndarray
            V, shape (S, K).

        Returns
        -------
        ndarray
            Shape (k, K).
        """
        placed = np.zeros((self.encoding.symbols + 2 * self.own - 1, values.shape[1]))
        placed[self.own + self.keys] = values
        sums = placed.cumsum(axis=0)
        return np.asarray(sums[self.own :] - sums[: -self.own])

    def forward(self, p: Floats) -> Floats:
        return self.columns(p[:, None]).T

    def _adjoint(self, stack: Floats) -> Floats:
        sums = np.zeros((len(stack), self.cells + 1))
        np.cumsum(stack[:, 0], axis=1, out=sums[:, 1:])
        return np.asarray(sums[:, self.keys + self.own] - sums[:, self.keys])

    def weighted_gram(self, weights: Floats | None = None) -> Floats:
        sums = np.zeros(self.cells + 1)
        np.cumsum(np.ones(self.cells) if weights is None else weights[0], out=sums[1:])
        first = np.maximum(self.keys[:, None], self.keys)
        last = np.minimum(self.keys[:, None], self.keys) + self.own
        return np.where(last > first, sums[last] - sums[first], 0.0)

    def add_gram(self, packed: Floats, weights: Floats | None, *, lower: bool) -> None:
        gram = self.weighted_gram(weights)
        packed += np.tril(gram) if lower else np.triu(gram)

    @property
    def twins(self) -> list[npt.NDArray[np.intp]]:
        """None: no two answers have the same cells."""
        return []
