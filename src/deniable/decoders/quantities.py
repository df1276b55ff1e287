"""Means, shares of ranges and the distribution function of answers in an order, with confidence intervals.

Each is a linear function c'p of the shares (`quantity_limits`). Shares are limited to [0, 1] (`bounded`). Quantiles are
in `quantiles`.

What a bin hides is stated: nothing is known of where in its bin a number lies, so with `binning` intervals hold
wherever that is, and without it they hold if numbers are spread evenly over each bin.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from deniable.decoders.bounded import unit_between
from deniable.decoders.limits import SkewedLimits, check_level
from deniable.decoders.quantity import Cumulative, Ordered, Quantity, ordered_size
from deniable.decoders.quantity_limits import limits_of
from deniable.errors import DecodeError
from deniable.survey import Scale

Floats = npt.NDArray[np.float64]

_BANDS = 8  # ranges of a chart that have an interval each


def mean(estimate: Ordered) -> Quantity:
    """The mean of the numbers; see `Estimate.mean`."""
    points = _numbers(estimate)
    found = limits_of(estimate, points[None], smooth=True)
    scale = estimate.tally.survey.alphabet.bins
    half = 0.0 if scale is None else scale.width / 2

    def between(level: float, binning: bool) -> tuple[float, float]:
        # No mean of numbers is outside of them.
        low, high = np.clip(found.between(1 - level)[0], points.min(), points.max()).tolist()
        return (low - half, high + half) if binning else (low, high)

    return Quantity(float(points @ estimate.probabilities), float(found.centre[0]), float(found.errors[0]), between)


def share(estimate: Ordered, start: object, stop: object) -> Quantity:
    """The share of the answers from `start` to `stop`; see `Estimate.share`."""
    inside, partly, touched = _range(estimate, start, stop)
    found = limits_of(estimate, np.stack([partly, inside, touched]))

    def between(level: float, binning: bool) -> tuple[float, float]:
        limits = unit_between(found, 1 - level)
        low, high = (limits[1, 0], limits[2, 1]) if binning else limits[0]
        return float(low), float(high)

    value = float(partly @ estimate.probabilities)
    return Quantity(value, float(found.centre[0]), float(found.errors[0]), between)


def cumulative(estimate: Ordered, level: float) -> Cumulative:
    """The distribution function; see `Estimate.cdf`."""
    scale, size = estimate.tally.survey.alphabet.bins, ordered_size(estimate)
    points = tuple(estimate.symbols) if scale is None else scale.points if scale.step else scale.edges[1:]
    low, high = unit_between(estimate._cumulative, 1 - check_level(level)).T
    raw = estimate._cumulative.centre
    last = np.arange(size) == size - 1  # all answers are at most the largest: nothing is estimated there
    values = np.minimum(np.cumsum(estimate.probabilities), 1.0)
    return Cumulative(
        points,
        np.where(last, 1.0, values),
        np.where(last, 1.0, raw),
        np.where(last, 1.0, low),
        np.where(last, 1.0, high),
    )


def bands(estimate: Ordered, level: float) -> list[tuple[float, float, float, float]]:
    """Of up to eight ranges of neighbouring bins: both ends, and the limits of the share; for charts."""
    scale, size = estimate.tally.survey.alphabet.bins, len(estimate.symbols)
    assert scale is not None
    ends = np.unique(np.linspace(0, size, min(_BANDS, size) + 1).astype(int))
    places = np.arange(size)
    inside = np.stack([(places >= a) & (places < b) for a, b in pairwise(ends)]).astype(np.float64)
    limits = unit_between(limits_of(estimate, inside), 1 - check_level(level))
    edges = np.asarray(scale.edges)[ends].tolist()
    return [(a, b, *pair) for a, b, pair in zip(edges, edges[1:], limits.tolist(), strict=False)]


def cumulative_limits(estimate: Ordered) -> SkewedLimits:
    """The limits of P(answer <= x) at every symbol x."""
    size = ordered_size(estimate)
    return limits_of(estimate, np.tril(np.ones((size, size))))


def _numbers(estimate: Ordered) -> Floats:
    """The number that each answer stands for."""
    scale = estimate.tally.survey.alphabet.bins
    if scale is not None:
        return np.asarray(scale.points)
    ordered_size(estimate)
    if not all(isinstance(symbol, int) for symbol in estimate.symbols):
        raise DecodeError("answers must be numbers to have a mean, got other symbols; quantile(0.5) is their median")
    return np.array(estimate.symbols, np.float64)


def _range(estimate: Ordered, start: object, stop: object) -> tuple[Floats, Floats, Floats]:
    """Weights of the answers from `start` to `stop`: of bins inside, of parts of bins, of bins that are met."""
    scale, size = estimate.tally.survey.alphabet.bins, ordered_size(estimate)
    places = np.arange(size)
    if scale is None:
        first, last = estimate.index(start), estimate.index(stop)
        whole = ((places >= first) & (places <= last)).astype(np.float64)
        if first > last:
            raise DecodeError("start must not come after stop in the order of the answers")
        return whole, whole, whole
    low, high = _number("start", start), _number("stop", stop)
    if not low < high and not (scale.step and low == high):
        raise DecodeError(f"start must be below stop, got {low:g} and {high:g}")
    return _of_scale(scale, low, high)


def _of_scale(scale: Scale, low: float, high: float) -> tuple[Floats, Floats, Floats]:
    points, edges = np.asarray(scale.points), np.asarray(scale.edges)
    if scale.step:
        whole = ((points >= low) & (points <= high)).astype(np.float64)
        return whole, whole, whole
    inside = ((edges[:-1] >= low) & (edges[1:] <= high)).astype(np.float64)
    met = ((edges[1:] > low) & (edges[:-1] < high)).astype(np.float64)
    part = np.clip((np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)) / np.diff(edges), 0.0, 1.0)
    return inside, part, met


def _number(name: str, value: object) -> float:
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise DecodeError(f"{name} must be a number, got {type(value).__name__}") from None
    if found != found:
        raise DecodeError(f"{name} must be a number, got nan")
    return found
