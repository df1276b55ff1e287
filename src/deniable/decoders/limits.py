"""Confidence limits from the distribution of an estimate: exactly binomial, or known by its first three cumulants.

All limits are those of the unbiased estimate. Intervals around a constrained one do not cover: a naive bootstrap after
projection covers 77 to 83 % at nominal 95 %.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable.decoders.beta_law import accuracy, quantile, tail
from deniable.decoders.drawn import DrawnReach
from deniable.errors import DecodeError

Floats = npt.NDArray[np.float64]

_WEIGHTS_DIFFER = 1.25  # largest weight of a cell in least squares over the average, for collisions
_ROUNDED = 16 * float(np.finfo(np.float64).eps)  # relative rounding error of a probability
_FARTHEST = 38.0  # standard deviations beyond which a tail is below the smallest double
_SEEN_LESS = 1.15  # correction of a collision's size: the fit attributes part of an unlisted answer to candidates
_NEARLY_NORMAL = 1e7  # shape of a gamma distribution from which its quantiles are normal to 3e-4 of their width


class Limits(ABC):
    """Confidence limits and tests of several masses."""

    exact: ClassVar[bool] = False  # whether intervals cover at least their level; otherwise they are approximate

    @abstractmethod
    def between(self, alpha: float) -> Floats:
        """Lower and upper limits, shape (S, 2); a mass is beyond each with probability alpha / 2."""

    @abstractmethod
    def above_zero(self) -> Floats:
        """One-sided p-values of the hypotheses that a mass is zero."""

    def nominal(self) -> "Limits":
        """Limits that cover their level on average, where these cover at least that; otherwise the same."""
        return self


@dataclass(frozen=True, slots=True)
class BinomialLimits(Limits):
    """Clopper-Pearson limits for counts that are exactly binomial, mapped: mass = (P(hit) - base) / slope.

    Limits and p-values are rounded outward by their numerical error (`beta_law`), so the claim holds at every n that a
    tally can have, up to 2**63 - 1. At 10**17 reports that is a millionth of an interval's width.

    Where devices repeat their noise (`effects` above one) counts vary as much as those of so many fewer reports do, and
    the limits are those of as many (Korn and Graubard, 1998): approximate.

    Claim: intervals cover with probability at least 1 - alpha, and p-values are at most u with probability at most u.
    Proof: tests/unit/decoders/test_limits.py::test_clopper_pearson_covers_by_enumeration
    Proof: tests/unit/decoders/test_limits.py::test_clopper_pearson_covers_at_any_n

    >>> BinomialLimits(np.array([5.0]), 10, base=0.0, slope=1.0).between(0.05).round(4)
    array([[0.1871, 0.8129]])
    """

    hits: Floats
    n: int
    base: float
    slope: float
    effects: Floats | None = None  # factors of the variances; None: ones

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self.effects is None or bool((self.effects == 1).all())

    def _effective(self) -> tuple[Floats, Floats]:
        """Hits and reports as independent reports have them; sums of counts beyond 2**53 are rounded, as n may be."""
        each = np.ones(len(self.hits)) if self.effects is None else self.effects
        return np.clip(self.hits, 0.0, float(self.n)) / each, float(self.n) / each

    def between(self, alpha: float) -> Floats:
        margin = accuracy(self.n)
        hits, n = self._effective()
        lower, spread = quantile(np.maximum(hits, 1), n - hits + 1, alpha / 2)
        low = np.where(hits > 0, lower - margin * spread, 0.0)
        upper, spread = quantile(hits + 1, np.maximum(n - hits, 1), alpha / 2, upper=True)
        high = np.where(hits < n, upper + margin * spread, 1.0)
        limits = np.stack([low, high], axis=-1)
        rounding = _ROUNDED * np.maximum(limits, self.base)
        return np.asarray((limits + rounding * (-1.0, 1.0) - self.base) / self.slope)

    def above_zero(self) -> Floats:
        # P(X >= hits) for X ~ Binomial(n, base). A normal score z that is off by d changes its tail by about z d of it.
        hits, n = self._effective()
        found = tail(np.maximum(hits, 1), n - hits + 1, self.base) * (1 + _FARTHEST * accuracy(self.n))
        return np.asarray(np.where(hits > 0, np.minimum(found, 1.0), 1.0))

    def nominal(self) -> Limits:
        return JeffreysLimits(self.hits, self.n, self.base, self.slope, self.effects)


@dataclass(frozen=True, slots=True)
class JeffreysLimits(BinomialLimits):
    """Quantiles of Beta(hits + 1/2, n - hits + 1/2): they cover what they say on average over shares.

    Limits that cover at least their level for every share cover more for most, and what is made from two of them, such
    as a difference, more still. With no hits the lower limit is that of none, with no misses the upper one that of all
    (Brown, Cai and DasGupta, 2001).

    >>> JeffreysLimits(np.array([5.0]), 10, base=0.0, slope=1.0).between(0.05).round(4)
    array([[0.2235, 0.7765]])
    """

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return False

    def between(self, alpha: float) -> Floats:
        hits, n = self._effective()
        low, _ = quantile(hits + 0.5, n - hits + 0.5, alpha / 2)
        high, _ = quantile(hits + 0.5, n - hits + 0.5, alpha / 2, upper=True)
        limits = np.stack([np.where(hits > 0, low, 0.0), np.where(hits < n, high, 1.0)], axis=-1)
        return np.asarray((limits - self.base) / self.slope)

    def nominal(self) -> Limits:
        return self


@dataclass(frozen=True)
class Collisions:
    """How far collisions, cells shared with heavy unlisted answers, shift the estimate of a candidate.

    The variance of an estimate includes collisions on average. But few collisions are far from normal: with 8 cohorts
    of 64 cells 12 % of the candidates have one and the others none, and those with one are 2.6 standard deviations too
    high. So the reach, the distance from estimate to limit, uses the binomial distribution of the number of collisions,
    as if one unlisted answer caused all excess residuals.

    Least squares attributes part of a colliding answer to the candidate, which makes residuals smaller. So whether the
    true share may be at a distance d from the estimate is judged by the residuals of a fit with that share: their
    squares grow by d**2 / `moved`, and Q by that over `free`. Where the reach would be infinite, nothing tells the
    candidate from an unlisted answer at that level: there are too few cohorts.
    """

    unlisted: float  # Q, the sum of the squares of the unlisted masses
    moved: Floats  # shift of an estimate by one collision with an answer of mass one: the diagonal of G^+
    variance: Floats  # of an estimate by collisions, for Q = 1
    free: float  # expected squares of the residuals by unlisted answers with Q = 1, with one unknown less
    trials: int  # cells of a candidate over all cohorts
    chance: float  # that an unlisted answer occupies a given cell

    def part(self, some: npt.NDArray[np.intp]) -> "Collisions":
        """Those of some symbols."""
        return replace(self, moved=self.moved[some], variance=self.variance[some])

    def squares(self, alpha: Floats) -> tuple[Floats, Floats]:
        """Squared reaches of collisions downwards and upwards, each exceeded with probability alpha / 2, for Q = 1."""
        from scipy.special import bdtrc, ndtri

        mean = self.trials * self.chance
        most = min(self.trials, int(mean + 40 * np.sqrt(mean) + 200))
        tails = bdtrc(np.arange(most + 1.0), self.trials, self.chance)  # P(meetings > x), falling
        meetings = most + 1 - np.searchsorted(tails[::-1], alpha / 2, side="right")
        normal = ndtri(alpha / 2) ** 2 * self.variance
        return np.maximum((_WEIGHTS_DIFFER * self.moved * (meetings - mean)) ** 2, normal), normal

    def widened(self, reach: Floats, squares: Floats) -> Floats:
        """A reach including collisions; infinite where nothing tells an unlisted answer from the candidate."""
        known = np.isfinite(squares)
        squares = np.where(known, squares, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = 1 - squares / (self.moved * self.free)
            return np.where(known & (left > 0), np.sqrt((reach**2 + self.unlisted * squares) / left), np.inf)


@dataclass(frozen=True)
class DrawnCollisions(Collisions):
    """The same with the weight of every cell in an estimate, and so the exact distribution of a collision's shift.

    `hidden` has the probabilities that an unlisted answer has all cells of a candidate that makes an estimate too
    large, or too small, so that residuals do not show it. Where one exceeds alpha / 2 there is no limit on that side.
    """

    drawn: DrawnReach
    hidden: tuple[float, float] = (0.0, 0.0)

    def part(self, some: npt.NDArray[np.intp]) -> "Collisions":
        return replace(self, moved=self.moved[some], variance=self.variance[some], drawn=self.drawn.part(some))

    def squares(self, alpha: Floats) -> tuple[Floats, Floats]:
        from scipy.special import ndtri

        normal = ndtri(alpha / 2) ** 2 * self.variance
        both = zip(self.drawn.reach(alpha / 2), self.hidden, strict=True)
        added, taken = (np.where(likely > alpha / 2, np.inf, _SEEN_LESS * reach) for reach, likely in both)
        return np.maximum(added**2, normal), np.maximum(taken**2, normal)


@dataclass(frozen=True, slots=True)
class SkewedLimits(Limits):
    """Normal limits, with a gamma limit on the side to which the estimate is skewed.

    The gamma distribution has the variance and the third cumulant of the estimate plus those of one more report, which
    moves the mass by `step`. For a Poisson count this is the exact limit (Garwood). Rare hits need it: for a symbol of
    mass 0 at epsilon 8 and 100 reports normal limits cover 6 % at nominal 95 %. With many reports both agree.

    Approximate; docs/results/intervals.md has the measured coverage.

    >>> SkewedLimits(np.array([0.2]), np.array([1e-4]), np.array([0.0]), np.array([0.0])).between(0.05).round(4)
    array([[0.1804, 0.2196]])
    """

    centre: Floats
    variance: Floats  # by the noise of the reports; infinite where the reports do not determine the mass
    third: Floats  # third cumulant
    step: Floats  # how far one report moves the mass
    collisions: Collisions | None = None

    @property
    def errors(self) -> Floats:
        """Standard errors, including collisions."""
        more = 0.0 if self.collisions is None else self.collisions.unlisted * self.collisions.variance
        return np.sqrt(self.variance + more)

    def between(self, alpha: float) -> Floats:
        each = np.full(len(self.centre), alpha)
        (below, above), plain = self._reach(each), self._own_reach(each)
        # A mass is in [0, 1], which limits it where too few cohorts do not.
        below = np.minimum(below, np.maximum(plain[0], self.centre))
        above = np.minimum(above, np.maximum(plain[1], 1 - self.centre))
        return np.stack([self.centre - below, self.centre + above], axis=-1)

    def _reach(self, alpha: Floats) -> tuple[Floats, Floats]:
        """The distances from the estimate to the lower and the upper limit."""
        below, above = self._own_reach(alpha)
        if self.collisions is None:
            return below, above
        down, up = self.collisions.squares(alpha)
        return self.collisions.widened(below, down), self.collisions.widened(above, up)

    def _own_reach(self, alpha: Floats) -> tuple[Floats, Floats]:
        """The same by the noise of the reports alone."""
        from scipy.special import ndtri

        known = np.isfinite(self.variance)
        variance = np.where(known, self.variance, 0.0)
        near = -ndtri(alpha / 2) * np.sqrt(variance)
        added = variance + self.step**2, np.abs(self.third) + self.step**3
        far = np.maximum(near, self.step + _gamma_reach(*added, alpha / 2))
        right = self.third >= 0
        below, above = np.where(right, near, far), np.where(right, far, near)
        return np.where(known, below, np.inf), np.where(known, above, np.inf)

    def above_zero(self) -> Floats:
        from scipy.special import ndtr

        # A mass that is not determined, and an estimate without any spread, are evidence of nothing.
        usable = np.isfinite(self.variance) & (self.variance > 0) & (self.centre > 0)
        found = np.where(usable, ndtr(-self.centre / np.sqrt(np.where(usable, self.variance, 1.0))), 1.0)
        bent = np.flatnonzero(usable & ((self.third < 0) | (self.collisions is not None)))
        if not len(bent):
            return np.asarray(found)
        # Elsewhere: the level at which the lower limit is zero, by bisection of its logarithm.
        met = None if self.collisions is None else self.collisions.part(bent)
        own = self.centre[bent], self.variance[bent], self.third[bent], self.step[bent]
        part = type(self)(*own, met)
        low, high = np.full(len(bent), -690.0), np.full(len(bent), np.log(2.0))
        for _ in range(30):
            middle = (low + high) / 2
            outside = part._reach(np.exp(middle))[0] < part.centre
            high, low = np.where(outside, middle, high), np.where(outside, low, middle)
        found[bent] = np.exp(high) / 2
        return np.asarray(found)

    def nominal(self) -> Limits:
        return AverageSkewedLimits(self.centre, self.variance, self.third, self.step, self.collisions)


@dataclass(frozen=True, slots=True)
class AverageSkewedLimits(SkewedLimits):
    """Both quantiles of the gamma distribution with half a report more: limits that cover their level on average.

    For a Poisson count these are Jeffreys'. The limit on the side to which the estimate is not skewed is nearer than
    the normal one.

    >>> one = np.array([1.0])
    >>> AverageSkewedLimits(20 * one, 20 * one, 20 * one, one).between(0.05).round(2)  # of Gamma(20.5)
    array([[12.61, 30.28]])
    """

    def _own_reach(self, alpha: Floats) -> tuple[Floats, Floats]:
        known = np.isfinite(self.variance)
        variance = np.where(known, self.variance, 0.0) + self.step**2 / 2
        third = np.abs(self.third) + self.step**3 / 2
        near = np.maximum(_gamma_reach(variance, third, alpha / 2, upper=False) - self.step / 2, 0.0)
        far = self.step / 2 + _gamma_reach(variance, third, alpha / 2)
        right = self.third >= 0
        below, above = np.where(right, near, far), np.where(right, far, near)
        return np.where(known, below, np.inf), np.where(known, above, np.inf)

    def nominal(self) -> Limits:
        return self


def _gamma_reach(variance: Floats, third: Floats, tail: Floats, *, upper: bool = True) -> Floats:
    """How far a quantile of the gamma distribution with these cumulants, third >= 0, is from its mean."""
    from scipy.special import gammainccinv, gammaincinv, ndtri

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shape, scale = variance**3 / third**2, third / variance
    normal = ~(shape < _NEARLY_NORMAL) | (variance <= 0)
    shape = np.where(normal, 1.0, shape)
    reach = gammainccinv(shape, tail) - shape if upper else shape - gammaincinv(shape, tail)
    return np.asarray(np.where(normal, -ndtri(tail) * np.sqrt(variance), np.where(normal, 0.0, scale) * reach))


def holm(p_values: Floats, level: float) -> npt.NDArray[np.bool_]:
    """Which hypotheses Holm's step-down test rejects, with family-wise error at most 1 - level.

    The smallest p-value is compared with (1 - level) / S, the next with (1 - level) / (S - 1), until one is larger.
    Valid under any dependence between the tests.

    >>> holm(np.array([0.04, 0.001, 0.02]), 0.95)
    array([ True,  True,  True])
    >>> holm(np.array([0.04, 0.001, 0.03]), 0.95)
    array([False,  True, False])
    """
    order = np.argsort(p_values, kind="stable")
    falls = p_values[order] <= (1 - level) / np.arange(len(p_values), 0, -1)
    count = len(falls) if falls.all() else int(np.argmin(falls))
    found = np.zeros(len(p_values), bool)
    found[order[:count]] = True
    return found


def check_level(level: object) -> float:
    """`level` if it is a number strictly between 0 and 1, else a sentence that names it."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:
        raise DecodeError(f"level must be between 0 and 1, got {level}")
    return float(level)
