"""Quantiles and tails of beta distributions with parameters of any size, for Clopper-Pearson limits.

SciPy's are right for moderate parameters. At 10**15 reports its quantiles are off by .05 standard deviations and more,
at 10**17 they are often NaN. So there are three cases, by the smaller parameter m and the sum N of both:

    m >= 300,000                nearly normal: quantiles by Cornish and Fisher, tails by Peizer and Pratt (1968)
    m < 300,000, N <= 10**10    SciPy
    m < 300,000, N > 10**10     -log(1 - X) is nearly gamma distributed with shape m and rate N - (m + 1) / 2

Doubles do not hold every count beyond 2**53; up to 2**63, where a tally ends, that costs less than the formulas do.

Claim: quantiles, and the normal scores of tails, are right to `ACCURACY` standard deviations, down to tails of 1e-21.
Proof: tests/unit/decoders/test_beta_law.py::test_accuracy_against_fifty_digits
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ACCURACY = 1e-6  # standard deviations; a bound on every error measured against fifty digits
_NORMAL_FROM = 3e5  # smaller parameter from which a beta distribution is nearly normal
_SCIPY_UP_TO = 1e10  # sum of the parameters up to which SciPy is right


def accuracy(n: float) -> float:
    """How far the quantiles of n reports may be off, in standard deviations: nothing where they are SciPy's.

    >>> accuracy(1000), accuracy(10**15)
    (0.0, 1e-06)
    """
    return ACCURACY if n >= _NORMAL_FROM else 0.0


def quantile(a: npt.ArrayLike, b: npt.ArrayLike, chance: float, *, upper: bool = False) -> tuple[Floats, Floats]:
    """The points below (above, if `upper`) which Beta(a, b) is with this chance, and the laws' standard deviations.

    >>> value, deviation = quantile([5.0], [6.0], 0.025)
    >>> value.round(4), deviation.round(4)
    (array([0.1871]), array([0.1437]))
    """
    from scipy.special import betainccinv, betaincinv, gammainccinv, gammaincinv, ndtri

    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    total = a + b
    mean = a / total
    deviation = np.sqrt(mean * (b / total) / (total + 1))
    small = np.minimum(a, b)
    normal, listed = small >= _NORMAL_FROM, total <= _SCIPY_UP_TO
    # Cornish and Fisher, with the skewness g and the excess e of the beta law.
    g = 2 * (b - a) / (total + 2) * np.sqrt((total + 1) / a / b)
    e = 6 * ((a - b) ** 2 * (total + 1) / (a * b) - (total + 2)) / (total + 2) / (total + 3)
    z = -ndtri(chance) if upper else ndtri(chance)
    w = z + (z**2 - 1) * g / 6 + (z**3 - 3 * z) * e / 24 - (2 * z**3 - 5 * z) * g**2 / 36
    found = mean + deviation * w
    if (plain := ~normal & listed).any():
        found = np.where(plain, (betainccinv if upper else betaincinv)(*_where(plain, a, b), chance), found)
    if (rare := ~normal & ~listed).any():
        m = np.where(rare, small, 1.0)
        left = a <= b
        count = np.where(left ^ upper, gammaincinv(m, chance), gammainccinv(m, chance))
        near = -np.expm1(-count / (total - (m + 1) / 2))
        found = np.where(rare, np.where(left, near, 1 - near), found)
    return np.asarray(found), np.asarray(deviation)


def tail(a: npt.ArrayLike, b: npt.ArrayLike, x: float) -> Floats:
    """P(Beta(a, b) <= x), which is P(Binomial(a + b - 1, x) >= a).

    >>> tail([5.0], [6.0], 0.1871).round(4)
    array([0.025])
    """
    from scipy.special import betainc, gammainc, gammaincc, ndtr

    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    total, y = a + b, 1.0 - x
    small = np.minimum(a, b)
    normal, listed = small >= _NORMAL_FROM, total <= _SCIPY_UP_TO
    distance = (b - 1 / 3) * x - (a - 1 / 3) * y
    bend = y * _peizer_pratt((a - 0.5) / ((total - 1) * x)) + x * _peizer_pratt((b - 0.5) / ((total - 1) * y))
    found = ndtr(distance * np.sqrt(bend / ((total - 5 / 6) * x * y)))
    if (plain := ~normal & listed).any():
        found = np.where(plain, betainc(*_where(plain, a, b), x), found)
    if (rare := ~normal & ~listed).any():
        m = np.where(rare, small, 1.0)
        size = total - (m + 1) / 2
        found = np.where(rare & (a <= b), gammainc(m, -size * np.log1p(-x)), found)
        found = np.where(rare & (a > b), gammaincc(m, -size * np.log(x)), found)
    return np.asarray(found)


def _where(mask: npt.NDArray[np.bool_], *values: Floats) -> list[Floats]:
    """The values where the mask is true, one elsewhere: entries that are not used must not raise warnings."""
    return [np.where(mask, value, 1.0) for value in values]


def _peizer_pratt(x: Floats) -> Floats:
    """2 (1 - x + x log x) / (1 - x)**2, which is 1 plus their g(x), by its series where that cancels."""
    h = x - 1
    near = np.abs(h) < 0.02
    away, close = np.where(near, 2.0, x), np.where(near, h, 0.0)
    series = np.zeros_like(close)
    for j in range(9, 0, -1):  # the sum of (-h)**j 2 / ((j + 1) (j + 2))
        series = -close * (2 / ((j + 1) * (j + 2)) + series)
    return np.where(near, 1 + series, 2 * (1 - away + away * np.log(away)) / (1 - away) ** 2)
