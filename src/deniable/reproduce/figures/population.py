"""The population of the hashed experiments. Paper: `fig:geometric_ground_truth`."""

from deniable.reproduce.figures.base import Chart, Rows, Tables, inline


def population_rows(tables: Tables) -> Rows:
    """The table as it is."""
    return [{"symbol": row["symbol"], "probability": row["probability"]} for row in tables.get("population", ())]


def population_plot(rows: Rows) -> Chart:
    """A step for each symbol: the alphabet has no order between symbols but the one that the figure gives it."""
    import altair as alt

    base = alt.Chart(inline(rows)).encode(
        x=alt.X("symbol:Q", title="symbol", scale=alt.Scale(nice=False), axis=alt.Axis(grid=False)),
        y=alt.Y("probability:Q", title="probability", axis=alt.Axis(format="~%", domain=False, ticks=False)),
    )
    area = base.mark_area(interpolate="step-after", color="#8CC8EE", line={"color": "#0072B2", "strokeWidth": 1.2})
    return area.properties(width=620, height=240)
