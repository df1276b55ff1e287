"""The power curve of a plan: how likely an effect is seen, by the number of people."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.charts.base import HEIGHT, INK, QUIET, styled
from deniable.errors import DeniableError, require

if TYPE_CHECKING:
    import altair as alt

_LOOKS = (("#0072B2", [6, 2]), (INK, [1, 0]), ("#D55E00", [10, 3, 2, 3]))  # half the budget, the plan's, twice of it
CLEAR = "no privacy"


def power_chart(
    rows: Sequence[Mapping[str, Any]], point: Mapping[str, float], *, title: str | None = None
) -> "alt.LayerChart":
    """Power against people, a line for each epsilon, and the point of a plan.

    Parameters
    ----------
    rows : sequence of mappings
        Each with `epsilon` (None: true answers), `n` and `power`; at most three epsilons.
    point : mapping
        The plan: its `n` and `power`.
    title : str, optional
        The heading.

    Returns
    -------
    altair.LayerChart
        Shown by a notebook, written by `save_chart`.

    Raises
    ------
    DeniableError
        If there are no rows, or more than three epsilons.

    Examples
    --------
    >>> rows = [{"epsilon": e, "n": n, "power": p} for e in (1.0, None) for n, p in ((100, 0.2), (1000, 0.9))]
    >>> chart = power_chart(rows, {"n": 800, "power": 0.8})
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['line', 'rule', 'point']
    """
    require("to draw a chart", "charts")
    import altair as alt

    budgets = list(dict.fromkeys(row["epsilon"] for row in rows if row["epsilon"] is not None))
    if not rows or not 0 < len(budgets) <= len(_LOOKS):
        raise DeniableError(
            f"a chart of power must have lines for one to three epsilons, got {len(budgets)} in {len(rows)} rows"
        )
    looks = _LOOKS if len(budgets) == len(_LOOKS) else _LOOKS[1:]
    lines = {f"epsilon {epsilon:.3g}": look for epsilon, look in zip(budgets, looks, strict=False)}
    lines[CLEAR] = (QUIET, [1, 3])
    named = [
        {"line": CLEAR if row["epsilon"] is None else f"epsilon {row['epsilon']:.3g}"}
        | {key: row[key] for key in ("n", "power")}
        for row in rows
    ]
    legend = alt.Legend(title=None, orient="top", symbolSize=300, symbolStrokeWidth=3)
    across = alt.X(
        "n:Q",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~s", domain=False, ticks=False, tickCount=6),
        title="people",
    )
    up = alt.Y(
        "power:Q",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", domain=False, ticks=False),
        title="power: how likely the effect is seen",
    )
    names = list(lines)
    drawn = (
        alt.Chart(alt.InlineData(values=named))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=across,
            y=up,
            color=alt.Color("line:N", scale=alt.Scale(domain=names, range=[lines[k][0] for k in names]), legend=legend),
            strokeDash=alt.StrokeDash("line:N", scale=alt.Scale(domain=names, range=[lines[k][1] for k in names]),
                                      legend=legend),
            tooltip=[alt.Tooltip("line:N"), alt.Tooltip("n:Q", format=","), alt.Tooltip("power:Q", format=".1%")],
        )
    )  # fmt: skip
    here = alt.Chart(alt.InlineData(values=[{"n": float(point["n"]), "power": float(point["power"])}]))
    rule = here.mark_rule(color=QUIET, strokeDash=[5, 4]).encode(y=up)
    mark = here.mark_point(color=INK, filled=True, size=110).encode(x=across, y=up)
    return styled(
        drawn,
        rule,
        mark,
        height=HEIGHT,
        described="Power by the number of people, a line for each epsilon",
        title=title,
    )
