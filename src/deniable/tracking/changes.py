"""Change detection: family-wise tests over a whole history, and a sequential test as windows come in.

The null hypothesis of both is that nothing changes. Over a history, the t-statistic of a step of the level at each
window (`state_space`) is tested for all symbols and windows at once (Bonferroni), so the family-wise error is at most
the given one. As windows come in, the innovations under the null hypothesis are independent and standard normal, also
where windows share noise. A two-sided CUSUM of each symbol, which finds small shifts that last, and a bound on each
innovation (Shewhart's chart), which finds large ones at once, have the given mean time between false alarms together.
Where windows share noise a step is one large innovation: the filter then takes it for noise that stays.

So far out in the tails counts are not normal (`Tails`). What differs between two windows of the same devices is the
noise of the few that were replaced or changed their answer: a difference of two small counts, with heavy tails.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.tracking.averaging import STILL, Series
from deniable.tracking.sharing import Sharing

__all__ = ["Step", "Tails", "alarms_of", "cusum_threshold", "steps_of"]

Floats = npt.NDArray[np.float64]

_LEAST_FRESH = 1e-4  # least part of the noise of a window that differs from that of the one before
_MOST_STEPS = 32  # steps of one symbol, at most
_FAR = 1.5  # score times skewness up to which the Cornish-Fisher expansion is used: its slope is one half there
_CUSUM_SLACK = 0.5  # reference value of the CUSUM, in standard deviations: optimal for shifts of one
_CUSUM_OVERSHOOT = 1.166  # overshoot in Siegmund's approximation of the mean time between false alarms (1985)


@dataclass(frozen=True)
class Step:
    """One step of one symbol: before which window, how large, its standard error and its family-wise p-value."""

    symbol: int
    window: int
    size: float
    standard_error: float
    p_value: float


@dataclass(frozen=True)
class Tails:
    """How far the estimates of single windows are from normal: each is taken for a count of reports.

    Attributes
    ----------
    skewness
        Of one report, for each symbol: (1 - 2 c) / sqrt(c (1 - c)), with c the chance that it is counted.
    excess
        The excess kurtosis of one, as in a Poisson count: 1 / (c (1 - c)).
    sizes
        Reports of each window; 0 where it is missing.
    """

    skewness: Floats
    excess: Floats
    sizes: Floats

    def normal(self, z: Floats, rows: npt.NDArray[np.intp], repeated: Floats, before: Floats, after: Floats) -> Floats:
        """Statistics of a step at each window, transformed to normal ones.

        With a windows before the step and b after it, a difference of two means has the skewness (1 / b^2 - 1 / a^2) /
        (1 / a + 1 / b)^1.5 of one window, and (1 / a^3 + 1 / b^3) / (1 / a + 1 / b)^2 of its excess. Windows with the
        correlation r are worth fewer, a - 1 beside the nearest (1 + r) / (1 - r) times so few. What differs between
        neighbours is the part 1 - r of their noise: the excess is that of so many fewer reports, and as old noise goes
        as new comes, so little of the skewness is left.

        Parameters
        ----------
        z
            Statistics with variance one, shape (R, T).
        rows
            Their symbols.
        repeated
            The correlation r of the noise of each window with that of the one before, of the same shape.
        before, after
            How many windows are compared, of the same shape, or one that stretches to it.

        Returns
        -------
        array
            Statistics, shape (R, T).
        """
        last = np.maximum.accumulate(np.where(self.sizes > 0, np.arange(len(self.sizes)), 0))
        sizes = np.maximum(self.sizes[last], 1.0)  # a missing window tells nothing; the last one is as large
        reports = np.minimum(sizes, np.concatenate([sizes[:1], sizes[:-1]]))
        fresh = np.maximum(1 - repeated, _LEAST_FRESH)
        a, b = (1 + np.maximum(count - 1, 0) * fresh / (2 - fresh) for count in (before, after))
        spread = 1 / a + 1 / b
        skew = self.skewness[rows, None] * np.sqrt(fresh / reports) * (1 / b**2 - 1 / a**2) / spread**1.5
        excess = self.excess[rows, None] / (fresh * reports) * (1 / a**3 + 1 / b**3) / spread**2
        return _unskewed(_light(z, excess), skew)


def steps_of(series: Series, sharings: Sequence[Sharing], trust: Floats, tails: Tails, level: float) -> list[Step]:
    """Steps that are significant, family-wise, over the whole history.

    Parameters
    ----------
    series
        The estimates of single windows.
    sharings
        What windows may have of their noise in common.
    trust
        The probability of each: a step's p-value is the mean of those under every one.
    tails
        How far the estimates are from normal.
    level
        One less the family-wise error: the probability of no step in a history without changes.

    Returns
    -------
    list of Step
        In the order of windows.

    Examples
    --------
    >>> import numpy as np
    >>> seen = np.repeat([[0.2, 0.3]], 10, axis=1) + 0.01 * np.array([1, -1] * 10)
    >>> series = Series(seen, np.full((1, 20), 1e-4), np.zeros(1), np.full(20, True))
    >>> tails = Tails(np.zeros(1), np.zeros(1), np.full(20, 1000.0))
    >>> steps = steps_of(series, [Sharing.none(20)], np.ones(1), tails, 0.95)
    >>> [(step.window, round(step.size, 3)) for step in steps]
    [(10, 0.1)]
    """
    from scipy import stats
    from scipy.special import logsumexp

    symbols, windows = series.values.shape
    tested = family_size(symbols, windows)
    seen = np.cumsum(series.there)
    counted = np.maximum(seen - series.there, 1), np.maximum(seen[-1] - seen + series.there, 1)  # before and after
    repeated = [_repeated(series, sharing) for sharing in sharings]
    jumps = np.zeros((symbols, windows), np.bool_)
    found: list[Step] = []
    rows = np.arange(symbols)
    for _ in range(_MOST_STEPS):
        passes = [series[rows].run(STILL, sharing, _any(jumps[rows])) for sharing in sharings]
        scores = np.stack(
            [
                np.abs(tails.normal(one.steps[:, 0], rows, same[rows], *counted))
                for one, same in zip(passes, repeated, strict=True)
            ]
        )
        least, each = np.argmin(scores, axis=0), np.arange(len(rows))
        logs = np.log(np.maximum(trust, 1e-300))[:, None, None] + stats.norm.logsf(scores)
        likeliest = np.where(jumps[rows], 0.0, logsumexp(logs, axis=0))
        place = np.argmin(likeliest, axis=1)
        p = np.minimum(2 * tested * np.exp(likeliest[each, place]), 1.0)
        for row in np.flatnonzero(p < 1 - level):
            window = int(place[row])
            one = passes[least[row, window]]
            error = float(
                one.step_errors[row if len(one.step_errors) > 1 else 0, 0, window] * series.unit[rows[row], 0]
            )
            size = float(one.steps[row, 0, window]) * error
            found.append(Step(int(rows[row]), window, size, error, float(p[row])))
            jumps[rows[row], window] = True
        rows = rows[p < 1 - level]
        if not len(rows):
            break
    return sorted(found, key=lambda step: (step.window, step.symbol))


def family_size(symbols: int, windows: int) -> int:
    """How many steps are tested at once."""
    return symbols * max(windows - 1, 1)


def _any(jumps: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    return jumps if jumps.any() else None


def _repeated(series: Series, sharing: Sharing) -> Floats:
    """The correlation of each symbol's noise in a window with that in the window before, shape (S, T)."""
    both = np.concatenate([[0.0], np.diagonal(sharing.matrix, 1)])
    return np.asarray(series.permanent[:, None] * both)


def _light(z: Floats, excess: Floats) -> Floats:
    """A symmetric statistic with so much excess kurtosis transformed to normal: a saddlepoint approximation.

    It is taken for the difference of two Poisson counts with the variance v = 1 / excess together, whose cumulants are
    those of v (cosh s - 1). With w the signed root of twice the exponent at x = z sqrt(v), and y the saddlepoint in
    units of its curvature, w + log(y / w) / w is normal (Barndorff-Nielsen) at any distance, where an expansion in
    powers of z is not.
    """
    size, root = np.maximum(np.abs(z), 1e-3), np.sqrt(np.maximum(excess, 1e-12))
    u = root * size
    saddle, hill = np.arcsinh(u), np.sqrt(1 + u**2)
    w = np.sqrt(2 * np.maximum(u * saddle - u**2 / (1 + hill), 1e-300)) / root
    y = saddle * np.sqrt(hill) / root
    return np.asarray(z / size * np.maximum(w + np.log(y / w) / w, 0.0))


def _unskewed(z: Floats, skew: Floats) -> Floats:
    """A skewed statistic transformed to normal, by the first term of the Cornish-Fisher expansion.

    The expansion holds for moderate scores; beyond `_FAR` it goes on in a straight line, so that larger stays larger.
    """
    far = _FAR / np.maximum(np.abs(skew), 1e-9)
    near = np.clip(z, -far, far)
    moved = near - skew / 6 * (near**2 - 1) + (z - near)
    return np.asarray(np.where(np.abs(z) > 1, np.where(np.sign(moved) == np.sign(z), moved, 0.0), z))


def cusum_threshold(mean_windows: float) -> float:
    """The threshold of a two-sided CUSUM for a mean time between false alarms, in standard deviations.

    Siegmund's approximation: a one-sided CUSUM with slack k and bound h has the mean time
    (exp(2 k b) - 2 k b - 1) / (2 k^2) between false alarms, b = h + 1.166; two sides have half of it.

    Parameters
    ----------
    mean_windows
        The mean time between false alarms.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> round(cusum_threshold(168), 1), round(cusum_threshold(930), 1)
    (4.0, 5.7)
    """
    from scipy.optimize import brentq

    def mean_time(bound: float) -> float:
        x = 2 * _CUSUM_SLACK * (bound + _CUSUM_OVERSHOOT)
        return float(np.expm1(x) - x) / (2 * _CUSUM_SLACK**2) / 2

    if mean_time(0.0) >= mean_windows:
        return 0.0
    return float(brentq(lambda bound: mean_time(bound) - mean_windows, 0.0, 700.0))


def alarms_of(series: Series, sharing: Sharing, mean_windows: float, tails: Tails) -> list[tuple[int, int]]:
    """Windows at which each symbol raises an alarm, looking at no later window.

    Parameters
    ----------
    series
        The estimates of single windows.
    sharing
        How much of their noise windows have in common.
    mean_windows
        The mean time between two false alarms of all symbols together, in windows.
    tails
        How far the estimates are from normal.

    Returns
    -------
    list of (symbol, window)
        In the order of windows. After an alarm the symbol starts anew.

    Examples
    --------
    >>> import numpy as np
    >>> seen = np.repeat([[0.2, 0.3]], 10, axis=1) + 0.01 * np.array([1, -1] * 10)
    >>> series = Series(seen, np.full((1, 20), 1e-4), np.zeros(1), np.full(20, True))
    >>> alarms_of(series, Sharing.none(20), 1000, Tails(np.zeros(1), np.zeros(1), np.full(20, 1000.0)))
    [(0, 10)]
    """
    from scipy import stats

    symbols, windows = series.values.shape
    each = 2 * mean_windows * symbols  # windows between false alarms of one symbol, of each of the two tests
    bound, single = cusum_threshold(each), float(stats.norm.isf(0.5 / each))
    repeated, seen = _repeated(series, sharing), np.cumsum(series.there)
    jumps, found = np.zeros((symbols, windows), np.bool_), []
    rows, begins = np.arange(symbols), np.zeros(symbols, np.intp)
    while len(rows):
        innovations = series[rows].run(STILL, sharing, _any(jumps[rows])).innovations[:, 0]
        # An innovation compares one window with all of them since the last alarm.
        before = np.maximum(seen - seen[begins[rows], None], 1)
        scores = np.abs(tails.normal(innovations, rows, repeated[rows], before, np.ones(windows)))
        up = down = np.zeros(len(rows))
        first = np.full(len(rows), windows)
        for t in range(windows):
            # The first window, and the first after an alarm, only estimates the new level.
            counts = t > begins[rows]
            up = np.where(counts, np.maximum(up + innovations[:, t] - _CUSUM_SLACK, 0.0), 0.0)
            down = np.where(counts, np.maximum(down - innovations[:, t] - _CUSUM_SLACK, 0.0), 0.0)
            raised = (np.maximum(up, down) > bound) | (counts & (scores[:, t] > single))
            first = np.where((first == windows) & raised, t, first)
        alarmed = first < windows
        found += list(zip(rows[alarmed].tolist(), first[alarmed].tolist(), strict=True))
        rows, first = rows[alarmed], first[alarmed]
        begins[rows] = first
        jumps[rows, first] = True
    return sorted(found, key=lambda alarm: (alarm[1], alarm[0]))
