"""Conjugate gradients against dense algebra, and the products that they iterate."""

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.decoders.iteration import preconditioned_cg
from deniable.matrices import design_of
from deniable.matrices.matrix import _fill, _fold

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


def test_a_chart_has_both_names() -> None:
    estimate = dn.decode(dn.Tally(dn.krr(symbols=["no", "yes"], epsilon=1), [[600, 400]]))
    change = dn.difference(estimate, estimate)
    assert estimate.chart(top=1).to_dict()["layer"] == estimate.plot(top=1).to_dict()["layer"]
    assert change.chart().to_dict()["layer"] == change.plot().to_dict()["layer"]
