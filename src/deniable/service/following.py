"""The windows of a survey tracked together, as members of JSON: what `trends` adds to each window decoded alone.

A line a window, after one of the whole: lines are joined as bytes, and no window is ever a Python object twice.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.errors import DecodeError
from deniable.survey import symbol_to_json
from deniable.tally import Tally
from deniable.tracking import Tracked, track


def tracked_lines(
    labels: Sequence[str],
    tallies: Sequence[Tally],
    *,
    candidates: Sequence[object] | None,
    turnover: float | None,
    change: float | None,
    level: float,
    top: int | None,
) -> bytes:
    """Smooth shares and changes of each window, and the last window against a normal one.

    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["no", "yes"], epsilon=3)
    >>> days = [dn.Tally(survey, [[1000 - yes, yes]]) for yes in (200, 200, 200, 700, 700)]
    >>> known = {"candidates": None, "turnover": None, "change": None}
    >>> told = tracked_lines("abcde", days, **known, level=0.95, top=None).split(b"\\n")
    >>> [json.loads(b"{" + line + b"}")["changed"] for line in told[1:]]
    [[], [], [], ['no', 'yes'], []]
    """
    tracked = track(dict(zip(labels, tallies, strict=True)), candidates=candidates, turnover=turnover, change=change)
    order = np.argsort(-tracked[-1].probabilities, kind="stable")[:top].tolist()
    names = [symbol_to_json(symbol) for symbol in tracked.symbols]
    place = {label: position for position, label in enumerate(tracked.windows)}
    row = {symbol: position for position, symbol in enumerate(tracked.symbols)}
    changed: dict[object, list[int]] = {}
    for step in tracked.changes(level):
        changed.setdefault(step.window, []).append(row[step.symbol])
    head = {
        "latest": _latest(tracked, names, order, level),
        "turnover": tracked.turnover if tracked.is_shared else None,
        "cycle": tracked.cycle,
        "problem": None,
        "reason": None,
    }
    lines = [_members(head)]
    for label in labels:
        window = tracked[place[label]]
        limits = window.intervals(level).tolist()
        smooth = [
            {
                "symbol": names[i],
                "probability": window.probabilities[i],
                "raw_low": limits[i][0],
                "raw_high": limits[i][1],
            }
            for i in order
        ]
        lines.append(_members({"smooth": smooth, "changed": [names[i] for i in changed.get(label, [])]}))
    return b"\n".join(lines)


def _latest(tracked: Tracked, names: list[Any], order: list[int], level: float) -> list[dict[str, Any]] | None:
    """The last window against a normal one; None if its share has just changed, or nothing came before it."""
    try:
        apart = tracked.against_normal(level=level)
    except DecodeError:
        return None
    limits, family = apart.intervals(level).tolist(), apart.intervals(level, simultaneous=True)
    now = tracked.series.values[:, -1]
    return [
        {
            "symbol": names[i],
            "raw": now[i],
            "normal": now[i] - apart.values[i],
            "raw_low": limits[i][0],
            "raw_high": limits[i][1],
            "unusual": bool(family[i, 0] > 0 or family[i, 1] < 0),
        }
        for i in order
    ]


def _members(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()[1:-1]
