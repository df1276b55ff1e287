"""`Compared`: sums and differences of windows, changes and alarms, without any model of how shares move.

Where days of a week differ that is no change, and a normal Sunday is the mean of Sundays before it. All are made of the
windows' own unbiased estimates. What all windows say of one of them is `Tracked`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.decoders import check_level
from deniable.errors import DecodeError
from deniable.survey import Symbol
from deniable.tracking.averaging import Series
from deniable.tracking.changes import Step, Tails, alarms_of, steps_of
from deniable.tracking.contrast import Change, Contrast, variances_of_sums
from deniable.tracking.cycles import cycle_of, profile_of
from deniable.tracking.overlap import Attendance, Overlap

__all__ = ["Compared"]

Floats = npt.NDArray[np.float64]

_MOST_WINDOWS = 1e9  # between two false alarms: the limits of the charts are searched for up to here
_NORMAL_WINDOWS, _NORMAL_CYCLES = 28, 4  # before one that tell what is normal, at most: four weeks of days
_BELIEVED = 0.95  # level at which steps are counted that a cycle explains, or causes
_ROUNDS = 3  # of finding steps and what is a cycle beside them: a step that is not known yet leaks into the cycle


@dataclass(frozen=True)
class Compared:
    """Windows with the noise that they share; the attributes are those of `Tracked`."""

    symbols: tuple[Symbol, ...]
    windows: tuple[object, ...]
    devices: Attendance
    series: Series
    overlap: Overlap
    least: Overlap
    tails: Tails
    unlisted: Floats

    @property
    def sizes(self) -> Floats:
        """Reports of each window; 0 if it is missing."""
        return self.devices.sizes

    @property
    def is_shared(self) -> bool:
        """Whether windows share noise: whether devices take part in more than one of them and repeat it."""
        return bool(self.series.permanent.any())

    @cached_property
    def cycle(self) -> int | None:
        """The windows of the calendar's own cycle where shares follow it, such as 7 days of a week; None elsewhere.

        A large step looks like a cycle, too, and a cycle like many steps. So it is believed where it takes fewer steps,
        or is there without them.
        """
        calendar = self.series.calendar
        if not self._cycles(np.zeros_like(self.series.values)):
            return None
        alone, beside = self._steps(_BELIEVED, None), self._steps(_BELIEVED, calendar)
        return calendar if len(beside) < len(alone) or self._cycles(self._levels(alone)) else None

    def _cycles(self, levels: Floats) -> bool:
        """Whether a test sees the cycle of the calendar, if there is one, in what is left above these levels."""
        series, unit = self.series, self.series.unit
        values, variances = (series.values - levels) / unit, series.variances / unit**2
        period, _ = cycle_of(values, variances, series.there, series.calendar)
        return period is not None and period == series.calendar

    def _levels(self, steps: list[Step]) -> Floats:
        """How far each share is above its first level."""
        levels = np.zeros_like(self.series.values)
        for step in steps:
            levels[step.symbol, step.window :] += step.size
        return levels

    @property
    def turnover(self) -> float:
        """About how many of the devices are replaced, or change their answer, from one window to the next."""
        return 1 - self.overlap.mean

    @property
    def shared_noise(self) -> str:
        """One sentence where windows share devices and noise: which error bars are shown; else empty."""
        if not self.is_shared:
            return ""
        lives = self.devices.lives
        if lives.turnover is not None and lives.change is not None:
            return (
                "Devices take part again and repeat their noise: error bars follow from the turnover and the answers "
                "that change."
            )
        if lives.turnover is not None:
            return (
                "Devices take part again and repeat their noise: error bars follow from the turnover; averages have "
                "those of devices that all keep their answers. Give the change if answers do."
            )
        if lives.change is not None:
            return (
                "Devices take part again and repeat their noise: bands and differences follow what the counts show of "
                "it; averages have the error bars of devices that all stay, some with other answers. Give the turnover "
                "if devices are replaced."
            )
        return (
            "Devices take part again and repeat their noise: bands and differences follow what the counts show of it; "
            "averages have the wider error bars of devices that all stay. Give the turnover if devices are replaced."
        )

    def changes(self, level: float = 0.95) -> list[Change]:
        """Which symbols changed, and when. What repeats with `cycle` is no change.

        Parameters
        ----------
        level
            The chance that nothing is named in a history in which nothing changes: all symbols and windows together.

        Returns
        -------
        list of Change
            In the order of windows; a slow change is named as several steps.

        Examples
        --------
        >>> import deniable as dn, numpy as np
        >>> survey = dn.krr(symbols=["a", "b", "c"], epsilon=2)
        >>> before, after = dn.Tally(survey, [[700, 200, 100]]), dn.Tally(survey, [[400, 500, 100]])
        >>> [(change.symbol, change.window) for change in dn.track([before] * 5 + [after] * 5).changes()]
        [('a', 5), ('b', 5)]
        """
        from scipy import stats

        check_level(level)
        reach = float(stats.norm.isf(0.025))
        found = self._steps(level, self.cycle)
        most: dict[int, float] = {}  # the largest step of each window
        for step in found:
            most[step.window] = max(most.get(step.window, 0.0), abs(step.size))
        changes = []
        for step in found:
            moved = self._noise_of_moves(step.window, most[step.window])[step.symbol]
            error = reach * float(np.sqrt(step.standard_error**2 + moved))
            interval = step.size - error, step.size + error
            changes.append(
                Change(self.symbols[step.symbol], self.windows[step.window], step.size, interval, step.p_value)
            )
        return changes

    def _steps(self, level: float, period: int | None) -> list[Step]:
        """Steps of the level; where there is a cycle it is taken out, without the steps that are known by then."""
        series, sharings = self.series, self.least.sharings(self.devices)
        found: list[Step] = []
        levels = np.zeros_like(series.values)
        for _ in range(1 if period is None else _ROUNDS):
            if period is not None:
                cycle = profile_of(self.series.values - levels, self.series.there / self.series.variances, period)
                series = replace(self.series, values=self.series.values - cycle)
            found = steps_of(series, sharings, self.least.trust, self.tails, level)
            levels = self._levels(found)
        return found

    def _noise_of_moves(self, window: int, moved: float) -> Floats:
        """What devices that change their answer add to the variance of a difference: their noise is drawn anew.

        `moved` of the devices at least do where a share changes by as much, and each takes its part out of the noise
        that two windows share.
        """
        return np.asarray(2 * min(moved, 1.0) * self.series.permanent * self.series.variances[:, window])

    def _with_moves(self, found: Contrast, window: int) -> Contrast:
        more = self._noise_of_moves(window, float(np.abs(found.values).max()))
        return replace(found, standard_errors=np.sqrt(found.standard_errors**2 + more))

    def alarms(self, mean_windows: float = 1000.0) -> list[tuple[Symbol, object]]:
        """Alarms of sequential tests for each symbol (CUSUM and Shewhart's chart): an alarm uses no later window.

        Parameters
        ----------
        mean_windows
            The mean time between two false alarms, of all symbols together, in windows.

        Returns
        -------
        list of (symbol, window)
            In the order of windows.
        """
        is_number = isinstance(mean_windows, (int, float, np.floating)) and not isinstance(mean_windows, bool)
        if not is_number or not 1 < mean_windows <= _MOST_WINDOWS:
            raise DecodeError(f"mean_windows must be more than 1 and at most {_MOST_WINDOWS:g}, got {mean_windows!r}")
        found = alarms_of(self.series, self.least.typical(self.devices), mean_windows, self.tails)
        return [(self.symbols[symbol], self.windows[window]) for symbol, window in found]

    def difference(self, later: int, earlier: int) -> Contrast:
        """The shares of one window less those of another, without any model of movement.

        Parameters
        ----------
        later, earlier
            Places of the two windows; negative ones count from the end.

        Returns
        -------
        Contrast
            Differences; noise that both windows share cancels.
        """
        weights = np.zeros(len(self.windows))
        weights[self._place(later)] += 1.0
        weights[self._place(earlier)] -= 1.0
        return self._with_moves(self.contrast(weights), later)

    def _number(self, window: Any) -> int:
        if not hasattr(window, "__index__"):
            known = f", as windows.index({window!r}) is" if window in self.windows else ", counted from 0"
            raise DecodeError(f"window must be a place, a whole number{known}, got {window!r}")
        return int(window.__index__())

    def _place(self, window: int) -> int:
        """The place of a window that has reports, counted from the first."""
        window, size = self._number(window), len(self.windows)
        if not -size <= window < size:
            raise DecodeError(f"window must be from {-size} to {size - 1}, got {window}")
        if not self.sizes[window]:
            raise DecodeError(f"window must have reports, got {self.windows[window]}, which has none")
        return window % size

    def average(self, first: int = 0, last: int | None = None) -> Contrast:
        """The mean share over a range of windows, each counted alike; missing ones are left out.

        Parameters
        ----------
        first, last
            The range as for a slice: `last` is not part of it, None is the end.

        Returns
        -------
        Contrast
            Averages; noise that windows share does not average out.
        """
        weights = np.zeros(len(self.windows))
        weights[first:last] = 1.0
        weights[self.sizes == 0] = 0.0
        if not weights.any():
            raise DecodeError("an average must be over at least one window with reports, got none")
        return self.contrast(weights / weights.sum())

    def contrast(self, weights: npt.ArrayLike) -> Contrast:
        """A weighted sum of the windows' own unbiased estimates, for every symbol.

        Parameters
        ----------
        weights
            One number a window, or a row of them for each symbol; missing windows must have none.

        Returns
        -------
        Contrast
            Its values and standard errors: the covariance of windows is averaged over how many devices may stay, with
            shares that move and with shares that stand still. The largest of these and of the bound is used: that all
            devices that are left after the turnover keep their answers.
        """
        try:
            w = np.asarray(weights, np.float64)
        except (TypeError, ValueError):
            w = np.full(1, np.nan)
        if not np.isfinite(w).all():
            raise DecodeError("weights must be finite numbers, one a window, got others")
        if w.shape not in ((len(self.windows),), self.series.values.shape):
            raise DecodeError(f"weights must be {len(self.windows)} numbers, one a window, got shape {w.shape}")
        w = np.atleast_2d(w)
        if (self.sizes[w.any(axis=0)] == 0).any():
            raise DecodeError("weights must be zero for windows without reports")
        used = w.any(axis=0)
        values = (self.series.values[:, used] * w[:, used]).sum(axis=1)
        variances = variances_of_sums(self.series, w, self.devices, (self.overlap, self.least))
        variances += w.sum(axis=1) ** 2 * self.unlisted  # the same in all windows: differences have none of it
        return Contrast(self.symbols, values, np.sqrt(variances))

    def against_normal(self, window: int = -1, *, level: float = 0.95) -> Contrast:
        """How one window differs from a normal one: its own estimate less the mean of the windows before it.

        Normal are the last windows, at most 28, since the share of the symbol last changed. Where shares follow a
        `cycle` they are those of the same place in the last four: Sundays, for a Sunday. If there is none since the
        change, what such windows differed by before it is added to the mean of those since.

        Parameters
        ----------
        window
            Its place; negative ones count from the end. It must have reports, and a window before it, too.
        level
            Of the changes after which another share is normal.

        Returns
        -------
        Contrast
            Differences; noise that windows share cancels.

        Examples
        --------
        >>> import deniable as dn
        >>> survey = dn.krr(symbols=["a", "b", "c"], epsilon=2)
        >>> before, after = dn.Tally(survey, [[700, 200, 100]]), dn.Tally(survey, [[400, 500, 100]])
        >>> dn.track([before] * 5 + [after]).against_normal().intervals(simultaneous=True).round(1)[0]
        array([-0.5, -0.4])
        """
        place = self._place(window)
        start = np.full(len(self.symbols), max(place - self._normally, 0))
        named = {label: position for position, label in enumerate(self.windows)}
        row = {symbol: position for position, symbol in enumerate(self.symbols)}
        for change in self.changes(level):
            if named[change.window] < place:
                start[row[change.symbol]] = max(start[row[change.symbol]], named[change.window])
        normal = {first: self._normal(first, place) for first in set(start.tolist())}
        weights = -np.stack([normal[first] for first in start.tolist()])
        weights[:, place] = 1.0
        return self._with_moves(self.contrast(weights), place)

    @property
    def _normally(self) -> int:
        """How many windows before one may tell what is normal for it."""
        return _NORMAL_WINDOWS if self.cycle is None else _NORMAL_CYCLES * self.cycle

    def _normal(self, start: int, place: int) -> Floats:
        """The weights of the windows whose mean is normal for one, where those from `start` on are of its level."""
        t = np.arange(len(self.windows))
        turn = t % self.cycle if self.cycle else np.zeros_like(t)

        def mean(chosen: npt.NDArray[np.bool_], at: int) -> Floats:
            weights = np.where(chosen & (turn == at), self.sizes, 0.0)
            return np.asarray(weights / max(float(weights.sum()), 1e-300))

        since, before = (t >= start) & (t < place), (t < start) & (t >= start - self._normally)
        found = mean(since, turn[place])
        if not found.any():
            here, others = mean(before, turn[place]), {at: mean(before, at) for at in set(turn[since].tolist())}
            parts = {at: float(self.sizes[since & (turn == at)].sum()) for at in others}
            parts = {at: part / sum(parts.values()) for at, part in parts.items() if part}
            if not parts or not here.any() or not all(others[at].any() for at in parts):
                raise DecodeError(
                    f"window must have one with reports before it, since the last change, got {self.windows[place]}"
                )
            for at, part in parts.items():
                found = found + part * (mean(since, at) - others[at])
            found = found + here
        return found
