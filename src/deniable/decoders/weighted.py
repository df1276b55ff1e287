"""Weighted least squares: each cell is weighted by one over its variance.

A cell that many answers share is noisier than an empty one. With the weights n_c r**2 / m (index reports; m (1 - m) for
bits) the normal equations are one step of Fisher scoring, so the solution is efficient where the candidates are
complete. The weights come from a pilot estimate, so the solution is unbiased only to first order. Error bars belong to
the estimate of plain least squares beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution, unbias
from deniable.decoders.least_squares import LeastSquares, conjugate_gradients, most_steps
from deniable.decoders.simplex import project
from deniable.matrices import BlockDesign, Design, GramFactor
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]

_FACTOR_AT_MOST = 1024  # unknowns up to which the weighted Gram matrix is factored


def cell_weights(tally: Tally, design: Design, p: Floats) -> Floats:
    """One over the variance of the unbiased frequency of each cell, shape (C, k), if the population is p.

    >>> import deniable as dn
    >>> from deniable.matrices import design_of
    >>> survey = dn.krr(symbols=2, epsilon=1)
    >>> weights = cell_weights(dn.Tally(survey, [[60, 40]]), design_of(survey), np.array([1.0, 0.0]))
    >>> weights.round(1)
    array([[29.2, 79.4]])
    """
    mechanism = tally.survey.mechanism
    miss, r = mechanism.affine
    m = miss + r * design.forward(p)
    # Of a table with zeros: a column that none of these answers leads to has no variance, and an ordinary weight.
    m = np.where(m > 0, m, m.mean())
    return np.asarray(tally.reports[:, None] * r**2 / (m if mechanism.one_column else m * (1 - m)))


@dataclass(frozen=True, slots=True)
class WeightedLeastSquares(Decoder):
    """Minimise sum w (H p - u)**2 with w one over the estimated variance of each cell.

    Up to 15 % less error than `LeastSquares` where few answers are common and there are many cells (Zipf 2, epsilon 4),
    the same where no cell is heavy or each symbol has its own.

    Parameters
    ----------
    passes
        How often the weights are computed, each time from the last estimate.
    tolerance
        The relative residual at which an iteration ends.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.orr(symbols=3, epsilon=2, cells=2, cohorts=4, seed=bytes(16))
    >>> tally = dn.simulate(survey, [0.5, 0.3, 0.2], n=10**8, rng=np.random.default_rng(0))
    >>> dn.decode(tally, decoder=WeightedLeastSquares()).probabilities.round(2)
    array([0.5, 0.3, 0.2])
    """

    inverts: ClassVar[bool] = False
    passes: int = 2
    tolerance: float = 1e-11

    def solve(self, tallies: Sequence[Tally], design: Design) -> list[Solution]:
        if isinstance(design, BlockDesign) and design.occupied == 1:  # one cell per symbol: weights change nothing
            return [Solution(raw, raw) for raw in (design.invert(unbias(tally)) for tally in tallies)]
        pilots = [solution.raw for solution in LeastSquares().solve(tallies, design)]
        return [Solution(self._refined(t, design, raw), raw) for t, raw in zip(tallies, pilots, strict=True)]

    def _refined(self, tally: Tally, design: Design, found: Floats) -> Floats:
        u = unbias(tally)  # empty cohorts weigh nothing
        for _ in range(self.passes):
            weights = cell_weights(tally, design, project(found))
            found = self._solve(design, weights, design.adjoint(weights * u))
        return found

    def _solve(self, design: Design, weights: Floats, right: Floats) -> Floats:
        if design.symbols > _FACTOR_AT_MOST:
            iterated = conjugate_gradients(design, right, self.tolerance, most_steps(design), weights=weights)
            if iterated is not None:
                return iterated
        return GramFactor.of(design.weighted_gram(weights)).solve(right)
