"""The paper's risk formulas against hand values, each other, exact enumeration, and their limits."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from zlib import crc32

import numpy as np
import pytest

from deniable import theory

LOG3 = math.log(3)
KS = [2, 3, 5, 10, 64, 256, 4096]
EPSILONS = [0.01, 0.3, 1.0, LOG3, 3.0, 8.0]

# SCIENCE notes, section 6.0: n times the squared l2 risk at the uniform population, four digits: (k, eps): (k-RR, SUE).
REFERENCE = {
    (10, 0.5): ("242.5", "160.1"),
    (10, 1): ("41.86", "40.08"),
    (10, 2): ("5.922", "10.11"),
    (100, 0.5): ("23830", "1593"),
    (100, 1): ("3469", "392.8"),
    (100, 2): ("274.5", "93.06"),
    (100, 3): ("38.54", "37.96"),
    (100, 5): ("2.789", "10.73"),
    (1000, 1): ("339500", "3919"),
    (1000, 3): ("2848", "370.7"),
    (1000, 5): ("60.52", "98.42"),
}


@pytest.mark.parametrize(("k", "epsilon"), REFERENCE)
def test_reference_table(k: int, epsilon: float) -> None:
    p = np.full(k, 1 / k)
    for risk, shown in zip((theory.krr_l2, theory.krappor_l2), REFERENCE[k, epsilon], strict=True):
        assert float(f"{risk(p, epsilon, 1):.4g}") == float(shown)


def test_hand_values() -> None:
    uniform = np.full(10, 0.1)
    assert theory.krr_l2(uniform, LOG3, 1000) == pytest.approx(0.0324, rel=1e-14)
    assert theory.krappor_l2(uniform, LOG3, 1000) == pytest.approx(0.0332205, abs=5e-8)
    # E = 9, so e**(eps/2) = 3: k-RAPPOR with k = 4, p = (1, 0, 0, 0), n = 2: (0 + 4 * 3 / 4) / 2.
    assert theory.krappor_l2([1, 0, 0, 0], math.log(9), 2) == pytest.approx(1.5, rel=1e-14)
    # k-RR with E = 2, k = 3, p = (1, 0, 0), n = 1: 0 + 2 * (3 + 2) / 1.
    assert theory.krr_l2([1, 0, 0], math.log(2), 1) == pytest.approx(10, rel=1e-14)
    assert theory.krr_l1_worst(10, LOG3, 1000) == pytest.approx(6 * math.sqrt(18 / (1000 * math.pi)), rel=1e-14)
    assert theory.minimax_l2(5, 16) == pytest.approx(0.8 / 25, rel=1e-14)


def enumerated_l2(rows: list[list[Fraction]], hits: list[list[int]], p: list[Fraction], n: int) -> Fraction:
    """E |p_hat - p|**2 over every sequence of n reports; column j of a report y is hit when j is in hits[y]."""
    k = len(p)
    hit = sum((rows[0][y] for y in range(len(hits)) if 0 in hits[y]), start=Fraction(0))
    miss = sum((rows[1][y] for y in range(len(hits)) if 0 in hits[y]), start=Fraction(0))
    law = [sum((p[x] * rows[x][y] for x in range(k)), start=Fraction(0)) for y in range(len(hits))]
    total = Fraction(0)
    for reports in product(range(len(hits)), repeat=n):
        weight = math.prod((law[y] for y in reports), start=Fraction(1))
        for j in range(k):
            share = Fraction(sum(j in hits[y] for y in reports), n)
            total += weight * ((share - miss) / (hit - miss) - p[j]) ** 2
    return total


@pytest.mark.parametrize("n", [1, 2, 3])
def test_l2_formulas_equal_full_enumeration(n: int) -> None:
    p = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    krr = [[Fraction(4 if x == y else 1, 6) for y in range(3)] for x in range(3)]
    found = enumerated_l2(krr, [[0], [1], [2]], p, n)
    assert theory.krr_l2([float(x) for x in p], math.log(4), n) == pytest.approx(float(found), rel=1e-13)
    outputs = [[j for j in range(3) if y >> j & 1] for y in range(8)]
    flips = [[bin(y ^ 1 << x).count("1") for y in range(8)] for x in range(3)]
    krappor = [[Fraction(1, 3) ** f * Fraction(2, 3) ** (3 - f) for f in row] for row in flips]
    found = enumerated_l2(krappor, outputs, p, n)
    assert theory.krappor_l2([float(x) for x in p], math.log(4), n) == pytest.approx(float(found), rel=1e-13)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_worst_cases_are_the_uniform_population(k: int, epsilon: float) -> None:
    p, n = np.full(k, 1 / k), 1234
    for risk, worst in (
        (theory.krr_l2, theory.krr_l2_worst),
        (theory.krr_l1, theory.krr_l1_worst),
        (theory.krappor_l2, theory.krappor_l2_worst),
        (theory.krappor_l1, theory.krappor_l1_worst),
    ):
        assert risk(p, epsilon, n) == pytest.approx(worst(k, epsilon, n), rel=1e-11)
    assert theory.ml_l2(p, n) == pytest.approx(theory.ml_l2_worst(k, n), rel=1e-12)
    assert theory.ml_l1(p, n) == pytest.approx(theory.ml_l1_worst(k, n), rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 10, 64])
def test_no_population_is_worse_than_the_uniform_one(k: int) -> None:
    rng = np.random.default_rng(crc32(b"test_no_population_is_worse_than_the_uniform_one") + k)
    corners = [np.eye(k)[0], np.r_[0.5, 0.5, np.zeros(k - 2)]]
    for p in [*rng.dirichlet(np.ones(k), 40), *rng.dirichlet(np.full(k, 0.1), 40), *corners]:
        p = p / p.sum()
        for epsilon in (0.1, 1.0, 4.0):
            assert theory.krr_l2(p, epsilon, 7) <= theory.krr_l2_worst(k, epsilon, 7) * (1 + 1e-12)
            assert theory.krr_l1(p, epsilon, 7) <= theory.krr_l1_worst(k, epsilon, 7) * (1 + 1e-12)
            assert theory.krappor_l2(p, epsilon, 7) <= theory.krappor_l2_worst(k, epsilon, 7) * (1 + 1e-12)
            assert theory.krappor_l1(p, epsilon, 7) <= theory.krappor_l1_worst(k, epsilon, 7) * (1 + 1e-12)
        assert theory.ml_l2(p, 7) <= theory.ml_l2_worst(k, 7) * (1 + 1e-12)
        assert theory.ml_l1(p, 7) <= theory.ml_l1_worst(k, 7) * (1 + 1e-12)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_both_losses_inflate_alike(k: int, epsilon: float) -> None:
    assert theory.krr_l2_inflation(k, epsilon) == pytest.approx(theory.krr_l1_inflation(k, epsilon), rel=1e-11)
    assert theory.krappor_l2_inflation(k, epsilon) == pytest.approx(theory.krappor_l1_inflation(k, epsilon), rel=1e-11)


@pytest.mark.parametrize("k", KS)
def test_inflation_is_what_the_sample_must_grow_by(k: int) -> None:
    n = 10**6
    for inflation, worst, base in (
        (theory.krr_l2_inflation, theory.krr_l2_worst, theory.ml_l2_worst),
        (theory.krr_l1_inflation, theory.krr_l1_worst, theory.ml_l1_worst),
        (theory.krappor_l2_inflation, theory.krappor_l2_worst, theory.ml_l2_worst),
        (theory.krappor_l1_inflation, theory.krappor_l1_worst, theory.ml_l1_worst),
    ):
        factor = inflation(k, 1.0)
        grown = round(n * factor)
        assert worst(k, 1.0, grown) == pytest.approx(base(k, n), rel=1e-5)


@pytest.mark.parametrize("risk", [theory.krr_l2, theory.krappor_l2, theory.krr_l1, theory.krappor_l1])
def test_without_privacy_the_risk_is_the_empirical_estimators(
    risk: Callable[[list[float], object, int], float],
) -> None:
    p = [0.7, 0.2, 0.1]
    base = theory.ml_l2(p, 50) if risk in (theory.krr_l2, theory.krappor_l2) else theory.ml_l1(p, 50)
    assert risk(p, 64, 50) == pytest.approx(base, rel=1e-9)


def test_warner_is_krr_with_two_symbols() -> None:
    # Warner (1965): Var = p(1-p)/n + 1/n [1 / (16 (P - 1/2)**2) - 1/4], both entries alike.
    p, n, epsilon = 0.3, 500, 1.7
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    warner = p * (1 - p) / n + (1 / (16 * (keep - 0.5) ** 2) - 0.25) / n
    assert theory.krr_l2([p, 1 - p], epsilon, n) == pytest.approx(2 * warner, rel=1e-13)


def test_minimax_estimator_has_the_same_risk_everywhere() -> None:
    k, n = 3, 6
    root = math.sqrt(n)
    for p in ([1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0], [0.6, 0.3, 0.1]):
        risk = 0.0
        for q in p:
            for t in range(n + 1):
                weight = math.comb(n, t) * q**t * (1 - q) ** (n - t)
                risk += weight * ((root / k + t) / (root + n) - q) ** 2
        assert risk == pytest.approx(theory.minimax_l2(k, n), rel=1e-12)


def test_minimax_beats_the_empirical_estimator_only_slightly() -> None:
    for n in (10, 1000, 10**6):
        ratio = theory.ml_l2_worst(7, n) / theory.minimax_l2(7, n)
        assert ratio == pytest.approx(1 + 2 / math.sqrt(n) + 1 / n, rel=1e-12)


def test_exact_nonprivate_l1() -> None:
    # n = 1: E |x - p| summed over symbols is 2 (1 - sum p**2).
    p = np.array([0.5, 0.3, 0.2])
    assert theory.ml_l1(p, 1, exact=True) == pytest.approx(2 * (1 - p @ p), rel=1e-14)
    assert theory.ml_l1(p, 10**9, exact=True) == pytest.approx(theory.ml_l1(p, 10**9), rel=1e-8)


def test_minimax_l1_is_its_leading_term() -> None:
    assert theory.minimax_l1(11, 10**6) == pytest.approx(math.sqrt(20 / (math.pi * 1e6)), rel=1e-14)
