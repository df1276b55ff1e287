"""The diagonal of Z M Z and the pieces around it: Gram matrices in triangles, inverses in place."""

import numpy as np
import pytest

import deniable as dn
from deniable.matrices import Design, OpenDesign, Sandwich, design_of, invert_in_place, matrix, pairs, sandwich
from deniable.survey import Survey

SURVEYS = {
    "few cells": dn.orr(epsilon=3, cells=3, cohorts=70, seed=bytes(16)),
    "some cells": dn.orr(epsilon=3, cells=20, cohorts=30, seed=bytes(16)),
    "many cells": dn.orr(epsilon=3, cells=400, cohorts=8, seed=bytes(16)),
    "one cohort": dn.orr(epsilon=3, cells=64, cohorts=1, seed=bytes(16)),
    "bloom, few cells": dn.orappor(epsilon=3, cells=5, cohorts=9, hashes=3, seed=bytes(16)),
    "bloom": dn.orappor(epsilon=3, cells=40, cohorts=9, hashes=2, seed=bytes(16)),
}
NAMES = [f"name {i}" for i in range(150)]


def dense(design: Design) -> np.ndarray:
    """H as a matrix of C k rows, column by column."""
    return np.stack([design.forward(unit).ravel() for unit in np.eye(design.symbols)], axis=1)


def upper(blocks: list[pairs.RowBlock]) -> np.ndarray:
    """The upper triangle that blocks of rows make up."""
    found = np.zeros((len(NAMES), len(NAMES)))
    for start, block in blocks:
        found[start : start + len(block), start:] = block
    return np.triu(found)


@pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS)
def test_every_way_to_visit_pairs_gives_the_same(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_ROWS", 40)  # so that there are several blocks, the last one short
    design = design_of(survey, NAMES)
    h, w = dense(design), np.random.default_rng(0).random((survey.cohorts, survey.cells))
    table, k = design.table, design.cells
    plain, weighted = np.triu(h.T @ h), np.triu(h.T @ (w.ravel()[:, None] * h))
    np.testing.assert_allclose(upper(list(pairs.gathered(table, k, w))), weighted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(upper(list(pairs.multiplied(table, k, w))), weighted, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(upper(list(pairs.multiplied(table, k, None))), plain)
    if survey.hashes == 1:
        np.testing.assert_array_equal(upper(list(pairs.counted(table[:, 0], k))), plain)


@pytest.mark.parametrize("few", [1024, 20])
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS)
def test_a_triangle_of_the_gram_matrix_leaves_the_other_alone(
    survey: Survey, background: bool, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below and above the size where one product gives way to rows, of every number of cells."""
    monkeypatch.setattr(matrix, "_FEW", few)
    monkeypatch.setattr(pairs, "_ROWS", 40)
    listed = Design(design_of(survey, NAMES).table, survey.cells)  # with nothing computed yet
    design = OpenDesign(listed, survey.hashes) if background else listed
    h, rng = dense(design), np.random.default_rng(0)
    w = rng.random((survey.cohorts, survey.cells))
    for weights in (None, w):
        expected = h.T @ h if weights is None else h.T @ (w.ravel()[:, None] * h)
        np.testing.assert_allclose(design.weighted_gram(weights), expected, rtol=1e-12, atol=1e-12)
        for lower, triangle in ((True, np.tril), (False, np.triu)):
            before = np.asfortranarray(rng.random((design.symbols, design.symbols)))
            packed = before.copy(order="F")
            design.add_gram(packed, weights, lower=lower)
            np.testing.assert_allclose(packed - before, triangle(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS)
def test_a_background_without_candidates(survey: Survey) -> None:
    design = OpenDesign(Design(design_of(survey, NAMES).table[:, :, :0], survey.cells), survey.hashes)
    packed = np.zeros((1, 1), order="F")
    design.add_gram(packed, None, lower=True)
    np.testing.assert_allclose(packed, survey.cohorts * survey.cells * design.level**2)
    np.testing.assert_allclose(design.gram, packed)


def test_the_ways_are_chosen_by_the_number_of_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "_FEW", 20)
    for way in ("counted", "gathered", "multiplied"):
        monkeypatch.setattr(matrix, way, lambda *_, way=way: way)

    def ways(name: str) -> tuple[object, object]:
        survey, design = SURVEYS[name], design_of(SURVEYS[name], NAMES)
        return design._pair_blocks(None), design._pair_blocks(np.ones((survey.cohorts, survey.cells)))

    assert ways("few cells") == ("counted", None)
    assert ways("some cells") == ("counted", "multiplied")
    assert ways("bloom, few cells") == (None, None)
    assert ways("many cells") == ("multiplied", "multiplied")
    monkeypatch.setattr(matrix, "_SHORT_LIST", 4)
    assert ways("some cells") == ("counted", "gathered")
    assert ways("bloom") == ("gathered", "gathered")


@pytest.mark.parametrize("size", [1, 7, 90])
def test_it_is_what_dense_products_give(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandwich, "_COLUMNS", 32)
    rng = np.random.default_rng(size)
    z, m = (a + a.T for a in rng.normal(size=(2, size, size)))  # nothing needs to be positive
    vectors = rng.normal(size=(size, 3))
    packed = np.asfortranarray(np.triu(z, 1) + np.tril(m))
    found = Sandwich.of(packed, z.diagonal().copy(), vectors)
    np.testing.assert_allclose(found.diagonal, np.diag(z @ m @ z), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.trace, np.trace(z @ m), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.along, z @ vectors, rtol=1e-9, atol=1e-9)


def test_inverses_in_place() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(30, 20))
    gram = a.T @ a
    packed = np.asfortranarray(np.triu(gram) + np.tril(np.full((20, 20), 7.0), -1))
    condition = invert_in_place(packed, float(np.abs(gram).sum(axis=0).max()))
    assert condition is not None
    np.testing.assert_allclose(np.triu(packed), np.triu(np.linalg.inv(gram)), rtol=1e-9)
    np.testing.assert_array_equal(np.tril(packed, -1), np.tril(np.full((20, 20), 7.0), -1))
    assert condition == pytest.approx(np.linalg.cond(gram, 1))
    # A matrix without full rank has none, whether or not rounding lets its factor through.
    twin = a[:, [0, *range(20)]]
    assert invert_in_place(np.asfortranarray(twin.T @ twin), 100.0) is None
    assert invert_in_place(np.asfortranarray(np.diag([1.0, 1e-13])), 1.0) is None


@pytest.mark.parametrize("cohorts", [1, 40])
def test_the_inverse_of_a_factor_is_the_pseudo_inverse(cohorts: int) -> None:
    survey = dn.orr(epsilon=3, cells=8, cohorts=cohorts, seed=bytes(16))
    design = design_of(survey, NAMES[:30])
    assert (design.factor.rank == 30) == (cohorts == 40)
    np.testing.assert_allclose(design.factor.inverse(), np.triu(np.linalg.pinv(design.gram)), rtol=1e-9, atol=1e-12)
