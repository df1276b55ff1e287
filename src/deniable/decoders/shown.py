"""Estimates as a prompt and a notebook show them: one line, or a table with bars.

Not to be confused with `rows`, which has every symbol and every number for programs.
"""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.decoders.quantity import shown_figure
from deniable.survey import Bar, Symbol, html_table
from deniable.tally import Tally

ROWS = 20  # rows of a table in a notebook
QUICK_SYMBOLS = 1024  # symbols up to which error bars are computed for a prompt: a fraction of a second

Floats = npt.NDArray[np.float64]


class Shown(Protocol):
    """What is shown of an `Estimate`, which imports this module."""

    @property
    def symbols(self) -> tuple[Symbol, ...]: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def probabilities(self) -> Floats: ...
    @property
    def raw(self) -> Floats: ...
    @property
    def tally(self) -> Tally: ...
    @property
    def rest(self) -> tuple[float, float] | None: ...
    @property
    def rest_name(self) -> str: ...
    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats: ...
    def mean(self) -> Any: ...
    def quantile(self, q: float) -> Any: ...


def largest_shares(estimate: Shown, count: int = 3) -> str:
    """The largest shares in one line, each with its 95 % interval where that is quick to compute."""
    parts = [
        f"{estimate.symbols[i]!r} {estimate.probabilities[i]:.3f}{f' ({limits})' if limits else ''}"
        for i, limits in largest(estimate, count)
    ]
    return ", ".join(parts) + (", ..." if len(estimate.symbols) > count else "")


def estimate_html(estimate: Shown) -> str:
    """The largest shares as bars, with 95 % intervals, and what is left."""
    most, rows = max(float(estimate.probabilities.max()), 1e-12), []
    found = largest(estimate, ROWS, percent=True)
    for i, limits in sorted(found) if estimate.tally.survey.encoding.is_ordered else found:
        share = float(estimate.probabilities[i])
        rows.append((estimate.labels[i], Bar(share / most), f"{100 * share:.2f} %", limits))
    if estimate.rest is not None:
        left = estimate.rest[0]
        rows.append((estimate.rest_name, Bar(left / most), f"{100 * left:.2f} %", ""))
    survey = estimate.tally.survey
    figures = "".join(
        f"{name} {shown_figure(figure.value)} ({' to '.join(map(shown_figure, figure.interval()))}). "
        for name, figure in _figures(estimate)
    )
    title = f"{survey.name or 'Estimate'}: {reports_in_words(estimate.tally.n)}, epsilon {survey.epsilon:g}"
    note = figures + note_on_rest(len(estimate.symbols), "share")
    return html_table(title, ["answer", "", "share", "95 % interval"], rows, note=note)


def _figures(estimate: Shown) -> list[tuple[str, Any]]:
    """Mean and median of numbers."""
    if estimate.tally.survey.alphabet.bins is None or len(estimate.symbols) > QUICK_SYMBOLS:
        return []
    return [("Mean", estimate.mean()), ("Median", estimate.quantile(0.5))]


def reports_in_words(n: int) -> str:
    """A number of reports, in words.

    >>> reports_in_words(1), reports_in_words(2000)
    ('1 report', '2,000 reports')
    """
    return f"{n:,} report{'' if n == 1 else 's'}"


def note_on_rest(symbols: int, what: str) -> str:
    """How many symbols a table in a notebook leaves out.

    >>> note_on_rest(25, "share")
    '5 smaller shares are not shown. '
    """
    left = symbols - ROWS
    if left <= 0:
        return ""
    return f"{left:,} smaller {what}s are not shown. " if left > 1 else f"1 smaller {what} is not shown. "


def largest(estimate: Shown, count: int, *, percent: bool = False) -> list[tuple[int, str]]:
    """Where the largest shares are, and their intervals in words: cut at 0 and 1, as shares are.

    An interval belongs to the unbiased estimate. Where shrinkage puts a share outside of it, both are named.
    """
    order = np.argsort(-estimate.probabilities, kind="stable")[:count].tolist()
    if len(estimate.symbols) > QUICK_SYMBOLS:
        return [(i, "") for i in order]
    found, limits = [], np.clip(estimate.intervals(0.95), 0.0, 1.0)
    for i in order:
        low, high = limits[i]
        words = f"{100 * low:.2f} to {100 * high:.2f} %" if percent else f"{low:.3f} to {high:.3f}"
        inside = low - 5e-4 <= estimate.probabilities[i] <= high + 5e-4
        raw = f"{100 * estimate.raw[i]:.2f} %" if percent else f"{estimate.raw[i]:.3f}"
        found.append((i, words if inside else f"shrunk; unbiased {raw}, {words}"))
    return found
