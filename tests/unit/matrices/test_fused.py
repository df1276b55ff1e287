"""Products in several passes, in parts of the symbols and in single precision, against dense algebra."""

import numpy as np
import numpy.typing as npt
import pytest

from deniable.columns import Cells
from deniable.matrices import fused
from deniable.matrices.fused import FusedCohorts

Floats = npt.NDArray[np.float64]


def problem(cohorts: int, hashes: int, symbols: int, cells: int) -> tuple[Cells, Floats]:
    """A table of cells, repeats of one symbol marked, and H as a dense array (C, k, S)."""
    rng = np.random.default_rng(cohorts)
    table = rng.integers(0, cells, (cohorts, hashes, symbols), np.int32)
    for place in range(1, hashes):
        table[:, place][(table[:, :place] == table[:, place, None]).any(axis=1)] = cells
    return table, (table[:, :, None] == np.arange(cells)[:, None]).any(axis=1).astype(np.float64)


@pytest.mark.parametrize("hashes", [1, 2])
@pytest.mark.parametrize("cohorts", [5, 131])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_passes_and_parts_add_up(
    monkeypatch: pytest.MonkeyPatch, cohorts: int, hashes: int, kind: type[np.floating]
) -> None:
    monkeypatch.setattr(fused, "_UNDIVIDED_CELLS", 64)
    monkeypatch.setattr(fused, "_CELLS_A_PASS", 32)
    monkeypatch.setattr(fused, "_WORTH_THREADS", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    table, dense = problem(cohorts, hashes, 97, 3)
    products = FusedCohorts(table, 3)
    assert len(products._parts) == 3
    assert (products._passes > 1) == (cohorts == 131)
    rng = np.random.default_rng(0)
    p, stack = rng.random(97).astype(kind), rng.random((4, cohorts, 3)).astype(kind)
    forward, adjoint = products.forward(p), products.adjoint(stack)
    assert forward.dtype == adjoint.dtype == kind
    rounding = 8 * float(np.finfo(kind).eps)
    np.testing.assert_allclose(forward, np.einsum("cks,s->ck", dense, p.astype(float)), rtol=rounding)
    expected = np.einsum("cks,rck->rs", dense, stack.astype(float))
    np.testing.assert_allclose(adjoint, expected, rtol=rounding)
    np.testing.assert_allclose(products.adjoint(stack[:1]), expected[:1], rtol=rounding)


def test_no_symbols_have_no_products() -> None:
    products = FusedCohorts(np.zeros((300, 1, 0), np.int32), 70)
    assert products._passes > 1
    assert products.adjoint(np.ones((2, 300, 70))).shape == (2, 0)
    np.testing.assert_array_equal(products.forward(np.ones(0)), np.zeros((300, 70)))
