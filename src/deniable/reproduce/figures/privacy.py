"""How much privacy a wanted loss leaves, by the number of users.

Paper: `fig:privacy_at_n_open`, `fig:privacy_at_n_closed` and `fig:privacy_at_n_open_s4096`; lower is more private.
"""

from deniable.reproduce.figures.base import EPSILON, Chart, Row, Rows, Tables, finite, inline
from deniable.reproduce.figures.lines import MECHANISMS, mechanism_marks

_KEPT = ("alphabet", "S", "n", "loss", "mechanism", "epsilon", "epsilon_low", "epsilon_high", "k", "C", "h", "samples")


def privacy_rows(tables: Tables, alphabet: str, symbols: int) -> Rows:
    """The points that were reached with epsilon between 0.1 and 10, target by target."""
    order = list(MECHANISMS)
    found = [
        {name: row[name] for name in _KEPT}
        for row in tables.get("privacy", ())
        if (row["alphabet"], row["S"]) == (alphabet, symbols) and finite(row["epsilon"])
    ]
    return sorted(found, key=lambda row: (row["loss"], order.index(row["mechanism"]), row["n"]))


def privacy_plot(rows: Rows) -> Chart:
    """One panel a target, all on the same axes, so that moving from one to the next reads as a shift."""
    import altair as alt

    marks = mechanism_marks(rows)
    scales = {
        "x": alt.Scale(type="log", nice=False, domain=[f(row["n"] for row in rows) for f in (min, max)], padding=12),
        "y": alt.Scale(type="log", nice=False, domain=[0.1, 10], padding=8),
    }
    panels = [_panel(rows, target, marks, scales) for target in sorted({row["loss"] for row in rows})]
    return alt.concat(*panels, columns=2 if len(panels) == 4 else 3, spacing=24)


def _panel(rows: Rows, target: float, marks: dict[str, Chart], scales: dict[str, Chart]) -> Chart:
    import altair as alt

    part = [row | {"words": _words(row)} for row in rows if row["loss"] == target]
    tens = [10**power for power in range(1, 12)]
    ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10]
    words = "replace(format(datum.value, '~s'), 'G', ' billion')"  # a G of users is no word
    across = alt.Axis(values=tens, labelExpr=words, gridOpacity=0.6)
    base = alt.Chart(inline(part)).encode(
        x=alt.X("n:Q", scale=scales["x"], axis=across, title="users n"), color=marks["color"]
    )
    up = alt.Axis(values=ticks, format=".3~g", domain=False, ticks=False, title=f"{EPSILON} needed (lower is better)")
    y = alt.Y("epsilon:Q", scale=scales["y"], axis=up)
    line = base.mark_line(strokeWidth=2, aria=False).encode(y=y, strokeDash=marks["strokeDash"])
    bars = base.transform_filter("isValid(datum.epsilon_low) && isValid(datum.epsilon_high)")
    bars = bars.mark_rule(strokeWidth=1.2, aria=False).encode(y=alt.Y("epsilon_low:Q"), y2="epsilon_high:Q")
    dots = base.mark_point(filled=True, size=34, opacity=1).encode(
        y=y, shape=marks["shape"], description="words:N", tooltip="words:N"
    )
    return alt.layer(bars, line, dots).properties(width=320, height=250, title=f"L1 loss at most {target:g}")


def _words(row: Row) -> str:
    chosen = ", ".join(f"{name} = {row[name]}" for name in ("k", "C", "h") if row[name] is not None)
    return f"{row['mechanism']}, n = {row['n']:,}: {EPSILON} = {row['epsilon']:.3g}, {chosen}"
