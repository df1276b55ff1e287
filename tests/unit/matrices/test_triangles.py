"""Products, factors and inverses in one triangle of a matrix: in blocks as LAPACK has them whole."""

import numpy as np
import pytest

from deniable.matrices import triangles
from deniable.matrices.triangles import add_squares, cholesky_in_place, invert_cholesky, largest_column_sum


@pytest.fixture(params=["whole", "blocks"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triangles, "_WHOLE", 1000 if request.param == "whole" else 0)
    monkeypatch.setattr(triangles, "_BLOCK", 16)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("size", [1, 16, 45])
def test_squares_are_added_to_one_triangle(size: int, lower: bool, order: str) -> None:
    rng = np.random.default_rng(size)
    before = np.asfortranarray(rng.normal(size=(size, size)))
    rows = np.array(rng.normal(size=(size, 7)), order=order)  # type: ignore[call-overload]
    found = before.copy(order="F")
    add_squares(found, rows, sign=-1.0, lower=lower)
    triangle = np.tril if lower else np.triu
    np.testing.assert_allclose(found, before - triangle(rows @ rows.T), rtol=1e-12, atol=1e-12)
    ones = np.asarray(rows > 0, np.float32)
    counts = np.zeros((size, size), np.float32, order="F")
    add_squares(counts, ones, sign=1.0, lower=lower)
    np.testing.assert_array_equal(counts, triangle(ones @ ones.T))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("size", [1, 15, 16, 17, 64, 75])
def test_blocks_give_what_lapack_gives(size: int) -> None:
    rng = np.random.default_rng(size)
    a = rng.normal(size=(2 * size, size))
    gram, below = a.T @ a, np.tril(rng.normal(size=(size, size)), -1)
    packed = np.asfortranarray(np.triu(gram) + below)
    assert cholesky_in_place(packed)
    np.testing.assert_allclose(np.triu(packed), np.linalg.cholesky(gram).T, rtol=1e-9, atol=1e-12)
    invert_cholesky(packed)
    np.testing.assert_allclose(np.triu(packed), np.triu(np.linalg.inv(gram)), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(np.tril(packed, -1), below)
    assert largest_column_sum(packed) == pytest.approx(np.linalg.norm(np.linalg.inv(gram), 1))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("place", [0, 20, 39])
def test_what_is_not_positive_is_told(place: int) -> None:
    packed = np.eye(40, order="F")
    packed[place, place] = -1.0
    assert not cholesky_in_place(packed)
