"""Conjugate gradients against dense algebra, and the products that they iterate."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.decoders import least_squares
from deniable.decoders.iteration import preconditioned_cg
from deniable.decoders.least_squares import conjugate_gradients
from deniable.matrices import Design, design_of
from deniable.matrices.fused import _fill, _fold

Floats = npt.NDArray[np.float64]


@pytest.fixture
def system() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(30, 20))
    return root.T @ root, rng.normal(size=20)


@pytest.mark.parametrize("started", [False, True])
def test_the_solution_is_that_of_dense_algebra(system: tuple[Floats, Floats], started: bool) -> None:
    matrix, right = system
    exact = np.linalg.solve(matrix, right)
    start = np.asarray(exact + 0.1, np.float64) if started else None
    scale = np.diag(matrix)
    found = preconditioned_cg(lambda x: matrix @ x, right, lambda r: r / scale, tolerance=1e-26, most=200, start=start)
    assert found.converged
    np.testing.assert_allclose(found.solution, exact, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.residual, right - matrix @ found.solution, atol=1e-9)


def test_too_few_steps_are_said_to_be_too_few(system: tuple[Floats, Floats]) -> None:
    matrix, right = system
    found = preconditioned_cg(lambda x: matrix @ x, right, lambda r: r, tolerance=1e-26, most=3)
    assert not found.converged
    np.testing.assert_allclose(found.residual, right - matrix @ found.solution, atol=1e-9)


@pytest.mark.parametrize("t", [1, 2, 3, 5])
def test_folding_is_the_adjoint_of_filling(t: int) -> None:
    rng = np.random.default_rng(t)
    rows, tables = rng.normal(size=(4, t, 3, 1)), rng.normal(size=(4, 3**t))
    filled = _fill(rows)[:, :, 0]
    choice = rng.integers(0, 3, t)
    place = int((choice * 3 ** np.arange(t - 1, -1, -1)).sum())
    np.testing.assert_allclose(filled[2, place], rows[2, np.arange(t), choice, 0].sum())
    assert float((filled * tables).sum()) == pytest.approx(float((rows[..., 0] * _fold(tables, t, 3)).sum()))


@pytest.mark.parametrize("cohorts", [1, 4, 7, 64])
def test_products_with_fused_cohorts_are_those_of_the_matrix(cohorts: int) -> None:
    survey = dn.orr(symbols=600, epsilon=1, cells=3, cohorts=cohorts, seed=bytes(16))
    design, rng = design_of(survey), np.random.default_rng(0)
    p, values = rng.random(600), rng.random((cohorts, 3))
    dense = np.stack([design._patterns(c) for c in range(cohorts)])
    np.testing.assert_allclose(design.forward(p), np.einsum("csk,s->ck", dense, p), rtol=1e-12)
    np.testing.assert_allclose(design.adjoint(values), np.einsum("csk,ck->s", dense, values), rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("small", [1e-5, 1.0])
def test_single_precision_leaves_the_solution_exact(
    monkeypatch: pytest.MonkeyPatch, small: float, weighted: bool
) -> None:
    """With products of single precision from the second step on, too: steps in double precision make up for them."""
    made: list[np.dtype[Any]] = []
    real = Design.forward

    def counted(design: Design, p: Floats) -> Floats:
        made.append(p.dtype)
        return real(design, p)

    monkeypatch.setattr(Design, "forward", counted)
    monkeypatch.setattr(least_squares, "_WORTH_ROUNDING", 0)
    monkeypatch.setattr(least_squares, "_SMALL_DIRECTION", small)
    survey = dn.orr(symbols=300, epsilon=1, cells=8, cohorts=150, seed=bytes(16))
    design, rng = design_of(survey), np.random.default_rng(0)
    weights = rng.uniform(0.5, 2, (150, 8)) if weighted else None
    right = design.adjoint(rng.normal(size=(150, 8)))
    exact = np.linalg.solve(design.weighted_gram(weights), right)
    found = conjugate_gradients(design, right, 1e-11, weights=weights)
    assert found is not None
    assert np.linalg.norm(found - exact) < 1e-10 * np.linalg.norm(exact)
    assert sum(dtype == np.float32 for dtype in made) > 10


def test_ill_conditioned_lists_are_solved_as_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates that are nearly as many as the equations, so that a residual of 1e-11 is an error of 1e-10."""
    survey = dn.orr(symbols=1150, epsilon=3, cells=16, cohorts=80, seed=bytes(16))  # 1,201 equations
    design = design_of(survey)
    right = design.adjoint(np.random.default_rng(0).normal(size=(80, 16)))
    exact = design.factor.solve(right)
    monkeypatch.setattr(least_squares, "_WORTH_ROUNDING", 0)
    found = conjugate_gradients(design, right, 1e-11, 10_000)
    assert found is not None
    assert np.linalg.norm(found - exact) < 1e-9 * np.linalg.norm(exact)


def test_a_chart_has_both_names() -> None:
    estimate = dn.decode(dn.Tally(dn.krr(symbols=["no", "yes"], epsilon=1), [[600, 400]]))
    change = dn.difference(estimate, estimate)
    assert estimate.chart(top=1).to_dict()["layer"] == estimate.plot(top=1).to_dict()["layer"]
    assert change.chart().to_dict()["layer"] == change.plot().to_dict()["layer"]
