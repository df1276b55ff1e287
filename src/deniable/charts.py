"""One chart grammar for the whole project: Altair (Vega-Lite), rendered offline by vl-convert.

A chart is a value: `estimate_chart` describes it, a notebook shows it, `save_chart` writes it as SVG, PNG, HTML or
Vega-Lite JSON. The JavaScript that draws it ships inside the Python package, so nothing is fetched from anywhere, and
an HTML file carries its own copy. Colours are from Okabe and Ito's palette, told apart by people who see few colours;
shape and direction carry the same distinctions.
"""

import html
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableError

if TYPE_CHECKING:
    import altair as alt

__all__ = ["FORMATS", "chart_format", "estimate_chart", "plan_chart", "save_chart"]

FORMATS = ("svg", "png", "html", "json")

_BAR, _RULE, _TRUTH, _INK, _QUIET = "#8CC8EE", "#123B57", "#D55E00", "#222222", "#6B6B6B"
_FONT = "Liberation Sans, Arial, Helvetica, Noto Sans, DejaVu Sans, sans-serif"
_WIDTH, _HEIGHT, _LABEL_WIDTH = 560, 360, 260
# An upright bar: the truth crosses the bar it belongs to, so a narrow interval never hides behind it.
_UPRIGHT = "M-0.09,-1H0.09V1H-0.09Z"

# Each line of a plan's chart: a colour, a dash and a width; what was planned stands out without its colour, too.
_LINES: dict[str, tuple[str, list[int], float]] = {
    "best plan": (_INK, [1, 0], 3.0),
    "k-RR": ("#009E73", [2, 3], 2.0),
    "k-RAPPOR": ("#CC79A7", [10, 3, 2, 3], 2.0),
    "O-RR": ("#0072B2", [6, 2], 2.0),
    "O-RAPPOR": ("#D55E00", [7, 3], 2.0),
}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
</head>
<body style="margin: 2rem; font-family: sans-serif">
<div id="chart"></div>
<script>{library}</script>
<script>{draw}</script>
</body>
</html>
"""


def estimate_chart(
    names: Sequence[str],
    probabilities: Iterable[float],
    intervals: Iterable[Sequence[float]],
    *,
    level: float = 0.95,
    truth: Iterable[float] | None = None,
    title: str | None = None,
) -> "alt.LayerChart":
    """Horizontal bars in the order given, an interval on each, and the truth beside them where it is known.

    Intervals are cut at 0 and 1, which loses no coverage. An infinite one is replaced by the words "not determined":
    the reports say nothing about that symbol alone. One of NaNs was not computed, and is left out.

    >>> chart = estimate_chart(["no", "yes"], [0.7, 0.3], [[0.6, 0.8], [0.2, 0.4]], truth=[0.75, 0.25])
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['bar', 'rule', 'point', 'text']
    """
    import altair as alt

    rows = _rows(names, probabilities, intervals, truth)
    band = f"{100 * level:g} % interval"
    kinds = ["estimate", band] if truth is None else ["estimate", band, "truth"]
    step = 30 if len(rows) <= 16 else 22
    legend = alt.Legend(title=None, orient="top", symbolSize=140, symbolStrokeWidth=3)
    colours = alt.Scale(domain=kinds, range=[_BAR, _RULE, _TRUTH][: len(kinds)])
    shapes = alt.Scale(domain=kinds, range=["square", "stroke", _UPRIGHT][: len(kinds)])
    tooltip = [alt.Tooltip("name:N", title="symbol"), alt.Tooltip("estimate:Q", format=".2%")]
    tooltip += [alt.Tooltip("low:Q", format=".2%", title="from"), alt.Tooltip("high:Q", format=".2%", title="to")]
    tooltip += [] if truth is None else [alt.Tooltip("truth:Q", format=".2%")]

    def layer(kind: str, shown: str) -> "alt.Chart":
        shade = alt.Color("kind:N", scale=colours, legend=legend)
        data = base.transform_filter(f"isValid(datum.{shown})").transform_calculate(kind=json.dumps(kind))
        return data.encode(color=shade, tooltip=tooltip)

    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=_LABEL_WIDTH, domain=False, ticks=False))
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
    words = base.transform_filter("datum.unknown").mark_text(align="left", dx=8, fontStyle="italic", color=_QUIET)
    unknown = words.encode(x="estimate:Q", text=alt.value("not determined"), tooltip=tooltip)
    described = f"Estimated shares of {len(rows)} symbols with {band}s" + ("" if truth is None else ", and the truth")
    settings: dict[str, Any] = {"width": _WIDTH, "height": {"step": step}, "description": described}
    settings |= {} if title is None else {"title": title}
    return _styled(alt.layer(bars, rules, crosses, unknown).properties(**settings))


def plan_chart(
    rows: Sequence[Mapping[str, Any]], point: Mapping[str, Any], *, title: str | None = None
) -> "alt.LayerChart":
    """Epsilon against n at one error: a line a mechanism, and a plan's point. Both axes are logarithmic.

    A row has a mechanism ("best plan", or one of the paper's), an n and an epsilon.

    Paper: `fig:privacy_at_n`.

    >>> rows = [{"mechanism": "best plan", "n": n, "epsilon": e} for n, e in ((1e5, 2.0), (1e6, 0.6))]
    >>> chart = plan_chart(rows, {"mechanism": "SS", "n": 3e5, "epsilon": 1.1})
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['line', 'point', 'text']
    """
    import altair as alt

    kinds = [name for name in _LINES if any(row["mechanism"] == name for row in rows)]
    if not kinds or any(row["mechanism"] not in _LINES for row in rows):
        raise DeniableError(
            f"a chart of plans must have lines named {', '.join(_LINES)}, got {len(rows)} rows of others"
        )
    # Lines go far beyond what anyone asks about: three powers of ten to either side of the point are enough.
    shown = [dict(row) for row in rows if point["n"] / 1e3 <= row["n"] <= point["n"] * 1e3]
    across_all = [float(point["n"]), *(row["n"] for row in shown)]
    low, high = min(across_all) / 1.2, max(across_all) * 1.2
    tens = [10.0**power for power in range(16) if low <= 10.0**power <= high]
    words = "replace(replace(format(datum.value, '~s'), 'G', ' billion'), 'T', ' trillion')"
    across = alt.X(
        "n:Q",
        scale=alt.Scale(type="log", nice=False, domain=[low, high]),
        axis=alt.Axis(values=tens, labelExpr=words, domain=False, ticks=False),
        title="people n",
    )
    up = alt.Y(
        "epsilon:Q",
        scale=alt.Scale(type="log", nice=False, domain=[min(0.1, point["epsilon"] / 1.5), 12.0]),
        axis=alt.Axis(values=[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10], format=".3~g", domain=False, ticks=False),
        title="epsilon needed (lower is more private)",
    )
    legend = alt.Legend(title=None, orient="top", symbolSize=400, symbolStrokeWidth=3)
    colours = alt.Scale(domain=kinds, range=[_LINES[name][0] for name in kinds])
    dashes = alt.Scale(domain=kinds, range=[_LINES[name][1] for name in kinds])
    widths = alt.Scale(domain=kinds, range=[_LINES[name][2] for name in kinds])
    tooltip = [alt.Tooltip("mechanism:N"), alt.Tooltip("n:Q", format=",.3~r"), alt.Tooltip("epsilon:Q", format=".3~g")]
    lines = (
        alt.Chart(alt.InlineData(values=shown))
        .mark_line(clip=True)
        .encode(
            x=across,
            y=up,
            color=alt.Color("mechanism:N", scale=colours, legend=legend),
            strokeDash=alt.StrokeDash("mechanism:N", scale=dashes, legend=legend),
            strokeWidth=alt.StrokeWidth("mechanism:N", scale=widths, legend=None),
            tooltip=tooltip,
        )
    )
    label = f"{point['mechanism']}, epsilon {point['epsilon']:.3g}, {point['n']:,.0f} people"
    here = alt.Chart(alt.InlineData(values=[dict(point) | {"label": label}])).encode(x=across, y=up, tooltip=tooltip)
    mark = here.mark_point(filled=True, size=150, color=_TRUTH, opacity=1, stroke="white", strokeWidth=1.5)
    # Nothing is ever drawn below the best plan's line, so the corner under it is free.
    corner = alt.Chart(alt.InlineData(values=[{"label": f"\u25cf  {label}"}])).mark_text(
        align="left", fontWeight="bold", color=_TRUTH
    )
    text = corner.encode(x=alt.value(14), y=alt.value(_HEIGHT - 18), text="label:N")
    settings: dict[str, Any] = {
        "width": _WIDTH,
        "height": _HEIGHT,
        "description": f"Epsilon against n; planned: {label}",
    }
    settings |= {} if title is None else {"title": title}
    return _styled(alt.layer(lines, mark, text).properties(**settings))


def _rows(
    names: Sequence[str],
    probabilities: Iterable[float],
    intervals: Iterable[Sequence[float]],
    truth: Iterable[float] | None,
) -> list[dict[str, Any]]:
    """One record a bar. Names are made distinct and printable: two equal labels would share a bar."""
    values, bounds = [float(p) for p in probabilities], [(float(a), float(b)) for a, b in intervals]
    true: list[float | None] = [None] * len(values) if truth is None else [float(t) for t in truth]
    if not len(names) == len(values) == len(bounds) == len(true) or not names:
        raise DeniableError(
            f"a chart must have one name, probability and interval for each of its bars, "
            f"got {len(names)}, {len(values)} and {len(bounds)}"
        )
    seen: dict[str, int] = {}
    rows = []
    for name, value, (low, high), exact in zip(names, values, bounds, true, strict=True):
        label = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name) or '""'
        seen[label] = seen.get(label, 0) + 1
        known = math.isfinite(low) and math.isfinite(high)
        floor, ceiling = min(0.0, value), max(1.0, value)  # an unconstrained estimate may lie outside [0, 1]
        rows.append(
            {
                "name": label if seen[label] == 1 else f"{label} ({seen[label]})",
                "estimate": value,
                "low": min(max(low, floor), ceiling) if known else None,
                "high": min(max(high, floor), ceiling) if known else None,
                "truth": exact,
                "unknown": math.isinf(low) or math.isinf(high),
            }
        )
    return rows


def _styled(chart: Any) -> "alt.LayerChart":
    """The look that every chart of the project shares: light, quiet, readable in print."""
    styled: alt.LayerChart = chart.configure(
        background="white",
        font=_FONT,
        padding=16,
        axis={"labelFontSize": 13, "labelColor": _INK, "titleFontSize": 13, "titleFontWeight": "normal"}
        | {"titleColor": _INK, "titlePadding": 12, "gridColor": "#E4E4E4", "labelPadding": 6},
        view={"stroke": None},
        legend={"labelFontSize": 13, "labelColor": _INK, "columnPadding": 18, "offset": 10},
        title={"anchor": "start", "fontSize": 17, "fontWeight": "bold", "color": _INK, "offset": 14},
        text={"fontSize": 12},
    )
    return styled


def chart_format(path: str | os.PathLike[str]) -> str:
    """The format that a file name asks for, or a sentence; worth asking before the work is done.

    >>> chart_format("out/demo.SVG")
    'svg'
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        shown = f"{'.' + suffix!r}" if suffix else "none"
        raise DeniableError(
            f"a chart must end in .svg, .png, .html or .json, got {shown}; name the file for its format"
        )
    return suffix


def save_chart(chart: "alt.LayerChart", path: str | os.PathLike[str]) -> None:
    """Write a chart as its file name asks: .svg, .png (twice the pixels), .html (one file, no network) or .json.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_chart(estimate_chart(["no"], [1.0], [[0.9, 1.0]]), f"{folder}/chart.json")
    """
    kind = chart_format(path)
    if kind == "json":
        data = chart.to_json().encode()
    elif kind == "html":
        data = _page(chart).encode()
    else:
        import vl_convert

        spec = chart.to_dict()
        data = vl_convert.vegalite_to_png(spec, scale=2) if kind == "png" else vl_convert.vegalite_to_svg(spec).encode()
    Path(path).write_bytes(data)


def _page(chart: "alt.LayerChart") -> str:
    """One HTML file with the chart, its data and all of its JavaScript; its policy forbids every request."""
    import vl_convert

    spec = chart.to_dict()
    options = {"renderer": "svg", "actions": {"export": True, "source": False, "compiled": False, "editor": False}}
    # A symbol may hold "</script>": inside a script, "<" is written as an escape.
    told, how = (json.dumps(value).replace("<", "\\u003c") for value in (spec, options))
    return _PAGE.format(
        title=html.escape(str(spec.get("title", spec["description"]))),
        library=vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"),
        draw=f"vegaEmbed('#chart', {told}, {how});",
    )
