"""Products, factors and inverses in one triangle of a matrix in Fortran order; the other triangle is unchanged.

Small matrices go to BLAS and LAPACK as a whole, large ones in blocks: with few threads the `syrk` of OpenBLAS, and
`potrf` and `potri` which use it, write beyond their buffers (0.3.30, two threads: 16,000 rows work, 20,001 crash).
Products of rectangles do not.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_WHOLE = 8192  # rows up to which a matrix goes to LAPACK as a whole
_BLOCK = 2048  # rows of a block of a larger one: far below the size at which OpenBLAS fails


def _blocks(size: int) -> list[tuple[int, int]]:
    return [(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK)]


def _put(corner: Floats, values: Floats) -> None:
    """Overwrite the upper triangle of a corner on the diagonal."""
    np.copyto(corner, values, where=~np.tri(len(corner), k=-1, dtype=bool))


def add_squares(packed: npt.NDArray[np.floating], rows: npt.NDArray[np.floating], *, sign: float, lower: bool) -> None:
    """Add sign * A A' to one triangle of a matrix, with the diagonal.

    Parameters
    ----------
    packed : ndarray
        S x S in Fortran order; one triangle is overwritten.
    rows : ndarray
        A, shape (S, R), of the same precision.
    sign : float
        1 or -1.
    lower : bool
        Which triangle.

    Examples
    --------
    >>> packed = np.zeros((2, 2), order="F")
    >>> add_squares(packed, np.array([[1.0, 2.0], [3.0, 4.0]]), sign=-1.0, lower=True)
    >>> packed
    array([[ -5.,   0.],
           [-11., -25.]])
    """
    if len(packed) <= _WHOLE:
        from scipy.linalg import blas

        syrk = blas.ssyrk if packed.dtype == np.float32 else blas.dsyrk
        across = rows.flags.c_contiguous
        syrk(sign, rows.T if across else rows, trans=across, beta=1.0, c=packed, lower=lower, overwrite_c=1)
        return
    for start, stop in _blocks(len(packed)):
        mine = sign * rows[start:stop]
        corner = mine @ rows[start:stop].T
        packed[start:stop, start:stop] += np.tril(corner) if lower else np.triu(corner)
        if lower:
            packed[stop:, start:stop] += rows[stop:] @ mine.T
        else:
            packed[start:stop, stop:] += mine @ rows[stop:].T


def cholesky_in_place(packed: Floats) -> bool:
    """Turn the upper triangle of a positive definite matrix G into U with U' U = G; False if it is not one.

    Claim: what LAPACK gives, in blocks too.
    Proof: tests/unit/matrices/test_triangles.py::test_blocks_give_what_lapack_gives
    """
    from scipy.linalg import blas, lapack

    if len(packed) <= _WHOLE:
        return bool(lapack.dpotrf(packed, lower=0, clean=0, overwrite_a=1)[1] == 0)
    for start, stop in _blocks(len(packed)):
        corner, status = lapack.dpotrf(np.triu(packed[start:stop, start:stop]), lower=0, clean=1)
        if status != 0:
            return False
        _put(packed[start:stop, start:stop], corner)
        right = blas.dtrsm(1.0, corner, packed[start:stop, stop:], trans_a=1)
        packed[start:stop, stop:] = right
        for first, last in ((a, b) for a, b in _blocks(len(packed)) if a >= stop):
            mine = right[:, first - stop : last - stop]
            packed[stop:first, first:last] -= right[:, : first - stop].T @ mine
            packed[first:last, first:last] -= np.triu(mine.T @ mine)
    return True


def invert_cholesky(packed: Floats) -> None:
    """Turn U in the upper triangle into that of (U' U)^-1.

    Claim: what LAPACK gives, in blocks too.
    Proof: tests/unit/matrices/test_triangles.py::test_blocks_give_what_lapack_gives
    """
    from scipy.linalg import lapack

    if len(packed) <= _WHOLE:
        lapack.dpotri(packed, lower=0, overwrite_c=1)
        return
    blocks = _blocks(len(packed))

    def corner(start: int, stop: int) -> Floats:
        return np.triu(packed[start:stop, start:stop])

    # W = U^-1, column by column: above its corner it is -W U W_corner. Rows come from the top, because each needs those
    # below it as they were.
    for start, stop in blocks:
        mine, status = lapack.dtrtri(corner(start, stop), lower=0)
        assert status == 0
        for first, last in (block for block in blocks if block[0] < start):
            column = corner(first, last) @ packed[first:last, start:stop]
            column += packed[first:last, last:start] @ packed[last:start, start:stop]
            packed[first:last, start:stop] = -(column @ np.triu(mine))
        _put(packed[start:stop, start:stop], mine)
    # W W', column by column: each needs only those of W that are not before it.
    for start, stop in blocks:
        mine, right = corner(start, stop), packed[start:stop, stop:]
        column = packed[:start, start:stop] @ mine.T
        column += packed[:start, stop:] @ right.T
        packed[:start, start:stop] = column
        _put(packed[start:stop, start:stop], mine @ mine.T + right @ right.T)


def largest_column_sum(packed: Floats) -> float:
    """The largest sum of absolute values in a column of the symmetric matrix whose upper triangle is given.

    >>> largest_column_sum(np.array([[1.0, -2.0], [9.0, 3.0]]))
    5.0
    """
    sums = np.zeros(len(packed))
    for start, stop in _blocks(len(packed)):
        rows = np.abs(packed[start:stop, start:])
        rows[:, : stop - start] = np.triu(rows[:, : stop - start])
        sums[start:] += rows.sum(axis=0)
        sums[start:stop] += rows.sum(axis=1) - rows.diagonal()
    return float(sums.max())
