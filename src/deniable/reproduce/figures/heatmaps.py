"""The k-ary experiments as grids: alphabet size k (rows, the smallest at the bottom) by epsilon (columns).

Paper: `fig:decoders`, `fig:krr_vs_rappor` and their l2 twins. A cell is a difference of two mean losses; blue is
negative, and means that the first of the two is better.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from deniable.reproduce.figures.base import EPSILON, INK, QUIET, Chart, Row, Rows, Tables, finite, inline, unique, users

_MECHANISMS = {"krr": "k-RR", "krappor": "k-RAPPOR"}
_DIFFERENCES = {
    "k-RR": "projected minus the better of normalised and maximum likelihood",
    "k-RAPPOR": "projected minus the better of standard and normalised",
}
# The sign of a small difference must be seen, so the palest blue and the palest red do not meet in white; grey stands
# for a sign that is not known.
_SHADES = ["#2166AC", "#7FB6D9", "#E1EEF6", "#FCEBE2", "#F0A07C", "#B2182B"]
_UNCERTAIN = "#E3E3E3"
_AXIS: dict[str, Any] = {"domain": False, "ticks": False, "labelAngle": 0}
_SMALL_AXIS = _AXIS | {"labelFontSize": 10, "titleFontSize": 11, "titlePadding": 4}
_CELL: dict[str, Any] = {"width": {"step": 39}, "height": {"step": 24}}  # pixels


def decoder_rows(tables: Tables, loss: str, distributions: Sequence[str] = (), ns: Sequence[int] = ()) -> Rows:
    """The projected decoder minus the next best one, by mechanism; no distributions or ns means all of them."""
    found = _kary(tables, loss, distributions, ns)
    return [
        _cell(row, name, row[f"{key}_gain"], row[f"{key}_gain_se"], f"projected - {row[f'{key}_rival']}")
        for key, name in _MECHANISMS.items()
        for row in found
        if finite(row[f"{key}_gain"])
    ]


def mechanism_rows(tables: Tables, loss: str, distributions: Sequence[str] = (), ns: Sequence[int] = ()) -> Rows:
    """The best k-RR decoder minus the best k-RAPPOR decoder; no distributions or ns means all of them."""
    return [
        _cell(
            row,
            "k-RR - k-RAPPOR",
            row["difference"],
            row["difference_se"],
            f"{row['krr_best']} - {row['krappor_best']}",
        )
        for row in _kary(tables, loss, distributions, ns)
        if finite(row["difference"])
    ]


def _kary(tables: Tables, loss: str, distributions: Sequence[str], ns: Sequence[int]) -> Rows:
    found = [dict(row) for row in tables.get("kary", ()) if row["loss"] == loss]
    found = [row for row in found if not distributions or row["distribution"] in distributions]
    return [row for row in found if not ns or row["n"] in ns]


def _cell(row: Row, mechanism: str, difference: float, error: float, decoders: str) -> Row:
    kept = {name: row[name] for name in ("distribution", "n", "loss", "k", "epsilon")}
    numbers = {"difference": difference, "standard_error": error if finite(error) else None}
    return kept | {"mechanism": mechanism, "decoders": decoders} | numbers | {"evaluations": row["evaluations"]}


def _uncertain(row: Row) -> bool:
    """Within two standard errors of zero: the sign is not known."""
    return row["standard_error"] is not None and abs(row["difference"]) <= 2 * row["standard_error"]


def _number(row: Row) -> str:
    """Thousandths with two digits, in brackets where the sign is not known.

    >>> [_number({"difference": d, "standard_error": 0.001}) for d in (-0.1234, 0.00456, -0.0005, 1e-9)]
    ['\N{MINUS SIGN}123', '4.6', '(\N{MINUS SIGN}0.50)', '(0)']
    """
    value = abs(row["difference"]) * 1000
    text = f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"
    text = text if text.strip("0.") else "0"
    signed = f"\N{MINUS SIGN}{text}" if row["difference"] < 0 and text != "0" else text
    return f"({signed})" if _uncertain(row) else signed


def _words(row: Row) -> str:
    error = "" if row["standard_error"] is None else f" \N{PLUS-MINUS SIGN} {row['standard_error']:.1g}"
    where = f"k = {row['k']}, {EPSILON} = {row['epsilon']:g}"
    return f"{where}: {row['difference']:.3g}{error} ({row['decoders']})".replace("-", "\N{MINUS SIGN}")


def _colours(bound: float) -> Chart:
    """Square-root shading: half of the colour is spent by a quarter of the bound, so small differences still show."""
    import altair as alt

    marks = [-bound, -bound / 4, -bound * 1e-9, bound * 1e-9, bound / 4, bound]
    return alt.Scale(type="pow", exponent=0.5, domain=marks, range=_SHADES, clamp=True)


def _round_bound(largest: float) -> float:
    """The next larger number that has few digits, and whose quarter has, too: both stand in the legend.

    >>> _round_bound(0.487), _round_bound(0.0013)
    (0.6, 0.0016)
    """
    if largest == 0:
        return 1.0
    ten = 10.0 ** math.floor(math.log10(largest))
    return next(float(f"{step * ten:.3g}") for step in (1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if step * ten >= largest)


def _heading(mechanism: str) -> Chart:
    import altair as alt

    if mechanism in _DIFFERENCES:
        return alt.TitleParams(mechanism, subtitle=_DIFFERENCES[mechanism])
    return alt.TitleParams("k-RR against k-RAPPOR", subtitle="best k-RR decoder minus best k-RAPPOR decoder")


def grid_plot(rows: Rows, *, boundary: bool) -> Chart:
    """Large panels with a number in each cell: by mechanism, or by distribution (rows) and n (columns)."""
    import altair as alt

    by_mechanism = rows[0]["mechanism"] in _DIFFERENCES
    above = unique("all" if by_mechanism else row["distribution"] for row in rows)
    stacked = []
    for distribution in above:
        line = [row for row in rows if by_mechanism or row["distribution"] == distribution]
        bound = _round_bound(max(abs(row["difference"]) for row in line))
        panels = []
        for name in unique(row["mechanism"] if by_mechanism else row["n"] for row in line):
            part = [row for row in line if name == (row["mechanism"] if by_mechanism else row["n"])]
            title = _heading(name) if by_mechanism else f"{distribution.capitalize()}, {users(name)}"
            panels.append(_panel(part, rows, bound, title, boundary))
        stacked.append(alt.hconcat(*panels, spacing=24))
    return alt.vconcat(*stacked, spacing=24).resolve_scale(color="independent") if len(stacked) > 1 else stacked[0]


def _panel(part: Rows, rows: Rows, bound: float, title: Chart, boundary: bool) -> Chart:
    import altair as alt

    epsilons = sorted({row["epsilon"] for row in rows})
    sizes = sorted({row["k"] for row in rows}, reverse=True)
    across = alt.Axis(title=EPSILON, format=".3~g", **_AXIS)
    x = alt.X("epsilon:O", sort=epsilons, scale=alt.Scale(domain=epsilons), axis=across)
    up = alt.Axis(title="alphabet size k", **_AXIS)
    y = alt.Y("k:O", sort=sizes, scale=alt.Scale(domain=sizes), axis=up)
    legend = alt.Legend(
        title=["difference in", f"mean {part[0]['loss'].upper()} loss", "(thousandths)"],
        labelExpr="format(datum.value * 1000, ',.3~r')",
        values=[-bound, -bound / 4, 0, bound / 4, bound],
        gradientLength=200,
    )
    shown = [
        row | {"words": _words(row), "number": _number(row), "ink": _ink(row, bound), "uncertain": _uncertain(row)}
        for row in part
    ]
    base = alt.Chart(inline(shown)).encode(x=x, y=y)
    tiles = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=alt.condition(
            "datum.uncertain",
            alt.value(_UNCERTAIN),
            alt.Color("difference:Q", scale=_colours(bound), legend=legend),
        ),
        description="words:N",
        tooltip="words:N",
    )
    numbers = base.mark_text(fontSize=11, aria=False).encode(text="number:N", fill=alt.Fill("ink:N", scale=None))
    layers = [tiles, numbers, *(_edges(base, part) if boundary else [])]
    return alt.layer(*layers).properties(title=title, **_CELL)


def _ink(row: Row, bound: float) -> str:
    if _uncertain(row):
        return QUIET
    return "#FFFFFF" if abs(row["difference"]) > 0.6 * bound else INK


def _edges(base: Chart, rows: Rows) -> list[Chart]:
    """The staircase k = e**epsilon: the upper and left edges of the cells under it that have none beside them.

    Drawn from the cells that are there, so it also fits a grid with holes.
    """
    import altair as alt

    under = {(row["epsilon"], row["k"]) for row in rows if row["k"] < math.exp(row["epsilon"])}
    epsilons, sizes = sorted({row["epsilon"] for row in rows}), sorted({row["k"] for row in rows})
    upper, left = dict(pairwise(sizes)), dict(pairwise(reversed(epsilons)))
    tops = [{"epsilon": e, "k": k} for e, k in sorted(under) if k in upper and (e, upper[k]) not in under]
    sides = [{"epsilon": e, "k": k} for e, k in sorted(under) if e in left and (left[e], k) not in under]
    x, y = base.encoding.x.copy(), base.encoding.y.copy()
    x.bandPosition, y.bandPosition = 0, 0
    line: dict[str, Any] = {"strokeWidth": 2.5, "color": INK, "aria": False, "strokeCap": "square"}
    across = alt.Chart(inline(tops)).mark_rule(**line)
    down = alt.Chart(inline(sides)).mark_rule(**line)
    return [
        across.encode(x=x, x2=alt.X2("epsilon", bandPosition=1), y=y),
        down.encode(x=x, y=y, y2=alt.Y2("k", bandPosition=1)),
    ]


def small_plot(rows: Rows) -> Chart:
    """Small multiples, distributions by n, each panel on a colour scale of its own (its end is printed above it).

    Losses fall as 1 / sqrt(n), so one common scale would leave the panels of many users white.
    """
    import altair as alt

    names = unique(row["mechanism"] for row in rows)
    wide, high = (7, 6) if len(names) > 1 else (14, 8)
    blocks = [_block([row for row in rows if row["mechanism"] == name], name, wide, high) for name in names]
    return alt.hconcat(*blocks, spacing=36)


def _block(part: Rows, mechanism: str, wide: int, high: int) -> Chart:
    import altair as alt

    largest: dict[tuple[str, int], float] = {}
    for row in part:
        where = (row["distribution"], row["n"])
        largest[where] = max(largest.get(where, 0.0), abs(row["difference"]))
    shown = []
    for row in part:
        end = largest[row["distribution"], row["n"]]
        told = {"shade": row["difference"] / (end or 1.0), "end": f"\N{PLUS-MINUS SIGN}{end:.2g}"}
        shown.append(row | told | {"uncertain": _uncertain(row)})
    epsilons = sorted({row["epsilon"] for row in part})
    sizes = sorted({row["k"] for row in part}, reverse=True)
    across = alt.Axis(title=EPSILON, values=[e for e in epsilons if e in (0.1, 1, 10)], format=".3~g", **_SMALL_AXIS)
    up = alt.Axis(values=[k for k in sizes if k in (2, 64, 4096)], **_SMALL_AXIS)
    x, y = alt.X("epsilon:O", sort=epsilons, axis=across), alt.Y("k:O", sort=sizes, axis=up)
    legend = alt.Legend(
        title="difference / the panel's largest (grey: within 2 standard errors of zero)",
        orient="bottom",
        values=[-1, -0.25, 0, 0.25, 1],
        gradientLength=300,
        format=".3~g",
    )
    shade = alt.Color("shade:Q", scale=_colours(1.0), legend=legend)
    colour = alt.condition("datum.uncertain", alt.value(_UNCERTAIN), shade)
    tiles = alt.Chart().mark_rect(aria=False).encode(x=x, y=y, color=colour)
    words = alt.Chart().mark_text(align="right", baseline="bottom", fontSize=9, color=QUIET, aria=False)
    words = words.transform_aggregate(end="max(end)", groupby=["distribution", "n"])
    ends = words.encode(x=alt.value(wide * len(epsilons)), y=alt.value(-2), text="end:N")
    panel = alt.layer(tiles, ends, data=inline(shown))
    header: dict[str, Any] = {"labelFontSize": 11, "title": None}
    return panel.properties(width={"step": wide}, height={"step": high}).facet(
        row=alt.Row(
            "distribution:N",
            sort=unique(row["distribution"] for row in part),
            header=alt.Header(labelAngle=0, labelAlign="left", **header),
        ),
        column=alt.Column("n:O", header=alt.Header(labelExpr="format(datum.value, ',') + ' users'", **header)),
        spacing={"row": 15, "column": 10},
        title=_heading(mechanism),
    )
