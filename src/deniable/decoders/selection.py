"""Confidence limits after selection.

A candidate is kept if its estimate exceeds a threshold, so estimates of kept candidates are too large on average, most
of all just above the threshold (the winner's curse). Intervals that ignore this do not cover. These are based on the
distribution of the estimate *given* that it exceeds the threshold (Zhong and Prentice 2008; Lee and others 2016). Far
above the threshold both agree.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.limits import Limits, SkewedLimits

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JudgedLimits(Limits):
    """Limits from an estimate and its standard errors, and p-values from a separate test (`drawn`).

    >>> one, none = np.ones(2), np.zeros(2)
    >>> plain = SkewedLimits(np.array([2.0, 6.0]), one, none, none)
    >>> JudgedLimits(plain, p_values=np.array([0.05, 1e-7]), needed=np.array([5.0, 5.5])).above_zero()
    array([5.e-02, 1.e-07])
    """

    plain: SkewedLimits
    p_values: Floats
    needed: Floats  # the smallest estimate that is kept; infinite where the reports do not determine the symbol

    def between(self, alpha: float) -> Floats:
        return self.plain.between(alpha)

    def above_zero(self) -> Floats:
        return self.p_values


@dataclass(frozen=True, slots=True)
class SelectedLimits(Limits):
    """Limits given that an estimate was kept, because it exceeds `needed`.

    The lower limit is the share for which an estimate this large, given that it was kept, has probability alpha / 2;
    tails are normal, with the width of the plain limit. It is at least zero. The upper limit is the plain one, which is
    conservative under selection.

    >>> one, none = np.ones(3), np.zeros(3)
    >>> plain = SkewedLimits(np.array([5.4, 7.0, 12.0]), one, none, none)
    >>> SelectedLimits(JudgedLimits(plain, p_values=none, needed=5.33 * one)).between(0.05).round(2)
    array([[ 0.  ,  7.36],
           [ 4.36,  8.96],
           [10.04, 13.96]])
    """

    plain: JudgedLimits

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
    """x - m in standard deviations, where m solves P(X > x) / P(X > c) = alpha / 2 for X normal with mean m.

    `beyond` is x - c, the distance of an estimate from its threshold. Far beyond the threshold this is the plain
    normal quantile; at the threshold it is infinite.
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
    """Limits of very many candidates: those given for kept candidates, [0, upper limit] for excluded ones.

    The upper limit of an excluded candidate is conditional on its estimate being below `reach` of its standard errors,
    and at most the simultaneous limit of all S candidates at level 1 - `most`.
    """

    model: Limits
    kept: npt.NDArray[np.bool_]  # which of the model
    places: npt.NDArray[np.intp]  # those of the kept
    centre: Floats
    errors: Floats
    reach: Floats | float = np.inf  # standard errors from which a candidate is not excluded; infinite: unconditional
    most: float = 0.05

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
