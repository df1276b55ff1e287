"""Loss by epsilon for the hashed mechanisms, and by their parameters.

Paper: `fig:orr_vs_rappor`, the two zooms, and the parameter studies. A line is the median over samples that had no part
in choosing the parameters; a band holds the middle nine tenths of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deniable.reproduce.figures.base import EPSILON, QUIET, Chart, Row, Rows, Tables, finite, inline, unique
from deniable.reproduce.settings import LOW_EPSILON

# Okabe and Ito's colours, with a dash and a shape each: closed O-RAPPOR and k-RAPPOR lie on one another.
MECHANISMS = {
    "O-RR": ("#0072B2", [1, 0], "circle"),
    "O-RAPPOR": ("#D55E00", [7, 3], "square"),
    "k-RR": ("#009E73", [2, 3], "triangle-up"),
    "k-RAPPOR": ("#CC79A7", [10, 3, 2, 3], "diamond"),
}
BASELINES = {"uniform": "uniform guess", "empirical": "raw symbols, no privacy"}
_TICKS = [0.1, 0.25, 0.5, 1, 2, 5, 10]  # epsilons on a logarithmic axis
_KEPT = ("median", "low", "high", "median_low", "median_high", "k", "C", "h", "samples", "selection_samples")


@dataclass(frozen=True, slots=True)
class Panel:
    """One population size and alphabet; `low` is the high-privacy end alone, on linear axes."""

    title: str
    S: int
    n: int
    low: bool = False


def curve_rows(tables: Tables, alphabet: str, panels: Sequence[Panel]) -> Rows:
    """The best parameters' losses, panel by panel, and the two baselines of each (they have no epsilon)."""
    rows = []
    for panel in panels:
        where = {"panel": panel.title, "alphabet": alphabet, "S": panel.S, "n": panel.n}
        points = [row for row in _lines(tables, alphabet, panel.S, panel.n) if row["vary"] == "best"]
        points = [row for row in points if not panel.low or row["epsilon"] <= LOW_EPSILON]
        for name in MECHANISMS:
            rows += [where | _point(row) for row in points if row["mechanism"] == name]
        if points:
            rows += [where | row for row in _baselines(tables, panel)]
    return rows


def _lines(tables: Tables, alphabet: str, symbols: int, n: int) -> Rows:
    wanted = (alphabet, symbols, n)
    found = [dict(row) for row in tables.get("lines", ()) if (row["alphabet"], row["S"], row["n"]) == wanted]
    return sorted((row for row in found if finite(row["median"])), key=lambda row: float(row["epsilon"]))


def _point(row: Row) -> Row:
    return {"mechanism": row["mechanism"], "epsilon": row["epsilon"]} | {name: row[name] for name in _KEPT}


def _baselines(tables: Tables, panel: Panel) -> Rows:
    empty = dict.fromkeys(("epsilon", *_KEPT))
    found = [row for row in tables.get("baselines", ()) if (row["S"], row["n"]) == (panel.S, panel.n)]
    return [{"mechanism": BASELINES[row["name"]]} | empty | {"median": row["loss"]} for row in found]


def mechanism_marks(rows: Rows) -> dict[str, Chart]:
    """The encodings that tell mechanisms apart, with one legend of colours and shapes."""
    import altair as alt

    names = [name for name in MECHANISMS if any(row["mechanism"] == name for row in rows)]
    colours, dashes, shapes = zip(*(MECHANISMS[name] for name in names), strict=True)
    legend = alt.Legend(
        title=None,
        orient="top",
        symbolSize=130,
        symbolOpacity=1,
        symbolStrokeWidth=0,
        columnPadding=22,
        labelFontSize=13,
    )

    def scale(values: Sequence[Any]) -> Chart:
        return alt.Scale(domain=names, range=list(values))

    return {
        "color": alt.Color("mechanism:N", scale=scale(colours), legend=legend),
        "strokeDash": alt.StrokeDash("mechanism:N", scale=scale(dashes), legend=None),
        "shape": alt.Shape("mechanism:N", scale=scale(shapes), legend=legend),
    }


def curve_plot(rows: Rows, *, panels: Sequence[Panel]) -> Chart:
    """One panel for each that has points, side by side under one legend."""
    import altair as alt

    marks = mechanism_marks(rows)
    drawn = []
    for panel in panels:
        part = [row for row in rows if row["panel"] == panel.title]
        if part:
            wide = 560 if len(panels) == 1 else 470
            drawn.append(_curves(part, marks, panel).properties(width=wide, height=340, title=panel.title))
    return alt.hconcat(*drawn, spacing=30)


def _curves(part: Rows, marks: dict[str, Chart], panel: Panel) -> Chart:
    import altair as alt

    points = [row | {"words": _words(row)} for row in part if row["epsilon"] is not None]
    scale = alt.Scale(type="linear" if panel.low else "log", nice=False, zero=False, padding=12)
    height = alt.Scale(zero=True) if panel.low else alt.Scale(type="log", nice=False, padding=8)
    base = alt.Chart(inline(points)).encode(x=_epsilon_axis(points, scale))
    loss = alt.Y("median:Q", scale=height, axis=_loss_axis(part, log=not panel.low))
    band = base.mark_area(opacity=0.18, aria=False).encode(y=alt.Y("low:Q"), y2="high:Q", color=marks["color"])
    line = base.mark_line(strokeWidth=2.2, aria=False).encode(
        y=loss, color=marks["color"], strokeDash=marks["strokeDash"]
    )
    dots = base.mark_point(filled=True, size=44, opacity=1).encode(
        y=loss, color=marks["color"], shape=marks["shape"], description="words:N", tooltip="words:N"
    )
    return alt.layer(*_rules(part), band, line, dots)


def _epsilon_axis(points: Rows, scale: Chart) -> Chart:
    import altair as alt

    first, last = min(row["epsilon"] for row in points), max(row["epsilon"] for row in points)
    steps = _TICKS if last > 2 else [0.25 * i for i in range(1, 9)]
    axis = alt.Axis(grid=False, format=".3~g", values=[tick for tick in steps if first <= tick <= last])
    return alt.X("epsilon:Q", scale=scale, axis=axis, title=f"{EPSILON} (smaller is more private)")


def _loss_axis(part: Rows, *, log: bool) -> Chart:
    import altair as alt

    values = [row[name] for row in part for name in ("median", "low", "high") if row.get(name) is not None]
    steps = [m * 10.0**e for e in range(-5, 2) for m in (1, 2, 5)]
    ticks: dict[str, Any] = {"values": [t for t in steps if min(values) * 0.9 <= t <= max(values) * 1.1]} if log else {}
    return alt.Axis(title="median L1 loss", format=".3~g", domain=False, ticks=False, **ticks)


def _rules(part: Rows) -> list[Chart]:
    """The baselines, named where the curves leave room: the upper one at the right, the lower one at the left."""
    import altair as alt

    layers = []
    for row in part:
        if row["epsilon"] is None:
            upper = row["mechanism"] == BASELINES["uniform"]
            base = alt.Chart(inline([row]))
            words = base.mark_text(
                fontSize=12, align="right" if upper else "left", dx=-4 if upper else 4, dy=9 if upper else -7
            )
            side = alt.value("width") if upper else alt.value(0)
            rule = base.mark_rule(strokeDash=[2, 3], color=QUIET, aria=False).encode(y="median:Q")
            layers += [rule, words.encode(x=side, y="median:Q", text="mechanism:N", color=alt.value(QUIET))]
    return layers


def _words(row: Row) -> str:
    chosen = ", ".join(f"{name} = {row[name]}" for name in ("k", "C", "h") if row[name] is not None)
    band = f"{row['low']:.3g} to {row['high']:.3g}"
    return f"{row['mechanism']}, {EPSILON} = {row['epsilon']:g}: {row['median']:.3g} ({band}), {chosen}"


PARAMETERS = (("O-RR", "k"), ("O-RR", "C"), ("O-RAPPOR", "k"), ("O-RAPPOR", "C"), ("O-RAPPOR", "h"))
_NAMES = {"k": "cells k", "C": "cohorts C", "h": "hashes h"}


def parameter_rows(tables: Tables, alphabet: str, symbols: int, n: int) -> Rows:
    """One parameter held at a value, the others chosen: mechanism by mechanism and parameter by parameter."""
    found = _lines(tables, alphabet, symbols, n)
    return [
        {"alphabet": alphabet, "S": symbols, "n": n, "vary": vary, "value": row["value"]} | _point(row)
        for mechanism, vary in PARAMETERS
        for row in sorted(found, key=lambda row: (row["value"], row["epsilon"]))
        if (row["mechanism"], row["vary"]) == (mechanism, vary)
    ]


def parameter_plot(rows: Rows) -> Chart:
    """Mechanisms in rows, parameters in columns, colours in the order of the values; the same axes everywhere."""
    import altair as alt

    values = [row[name] for row in rows for name in ("median", "low", "high")]
    limits = min(values), max(values)
    lines = []
    for mechanism in unique(mechanism for mechanism, _ in PARAMETERS):
        panels = []
        for vary in [v for m, v in PARAMETERS if m == mechanism]:
            part = [row for row in rows if (row["mechanism"], row["vary"]) == (mechanism, vary)]
            if part:
                panels.append(_family(part, rows, f"{mechanism}, {_NAMES[vary]} fixed", limits))
        if panels:
            lines.append(alt.hconcat(*panels, spacing=16).resolve_scale(color="independent"))
    return alt.vconcat(*lines, spacing=20).resolve_scale(color="independent")


def _family(part: Rows, rows: Rows, title: str, limits: tuple[float, float]) -> Chart:
    import altair as alt

    fixed = sorted({row["value"] for row in part})
    stroke: dict[str, Any] = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1}
    legend = alt.Legend(title=part[0]["vary"], values=fixed[::-1], rowPadding=1, **stroke)
    # Viridis ends in a yellow that is lost on white: the last seventh is left out.
    colour = alt.Color(
        "value:O",
        sort=fixed,
        scale=alt.Scale(domain=fixed, scheme={"name": "viridis", "extent": [0, 0.86], "count": len(fixed)}),
        legend=legend,
    )
    shown = [row | {"words": f"{row['vary']} fixed at {row['value']}; {_words(row)}"} for row in part]
    scale = alt.Scale(type="log", nice=False, domain=[f(row["epsilon"] for row in rows) for f in (min, max)], padding=8)
    height = alt.Scale(type="log", nice=False, domain=list(limits))
    base = alt.Chart(inline(shown)).encode(x=_epsilon_axis(rows, scale), color=colour)
    loss = alt.Y("median:Q", scale=height, axis=_loss_axis(rows, log=True))
    band = base.mark_area(opacity=0.13, aria=False).encode(y=alt.Y("low:Q", scale=height), y2="high:Q")
    line = base.mark_line(strokeWidth=1.8, aria=False).encode(y=loss)
    dots = base.mark_point(filled=True, size=20, opacity=1).encode(y=loss, description="words:N", tooltip="words:N")
    return alt.layer(band, line, dots).properties(width=285, height=250, title=title)
