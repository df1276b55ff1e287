"""The committed results of a full run: complete, and the numbers that this code gives."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from deniable.lab.kary import KaryTask, Moments, spans
from deniable.lab.regression import Cell, Point, RegressionTask
from deniable.reproduce.claims import CLAIMS, check
from deniable.reproduce.figures import FIGURES
from deniable.reproduce.grid_search import quantiles, reported
from deniable.reproduce.settings import KARY_EPSILONS, Settings

RESULTS = Path(__file__).parents[2] / "docs" / "results"
TABLES = ("population", "kary", "lines", "baselines", "privacy", "screen")
FULL = Settings(full=True)


def table(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(RESULTS / "tables" / f"{name}.parquet").to_pylist()
    return rows


def claims() -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads((RESULTS / "claims.json").read_text(encoding="utf-8"))
    return found


def test_there_is_what_people_open_and_no_more() -> None:
    """A picture of each figure, one Parquet for each table, the pages; at most 10 MB."""
    assert {path.name for path in (RESULTS / "figures").iterdir()} == {f"{name}.svg" for name in FIGURES}
    assert {path.name for path in (RESULTS / "tables").iterdir()} == {f"{name}.parquet" for name in TABLES}
    assert sum(path.stat().st_size for path in RESULTS.rglob("*") if path.is_file()) <= 10 * 10**6


def test_counts_are_the_papers() -> None:
    assert {row["evaluations"] for row in table("kary")} == {10_000}
    assert {row["samples"] for row in table("lines")} == {50}
    assert {row["samples"] for row in table("privacy") if row["reached"] == "yes"} == {50}


def test_claims_follow_from_the_tables() -> None:
    found = check({name: table(name) for name in TABLES})
    assert [claim.id for claim in found] == [question.id for question in CLAIMS]
    assert claims() == [{name: getattr(claim, name) for name in claims()[0]} for claim in found]


def test_a_cell_of_a_heatmap_comes_out_again() -> None:
    tasks = [KaryTask(100, 4, ("geometric",), KARY_EPSILONS, *span) for span in spans(FULL.evaluations, 4)]
    parts = [(task.stop - task.start, task.run(FULL.seed)[task.keys[0]]) for task in tasks]
    moments = Moments.gather(parts, len(KARY_EPSILONS))
    rows = [r for r in table("kary") if (r["distribution"], r["n"], r["k"], r["loss"]) == ("geometric", 100, 4, "l1")]
    assert [row["epsilon"] for row in rows] == list(KARY_EPSILONS)
    for place, row in enumerate(rows):
        assert {name: row[name] for name in moments.means(place, 0)} == pytest.approx(moments.means(place, 0), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["k-RR", "k-RAPPOR"])
def test_a_point_of_a_line_comes_out_again(mechanism: str) -> None:
    cell, point = Cell("closed", 256, 256, 1, 1), Point(mechanism, 10**6, 2.0)
    losses: list[float] = []
    for span in reported(FULL, 256):
        losses += RegressionTask(cell, (point,), *span).run(FULL.seed)[RegressionTask(cell, (point,), *span).key(point)]
    rows = [r for r in table("lines") if (r["mechanism"], r["epsilon"], r["S"]) == (mechanism, 2.0, 256)]
    assert len(rows) == 1
    expected = quantiles(losses)
    assert {name: rows[0][name] for name in expected} == pytest.approx(expected, rel=1e-9)


def test_the_page_is_whole_and_needs_no_network() -> None:
    page = (RESULTS / "index.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in page for name in FIGURES)
    assert all(f'id="claim-{question.id}"' in page for question in CLAIMS)
    assert "default-src 'none'" in page
    assert 'src="http' not in page


def test_links_of_the_page_lead_to_files() -> None:
    page = (RESULTS / "index.html").read_text(encoding="utf-8")
    targets = set(re.findall(r'href="([^"#]+)"', page))
    assert {f"figures/{name}.svg" for name in FIGURES} | {f"tables/{name}.parquet" for name in TABLES} <= targets
    assert all((RESULTS / target).exists() for target in targets)
