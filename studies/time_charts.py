"""The charts of docs/results/time.md."""

from typing import Any

import altair as alt
import numpy as np

import deniable as dn
from deniable.charts import save_chart
from studies.time_rows import FILE

Rows = list[dict[str, str]]

FOLDER = FILE.parent
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#8A8A8A"]


def draw(rows: Rows) -> None:
    """Write all of them."""
    for name, chart in (("time_merged", merged(rows)), ("time_gain", gain(rows)), ("time_history", history())):
        save_chart(chart.configure_view(stroke=None).configure(background="white", padding=12), FOLDER / f"{name}.svg")


def merged(rows: Rows) -> Any:
    """What intervals of merged days cover, by the number of days."""
    values = [
        {"days": one["windows"], "kind": one["measure"], "covered": float(one["value"]), "error": float(one["error"])}
        for one in rows
        if one["table"] == "merged"
    ]
    legend = alt.Legend(title=None, orient="top", labelLimit=0)
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("days:O", sort=None, title="days of the same 1,000 devices", axis=alt.Axis(labelAngle=0)),
        y=alt.Y(
            "covered:Q", title="95 % intervals that cover", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
        ),
        color=alt.Color("kind:N", sort=None, scale=alt.Scale(range=COLOURS), legend=legend),
        shape=alt.Shape("kind:N", sort=None, legend=None),
    )
    wanted = alt.Chart(alt.InlineData(values=[{"level": 0.95}])).mark_rule(strokeDash=[4, 3]).encode(y="level:Q")
    described = "Coverage of merged days: as if all people were others it falls from 95 to 16 percent, else it stays"
    found: Any = alt.layer(wanted, base.mark_line(), base.mark_point(filled=True, size=90)).properties(
        width=420, height=240, description=described
    )
    return found


ORDER = ["20 windows", "100 windows", "400 windows"]
SHOWN = ("tracked", "plain Kalman smoother", "best centred average")


def gain(rows: Rows) -> Any:
    """Mean squared errors of three ways to smooth, in that of windows decoded alone, by movement and length."""
    values = [
        {
            "movement": one["case"],
            "windows": f"{one['windows']} windows",
            "kind": one["measure"],
            "error": float(one["value"]),
        }
        for one in rows
        if one["table"] == "gain" and one["measure"] in SHOWN
    ]
    legend = alt.Legend(title=None, orient="top", labelLimit=0)
    described = "Mean squared error of tracked shares and of plain filters, relative to windows decoded alone"
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_point(filled=True, size=80, opacity=0.9)
        .encode(
            x=alt.X(
                "error:Q",
                scale=alt.Scale(type="log"),
                title="mean squared error, in that of each window decoded alone",
                axis=alt.Axis(format="~g", values=[0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]),
            ),
            y=alt.Y("movement:N", sort=None, title=None),
            color=alt.Color("kind:N", sort=list(SHOWN), scale=alt.Scale(range=COLOURS), legend=legend),
            shape=alt.Shape("kind:N", sort=list(SHOWN), legend=None),
            row=alt.Row("windows:N", sort=ORDER, title=None, header=alt.Header(labelAngle=0, labelAlign="left")),
        )
        .properties(width=420, height=110, description=described)
    )


def history() -> Any:
    """One symbol of one history: what it did, what each window alone says, and what tracking makes of all of them."""
    rng, windows = np.random.default_rng(5), 60
    survey = dn.krr(6, epsilon=2.0, participation="window")
    share = 0.2 + 0.03 * np.sin(np.arange(windows) / 12) + np.where(np.arange(windows) >= 40, 0.06, 0.0)
    path = np.column_stack([share, *[(1 - share) * part for part in (0.3, 0.25, 0.2, 0.15, 0.1)]])
    tracked = dn.track(dn.lab.panel(survey, path, 8000, rng, turnover=0.2), turnover=0.2)
    reach = 1.96 * np.sqrt(tracked.moving.smoothed_variance[0])
    values = [
        {
            "window": t,
            "truth": float(share[t]),
            "alone": float(tracked.series.values[0, t]),
            "tracked": float(tracked.moving.smoothed[0, t]),
            "low": float(tracked.moving.smoothed[0, t] - reach[t]),
            "high": float(tracked.moving.smoothed[0, t] + reach[t]),
        }
        for t in range(windows)
    ]
    base = alt.Chart(alt.InlineData(values=values)).encode(x=alt.X("window:Q", title="window"))
    up = alt.Axis(format="%")
    legend = alt.Legend(title=None, orient="top")
    kinds = alt.Scale(
        domain=["each window alone", "tracked, with its band", "truth"], range=["#8A8A8A", "#0072B2", "#D55E00"]
    )
    band = base.mark_area(opacity=0.2, color="#0072B2").encode(
        y=alt.Y("low:Q", title="share", axis=up, scale=alt.Scale(zero=False)), y2="high:Q"
    )
    dots = (
        base.mark_point(filled=True, size=30)
        .encode(y="alone:Q", color=alt.Color("kind:N", scale=kinds, legend=legend))
        .transform_calculate(kind="'each window alone'")
    )
    line = base.mark_line().encode(y="tracked:Q", color="kind:N").transform_calculate(kind="'tracked, with its band'")
    true = base.mark_line(strokeDash=[5, 3]).encode(y="truth:Q", color="kind:N").transform_calculate(kind="'truth'")
    described = (
        "A share that swings and jumps once: single windows scatter, the tracked line follows with a narrow band"
    )
    found: Any = alt.layer(band, dots, line, true).properties(width=560, height=240, description=described)
    return found
