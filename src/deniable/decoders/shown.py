"""Estimates and differences as a prompt and a notebook show them: one line, or a table with bars.

Not to be confused with `rows`, which has every symbol and every number for programs.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from deniable.survey import Symbol
from deniable.survey.notebook import Bar, html_table
from deniable.tally import Tally

__all__ = ["difference_html", "difference_line", "estimate_html", "largest", "largest_shares"]

_ROWS = 20  # rows of a table in a notebook
_QUICK_SYMBOLS = 1024  # symbols up to which error bars are computed for a prompt: a fraction of a second

Floats = npt.NDArray[np.float64]


class _Intervals(Protocol):
    """Symbols with intervals: what estimates and differences have in common."""

    @property
    def symbols(self) -> tuple[Symbol, ...]: ...
    @property
    def raw(self) -> Floats: ...
    @property
    def standard_errors(self) -> Floats: ...
    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats: ...


class _Shares(_Intervals, Protocol):
    """What is shown of an `Estimate`."""

    @property
    def probabilities(self) -> Floats: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def tally(self) -> Tally: ...
    @property
    def rest(self) -> tuple[float, float] | None: ...
    @property
    def rest_name(self) -> str: ...


class _Changes(_Intervals, Protocol):
    """What is shown of a `Difference`."""

    @property
    def first(self) -> _Shares: ...
    @property
    def second(self) -> _Shares: ...
    def changed(self, level: float = 0.95) -> npt.NDArray[np.bool_]: ...


def largest_shares(estimate: _Shares, count: int = 3) -> str:
    """The largest shares in one line, each with its 95 % interval where that is quick to compute."""
    parts = [
        f"{estimate.symbols[i]!r} {estimate.probabilities[i]:.3f}{f' ({limits})' if limits else ''}"
        for i, limits in largest(estimate, count)
    ]
    return ", ".join(parts) + (", ..." if len(estimate.symbols) > count else "")


def estimate_html(estimate: _Shares) -> str:
    """The largest shares as bars, with 95 % intervals, and what is left."""
    most, rows = max(float(estimate.probabilities.max()), 1e-12), []
    for i, limits in largest(estimate, _ROWS, percent=True):
        share = float(estimate.probabilities[i])
        rows.append((estimate.labels[i], Bar(share / most), f"{100 * share:.2f} %", limits))
    if estimate.rest is not None:
        left = estimate.rest[0]
        rows.append((estimate.rest_name, Bar(left / most), f"{100 * left:.2f} %", ""))
    survey = estimate.tally.survey
    title = f"{survey.name or 'Estimate'}: {_reports(estimate.tally.n)}, epsilon {survey.epsilon:g}"
    return html_table(title, ["answer", "", "share", "95 % interval"], rows, note=_note(estimate, "share"))


def difference_line(change: _Changes, count: int = 3) -> str:
    """The largest changes in one line, each with its standard error where that is quick to compute."""
    order = np.argsort(-np.abs(change.raw), kind="stable")[:count].tolist()
    quick = len(change.symbols) <= _QUICK_SYMBOLS
    parts = [
        f"{change.symbols[i]!r} {change.raw[i]:+.3f}{f' ± {change.standard_errors[i]:.3f}' if quick else ''}"
        for i in order
    ]
    return ", ".join(parts) + (", ..." if len(change.symbols) > count else "")


def difference_html(change: _Changes) -> str:
    """The largest changes as bars, with 95 % intervals; those that are significant, family-wise, are marked."""
    order = np.argsort(-np.abs(change.raw), kind="stable")[:_ROWS].tolist()
    most, quick = max(float(np.abs(change.raw).max()), 1e-12), len(change.symbols) <= _QUICK_SYMBOLS
    rows = []
    for i in order:
        limits, mark = "", ""
        if quick:
            low, high = np.clip(change.intervals()[i], -1.0, 1.0)
            limits, mark = f"{100 * low:+.2f} to {100 * high:+.2f} %", "changed" if change.changed()[i] else ""
        told = f"{100 * change.raw[i]:+.2f} %"
        rows.append((change.first.labels[i], Bar(abs(change.raw[i]) / most), told, limits, mark))
    before, after = change.second.tally, change.first.tally
    title = f"{after.survey.name or 'Difference'}: {before.n:,} to {_reports(after.n)}"
    note = _note(change.first, "change")
    return html_table(title, ["answer", "", "change", "95 % interval", ""], rows, note=note)


def _reports(n: int) -> str:
    return f"{n:,} report{'' if n == 1 else 's'}"


def _note(estimate: _Shares, what: str) -> str:
    left = len(estimate.symbols) - _ROWS
    if left <= 0:
        return ""
    return f"{left:,} smaller {what}s are not shown. " if left > 1 else f"1 smaller {what} is not shown. "


def largest(estimate: _Shares, count: int, *, percent: bool = False) -> list[tuple[int, str]]:
    """Where the largest shares are, and their intervals in words: cut at 0 and 1, as shares are.

    An interval belongs to the unbiased estimate. Where shrinkage puts a share outside of it, both are named.
    """
    order = np.argsort(-estimate.probabilities, kind="stable")[:count].tolist()
    if len(estimate.symbols) > _QUICK_SYMBOLS:
        return [(i, "") for i in order]
    found, limits = [], np.clip(estimate.intervals(0.95), 0.0, 1.0)
    for i in order:
        low, high = limits[i]
        words = f"{100 * low:.2f} to {100 * high:.2f} %" if percent else f"{low:.3f} to {high:.3f}"
        inside = low - 5e-4 <= estimate.probabilities[i] <= high + 5e-4
        raw = f"{100 * estimate.raw[i]:.2f} %" if percent else f"{estimate.raw[i]:.3f}"
        found.append((i, words if inside else f"shrunk; unbiased {raw}, {words}"))
    return found
