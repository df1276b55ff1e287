"""Beta laws of any size against fifty digits: the continued fraction of the incomplete beta function, in `decimal`."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.special import betaincinv, ndtri

from deniable.decoders.beta_law import ACCURACY, accuracy, quantile, tail

PI = Decimal("3.14159265358979323846264338327950288419716939937511")
STIRLING = (
    *(Decimal(1) / d for d in (12, -360, 1260, -1680, 1188)),
    Decimal(-691) / 360360,
    Decimal(1) / 156,
)


def log_gamma(z: Decimal) -> Decimal:
    """Stirling's series, from 100 on to thirty digits."""
    below = Decimal(1)
    while z < 100:
        below, z = below * z, z + 1
    series = sum((c / z ** (2 * i + 1) for i, c in enumerate(STIRLING)), Decimal(0))
    return (z - Decimal("0.5")) * z.ln() - z + (2 * PI).ln() / 2 + series - below.ln()


def lower_tail(a: float, b: float, x: float) -> float:
    """I_x(a, b) for x below the mean, by Lentz's evaluation of the continued fraction."""
    with localcontext() as context:
        context.prec = 50
        p, q, y = Decimal(a), Decimal(b), Decimal(x)
        front = p * y.ln() + q * (1 - y).ln() + log_gamma(p + q) - log_gamma(p) - log_gamma(q) - p.ln()
        c, d = Decimal(1), 1 / (1 - (p + q) * y / (p + 1))
        found = d
        for m in map(Decimal, range(1, 10_000)):
            for term in (
                m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m)),
                -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1)),
            ):
                c, d = 1 + term / c, 1 / (1 + term * d)
                found *= c * d
            if abs(c * d - 1) < Decimal("1e-20"):
                return float(front.exp() * found)
        raise AssertionError("the continued fraction did not converge")


# Both sides of every border between formulas, and far beyond: smaller and larger parameter.
SIZES = [
    (5.0, 6.0),
    (40.0, 1e17),
    (2.9e5, 2.9e5),
    (3.1e5, 3.1e5),
    (2.9e5, 9e9),
    (2.9e5, 1.1e10),
    (3.1e5, 1.1e10),
    (3.1e5, 9e18),
    (1e9, 1e12),
    (3e14, 7e14),
    (3e16, 7e16),
    (4e18, 5e18),
]


@pytest.mark.parametrize(("a", "b"), SIZES)
@pytest.mark.parametrize("chance", [1e-21, 1e-9, 0.025])
def test_accuracy_against_fifty_digits(a: float, b: float, chance: float) -> None:
    allowed = max(accuracy(a + b), 1e-12)
    for first, second in ((a, b), (b, a)):
        value, spread = quantile(first, second, chance)
        if spread < 1e-9 * value:  # near one doubles are too coarse for any of its digits
            continue
        low = float(value)
        exact = lower_tail(first, second, low)
        assert abs(ndtri(exact) - ndtri(chance)) < allowed
        assert abs(ndtri(float(tail(first, second, low))) - ndtri(exact)) < allowed
    # The upper quantile is the lower one of the mirrored law, with digits of its own where that is near one.
    high, spread = quantile(a, b, chance, upper=True)
    mirrored, _ = quantile(b, a, chance)
    assert abs(float(high) - (1 - float(mirrored))) < 2 * ACCURACY * float(spread) + 4e-16
    assert accuracy(a + b) == (0.0 if a + b < 3e5 else ACCURACY)


def test_the_oracle_rejects_the_quantiles_of_scipy() -> None:
    """The mutant: at 10**15 they miss by more than .01 of a standard deviation, at 10**17 by more than 1 or are NaN."""
    for a, b, least in ((1e13, 9.9e14, 1e-3), (3e14, 7e14, 1e-2)):
        low = float(betaincinv(a, b, 0.025))
        assert abs(ndtri(lower_tail(a, b, low)) - ndtri(0.025)) > least
    assert not abs(betaincinv(3e16, 7e16, 0.025) - float(quantile(3e16, 7e16, 0.025)[0])) < 1e-9


def test_shapes_and_ends() -> None:
    value, spread = quantile([1.0, 1.0], [1.0, 1e17], 0.5)
    assert value.shape == spread.shape == (2,)
    np.testing.assert_allclose(value, [0.5, np.log(2) / 1e17])
    np.testing.assert_allclose(tail([1e6, 2.0], [1e6, 1e17], 1e-19), [0.0, 0.5 * 0.01**2], rtol=0.02, atol=1e-300)
    np.testing.assert_allclose(tail([1e6, 1e17], [1e6, 2.0], 1 - 1e-12), [1.0, 0.0], atol=1e-300)
