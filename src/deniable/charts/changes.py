"""Charts of change: shares over time, and the difference between two times or groups."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.charts.bars import printable
from deniable.charts.base import HEIGHT, LABEL_WIDTH, QUIET, RULE, TRUTH, cut, styled
from deniable.errors import DeniableError, require

if TYPE_CHECKING:
    import altair as alt

# One colour and one shape a line.
SERIES = (
    ("#0072B2", "circle"),
    ("#D55E00", "square"),
    ("#009E73", "triangle-up"),
    ("#CC79A7", "diamond"),
    ("#B07A00", "triangle-down"),
    ("#56608A", "cross"),
)

_DATE = re.compile(r"\d{4}-\d{2}")  # how the labels of windows begin that are times
_POINTS = {"points": "points", "least": "from", "most": "to"}


def difference_chart(
    names: Sequence[str],
    changes: Iterable[float],
    intervals: Iterable[Sequence[float]],
    *,
    changed: Iterable[bool | None] | None = None,
    level: float = 0.95,
    title: str | None = None,
    subtitle: str | None = None,
    called: tuple[str, str] | None = None,
) -> "alt.LayerChart":
    """The change of each share: a dot and its interval, and a line at zero. Significant changes have a colour.

    Parameters
    ----------
    names : sequence of str
        One label a symbol.
    changes : iterable of float
        The share after less the share before.
    intervals : iterable of pairs
        Lower and upper limits of the changes, drawn between -1 and 1; an infinite one is replaced by the words "not
        determined".
    changed : iterable of bool, optional
        Which changes are significant (`Difference.changed`: family-wise at that level); without it, those whose own
        interval leaves out zero.
    level : float
        The coverage of the intervals, for the labels.
    title : str, optional
        The heading.
    subtitle : str, optional
        A line under it, such as the source of the numbers.
    called : tuple of str, optional
        What the legend calls significant changes, and the others.

    Returns
    -------
    altair.LayerChart
        Shown by a notebook, written by `save_chart`.

    Raises
    ------
    DeniableError
        If there are no names, or not as many changes and intervals.

    Examples
    --------
    >>> chart = difference_chart(["no", "yes"], [-0.1, 0.1], [[-0.14, -0.06], [-0.01, 0.21]])
    >>> [row["clear"] for row in chart.to_dict()["datasets"].popitem()[1]]
    [True, False]
    """
    require("to draw a chart", "charts")
    import altair as alt

    values, bounds = [float(c) for c in changes], [(float(a), float(b)) for a, b in intervals]
    if not len(names) == len(values) == len(bounds) or not names:
        raise DeniableError(
            f"a chart of differences must have one name, change and interval for each of its bars, "
            f"got {len(names)}, {len(values)} and {len(bounds)}"
        )
    clear = [low > 0 or high < 0 for low, high in bounds] if changed is None else [bool(mark) for mark in changed]
    rows = [
        _change(name, value, bound, mark)
        for name, value, bound, mark in zip(printable(names), values, bounds, clear, strict=True)
    ]
    family = "" if changed is None else "family-wise, "
    kinds = list(called or (f"changed significantly ({family}{100 * level:g} %)", "within chance"))
    legend = alt.Legend(title=None, orient="top", symbolSize=140, symbolType="circle", labelLimit=0)
    shade = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[TRUTH, QUIET]), legend=legend)
    tooltip = [alt.Tooltip("name:N", title="answer")]
    tooltip += [alt.Tooltip(f"{name}:Q", format="+.2f", title=title) for name, title in _POINTS.items()]
    base = (
        alt.Chart(alt.InlineData(values=rows))
        .transform_calculate(
            kind=f"datum.clear ? '{kinds[0]}' : '{kinds[1]}'",
            points="100 * datum.change",
            least="100 * datum.low",
            most="100 * datum.high",
        )
        .encode(
            y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=LABEL_WIDTH, domain=False, ticks=False)),
            color=shade,
            tooltip=tooltip,
        )
    )
    # A share that rises from 10 to 15 % rises by 5 points, not by 5 %.
    spelled = "datum.value == 0 ? '0' : format(100 * datum.value, '+.3~g')"
    axis = alt.Axis(labelExpr=spelled, tickCount=8, domain=False, ticks=False, labelFlush=False)
    across = alt.X("change:Q", title=f"change of the share in points, with {100 * level:g} % intervals", axis=axis)
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=RULE, strokeWidth=1.5).encode(x="zero:Q")
    spans = base.mark_rule(strokeWidth=3).encode(x="low:Q", x2="high:Q")
    known = base.transform_filter("isValid(datum.low)")
    dots = known.mark_point(filled=True, opacity=1, size=110).encode(x=across)
    empty = base.transform_filter("!isValid(datum.low)").mark_text(align="left", dx=8, fontStyle="italic", color=QUIET)
    unknown = empty.encode(x=alt.datum(0), text=alt.value("not determined"), color=alt.value(QUIET))
    described = f"Change of {len(rows)} shares with {100 * level:g} % intervals"
    height = {"step": 30 if len(rows) <= 16 else 22}
    return styled(zero, spans, dots, unknown, described=described, height=height, title=title, subtitle=subtitle)


def _change(name: str, value: float, interval: tuple[float, float], clear: bool) -> dict[str, Any]:
    low, high = cut(interval, below=-1.0)
    known = low is not None
    return {"name": name, "change": value if known else None, "low": low, "high": high, "clear": known and clear}


def trend_chart(
    rows: Sequence[Mapping[str, Any]], *, shares: bool = True, level: float = 0.95, title: str | None = None
) -> "alt.LayerChart":
    """Shares over time: a line and a band for each symbol, and a mark where a window differs from those before it.

    Parameters
    ----------
    rows : sequence of mappings
        Each with `window` (a time as text), `name`, `estimate`, `low` and `high` (drawn between 0 and 1) and `changed`.
        At most six names: more lines cannot be told apart.
    shares : bool
        Whether these are shares; else they are means, in the unit of the answers.
    level : float
        The coverage of the intervals, for the labels.
    title : str, optional
        The heading.

    Returns
    -------
    altair.LayerChart
        Shown by a notebook, written by `save_chart`.

    Raises
    ------
    DeniableError
        If there are no names or more than six.

    Examples
    --------
    >>> day = {"window": "2026-11-15", "name": "yes", "estimate": 0.3, "low": 0.2, "high": 0.4, "changed": False}
    >>> chart = trend_chart([day, day | {"window": "2026-11-16", "changed": True}])
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['area', 'line', 'point', 'rule', 'point']
    """
    require("to draw a chart", "charts")
    import altair as alt

    names = list(dict.fromkeys(row["name"] for row in rows))
    if not 0 < len(names) <= len(SERIES):
        raise DeniableError(f"a chart over time must have 1 to {len(SERIES)} names, got {len(names)}; choose some")
    legend = alt.Legend(title=None, orient="top", symbolSize=120, symbolOpacity=1, columns=3, labelLimit=150)
    colours = alt.Scale(domain=names, range=[SERIES[i][0] for i in range(len(names))])
    shapes = alt.Scale(domain=names, range=[SERIES[i][1] for i in range(len(names))])
    tooltip = [
        alt.Tooltip("name:N", title="answer"),
        alt.Tooltip("window:N", title="window"),
        alt.Tooltip("estimate:Q", format=".2%" if shares else ".4~g"),
        alt.Tooltip("low:Q", format=".2%" if shares else ".4~g", title="from"),
        alt.Tooltip("high:Q", format=".2%" if shares else ".4~g", title="to"),
    ]
    dated = all(_DATE.match(str(row["window"])) for row in rows)
    axis = alt.Axis(format="%d %b", domain=False, ticks=False, grid=False) if dated else alt.Axis(labelAngle=0)
    across = alt.X("window:T" if dated else "window:O", title=None, axis=axis, sort=None)
    shade = alt.Color("name:N", scale=colours, legend=legend)
    base = alt.Chart(alt.InlineData(values=[_point(row) if shares else dict(row) for row in rows])).encode(
        x=across, color=shade, tooltip=tooltip
    )
    up = alt.Y(
        "estimate:Q",
        title=f"{'share' if shares else 'mean'}, with {100 * level:g} % intervals",
        axis=alt.Axis(format="%" if shares else "~g", tickCount=6, domain=False, ticks=False),
        scale=alt.Undefined if shares else alt.Scale(zero=False),
    )
    bands = base.mark_area(opacity=0.18).encode(y=alt.Y("low:Q"), y2="high:Q")
    lines = base.mark_line(strokeWidth=2.5).encode(y=up)
    dots = base.mark_point(filled=True, opacity=1, size=45).encode(
        y=up, shape=alt.Shape("name:N", scale=shapes, legend=legend)
    )
    marked = base.transform_filter("datum.changed")
    fall = marked.mark_rule(strokeDash=[4, 3], strokeWidth=1.5, opacity=0.8)
    rings = marked.mark_point(filled=False, opacity=1, size=320, strokeWidth=3).encode(y=up)
    described = f"Shares of {len(names)} symbols over time with {100 * level:g} % intervals"
    return styled(bands, lines, dots, fall, rings, described=described, height=HEIGHT - 60, title=title)


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    if row["low"] is None or row["high"] is None:
        return dict(row)
    low, high = cut([row["low"], row["high"]])
    return {**row, "low": low, "high": high}
