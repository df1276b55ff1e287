"""Estimates and differences as a prompt and a notebook show them: one line, or a table with bars.

Not to be confused with `rows`, which has every symbol and every number for programs.
"""

from typing import TYPE_CHECKING

import numpy as np

from deniable.survey.notebook import Bar, html_table

if TYPE_CHECKING:
    from deniable.decoders.comparison import Difference
    from deniable.decoders.estimate import Estimate

__all__ = ["difference_html", "difference_line", "estimate_html", "largest", "largest_shares"]

_LISTED = 20  # rows of a table in a notebook
_AT_ONCE = 1024  # symbols up to which error bars are found while a prompt waits


def largest_shares(estimate: "Estimate", count: int = 3) -> str:
    """The largest shares in one line, each with its 95 % interval where that takes no time."""
    parts = [
        f"{estimate.symbols[i]!r} {estimate.probabilities[i]:.3f}{f' ({limits})' if limits else ''}"
        for i, limits in largest(estimate, count)
    ]
    return ", ".join(parts) + (", ..." if len(estimate.symbols) > count else "")


def estimate_html(estimate: "Estimate") -> str:
    """The largest shares as bars, with 95 % intervals, and what is left."""
    most, rows = max(float(estimate.probabilities.max()), 1e-12), []
    for i, limits in largest(estimate, _LISTED, percent=True):
        share = float(estimate.probabilities[i])
        rows.append((estimate.labels[i], Bar(share / most), f"{100 * share:.2f} %", limits))
    if estimate.rest is not None:
        left = estimate.rest[0]
        rows.append((estimate.rest_name, Bar(left / most), f"{100 * left:.2f} %", ""))
    survey = estimate.tally.survey
    title = f"{survey.name or 'Estimate'}: {_reports(estimate.n)}, epsilon {survey.epsilon:g}"
    return html_table(title, ["answer", "", "share", "95 % interval"], rows, note=_note(estimate, "share"))


def difference_line(change: "Difference", count: int = 3) -> str:
    """The largest changes in one line, each with its standard error where that takes no time."""
    order = np.argsort(-np.abs(change.raw), kind="stable")[:count].tolist()
    quick = len(change.symbols) <= _AT_ONCE
    parts = [
        f"{change.symbols[i]!r} {change.raw[i]:+.3f}{f' ± {change.standard_errors[i]:.3f}' if quick else ''}"
        for i in order
    ]
    return ", ".join(parts) + (", ..." if len(change.symbols) > count else "")


def difference_html(change: "Difference") -> str:
    """The largest changes as bars, with 95 % intervals; those that are significant, family-wise, are marked."""
    order = np.argsort(-np.abs(change.raw), kind="stable")[:_LISTED].tolist()
    most, quick = max(float(np.abs(change.raw).max()), 1e-12), len(change.symbols) <= _AT_ONCE
    rows = []
    for i in order:
        limits, mark = "", ""
        if quick:
            low, high = np.clip(change.intervals()[i], -1.0, 1.0)
            limits, mark = f"{100 * low:+.2f} to {100 * high:+.2f} %", "changed" if change.changed()[i] else ""
        told = f"{100 * change.raw[i]:+.2f} %"
        rows.append((change.first.labels[i], Bar(abs(change.raw[i]) / most), told, limits, mark))
    title = f"{change.first.tally.survey.name or 'Difference'}: {change.second.n:,} to {_reports(change.first.n)}"
    note = _note(change.first, "change")
    return html_table(title, ["answer", "", "change", "95 % interval", ""], rows, note=note)


def _reports(n: int) -> str:
    return f"{n:,} report{'' if n == 1 else 's'}"


def _note(estimate: "Estimate", what: str) -> str:
    left = len(estimate.symbols) - _LISTED
    if left <= 0:
        return ""
    return f"{left:,} smaller {what}s are not shown. " if left > 1 else f"1 smaller {what} is not shown. "


def largest(estimate: "Estimate", count: int, *, percent: bool = False) -> list[tuple[int, str]]:
    """Where the largest shares are, and their intervals in words: cut at 0 and 1, as shares are.

    An interval belongs to the unbiased estimate. Where shrinkage puts a share outside of it, both are named.
    """
    order = np.argsort(-estimate.probabilities, kind="stable")[:count].tolist()
    if len(estimate.symbols) > _AT_ONCE:
        return [(i, "") for i in order]
    found, limits = [], np.clip(estimate.intervals(0.95), 0.0, 1.0)
    for i in order:
        low, high = limits[i]
        words = f"{100 * low:.2f} to {100 * high:.2f} %" if percent else f"{low:.3f} to {high:.3f}"
        inside = low - 5e-4 <= estimate.probabilities[i] <= high + 5e-4
        raw = f"{100 * estimate.raw[i]:.2f} %" if percent else f"{estimate.raw[i]:.3f}"
        found.append((i, words if inside else f"shrunk; unbiased {raw}, {words}"))
    return found
