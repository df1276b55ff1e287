"""k-RR against k-RAPPOR: the paper's f, the true crossover, and the proposition decided in integers."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from deniable import theory

# SCIENCE notes, section 0.
CROSSOVERS = {
    7: 0.591,
    8: 0.781,
    10: 1.062,
    16: 1.558,
    32: 2.161,
    64: 2.692,
    100: 3.015,
    256: 3.671,
    1000: 4.596,
    4096: 5.542,
}


@pytest.mark.parametrize("k", [2, 3, 6, 10, 256])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 10.0])
def test_advantage_is_the_ratio_of_the_risks(k: int, epsilon: float) -> None:
    p = np.full(k, 1 / k)
    base = theory.ml_l2(p, 1)
    ratio = (theory.krappor_l2(p, epsilon, 1) - base) / (theory.krr_l2(p, epsilon, 1) - base)
    assert theory.krr_advantage(k, epsilon) == pytest.approx(ratio, rel=1e-9)
    # As the supplement prints it, before (e**eps - 1) / (e**(eps/2) - 1) is simplified to e**(eps/2) + 1.
    a, h = math.expm1(epsilon), math.expm1(epsilon / 2)
    printed = k / (k - 1) * (a / h) ** 2 * (h + 1) / (2 * math.exp(epsilon) + k - 2)
    assert theory.krr_advantage(k, epsilon) == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5, 6, 7, 100, 4096])
def test_advantage_increases_with_epsilon(k: int) -> None:
    values = [theory.krr_advantage(k, e) for e in np.linspace(0.001, 20, 2000)]
    assert all(a < b for a, b in pairwise(values))


def test_sign_of_the_derivative_is_the_polynomial() -> None:
    """d/ds ln f = 1/s + 2/(s+1) - 4s/(2s^2+k-2), whose numerator is 2s^3 - 2s^2 + (3s+1)(k-2); exact in rationals."""
    for k in (2, 3, 5, 17, 1000):
        for s in (Fraction(1), Fraction(3, 2), Fraction(7), Fraction(100)):
            slope = 1 / s + 2 / (s + 1) - 4 * s / (2 * s * s + k - 2)
            numerator = 2 * s**3 - 2 * s**2 + (3 * s + 1) * (k - 2)
            assert slope == numerator / (s * (s + 1) * (2 * s * s + k - 2))
            assert numerator >= 0


@pytest.mark.parametrize("k", CROSSOVERS)
def test_crossovers_of_the_science_notes(k: int) -> None:
    assert round(theory.crossover(k) or 0.0, 3) == CROSSOVERS[k]


@pytest.mark.parametrize("k", [*range(6, 40), 100, 4096, 10**6, 2**24, 10**12])
def test_crossover_is_where_the_risks_meet(k: int) -> None:
    epsilon = theory.crossover(k)
    assert epsilon is not None
    assert theory.krr_advantage(k, epsilon) == pytest.approx(1, abs=1e-12)
    assert theory.krr_advantage(k, epsilon * (1 - 1e-9)) < 1 < theory.krr_advantage(k, epsilon * (1 + 1e-9))
    assert epsilon < 2 / 3 * math.log(k)
    assert epsilon < math.log(k / 2)


def test_crossover_approaches_two_thirds_of_log_k() -> None:
    gaps = [2 / 3 * math.log(k) - (theory.crossover(k) or 0.0) for k in (10, 100, 1000, 10**4, 10**6, 10**9)]
    assert gaps == sorted(gaps, reverse=True)
    assert 0 < gaps[-1] < 1e-5


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_up_to_five_symbols_krr_never_loses(k: int) -> None:
    assert theory.crossover(k) is None
    # f tends to 4 / (k - 1) as epsilon falls to 0: a tie in the limit at k = 5, above one before.
    assert theory.krr_advantage(k, 1e-9) == pytest.approx(4 / (k - 1), rel=1e-8)
    assert all(theory.krr_advantage(k, e) >= 1 for e in np.geomspace(1e-9, 60, 200))


def test_krr_wins_from_log_half_for_every_k() -> None:
    assert all(theory.krr_wins_from_log_half(k) for k in range(2, 20_000))
    # Past that the integers are not needed: s = sqrt(k/2) >= 2 and (k/2 + 1) k s >= k (k + 2) > k**2 - 4 k + 2.
    for k in (10**6, 2**40, 10**15):
        assert theory.krr_wins_from_log_half(k)
    for k in range(3, 3000):
        assert theory.krr_advantage(k, math.log(k / 2)) > 1


def test_integer_decision_is_the_inequality_it_claims_to_be() -> None:
    """The squared inequality against f itself, with the threshold moved to where the proposition would be false."""
    for k in range(6, 400):
        crossing = theory.crossover(k)
        assert crossing is not None
        s = math.exp(crossing / 2)
        assert k * s**3 + 2 * s**2 + k * s == pytest.approx((k - 1) * (k - 2), rel=1e-12)
