"""The chart of docs/results/benchmarks.md: seconds against people, a line a library, a panel a mechanism."""

from pathlib import Path

import altair as alt

from benchmarks.peers.figures import Figure
from deniable.charts import save_chart

__all__ = ["draw"]

# Told apart by colour and by dash.
_LINES = {
    "deniable": ("#222222", [1, 0]),
    "pure-ldp": ("#D55E00", [6, 2]),
    "pure-ldp, fast": ("#E69F00", [2, 2]),
    "multi-freq-ldpy": ("#0072B2", [8, 3, 2, 3]),
    "ldp-toolbox": ("#009E73", [4, 4]),
    "opendp": ("#CC79A7", [10, 3]),
}


def draw(figures: list[Figure], path: Path) -> None:
    rows = [
        {"mechanism": f.cell.mechanism, "n": f.cell.n, "library": f.who, "seconds": f.value}
        for f in figures
        if f.cell.table == "growth" and f.value is not None
    ]
    who = [name for name in _LINES if any(row["library"] == name for row in rows)]
    colours = alt.Scale(domain=who, range=[_LINES[name][0] for name in who])
    dashes = alt.Scale(domain=who, range=[_LINES[name][1] for name in who])
    legend = alt.Legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=2.5, symbolSize=500)
    tens = [10.0**power for power in range(-4, 3)]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "n:Q",
            title="people",
            scale=alt.Scale(type="log", domain=[100, 10**7]),
            axis=alt.Axis(values=[10.0**power for power in range(2, 8)], format="~s", grid=False),
        ),
        y=alt.Y("seconds:Q", title="CPU seconds", scale=alt.Scale(type="log"), axis=alt.Axis(values=tens, format="~g")),
        color=alt.Color("library:N", scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("library:N", scale=dashes, legend=legend),
    )
    panel = alt.layer(base.mark_line(strokeWidth=2.2), base.mark_point(filled=True, size=36, opacity=1))
    chart = panel.properties(width=230, height=230).facet(
        column=alt.Column("mechanism:N", title=None, sort=["GRR", "OUE", "OLH"], header=alt.Header(labelFontSize=13))
    )
    described = "CPU seconds from answers to the estimate against the number of people, by library and mechanism"
    save_chart(chart.properties(description=described).configure_view(stroke=None), path)
