"""The coverage study: its page is written from its table, its table is what the code gives, and what both promise."""

import numpy as np
import pytest

from studies.coverage import CASES, LEVELS, RESULTS, Row, measure, read
from studies.coverage_page import page

ROWS = read()


def test_the_page_is_written_from_the_table() -> None:
    assert (RESULTS / "intervals.md").read_text(encoding="utf-8") == page(ROWS)


def test_the_grid_is_complete() -> None:
    cells = {(row.case, row.population, row.n) for row in ROWS}
    assert cells == {(case.name, p, n) for case in CASES for p in case.populations for n in case.sizes}
    assert {row.level for row in ROWS} == set(LEVELS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "population", "n"),
    [("k-RR, eps 1, 8 symbols", "spiky", 100), ("O-RR 64x8, eps 8, heaviest of 32 missing", "zipf", 1000)],
)
def test_cells_are_computed_again(name: str, population: str, n: int) -> None:
    case = next(case for case in CASES if case.name == name)
    kept = [row for row in ROWS if (row.case, row.population, row.n) == (name, population, n)]
    again = {(row.what, row.level): row for row in measure(case, population, n)}
    assert again.keys() == {(row.what, row.level) for row in kept}
    for row in kept:
        fresh = again[row.what, row.level]
        assert fresh.kind == row.kind
        # A different linear algebra library may move a limit past the truth in a tally or two.
        assert fresh.coverage == pytest.approx(row.coverage, abs=2.5 / case.repeats)
        np.testing.assert_allclose(fresh.width, row.width, rtol=1e-3)


def short(row: Row, margin: float) -> bool:
    return row.coverage + 4 * row.error < row.level - margin  # a thousand rows: four errors


def test_exact_intervals_cover_at_least_nominally() -> None:
    exact = [row for row in ROWS if row.kind == "exact"]
    assert len(exact) > 100
    assert [row for row in exact if short(row, 0.0)] == []


def test_approximate_intervals_cover_within_a_point() -> None:
    others = [row for row in ROWS if row.kind == "approximate"]
    assert len(others) > 300
    assert [row for row in others if short(row, 0.01)] == []


def test_normal_intervals_would_not() -> None:
    """What the page says about them: the same grid, intervals from the same standard errors."""
    plain = [row for row in ROWS if row.kind == "approximate" and row.normal + 3 * row.error < row.level - 0.01]
    assert len(plain) > 20
