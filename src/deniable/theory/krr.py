"""Closed-form risk of k-RR: of its empirical estimator for any population, in the worst case, and as sample size.

Paper: section 4.1 and 4.3, in the paper's letters: k symbols, n people, e**epsilon as written. A survey's realised
integers spend a little less than epsilon; `deniable.theory.l2_risk` and `l1_risk` use those.
"""

import math

import numpy as np
import numpy.typing as npt

from deniable.theory.arguments import count_of, distribution, privacy


def krr_l2(p: npt.ArrayLike, epsilon: object, n: int) -> float:
    """Expected squared l2 loss of the empirical estimator under k-RR.

    Paper: `prop:rr_perf`.
    Claim: (1 - sum p**2) / n + (k - 1) / n * (k + 2 (e**eps - 1)) / (e**eps - 1)**2, for every n.
    Proof: tests/statistical/test_theory.py::test_krr_l2_is_the_simulated_risk

    Parameters
    ----------
    p : array_like
        The population: one probability a symbol, which add up to one.
    epsilon : float, str or Fraction
        The privacy budget, in nats.
    n : int
        People, one report from each; at least 1.

    Returns
    -------
    float
        The expected squared Euclidean distance to p.

    Raises
    ------
    DeniableError
        If p is not a distribution, n is not a positive integer or epsilon cannot be parsed.

    Examples
    --------
    >>> import math
    >>> round(krr_l2([0.1] * 10, math.log(3), 1000), 12)
    0.0324
    """
    q = distribution(p)
    a, k = math.expm1(privacy(epsilon)), len(q)
    return float((1 - q @ q + (k - 1) * (k + 2 * a) / a**2) / count_of("n", n, 1))


def krr_l1(p: npt.ArrayLike, epsilon: object, n: int) -> float:
    """Expected l1 loss of the empirical estimator under k-RR, in the limit of large n.

    Paper: `prop:rr_perf`.
    Claim: the ratio to the exact expectation tends to 1 as n grows.
    Proof: tests/unit/theory/test_risk.py::test_exact_l1_tends_to_the_formula

    Parameters
    ----------
    p, epsilon, n
        As for `krr_l2`.

    Returns
    -------
    float
        The expected sum of absolute errors.

    Raises
    ------
    DeniableError
        If p is not a distribution, n is not a positive integer or epsilon cannot be parsed.

    Examples
    --------
    >>> round(krr_l1([0.1] * 10, math.log(3), 1000), 6)
    0.454164
    """
    q = distribution(p)
    a, k = math.expm1(privacy(epsilon)), len(q)
    spread = 2 * (a * q + 1) * (a * (1 - q) + k - 1) / (math.pi * count_of("n", n, 1))
    return float(np.sqrt(spread).sum() / a)


def krr_l2_worst(k: int, epsilon: object, n: int) -> float:
    """The largest expected squared l2 loss under k-RR: that of the uniform population.

    Paper: `eq:rr_l2_performance`.
    Claim: no p has a larger `krr_l2`.
    Proof: tests/unit/theory/test_formulas.py::test_no_population_is_worse_than_the_uniform_one

    Parameters
    ----------
    k : int
        Symbols, at least 2.
    epsilon : float, str or Fraction
        The privacy budget, in nats.
    n : int
        People, one report from each; at least 1.

    Returns
    -------
    float
        The worst-case loss.

    Raises
    ------
    DeniableError
        If k or n is not an integer in its range or epsilon cannot be parsed.

    Examples
    --------
    >>> round(krr_l2_worst(10, math.log(3), 1000), 12)
    0.0324
    """
    size = count_of("k", k, 2)
    return krr_l2_inflation(size, epsilon) * (1 - 1 / size) / count_of("n", n, 1)


def krr_l1_worst(k: int, epsilon: object, n: int) -> float:
    """The largest value of `krr_l1`: that of the uniform population.

    Paper: `eq:rr_l1_performance`, which holds for the large-n formula; at small n the exact loss can exceed both this
    value and the uniform population's (`docs/reference/paper.md`, erratum E11).
    Claim: no p has a larger `krr_l1`.
    Proof: tests/unit/theory/test_formulas.py::test_no_population_is_worse_than_the_uniform_one

    Parameters
    ----------
    k : int
        Symbols, at least 2.
    epsilon : float, str or Fraction
        The privacy budget, in nats.
    n : int
        People, one report from each; at least 1.

    Returns
    -------
    float
        The worst-case loss.

    Raises
    ------
    DeniableError
        If k or n is not an integer in its range or epsilon cannot be parsed.

    Examples
    --------
    >>> round(krr_l1_worst(10, math.log(3), 1000), 6)
    0.454164
    """
    size = count_of("k", k, 2)
    return math.sqrt(krr_l1_inflation(size, epsilon) * 2 * (size - 1) / (math.pi * count_of("n", n, 1)))


def krr_l2_inflation(k: int, epsilon: object) -> float:
    """How many times more people k-RR needs for the worst-case l2 loss of the non-private estimator.

    Paper: section 4.3, 1 + k (k + 2 (e**eps - 1)) / (e**eps - 1)**2.
    Claim: the same number as `krr_l1_inflation`.
    Proof: tests/unit/theory/test_formulas.py::test_both_losses_inflate_alike

    Parameters
    ----------
    k : int
        Symbols, at least 2.
    epsilon : float, str or Fraction
        The privacy budget, in nats.

    Returns
    -------
    float
        A factor above 1: private people for each person of a survey without noise.

    Raises
    ------
    DeniableError
        If k or n is not an integer in its range or epsilon cannot be parsed.

    Examples
    --------
    >>> round(krr_l2_inflation(2, math.log(3)), 12)
    4.0
    """
    a, size = math.expm1(privacy(epsilon)), count_of("k", k, 2)
    return 1 + (size + 2 * a) / a**2 * size


def krr_l1_inflation(k: int, epsilon: object) -> float:
    """How many times more people k-RR needs for the worst-case l1 loss of the non-private estimator.

    Paper: section 4.3, ((e**eps + k - 1) / (e**eps - 1))**2.

    Parameters
    ----------
    k : int
        Symbols, at least 2.
    epsilon : float, str or Fraction
        The privacy budget, in nats.

    Returns
    -------
    float
        A factor above 1: private people for each person of a survey without noise.

    Raises
    ------
    DeniableError
        If k or n is not an integer in its range or epsilon cannot be parsed.

    Examples
    --------
    >>> round(krr_l1_inflation(2, math.log(3)), 12)
    4.0
    """
    a, size = math.expm1(privacy(epsilon)), count_of("k", k, 2)
    return ((a + size) / a) ** 2
