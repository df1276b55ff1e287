"""Limits of estimates that were looked at because they are large.

A candidate is kept if its estimate is beyond a threshold, so among kept ones the estimates are too large on average,
most of all just beyond it: intervals that ignore this miss far too often from above (the winner's curse). What holds is
the law of the estimate *given* that it is beyond the threshold (Zhong and Prentice 2008; Lee and others 2016).
Far beyond it the two agree.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.limits import Limits, SkewedLimits

__all__ = ["FarLimits", "JudgedLimits", "SelectedLimits", "StackedLimits"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FarLimits(Limits):
    """The same limits, with p-values that are right far out: one candidate in a million is judged at one in 10**8.

    Out there a normal law will not do. Reports are counts, whose tail is a gamma law's with the estimate's variance
    and third cumulant. And an unlisted answer meets a candidate in a few cohorts or in many: with 256 cohorts of 64
    cells in 4 on average, and in 19 for one in 2 * 10**7, which is 7.5 standard deviations. So the tail is a mixture
    over these meetings, as if one answer made all of the noise that the fit shows.

    >>> one, none = np.ones(2), np.zeros(2)
    >>> far = FarLimits(SkewedLimits(np.array([1.645, 5.0]), one, none, none))
    >>> far.above_zero().round(9)
    array([4.9984906e-02, 2.8700000e-07])
    >>> far.needed(0.05).round(3)
    array([1.645, 1.645])
    """

    plain: SkewedLimits

    @property
    def exact(self) -> bool:
        return False

    def between(self, alpha: float) -> Floats:
        return self.plain.between(alpha)

    def above_zero(self) -> Floats:
        plain = self.plain
        usable = np.isfinite(plain.variance) & (plain.variance > 0) & (plain.centre > 0)
        found = np.ones(len(plain.centre))
        found[usable] = self._tail(plain.centre[usable], usable)
        return found

    def needed(self, chance: float) -> Floats:
        """The estimate whose p-value is `chance`, symbol by symbol; infinite where the reports determine nothing."""
        plain = self.plain
        usable = np.isfinite(plain.variance) & (plain.variance > 0)
        low = np.zeros(int(usable.sum()))
        high = 100 * np.sqrt(plain.variance[usable])
        for _ in range(40):
            middle = (low + high) / 2
            common = self._tail(middle, usable) > chance
            low, high = np.where(common, middle, low), np.where(common, high, middle)
        found = np.full(len(plain.centre), np.inf)
        found[usable] = high
        return found

    def _tail(self, x: Floats, some: npt.NDArray[np.bool_]) -> Floats:
        """P(X > x) for some of the symbols, if their shares are zero."""
        variance, third, met = self.plain.variance[some], np.maximum(self.plain.third[some], 0.0), self.plain.collisions
        if met is None:
            return _gamma_tail(x, variance, third)
        from scipy.special import bdtr

        mean, spread = met.trials * met.chance, met.trials * met.chance * (1 - met.chance)
        # The meetings are in the variance already; the reports have the rest of it.
        own = np.maximum(variance - met.jump**2 * spread, 0.1 * variance)
        most = min(met.trials, int(mean + 12 * np.sqrt(spread) + 40))
        below = bdtr(np.arange(most + 1.0), met.trials, met.chance)
        found = np.full(len(x), 1 - below[-1])
        for meetings, weight in enumerate(np.diff(below, prepend=0.0)):
            if weight > 1e-14:
                found += weight * _gamma_tail(x - met.jump * (meetings - mean), own, third)
        return found


def _gamma_tail(x: Floats, variance: Floats, third: Floats) -> Floats:
    """P(X > x) for the centred gamma law with these cumulants, third >= 0; the normal law where it is nearly that."""
    from scipy.special import gammaincc, ndtr

    with np.errstate(divide="ignore"):
        shape = variance**3 / third**2
    bent = shape < 1e6
    found = ndtr(-x / np.sqrt(variance))
    shape, scale = shape[bent], third[bent] / variance[bent]
    found[bent] = gammaincc(shape, np.maximum(shape + x[bent] / scale, 0.0))
    return np.asarray(found)


@dataclass(frozen=True, slots=True)
class JudgedLimits(Limits):
    """Limits from an estimate and its errors, and p-values from a statistic of its own, in standard deviations.

    >>> one, none = np.ones(2), np.zeros(2)
    >>> judged = JudgedLimits(SkewedLimits(np.array([2.0, 6.0]), one, none, none), np.array([1.645, 5.0]), none)
    >>> judged.above_zero().round(9), judged.needed(0.05).round(3)
    (array([4.9984906e-02, 2.8700000e-07]), array([2.   , 1.974]))
    """

    plain: SkewedLimits
    z: Floats
    third: Floats  # third cumulant of the statistic, not below zero
    looks: int = 1  # statistics that the one of each candidate was chosen from

    @property
    def exact(self) -> bool:
        return False

    def between(self, alpha: float) -> Floats:
        return self.plain.between(alpha)

    def above_zero(self) -> Floats:
        tail = self.looks * _gamma_tail(self.z, np.ones(len(self.z)), self.third)
        return np.where(self.z > 0, np.minimum(tail, 1.0), 1.0)

    def needed(self, chance: float) -> Floats:
        """The estimate whose p-value would be `chance`, if the statistic grows like the estimate."""
        low, high = np.zeros(len(self.z)), np.full(len(self.z), 100.0)
        for _ in range(40):
            middle = (low + high) / 2
            common = self.looks * _gamma_tail(middle, np.ones(len(self.z)), self.third) > chance
            low, high = np.where(common, middle, low), np.where(common, high, middle)
        return np.where(self.z > 0, self.plain.centre * high / np.where(self.z > 0, self.z, 1.0), np.inf)


@dataclass(frozen=True, slots=True)
class SelectedLimits(Limits):
    """Limits given that an estimate was kept, which it was if its p-value was at most `chance`.

    The lower limit is the smallest share from which so large an estimate, given that it was kept, comes with
    probability alpha / 2: with normal tails as wide as those of the plain limit, and never below zero. The upper limit
    is the plain one, which selection only makes safer.

    >>> one, none = np.ones(3), np.zeros(3)
    >>> plain = FarLimits(SkewedLimits(np.array([5.4, 7.0, 12.0]), one, none, none))
    >>> SelectedLimits(plain, chance=5e-8).between(0.05).round(2)
    array([[ 0.  ,  7.36],
           [ 4.36,  8.96],
           [10.04, 13.96]])
    """

    plain: FarLimits | JudgedLimits
    chance: float

    @property
    def exact(self) -> bool:
        return False

    def between(self, alpha: float) -> Floats:
        from scipy.special import ndtri

        centre = self.plain.plain.centre
        low, high = self.plain.between(alpha).T
        known = np.isfinite(low)
        sigma = np.maximum(np.where(known, centre - low, 1.0) / -ndtri(alpha / 2), 1e-300)
        beyond = np.where(known, centre - self.plain.needed(self.chance), 0.0) / sigma
        shift = centre / sigma - _moved(np.maximum(beyond, 0.0), alpha)
        found = np.maximum(np.minimum(shift * sigma, low), 0.0)
        return np.stack([np.where(known, found, -np.inf), high], axis=-1)

    def above_zero(self) -> Floats:
        return self.plain.above_zero()


def _moved(beyond: Floats, alpha: float) -> Floats:
    """x - m in standard deviations, if x, so far beyond the threshold c, exceeds it by that much once in 2 / alpha.

    That is m with P(X > x) / P(X > c) = alpha / 2 for X normal around m: the plain reach far beyond c, infinite at it.
    """
    from scipy.special import log_ndtr

    low, high = np.zeros_like(beyond), np.full_like(beyond, 1e6)
    for _ in range(80):
        middle = (low + high) / 2
        far = log_ndtr(-middle) - log_ndtr(beyond - middle) < np.log(alpha / 2)
        low, high = np.where(far, low, middle), np.where(far, middle, high)
    return np.asarray(high)


@dataclass(frozen=True, slots=True)
class StackedLimits(Limits):
    """Limits of very many candidates: of the kept ones those that are given, of the others an upper limit.

    An excluded candidate is evidence of nothing. Its share is between zero and what it could have given that its
    estimate stayed below `reach` standard errors (its own), or at most what all S together could have at level `most`.
    """

    model: Limits
    kept: npt.NDArray[np.bool_]  # which of the model
    places: npt.NDArray[np.intp]  # those of the kept
    centre: Floats
    errors: Floats
    reach: Floats | float = np.inf  # standard errors beyond which it would be no longer here; unconditional without
    most: float = 0.05

    @property
    def exact(self) -> bool:
        return False

    def between(self, alpha: float) -> Floats:
        from scipy.special import ndtri

        plain = -float(ndtri(alpha / 2))
        scores = np.maximum(self.centre, 0.0) / np.maximum(self.errors, 1e-300)
        up = np.full(len(scores), plain)
        if np.isfinite(self.reach).all():
            grid = np.linspace(0.0, float(np.max(self.reach)), 512)
            moved = np.maximum(_moved(grid, alpha), plain)
            most = max(-float(ndtri(self.most / len(scores) / 2)), plain)
            up = np.minimum(np.interp(self.reach - scores, grid, moved), most)
        found = np.zeros((len(self.centre), 2))
        found[:, 1] = (scores + up) * self.errors
        found[self.places] = self.model.between(alpha)[self.kept]
        return found

    def above_zero(self) -> Floats:
        found = np.ones(len(self.centre))
        found[self.places] = self.model.above_zero()[self.kept]
        return found
