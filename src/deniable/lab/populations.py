"""Populations of the paper's experiments, over the symbols 0 .. S-1.

Paper: section 4.4, "The distributions we considered", and `fig:geometric_ground_truth`.
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from deniable.errors import DecodeError
from deniable.mechanisms import whole_number
from deniable.survey import Symbol, canonical_symbol

Floats = npt.NDArray[np.float64]


def _size(symbols: int) -> int:
    number = whole_number(symbols)
    if number is None or number < 1:
        raise DecodeError(f"symbols must be at least 1, got {symbols}; it is a number of symbols")
    return number


def _from_logs(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def generator(seed: int) -> np.random.Generator:
    """A seeded generator for experiments, here and in `simulate`. It is not for privacy.

    Parameters
    ----------
    seed : int
        Any non-negative integer.

    Returns
    -------
    numpy.random.Generator
        The same stream for the same seed.

    Examples
    --------
    >>> int(generator(7).integers(10)) == int(generator(7).integers(10))
    True
    """
    return np.random.default_rng(seed)


def geometric(symbols: int, mean: float) -> Floats:
    """p_i proportional to (m / (1 + m))**i for i = 0 .. S-1, truncated; m is the mean before truncation.

    Paper: `fig:geometric_ground_truth`, with m = S / 5.

    Parameters
    ----------
    symbols : int
        S: symbols, at least 1.
    mean : float
        m, above 0.

    Returns
    -------
    ndarray
        S probabilities, which add up to one.

    Raises
    ------
    DecodeError
        If `symbols` or `mean` is not positive.

    Examples
    --------
    >>> p = geometric(256, mean=256 / 5)
    >>> round(float(p[1] / p[0]), 6), round(float(p.sum()), 12)
    (0.980843, 1.0)
    """
    if not mean > 0:
        raise DecodeError(f"mean must be positive, got {mean}")
    return _from_logs(-np.arange(_size(symbols)) * np.log1p(1 / mean))


def binomial(symbols: int, q: float) -> Floats:
    """Binomial(S - 1, q) over 0 .. S-1.

    Parameters
    ----------
    symbols : int
        S: symbols, at least 1.
    q : float
        The probability of success, from 0 to 1.

    Returns
    -------
    ndarray
        S probabilities, which add up to one.

    Raises
    ------
    DecodeError
        If `symbols` is not positive or q is no probability.

    Examples
    --------
    >>> binomial(3, 0.5)
    array([0.25, 0.5 , 0.25])
    """
    from scipy.special import gammaln, xlog1py, xlogy

    if not 0 <= q <= 1:
        raise DecodeError(f"q must be from 0 to 1, got {q}")
    i, n = np.arange(_size(symbols), dtype=np.float64), symbols - 1
    return _from_logs(gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1) + xlogy(i, q) + xlog1py(n - i, -q))


def zipf(symbols: int, a: float) -> Floats:
    """p_i proportional to i**-a for i = 1 .. S.

    Parameters
    ----------
    symbols : int
        S: symbols, at least 1.
    a : float
        The exponent; 0 is the uniform population.

    Returns
    -------
    ndarray
        S probabilities, which add up to one.

    Raises
    ------
    DecodeError
        If `symbols` is not positive or a is not finite.

    Examples
    --------
    >>> zipf(2, 1)
    array([0.66666667, 0.33333333])
    """
    if not np.isfinite(a):
        raise DecodeError(f"a must be finite, got {a}")
    return _from_logs(-a * np.log(np.arange(1, _size(symbols) + 1)))


def dirichlet(symbols: int, rng: np.random.Generator, *, concentration: float = 1.0) -> Floats:
    """One draw from the symmetric Dirichlet distribution; concentration 1 is uniform over the simplex.

    Parameters
    ----------
    symbols : int
        S: symbols, at least 1.
    rng : numpy.random.Generator
        Source of the draw.
    concentration : float
        The parameter of every symbol, above 0; small values give skewed populations.

    Returns
    -------
    ndarray
        S probabilities, which add up to one.

    Raises
    ------
    DecodeError
        If `symbols` or `concentration` is not positive and finite.

    Examples
    --------
    >>> dirichlet(4, np.random.default_rng(0)).shape
    (4,)
    """
    if not 0 < concentration < np.inf:
        raise DecodeError(f"concentration must be positive and finite, got {concentration}")
    return np.asarray(rng.dirichlet(np.full(_size(symbols), concentration)))


def uniform(symbols: int) -> Floats:
    """Every symbol equally likely: the population with the largest risk of the empirical estimators.

    Parameters
    ----------
    symbols : int
        S: symbols, at least 1.

    Returns
    -------
    ndarray
        S probabilities, which add up to one.

    Raises
    ------
    DecodeError
        If `symbols` is not positive.

    Examples
    --------
    >>> uniform(4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    return np.full(_size(symbols), 1.0 / symbols)


def from_data(values: Iterable[object]) -> tuple[tuple[Symbol, ...], Floats]:
    """The distinct symbols of some data, most frequent first, and their shares.

    Parameters
    ----------
    values : iterable
        Answers, one a person: integers, texts or bytes.

    Returns
    -------
    tuple of symbols, ndarray
        The distinct symbols, and the share of each.

    Raises
    ------
    DecodeError
        If there are no values.

    Examples
    --------
    >>> from_data(["b", "a", "b", "b"])
    (('b', 'a'), array([0.75, 0.25]))
    """
    counts = Counter(canonical_symbol(value) for value in values).most_common()
    if not counts:
        raise DecodeError("values must hold at least one symbol, got none")
    return tuple(symbol for symbol, _ in counts), np.array([c for _, c in counts]) / sum(c for _, c in counts)
