"""Baselines without privacy: the risks of the empirical and the minimax estimator on the true answers.

Paper: section 4.3 and supplement, "Discrete Distribution Estimation". The estimators themselves are in
`deniable.decoders.nonprivate`.
"""

import math

import numpy as np
import numpy.typing as npt

from deniable.theory.arguments import count_of, distribution
from deniable.theory.deviation import mean_absolute_deviation


def ml_l2(p: npt.ArrayLike, n: int) -> float:
    """Expected squared l2 loss of the empirical (maximum likelihood) estimator: (1 - sum p**2) / n.

    Paper: supplement, the display before `eq:l2_empirical_risk`.
    Claim: exact for every n.
    Proof: tests/statistical/test_theory.py::test_empirical_estimator_has_the_nonprivate_risk

    Parameters
    ----------
    p : array_like
        The population: one probability a symbol, which add up to one.
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
    >>> ml_l2([0.5, 0.5], 100)
    0.005
    """
    q = distribution(p)
    return float((1 - q @ q) / count_of("n", n, 1))


def ml_l1(p: npt.ArrayLike, n: int, *, exact: bool = False) -> float:
    """Expected l1 loss of the empirical estimator: in the limit of large n, or exactly.

    Paper: supplement, the display before `eq:l1_empirical_risk`.
    Claim: the exact value is the expectation for every n, and its ratio to the formula tends to 1.
    Proof: tests/statistical/test_theory.py::test_empirical_estimator_has_the_nonprivate_risk

    Parameters
    ----------
    p : array_like
        The population: one probability a symbol, which add up to one.
    n : int
        People, one report from each; at least 1.
    exact : bool
        Whether to compute the expectation itself at this n, in place of its limit for large n.

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
    >>> ml_l1([0.5, 0.5], 2, exact=True), round(ml_l1([0.5, 0.5], 2), 6)
    (0.5, 0.56419)
    """
    q, people = distribution(p), count_of("n", n, 1)
    if exact:
        return float(mean_absolute_deviation(people, q).sum() / people)
    return float(np.sqrt(2 * q * (1 - q) / (math.pi * people)).sum())


def ml_l2_worst(k: int, n: int) -> float:
    """The largest value of `ml_l2`, that of the uniform population: (1 - 1/k) / n.

    Paper: `eq:l2_empirical_risk`.
    Claim: no p has a larger `ml_l2`.
    Proof: tests/unit/theory/test_formulas.py::test_no_population_is_worse_than_the_uniform_one

    Parameters
    ----------
    k : int
        Symbols, at least 2.
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
    >>> ml_l2_worst(2, 100)
    0.005
    """
    return (1 - 1 / count_of("k", k, 2)) / count_of("n", n, 1)


def ml_l1_worst(k: int, n: int) -> float:
    """The largest value of the large-n `ml_l1`, that of the uniform population: sqrt(2 (k - 1) / (pi n)).

    Paper: `eq:l1_empirical_risk`; at small n the exact loss can exceed it (`docs/reference/paper.md`, erratum E11).
    Claim: no p has a larger `ml_l1`.
    Proof: tests/unit/theory/test_formulas.py::test_no_population_is_worse_than_the_uniform_one

    Parameters
    ----------
    k : int
        Symbols, at least 2.
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
    >>> round(ml_l1_worst(2, 100), 6)
    0.079788
    """
    return math.sqrt(2 * (count_of("k", k, 2) - 1) / (math.pi * count_of("n", n, 1)))


def minimax_l2(k: int, n: int) -> float:
    """The smallest worst-case squared l2 loss of any estimator: (1 - 1/k) / (sqrt(n) + 1)**2.

    Paper: `eq:l2_minimax_risk`.
    Claim: the estimator (sqrt(n)/k + T) / (sqrt(n) + n) has this risk for every population.
    Proof: tests/unit/theory/test_formulas.py::test_minimax_estimator_has_the_same_risk_everywhere

    Parameters
    ----------
    k : int
        Symbols, at least 2.
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
    >>> minimax_l2(2, 100) == 0.5 / 121
    True
    """
    return (1 - 1 / count_of("k", k, 2)) / (math.sqrt(count_of("n", n, 1)) + 1) ** 2


def minimax_l1(k: int, n: int) -> float:
    """The smallest worst-case l1 loss of any estimator, leading term: sqrt(2 (k - 1) / (pi n)) + O(n**-0.75).

    Paper: `eq:l1_minimax_risk`, for fixed k and growing n; the estimator is not known.

    Parameters
    ----------
    k : int
        Symbols, at least 2.
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
    >>> minimax_l1(2, 100) == ml_l1_worst(2, 100)
    True
    """
    return ml_l1_worst(k, n)
