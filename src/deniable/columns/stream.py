"""Random words for whole columns: AES-256 in counter mode, with a key from the operating system for each column.

The kernel's own generator works in the same way, a stream cipher with a random key, but takes 20 ns for eight bytes;
this takes 1 ns. The key is drawn from `os.urandom` for one call, or one thread of it. It is never reused, stored or
derived, so two calls, processes or forks cannot share words. Words are compared with the same integer thresholds as a
client's.
"""

import os
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

_CHUNK = 1 << 16  # bytes that the cipher makes at once, so that they and its input stay in a cache


class WordStream:
    """Fresh uniform words, block after block, for one column, or one column after the other.

    >>> words = WordStream().words(3)
    >>> words.dtype, len(words)
    (dtype('uint64'), 3)
    """

    __slots__ = ("_cipher", "_passing", "is_narrow")

    _ZEROS = bytes(_CHUNK)

    def __init__(self, *, narrow: bool = False) -> None:
        self.is_narrow = narrow  # whether draws may look at some bits of a word before they draw the others
        self._cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
        self._passing: npt.NDArray[np.uint64] = np.empty(0, np.uint64)

    def _fill(self, array: npt.NDArray[Any]) -> None:
        view = array.data.cast("B")
        for start in range(0, len(view), _CHUNK):
            part = view[start : start + _CHUNK]
            zeros = self._ZEROS if len(part) == _CHUNK else bytes(len(part))
            if self._cipher.update_into(zeros, part) != len(part):
                raise RuntimeError("the cipher must fill the whole block")

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """`count` uniform 64-bit words, each used once."""
        found = np.empty(count, np.uint64)
        self._fill(found)
        return found

    def passing(self, count: int) -> npt.NDArray[np.uint64]:
        """`words`, in memory that the next call uses again: new pages from the operating system cost more than words.

        Whoever calls it may write over them.
        """
        if len(self._passing) < count:
            self._passing = np.empty(count, np.uint64)
        found = self._passing[:count]
        self._fill(found)
        return found

    def first_bits(self, count: int) -> npt.NDArray[np.uint16]:
        """`count` uniform numbers of 16 bits, in the memory of `passing`."""
        return self.passing(-(-count // 4)).view(np.uint16)[:count]

    def uniform_below(self, bound: int, count: int) -> npt.NDArray[np.uint32]:
        """`count` integers uniform on [0, bound), bound <= 2**32, without modulo bias.

        Words at or above the largest multiple of `bound` are drawn again, as in `noise.Entropy.uniform_below`.
        """
        found = np.empty(count, np.uint32)
        self._fill(found)
        if bound & (bound - 1) == 0:  # every residue of a power of two has the same number of words
            return found & np.uint32(bound - 1)
        limit = (1 << 32) - (1 << 32) % bound
        while (over := np.nonzero(found >= limit)[0]).size:
            again = np.empty(over.size, np.uint32)
            self._fill(again)
            found[over] = again
        return found % np.uint32(bound)
