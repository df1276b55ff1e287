"""The variance of support counts: one formula, checked against binomials, against the paper and in its refusals."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.theory import krappor_l2, krr_l2, support_l2, support_variances


@pytest.mark.parametrize(("hit", "miss"), [(0.75, 0.25), (0.5, 0.1), (0.9, 0.05), (1.0, 0.0)])
def test_variance_is_the_binomials(hit: float, miss: float) -> None:
    p, n = np.array([0.5, 0.3, 0.2, 0.0]), 17
    for x, variance in zip(p, support_variances(p, n, hit=hit, miss=miss), strict=True):
        m = miss + (hit - miss) * x
        chances = [math.comb(n, c) * m**c * (1 - m) ** (n - c) for c in range(n + 1)]
        estimates = [(c / n - miss) / (hit - miss) for c in range(n + 1)]
        mean = math.fsum(a * b for a, b in zip(chances, estimates, strict=True))
        assert mean == pytest.approx(x, abs=1e-12)
        assert math.fsum(a * (b - x) ** 2 for a, b in zip(chances, estimates, strict=True)) == pytest.approx(variance)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_papers_risks_are_two_of_its_cases(epsilon: float) -> None:
    p, k, e = dn.lab.zipf(12, 1), 12, math.exp(epsilon)
    assert support_l2(p, 100, hit=e / (e + k - 1), miss=1 / (e + k - 1)) == pytest.approx(krr_l2(p, epsilon, 100))
    half = math.exp(epsilon / 2)
    assert support_l2(p, 100, hit=half / (half + 1), miss=1 / (half + 1)) == pytest.approx(krappor_l2(p, epsilon, 100))


@pytest.mark.parametrize(("hit", "miss"), [(0.2, 0.2), (0.2, 0.3), (1.1, 0.2), (0.5, -0.1), (math.nan, 0.1)])
def test_probabilities_that_are_none_are_refused(hit: float, miss: float) -> None:
    with pytest.raises(dn.DeniableError, match="hit must be above miss, both probabilities, got"):
        support_l2([0.5, 0.5], 10, hit=hit, miss=miss)
