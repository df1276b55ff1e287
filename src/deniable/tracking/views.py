"""How tracked windows are looked at: an Arrow table, a chart, and the table of a notebook."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.decoders import ROWS, note_on_rest
from deniable.survey import Bar, Symbol, html_table
from deniable.tracking.contrast import Change
from deniable.tracking.window import TrackedWindow

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["arrow_of", "chart_of", "html_of"]

Floats = npt.NDArray[np.float64]


def arrow_of(symbols: Sequence[Symbol], windows: Sequence[TrackedWindow], level: float) -> "pa.Table":
    """A row for each window and symbol."""
    import pyarrow as pa

    intervals = [window.intervals(level) for window in windows]
    size = len(symbols)
    return pa.table(
        {
            "window": [str(window.window) for window in windows for _ in range(size)],
            "n": [window.n for window in windows for _ in range(size)],
            "symbol": [str(symbol) for _ in windows for symbol in symbols],
            "probability": np.concatenate([window.probabilities for window in windows]),
            "raw": np.concatenate([window.raw for window in windows]),
            "low": np.concatenate([limits[:, 0] for limits in intervals]),
            "high": np.concatenate([limits[:, 1] for limits in intervals]),
        }
    )


def chart_of(
    symbols: Sequence[Symbol], windows: Sequence[TrackedWindow], changes: Sequence[Change], *, level: float, top: int
) -> "alt.LayerChart":
    """The symbols that are largest in the mean of all windows, with bands, and a mark where one changed.

    By the last window alone those that have died out would not be drawn, however much they changed.
    """
    from deniable.charts import trend_chart

    mean = np.mean([window.probabilities for window in windows], axis=0)
    order = np.argsort(-mean, kind="stable")[:top].tolist()
    changed = {(change.symbol, change.window) for change in changes}
    rows = []
    for window in windows:
        limits = window.intervals(level).tolist()
        for place in order:
            symbol = symbols[place]
            rows.append(
                {
                    "window": str(window.window),
                    "name": str(symbol),
                    "estimate": float(window.probabilities[place]),
                    "low": limits[place][0],
                    "high": limits[place][1],
                    "changed": (symbol, window.window) in changed,
                }
            )
    return trend_chart(rows, level=level)


def html_of(last: TrackedWindow, about: str, since: Floats, first: object) -> str:
    """The largest shares of the last window, and how much each changed since the first."""
    most, rows = max(float(last.probabilities.max()), 1e-12), []
    limits = np.clip(last.intervals(), 0.0, 1.0)
    for place in np.argsort(-last.probabilities, kind="stable")[:ROWS].tolist():
        share, (low, high) = float(last.probabilities[place]), limits[place]
        interval = f"{100 * low:.2f} to {100 * high:.2f} %"
        change = f"{100 * since[place]:+.2f} points"
        rows.append((last.symbols[place], Bar(share / most), f"{100 * share:.2f} %", interval, change))
    title = f"Window {last.window}, {about}"
    header = ["answer", "", "share", "95 % interval", f"since {first}"]
    return html_table(title, header, rows, note=note_on_rest(len(last.symbols), "share"))
