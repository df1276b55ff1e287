"""The planner's chart: epsilon against n at one error."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.charts.base import HEIGHT, INK, TRUTH, styled
from deniable.errors import DeniableError, require

if TYPE_CHECKING:
    import altair as alt

# Each line of a plan's chart: a colour, a dash and a width; what was planned stands out without its colour, too.
LINES: dict[str, tuple[str, list[int], float]] = {
    "best plan": (INK, [1, 0], 3.0),
    "k-RR": ("#009E73", [2, 3], 2.0),
    "k-RAPPOR": ("#CC79A7", [10, 3, 2, 3], 2.0),
    "O-RR": ("#0072B2", [6, 2], 2.0),
    "O-RAPPOR": ("#D55E00", [7, 3], 2.0),
}


def plan_chart(
    rows: Sequence[Mapping[str, Any]], point: Mapping[str, Any], *, title: str | None = None
) -> "alt.LayerChart":
    """Epsilon against n at one error: a line for each mechanism, and the point of a plan. Both axes are logarithmic.

    Paper: `fig:privacy_at_n`.

    Parameters
    ----------
    rows : sequence of mappings
        Each with `mechanism` ("best plan", or one of the paper's), `n` and `epsilon`.
    point : mapping
        The plan: its `mechanism`, `n` and `epsilon`.
    title : str, optional
        The heading.

    Returns
    -------
    altair.LayerChart
        Shown by a notebook, written by `save_chart`.

    Raises
    ------
    DeniableError
        If there are no rows, or a mechanism is not in `LINES`.

    Examples
    --------
    >>> rows = [{"mechanism": "best plan", "n": n, "epsilon": e} for n, e in ((1e5, 2.0), (1e6, 0.6))]
    >>> chart = plan_chart(rows, {"mechanism": "SS", "n": 3e5, "epsilon": 1.1})
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['line', 'point', 'text']
    """
    require("to draw a chart", "charts")
    import altair as alt

    kinds = [name for name in LINES if any(row["mechanism"] == name for row in rows)]
    if not kinds or any(row["mechanism"] not in LINES for row in rows):
        raise DeniableError(
            f"a chart of plans must have lines named {', '.join(LINES)}, got {len(rows)} "
            f"row{'s' * (len(rows) != 1)} of others"
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
    colours = alt.Scale(domain=kinds, range=[LINES[name][0] for name in kinds])
    dashes = alt.Scale(domain=kinds, range=[LINES[name][1] for name in kinds])
    widths = alt.Scale(domain=kinds, range=[LINES[name][2] for name in kinds])
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
    mark = here.mark_point(filled=True, size=150, color=TRUTH, opacity=1, stroke="white", strokeWidth=1.5)
    # Nothing is ever drawn below the best plan's line, so the corner under it is free.
    corner = alt.Chart(alt.InlineData(values=[{"label": f"\u25cf  {label}"}])).mark_text(
        align="left", fontWeight="bold", color=TRUTH
    )
    text = corner.encode(x=alt.value(14), y=alt.value(HEIGHT - 18), text="label:N")
    return styled(lines, mark, text, described=f"Epsilon against n; planned: {label}", title=title)
