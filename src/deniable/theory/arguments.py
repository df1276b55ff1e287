"""Validation of the arguments of formulas: a population p, n people, an epsilon, an alphabet size."""

import numpy as np
import numpy.typing as npt

from deniable.errors import DeniableError
from deniable.mechanisms import parse_epsilon, whole_number

Floats = npt.NDArray[np.float64]

_MOST = 1 << 53  # people; above it a double no longer distinguishes n from n + 1


def count_of(name: str, value: object, low: int, high: int = _MOST) -> int:
    """A validated integer argument.

    Parameters
    ----------
    name : str
        Of the argument, for the message.
    value : object
        What was given.
    low, high : int
        The range, both ends included.

    Returns
    -------
    int
        The value.

    Raises
    ------
    DeniableError
        If it is not an integer in the range.

    Examples
    --------
    >>> count_of("n", 1000, 1)
    1000
    """
    number = whole_number(value)
    if number is None:
        raise DeniableError(f"{name} must be an integer, got {type(value).__name__}; write int({name})")
    if number < low:
        raise DeniableError(f"{name} must be at least {low}, got {number}")
    if number > high:
        raise DeniableError(f"{name} must be at most {high}, got {number}")
    return number


def privacy(epsilon: object) -> float:
    """Epsilon in nats, from anything that a survey accepts.

    >>> privacy("1/4")
    0.25
    """
    return float(parse_epsilon(epsilon))


def distribution(p: npt.ArrayLike, size: int | None = None) -> Floats:
    """A validated distribution.

    Parameters
    ----------
    p : array_like
        What was given.
    size : int, optional
        How many symbols there are; any number from 2 by default.

    Returns
    -------
    ndarray
        The distribution p.

    Raises
    ------
    DeniableError
        If p is not a list of that many finite, non-negative numbers that add up to one within 1e-9.

    Examples
    --------
    >>> distribution([0.25, 0.75])
    array([0.25, 0.75])
    """
    try:
        found = np.asarray(p, np.float64)
    except (TypeError, ValueError):
        raise DeniableError(
            f"p must be a list of numbers, got {type(p).__name__}; give one probability a symbol"
        ) from None
    if size is not None and found.shape != (size,):
        raise DeniableError(
            f"p must have one entry for each of {size} symbols, got shape {found.shape}; "
            "keep the order of the symbols and give 0 to those that do not occur"
        )
    if size is None and (found.ndim != 1 or len(found) < 2):
        raise DeniableError(f"p must have one entry for each of at least 2 symbols, got shape {found.shape}")
    bad = ~(np.isfinite(found) & (found >= 0))
    if bad.any():
        where = int(np.argmax(bad))
        raise DeniableError(f"p must be finite and non-negative, got {found[where]} at position {where}")
    if abs(found.sum() - 1) > 1e-9:
        raise DeniableError(f"p must sum to one within 1e-9, got {float(found.sum())!r}; divide it by its sum")
    return found
