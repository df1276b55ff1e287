"""One seed for a whole evaluation, and an independent stream for each named part of it.

A part's stream depends on the seed and on the part's name, never on what ran before it or beside it: the numbers are
the same on any number of processes, in any order, and after any interruption.
"""

import hashlib

import numpy as np

__all__ = ["stream_of"]


def stream_of(seed: int, *name: object) -> np.random.Generator:
    """The generator of one named part.

    >>> a, b = stream_of(0, "noise", 2), stream_of(0, "noise", 2)
    >>> int(a.integers(1 << 60)) == int(b.integers(1 << 60)) != int(stream_of(0, "noise", 3).integers(1 << 60))
    True
    """
    digest = hashlib.sha256(repr((seed, *name)).encode()).digest()
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(int.from_bytes(digest, "little"))))
