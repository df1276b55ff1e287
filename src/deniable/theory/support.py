"""One formula for every mechanism whose reports support symbols: block designs, unary encodings, local hashing.

A report supports a symbol x if it lies in the set S_x that the mechanism prefers under x. A report of x itself does so
with probability `hit`, a report of any other symbol with probability `miss`, so the number C_x of reports that support
x is binomial, and (C_x / n - miss) / (hit - miss) is an unbiased estimate of p_x.
"""

import numpy.typing as npt

from deniable.errors import DeniableError
from deniable.theory.arguments import Floats, count_of, distribution
from deniable.theory.error_model import support_model


def support_variances(p: npt.ArrayLike, n: int, *, hit: float, miss: float) -> Floats:
    """The variance of each symbol's estimate: m (1 - m) / (n r**2) with r = hit - miss and m = miss + r p.

    Measured against the drawn sample instead of p, the variance is (miss (1 - miss) / r**2 + p (1 - hit - miss) / r) /
    n. That is less by p (1 - p) / n, the variance of sampling n people without any noise.

    Claim: exact at every n.
    Proof: tests/unit/theory/test_support.py::test_variance_is_the_binomials

    Parameters
    ----------
    p : array_like
        The population: one probability a symbol, which add up to one.
    n : int
        People, one report from each; at least 1.
    hit, miss : float
        The probability that a report supports its own symbol, and that it supports any other one.

    Returns
    -------
    ndarray
        One variance a symbol.

    Raises
    ------
    DeniableError
        If p is not a distribution, or not 0 <= miss < hit <= 1.

    Examples
    --------
    >>> support_variances([0.25, 0.75], 100, hit=0.75, miss=0.25).round(5)
    array([0.00938, 0.00938])
    """
    q, people = distribution(p), count_of("n", n, 1)
    if not 0 <= miss < hit <= 1:
        raise DeniableError(f"hit must be above miss, both probabilities, got {hit} and {miss}")
    return support_model(hit, miss).at(q) / people


def support_l2(p: npt.ArrayLike, n: int, *, hit: float, miss: float) -> float:
    """The expected squared l2 loss of the support estimator: the sum of `support_variances`.

    Parameters
    ----------
    p, n, hit, miss
        As for `support_variances`.

    Returns
    -------
    float
        The expected squared Euclidean distance to p.

    Raises
    ------
    DeniableError
        If p is not a distribution, or not 0 <= miss < hit <= 1.

    Examples
    --------
    >>> import math
    >>> e, g = math.exp(1), 4                                               # optimised local hashing at epsilon 1
    >>> round(support_l2([0.01] * 100, 1, hit=e / (e + g - 1), miss=1 / g), 1)
    371.4
    """
    return float(support_variances(p, n, hit=hit, miss=miss).sum())
