"""Confidence limits of symbols and of sums of them: exact where a count is binomial, else from cumulants."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deniable.decoders.drawn import DrawnReach
from deniable.decoders.fit import LinearFit
from deniable.decoders.least_squares import normal_solve
from deniable.decoders.limits import BinomialLimits, Collisions, DrawnCollisions, Limits, SkewedLimits, check_level
from deniable.decoders.spread import Misfit, variance_along
from deniable.matrices import BlockDesign, ChannelDesign, OpenDesign
from deniable.survey import Symbol
from deniable.theory import ScoreLaw, inversion_cumulants

Floats = npt.NDArray[np.float64]

_FEW_COHORTS = 6  # cohorts up to which cells differ so much in weight that each symbol has its own collisions
_MANY_COHORTS = 1024  # cohorts from which the collisions of a sum are so many that they are nearly normal
_ROUNDING = 1e-9  # standard error of a mass, at least: the rounding error of solving for it


@dataclass(frozen=True, slots=True)
class Mass:
    """A sum of symbols, or the unallocated mass, with its standard error and intervals.

    Parameters
    ----------
    value
        Under the constraint, like `Estimate.probabilities`.
    raw
        The unbiased estimate, which the error and the intervals belong to.
    standard_error
        Of `raw`; infinite where the reports do not determine it.
    limits
        What intervals are computed from.

    Examples
    --------
    >>> import deniable as dn
    >>> dn.decode(dn.Tally(dn.krr(symbols=3, epsilon=2), [[700, 200, 100]])).total([1, 2])
    <Mass 0.133 (unbiased 0.128 ± 0.021)>
    """

    value: float
    raw: float
    standard_error: float
    limits: Limits

    @property
    def exact(self) -> bool:
        """Whether intervals cover at least their level; otherwise they are approximate."""
        return self.limits.exact

    @property
    def is_determined(self) -> bool:
        """Whether the reports determine it; if not, `value` is the decoder's choice among many that fit.

        With more candidates than equations neither the candidates nor the unallocated mass are determined.
        """
        return math.isfinite(self.standard_error)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval around `raw`; infinite where the reports do not determine it.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.

        Returns
        -------
        tuple of float
            The lower and the upper limit.
        """
        low, high = self.limits.between(1 - check_level(level))[0].tolist()
        return low, high

    def __repr__(self) -> str:
        """The standard error belongs to the unbiased estimate, which is shown where it differs from the value."""
        if not self.is_determined:
            return f"<Mass {self.value:.3f} (not determined by the reports)>"
        if abs(self.value - self.raw) < 5e-4:
            return f"<Mass {self.value:.3f} ± {self.standard_error:.3f}>"
        return f"<Mass {self.value:.3f} (unbiased {self.raw:.3f} ± {self.standard_error:.3f})>"


@dataclass(frozen=True, slots=True)
class Group:
    """Candidates that share every cell, so that only their sum can be estimated.

    Parameters
    ----------
    symbols
        The candidates.
    probability
        The unbiased estimate of their sum.
    standard_error
        Of that estimate.
    """

    symbols: tuple[Symbol, ...]
    probability: float
    standard_error: float


def symbol_limits(fit: LinearFit) -> Limits:
    """The limits of every symbol."""
    blocks, tally = fit.blocks, fit.tally
    mechanism = tally.survey.mechanism
    miss, r = mechanism.affine
    if blocks is not None and blocks.blocks == 1:
        hits = np.rint(blocks.adjoint(tally.counts.astype(np.float64)))
        base = blocks.occupied * miss + blocks.shared * r
        return BinomialLimits(hits, tally.n, base, r * blocks.distance, fit.effects)
    if blocks is not None:
        third, step = inversion_cumulants(blocks, mechanism, tally.counts / tally.n, tally.n)
        return SkewedLimits(fit.raw, fit.standard_errors**2, third * fit.effects**2, step * fit.effects)
    return replace(own_limits(fit), collisions=symbol_collisions(fit, fit.spread.misfit))


def own_limits(fit: LinearFit) -> SkewedLimits:
    """The limits of every symbol by the noise of the reports alone, where a system was solved."""
    law, system, spread, size = fit.law, fit.system, fit.spread, fit.size
    mechanism = fit.tally.survey.mechanism
    _, r = mechanism.affine
    variances = np.where(spread.estimable, np.maximum(spread.own, 0.0), np.inf)[:size]
    if isinstance(system, ChannelDesign):
        weights = system.factor.solve(system.rows)
        skews = np.array([_skewness(row[None], law.columns, law.inverse, one_column=True) for row in weights])
        return SkewedLimits(fit.raw, variances, skews[:, 0], skews[:, 1])
    # The weights of least squares at a symbol's own cells add up to one; equal ones are a good approximation.
    m, inverse = law.columns, np.broadcast_to(law.inverse[:, None], law.columns.shape)
    bent, once, places = system.adjoint(np.stack([m * (1 - m) * (1 - 2 * m) * inverse**2, inverse, np.ones(m.shape)]))[
        :, :size
    ]
    weight = 1 / (np.maximum(places, 1) * r)
    step = once / np.maximum(places, 1) * weight
    return SkewedLimits(fit.raw, variances, bent * weight**3, step)


def symbol_collisions(fit: LinearFit, misfit: Misfit | None) -> Collisions | None:
    """How unlisted answers shift each symbol; None where there can be none, or there is no symbol."""
    system, spread, size = fit.system, fit.spread, fit.size
    if misfit is None or size == 0 or not isinstance(system, OpenDesign):
        return None
    free, places = max(misfit.free, 0.0) + system.level - system.both, system.cohorts * system.drawn
    known = misfit.unlisted, spread.inverse[:size], spread.meeting[:size], free, places, system.level
    if system.cohorts > _FEW_COHORTS or not fit.is_kept:
        return Collisions(*known)
    inverse = system.factor.solve(np.eye(size + 1))
    weights = np.stack([system.forward(np.ascontiguousarray(row)) for row in inverse[:size]])
    return DrawnCollisions(*known, DrawnReach.of(weights, system.drawn))


def mass_of(fit: LinearFit, inside: Floats, value: float) -> Mass:
    """The mass of a linear combination of unknowns; `inside` has one weight per unknown."""
    blocks, tally = fit.blocks, fit.tally
    mechanism = tally.survey.mechanism
    miss, r = mechanism.affine
    if blocks is not None and mechanism.one_column and blocks.occupied == 1:
        # Each symbol has one cell and each report names one: the number of reports in a set of cells is binomial.
        raw, places = float(inside @ fit.unknowns), np.flatnonzero(inside)
        hits = float(blocks.adjoint(tally.counts.astype(np.float64))[places].sum())
        effect = fit.effects[places].max(keepdims=True)
        limits: Limits = BinomialLimits(np.array([hits]), tally.n, len(places) * miss, r, effect)
        rate = min(max(hits / tally.n, 0.5 / (tally.n + 1)), 1 - 0.5 / (tally.n + 1))
        return Mass(value, raw, float(np.sqrt(effect[0] * rate * (1 - rate) / tally.n)) / r, limits)
    found = sum_limits(fit, inside, lambda: None if blocks else fit.spread.misfit)
    return Mass(value, float(found.centre[0]), float(found.errors[0]), found)


def sum_limits(fit: LinearFit, inside: Floats, misfit_of: Callable[[], Misfit | None]) -> SkewedLimits:
    """The limits of a linear combination of unknowns, including the collisions with unlisted answers.

    `misfit_of` needs all variances: it is not called where the reports do not determine the combination.
    """
    mechanism, law, system = fit.tally.survey.mechanism, fit.law, fit.system
    variance, meeting, weights = _sum_along(fit, inside)
    # The mass of all unknowns is one without error, except for rounding.
    variance = max(variance, _ROUNDING**2)
    _, r = mechanism.affine
    third, step = _skewness(weights / r, law.columns, law.inverse, one_column=mechanism.one_column)
    raw = np.array([float(inside @ fit.unknowns)])
    own = SkewedLimits(raw, np.array([variance]), np.array([third]), np.array([step]))
    if not isinstance(system, OpenDesign) or not np.isfinite(variance):
        return own
    misfit = misfit_of()
    if misfit is None:
        return own
    free = max(misfit.free, 0.0) + system.level - system.both
    known = misfit.unlisted, np.array([float((weights**2).sum())]), np.array([meeting]), free
    if system.cohorts > _MANY_COHORTS:
        return replace(own, collisions=Collisions(*known, 0, 0.0))
    # An unlisted answer that has all cells of a candidate is counted as that candidate.
    places = system.cohorts * system.drawn
    alike, rest, candidates = system.level**places, float(inside[-1]), inside[:-1]
    hidden = alike * float((candidates > rest).sum()), alike * float((candidates < rest).sum())
    drawn = DrawnReach.of(weights[None], system.drawn)
    return replace(own, collisions=DrawnCollisions(*known, places, system.level, drawn, hidden))


def _sum_along(fit: LinearFit, inside: Floats) -> tuple[float, float, Floats]:
    """The variance of a linear combination, what unlisted answers with Q = 1 add to it, and its weights on u.

    The variance is infinite where the reports do not determine the combination.
    """
    blocks, tally, system = fit.blocks, fit.tally, fit.system
    if blocks is not None:
        weights, columns = _inverting(blocks, inside), tally.counts / tally.n
        effect = float(fit.effects[np.flatnonzero(inside)].max(initial=1.0))
        law = ScoreLaw.of(blocks, tally.survey.mechanism, inside, np.array([effect / tally.n]), observed=columns)
        return max(law.variance(weights), 0.0), 0.0, weights
    if not (system.is_factored and system.factor.rank == system.symbols):
        # A combination is determined if it lies in the range of H', so that projecting on that changes nothing.
        projected = normal_solve(system, system.adjoint(system.forward(inside))[None])[0]
        if np.abs(projected - inside).max() > 1e-6:
            return np.inf, 0.0, np.zeros((system.cohorts, system.cells))
    weights = system.forward(normal_solve(system, inside[None])[0])
    scores = fit.law.scores(tally, system, per_cohort=fit.per_cohort)
    return *variance_along(scores, weights), weights


def _inverting(blocks: BlockDesign, inside: Floats) -> Floats:
    """The weights w with w . u = a . invert(u), shape (1, b)."""
    spread = blocks.forward(inside)
    if not blocks.shared:
        return spread / blocks.occupied
    each = np.bincount(blocks.keys % blocks.blocks, weights=inside, minlength=blocks.blocks)
    whole = np.repeat(each, spread.shape[1] // blocks.blocks)
    return np.asarray((spread - blocks.shared / blocks.occupied * whole) / blocks.distance)


def _skewness(weights: Floats, m: Floats, inverse: Floats, *, one_column: bool) -> tuple[float, float]:
    """(third cumulant, largest move by one report to that side) of sum w f, with f the column frequencies."""
    if one_column:
        first, second = (weights * m).sum(axis=1), (weights**2 * m).sum(axis=1)
        third = (weights**3 * m).sum(axis=1) - 3 * first * second + 2 * first**3
    else:  # as if the bits of a report were independent
        third = (weights**3 * m * (1 - m) * (1 - 2 * m)).sum(axis=1)
    total = float((third * inverse**2).sum())
    if not one_column:
        move = np.abs(weights).max(axis=1)
    else:
        move = weights.max(axis=1) - first if total >= 0 else first - weights.min(axis=1)
    return total, float((move * inverse).max())
