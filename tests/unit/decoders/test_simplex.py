"""Simplex projection: the hand-checked vector, and awkward inputs."""

from typing import Any

import numpy as np
import pytest

from deniable.decoders import simplex
from deniable.decoders.constraints import Normalized, Projected, Unconstrained
from deniable.decoders.simplex import project


def test_hand_checked_vector() -> None:
    raw = np.array([97 / 100, 47 / 200, 3 / 50, -2 / 25, -37 / 200])
    np.testing.assert_allclose(project(raw), [347 / 400, 53 / 400, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(Projected().apply(raw), project(raw))
    np.testing.assert_allclose(Normalized().apply(raw), [194 / 253, 47 / 253, 12 / 253, 0, 0], atol=1e-15)
    np.testing.assert_array_equal(Unconstrained().apply(raw), raw)
    assert Unconstrained().apply(raw) is not raw


@pytest.mark.parametrize("values", [[5.0], [-3.0], [1e300, 1.0], [1e-300] * 3, [-1e6, -1e6 - 0.5], [0.0] * 7])
def test_awkward_values(values: list[float]) -> None:
    projected = project(values)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1, abs=1e-12)


def test_huge_common_shift_is_ignored() -> None:
    base = np.array([0.2, 0.5, -0.1])
    np.testing.assert_allclose(project(base + 2.0**30), project(base), atol=1e-6)


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], 3.0])
def test_shapes(values: Any) -> None:
    with pytest.raises(ValueError, match="values must be a non-empty vector, got shape"):
        project(values)


@pytest.mark.parametrize("values", [[np.nan, 1.0], [np.inf, 0.0]])
def test_values_must_be_finite(values: Any) -> None:
    with pytest.raises(ValueError, match="values must be finite"):
        project(values)


def test_nothing_positive_becomes_uniform() -> None:
    np.testing.assert_array_equal(Normalized().apply(np.array([-1.0, -2.0])), [0.5, 0.5])


@pytest.mark.parametrize("spread", [1e-3, 0.1, 10.0])
def test_where_passes_do_not_end_it_a_sort_does(monkeypatch: pytest.MonkeyPatch, spread: float) -> None:
    values = np.random.default_rng(0).normal(size=70_000) * spread
    plain = project(values)
    monkeypatch.setattr(simplex, "_PASSES", 1)
    np.testing.assert_allclose(project(values), plain, atol=1e-12)
