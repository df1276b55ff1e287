"""docs/results/discovery.md and its chart, from the table that `studies.discovery` wrote."""

import csv
from pathlib import Path
from typing import Any

import altair as alt

__all__ = ["write_page"]

# F1 of the 32 most frequent of the original queries: prefix extension with its best step, and an oracle with a list.
PUBLISHED = {
    "epsilon 1": (0.06, 0.14), "epsilon 2": (0.34, 0.51), "epsilon 3": (0.53, 0.76), "epsilon 4": (0.82, 0.87),
}  # fmt: skip
_METHODS = {"declared": "discover, declared", "largest": "discover, 32 largest", "pem": "prefix extension"}
_METHODS |= {"oracle": "known list, all people"}
Row = dict[str, str]


def _mean(row: Row, name: str) -> float:
    return float(row[name]) / float(row["tallies"])


def _table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _queries(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        pem, oracle = _mean(row, "pem"), _mean(row, "oracle")
        closed = (_mean(row, "declared") - pem) / (oracle - pem)
        figures = [f"{_mean(row, name):.2f}" for name in _METHODS]
        old = [f"{value:.2f}" for value in PUBLISHED[row["setting"]]]
        seconds = f"{_mean(row, 'seconds'):.0f}"
        lines.append([row["setting"], *figures, f"{100 * closed:.0f} %", *old, f"{float(row['found']):.0f}"])
        lines[-1] += [f"{float(row['false']):.0f}", f"{float(row['covered']):.0f}", seconds]
    head = ["", *_METHODS.values(), "of the gap closed", "published: prefix extension", "oracle"]
    return _table([*head, "declared in all", "false", "covered", "s"], lines)


def _nulls(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        found, heavy = float(row["found"]), float(row["heavy"])
        covered = f"{100 * float(row['covered']) / found:.1f} %" if found else ""
        bias = f"{float(row['bias']) / heavy:+.3f}" if heavy else ""
        share = f"{100 * _mean(row, 'false'):.1f} %"
        lines.append([row["setting"], f"{float(row['tallies']):.0f}", share, f"{found:.0f}", covered, bias])
    return _table(
        ["people", "tallies", "with a false discovery", "declared", "covered (95 %)", "mean error, in s. e."], lines
    )


def _names(rows: list[Row]) -> str:
    lines = [
        [row["setting"], f"{int(row['n']):,}", f"{_mean(row, 'declared'):.2f}", f"{float(row['found']):.0f}",
         f"{float(row['false']):.0f}", f"{_mean(row, 'seconds'):.0f}", f"{float(row['memory']):.0f}"]
        for row in rows
    ]  # fmt: skip
    return _table(["answers", "reports", "F1 of the 32 most frequent", "declared", "false", "s", "MiB"], lines)


def _chart(rows: list[Row]) -> Any:
    points = [
        {"epsilon": float(row["setting"].split()[1]), "F1": round(_mean(row, name), 3), "method": title}
        for row in rows
        for name, title in _METHODS.items()
    ]
    line = alt.Chart(alt.InlineData(values=points)).mark_line(point=True)
    return line.encode(
        x=alt.X("epsilon:Q", scale=alt.Scale(domain=[0.8, 4.2]), axis=alt.Axis(values=[1, 2, 3, 4])),
        y=alt.Y("F1:Q", title="F1 of the 32 most frequent", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("method:N", title=None, sort=list(_METHODS.values())),
    ).properties(width=420, height=260)


def write_page(folder: Path) -> None:
    """The page and the chart, beside the table."""
    with (folder / "discovery.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    parts = {part: [row for row in table if row["part"] == part] for part in ("queries", "nulls", "names")}
    figures = folder / "discovery.svg"
    _chart(parts["queries"]).save(str(figures))
    texts = (Path(__file__).parent / "discovery_page.md").read_text(encoding="utf-8")
    page = texts.format(
        repeats=f"{float(parts['queries'][0]['tallies']):.0f}",
        queries=_queries(parts["queries"]), nulls=_nulls(parts["nulls"]), names=_names(parts["names"]),
    )  # fmt: skip
    (folder / "discovery.md").write_text(page, encoding="utf-8")
