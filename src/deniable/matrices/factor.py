"""A factored Gram matrix: its rank, its condition, which unknowns are determined, and its pseudo-inverse."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.matrices.triangles import cholesky_in_place, invert_cholesky, largest_column_sum

Floats = npt.NDArray[np.float64]

_SINGULAR = 1e-11  # reciprocal condition number below which a matrix counts as singular: five digits are left


@dataclass(frozen=True)
class GramFactor:
    """The pseudo-inverse G^+ of a Gram matrix G = H' H: by Cholesky if H has full column rank, else by eigenvectors.

    Parameters
    ----------
    rank : int
        Of G.
    condition : float
        The condition number of G on its range, estimated.
    estimable : ndarray of bool
        Whether the data determine p_s: whether row s of H^+ H is the unit row.
    _cholesky : ndarray, optional
        The Cholesky factor, with full rank.
    _roots : ndarray, optional
        V / sqrt(eigenvalues) over the range, otherwise: G^+ = roots @ roots.T.

    Examples
    --------
    >>> factor = GramFactor.of(np.array([[2.0, 0.0], [0.0, 4.0]]))
    >>> factor.rank, factor.solve(np.array([2.0, 2.0])), factor.inverse().diagonal()
    (2, array([1. , 0.5]), array([0.5 , 0.25]))
    >>> GramFactor.of(np.ones((2, 2))).estimable
    array([False, False])
    >>> GramFactor.in_place(np.ones((2, 2), order="F"), 2.0) is None
    True
    """

    rank: int
    condition: float
    estimable: npt.NDArray[np.bool_]
    _cholesky: Floats | None
    _roots: Floats | None  # V / sqrt(eigenvalues) over the range, so that G^+ = roots @ roots.T

    @classmethod
    def of(cls, gram: Floats) -> "GramFactor":
        """The factor of a Gram matrix.

        Parameters
        ----------
        gram : ndarray
            G, symmetric, S x S.

        Returns
        -------
        GramFactor
            Of any rank.
        """
        from scipy.linalg import eigh

        size = len(gram)
        found = cls.in_place(np.asfortranarray(np.tril(gram).T), float(np.abs(gram).sum(axis=0).max(initial=0.0)))
        if found is not None:
            return found
        values, vectors = eigh(gram, check_finite=False)
        kept = values > max(size, 1) * np.finfo(float).eps * 4 * values[-1]
        basis = vectors[:, kept]
        leverage = (basis**2).sum(axis=1)
        spread = float(values[-1] / values[kept][0]) if kept.any() else np.inf
        return cls(int(kept.sum()), spread, leverage > 1 - 1e-8, None, basis / np.sqrt(values[kept]))

    @classmethod
    def in_place(cls, gram: Floats, norm: float) -> "GramFactor | None":
        """The factor of a Gram matrix of full rank, without a copy.

        Parameters
        ----------
        gram : ndarray
            G in Fortran order. Only its upper triangle is read; it is overwritten.
        norm : float
            The largest column sum of G.

        Returns
        -------
        GramFactor or None
            None if G is singular; its contents are lost then.
        """
        from scipy.linalg import lapack

        if not cholesky_in_place(gram):
            return None
        reciprocal, _ = lapack.dpocon(gram, norm)
        if reciprocal <= _SINGULAR:
            return None
        return cls(len(gram), 1 / float(reciprocal), np.ones(len(gram), bool), gram, None)

    def solve(self, right: Floats) -> Floats:
        """G^+ b.

        Parameters
        ----------
        right : ndarray
            b, shape (S,) or (S, R).

        Returns
        -------
        ndarray
            In the shape of b.
        """
        if self._cholesky is not None:
            from scipy.linalg import cho_solve

            return np.asarray(cho_solve((self._cholesky, False), right, check_finite=False))
        assert self._roots is not None
        return np.asarray(self._roots @ (self._roots.T @ right))

    def inverse(self) -> Floats:
        """G^+ in the upper triangle of a new matrix in Fortran's order, with zeros below it."""
        if self._cholesky is not None:
            found = self._cholesky.copy(order="F")
            invert_cholesky(found)
            return found
        from scipy.linalg import blas

        assert self._roots is not None
        if not self._roots.shape[1]:
            return np.zeros((len(self._roots), len(self._roots)), order="F")
        return np.asarray(blas.dsyrk(1.0, self._roots, lower=0))


def invert_in_place(packed: Floats, norm: float) -> float | None:
    """Replace the upper triangle of a matrix G by that of its inverse.

    Parameters
    ----------
    packed : ndarray
        G in its upper triangle, in Fortran order; the lower triangle is unchanged.
    norm : float
        The largest column sum of G.

    Returns
    -------
    float or None
        The condition number of G; None if G is singular, whose contents are lost then.

    Examples
    --------
    >>> packed = np.asfortranarray([[2.0, 1.0], [7.0, 2.0]])
    >>> round(invert_in_place(packed, 3.0), 6), packed.round(4)
    (3.0, array([[ 0.6667, -0.3333],
           [ 7.    ,  0.6667]]))
    """
    if not cholesky_in_place(packed):
        return None
    invert_cholesky(packed)
    # Exact, and cheaper than LAPACK's estimate, which solves several systems.
    condition = norm * largest_column_sum(packed)
    return condition if condition < 1 / _SINGULAR else None
