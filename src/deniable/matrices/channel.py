"""The design of a channel of any shape: a matrix of probabilities instead of zeros and ones.

In other designs a column is hit with probability miss + r (H p), where H depends on the encoding alone. Here it is A p,
where A has one row of the mechanism's probabilities per symbol; it is used as a `Design` with miss 0 and r 1
(`Mechanism.affine`). Unlike other designs it depends on epsilon.
"""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.columns import Cells
from deniable.errors import DecodeError
from deniable.matrices.matrix import Design
from deniable.mechanisms import Mechanism

Floats = npt.NDArray[np.float64]


class ChannelDesign(Design):
    """The matrix A of a channel, dense. `cells` are the columns of the tally.

    Parameters
    ----------
    mechanism : Mechanism
        Reports one column.
    table : ndarray of int
        The cell of every symbol, shape (1, 1, S).

    Raises
    ------
    DecodeError
        If a report of the mechanism is not one column.

    Examples
    --------
    >>> from deniable.mechanisms import KRR
    >>> ChannelDesign(KRR(2, 1), np.array([[[0, 1]]])).rows.round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """

    def __init__(self, mechanism: Mechanism, table: Cells) -> None:
        if not mechanism.one_column:  # the joint distribution of bits is known for hit or miss only
            raise DecodeError(f"a mechanism that is not hit or miss must name one column, got {mechanism.kind!r}")
        super().__init__(table, mechanism.columns)
        law = [mechanism.weights((cell,)) for cell in table[0, 0].tolist()]
        # A', one row per symbol, shape (S, columns). Integers are divided, so every probability is the nearest float.
        self.rows = np.array([[weight / mechanism.span for weight in row] for row in law])

    def forward(self, p: Floats) -> Floats:
        return np.asarray(p @ self.rows)[None]

    def _adjoint(self, stack: Floats) -> Floats:
        return np.asarray(stack[:, 0] @ self.rows.T)

    def weighted_gram(self, weights: Floats | None = None) -> Floats:
        return np.asarray((self.rows if weights is None else self.rows * weights[0]) @ self.rows.T)

    def add_gram(self, packed: Floats, weights: Floats | None, *, lower: bool) -> None:
        gram = self.weighted_gram(weights)
        packed += np.tril(gram) if lower else np.triu(gram)

    def _patterns(self, cohort: int) -> Floats:
        return self.rows

    @cached_property
    def twins(self) -> list[npt.NDArray[np.intp]]:
        """Symbols whose rows are the same."""
        _, inverse = np.unique(self.rows, axis=0, return_inverse=True)
        groups = (np.flatnonzero(inverse == group) for group in range(int(inverse.max()) + 1))
        return [group for group in groups if len(group) > 1]
