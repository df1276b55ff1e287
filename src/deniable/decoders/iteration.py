"""Preconditioned conjugate gradients: the one iteration behind least squares, beliefs and Newton steps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Product = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Iterated:
    """The solution x of A x = b, the residual b - A x, and whether the tolerance was reached."""

    solution: Floats
    residual: Floats
    converged: bool


def preconditioned_cg(
    product: Product, right: Floats, precondition: Product, *, tolerance: float, most: int, start: Floats | None = None
) -> Iterated:
    """Solve A x = b for a symmetric, positive semidefinite A.

    Parameters
    ----------
    product
        x -> A x.
    right
        b, in the range of A.
    precondition
        r -> P r, where P is close to the inverse of A.
    tolerance
        The iteration ends where r' P r is at most this part of b' P b.
    most
        Steps at most.
    start
        A first solution; zero without.

    Examples
    --------
    >>> matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> found = preconditioned_cg(lambda x: matrix @ x, np.array([3.0, 4.0]), lambda r: r / 2, tolerance=1e-20, most=9)
    >>> found.solution.round(9), found.converged
    (array([1., 1.]), True)
    """
    x = np.zeros_like(right) if start is None else start.copy()
    r = right - product(x) if x.any() else right.copy()
    z = precondition(r)
    d = z.copy()
    rho = float(r @ z)
    enough = tolerance * (rho if start is None else float(right @ precondition(right)))
    for _ in range(most):
        if rho <= enough:
            break
        q = product(d)
        curvature = float(d @ q)
        if curvature <= 0:  # rounding: nothing is left to gain
            break
        step = rho / curvature
        x += step * d
        r -= step * q
        z = precondition(r)
        old, rho = rho, float(r @ z)
        d *= rho / old
        d += z
    return Iterated(x, r, rho <= enough)
