"""`Tracked`: a distribution that changes, as a sequence of windows; what changed, and sums of windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.decoders import Observations, shrink
from deniable.tracking.averaging import Moving
from deniable.tracking.compared import Compared
from deniable.tracking.views import arrow_of, chart_of, html_of
from deniable.tracking.window import TrackedWindow

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["Tracked"]

Floats = npt.NDArray[np.float64]

# Standard deviations of the noise's mean square beyond which shares are taken to differ; and what bounds the product of
# both: few symbols would be shrunk too much (16 that jump in 20 windows had 5 % more error without the bound).
_DOUBTS, _MOST_DOUBT = 2.0, 0.02


@dataclass(frozen=True)
class Tracked(Compared, Sequence[TrackedWindow]):
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
    series : Series
        The unbiased estimates of single windows with their noise.
    overlap : Overlap
        Possible shares of devices that stay, and that keep their answer, if shares move as the models say.
    least : Overlap
        The same if shares stand still, so that all that differs is noise: a lower bound, which differences use.
    tails : Tails
        How far the estimates of single windows are from normal.
    unlisted : ndarray
        What answers that are not among the candidates add to the variance of every level, the same in all windows.
    doubt : float
        Relative standard deviation of the noise's mean square over the symbols, in one draw of it.
    moving : Moving
        Filtered and smoothed estimates and their variances, shape (S, T) each.
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

    doubt: float
    moving: Moving
    totals: Floats  # what the symbols of each window add up to: one, less what is unallocated

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

    def _window(self, window: Any, levels: Floats, variances: Floats) -> TrackedWindow:
        place = self._number(window)
        if not -len(self) <= place < len(self):
            raise IndexError(f"window must be below {len(self)}, got {place}")
        place %= len(self)
        raw, variance = levels[:, place], variances[:, place]
        # One draw of the noise is in all windows. What it has by chance beyond its variance must not be taken for
        # shares that differ: single windows err so by turns, but here all of them would at once.
        wider = 1 + min(_DOUBTS * self.doubt, _MOST_DOUBT / self.doubt)
        noise = np.maximum(wider * variance, 1e-300)
        shares = shrink(Observations(raw, noise, 0.0), total=float(self.totals[place]))
        return TrackedWindow(self.windows[place], self.symbols, int(self.sizes[place]), shares, raw, np.sqrt(variance))

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
