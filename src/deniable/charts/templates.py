"""Every chart of the pages as a Vega-Lite specification without its data.

A page fills in rows of the same names and draws it, so a chart on a page is the chart that Python draws. What depends
on the data elsewhere (the level in a legend, the height of a bar) the page sets.
"""

import json
from typing import Any

from deniable.charts.bars import estimate_chart
from deniable.charts.base import DARK
from deniable.charts.changes import SERIES, difference_chart, trend_chart
from deniable.charts.crosstab import crosstab_chart
from deniable.charts.curves import curves_chart
from deniable.charts.density import density_chart
from deniable.charts.plan import LINES, plan_chart


def templates() -> dict[str, Any]:
    """The charts by name, each with names for its data: "rows", then "more" and "last" where there are several.

    `dark` is what each colour becomes on a dark page, and `series` how many lines one chart may have.

    >>> sorted(templates())
    ['crosstab', 'curves', 'dark', 'density', 'difference', 'estimate', 'means', 'plan', 'raw', 'series', 'trend']
    >>> templates()["estimate"]["data"]
    {'name': 'rows'}
    """
    one = (["a"], [0.5], [[0.4, 0.6]])
    day = {"window": "2026-11-15", "name": "a", "estimate": 0.5, "low": 0.4, "high": 0.6, "changed": False}
    point = {"mechanism": "k-RR", "n": 1000, "epsilon": 1.0}
    figures = {"mean": (0.5, 0.4, 0.6), "median": (0.5, 0.4, 0.6)}
    curve = {"mechanism": "k-RR", "epsilon": 1.0, "error": 0.5}
    return {
        "estimate": _empty(estimate_chart(*one)),
        "raw": _empty(estimate_chart(*one, raw=[0.5])),
        "difference": _empty(difference_chart(*one, called=("clear change", "may be chance"))),
        "density": _empty(density_chart([0, 1], [1.0], [(0, 1, 0.9, 1.0)], figures=figures)),
        "means": _empty(trend_chart([day | {"name": name} for name in "abcdef"], shares=False)),
        "trend": _empty(trend_chart([day | {"name": name} for name in "abcdef"])),
        "plan": _empty(plan_chart([point | {"mechanism": name} for name in LINES], point)),
        "curves": _empty(curves_chart([curve], epsilon=1.0)),
        "crosstab": _empty(crosstab_chart((["a"], ["b"]), ("row", "column"), [[0.5]], [[1]])),
        "dark": DARK,
        "series": len(SERIES),
    }


def _empty(chart: Any) -> dict[str, Any]:
    """A specification whose data are names, in the order in which its layers use them; what never changes stays."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # the tests check them
    fixed = {name: rows for name, rows in spec.pop("datasets").items() if "zero" in rows[0]}
    used = [part["data"]["name"] for part in (spec, *spec["layer"]) if "data" in part]
    wanted = [name for name in dict.fromkeys(used) if name not in fixed]
    text = json.dumps(spec | {"datasets": fixed})
    for old, new in zip(wanted, ("rows", "more", "last"), strict=False):
        text = text.replace(json.dumps(old), json.dumps(new))
    empty: dict[str, Any] = json.loads(text)
    return empty
