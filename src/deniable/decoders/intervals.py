"""The limits of an estimate's symbols, and of sums of them: exact where a count is binomial, else by cumulants."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.decoders.least_squares import normal_solve
from deniable.decoders.limits import BinomialLimits, Collisions, Limits, SkewedLimits, check_level
from deniable.decoders.spread import variance_along
from deniable.design import BlockDesign, OpenDesign
from deniable.theory.covariance import inversion_cumulants
from deniable.theory.score_law import ScoreLaw

if TYPE_CHECKING:
    from deniable.decoders.estimate import Estimate

__all__ = ["Mass", "mass_of", "sum_along", "symbol_limits"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mass:
    """One number with its error: a sum of symbols, or what no candidate explains.

    `value` is under the constraint, like `Estimate.probabilities`; `raw` is unbiased, and the error and the intervals
    belong to it.
    """

    value: float
    raw: float
    standard_error: float
    limits: Limits

    @property
    def exact(self) -> bool:
        """Whether intervals cover at least their level, always; otherwise they are approximate."""
        return self.limits.exact

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval around `raw`; infinite where the reports do not determine it."""
        low, high = self.limits.between(1 - check_level(level))[0].tolist()
        return low, high

    def __repr__(self) -> str:
        return f"<Mass {self.value:.3f} ± {self.standard_error:.3f}>"


def symbol_limits(estimate: "Estimate") -> Limits:
    """The limits of every symbol."""
    blocks, tally = estimate._blocks, estimate.tally
    mechanism = tally.survey.mechanism
    miss, r = float(mechanism.miss), float(mechanism.hit - mechanism.miss)
    if blocks is not None and blocks.blocks == 1:
        hits = np.rint(blocks.adjoint(tally.counts.astype(np.float64)))
        base = blocks.occupied * miss + blocks.shared * r
        return BinomialLimits(hits, tally.n, base, r * blocks.distance)
    variances = estimate.standard_errors**2
    if blocks is not None:
        third, step = inversion_cumulants(blocks, mechanism, tally.counts / tally.n, tally.n)
        return SkewedLimits(estimate.raw, variances, third, np.full(len(third), step))
    law, system = estimate._law, estimate._system
    size = len(estimate.symbols)
    # The weights of least squares at a symbol's own cells add up to one: they are taken to be equal.
    m, inverse = law.columns, np.broadcast_to(law.inverse[:, None], law.columns.shape)
    bent, once, places = system.adjoint(np.stack([m * (1 - m) * (1 - 2 * m) * inverse**2, inverse, np.ones(m.shape)]))[
        :, :size
    ]
    weight = 1 / (np.maximum(places, 1) * r)
    step = once / np.maximum(places, 1) * weight
    return SkewedLimits(estimate.raw, variances, bent * weight**3, step, _collisions(estimate))


def _collisions(estimate: "Estimate", symbols: int = 1) -> Collisions | None:
    """What one unlisted answer does to some symbols if it alone makes the noise that the fit shows."""
    system = estimate._system
    q = estimate._spread.unlisted if isinstance(system, OpenDesign) else 0.0
    if not isinstance(system, OpenDesign) or q <= 0:
        return None
    places = system.cohorts * system.drawn
    jump = float(np.sqrt(q)) / (places * (1 - system.level))
    return Collisions(jump, places * symbols, system.level)


def mass_of(estimate: "Estimate", inside: Floats, value: float) -> Mass:
    """The mass of a combination of unknowns; `inside` has one weight an unknown."""
    blocks, tally = estimate._blocks, estimate.tally
    mechanism = tally.survey.mechanism
    miss, r = float(mechanism.miss), float(mechanism.hit - mechanism.miss)
    raw = float(inside @ estimate._unknowns)
    if blocks is not None and mechanism.one_column and blocks.occupied == 1:
        # Every symbol has one cell and every report names one: the reports in a set of cells are binomial.
        places = np.flatnonzero(inside)
        hits = float(blocks.adjoint(tally.counts.astype(np.float64))[places].sum())
        limits: Limits = BinomialLimits(np.array([hits]), tally.n, len(places) * miss, r)
        rate = min(max(hits / tally.n, 0.5 / (tally.n + 1)), 1 - 0.5 / (tally.n + 1))
        return Mass(value, raw, float(np.sqrt(rate * (1 - rate) / tally.n)) / r, limits)
    variance, weights = sum_along(estimate, inside)
    law, met = estimate._law, None
    if blocks is None:
        met = _collisions(estimate, int(inside[: len(estimate.symbols)].sum()))
    third, step = _bend(weights / r, law.columns, law.inverse, one_column=mechanism.one_column)
    limits = SkewedLimits(np.array([raw]), np.array([variance]), np.array([third]), np.array([step]), met)
    return Mass(value, raw, float(np.sqrt(variance)), limits)


def sum_along(estimate: "Estimate", inside: Floats) -> tuple[float, Floats]:
    """The variance of a combination of unknowns, infinite where it is not determined, and its weights in u."""
    blocks, tally, system = estimate._blocks, estimate.tally, estimate._system
    if blocks is not None:
        weights, columns = _inverting(blocks, inside), tally.counts / tally.n
        law = ScoreLaw.of(blocks, tally.survey.mechanism, inside, np.array([1 / tally.n]), observed=columns)
        return max(law.variance(weights), 0.0), weights
    if not (system.is_factored and system.factor.rank == system.symbols):
        # What is determined is its own projection on the range of H'; nothing else may be solved for.
        projected = normal_solve(system, system.adjoint(system.forward(inside))[None])[0]
        if np.abs(projected - inside).max() > 1e-6:
            return np.inf, np.zeros((system.cohorts, system.cells))
    weights = system.forward(normal_solve(system, inside[None])[0])
    scores = estimate._law.scores(tally, system, per_cohort=estimate.per_cohort)
    unlisted = estimate._spread.unlisted if isinstance(system, OpenDesign) else 0.0
    return variance_along(scores, weights, unlisted), weights


def _inverting(blocks: BlockDesign, inside: Floats) -> Floats:
    """The weights w with w . u = a . invert(u), shape (1, b)."""
    spread = blocks.forward(inside)
    if not blocks.shared:
        return spread / blocks.occupied
    each = np.bincount(blocks.keys % blocks.blocks, weights=inside, minlength=blocks.blocks)
    whole = np.repeat(each, spread.shape[1] // blocks.blocks)
    return np.asarray((spread - blocks.shared / blocks.occupied * whole) / blocks.distance)


def _bend(weights: Floats, m: Floats, inverse: Floats, *, one_column: bool) -> tuple[float, float]:
    """(third cumulant, largest move by one report to that side) of sum w f, where f are the columns' frequencies."""
    if one_column:
        first, second = (weights * m).sum(axis=1), (weights**2 * m).sum(axis=1)
        third = (weights**3 * m).sum(axis=1) - 3 * first * second + 2 * first**3
    else:  # bits of a report are taken to be independent
        third = (weights**3 * m * (1 - m) * (1 - 2 * m)).sum(axis=1)
    total = float((third * inverse**2).sum())
    if not one_column:
        move = np.abs(weights).max(axis=1)
    else:
        move = weights.max(axis=1) - first if total >= 0 else first - weights.min(axis=1)
    return total, float((move * inverse).max())
