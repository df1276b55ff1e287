"""The mean absolute deviation of a count: exact for a binomial, and its normal limit.

Paper: the l1 halves of `prop:rr_perf` and `prop:rappor_perf` replace E|m_hat - m| by the mean of a folded normal,
sqrt(2 m (1 - m) / (pi n)). The exact value has been known since De Moivre (1730) and is no harder to compute.
"""

import math

import numpy as np
import numpy.typing as npt

from deniable.theory.arguments import Floats, count_of

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
# ln(x!) - ln(sqrt(2 pi x) (x / e)**x), the error of Stirling's formula, where its series is not yet good.
_STIRLING = np.array(
    [0.0] + [math.lgamma(x + 1) - (x + 0.5) * math.log(x) + x - _HALF_LOG_TAU for x in range(1, 16)], np.float64
)


def mean_absolute_deviation(n: int, q: npt.ArrayLike) -> Floats:
    """E|T - n q| for T ~ Binomial(n, q), exactly (to about 1e-13, relative) for every n up to 2**53.

    De Moivre: 2 v C(n, v) q**v (1 - q)**(n - v + 1) with v = floor(n q) + 1, which is 2 n q (1 - q) times the
    probability that n - 1 trials give floor(n q) successes.

    Claim: equals the sum over all outcomes.
    Proof: tests/unit/theory/test_deviation.py::test_equals_the_sum_over_all_outcomes

    Parameters
    ----------
    n : int
        Trials, from 1 to 2**53.
    q : array_like
        The probability of success, or an array of them.

    Returns
    -------
    ndarray
        E|T - n q|, in the shape of q.

    Raises
    ------
    DeniableError
        If n is not an integer from 1 to 2**53.

    Examples
    --------
    >>> mean_absolute_deviation(2, [0.5, 1 / 3])
    array([0.5       , 0.59259259])
    """
    trials = count_of("n", n, 1) - 1
    chance = np.asarray(q, np.float64)
    x = np.minimum(np.floor(n * chance), trials)
    return np.asarray(2.0 * n * chance * (1 - chance) * _probability_near_mean(trials, x, chance))


def folded_normal_mean(bias: npt.ArrayLike, variance: npt.ArrayLike) -> Floats:
    """E|Z| for Z normal with mean `bias` and this variance; with no bias, sqrt(2 variance / pi).

    Parameters
    ----------
    bias : array_like
        The mean of Z.
    variance : array_like
        The variance of Z; values below 0 count as 0.

    Returns
    -------
    ndarray
        E|Z|, in the common shape of both.

    Examples
    --------
    >>> folded_normal_mean([0.0, 3.0, -3.0], [1.0, 0.0, 0.01]).round(6)
    array([0.797885, 3.      , 3.      ])
    """
    from scipy.special import erf

    b, v = np.broadcast_arrays(np.asarray(bias, np.float64), np.asarray(variance, np.float64))
    sd = np.sqrt(np.maximum(v, 0.0))
    # Where the variance is 0 the ratio is +-inf (or 0 when the bias is 0 too), and what remains is |bias|.
    ratio = np.divide(b, sd, out=np.array(np.copysign(np.where(b == 0, 0.0, np.inf), b)), where=sd > 0)
    folded = sd * math.sqrt(2 / math.pi) * np.exp(-0.5 * ratio**2) + b * erf(ratio / math.sqrt(2))
    return np.asarray(folded)


def _probability_near_mean(trials: int, x: Floats, q: Floats) -> Floats:
    """P(Binomial(trials, q) = x) for x within 1 of the mean, without the cancellation of log-factorials.

    Loader's form: Stirling's formula with its error terms, times exp of minus two deviances. x ln(x / m) + m - x loses
    about |x - m| units in the last place when written with log1p, which is at most one here.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = trials - x
        deviance = _deviance(x, trials * q) + _deviance(rest, trials * (1 - q))
        correction = _stirling_error(np.asarray(trials, np.float64)) - _stirling_error(x) - _stirling_error(rest)
        inside = np.sqrt(trials / (2 * math.pi * x * rest)) * np.exp(correction - deviance)
        none = np.exp(trials * np.log1p(-q)) if trials else np.ones_like(q)
        every = np.exp(trials * np.log(q)) if trials else np.ones_like(q)
    return np.asarray(np.where(x == 0, none, np.where(x == trials, every, inside)))


def _deviance(x: Floats, mean: Floats) -> Floats:
    return np.asarray(x * np.log1p((x - mean) / mean) + (mean - x))


def _stirling_error(x: Floats) -> Floats:
    y = 1.0 / np.maximum(x, 16.0) ** 2
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - y / 1188) * y) * y) * y) / np.maximum(x, 16.0)
    return np.asarray(np.where(x < 16, _STIRLING[np.minimum(x, 15).astype(np.intp)], series))
