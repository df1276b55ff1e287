"""Closed-form risk of k-RAPPOR: of its empirical estimator for any population, in the worst case, as sample size.

Paper: section 4.2 and 4.3, in the paper's letters: k symbols, n people, e**(epsilon / 2) as written. A survey's
realised integers spend a little less than epsilon; `deniable.theory.l2_risk` and `l1_risk` use those.
"""

import math

import numpy as np
import numpy.typing as npt

from deniable.theory.arguments import count_of, distribution, privacy


def krappor_l2(p: npt.ArrayLike, epsilon: object, n: int) -> float:
    """Expected squared l2 loss of the empirical estimator under k-RAPPOR.

    Paper: `prop:rappor_perf`.
    Claim: (1 - sum p**2) / n + k e**(eps/2) / (n (e**(eps/2) - 1)**2), for every n.
    Proof: tests/statistical/test_theory.py::test_krappor_l2_is_the_simulated_risk

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
    >>> round(krappor_l2([0.1] * 10, math.log(3), 1000), 7)
    0.0332205
    """
    q = distribution(p)
    a, k = math.expm1(privacy(epsilon) / 2), len(q)
    return float((1 - q @ q + k * (a + 1) / a**2) / count_of("n", n, 1))


def krappor_l1(p: npt.ArrayLike, epsilon: object, n: int) -> float:
    """Expected l1 loss of the empirical estimator under k-RAPPOR, in the limit of large n.

    Paper: `prop:rappor_perf`.
    Claim: the ratio to the exact expectation tends to 1 as n grows.
    Proof: tests/unit/theory/test_risk.py::test_exact_l1_tends_to_the_formula

    Parameters
    ----------
    p, epsilon, n
        As for `krappor_l2`.

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
    >>> round(krappor_l1([0.1] * 10, math.log(3), 1000), 6)
    0.459879
    """
    q = distribution(p)
    a = math.expm1(privacy(epsilon) / 2)
    spread = 2 * (a * q + 1) * (a * (1 - q) + 1) / (math.pi * count_of("n", n, 1))
    return float(np.sqrt(spread).sum() / a)


def krappor_l2_worst(k: int, epsilon: object, n: int) -> float:
    """The largest expected squared l2 loss under k-RAPPOR: that of the uniform population.

    Paper: `eq:rappor_l2_performance`.
    Claim: no p has a larger `krappor_l2`.
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
    >>> round(krappor_l2_worst(10, math.log(3), 1000), 7)
    0.0332205
    """
    size = count_of("k", k, 2)
    return krappor_l2_inflation(size, epsilon) * (1 - 1 / size) / count_of("n", n, 1)


def krappor_l1_worst(k: int, epsilon: object, n: int) -> float:
    """The largest value of `krappor_l1`: that of the uniform population.

    Paper: `eq:rappor_l1_performance`, which holds for the large-n formula; at small n the exact loss can exceed both
    this value and the uniform population's (`docs/reference/paper.md`, erratum E11).
    Claim: no p has a larger `krappor_l1`.
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
    >>> round(krappor_l1_worst(10, math.log(3), 1000), 6)
    0.459879
    """
    size = count_of("k", k, 2)
    return math.sqrt(krappor_l1_inflation(size, epsilon) * 2 * (size - 1) / (math.pi * count_of("n", n, 1)))


def krappor_l2_inflation(k: int, epsilon: object) -> float:
    """How many times more people k-RAPPOR needs for the worst-case l2 loss of the non-private estimator.

    Paper: section 4.3, 1 + k**2 e**(eps/2) / ((k - 1) (e**(eps/2) - 1)**2).
    Claim: the same number as `krappor_l1_inflation`.
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
    >>> round(krappor_l2_inflation(16, math.log(16)), 6)
    8.585185
    """
    a, size = math.expm1(privacy(epsilon) / 2), count_of("k", k, 2)
    return 1 + size**2 * (a + 1) / ((size - 1) * a**2)


def krappor_l1_inflation(k: int, epsilon: object) -> float:
    """How many times more people k-RAPPOR needs for the worst-case l1 loss of the non-private estimator.

    Paper: section 4.3, (e**(eps/2) + k - 1) (e**(eps/2) (k - 1) + 1) / ((e**(eps/2) - 1)**2 (k - 1)).

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
    >>> round(krappor_l1_inflation(16, math.log(16)), 6)
    8.585185
    """
    a, size = math.expm1(privacy(epsilon) / 2), count_of("k", k, 2)
    return (a + size) * ((a + 1) * (size - 1) + 1) / (a**2 * (size - 1))
