"""Quantiles by test inversion: every number that a test of P(answer <= x) = q does not exclude.

From a square wave a distribution function is known badly at a point, and well on average over a few bins. So the test
is about R, its average over `blur` bins on each side, a number that depends on the survey and on n alone. What R says
of the function itself depends on the population:

- R(x) lies between P(answer <= x - blur) and P(answer <= x + blur), for every population. An interval that is wider by
  `blur` bins on each side holds always; where nothing jumps it covers nearly always.
- Where the density is smooth over so few bins, R is the function itself but for a small part of its standard error, and
  nothing is added. Then the blur may be larger, too.

Which it is, the decoder's answer says, whose density is smooth until the reports say otherwise: the blur is the largest
of a few at which smoothing moves its distribution function by at most a quarter of a standard error, wherever that is.
An answer that is rough somewhere may hide that it is rough elsewhere, so then the blur is the one with the shortest
interval that holds for every population.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.decoders.limits import SkewedLimits
from deniable.decoders.quantity import Ordered, Quantity, ordered_size
from deniable.decoders.quantity_limits import even_law, limits_of, weights_of_sums
from deniable.errors import DecodeError

Floats = npt.NDArray[np.float64]

_NORMAL = 1.96  # standard errors of a 95 % interval
MOVED = 0.25  # standard errors by which smoothing may move a distribution function that counts as smooth
WIDER = 2  # the blur for smooth densities, in blurs for every population


class Smoothings:
    """The limits of the distribution function of an estimate, averaged over a few bins; `interval` says how many."""

    def __init__(self, estimate: Ordered) -> None:
        self.estimate, self.size = estimate, ordered_size(estimate)
        self._limits: dict[int, SkewedLimits] = {}

    @cached_property
    def blurs(self) -> list[int]:
        """The numbers of bins on each side that are tried, largest first."""
        return blurs_of(self.estimate)

    def limits(self, blur: int) -> SkewedLimits:
        """Those of the average over `blur` bins on each side, at all edges but the last."""
        if blur not in self._limits:
            self._limits[blur] = limits_of(self.estimate, ramps(self.size, blur)[:-1])
        return self._limits[blur]

    @cached_property
    def chosen(self) -> tuple[int, bool]:
        """The blur, and whether the decoder's answer is smooth over so many bins."""
        for blur in self.blurs:
            if is_smooth(self.estimate.probabilities, blur, self.limits(blur).errors):
                return blur, True
        return blur, False

    def interval(self, q: float, level: float) -> tuple[float, float]:
        """The first and the last place, in bins, at which the distribution function may rise to q."""
        blur, smooth = self.chosen
        low, high = self.limits(blur).between(1 - level).T
        return inverted(low, high, q, 0 if smooth else blur)


def inverted(low: Floats, high: Floats, q: float, more: int) -> tuple[float, float]:
    """Where limits, at all edges but the last, first and last rise to q, and `more` bins on each side."""
    # At least 0 before the first bin and 1 after the last: a crossing of q is always found.
    return (
        crossing(np.append(high, 1.0), q, last=False) - more,
        crossing(np.append(low, 1.0), q, last=True) + more,
    )


def is_smooth(shares: Floats, blur: int, errors: Floats) -> bool:
    """Whether smoothing the distribution function of `shares` moves it by a small part of its standard errors.

    Within `blur` bins of the ends it moves every density.

    >>> is_smooth(np.full(16, 1 / 16), 2, np.full(16, 0.01)), is_smooth(np.eye(16)[8], 2, np.full(16, 0.01))
    (True, False)
    """
    inner = slice(blur, len(shares) - blur + 1)
    return not bool((moved_by(shares, blur)[inner] > MOVED * errors[inner]).any())


def quantile(estimate: Ordered, q: float) -> Quantity:
    """The answer that a share q of all answers does not exceed; see `Estimate.quantile`."""
    if isinstance(q, bool) or not isinstance(q, (int, float, np.floating)) or not 0 < q < 1:
        raise DecodeError(f"q must be between 0 and 1, got {q}; 0.5 is the median")
    scale, size = estimate.tally.survey.alphabet.bins, ordered_size(estimate)
    values = np.cumsum(estimate.probabilities)
    place = min(int(np.searchsorted(values, q)), size - 1)

    if scale is None or scale.step:
        points = estimate.symbols if scale is None else scale.points

        def among(level: float, binning: bool) -> tuple[Any, Any]:
            first, last = estimate._smoothed.interval(q, level)
            # Fewer than q of the answers are below the first one; the last one is in the bin that ends there.
            ends = math.ceil(first) - 1, math.ceil(last) - 1
            return points[min(max(ends[0], 0), size - 1)], points[min(max(ends[1], 0), size - 1)]

        return Quantity(points[place], None, None, among)
    edges = np.asarray(scale.edges)
    own, before = float(estimate.probabilities[place]), float(values[place] - estimate.probabilities[place])
    inside = (q - before) / own if own > 0 else 0.5
    value = float(edges[place] + np.clip(inside, 0.0, 1.0) * (edges[place + 1] - edges[place]))

    def between(level: float, binning: bool) -> tuple[float, float]:
        first, last = estimate._smoothed.interval(q, level)
        if binning:
            first, last = math.floor(first), math.ceil(last)
        found = np.interp([first, last], np.arange(size + 1.0), edges)
        return float(found[0]), float(found[1])

    return Quantity(value, None, None, between)


def moved_by(shares: Floats, blur: int) -> Floats:
    """How far smoothing moves the distribution function of `shares`, at every edge but the last.

    >>> moved_by(np.full(4, 0.25), 1).round(3).tolist(), moved_by(np.eye(4)[1], 1).round(3).tolist()
    ([0.083, 0.0, 0.0, 0.0], [0.0, 0.333, 0.333, 0.0])
    """
    return np.asarray(np.abs(ramps(len(shares), blur) @ shares - np.append(0.0, np.cumsum(shares)))[:-1])


def crossing(values: Floats, q: float, *, last: bool) -> float:
    """The place, first or last, at which values that are linear in between rise to q; they end with a 1.

    >>> crossing(np.array([0.1, 0.6, 0.4, 0.8, 1.0]), 0.5, last=False)
    0.8
    >>> crossing(np.array([0.1, 0.6, 0.4, 0.8, 1.0]), 0.5, last=True)
    2.25
    """
    below = np.append(0.0, values) < q
    place = int(np.flatnonzero(below)[-1]) if last else int(np.argmax(values >= q))
    if place == 0 or values[place] == values[place - 1]:
        return float(place)
    return float(place - 1 + (q - values[place - 1]) / (values[place] - values[place - 1]))


def ramps(size: int, blur: int) -> Floats:
    """Weights of the average of P(bin < e + k) over k from -blur to blur, for every edge e from 0 to `size`.

    >>> ramps(3, 0).tolist() == np.tril(np.ones((4, 3)), -1).tolist(), ramps(3, 1)[1].round(2).tolist()
    (True, [0.67, 0.33, 0.0])
    """
    steps = np.arange(size + 1)[:, None] + blur - np.arange(size)
    return np.asarray(np.clip(steps, 0, 2 * blur + 1) / (2 * blur + 1))


def blurs_of(estimate: Ordered) -> list[int]:
    """How many bins on each side the distribution function is averaged over: what is tried, largest first.

    The last one has the shortest intervals that hold for every population, at the uniform one. They depend on the
    survey and on n alone. The more bins, the less noise has the average.
    """
    fit = estimate.fit
    system, mechanism = fit.system, fit.tally.survey.mechanism
    size = system.symbols
    tried = [0, *(1 << k for k in range(max(size // 8, 1).bit_length()))]
    m = even_law(system, mechanism.affine)
    rows = np.stack([ramps(size, blur)[size // 2] for blur in tried])
    found = weights_of_sums(system, mechanism.affine[1], rows, m)[0]
    errors = np.sqrt(np.maximum(m @ found**2 - (m @ found) ** 2, 0.0) / fit.tally.n)
    least = tried[int(np.argmin(2 * np.array(tried) / size + 2 * _NORMAL * errors))]
    larger = min(WIDER * max(least, 1), max(size // 8, 1))
    return [larger, least] if larger > least else [least]
