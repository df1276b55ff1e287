"""docs/results/discovery.md and its chart, from the table that `studies.discovery` wrote."""

import csv
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import altair as alt

__all__ = ["f1", "page", "read", "write_page"]

# F1 of the 32 most frequent of the original queries: prefix extension with its best step, and an oracle with a list.
PUBLISHED = {
    "epsilon 1": (0.06, 0.14), "epsilon 2": (0.34, 0.51), "epsilon 3": (0.53, 0.76), "epsilon 4": (0.82, 0.87),
}  # fmt: skip
_METHODS = {"declared": "discover, declared", "largest": "discover, best 32", "step": "prefix extension, one step"}
_METHODS |= {"hindsight": "the best step of each tally", "oracle": "known list, all people"}
_PARTS = ("queries", "steps", "nulls", "names", "peers")
Row = dict[str, str]


def _mean(row: Row, name: str) -> float:
    return float(row[name]) / float(row["tallies"])


def f1(row: Row, name: str) -> tuple[float, float]:
    """The mean F1 of what was declared or listed, and one standard error of it."""
    mean, tallies = _mean(row, name), float(row["tallies"])
    squares = _mean(row, "squares" if name == "declared" else f"{name} squares")
    return mean, math.sqrt(max(squares - mean**2, 0.0) / max(tallies - 1, 1.0))


def _table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _queries(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        step, oracle = float(row["step"]), float(row["oracle"])
        closed = (_mean(row, "declared") - step) / (oracle - step)
        figures = ["{:.3f} ± {:.3f}".format(*f1(row, name)) for name in ("declared", "largest")]
        figures.append(f"{step:.3f} ± {float(row['step error']):.3f} ({row['step name']})")
        figures += [f"{float(row[name]):.2f}" for name in ("hindsight", "oracle")]
        old = [f"{value:.2f}" for value in PUBLISHED[row["setting"]]]
        lines.append([row["setting"], f"{float(row['tallies']):.0f}", *figures, f"{100 * closed:.0f} %", *old])
        lines[-1] += [f"{_mean(row, 'looked at'):.1f}", f"{float(row['found']):.0f}", f"{float(row['false']):.0f}"]
        lines[-1] += [f"{float(row['covered']):.0f}", f"{_mean(row, 'seconds'):.0f}"]
    head = ["", "tallies", *_METHODS.values(), "of the gap closed", "published: prefix extension", "oracle"]
    return _table([*head, "of the 32 tested", "declared in all", "false", "covered", "s"], lines)


def _nulls(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        found, heavy = float(row["found"]), float(row["heavy"])
        covered = f"{100 * float(row['covered']) / found:.1f} %" if found else ""
        bias = f"{float(row['bias']) / heavy:+.3f} ± {heavy**-0.5:.3f}" if heavy else ""
        share = f"{float(row['false']):.0f} ({100 * _mean(row, 'false'):.1f} %)"
        lines.append([row["setting"], f"{float(row['tallies']):.0f}", share, f"{found:.0f}", covered, bias])
    return _table(
        ["people", "tallies", "with a false discovery", "declared", "covered (95 %)", "mean error, in s. e."], lines
    )


def _between(numbers: Iterable[float]) -> str:
    found = sorted(numbers)
    return f"{found[0]:.0f} to {found[-1]:.0f}"


def _names(rows: list[Row]) -> str:
    lines = [
        [row["setting"], f"{int(row['n']):,}", f"{_mean(row, 'declared'):.2f}", f"{float(row['found']):.0f}",
         f"{float(row['false']):.0f}", f"{_mean(row, 'seconds'):.0f}", f"{float(row['memory']):.0f}"]
        for row in rows
    ]  # fmt: skip
    return _table(["answers", "reports", "F1 of the 32 most frequent", "declared", "false", "s", "MiB"], lines)


def _peers(rows: list[Row]) -> str:
    def number(row: Row, name: str, digits: int) -> str:
        return f"{float(row[name]):.{digits}f}" if row[name] else "none"

    lines = [
        [row["setting"], number(row, "largest", 2), number(row, "declared", 2) if row["declared"] else "",
         number(row, "clients", 0), number(row, "seconds", 0), number(row, "memory", 0)]
        for row in rows
    ]  # fmt: skip
    head = ["search", "F1 of its best 32", "F1 of what it declares", "clients, s", "collector, s", "MiB"]
    return _table(head, lines)


def _peers_chart(rows: list[Row]) -> Any:
    points = [
        {"search": name, "epsilon": f"epsilon {epsilon}", "F1": float(row["largest"] or 0)}
        for row in rows
        for name, _, epsilon in [row["setting"].partition(", epsilon ")]
    ]
    bars = alt.Chart(alt.InlineData(values=points)).mark_bar()
    return bars.encode(
        x=alt.X("F1:Q", title="F1 of the best 32", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("search:N", title=None, sort=[str(point["search"]) for point in points]),
        row=alt.Row("epsilon:N", title=None),
    ).properties(width=420, height=90)


def _chart(rows: list[Row]) -> Any:
    points = [
        {
            "epsilon": float(row["setting"].split()[1]),
            "F1": round(f1(row, name)[0] if name in ("declared", "largest") else float(row[name]), 3),
            "method": title,
        }
        for row in rows
        for name, title in _METHODS.items()
    ]
    line = alt.Chart(alt.InlineData(values=points)).mark_line(point=True)
    return line.encode(
        x=alt.X("epsilon:Q", scale=alt.Scale(domain=[0.8, 4.2]), axis=alt.Axis(values=[1, 2, 3, 4])),
        y=alt.Y("F1:Q", title="F1 of the 32 most frequent", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("method:N", title=None, sort=list(_METHODS.values())),
    ).properties(width=420, height=260)


def read(folder: Path) -> dict[str, list[Row]]:
    """The rows of each part; means of what others found among the same people join the row of ours."""
    with (folder / "discovery.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    others = {row["setting"]: row for row in table if row["part"] == "others"}
    parts = {part: [row for row in table if row["part"] == part] for part in _PARTS}
    for row in parts["queries"]:
        other = others[row["setting"]]
        steps = [step for step in parts["steps"] if step["setting"].startswith(row["setting"] + ",")]
        best = max(steps, key=lambda step: _mean(step, "largest"))
        row["step"], row["step error"] = map(str, f1(best, "largest"))
        row["step name"] = best["setting"].partition(", ")[2]
        row["hindsight"] = str(max(_mean(other, "pem"), _mean(other, "bits")))
        row["oracle"] = str(_mean(other, "oracle"))
    return parts


def page(parts: dict[str, list[Row]]) -> str:
    """The text of the page."""
    text = (Path(__file__).parent / "discovery_page.md").read_text(encoding="utf-8")
    found, covered = (sum(float(row[name]) for row in parts["nulls"]) for name in ("found", "covered"))
    bias = max(abs(float(row["bias"])) / heavy for row in parts["nulls"] if (heavy := float(row["heavy"])))
    return text.format(
        bytes_of_steps=_between(float(row["tallies"]) for row in parts["steps"] if "bits" not in row["setting"]),
        queries=_queries(parts["queries"]), nulls=_nulls(parts["nulls"]), names=_names(parts["names"]),
        peers=_peers(parts["peers"]), people=f"{int(parts['peers'][0]['n']):,}",
        tallies=f"{sum(float(row['tallies']) for row in parts['nulls']):,.0f}",
        wrong=f"{sum(float(row['false']) for row in parts['nulls']):.0f}",
        found=f"{found:,.0f}", covered=f"{100 * covered / found:.1f}", bias=f"{bias:.2f}",
    )  # fmt: skip


def write_page(folder: Path) -> None:
    """The page and its charts, beside the table."""
    parts = read(folder)
    _chart(parts["queries"]).save(str(folder / "discovery.svg"))
    _peers_chart(parts["peers"]).save(str(folder / "discovery-peers.svg"))
    (folder / "discovery.md").write_text(page(parts), encoding="utf-8")
