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

__all__ = ["JudgedLimits", "SelectedLimits", "StackedLimits"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JudgedLimits(Limits):
    """Limits from an estimate and its errors, and p-values from a test of its own (`drawn`).

    >>> one, none = np.ones(2), np.zeros(2)
    >>> plain = SkewedLimits(np.array([2.0, 6.0]), one, none, none)
    >>> JudgedLimits(plain, p_values=np.array([0.05, 1e-7]), needed=np.array([5.0, 5.5])).above_zero()
    array([5.e-02, 1.e-07])
    """

    plain: SkewedLimits
    p_values: Floats
    needed: Floats  # the estimate that is kept from, symbol by symbol; infinite where the reports determine nothing

    @property
    def exact(self) -> bool:
        return False

    def between(self, alpha: float) -> Floats:
        return self.plain.between(alpha)

    def above_zero(self) -> Floats:
        return self.p_values


@dataclass(frozen=True, slots=True)
class SelectedLimits(Limits):
    """Limits given that an estimate was kept, which it was from `needed` on.

    The lower limit is the smallest share from which so large an estimate, given that it was kept, comes with
    probability alpha / 2: with normal tails as wide as those of the plain limit, and never below zero. The upper limit
    is the plain one, which selection only makes safer.

    >>> one, none = np.ones(3), np.zeros(3)
    >>> plain = SkewedLimits(np.array([5.4, 7.0, 12.0]), one, none, none)
    >>> SelectedLimits(JudgedLimits(plain, p_values=none, needed=5.33 * one)).between(0.05).round(2)
    array([[ 0.  ,  7.36],
           [ 4.36,  8.96],
           [10.04, 13.96]])
    """

    plain: JudgedLimits

    @property
    def exact(self) -> bool:
        return False

    def between(self, alpha: float) -> Floats:
        from scipy.special import ndtri

        centre = self.plain.plain.centre
        low, high = self.plain.between(alpha).T
        known = np.isfinite(low)
        sigma = np.maximum(np.where(known, centre - low, 1.0) / -ndtri(alpha / 2), 1e-300)
        beyond = np.where(known, centre - self.plain.needed, 0.0) / sigma
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
