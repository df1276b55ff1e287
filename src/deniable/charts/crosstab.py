"""A cross-table as a heat map."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.charts.bars import printable
from deniable.charts.base import BAR, GRID, INK, LABEL_WIDTH, styled
from deniable.errors import DeniableError, require

if TYPE_CHECKING:
    import altair as alt

_WARM = "#F5B583"  # orange, light enough for dark figures on it
_MORE, _FEWER, _UNKNOWN = "surely more than by chance", "surely fewer", "not certain"


def crosstab_chart(
    names: tuple[Sequence[str], Sequence[str]],
    titles: tuple[str, str],
    shares: Sequence[Sequence[float]] | Any,
    certain: Sequence[Sequence[float]] | Any,
    *,
    note: str | None = None,
) -> "alt.LayerChart":
    """Shares within rows; cells that surely have more or fewer people than independence would give are coloured.

    Parameters
    ----------
    names : tuple of sequences of str
        Labels of the rows and of the columns.
    titles : tuple of str
        What rows and columns are.
    shares : sequence of sequences of float
        The share of each column within its row; NaN where it is not known.
    certain : sequence of sequences of float
        1, -1 or 0: surely more, surely fewer, not certain.
    note : str, optional
        A line under the heading.

    Returns
    -------
    altair.LayerChart
        Shown by a notebook, written by `save_chart`.

    Raises
    ------
    DeniableError
        If a row or a column is missing.

    Examples
    --------
    >>> names, shares = (["a", "b"], ["no", "yes"]), [[0.7, 0.3], [0.5, 0.5]]
    >>> chart = crosstab_chart(names, ("group", "answer"), shares, [[1, -1], [0, 0]])
    >>> [row["share"] for row in chart.to_dict()["datasets"].popitem()[1]]
    ['70 %', '30 %', '50 %', '50 %']
    """
    require("to draw a chart", "charts")
    import altair as alt

    rows, columns = printable(names[0]), printable(names[1])
    if len(shares) != len(rows) or any(len(row) != len(columns) for row in shares) or not rows:
        raise DeniableError(
            f"a chart of a cross-table must have a share for each of its {len(rows)} x {len(columns)} cells"
        )
    words = {1: _MORE, -1: _FEWER, 0: _UNKNOWN}
    cells = [
        {"row": row, "column": column, "share": _told(float(share)), "certain": words[int(sign)]}
        for row, values, signs in zip(rows, shares, certain, strict=True)
        for column, share, sign in zip(columns, values, signs, strict=True)
    ]
    top = alt.Axis(orient="top", labelAngle=0, labelLimit=120, domain=False, ticks=False)
    side = alt.Axis(labelLimit=LABEL_WIDTH, domain=False, ticks=False)
    base = alt.Chart(alt.InlineData(values=cells)).encode(
        x=alt.X("column:N", sort=None, title=titles[1], axis=top),
        y=alt.Y("row:N", sort=None, title=titles[0], axis=side),
        tooltip=["row:N", "column:N", "share:N", "certain:N"],
    )
    scale = alt.Scale(domain=[_MORE, _FEWER, _UNKNOWN], range=[BAR, _WARM, GRID])
    field = base.mark_rect(stroke="white", strokeWidth=2, opacity=0.9).encode(
        color=alt.Color("certain:N", scale=scale, legend=alt.Legend(title=None, orient="bottom", labelLimit=0))
    )
    figures = base.mark_text(fontSize=14, color=INK).encode(text="share:N")
    described = f"Cross-table of {titles[0]} by {titles[1]}: shares within rows"
    title = f"{titles[1]}, within each {titles[0]}"
    return styled(field, figures, described=described, height={"step": 46}, title=title, subtitle=note)


def _told(share: float) -> str:
    return "?" if math.isnan(share) else f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"
