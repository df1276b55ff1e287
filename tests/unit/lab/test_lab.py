"""The populations of the paper."""

import numpy as np
import pytest
from scipy import stats

from deniable import lab
from deniable.errors import DecodeError


def test_geometric_is_truncated_at_both_ends() -> None:
    p = lab.geometric(256, mean=256 / 5)
    ratio = (256 / 5) / (1 + 256 / 5)
    np.testing.assert_allclose(p[1:] / p[:-1], ratio)
    assert p.sum() == pytest.approx(1)
    untruncated = stats.geom(1 / (1 + 256 / 5)).pmf(np.arange(1, 257))
    np.testing.assert_allclose(p, untruncated / untruncated.sum())
    assert 0.9 < (np.arange(10**5) * lab.geometric(10**5, 50)).sum() / 50 < 1.1


@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 1.0])
def test_binomial(q: float) -> None:
    np.testing.assert_allclose(lab.binomial(64, q), stats.binom(63, q).pmf(np.arange(64)), rtol=1e-9, atol=1e-300)


def test_zipf_and_uniform() -> None:
    np.testing.assert_allclose(lab.zipf(4, 2), np.array([1, 1 / 4, 1 / 9, 1 / 16]) / (1 + 1 / 4 + 1 / 9 + 1 / 16))
    np.testing.assert_allclose(lab.uniform(5), 0.2)
    np.testing.assert_allclose(lab.zipf(7, 0), lab.uniform(7))


def test_dirichlet_is_a_distribution_and_repeats() -> None:
    a, b = (lab.dirichlet(9, np.random.default_rng(2)) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert a.sum() == pytest.approx(1)
    flat = lab.dirichlet(9, np.random.default_rng(2), concentration=1e6)
    np.testing.assert_allclose(flat, 1 / 9, atol=1e-3)


def test_from_data() -> None:
    symbols, p = lab.from_data(["x", 1, "x", b"z", "x"])
    assert symbols[0] == "x"
    assert set(symbols) == {"x", 1, b"z"}
    np.testing.assert_allclose(p, [0.6, 0.2, 0.2])


def test_bad_parameters() -> None:
    with pytest.raises(DecodeError, match="symbols must be at least 1, got 0; it is a number of symbols"):
        lab.uniform(0)
    with pytest.raises(DecodeError, match="mean must be positive, got 0"):
        lab.geometric(4, mean=0)
    with pytest.raises(DecodeError, match=r"q must be from 0 to 1, got 1\.5"):
        lab.binomial(4, 1.5)
    with pytest.raises(DecodeError, match="values must hold at least one symbol, got none"):
        lab.from_data([])


def test_parameters_that_are_no_numbers() -> None:
    for size in (2.5, True, "3"):
        with pytest.raises(DecodeError, match="it is a number of symbols"):
            lab.uniform(size)  # type: ignore[arg-type]
    with pytest.raises(DecodeError, match="a must be finite, got nan"):
        lab.zipf(3, float("nan"))
    for concentration in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(DecodeError, match="concentration must be positive and finite, got"):
            lab.dirichlet(3, np.random.default_rng(0), concentration=concentration)
