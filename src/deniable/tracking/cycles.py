"""Cycles in the windows: a week in days, a day in hours, or any other period that the estimates themselves show."""

import numpy as np
import numpy.typing as npt

__all__ = ["cycle_of", "possible_cycle", "profile_of", "weekend_of"]

Floats = npt.NDArray[np.float64]

_LEAST_WINDOWS = 20  # with fewer no cycle is looked for
_PERIODS = 3  # that must fit into the history
_WAVES = 3  # sines of a cycle that is not smooth, at most: all that a week of days has
_BESIDE = 12  # frequencies on either side that a peak is compared with
_FALSE = 1e-3  # probability of a false peak, and of a false wave beside one
_DOUBTFUL = 0.01  # probability of a false cycle of the calendar
_FINE, _TIMES = 10, 3  # steps to either side in which a frequency is refined, and how often, each finer
_LESS = 0.02  # of the power that the period may lose by being a whole number of windows


def cycle_of(
    values: Floats, variances: Floats, there: npt.NDArray[np.bool_], calendar: int | None = None
) -> tuple[float | None, int]:
    """The period of the cycle in the windows, and of how many sines it consists.

    The one of the calendar, where windows differ by their place in it; else that of the largest peak of the mean
    periodogram. The spectrum of noise is flat and that of a random walk falls smoothly, so a peak is compared with its
    neighbours. A false period costs only time: models with a cycle then get no weight. Weekends that differ from all
    other days are no sine: where a multiple, a half or a third of the frequency has a peak, too, it has several sines.

    Parameters
    ----------
    values
        Unbiased estimates in units of their noise, shape (S, T).
    variances
        Of these values, of the same shape.
    there
        Which windows have reports, shape (T,).
    calendar
        The period of the calendar, in windows: seven days.

    Returns
    -------
    tuple
        The period, None if none is found, and the number of sines.

    Examples
    --------
    >>> days, ones = np.arange(70), np.ones((6, 70))
    >>> noise = np.random.default_rng(1).normal(size=(6, 70))
    >>> cycle_of(noise, ones, days >= 0, 7), cycle_of(noise + 5 * (days % 7 > 4), ones, days >= 0)
    ((None, 1), (7.0, 3))
    """
    period, waves = _peak(values, there)
    if calendar is None or not _differ(values, variances, there, calendar):
        return period, waves
    part = calendar / period if period else 1.0
    if abs(part - round(part)) * there.sum() > calendar:  # a cycle of another kind
        return period, waves
    return possible_cycle(there, calendar)


def possible_cycle(there: npt.NDArray[np.bool_], calendar: int | None) -> tuple[float | None, int]:
    """The cycle of the calendar, where windows with reports are enough to learn it, and its sines.

    >>> possible_cycle(np.ones(70, np.bool_), 7), possible_cycle(np.ones(20, np.bool_), 7)
    ((7.0, 3), (None, 1))
    """
    if calendar is None or there.sum() < max(_LEAST_WINDOWS, _PERIODS * calendar):
        return None, 1
    return float(calendar), min(_WAVES, calendar // 2)


def profile_of(values: Floats, weights: Floats, period: int) -> Floats:
    """By how much windows differ by their place in a cycle, on average: shape (S, T), zero over each cycle.

    >>> profile_of(np.array([[1.0, 3.0, 1.0, 3.0, 1.0]]), np.ones((1, 5)), 2).round(1).tolist()
    [[-1.0, 1.0, -1.0, 1.0, -1.0]]
    """
    place = np.arange(values.shape[1]) % period
    there = place == np.arange(period)[:, None]
    means = (weights * values) @ there.T / np.maximum(weights @ there.T, 1e-300)
    return np.asarray((means - means.mean(axis=1, keepdims=True))[:, place])


def weekend_of(values: Floats, variances: Floats, there: npt.NDArray[np.bool_], period: int) -> int:
    """The place in a cycle of the first of the two windows in a row that differ most from all others.

    That is a Saturday, a Friday where weekends begin on it, or any day where weekends do not differ.

    >>> values = np.array([[5.0, 1, 1, 1, 1, 1, 5] * 4, [0.0, 2, 2, 2, 2, 2, 0] * 4])
    >>> weekend_of(values, np.ones((2, 28)), np.ones(28, np.bool_), 7)
    6
    """
    place = np.arange(values.shape[1]) % period
    seen = []
    for first in range(period):
        pair = np.isin(place, [first, (first + 1) % period])
        sides = [there * side / variances for side in (pair, ~pair)]
        totals = [np.maximum(side.sum(axis=1), 1e-300) for side in sides]
        means = [(side * values).sum(axis=1) / total for side, total in zip(sides, totals, strict=True)]
        seen.append(float(((means[0] - means[1]) ** 2 / (1 / totals[0] + 1 / totals[1])).sum()))
    return int(np.argmax(seen))


def _differ(values: Floats, variances: Floats, there: npt.NDArray[np.bool_], period: int) -> bool:
    """Whether windows differ by their place in a cycle of the calendar, by more than from cycle to cycle."""
    if possible_cycle(there, period)[0] is None:
        return False
    again = there[period:] & there[:-period]
    apart, noise = values[:, period:] - values[:, :-period], variances[:, period:] + variances[:, :-period]
    if not again.any():
        return False
    scale = float((apart**2 / noise)[:, again].mean())
    weights = there / variances
    places = np.arange(values.shape[1]) % period == np.arange(period)[:, None]
    level = (weights * values).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
    sums, totals = (weights * (values - level)) @ places.T, weights @ places.T
    seen = float((sums**2 / np.maximum(totals, 1e-300)).sum()) / max(scale, 1e-300)
    from scipy import stats

    return seen > float(stats.chi2.isf(_DOUBTFUL, len(values) * (period - 1)))


def _peak(values: Floats, there: npt.NDArray[np.bool_]) -> tuple[float | None, int]:
    """The period of the largest peak of the mean periodogram, and the number of its sines."""
    values, windows = values[:, there], np.flatnonzero(there)
    count = len(windows)
    if count < _LEAST_WINDOWS:
        return None, 1
    values = values - values.mean(axis=1, keepdims=True)
    # Frequencies at half of the resolution of the windows.
    frequencies = np.arange(2 * _PERIODS, count) / (2 * count)
    height = _height(values, windows, frequencies)
    best = int(np.argmax(height))
    if height[best] <= _bound(len(values), count):  # a peak at any of the frequencies
        return None, 1
    strongest = float(frequencies[best])
    # What else there is shows without the strongest wave, which leaks into all frequencies.
    turns = 2 * np.pi * windows / _refined(values, windows, strongest, 1, 1)
    wave = np.stack([np.ones(count), np.cos(turns), np.sin(turns)])
    height = _height(values - values @ np.linalg.pinv(wave) @ wave, windows, frequencies)
    found, most = (strongest, 1), 0
    for part in range(1, _WAVES + 1):
        first = strongest / part
        others = [first * wave for wave in range(1, _WAVES + 1) if wave != part and first * wave <= 0.5]
        near = [np.abs(frequencies - other) <= 0.51 / count for other in others]
        seen = sum(bool(height[places].max(initial=0.0) > _bound(len(values), _WAVES**2)) for places in near)
        if seen > most and first >= frequencies[0]:
            found, most = (first, part), seen
    if not most:
        return 1 / strongest, 1
    waves = int(min(_WAVES, 0.5 / found[0] + 1e-9))
    return _refined(values, windows, *found, waves), waves


def _height(values: Floats, windows: npt.NDArray[np.intp], frequencies: Floats) -> Floats:
    """How far the mean periodogram is above its neighbours."""
    power = _power(values, windows, frequencies)
    beside = [np.median(power[max(place - _BESIDE, 0) : place + _BESIDE + 1]) for place in range(len(power))]
    return np.asarray(power / beside)


def _bound(symbols: int, tests: int) -> float:
    """What the mean of so many exponential variables exceeds once in a thousand times, in so many tests."""
    from scipy import stats

    return float(stats.gamma.isf(_FALSE / tests, symbols, scale=1 / symbols))


def _power(values: Floats, windows: npt.NDArray[np.intp], frequencies: Floats) -> Floats:
    """The mean periodogram of all symbols."""
    waves = np.exp(-2j * np.pi * np.outer(windows - windows[0], frequencies))
    return np.asarray((np.abs(values @ waves) ** 2).mean(axis=0) / len(windows))


def _refined(values: Floats, windows: npt.NDArray[np.intp], first: float, part: int, waves: int) -> float:
    """The period near 1 / first with which all waves together have most power; a whole number if it is as good."""

    def power(tried: Floats) -> Floats:
        return np.asarray(np.sum([_power(values, windows, wave * tried) for wave in range(1, waves + 1)], axis=0))

    best, reach = first, 1 / (4 * len(windows) * part)
    for _ in range(_TIMES):
        tried = best + reach * np.linspace(-1, 1, 2 * _FINE + 1)
        best, reach = float(tried[int(np.argmax(power(tried)))]), reach / _FINE
    whole = 1 / round(1 / first)
    near = abs(whole - first) <= 1 / (4 * len(windows) * part)
    most, there = power(np.array([best, whole])).tolist()
    return 1 / (whole if near and there >= (1 - _LESS) * most else best)
