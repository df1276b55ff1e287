"""The streamed design gives what the table of all cells gives."""

import numpy as np
import pytest

import deniable as dn
from deniable.columns.encode import cell_rows, cell_table, keys_of, scale
from deniable.matrices import Design, StreamedDesign, streamed
from deniable.survey import Hashed, Survey

SEED = bytes(range(16))
SURVEYS = (
    dn.orr(epsilon=1, cells=64, cohorts=16, seed=SEED),
    dn.orr(epsilon=1, cells=7, cohorts=5, seed=SEED),
    dn.orr(epsilon=1, cells=2, cohorts=1, seed=SEED),
    dn.olh(epsilon=1, seed=SEED, cohorts=12),
    dn.orappor(epsilon=1, cells=4, cohorts=6, hashes=3, seed=SEED),
    dn.orappor(epsilon=1, cells=128, cohorts=3, hashes=2, seed=SEED),
)


def design_of(survey: Survey, count: int) -> tuple[StreamedDesign, Design]:
    assert isinstance(survey.encoding, Hashed)
    keys = keys_of(survey, [f"site {i}" for i in range(count)])
    return StreamedDesign(survey.encoding, keys), Design(cell_table(survey.encoding, keys), survey.cells)


@pytest.mark.parametrize("survey", SURVEYS, ids=str)
def test_cells_are_those_of_the_table(survey: Survey) -> None:
    few, table = design_of(survey, 500)
    rows = np.stack(list(cell_rows(few.encoding, few.keys)))
    np.testing.assert_array_equal(rows, table.table)
    np.testing.assert_array_equal(few.table, table.table)
    assert (few.cohorts, few.hashes, few.symbols) == (table.cohorts, table.hashes, table.symbols)


@pytest.mark.parametrize("survey", SURVEYS, ids=str)
def test_products_are_those_of_the_table(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "_BLOCK", 64)  # so that there are many blocks, the last one short
    few, table = design_of(survey, 500)
    stack = np.random.default_rng(0).normal(size=(3, survey.cohorts, survey.cells))
    told: list[tuple[int, int]] = []
    found = few.scores(stack, lambda done, total: told.append((done, total)))
    np.testing.assert_allclose(found, table.adjoint(stack), atol=1e-12)
    np.testing.assert_allclose(few.adjoint(stack[0]), found[0], atol=1e-12)
    np.testing.assert_allclose(few.forward(np.arange(500.0)), table.forward(np.arange(500.0)))
    assert told[-1] == (500, 500)
    assert told == sorted(told)


@pytest.mark.parametrize("survey", SURVEYS, ids=str)
def test_a_part_is_the_design_of_some_candidates_and_the_background(survey: Survey) -> None:
    few, table = design_of(survey, 50)
    places = np.array([3, 17, 40])
    part = few.part(places)
    p = np.array([0.5, 0.2, 0.1, 0.2])
    whole = np.zeros(50)
    whole[places] = p[:3]
    np.testing.assert_allclose(part.forward(p), table.forward(whole) + part.level * p[3])
    nobody = few.part(places[:0])
    np.testing.assert_allclose(nobody.forward(np.array([2.0])), np.full((survey.cohorts, survey.cells), 2 * part.level))
    assert nobody.gram.shape == (1, 1)
    assert nobody.factor.rank == 1
    assert nobody.twins == []


def test_powers_of_two_scale_like_every_other_bound() -> None:
    words = np.random.default_rng(0).integers(0, 2**64, 1000, dtype=np.uint64)
    for bound in (2, 3, 64, 100, 2**24, 2**32):
        assert scale(words.copy(), bound).tolist() == [int(w) * bound >> 64 for w in words]
