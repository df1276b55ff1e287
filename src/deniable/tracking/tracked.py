"""`Tracked`: a distribution that changes, as a sequence of windows; what changed, and sums of windows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.decoders import Observations, shrink
from deniable.errors import DecodeError
from deniable.survey import Symbol
from deniable.tracking.averaging import Moving, Series
from deniable.tracking.changes import alarms_of, steps_of
from deniable.tracking.contrast import Change, Contrast, variances_of_sums
from deniable.tracking.overlap import Attendance, Overlap
from deniable.tracking.views import arrow_of, chart_of, html_of
from deniable.tracking.window import TrackedWindow

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["Tracked"]

Floats = npt.NDArray[np.float64]

_NORMAL_WINDOWS = 28  # windows before one that tell what is normal, at most: four weeks of days


@dataclass(frozen=True)
class Tracked(Sequence[TrackedWindow]):
    """A distribution that changes: one estimate a window, each from the reports of all windows.

    `tracked[i]` uses all windows (smoothed), `tracked.as_of(i)` those up to i (filtered). For the last window they are
    the same.

    Parameters
    ----------
    symbols : tuple of symbols
        The symbols, in the order of the arrays.
    windows : tuple
        The labels of the windows, with the missing ones between them.
    devices : Attendance
        What is known of the devices of each window: how many, of which survey, and the turnover that was given.
    moving : Moving
        Filtered and smoothed estimates and their variances, shape (S, T) each.
    series : Series
        The unbiased estimates of single windows with their noise.
    overlap : Overlap
        Possible shares of devices that stay, and that keep their answer, if shares move as the models say.
    least : Overlap
        The same if shares stand still, so that all that differs is noise: a lower bound, which differences use.
    skewness : ndarray
        Skewness of each symbol's estimate in one window.
    totals : ndarray
        The sum of the shares of each window: one, less the unallocated share.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["a", "b", "c"], epsilon=2)
    >>> before, after = dn.Tally(survey, [[700, 200, 100]]), dn.Tally(survey, [[400, 500, 100]])
    >>> tracked = dn.track([before] * 5 + [after] * 5)
    >>> tracked.as_of(4)["a"] > tracked.as_of(9)["a"], tracked.alarms()[0]
    (True, ('a', 5))
    >>> bool(tracked.difference(-1, 0).values[0] < 0), tracked.average(0, 5).values.round(2).tolist()
    (True, [0.87, 0.14, -0.01])
    >>> bool((tracked.contrast([1.0] + [0.0] * 9).values == tracked.average(0, 1).values).all())
    True
    >>> tracked.to_arrow().num_rows, tracked.chart().to_dict() == tracked.plot().to_dict()
    (30, True)
    """

    symbols: tuple[Symbol, ...]
    windows: tuple[object, ...]
    devices: Attendance
    moving: Moving
    series: Series
    overlap: Overlap
    least: Overlap
    skewness: Floats
    totals: Floats  # what the symbols of each window add up to: one, less what is unallocated

    @property
    def sizes(self) -> Floats:
        """Reports of each window; 0 if it is missing."""
        return self.devices.sizes

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, window: Any) -> Any:
        if isinstance(window, slice):
            return [self[place] for place in range(*window.indices(len(self)))]
        return self._window(window, self.moving.smoothed, self.moving.smoothed_variance)

    def as_of(self, window: int) -> TrackedWindow:
        """The estimate of a window from the windows up to it, as it was available when the window ended.

        Parameters
        ----------
        window : int
            Its place; negative ones count from the end.

        Returns
        -------
        TrackedWindow
            Shares with intervals.
        """
        return self._window(window, self.moving.filtered, self.moving.filtered_variance)

    def _window(self, place: int, levels: Floats, variances: Floats) -> TrackedWindow:
        if not -len(self) <= place < len(self):
            raise IndexError(f"window must be below {len(self)}, got {place}")
        place %= len(self)
        raw, variance = levels[:, place], variances[:, place]
        shares = shrink(Observations(raw, np.maximum(variance, 1e-300), 0.0), total=float(self.totals[place]))
        return TrackedWindow(self.windows[place], self.symbols, int(self.sizes[place]), shares, raw, np.sqrt(variance))

    @property
    def is_shared(self) -> bool:
        """Whether windows share noise: whether devices take part in more than one of them and repeat it."""
        return bool(self.series.permanent.any())

    @property
    def turnover(self) -> float:
        """About how many of the devices are replaced, or change their answer, from one window to the next."""
        return 1 - self.overlap.mean

    @property
    def shared_noise(self) -> str:
        """One sentence where windows share devices and noise: which error bars are shown; else empty."""
        if not self.is_shared:
            return ""
        if self.devices.turnover is not None:
            return "Devices take part again and repeat their noise: error bars follow from the turnover."
        return (
            "Devices take part again and repeat their noise: bands and differences follow what the counts show of it; "
            "averages have the wider error bars of devices that all stay. Give the turnover if devices are replaced."
        )

    def changes(self, level: float = 0.95) -> list[Change]:
        """Which symbols changed, and when.

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

        if not 0 < level < 1:
            raise DecodeError(f"level must be between 0 and 1, got {level!r}")
        reach = float(stats.norm.isf(0.025))
        found = steps_of(self.series, self.least.sharings(self.devices), self.skewness, level)
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
        if not mean_windows > 1:
            raise DecodeError(f"mean_windows must be more than 1, got {mean_windows!r}")
        found = alarms_of(self.series, self.least.typical(self.devices), mean_windows, self.skewness)
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
        weights = np.zeros(len(self))
        weights[later] += 1.0
        weights[earlier] -= 1.0
        return self._with_moves(self.contrast(weights), later)

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
        weights = np.zeros(len(self))
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
        w = np.asarray(weights, np.float64)
        if w.shape not in ((len(self),), self.series.values.shape):
            raise DecodeError(f"weights must be {len(self)} numbers, one a window, got shape {w.shape}")
        w = np.atleast_2d(w)
        if (self.sizes[w.any(axis=0)] == 0).any():
            raise DecodeError("weights must be zero for windows without reports")
        used = w.any(axis=0)
        values = (self.series.values[:, used] * w[:, used]).sum(axis=1)
        variances = variances_of_sums(self.series, w, self.devices, (self.overlap, self.least))
        return Contrast(self.symbols, values, np.sqrt(variances))

    def against_normal(self, window: int = -1, *, level: float = 0.95) -> Contrast:
        """How one window differs from a normal one: its own estimate less the mean of the windows before it.

        Normal are the last windows, at most 28, since the share of the symbol last changed.

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
        place = range(len(self))[window]
        start = np.full(len(self.symbols), max(place - _NORMAL_WINDOWS, 0))
        named = {label: position for position, label in enumerate(self.windows)}
        row = {symbol: position for position, symbol in enumerate(self.symbols)}
        for change in self.changes(level):
            if named[change.window] < place:
                start[row[change.symbol]] = max(start[row[change.symbol]], named[change.window])
        t = np.arange(len(self))
        weights = np.where((t >= start[:, None]) & (t < place), self.sizes, 0.0)
        if not self.sizes[place] or not weights.any(axis=1).all():
            raise DecodeError("window must have reports, and so must one before it, since the last change")
        weights /= -weights.sum(axis=1, keepdims=True)
        weights[:, place] = 1.0
        return self._with_moves(self.contrast(weights), place)

    def to_arrow(self, level: float = 0.95) -> "pa.Table":
        """An Arrow table with a row for each window and symbol: window, n, symbol, probability, raw, low, high.

        Parameters
        ----------
        level
            Of the confidence intervals.

        Returns
        -------
        pyarrow.Table
            Windows in their order.
        """
        return arrow_of(self.symbols, list(self), level)

    def chart(self, *, level: float = 0.95, top: int = 6) -> "alt.LayerChart":
        """The largest symbols over time: lines with bands, and a mark where one changed.

        Parameters
        ----------
        level
            Of the bands and of the changes.
        top
            How many symbols, at most six.

        Returns
        -------
        altair.LayerChart
            A chart for notebooks; `deniable.charts.save_chart` writes it.
        """
        return chart_of(self.symbols, list(self), self.changes(level), level=level, top=top)

    plot = chart

    def __repr__(self) -> str:
        return f"<Tracked {len(self.symbols)} symbols over {len(self)} windows, {int(self.sizes.sum())} reports>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the largest shares of the last window, and how each changed since the first."""
        about = f"the last of {len(self)}: {int(self.sizes.sum()):,} reports in all"
        return html_of(self[-1], about, self.difference(-1, 0).values, self.windows[0])
