"""Risk of a survey, from its realised integers: against the propositions, the covariance, and exact enumeration."""

import math
from zlib import crc32

import numpy as np
import pytest

import deniable as dn
from deniable import theory

P = np.array([0.4, 0.25, 0.2, 0.1, 0.05])


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1, 2, 5, "1/3"])
def test_direct_surveys_are_the_propositions_at_the_realised_odds(epsilon: object) -> None:
    krr, krappor = dn.krr(symbols=5, epsilon=epsilon), dn.krappor(symbols=5, epsilon=epsilon)
    # k-RR: e**eps = hit / miss; k-RAPPOR: e**(eps/2) = hit / miss. The realised odds differ from e**eps in digit 17.
    odds = math.log(krr.mechanism.hit / krr.mechanism.miss)
    half = math.log(krappor.mechanism.hit / krappor.mechanism.miss)
    for n in (1, 1000):
        assert theory.l2_risk(krr, P, n) == pytest.approx(theory.krr_l2(P, odds, n), rel=1e-11)
        assert theory.l1_risk(krr, P, n) == pytest.approx(theory.krr_l1(P, odds, n), rel=1e-11)
        assert theory.l2_risk(krappor, P, n) == pytest.approx(theory.krappor_l2(P, 2 * half, n), rel=1e-11)
        assert theory.l1_risk(krappor, P, n) == pytest.approx(theory.krappor_l1(P, 2 * half, n), rel=1e-11)


def test_realised_probabilities_are_used_and_not_the_nominal_epsilon() -> None:
    # At eps = 36 and two cells a 64-bit word can only realise odds of 2**64 / 4279 - 1: 0.013 % off e**36.
    coarse = dn.warner(epsilon=36)
    realised = coarse.mechanism.hit / coarse.mechanism.miss
    assert abs(float(realised) / math.exp(36) - 1) > 1e-5
    extra = theory.l2_risk(coarse, [1.0, 0.0], 1)
    assert extra == pytest.approx(float(2 * realised / (realised - 1) ** 2), rel=1e-9)


@pytest.mark.parametrize("make", [dn.krr, dn.krappor])
def test_exact_l1_tends_to_the_formula(make: object) -> None:
    survey = dn.krr(symbols=5, epsilon=1) if make is dn.krr else dn.krappor(symbols=5, epsilon=1)
    gaps = [
        abs(theory.l1_risk(survey, P, n, exact=True) / theory.l1_risk(survey, P, n) - 1) for n in (10, 10**4, 10**9)
    ]
    assert gaps[0] < 0.05
    assert gaps[1] < 1e-4
    assert gaps[2] < 1e-8


def test_exact_l1_of_one_report() -> None:
    # n = 1: T_i is 0 or 1, so E |T_i - m_i| = 2 m_i (1 - m_i).
    survey = dn.krr(symbols=5, epsilon=1)
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    m = miss + (hit - miss) * P
    assert theory.l1_risk(survey, P, 1, exact=True) == pytest.approx(2 * (m * (1 - m)).sum() / (hit - miss), rel=1e-13)


@pytest.mark.parametrize("per_cohort", [True, False])
def test_closed_orr_with_one_cohort_and_a_cell_each_has_the_risk_of_krr(per_cohort: bool) -> None:
    orr = dn.orr(symbols=5, epsilon=1, cells=5, cohorts=1, seed=bytes(16))
    orappor = dn.orappor(symbols=5, epsilon=1, cells=5, cohorts=1, seed=bytes(16))
    for relabelled, plain in ((orr, dn.krr(symbols=5, epsilon=1)), (orappor, dn.krappor(symbols=5, epsilon=1))):
        for risk in (theory.l2_risk, theory.l1_risk):
            assert risk(relabelled, P, 500, per_cohort=per_cohort) == pytest.approx(risk(plain, P, 500), rel=1e-10)


def test_least_squares_risk_is_trace_plus_squared_bias() -> None:
    # Five symbols in one cohort of two cells: most of p is invisible, and the estimate is biased.
    survey = dn.orr(symbols=5, epsilon=2, cells=2, cohorts=1, seed=bytes(16))
    mean, covariance = theory.least_squares_moments(survey, P, 1000)
    bias = mean - P
    assert bias @ bias > 0.01
    assert theory.l2_risk(survey, P, 1000) == pytest.approx(np.trace(covariance) + bias @ bias, rel=1e-12)
    assert theory.l1_risk(survey, P, 10**12) == pytest.approx(np.abs(bias).sum(), rel=1e-4)


def test_open_surveys_take_their_candidates() -> None:
    survey = dn.orr(epsilon=2, cells=4, cohorts=32, seed=bytes(16))
    names = ["chrome", "firefox", "safari", "edge", "lynx"]
    once, twice = (theory.l2_risk(survey, P, n, symbols=names) for n in (10**6, 2 * 10**6))
    assert once == pytest.approx(2 * twice, rel=1e-3)
    order = [3, 0, 4, 1, 2]
    assert theory.l2_risk(survey, P[order], 10**6, symbols=[names[i] for i in order]) == pytest.approx(once, rel=1e-9)


ENUMERATED = {
    "orr": dn.orr(epsilon=1, cells=4, cohorts=3, seed=bytes(16)),
    "orr closed": dn.orr(symbols=5, epsilon=1, cells=2, cohorts=3, seed=bytes(16)),
    "orappor": dn.orappor(epsilon=1, cells=4, cohorts=3, seed=bytes(16)),
    "orappor, two hashes": dn.orappor(epsilon=3, cells=5, cohorts=2, hashes=2, seed=bytes(16)),
    "orappor closed, three hashes": dn.orappor(symbols=5, epsilon=6, cells=4, cohorts=3, hashes=3, seed=bytes(16)),
}


@pytest.mark.parametrize("kind", ENUMERATED)
def test_joint_least_squares_risk_equals_enumeration_of_every_report(kind: str) -> None:
    """Jointly normalised, p_hat is an average over reports: the law of one report, walked whole, gives its variance."""
    survey = ENUMERATED[kind]
    symbols = list(survey.symbols or ["a", "b", "c", "d", "e"])
    mechanism, C, k = survey.mechanism, survey.cohorts, survey.cells
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    H = np.zeros((C, k, len(symbols)))
    for c in range(C):
        for s, symbol in enumerate(symbols):
            H[c, list(survey.encode(c, symbol)), s] = 1
    inverse = np.linalg.pinv(H.reshape(C * k, -1))
    first, second = np.zeros(len(symbols)), 0.0
    for c in range(C):
        for y in range(mechanism.outputs):
            law = (float(mechanism.probability(y, survey.encode(c, s))) for s in symbols)
            weight = sum(q * x for q, x in zip(law, P, strict=True)) / C
            seen = np.zeros((C, k))
            seen[c, list(mechanism.columns_hit(y))] = C
            estimate = inverse @ ((seen - miss) / (hit - miss)).ravel()
            first += weight * estimate
            second += weight * (estimate @ estimate)
    n, bias = 37, first - P
    expected = (second - first @ first) / n + bias @ bias
    given = None if survey.symbols else symbols
    assert theory.l2_risk(survey, P, n, symbols=given, per_cohort=False) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("cells", [2, 4, 6])
def test_with_many_cohorts_orr_is_a_balanced_design(epsilon: float, cells: int) -> None:
    """SCIENCE 6.0: each report supports the S/k symbols of its cell, and f_x = (share that supports x - q) / (p - q).

    With permutations two symbols share a cell with probability (S/k - 1) / (S - 1). The variance about p is
    m (1 - m) / (p - q)**2 with m = q + (p - q) f. The notes' q (1 - q) / (p - q)**2 + f (1 - p - q) / (p - q) is this
    less f (1 - f): theirs is the variance about the drawn sample.
    """
    size, n = 12, 10**7
    survey = dn.orr(symbols=size, epsilon=epsilon, cells=cells, cohorts=4096, seed=bytes(16))
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    q = miss + (hit - miss) * (size / cells - 1) / (size - 1)
    f = 1 / size
    m = q + (hit - q) * f
    variance = m * (1 - m) / (hit - q) ** 2
    assert theory.l2_risk(survey, np.full(size, f), n) * n / size == pytest.approx(variance, rel=0.005)
    about_sample = q * (1 - q) / (hit - q) ** 2 + f * (1 - hit - q) / (hit - q)
    assert variance == pytest.approx(about_sample + f * (1 - f), rel=1e-12)


def test_more_people_never_hurt() -> None:
    rng = np.random.default_rng(crc32(b"test_more_people_never_hurt"))
    surveys = [
        dn.krr(symbols=5, epsilon=1),
        dn.krappor(symbols=5, epsilon=1),
        dn.orr(symbols=5, epsilon=1, cells=3, cohorts=8, seed=bytes(16)),
        dn.orappor(symbols=5, epsilon=1, cells=4, cohorts=8, hashes=2, seed=bytes(16)),
    ]
    for survey in surveys:
        for p in rng.dirichlet(np.ones(5), 3):
            for risk in (theory.l1_risk, theory.l2_risk):
                values = [risk(survey, p, n) for n in (100, 1000, 10**4, 10**6)]
                assert values == sorted(values, reverse=True)
