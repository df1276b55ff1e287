"""Maximum likelihood on the simplex: exact for index reports, a composite likelihood for bit reports.

Paper: Propositions `prop:max_est_krr` and `prop:max_est_rappor`, and the same likelihoods over cohorts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution, unbias
from deniable.decoders.cohort_likelihood import CohortLikelihood, maximize
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.simplex import project
from deniable.errors import DecodeError
from deniable.matrices import BlockDesign, Design
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Likelihood(Decoder):
    """The p on the simplex that makes the tally most likely, to a relative duality gap of `tolerance`.

    * k-RR: exact maximum likelihood in closed form (`water_fill`).
    * O-RR: exact maximum likelihood given the cohort sizes, by projected gradients and Newton steps, matrix-free.
    * Hadamard and projective geometry response: the same, exact; their cells are those of one cohort.
    * k-RAPPOR, OUE, subset selection and O-RAPPOR: the paper's program, a product of the bits' marginals. The
      bits of one report depend on each other, so this is a *composite* likelihood; the full one needs raw reports,
      which a tally does not keep: `decoders.likelihood_of_reports`.

    The solution is already on the simplex, so every constraint leaves it as it is (up to rounding). Its error bars are
    those of the unbiased estimate beside it.

    Parameters
    ----------
    tolerance
        The relative duality gap, which bounds how far the log-likelihood is from its maximum.

    Raises
    ------
    DecodeError
        In `solve`, if the gap is not reached.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=5, epsilon="1.0986122886681098")             # e**epsilon is 3, nearly
    >>> estimate = dn.decode(dn.Tally(survey, [[420, 210, 160, 120, 90]]), decoder=Likelihood())
    >>> estimate.probabilities.round(6)
    array([0.829114, 0.164557, 0.006329, 0.      , 0.      ])
    """

    tolerance: float = 1e-9

    def solve(self, tallies: Sequence[Tally], design: Design) -> list[Solution]:
        direct = isinstance(design, BlockDesign) and design.occupied == 1
        if isinstance(design, BlockDesign):
            raws = [design.invert(unbias(tally)) for tally in tallies]
        else:
            raws = [solution.raw for solution in LeastSquares().solve(tallies, design)]
        solutions = []
        for tally, raw in zip(tallies, raws, strict=True):
            mechanism = tally.survey.mechanism
            if not direct or design.cells > design.symbols:
                values = maximize(CohortLikelihood(tally, design), project(raw), self.tolerance)
                solutions.append(Solution(values, raw))
                continue
            # A projective design of two dimensions has one cell per symbol, in another order than its symbols.
            counts = design.adjoint(tally.counts.astype(np.float64))
            if mechanism.one_column:
                values = water_fill(counts, float(mechanism.miss / (mechanism.hit - mechanism.miss)))
            else:
                values, _ = composite_bits(counts, tally.n, mechanism.hit, mechanism.miss, self.tolerance)
            solutions.append(Solution(values, raw))
        return solutions


def water_fill(counts: npt.ArrayLike, floor: float) -> Floats:
    """[T_i / lambda - floor]^+ with lambda such that the result sums to one, in O(k log k).

    `floor` is miss / (hit - miss) = 1 / (e**epsilon - 1). If the j largest counts are the support, lambda is their sum
    over 1 + j * floor; the support is the largest j whose smallest member stays positive.

    Paper: `prop:max_est_krr`.
    Claim: the maximiser of sum_i T_i log(p_i + floor) over the simplex.
    Proof: tests/properties/test_likelihood.py::test_water_filling_is_optimal

    >>> water_fill([420, 210, 160, 120, 90], 0.5).round(6)
    array([0.829114, 0.164557, 0.006329, 0.      , 0.      ])
    """
    given = np.asarray(counts, np.float64)
    if not given.sum() > 0:
        raise DecodeError("counts must hold at least one report")
    descending = np.sort(given)[::-1]
    sizes = np.arange(1, given.size + 1)
    levels = np.cumsum(descending) / (1 + sizes * floor)
    last = int(np.flatnonzero(descending > levels * floor)[-1])
    return np.asarray(np.maximum(given / levels[last] - floor, 0.0))


def composite_bits(
    counts: npt.ArrayLike, n: int, hit: Fraction | float, miss: Fraction | float, tolerance: float = 1e-9
) -> tuple[Floats, float]:
    """The paper's convex program for k-RAPPOR, and the relative duality gap that was reached.

    maximise sum_j T_j log m_j + (n - T_j) log(1 - m_j), m_j = miss + (hit - miss) p_j, p on the simplex. For a
    multiplier mu of the sum, each m_j solves T / m - (n - T) / (1 - m) = mu, a quadratic; the sum of the p_j falls as
    mu rises, so mu is found by bisection. The dual value at mu bounds the optimum from above.

    Paper: `prop:max_est_rappor`, with delta = miss.
    Claim: relative duality gap at most `tolerance`.
    Proof: tests/unit/decoders/test_likelihood.py::test_composite_bits_closes_the_gap

    >>> p, gap = composite_bits([700, 400, 350], 1000, hit=0.73, miss=0.27)
    >>> p.round(4), gap < 1e-9
    (array([0.7983, 0.1503, 0.0514]), True)
    """
    t = np.asarray(counts, np.float64)
    # Differences before rounding: a hit of 1 - 1e-18 would round to one, and a difference of 1e-9 lose its digits.
    low, r, lost = float(miss), float(hit - miss), float(1 - hit)

    def at(mu: float) -> Floats:
        spread = np.sqrt((n + mu) ** 2 - 4 * mu * t)
        # Two forms of the same root; each is free of cancellation where it is used.
        m = 2 * t / (n + mu + spread) if n + mu > 0 else (n + mu - spread) / (2 * mu)
        return np.clip((m - low) / r, 0.0, 1.0)

    def loss(p: Floats) -> float:
        return -float((t * np.log(low + r * p) + (n - t) * np.log(lost + r * (1 - p))).sum())

    # At mu = +-bound the sum is 0 or more than 1, whatever the counts.
    bound = n * (1 / low + 1 / lost)
    least, most = -bound, bound
    for _ in range(200):
        mu = (least + most) / 2
        if at(mu).sum() > 1:
            least = mu
        else:
            most = mu
        if most - least <= 4 * np.finfo(float).eps * max(abs(least), abs(most)):
            break
    below, above = at(most), at(least)
    # Between the two ends every point of the segment is optimal for its mu; take the one that sums to one.
    span = above.sum() - below.sum()
    p = below + (above - below) * ((1 - below.sum()) / span if span > 0 else 0.0)
    p = np.maximum(p, 0.0)
    p /= p.sum()
    best = at(most)
    dual = loss(best) + most * r * (float(best.sum()) - 1)
    primal = loss(p)
    gap = max(primal - dual, 0.0) / abs(primal) if primal else 0.0
    if gap > tolerance:
        raise DecodeError(f"likelihood must converge to a gap of {tolerance:g}, got {gap:g}")
    return p, gap
