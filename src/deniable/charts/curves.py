"""Error curves: the expected error of each mechanism by epsilon."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.charts.base import INK, styled
from deniable.errors import DeniableError, require

if TYPE_CHECKING:
    import altair as alt

# The paper's mechanisms are drawn in full, newer ones dashed.
CURVES: dict[str, tuple[str, list[int]]] = {
    "k-RR": ("#009E73", [1, 0]),
    "k-RAPPOR": ("#CC79A7", [1, 0]),
    "O-RR": ("#0072B2", [1, 0]),
    "O-RAPPOR": ("#D55E00", [1, 0]),
    "OUE": ("#B07A00", [6, 3]),
    "subset selection": ("#222222", [6, 3]),
    "Hadamard": ("#56608A", [2, 3]),
    "projective": ("#8F3B1B", [8, 2, 2, 2]),
    "default decoder": ("#123B57", [1, 0]),
    "no privacy": ("#6B6B6B", [1, 3]),
}
_THICK = "default decoder"  # drawn thicker: this curve is measured, the others are closed forms

_ERRORS = [float(f"{digit}e{power}") for power in range(-6, 4) for digit in (1, 3)]


def curves_chart(
    rows: Sequence[Mapping[str, Any]], *, epsilon: float | None = None, title: str | None = None
) -> "alt.LayerChart":
    """The error of each mechanism by epsilon, both axes logarithmic, with a line at one epsilon.

    Parameters
    ----------
    rows : sequence of mappings
        Each with `mechanism` (of `CURVES`), `epsilon` and `error`.
    epsilon : float, optional
        Where to draw a vertical line, in nats.
    title : str, optional
        The heading.

    Returns
    -------
    altair.LayerChart
        Shown by a notebook, written by `save_chart`.

    Raises
    ------
    DeniableError
        If there are no rows, or a mechanism is not in `CURVES`.

    Examples
    --------
    >>> rows = [{"mechanism": "k-RR", "epsilon": e, "error": x} for e, x in ((1.0, 0.2), (2.0, 0.1))]
    >>> [layer["mark"]["type"] for layer in curves_chart(rows, epsilon=1.5).to_dict()["layer"]]
    ['line', 'rule']
    """
    require("to draw a chart", "charts")
    import altair as alt

    if not rows or any(row["mechanism"] not in CURVES for row in rows):
        raise DeniableError(
            f"a chart of curves must have lines named {', '.join(CURVES)}, got {len(rows)} row{'s' * (len(rows) != 1)}"
        )
    kinds = list(CURVES)
    legend = alt.Legend(title=None, orient="top", symbolSize=300, symbolStrokeWidth=3, columns=4)
    across = alt.X(
        "epsilon:Q",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 4, 8], format="~g", domain=False, ticks=False),
        title="epsilon (left is more private)",
    )
    up = alt.Y(
        "error:Q",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=_ERRORS, format="~r", domain=False, ticks=False),
        title="expected error, summed over all answers",
    )
    tooltip = [
        alt.Tooltip("mechanism:N"),
        alt.Tooltip("epsilon:Q", format=".2f"),
        alt.Tooltip("error:Q", format=".3~g"),
    ]
    lines = (
        alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))
        .mark_line(clip=True)
        .encode(
            x=across,
            y=up,
            color=alt.Color("mechanism:N", scale=alt.Scale(domain=kinds, range=[CURVES[k][0] for k in kinds]),
                            legend=legend),
            strokeDash=alt.StrokeDash("mechanism:N", scale=alt.Scale(domain=kinds, range=[CURVES[k][1] for k in kinds]),
                                      legend=legend),
            strokeWidth=alt.StrokeWidth("mechanism:N", legend=None, scale=alt.Scale(
                type="ordinal",
                domain=kinds, range=[4.5 if kind == _THICK else 2.25 for kind in kinds])),
            tooltip=tooltip,
        )
    )  # fmt: skip
    here = alt.Chart(alt.InlineData(values=[] if epsilon is None else [{"epsilon": epsilon}]))
    rule = here.mark_rule(color=INK, strokeWidth=1.5, strokeDash=[5, 4]).encode(x=across)
    return styled(lines, rule, described="Expected error of each mechanism by epsilon", title=title)
