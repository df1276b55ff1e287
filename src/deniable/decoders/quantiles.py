"""Quantiles by test inversion: from the first to the last number that a test of P(answer <= x) = q does not exclude.

The distribution function F at an edge of bins is linear in the counts, so its estimate is unbiased with a known
variance, and the test at the true quantile errs as often as its level says. What is not exact is the range of all
numbers that the tests leave:

- From a square wave the noise of F at neighbouring edges is nearly independent. The estimate crosses q many times, so
  the first and the last crossing are farther apart than one test asks for, and the interval covers more than its level.
- So the test is about R, the average of F over `blur` bins on each side with triangular weights. It has less noise, and
  noise that is smooth, so it crosses q about once if the blur is not much smaller than the interval. Even weights leave
  noise as rough as a random walk, which crosses more often.
- R(x) lies between F(x - blur) and F(x + blur) for every population. An interval that is wider by `blur` bins on each
  side holds always; where nothing jumps it covers nearly always.
- Where the density changes little over so few bins, R is F but for a small part of its standard error, and nothing is
  added.

The blur is at most `REACH` times half the interval, so it follows the density. Whether R may stand for F, the decoder's
answer says: smoothing must move its distribution function by a small part of a standard error, wherever that is,
because an answer that is rough somewhere may hide that it is rough elsewhere. Smaller blurs, down to `NARROWEST`, are
tried as well. If none is small enough, the interval is the shortest of those that hold for every population.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.decoders.limits import SkewedLimits
from deniable.decoders.quantity import Ordered, Quantity, ordered_size
from deniable.decoders.quantity_limits import limits_of
from deniable.errors import DecodeError
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

REACH = 2.5  # half intervals, the blur at most: intervals with less cover more than their level
NARROWEST = 0.4  # of the largest blur, what is tried: smaller ones would hide jumps in their noise
MOVED = 0.25  # standard errors by which smoothing may move a distribution function that counts as smooth
_LEVEL = 0.95  # of the intervals that a blur is chosen by: so those of all levels contain each other
_EDGES = 64  # at which limits are worked out, at most; between them they are as far from the estimate as at the nearest


class Smoothings:
    """The limits of the distribution function of an estimate, averaged over a few bins; `interval` says how many."""

    def __init__(self, estimate: Ordered) -> None:
        self.estimate, self.size = estimate, ordered_size(estimate)
        self.blurs, self.edges = blurs_of(self.size), edges_of(estimate.tally.survey)
        self._raw = np.append(0.0, np.cumsum(estimate.fit.raw))
        self._limits: dict[int, SkewedLimits] = {}
        self._chosen: dict[float, tuple[int, int]] = {}

    def limits(self, blur: int) -> SkewedLimits:
        """Those of the average over `blur` bins on each side, at `edges`."""
        if blur not in self._limits:
            self._limits[blur] = limits_of(self.estimate, ramps(self.edges, self.size, blur))
        return self._limits[blur]

    def between(self, blur: int, level: float = _LEVEL) -> tuple[Floats, Floats]:
        """The lower and the upper limits at all edges but the first and the last."""
        low, high = self.limits(blur).between(1 - level).T
        return spread(self._raw, self.edges, blur, low, high)

    def moved(self, blur: int) -> Floats:
        """How far smoothing moves the decoder's distribution function at these edges, in standard errors."""
        return moved_by(self.estimate.probabilities, blur, self.edges, self.limits(blur).errors)

    def chosen(self, q: float) -> tuple[int, int]:
        """The blur of the interval of a quantile, and the bins that are added on each side."""
        if q not in self._chosen:
            self._chosen[q] = choose(q, self.blurs, self.between, self.moved)
        return self._chosen[q]

    def interval(self, q: float, level: float) -> tuple[float, float]:
        """The first and the last place, in bins, at which the distribution function may rise to q."""
        blur, more = self.chosen(q)
        first, last = inverted(*self.between(blur, level), q)
        return first - more, last + more


def choose(
    q: float,
    blurs: Sequence[int],
    between: Callable[[int], tuple[Floats, Floats]],
    moved: Callable[[int], Floats],
) -> tuple[int, int]:
    """The blur and the bins to add on each side, from limits and movements by blur, at all edges but the outer ones."""

    def width(blur: int) -> float:
        first, last = inverted(*between(blur), q)
        return last - first

    # The interval narrows as the blur grows, so this crosses zero once.
    most = blurs[bisect_right(blurs, 0.0, key=lambda blur: blur - REACH / 2 * width(blur)) - 1]
    for blur in reversed([blur for blur in blurs if max(NARROWEST * most, 1) <= blur <= most]):
        if is_smooth(moved(blur), blur, *inverted(*between(blur), q)):
            return blur, 0
    # No blur at all holds for every population, too, but where the function is flat noise crosses q far away.
    shortest, best = 0, width(0)
    for blur in blurs:
        if 2 * blur >= best:
            break
        if width(blur) + 2 * blur < best:
            shortest, best = blur, width(blur) + 2 * blur
    return shortest, shortest


def inverted(low: Floats, high: Floats, q: float) -> tuple[float, float]:
    """Where limits, at all edges but the first and the last, first and last rise to q.

    >>> inverted(np.array([0.1, 0.5, 0.7]), np.array([0.3, 0.7, 0.9]), 0.6)
    (1.75, 2.5)
    """
    # 0 before the first bin and 1 after the last: a crossing of q is always found. Averages are more than 0 there.
    above, below = np.concatenate([high[:1], high, [1.0]]), np.concatenate([[0.0], low, [1.0]])
    return crossing(above, q, last=False), crossing(below, q, last=True)


def is_smooth(moved: Floats, blur: int, first: float, last: float) -> bool:
    """Whether smoothing moves a distribution function by a small part of its standard errors.

    Within `blur` bins of the ends it moves every density, which counts only if the interval is there.

    >>> shares, edges, errors = np.full(16, 1 / 16), np.arange(1, 16), np.full(15, 0.01)
    >>> moved = moved_by(shares, 2, edges, errors)
    >>> is_smooth(moved, 2, 7.0, 9.0), is_smooth(moved, 2, 0.5, 2.0)
    (True, False)
    >>> is_smooth(moved_by(np.eye(16)[8], 2, edges, errors), 2, 2.0, 3.0)
    False
    """
    edges = np.arange(1, len(moved) + 1)
    inner = (edges >= blur) & (edges <= len(edges) + 1 - blur)
    return not bool((moved[inner | ((edges >= math.floor(first)) & (edges <= math.ceil(last)))] > MOVED).any())


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


def moved_by(shares: Floats, blur: int, edges: Places, errors: Floats) -> Floats:
    """How far smoothing moves the distribution function of `shares`, at every edge but the first and the last.

    In standard errors, which are known at some edges.

    >>> moved_by(np.full(4, 0.25), 1, np.arange(1, 4), np.ones(3)).round(3).tolist()
    [0.0, 0.0, 0.0]
    >>> moved_by(np.eye(4)[1], 1, np.arange(1, 4), np.ones(3)).round(3).tolist()
    [0.25, 0.25, 0.0]
    """
    values = np.append(0.0, np.cumsum(shares))
    inner = np.arange(1, len(shares))
    return np.asarray(np.abs(smoothed(values, blur) - values)[1:-1] / np.interp(inner, edges, errors))


def spread(values: Floats, edges: Places, blur: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Limits at every edge but the first and the last, from those at some edges.

    Between two edges they are as far from the smoothed `values` of a distribution function as at the one of both where
    they are farther.

    >>> low, high = spread(np.array([0.0, 0.2, 0.5, 0.9, 1.0]), np.array([1, 3]), 0, np.array([0.1, 0.7]), np.ones(2))
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.1, 0.3, 0.7], [1.0, 1.3, 1.0])
    """
    centre, inner = smoothed(values, blur), np.arange(1, len(values) - 1)
    before, after = np.searchsorted(edges, inner, side="right") - 1, np.searchsorted(edges, inner)
    below, above = low - centre[edges], high - centre[edges]
    return (
        centre[1:-1] + np.minimum(below[before], below[after]),
        centre[1:-1] + np.maximum(above[before], above[after]),
    )


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


def ramps(edges: Places, size: int, blur: int) -> Floats:
    """Weights of the average of P(bin < e + k) over k from -blur to blur, for every edge e of `edges`.

    The average has triangular weights, which fall from k = 0 on.

    >>> ramps(np.array([1, 2]), 3, 0).tolist(), ramps(np.array([1]), 3, 1).tolist()
    ([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [[0.75, 0.25, 0.0]])
    """
    weights = blur + 1.0 - np.abs(np.arange(-blur, blur + 1))
    after = np.append(np.cumsum(weights)[::-1], 0.0) / weights.sum()  # the weight of all k >= -blur + j
    return np.asarray(after[np.clip(np.arange(size) - edges[:, None] + 1 + blur, 0, 2 * blur + 1)])


def smoothed(values: Floats, blur: int) -> Floats:
    """The same average of a distribution function that is given at every edge, from zero to the sum of all shares.

    >>> smoothed(np.array([0.0, 0.0, 1.0, 1.0, 1.0]), 1).tolist()
    [0.0, 0.25, 0.75, 1.0, 1.0]
    """
    found = np.pad(values, blur, mode="edge")
    for _ in range(2):  # triangular weights are even ones twice
        sums = np.append(0.0, np.cumsum(found))
        found = (sums[blur + 1 :] - sums[: len(sums) - blur - 1]) / (blur + 1)
    return np.asarray(found)


def blurs_of(size: int) -> list[int]:
    """How many bins on each side the distribution function may be averaged over: steps of sqrt(2) up to an eighth.

    >>> blurs_of(64)
    [0, 1, 2, 3, 4, 6, 8]
    """
    most = max(size // 8, 1)
    return sorted({0, *(round(2 ** (k / 2)) for k in range(2 * most.bit_length()) if round(2 ** (k / 2)) <= most)})


def edges_of(survey: Survey) -> Places:
    """The edges at which limits are worked out: all but the first and the last, or some of them, evenly spread.

    Two are at most half a window of cells apart: where an atom enters a window, variances jump.
    """
    size, own = len(survey.alphabet), survey.hashes
    count = min(max(_EDGES, 2 * size // own), size - 1)
    return np.unique(np.linspace(1, size - 1, count).round().astype(np.intp))
