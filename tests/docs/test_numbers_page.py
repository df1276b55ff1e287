"""The page on numbers is made from its tables, whose rows can be measured again."""

from pathlib import Path

import pytest

from studies.number_answers import CHUNK
from studies.number_cells import SMOOTH, Cell, cells
from studies.numbers import (
    ASKED,
    BARE,
    COVERAGE,
    ERRORS,
    LINEAR,
    CoverageRow,
    ErrorRow,
    errors,
    quantiles,
    read,
    shares,
)
from studies.numbers_page import PAGE, page


def test_the_page_is_made_from_the_tables() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read(ERRORS, ErrorRow), read(COVERAGE, CoverageRow))


def test_the_tables_have_every_cell() -> None:
    every = {(c.population, c.bins, c.epsilon, c.n) for c in cells()}
    found = read(ERRORS, ErrorRow)
    assert {(r.population, r.bins, r.epsilon, r.n) for r in found} == every
    assert len(found) == 2 * len(every)
    assert max(r.worse_by for r in found) < 3
    held = read(COVERAGE, CoverageRow)
    for figure in (*LINEAR, *ASKED):
        mine = [r for r in held if r.figure == figure]
        assert {(r.population, r.bins, r.epsilon, r.n) for r in mine} == every
        assert len(mine) == len(every)
        assert min(r.repeats for r in mine) >= (10_000 if figure in LINEAR else CHUNK)
        for r in mine:  # four standard errors below 95 %, and half a point for limits that are approximate
            if r.figure != ASKED[3] or r.population in SMOOTH:
                assert r.covered > 0.945 - 4 * (0.95 * 0.05 / r.repeats) ** 0.5, r


@pytest.mark.slow
def test_a_row_can_be_measured_again(tmp_path: Path) -> None:
    cell = Cell("uniform", 256, 2.0, 10**4)
    first, _ = errors(cell, 40)
    (told,) = [
        r
        for r in read(ERRORS, ErrorRow)
        if (r.population, r.bins, r.epsilon, r.n, r.distance) == ("uniform", 256, 2.0, 10**4, "Wasserstein")
    ]
    assert first.ours == pytest.approx(told.ours, rel=1e-3)
    assert len(shares(cell, CHUNK)) == len(LINEAR)
    assert len(quantiles(cell, CHUNK, tmp_path)) == len(ASKED) + len(BARE)
