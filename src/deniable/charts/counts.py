"""Counts as they arrived: the chart of a tally, before anything is decoded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.charts.bars import printable
from deniable.charts.base import BAR, INK, LABEL_WIDTH, RULE, styled
from deniable.errors import DeniableError, require

if TYPE_CHECKING:
    import altair as alt


def counts_chart(
    names: Sequence[str], counts: Sequence[Sequence[int]], *, title: str | None = None, subtitle: str | None = None
) -> "alt.LayerChart":
    """Counts of one cohort as bars, of several as a field of shades: a row a cohort, a column a cell.

    Parameters
    ----------
    names : sequence of str
        One label a cell.
    counts : sequence of sequences of int
        A row for each cohort, a count for each cell.
    title : str, optional
        The heading.
    subtitle : str, optional
        A line under it.

    Returns
    -------
    altair.LayerChart
        Shown by a notebook, written by `save_chart`.

    Raises
    ------
    DeniableError
        If a row has not as many counts as there are names, or there is nothing.

    Examples
    --------
    >>> [layer["mark"]["type"] for layer in counts_chart(["no", "yes"], [[6, 4]]).to_dict()["layer"]]
    ['bar', 'text']
    >>> [layer["mark"]["type"] for layer in counts_chart(["0", "1"], [[6, 4], [3, 5]]).to_dict()["layer"]]
    ['rect']
    """
    require("to draw a chart", "charts")
    import altair as alt

    if not names or not counts or any(len(row) != len(names) for row in counts):
        raise DeniableError(
            f"a chart of counts must have a count for each of its {len(names)} cells in each cohort, "
            f"got {len(counts)} rows of {sorted({len(row) for row in counts})}"
        )
    labels = printable(names)
    rows = [
        {"cell": label, "cohort": cohort, "count": int(count)}
        for cohort, row in enumerate(counts)
        for label, count in zip(labels, row, strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(tooltip=["cell:N", "cohort:O", "count:Q"])
    described = f"Counts of {len(names)} cells in {len(counts)} cohort{'s' * (len(counts) != 1)}, before decoding"
    if len(counts) > 1:
        shade = alt.Scale(range=["white", BAR, RULE], zero=True)
        field = base.mark_rect().encode(
            x=alt.X("cell:N", sort=None, title="cell", axis=alt.Axis(labels=len(names) <= 32, ticks=False)),
            y=alt.Y("cohort:O", title="cohort", axis=alt.Axis(labels=len(counts) <= 32, ticks=False)),
            color=alt.Color("count:Q", scale=shade, legend=alt.Legend(title="reports", orient="right")),
        )
        return styled(field, described=described, title=title, subtitle=subtitle)
    side = alt.Axis(labelLimit=LABEL_WIDTH, domain=False, ticks=False)
    lines = base.encode(
        y=alt.Y("cell:N", sort=None, title=None, axis=side),
        x=alt.X("count:Q", title="reports, as they arrived", axis=alt.Axis(tickCount=6, domain=False, ticks=False)),
    )
    bars = lines.mark_bar(height={"band": 0.72}, color=BAR)
    figures = lines.mark_text(align="left", dx=4, color=INK).encode(text=alt.Text("count:Q", format=","))
    return styled(bars, figures, described=described, height={"step": 30}, title=title, subtitle=subtitle)
