"""The diagonal of Z M Z for symmetric Z and M, which is what error bars need, without a third S x S matrix.

One matrix stores both: Z above the diagonal, M on it and below. With T the lower triangle of M, its diagonal halved,
M = T + T', so

    (Z M Z)_ss = 2 z_s' T z_s        and        tr(Z M) = 2 tr(T Z)

for the columns z_s of Z: one triangular product instead of two square ones.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_COLUMNS = 512  # columns of Z that are multiplied at a time, so that a block stays small beside Z


@dataclass(frozen=True, slots=True)
class Sandwich:
    """Products of a symmetric Z and M that error bars need.

    Parameters
    ----------
    diagonal : ndarray
        Of Z M Z.
    trace : float
        Of Z M.
    along : ndarray
        Z times some vectors.
    """

    diagonal: Floats
    trace: float
    along: Floats

    @classmethod
    def of(cls, packed: Floats, inverse: Floats, vectors: Floats) -> "Sandwich":
        """The products, from one matrix that holds both.

        Claim: the same as the dense products.
        Proof: tests/unit/matrices/test_sandwich.py::test_it_is_what_dense_products_give

        Parameters
        ----------
        packed : ndarray
            Z above the diagonal, M on it and below, in Fortran order; overwritten.
        inverse : ndarray
            The diagonal of Z.
        vectors : ndarray
            Shape (S, R).

        Returns
        -------
        Sandwich
            The products.

        Examples
        --------
        >>> found = Sandwich.of(np.asfortranarray([[5.0, 1.0], [4.0, 6.0]]), np.array([2.0, 3.0]), np.ones((2, 1)))
        >>> found.diagonal, found.trace, found.along.ravel()  # Z = [[2, 1], [1, 3]], M = [[5, 4], [4, 6]]
        (array([42., 83.]), 36.0, array([3., 4.]))
        """
        from scipy.linalg import blas

        size = len(packed)
        packed[np.diag_indices(size)] /= 2
        diagonal, along, trace = np.empty(size), np.empty((size, vectors.shape[1])), 0.0
        for start in range(0, size, _COLUMNS):
            stop = min(start + _COLUMNS, size)
            columns = np.empty((size, stop - start), order="F")
            columns[:start] = packed[:start, start:stop]
            columns[stop:] = packed[start:stop, stop:].T
            corner = np.triu(packed[start:stop, start:stop], 1)
            columns[start:stop] = corner + corner.T + np.diag(inverse[start:stop])
            along[start:stop] = columns.T @ vectors
            half = blas.dtrmm(1.0, packed, columns, lower=1)
            diagonal[start:stop] = 2 * np.einsum("ij,ij->j", columns, half)
            trace += 2 * float(np.trace(half[start:stop]))
        return cls(diagonal, trace, along)
