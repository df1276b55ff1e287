"""Shared by all charts: colours, style, and output as a file."""

import hashlib
import html
import json
import math
import os
import textwrap
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableError
from deniable.survey import write_atomically

if TYPE_CHECKING:
    import altair as alt

FORMATS = ("svg", "png", "html", "json")

BAR, RULE, TRUTH, INK, QUIET, GRID = "#8CC8EE", "#123B57", "#D55E00", "#222222", "#6B6B6B", "#E4E4E4"
FONT = "Liberation Sans, Arial, Helvetica, Noto Sans, DejaVu Sans, sans-serif"
WIDTH, HEIGHT, LABEL_WIDTH = 560, 360, 260  # pixels of the plot, and of the longest label
_TITLE, _SUBTITLE = 60, 100  # characters of a line of each: as many as fit the width of a chart

# What a colour becomes on a dark page: the same hues, light where they were dark.
DARK = {
    "white": "transparent",
    BAR: "#2F6F9E",
    RULE: "#D6ECFA",
    TRUTH: "#FF9A4D",
    INK: "#ECEEF0",
    QUIET: "#A7ADB4",
    GRID: "#3A4048",
    "#0072B2": "#5DB4F0",
    "#009E73": "#3CCFA2",
    "#CC79A7": "#E9A3CB",
    "#B07A00": "#F0C04D",
    "#56608A": "#A9B3E2",
    "#8F3B1B": "#E58F6E",
    "#F5B583": "#A5561D",
}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {scripts}; \
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


def cut(interval: Sequence[float], *, below: float = 0.0) -> tuple[float | None, float | None]:
    """An interval cut to [below, 1], which loses no coverage of a share; None where a limit is not finite.

    >>> cut([-0.05, 0.2]), cut([-math.inf, math.inf]), cut([-1.2, 0.3], below=-1.0)
    ((0.0, 0.2), (None, None), (-1.0, 0.3))
    """
    low, high = (float(bound) for bound in interval)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None, None
    return min(max(low, below), 1.0), min(max(high, below), 1.0)


def figure_text(value: float) -> str:
    """An estimated number as people read it: four significant digits, and no exponent where it is large.

    Parameters
    ----------
    value : float
        The number.

    Examples
    --------
    >>> [figure_text(value) for value in (42561.3, -1234.5, 0.85561, 3.0, 0.0000025, math.inf)]
    ['42,560', '-1,234', '0.8556', '3', '2.5e-06', 'inf']
    """
    return f"{float(f'{value:.4g}'):,.15g}"


def headed(title: str | None, subtitle: str | None = None) -> dict[str, Any]:
    """The heading of a chart, in lines that fit it: a title, and under it where the numbers come from.

    >>> headed("Why?", "1,000 answers")
    {'title': {'text': ['Why?'], 'subtitle': ['1,000 answers']}}
    >>> headed("Why?"), headed(None)
    ({'title': 'Why?'}, {})
    """
    # A control character is not XML: the library that draws ends the process over it.
    title = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in title or "")
    lines = textwrap.wrap(title, _TITLE) or [""]
    if subtitle:
        return {"title": {"text": lines, "subtitle": textwrap.wrap(subtitle, _SUBTITLE)}}
    if not title:
        return {}
    return {"title": title if len(lines) == 1 else {"text": lines}}


def _words(spec: dict[str, Any]) -> str:
    """The title of a chart in one line, or what it shows."""
    title = spec.get("title", spec["description"])
    return " ".join(title["text"]) if isinstance(title, dict) else str(title)


def styled(
    *layers: Any, described: str, height: Any = HEIGHT, title: str | None = None, subtitle: str | None = None
) -> "alt.LayerChart":
    """The look that every chart of the project shares: light, quiet, readable in print."""
    import altair as alt

    chart = alt.layer(*layers).properties(width=WIDTH, height=height, description=described, **headed(title, subtitle))
    styled: alt.LayerChart = chart.configure(
        background="white",
        font=FONT,
        padding=16,
        axis={"labelFontSize": 13, "labelColor": INK, "titleFontSize": 13, "titleFontWeight": "normal"}
        | {"titleColor": INK, "titlePadding": 12, "gridColor": GRID, "labelPadding": 6},
        view={"stroke": None},
        legend={"labelFontSize": 13, "labelColor": INK, "columnPadding": 18, "offset": 10},
        title={"anchor": "start", "fontSize": 17, "fontWeight": "bold", "color": INK, "offset": 14}
        | {"subtitleFontSize": 12, "subtitleColor": QUIET, "subtitlePadding": 6},
        text={"fontSize": 12},
    )
    # Altair's objects take any assignment for a part of the chart, so this goes past them.
    object.__setattr__(styled, "__class__", _offline(alt.LayerChart))
    return styled


def stacked(charts: "Mapping[str, alt.LayerChart]", description: str) -> "alt.VConcatChart":
    """Charts one below the other, which a notebook shows without a network, too.

    Parameters
    ----------
    charts : mapping
        By their titles.
    description : str
        What a screen reader says.

    Returns
    -------
    altair.VConcatChart

    Examples
    --------
    >>> import altair as alt
    >>> bar = alt.Chart(alt.Data(values=[{"share": 0.3}])).mark_bar().encode(x="share:Q")
    >>> len(stacked({"one": alt.layer(bar), "two": alt.layer(bar)}, "Two shares").vconcat)
    2
    """
    import altair as alt

    drawn: list[Any] = [chart.properties(title=title) for title, chart in charts.items()]
    for chart in drawn:
        chart.config = alt.Undefined  # the configuration is that of the whole
    whole = alt.vconcat(*drawn).properties(description=description)
    object.__setattr__(whole, "__class__", _offline(alt.VConcatChart))
    return whole


@cache
def _offline(kind: Any) -> type[Any]:
    """Charts that a notebook shows without a network, where Altair's own would load Vega from another host.

    A front end that draws Vega-Lite itself takes the specification, any other the picture. Whoever has enabled a
    renderer of Altair's gets that.
    """
    import altair as alt

    class OfflineChart(kind):  # type: ignore[misc]
        def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
            if alt.renderers.active != "default":
                return super()._repr_mimebundle_(*args, **options)
            import vl_convert

            spec = self.to_dict()
            kind = f"application/vnd.vegalite.{alt.SCHEMA_VERSION.split('.')[0]}+json"
            return {kind: spec, "image/svg+xml": vl_convert.vegalite_to_svg(spec), "text/plain": spec["description"]}

    return OfflineChart


def chart_format(path: str | os.PathLike[str]) -> str:
    """The format that a file name asks for. Call it before long work.

    Parameters
    ----------
    path : path
        The name of the file.

    Returns
    -------
    str
        One of `FORMATS`.

    Raises
    ------
    DeniableError
        If the name has another ending.

    Examples
    --------
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
    """Write a chart to a file, in the format of its name.

    Parameters
    ----------
    chart : altair.LayerChart
        What to write.
    path : path
        Ends in .svg, .png (twice the pixels), .html (one file, no network) or .json.

    Raises
    ------
    DeniableError
        If the name has another ending.

    Examples
    --------
    >>> import tempfile
    >>> from deniable.charts import estimate_chart
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_chart(estimate_chart(["no"], [1.0], [[0.9, 1.0]]), f"{folder}/chart.json")
    """
    write_atomically(path, chart_bytes(chart, chart_format(path)))


def chart_bytes(chart: "alt.LayerChart", kind: str) -> bytes:
    """A chart in one of the formats that `save_chart` writes.

    Parameters
    ----------
    chart : altair.LayerChart
        What to render.
    kind : str
        One of `FORMATS`: "svg", "png", "html" or "json".

    Returns
    -------
    bytes
        The contents of the file.

    Examples
    --------
    >>> from deniable.charts import estimate_chart
    >>> chart_bytes(estimate_chart(["no"], [1.0], [[0.9, 1.0]]), "svg")[:4]
    b'<svg'
    """
    # Altair's check against the schema of Vega-Lite takes most of the time; the tests do it for every kind of chart.
    if kind == "json":
        return str(chart.to_json(validate=False)).encode()
    if kind == "html":
        return _page(chart).encode()
    import vl_convert

    spec = chart.to_dict(validate=False)
    if kind == "png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=2))
    return str(vl_convert.vegalite_to_svg(spec)).encode()


@cache
def javascript() -> str:
    """The script that draws charts in a browser. It is made once a process, which takes most of a second.

    Returns
    -------
    str
        Vega, Vega-Lite and vegaEmbed, which carries the interpreter that evaluates Vega's expressions without `eval`.

    Examples
    --------
    >>> "vegaEmbed" in javascript()
    True
    """
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _page(chart: "alt.LayerChart") -> str:
    """One HTML file with the chart, its data and all of its JavaScript.

    Its policy forbids every request and every script but these two, and `eval`: Vega's expressions are interpreted.
    """
    spec = chart.to_dict(validate=False)
    actions = {"export": True, "source": False, "compiled": False, "editor": False}
    # Vega warns of data that are left out on purpose; only its errors are of interest.
    options = {"ast": True, "logLevel": 1, "renderer": "svg", "actions": actions}
    # A symbol may hold "</script>": inside a script, "<" is written as an escape.
    told, how = (json.dumps(value).replace("<", "\\u003c") for value in (spec, options))
    library, draw = javascript(), f"vegaEmbed('#chart', {told}, {how});"
    return _PAGE.format(
        title=html.escape(_words(spec)),
        scripts=" ".join(f"'sha256-{_digest(script)}'" for script in (library, draw)),
        library=library,
        draw=draw,
    )


def _digest(script: str) -> str:
    return b64encode(hashlib.sha256(script.encode()).digest()).decode()
