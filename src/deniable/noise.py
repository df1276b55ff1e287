"""The only place that draws randomness for privacy.

A mechanism asks an `Entropy` for fresh words of `width` bits and for nothing else, so the same mechanism code runs on
the operating system's randomness, on the permanent words of a memoised answer, and, in `tests/exact`, on a double that
walks every branch. Nothing here is seeded, buffered or shared between calls: a forked process or a copied object
cannot replay a word. (Seeded simulation lives in `simulation` and cannot produce a report.)
"""

import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain
from operator import mod

__all__ = ["DerivedEntropy", "Entropy", "OsEntropy"]

# HMAC (RFC 2104): a key of as many bytes as SHA-256 takes at once, combined with one constant and with another.
_KEY = 64
_INNER, _OUTER = (bytes(byte ^ constant for byte in range(256)) for constant in (0x36, 0x5C))


class Entropy(ABC):
    """A source of independent, uniform words of `width` bits.

    Examples
    --------
    >>> source = DerivedEntropy(bytes(32), b"label")
    >>> source.word() < 2**64, len(source.words(3)), source.uniform_below(6) < 6
    (True, 3, True)
    """

    __slots__ = ()

    width: int = 64

    @abstractmethod
    def word(self) -> int:
        """One fresh word, uniform on [0, 2**width)."""

    def words(self, count: int) -> Sequence[int]:
        """`count` fresh words; exactly that many, each drawn for this call.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        Sequence of int
            Integers in [0, 2**width).
        """
        return [self.word() for _ in range(count)]

    def uniform_below(self, bound: int) -> int:
        """An integer uniform on [0, bound), without modulo bias.

        Words at or above the largest multiple of `bound` are drawn again, so every residue keeps the same number of
        words. The number of draws depends on the source alone, never on an answer: it is used for cohorts, which are
        drawn before any value is seen, and for the other cells of a set, whose bounds are the same for every answer.

        Claim: the result is exactly uniform.
        Proof: tests/exact/test_noise.py::test_uniform_below_is_uniform

        Parameters
        ----------
        bound : int
            At least 1, at most 2**width.

        Returns
        -------
        int
            A number in [0, bound).

        Raises
        ------
        ValueError
            If `bound` is outside its range.

        Examples
        --------
        >>> OsEntropy().uniform_below(1)
        0
        """
        span = 1 << self.width
        if not 1 <= bound <= span:
            raise ValueError(f"bound must be between 1 and 2**{self.width}, got {bound}")
        limit = span - span % bound
        while True:
            word = self.word()
            if word < limit:
                return word % bound

    def falling_below(self, bound: int, count: int) -> list[int]:
        """What `uniform_below` gives for `bound`, then for `bound` - 1, and so on, from the same words.

        The words are drawn together. Every bound takes one at least, so `count` are drawn at first, and further ones
        where some are refused. Which are refused depends on them and on the bounds, which must not depend on an answer.

        Claim: the same numbers from the same words as `uniform_below` for one bound after the other, and no word more.
        Proof: tests/exact/test_noise.py::test_falling_bounds_use_the_words_of_one_after_the_other

        Parameters
        ----------
        bound : int
            The first bound, at most 2**width.
        count : int
            How many numbers, at most `bound`.

        Returns
        -------
        list of int
            Numbers in [0, bound), [0, bound - 1), ...

        Raises
        ------
        ValueError
            If a bound is outside its range.

        Examples
        --------
        >>> first, second = OsEntropy().falling_below(2, 2)
        >>> first in (0, 1), second
        (True, 0)
        """
        span = 1 << self.width
        if not 0 <= count <= bound <= span:
            raise ValueError(f"bound must be between {count}, the numbers to draw, and 2**{self.width}, got {bound}")
        bounds, words = range(bound, bound - count, -1), self.words(count)
        if max(words, default=0) < span - bound:  # below the limit of every bound
            return list(map(mod, words, bounds))
        drawn = chain(words, iter(self.word, None))  # without an end
        return [next(word for word in drawn if word < span - span % below) % below for below in bounds]


class OsEntropy(Entropy):
    """Words from the operating system (`os.urandom`): no state in this process, safe across fork.

    >>> 0 <= OsEntropy().word() < 2**64
    True
    """

    __slots__ = ()

    def word(self) -> int:
        return int.from_bytes(os.urandom(8), "little")

    def words(self, count: int) -> Sequence[int]:
        return struct.unpack(f"<{count}Q", os.urandom(8 * count))


class DerivedEntropy(Entropy):
    """Permanent words: HMAC-SHA-256(secret, label + block number), four words a block.

    The same secret and label give the same words for ever, so the same answer to the same survey gives the same
    response and repeating a question teaches the collector nothing new. Privacy then rests on HMAC-SHA-256 being a
    pseudorandom function under a secret that never leaves the device; `tests/exact` replaces these words.

    Parameters
    ----------
    secret : bytes
        At least 32 bytes, known to this device alone.
    label : bytes
        What the words are for: the survey and the answer's cells.

    Examples
    --------
    >>> a = DerivedEntropy(bytes(32), b"label").words(5)
    >>> a == DerivedEntropy(bytes(32), b"label").words(5) != DerivedEntropy(bytes(32), b"other").words(5)
    True
    """

    __slots__ = ("_block", "_inner", "_outer", "_pending")

    def __init__(self, secret: bytes, label: bytes) -> None:
        if len(secret) < 32:
            raise ValueError(f"secret must be at least 32 bytes, got {len(secret)}")
        # What all blocks have in common is hashed once: a form of many bits needs hundreds of blocks, and each takes a
        # third of the time of a call of `hmac.digest`.
        key = (secret if len(secret) <= _KEY else sha256(secret).digest()).ljust(_KEY, b"\0")
        self._inner, self._outer = sha256(key.translate(_INNER)), sha256(key.translate(_OUTER))
        self._inner.update(len(label).to_bytes(8, "little") + label)
        self._block = 0
        self._pending: list[int] = []

    def word(self) -> int:
        if not self._pending:
            self._pending = [*reversed(self._next(1))]
        return self._pending.pop()

    def words(self, count: int) -> Sequence[int]:
        if count <= len(self._pending):
            return [self._pending.pop() for _ in range(count)]
        found = [*reversed(self._pending), *self._next(-(-(count - len(self._pending)) // 4))]
        self._pending = found[: count - 1 : -1]
        return found[:count]

    def _next(self, blocks: int) -> Sequence[int]:
        """The words of the next blocks."""
        digests = []
        for number in range(self._block, self._block + blocks):
            inner, outer = self._inner.copy(), self._outer.copy()
            inner.update(number.to_bytes(8, "little"))
            outer.update(inner.digest())
            digests.append(outer.digest())
        self._block += blocks
        return struct.unpack(f"<{4 * blocks}Q", b"".join(digests))
