"""The order of the private minimax risk, as printed, and what the package's own formulas say about it."""

import math

import pytest

from deniable import theory

GRID = [
    (k, epsilon, n) for k in (2, 3, 10, 100, 4096) for epsilon in (1e-3, 0.1, 0.5, 1.0) for n in (1, 100, 10**6, 10**12)
]


@pytest.mark.parametrize(("k", "epsilon", "n"), GRID)
def test_bounds_are_the_printed_rates(k: int, epsilon: float, n: int) -> None:
    x = n * epsilon**2
    lower, upper = theory.private_minimax_l2(k, epsilon, n, c_lower=0.25, c_upper=4)
    assert lower == pytest.approx(0.25 * min(1, 1 / math.sqrt(x), k / x), rel=1e-12)
    assert upper == pytest.approx(4 * min(1, k / x), rel=1e-12)
    lower, upper = theory.private_minimax_l1(k, epsilon, n, c_lower=0.25, c_upper=4)
    assert lower == pytest.approx(0.25 * min(1, k / math.sqrt(x)), rel=1e-12)
    assert upper == pytest.approx(16 * lower, rel=1e-12)


def test_without_signal_only_the_constants_remain() -> None:
    assert theory.private_minimax_l2(5, 0, 10**9, c_lower=0.1, c_upper=3) == (0.1, 3)
    assert theory.private_minimax_l1(5, 0.0, 10**9, c_lower=0.1, c_upper=3) == (0.1, 3)


@pytest.mark.parametrize(("k", "epsilon", "n"), GRID)
def test_krappor_lies_between_the_bounds(k: int, epsilon: float, n: int) -> None:
    """A constant estimate caps the risk at 1 - 1/k (l2) and 2 - 2/k (l1); below that k-RAPPOR must obey the rates."""
    lower, upper = theory.private_minimax_l2(k, epsilon, n, c_lower=0.4, c_upper=4.25)
    risk = min(theory.krappor_l2_worst(k, epsilon, n), 1 - 1 / k)
    assert lower <= risk <= upper
    lower, upper = theory.private_minimax_l1(k, epsilon, n, c_lower=0.4, c_upper=4.25)
    risk = min(theory.krappor_l1_worst(k, epsilon, n), 2 - 2 / k)
    assert lower <= risk <= upper


def test_krr_leaves_the_upper_bound_where_the_alphabet_is_large() -> None:
    """Section 4.3: k-RR needs k**2 / eps**2 times more people where k / eps**2 would do."""
    k, epsilon, n = 4096, 0.5, 10**9
    _, upper = theory.private_minimax_l2(k, epsilon, n, c_lower=0.1, c_upper=4.99)
    assert theory.krr_l2_worst(k, epsilon, n) > 100 * upper


def test_rates_part_by_at_most_the_root_of_k() -> None:
    for k in (4, 100, 4096):
        worst = 0.0
        for x in range(1, 2 * k * k, max(1, k * k // 2000)):
            lower, upper = theory.private_minimax_l2(k, 1.0, x, c_lower=1, c_upper=1)
            worst = max(worst, upper / lower)
        assert worst <= math.sqrt(k) * (1 + 1e-12)
        lower, upper = theory.private_minimax_l2(k, 1.0, k, c_lower=1, c_upper=1)
        assert upper / lower == pytest.approx(math.sqrt(k), rel=1e-12)
        lower, upper = theory.private_minimax_l2(k, 1.0, k * k, c_lower=1, c_upper=1)
        assert upper == pytest.approx(lower, rel=1e-12)
