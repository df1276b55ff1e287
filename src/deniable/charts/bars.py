"""Bars with intervals: the chart of an estimate."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from deniable.charts.base import BAR, INK, LABEL_WIDTH, QUIET, RULE, TRUTH, cut, styled
from deniable.errors import DeniableError, require

if TYPE_CHECKING:
    import altair as alt

# An upright bar: the truth crosses the bar it belongs to, so a narrow interval never hides behind it.
_UPRIGHT = "M-0.09,-1H0.09V1H-0.09Z"


def estimate_chart(
    names: Sequence[str],
    probabilities: Iterable[float],
    intervals: Iterable[Sequence[float]],
    *,
    level: float = 0.95,
    truth: Iterable[float] | None = None,
    raw: Iterable[float] | None = None,
    band: str | None = None,
    title: str | None = None,
    subtitle: str | None = None,
) -> "alt.LayerChart":
    """Horizontal bars in the given order, with an interval on each and its value at the end of the line.

    Parameters
    ----------
    names : sequence of str
        One label a symbol.
    probabilities : iterable of float
        The estimates: the bars.
    intervals : iterable of pairs
        Lower and upper limits. They are drawn between 0 and 1. An infinite one is replaced by the words "not
        determined", one of NaNs is left out.
    level : float
        The coverage of the intervals, for the labels.
    truth : iterable of float, optional
        True shares, where they are known: an upright mark on each bar.
    raw : iterable of float, optional
        Unbiased estimates, on which the intervals are centred: a dot each; they may be negative.
    band : str, optional
        The name of the intervals, where they are no confidence intervals.
    title : str, optional
        The heading.
    subtitle : str, optional
        A line under it, such as the source of the numbers.

    Returns
    -------
    altair.LayerChart
        Shown by a notebook, written by `save_chart`.

    Raises
    ------
    DeniableError
        If there are no names, or not as many estimates and intervals.

    Examples
    --------
    >>> chart = estimate_chart(["no", "yes"], [0.7, 0.3], [[0.6, 0.8], [0.2, 0.4]], truth=[0.75, 0.25])
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['bar', 'rule', 'point', 'point', 'text', 'text']
    """
    require("to draw a chart", "charts")
    import altair as alt

    rows = _rows(names, probabilities, intervals, truth, raw)
    band = band or f"{100 * level:g} % interval"
    looks = {"estimate": (BAR, "square"), band: (RULE, "stroke")}
    looks |= {} if truth is None else {"truth": (TRUTH, _UPRIGHT)}
    looks |= {} if raw is None else {"unbiased": (QUIET, "circle")}
    kinds = list(looks)
    step = 30 if len(rows) <= 16 else 22
    legend = alt.Legend(title=None, orient="top", symbolSize=140, symbolStrokeWidth=3)
    colours = alt.Scale(domain=kinds, range=[look[0] for look in looks.values()])
    shapes = alt.Scale(domain=kinds, range=[look[1] for look in looks.values()])
    tooltip = [alt.Tooltip("name:N", title="answer"), alt.Tooltip("estimate:Q", format=".2%")]
    tooltip += [alt.Tooltip("low:Q", format=".2%", title="from"), alt.Tooltip("high:Q", format=".2%", title="to")]
    tooltip += [] if truth is None else [alt.Tooltip("truth:Q", format=".2%")]

    def layer(kind: str, shown: str) -> "alt.Chart":
        shade = alt.Color("kind:N", scale=colours, legend=legend)
        data = base.transform_filter(f"isValid(datum.{shown})").transform_calculate(kind=json.dumps(kind))
        return data.encode(color=shade, tooltip=tooltip)

    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=LABEL_WIDTH, domain=False, ticks=False))
    )
    share = alt.X(
        "estimate:Q",
        title="share of respondents, estimated from randomised reports",
        axis=alt.Axis(format="%", tickCount=8, domain=False, ticks=False, labelFlush=False),
    )
    bars = layer("estimate", "estimate").mark_bar(height={"band": 0.72}).encode(x=share)
    rules = layer(band, "low").mark_rule(strokeWidth=3).encode(x="low:Q", x2="high:Q")
    marks = layer("truth", "truth").mark_point(filled=True, opacity=1, strokeWidth=0, size=0.8 * step**2)
    crosses = marks.encode(x="truth:Q", shape=alt.Shape("kind:N", scale=shapes, legend=legend))
    dots = layer("unbiased", "raw").mark_point(filled=True, opacity=1, size=90, stroke="white", strokeWidth=1.5)
    circles = dots.encode(x="raw:Q", shape=alt.Shape("kind:N", scale=shapes, legend=legend))
    words = base.transform_filter("datum.unknown").mark_text(align="left", dx=8, fontStyle="italic", color=QUIET)
    unknown = words.encode(x="estimate:Q", text=alt.value("not determined"), tooltip=tooltip)
    # In a column of their own: beside the bars they would lie on intervals and on what is true.
    figures = base.transform_filter("isValid(datum.value)").mark_text(align="right", dx=54, color=INK)
    values = figures.encode(x=alt.value("width"), text="value:N", tooltip=tooltip)
    described = f"Estimated shares of {len(rows)} symbols with {band}s" + ("" if truth is None else ", and the truth")
    layers = bars, rules, crosses, circles, unknown, values
    return styled(*layers, described=described, height={"step": step}, title=title, subtitle=subtitle)


def _rows(
    names: Sequence[str],
    probabilities: Iterable[float],
    intervals: Iterable[Sequence[float]],
    truth: Iterable[float] | None,
    raw: Iterable[float] | None,
) -> list[dict[str, Any]]:
    """One record a bar."""
    values, bounds = [float(p) for p in probabilities], [(float(a), float(b)) for a, b in intervals]
    true: list[float | None] = [None] * len(values) if truth is None else [float(t) for t in truth]
    dots: list[float | None] = [None] * len(values) if raw is None else [float(r) for r in raw]
    if not len(names) == len(values) == len(bounds) == len(true) == len(dots) or not names:
        raise DeniableError(
            f"a chart must have one name, probability and interval for each of its bars, "
            f"got {len(names)}, {len(values)} and {len(bounds)}"
        )
    rows = []
    for label, value, bound, exact, dot in zip(printable(names), values, bounds, true, dots, strict=True):
        low, high = cut(bound)
        unknown = any(math.isinf(limit) for limit in bound)
        shown = None if unknown else f"{100 * value:.1f} %"
        row = {"name": label, "estimate": value, "low": low, "high": high, "truth": exact, "raw": dot}
        rows.append(row | {"unknown": unknown, "value": shown})
    return rows


def printable(names: Iterable[str]) -> list[str]:
    """Names as labels: printable, and distinct, as two equal labels would share a bar.

    >>> printable(["a", "a", "tab\\t", ""])
    ['a', 'a (2)', 'tab\\\\t', '""']
    """
    seen: dict[str, int] = {}
    labels = []
    for name in names:
        label = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name) or '""'
        seen[label] = seen.get(label, 0) + 1
        labels.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return labels
