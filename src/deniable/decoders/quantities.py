"""Means, quantiles, shares of ranges and the distribution function of answers in an order, with confidence intervals.

Each is a linear function c'p of the shares, or follows from one. Its unbiased estimate is c'p_hat, with the exact
variance of that sum, plus a multiple of (1 - the sum of p_hat), which is zero on average: the multiple that makes the
variance least. Quantiles are found by test inversion: every number that a test of P(answer <= x) = q does not exclude,
where the distribution function is smoothed over a few bins, and those bins are added to the interval (`blur_of`).

What a bin hides is stated: nothing is known of where in its bin a number lies, so with `binning` intervals hold
wherever that is, and without it they hold if numbers are spread evenly over each bin.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.decoders.fit import LinearFit
from deniable.decoders.least_squares import normal_solve
from deniable.decoders.limits import SkewedLimits, check_level
from deniable.design import Design, NeighbourDesign, design_of
from deniable.errors import DecodeError
from deniable.survey import Scale, Survey, Symbol
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]

_NORMAL = 1.96  # standard errors of a 95 % interval
_BANDS = 8  # ranges of a chart that have an interval each


class Ordered(Protocol):
    """What is asked of an `Estimate`, which imports this module."""

    @property
    def symbols(self) -> tuple[Symbol, ...]: ...
    @property
    def probabilities(self) -> Floats: ...
    @property
    def tally(self) -> Tally: ...
    @property
    def fit(self) -> LinearFit: ...
    @property
    def _cumulative(self) -> SkewedLimits: ...
    @property
    def _smoothed(self) -> tuple[int, SkewedLimits]: ...
    def index(self, symbol: object) -> int: ...


@dataclass(frozen=True, slots=True)
class Quantity:
    """A mean, a quantile or a share of a range, with its confidence intervals.

    Parameters
    ----------
    value
        From the decoder's answer, like `Estimate.probabilities`.
    raw
        The unbiased estimate, which intervals belong to; None for a quantile.
    standard_error
        Of `raw`.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.number(0, 10, 2.0, step=1)
    >>> tally = dn.simulate(survey, np.full(11, 1 / 11), n=100_000, rng=np.random.default_rng(1))
    >>> dn.decode(tally).mean()
    <Quantity 5.027 (4.992 to 5.064)>
    """

    value: Any
    raw: float | None
    standard_error: float | None
    _between: Callable[[float, bool], tuple[Any, Any]] = field(repr=False)

    def interval(self, level: float = 0.95, *, binning: bool = True) -> tuple[Any, Any]:
        """A confidence interval.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.
        binning
            Whether it holds wherever in their bins the numbers are; otherwise only if they are spread evenly.

        Returns
        -------
        tuple
            The lower and the upper limit: numbers, or symbols of an order.
        """
        return self._between(check_level(level), binning)

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"<Quantity {_shown(self.value)} ({_shown(low)} to {_shown(high)})>"


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True, eq=False)
class Cumulative:
    """P(answer <= x) at every edge of a bin or number of an order, with pointwise intervals.

    Parameters
    ----------
    points
        The upper edges of the bins, or the answers themselves.
    values
        From the decoder's answer.
    raw, low, high
        The unbiased estimate and its confidence limits; each interval holds by itself.
    """

    points: tuple[Any, ...]
    values: Floats
    raw: Floats
    low: Floats
    high: Floats


def limits_of(estimate: Ordered, weights: Floats) -> SkewedLimits:
    """The limits of c'p for each row c of `weights`, under sum p = 1.

    Claim: the variance is that of the unbiased estimate of least squares under this constraint.
    Proof: tests/unit/decoders/test_quantities.py::test_variances_are_those_of_constrained_least_squares
    """
    fit = estimate.fit
    system, mechanism = fit.system, fit.tally.survey.mechanism
    if system.cohorts != 1 or not mechanism.one_column:
        raise DecodeError(
            f"means and quantiles must have reports that name one cell, got {estimate.tally.survey.title}"
        )
    m, inverse = fit.law.columns[0], float(fit.law.inverse[0])
    on_cells, multiple = weights_of_sums(system, mechanism.affine[1], weights, m)
    raw = weights @ fit.raw + multiple * (1 - float(fit.raw.sum()))
    first, second = m @ on_cells, m @ on_cells**2
    third = (m @ on_cells**3 - 3 * first * second + 2 * first**3) * inverse**2
    reach = np.where(third >= 0, on_cells.max(axis=0) - first, first - on_cells.min(axis=0))
    return SkewedLimits(raw, np.maximum(second - first**2, 0.0) * inverse, third, reach * inverse)


def weights_of_sums(system: Design, r: float, weights: Floats, m: Floats) -> tuple[Floats, Floats]:
    """The weights of column frequencies in each c'p_hat, shape (k, J), and the multiples of 1 - sum p_hat in it."""
    solved = normal_solve(system, np.vstack([np.ones(system.symbols), weights]))
    if isinstance(system, NeighbourDesign):
        on_cells = system.columns(solved.T) / r
    else:
        on_cells = np.stack([system.forward(row)[0] for row in solved], axis=1) / r
    whole, on_cells = on_cells[:, 0], on_cells[:, 1:]
    spread = float(m @ whole**2 - (m @ whole) ** 2)
    both = (m * whole) @ on_cells - (m @ whole) * (m @ on_cells)
    # Where reports always add up to one there is nothing to gain, and the spread is rounding.
    multiple = both / spread if spread > 1e-9 * float(m @ whole**2) else np.zeros(len(weights))
    return on_cells - multiple * whole[:, None], multiple


def mean(estimate: Ordered) -> Quantity:
    """The mean of the numbers; see `Estimate.mean`."""
    points = _numbers(estimate)
    found = limits_of(estimate, points[None])
    scale = estimate.tally.survey.alphabet.bins
    half = 0.0 if scale is None else scale.width / 2

    def between(level: float, binning: bool) -> tuple[float, float]:
        low, high = found.between(1 - level)[0].tolist()
        return (low - half, high + half) if binning else (low, high)

    return Quantity(float(points @ estimate.probabilities), float(found.centre[0]), float(found.errors[0]), between)


def share(estimate: Ordered, start: object, stop: object) -> Quantity:
    """The share of the answers from `start` to `stop`; see `Estimate.share`."""
    inside, partly, touched = _range(estimate, start, stop)
    found = limits_of(estimate, np.stack([partly, inside, touched]))

    def between(level: float, binning: bool) -> tuple[float, float]:
        limits = found.between(1 - level)
        low, high = (limits[1, 0], limits[2, 1]) if binning else limits[0]
        return min(max(float(low), 0.0), 1.0), min(max(float(high), 0.0), 1.0)

    value = float(partly @ estimate.probabilities)
    return Quantity(value, float(found.centre[0]), float(found.errors[0]), between)


def cumulative(estimate: Ordered, level: float) -> Cumulative:
    """The distribution function; see `Estimate.cdf`."""
    scale, size = estimate.tally.survey.alphabet.bins, _ordered(estimate)
    points = tuple(estimate.symbols) if scale is None else scale.points if scale.step else scale.edges[1:]
    low, high = estimate._cumulative.between(1 - check_level(level)).T
    raw = estimate._cumulative.centre
    last = np.arange(size) == size - 1  # all answers are at most the largest: nothing is estimated there
    values = np.minimum(np.cumsum(estimate.probabilities), 1.0)
    return Cumulative(
        points,
        np.where(last, 1.0, values),
        np.where(last, 1.0, raw),
        np.where(last, 1.0, np.clip(low, 0.0, 1.0)),
        np.where(last, 1.0, np.clip(high, 0.0, 1.0)),
    )


def bands(estimate: Ordered, level: float) -> list[tuple[float, float, float, float]]:
    """Of up to eight ranges of neighbouring bins: both ends, and the limits of the share; for charts."""
    scale, size = estimate.tally.survey.alphabet.bins, len(estimate.symbols)
    assert scale is not None
    ends = np.unique(np.linspace(0, size, min(_BANDS, size) + 1).astype(int))
    places = np.arange(size)
    inside = np.stack([(places >= a) & (places < b) for a, b in pairwise(ends)]).astype(np.float64)
    limits = np.clip(limits_of(estimate, inside).between(1 - check_level(level)), 0.0, 1.0)
    edges = np.asarray(scale.edges)[ends].tolist()
    return [(a, b, *pair) for a, b, pair in zip(edges, edges[1:], limits.tolist(), strict=False)]


def cumulative_limits(estimate: Ordered) -> SkewedLimits:
    """The limits of P(answer <= x) at every symbol x."""
    return limits_of(estimate, ramps(_ordered(estimate), 0)[1:])


def smoothed_limits(estimate: Ordered) -> tuple[int, SkewedLimits]:
    """How far the distribution function is smoothed for quantiles, and its limits at all edges but the last."""
    blur = blur_of(estimate)
    return blur, limits_of(estimate, ramps(_ordered(estimate), blur)[:-1])


def quantile(estimate: Ordered, q: float) -> Quantity:
    """The answer that a share q of all answers does not exceed; see `Estimate.quantile`."""
    if isinstance(q, bool) or not isinstance(q, (int, float, np.floating)) or not 0 < q < 1:
        raise DecodeError(f"q must be between 0 and 1, got {q}; 0.5 is the median")
    scale, size = estimate.tally.survey.alphabet.bins, _ordered(estimate)
    values = np.cumsum(estimate.probabilities)
    place = min(int(np.searchsorted(values, q)), size - 1)

    def reach(level: float) -> tuple[Floats, Floats, int]:
        """Upper and lower limits of the smoothed distribution function at all edges, and how far it is smoothed."""
        blur, found = estimate._smoothed
        low, high = found.between(1 - level).T
        # At least 0 before the first bin and 1 after the last: a crossing of q is always found.
        return np.append(high, 1.0), np.append(low, 1.0), blur

    if scale is None or scale.step:
        points = estimate.symbols if scale is None else scale.points

        def among(level: float, binning: bool) -> tuple[Any, Any]:
            high, low, blur = reach(level)
            first = int(np.argmax(high >= q)) - 1 - blur  # fewer than q of the answers are below it
            last = int(np.flatnonzero(np.append(0.0, low) < q)[-1]) + blur - 1
            return points[min(max(first, 0), size - 1)], points[min(max(last, 0), size - 1)]

        return Quantity(points[place], None, None, among)
    edges = np.asarray(scale.edges)
    own, before = float(estimate.probabilities[place]), float(values[place] - estimate.probabilities[place])
    inside = (q - before) / own if own > 0 else 0.5
    value = float(edges[place] + np.clip(inside, 0.0, 1.0) * (edges[place + 1] - edges[place]))

    def between(level: float, binning: bool) -> tuple[float, float]:
        high, low, blur = reach(level)
        first, last = crossing(high, q, last=False) - blur, crossing(low, q, last=True) + blur
        if binning:
            first, last = math.floor(first), math.ceil(last)
        found = np.interp([first, last], np.arange(size + 1.0), edges)
        return float(found[0]), float(found[1])

    return Quantity(value, None, None, between)


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


def blur_of(estimate: Ordered) -> int:
    """How many bins on each side the distribution function is averaged over, for the shortest intervals of quantiles.

    The average R(e) lies between P(bin < e - blur) and P(bin < e + blur), so if R(e) < q the quantile is not below
    e - blur, for every population. The more bins, the less noise has R. What is minimised is the width at the uniform
    population; it depends on the survey and on n alone, so that intervals hold as if it were given.
    """
    fit = estimate.fit
    system, mechanism = fit.system, fit.tally.survey.mechanism
    size = system.symbols
    tried = [0, *(1 << k for k in range(max(size // 8, 1).bit_length()))]
    miss, r = mechanism.affine
    m = miss + r * system.forward(np.full(size, 1 / size))[0]
    rows = np.stack([ramps(size, blur)[size // 2] for blur in tried])
    found = weights_of_sums(system, r, rows, m)[0]
    errors = np.sqrt(np.maximum(m @ found**2 - (m @ found) ** 2, 0.0) / fit.tally.n)
    return tried[int(np.argmin(2 * np.array(tried) / size + 2 * _NORMAL * errors))]


def _ordered(estimate: Ordered) -> int:
    """The number of answers, if they have an order."""
    survey = estimate.tally.survey
    if not survey.encoding.is_ordered and survey.alphabet.bins is None:
        raise DecodeError(
            f"answers must have an order for this, got those of {survey.title}; make the survey with dn.number or "
            "dn.ordered"
        )
    return len(estimate.symbols)


def _numbers(estimate: Ordered) -> Floats:
    """The number that each answer stands for."""
    scale = estimate.tally.survey.alphabet.bins
    if scale is not None:
        return np.asarray(scale.points)
    _ordered(estimate)
    if not all(isinstance(symbol, int) for symbol in estimate.symbols):
        raise DecodeError("answers must be numbers to have a mean, got other symbols; quantile(0.5) is their median")
    return np.array(estimate.symbols, np.float64)


def _range(estimate: Ordered, start: object, stop: object) -> tuple[Floats, Floats, Floats]:
    """Weights of the answers from `start` to `stop`: of bins inside, of parts of bins, of bins that are met."""
    scale, size = estimate.tally.survey.alphabet.bins, _ordered(estimate)
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
    # Numbers outside are counted in the outer bins, so these are inside only of a range that has no end there.
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


def worst_deviation(survey: Survey) -> float:
    """sqrt(n) times the largest standard error of the mean over all populations, exactly but for rounding.

    Parameters
    ----------
    survey : Survey
        Of numbers, or of whole numbers in an order.

    Returns
    -------
    float
        In the unit of the numbers.

    Examples
    --------
    >>> import deniable as dn
    >>> round(worst_deviation(dn.number(0, 1, 1, step=1)), 3)             # Warner's response: 1 / (2 r)
    1.082
    """
    scale = survey.alphabet.bins
    points = np.asarray(scale.points if scale is not None else survey.symbols, np.float64)
    design, (miss, r) = design_of(survey), survey.mechanism.affine
    middle = points - points.mean()  # an origin inside keeps digits
    even = miss + r * design.forward(np.full(len(points), 1 / len(points)))[0]
    weights = weights_of_sums(design, r, middle[None], even)[0][:, 0]
    of_answer = np.stack([design.adjoint(w[None]) for w in (weights, weights**2)])
    first, second = miss * np.array([[weights.sum()], [(weights**2).sum()]]) + r * of_answer
    # A share t of answer a and 1 - t of b: t sa + (1 - t) sb - (t ma + (1 - t) mb)**2 is a parabola in t.
    some = np.unique(np.linspace(0, len(points) - 1, min(len(points), 256)).astype(int))
    ma, sa = first[some][:, None], second[some][:, None]
    mb, sb = ma.T, sa.T
    apart = ma - mb
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(((sa - sb) - 2 * mb * apart) / (2 * apart**2))
    t = np.clip(t, 0.0, 1.0)
    variance = t * sa + (1 - t) * sb - (t * ma + (1 - t) * mb) ** 2
    return float(np.sqrt(variance.max()))
