"""Confidence limits of linear functions c'p of the shares, for answers in an order.

The unbiased estimate is c'p_hat, with the exact variance of that sum, plus a multiple of (1 - the sum of p_hat), which
is zero on average: the multiple that makes the variance least.

Where there are few reports for each cell, the counts do not say what variance they have: the weights of a share change
sign from cell to cell, so a few cells have most of it, and if they are empty by chance it is missed (95 % intervals of
shares held 60 to 90 % at 300 reports and 1,024 bins). Then the multiple is that of the uniform population, and the
variance not below its variance there.
"""

import numpy as np
import numpy.typing as npt

from deniable.decoders.least_squares import normal_solve
from deniable.decoders.limits import SkewedLimits
from deniable.decoders.quantity import Ordered
from deniable.errors import DecodeError
from deniable.matrices import Design, NeighbourDesign, design_of
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]


_FEW = 4.0  # reports for each cell below which their counts alone do not say what variance they have


def limits_of(estimate: Ordered, weights: Floats, *, smooth: bool = False) -> SkewedLimits:
    """The limits of c'p for each row c of `weights`, under sum p = 1.

    `smooth` says that rows have no steps, as those of the mean: then all cells speak for the variance.

    Claim: the variance is that of the unbiased estimate of least squares under this constraint.
    Proof: tests/unit/decoders/test_quantities.py::test_variances_are_those_of_constrained_least_squares
    """
    fit = estimate.fit
    system, mechanism = fit.system, fit.tally.survey.mechanism
    if system.cohorts != 1 or not mechanism.one_column:
        raise DecodeError(
            f"means and quantiles must have reports that name one cell, got {estimate.tally.survey.title}"
        )
    m, inverse = fit.law.columns[0], float(fit.law.inverse[0])
    least: Floats | float = 0.0
    if not smooth and fit.tally.n < _FEW * len(m):
        even = even_law(system, mechanism.affine)
        on_cells, multiple = weights_of_sums(system, mechanism.affine[1], weights, even)
        least = np.maximum(even @ on_cells**2 - (even @ on_cells) ** 2, 0.0)
    else:
        on_cells, multiple = weights_of_sums(system, mechanism.affine[1], weights, m)
    raw = weights @ fit.raw + multiple * (1 - float(fit.raw.sum()))
    first, second = m @ on_cells, m @ on_cells**2
    third = (m @ on_cells**3 - 3 * first * second + 2 * first**3) * inverse**2
    reach = np.where(third >= 0, on_cells.max(axis=0) - first, first - on_cells.min(axis=0))
    return SkewedLimits(raw, np.maximum(second - first**2, least) * inverse, third, reach * inverse)


def even_law(system: Design, affine: tuple[float, float]) -> Floats:
    """The chances of all columns where all answers are equally likely."""
    return np.asarray(affine[0] + affine[1] * system.forward(np.full(system.symbols, 1 / system.symbols))[0])


def weights_of_sums(system: Design, r: float, weights: Floats, m: Floats) -> tuple[Floats, Floats]:
    """The weights of column frequencies in each c'p_hat, shape (k, J), and the multiples of 1 - sum p_hat in it."""
    solved = normal_solve(system, np.vstack([np.ones(system.symbols), weights]))
    if isinstance(system, NeighbourDesign):
        on_cells = system.columns(solved.T) / r
    else:
        on_cells = np.stack([system.forward(row)[0] for row in solved], axis=1) / r
    whole, on_cells = on_cells[:, 0], on_cells[:, 1:]
    spread = float(m @ whole**2 - (m @ whole) ** 2)
    both = (m * whole) @ on_cells - (m @ whole) * (m @ on_cells)
    # Where reports always add up to one there is nothing to gain, and the spread is rounding.
    multiple = both / spread if spread > 1e-9 * float(m @ whole**2) else np.zeros(len(weights))
    return on_cells - multiple * whole[:, None], multiple


def worst_deviation(survey: Survey) -> float:
    """sqrt(n) times the largest standard error of the mean over all populations, exactly but for rounding.

    Parameters
    ----------
    survey : Survey
        Of numbers, or of whole numbers in an order.

    Returns
    -------
    float
        In the unit of the numbers.

    Examples
    --------
    >>> import deniable as dn
    >>> round(worst_deviation(dn.number(0, 1, 1, step=1)), 3)             # Warner's response: 1 / (2 r)
    1.082
    """
    scale = survey.alphabet.bins
    points = np.asarray(scale.points if scale is not None else survey.symbols, np.float64)
    design, (miss, r) = design_of(survey), survey.mechanism.affine
    middle = points - points.mean()  # an origin inside keeps digits
    even = even_law(design, (miss, r))
    weights = weights_of_sums(design, r, middle[None], even)[0][:, 0]
    of_answer = np.stack([design.adjoint(w[None]) for w in (weights, weights**2)])
    first, second = miss * np.array([[weights.sum()], [(weights**2).sum()]]) + r * of_answer
    # A share t of answer a and 1 - t of b: t sa + (1 - t) sb - (t ma + (1 - t) mb)**2 is a parabola in t.
    some = np.unique(np.linspace(0, len(points) - 1, min(len(points), 256)).astype(int))
    ma, sa = first[some][:, None], second[some][:, None]
    mb, sb = ma.T, sa.T
    apart = ma - mb
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(((sa - sb) - 2 * mb * apart) / (2 * apart**2))
    t = np.clip(t, 0.0, 1.0)
    variance = t * sa + (1 - t) * sb - (t * ma + (1 - t) * mb) ** 2
    return float(np.sqrt(variance.max()))
