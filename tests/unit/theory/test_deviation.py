"""The mean absolute deviation of a binomial: against the sum over all outcomes, and where that cannot be summed."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.theory import folded_normal_mean, mean_absolute_deviation


def summed(n: int, q: Fraction) -> Fraction:
    return sum((math.comb(n, t) * q**t * (1 - q) ** (n - t) * abs(t - n * q) for t in range(n + 1)), start=Fraction(0))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 15, 16, 17, 18, 40, 101])
def test_equals_the_sum_over_all_outcomes(n: int) -> None:
    chances = [Fraction(i, 24) for i in range(25)] + [Fraction(1, 1000), Fraction(999, 1000), Fraction(1, n)]
    found = mean_absolute_deviation(n, [float(q) for q in chances])
    expected = [float(summed(n, q)) for q in chances]
    assert found == pytest.approx(expected, rel=2e-13, abs=1e-300)


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9, 10**12])
def test_large_n_agrees_with_the_normal_limit_and_its_first_correction(n: int) -> None:
    # Edgeworth: E|T - nq| = sqrt(2 v / pi) (1 + c / v + ...) with |c| below 1/2, v = n q (1 - q).
    q = np.array([0.001, 0.01, 0.3, 0.5, 0.7, 0.99])
    v = n * q * (1 - q)
    ratio = mean_absolute_deviation(n, q) / np.sqrt(2 * v / math.pi)
    assert (np.abs(ratio - 1) <= 0.5 / v + 1e-13).all()


@pytest.mark.parametrize("n", [200, 5000])
def test_agrees_with_high_precision_logarithms(n: int) -> None:
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 50
        for numerator in (1, 37, 500, 963):
            q = Decimal(numerator) / 1000
            v = n * numerator // 1000 + 1
            exact = 2 * v * Decimal(math.comb(n, v)) * q**v * (1 - q) ** (n - v + 1)
            assert float(mean_absolute_deviation(n, numerator / 1000)) == pytest.approx(float(exact), rel=1e-12)


def test_certain_outcomes_do_not_deviate() -> None:
    assert mean_absolute_deviation(1000, [0.0, 1.0]).tolist() == [0.0, 0.0]
    assert mean_absolute_deviation(1, [0.0, 0.25, 1.0]).tolist() == [0.0, 0.375, 0.0]


def test_is_continuous_where_the_mean_is_an_integer() -> None:
    # floor(n q) jumps there, and the float n q may fall on either side of the integer.
    for n, t in ((10, 3), (1000, 300), (10**6, 123456)):
        q = t / n
        near = mean_absolute_deviation(n, [q * (1 - 1e-12), q, q * (1 + 1e-12)])
        assert near == pytest.approx([near[1]] * 3, rel=1e-9)


def test_folded_normal_mean_against_quadrature() -> None:
    from scipy.integrate import quad

    for bias, sd in ((0.0, 1.0), (0.3, 0.5), (-2.0, 0.7), (0.01, 3.0)):

        def weighted(x: float, bias: float = bias, sd: float = sd) -> float:
            return abs(x) * math.exp(-(((x - bias) / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi))

        whole = quad(weighted, bias - 12 * sd, 0, epsabs=1e-13)[0] + quad(weighted, 0, bias + 12 * sd, epsabs=1e-13)[0]
        assert float(folded_normal_mean(bias, sd**2)) == pytest.approx(whole, rel=1e-9)


def test_folded_normal_mean_without_variance_is_the_bias() -> None:
    assert folded_normal_mean([0.0, 2.0, -2.0], [0.0, 0.0, 0.0]).tolist() == [0.0, 2.0, 2.0]
