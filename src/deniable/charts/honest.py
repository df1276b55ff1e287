"""What is left of a crowd's protection by how many of its people are honest."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.charts.base import INK, styled
from deniable.errors import DeniableError, require

if TYPE_CHECKING:
    import altair as alt

_LINE = "#0072B2"


def crowd_chart(points: Sequence[tuple[float, float]], *, local: float, title: str | None = None) -> "alt.LayerChart":
    """The central epsilon by the number of honest people, and a line where the crowd adds nothing.

    Parameters
    ----------
    points : sequence of pairs
        How many are honest, and the epsilon that is left.
    local : float
        What one report spends by itself.
    title : str, optional
        The heading.

    Returns
    -------
    altair.LayerChart
        Shown by a notebook, written by `save_chart`.

    Raises
    ------
    DeniableError
        If there are no points.

    Examples
    --------
    >>> chart = crowd_chart([(1_000, 0.28), (500, 0.41), (1, 2.0)], local=2.0)
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['line', 'rule']
    """
    require("to draw a chart", "charts")
    import altair as alt

    if not points:
        raise DeniableError("a chart of a crowd must have points, got none; Crowd.curve has them")
    across = alt.X(
        "honest:Q",
        scale=alt.Scale(type="log", nice=False, reverse=True),
        axis=alt.Axis(format="~s", domain=False, ticks=False),
        title="honest people (the others collude or are made up)",
    )
    up = alt.Y(
        "epsilon:Q",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format=".3~g", domain=False, ticks=False),
        title="epsilon against whoever sees only the counts",
    )
    rows = [{"honest": honest, "epsilon": epsilon} for honest, epsilon in points]
    line = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(color=_LINE, strokeWidth=2.5, point=True)
        .encode(x=across, y=up, tooltip=[alt.Tooltip("honest:Q", format=","), alt.Tooltip("epsilon:Q", format=".3~g")])
    )
    void = (
        alt.Chart(alt.InlineData(values=[{"epsilon": local}]))
        .mark_rule(color=INK, strokeWidth=1.5, strokeDash=[5, 4])
        .encode(y=up)
    )
    return styled(line, void, described="Central epsilon by the number of honest people", title=title)
