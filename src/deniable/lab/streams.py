"""One seed for a whole evaluation, and an independent stream for each named part of it.

A part's stream depends on the seed and on the part's name, never on what ran before it or beside it: the numbers are
the same on any number of processes, in any order, and after any interruption.
"""

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt


def stream_of(seed: int, *name: object) -> np.random.Generator:
    """The random generator of one named part.

    Parameters
    ----------
    seed : int
        Of the whole evaluation.
    *name : object
        The name of the part; any values with a stable `repr`.

    Returns
    -------
    numpy.random.Generator
        Independent of that of any other name.

    Examples
    --------
    >>> a, b = stream_of(0, "noise", 2), stream_of(0, "noise", 2)
    >>> int(a.integers(1 << 60)) == int(b.integers(1 << 60)) != int(stream_of(0, "noise", 3).integers(1 << 60))
    True
    """
    digest = hashlib.sha256(repr((seed, *name)).encode()).digest()
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(int.from_bytes(digest, "little"))))


@lru_cache(maxsize=8)
def normal_draws(size: int, rows: int, seed: int = 0) -> npt.NDArray[np.float64]:
    """Standard normal draws for `theory.expected_loss` over `size` symbols: the first rows are those of fewer.

    >>> bool((normal_draws(4, 2) == normal_draws(4, 3)[:2]).all()), normal_draws(4, 2).shape
    (True, (2, 5))
    """
    return stream_of(seed, "planner", size).standard_normal((rows, size + 1))
