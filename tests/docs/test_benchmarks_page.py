"""docs/results/benchmarks.md is what its figures say, and its figures are whole."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.page import FIGURES, PAGE, RECORD, page
from benchmarks.page_tables import CHART
from benchmarks.peers.comparing import DECODES, DEFAULT, NUMPY, UNBIASED, behind
from benchmarks.peers.environments import PEERS
from benchmarks.peers.figures import Figure, read
from benchmarks.peers.measuring import MECHANISMS, SIZES

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture(scope="module")
def figures() -> list[Figure]:
    return read(RESULTS / FIGURES)


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / RECORD).read_text())
    return found


def test_the_page_is_made_from_the_figures(figures: list[Figure], record: dict[str, Any]) -> None:
    assert (RESULTS / PAGE).read_text() == page(figures, record)


def test_every_cell_was_measured(figures: list[Figure]) -> None:
    found = {(f.cell.table, f.cell.mechanism, f.cell.symbols, f.cell.n, f.who) for f in figures if f.value is not None}
    spent = {(f.cell.mechanism, f.cell.symbols, f"{f.cell.epsilon:.4f}") for f in figures if f.cell.table == "encode"}
    for mechanism in MECHANISMS:
        for symbols in SIZES:
            assert {(mechanism, symbols, "1.0000"), (mechanism, symbols, f"{math.log(symbols):.4f}")} <= spent
            assert {("encode", mechanism, symbols, 0, who) for who in (DEFAULT, NUMPY)} <= found
            for n in (10**5, 10**6):
                assert {("estimate", mechanism, symbols, n, who) for who in (DEFAULT, UNBIASED, NUMPY)} <= found
        assert {("l1", mechanism, 64, 10_000, who) for who in (DEFAULT, UNBIASED)} <= found
        assert ("same l1", mechanism, 64, 10_000, DEFAULT) in found
        assert {("l2", mechanism, 64, 10_000, who) for who in (DEFAULT, UNBIASED)} <= found
    assert {f.cell.n for f in figures if f.cell.table == "growth" and f.who == DEFAULT} == {10**p for p in range(3, 8)}
    assert {f.who for f in figures if f.cell.table == "import"} >= {DEFAULT, DECODES}


def test_no_peer_is_silently_left_out(figures: list[Figure]) -> None:
    measured = {f.who for f in figures if f.cell.table == "encode"}
    missing = {f.who for f in figures if f.cell.table == "missing" and f.note}
    assert set(PEERS) <= measured | missing


def test_where_a_peer_is_ahead_the_page_says_why(figures: list[Figure]) -> None:
    for pair in behind(figures):
        assert pair.why, pair.title
        assert pair.ratio <= pair.target, pair.title


def test_the_two_leaks_are_shown(figures: list[Figure]) -> None:
    found = {(f.who, f.cell.mechanism): f for f in figures if f.cell.table == "audit"}
    leaks = {key for key, figure in found.items() if figure.note.startswith("VIOLATED")}
    assert leaks == {("pure-ldp", "RAPPOR"), ("multi-freq-ldpy", "first of SS")}
    assert all((found[key].value or 0) > 2 for key in leaks)
    assert "VIOLATED" in (RESULTS / PAGE).read_text()


def test_the_chart_has_every_library(figures: list[Figure]) -> None:
    drawn = (RESULTS / CHART).read_text()
    assert all(who in drawn for who in {f.who for f in figures if f.cell.table == "growth"})
