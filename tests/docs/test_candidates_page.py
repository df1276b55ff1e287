"""docs/results/candidates.md is what its table says, and the table is what the study measures."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.special import bdtrc

from studies import beside
from studies.candidates import CELLS, METHODS, Row, measure, read
from studies.candidates_page import page, pooled
from studies.lasso import nonnegative_lasso

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return read(RESULTS / "candidates.csv")


def test_the_page_is_made_from_the_table(rows: list[Row]) -> None:
    assert (RESULTS / "candidates.md").read_text() == page(rows, beside.read())


def test_the_table_is_whole(rows: list[Row]) -> None:
    assert [(row.cell, row.method) for row in rows] == [(cell, method) for cell in CELLS for method in METHODS]
    for row in rows:
        assert row.found - row.false + row.missed == row.cell.present * row.cell.repeats
        assert 0 <= row.covered <= row.found


@pytest.mark.slow
def test_a_cell_is_measured_again(rows: list[Row]) -> None:
    cell = CELLS[0]
    written = {row.method: row for row in rows if row.cell == cell}
    for row in measure(cell):
        known = written[row.method]
        assert row.l1 == pytest.approx(known.l1, abs=2e-4)
        assert dataclasses.replace(row, l1=0.0, seconds=0.0) == dataclasses.replace(known, l1=0.0, seconds=0.0)


def test_what_was_promised_holds(rows: list[Row]) -> None:
    """One tally in twenty may have a false discovery, 95 % of intervals hold, and a million take less than 30 s."""
    ours = METHODS[0]
    tallies = sum(row.cell.repeats for row in rows if row.method == ours)
    assert pooled(rows, ours, "false", "found")[0] <= tallies / 10
    for hits, of in (("covered", "found"), ("below", "missed")):
        inside, count = pooled(rows, ours, hits, of)
        assert inside / count > 0.93
    assert max(row.seconds for row in rows if row.method == ours) < 30


def test_beside_a_heavy_answer_nothing_false_is_found_and_the_rest_is() -> None:
    """One tally in twenty may have a false discovery: so many more have less than one chance in a thousand."""
    rows = beside.read()
    assert [row.setting for row in rows] == list(beside.SETTINGS)
    for row in rows:
        assert not row.wrong or bdtrc(row.wrong - 1, row.setting.tallies, 0.05) > 1e-3
        assert row.found >= 0.9 * len(row.setting.there) * row.setting.tallies
        assert row.covered >= 0.92 * row.found
    again = beside.measure(beside.SETTINGS[5], tallies=2)
    assert again.wrong == 0
    assert again.found >= 8


@pytest.mark.parametrize("unlisted", [0.0, 0.1])
def test_more_is_found_than_by_the_recipe(rows: list[Row], unlisted: float) -> None:
    some = [row for row in rows if row.cell.unlisted == unlisted]
    (ours, found), (theirs, others) = (pooled(some, method, "false", "found") for method in METHODS)
    assert found - ours > 1.1 * (others - theirs)


def test_the_lasso_is_optimal() -> None:
    """The conditions of Karush, Kuhn and Tucker, on a random problem with about half of its unknowns at zero."""
    rng = np.random.default_rng(0)
    h = rng.normal(size=(80, 30))
    gram, right = h.T @ h, h.T @ rng.normal(size=80)
    p = nonnegative_lasso(gram, right, 1.0, np.zeros(30))
    slope = right - gram @ p - 1.0
    assert 5 < (p > 0).sum() < 25
    assert np.abs(slope[p > 0]).max() < 1e-3
    assert slope[p == 0].max() < 1e-3
