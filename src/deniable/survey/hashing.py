"""Hash functions from symbols to cells. They are part of the protocol: every platform must compute the same.

One SHA-256 per symbol gives a 64-bit fingerprint; a few multiplications then give its cell in any cohort. Closed
alphabets use a keyed permutation that a client evaluates at one point without building it. None of this gives
privacy (the seed is public); it only distributes symbols over cells. Golden values: `tests/vectors`.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from math import isqrt

__all__ = ["FEISTEL_ROUNDS", "GAMMA", "feistel_sides", "fingerprint", "fingerprints", "mix64", "permute", "stream"]

GAMMA = 0x9E3779B97F4A7C15  # the increment of SplitMix64 (Steele, Lea and Flood 2014)
FEISTEL_ROUNDS = 10  # rounds of a permutation (decision 0003)
_MASK = (1 << 64) - 1  # keeps the low 64 bits: the size of a word


def mix64(z: int) -> int:
    """The finaliser of SplitMix64: a bijection on 64-bit words in which every output bit depends on every input bit.

    >>> hex(mix64(1)), mix64(0)
    ('0x5692161d100b05e5', 0)
    """
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


def stream(key: int, index: int) -> int:
    """Word `index` of the SplitMix64 stream that starts at `key`."""
    z = key + (index + 1) * GAMMA & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


@lru_cache(maxsize=64)
def _keyed(seed: bytes) -> tuple["hashlib._Hash", "hashlib._Hash"]:
    """The two SHA-256 states that HMAC under this (public) seed starts from."""
    key = hashlib.sha256(seed).digest() if len(seed) > 64 else seed
    padded = key.ljust(64, b"\0")
    return hashlib.sha256(bytes(b ^ 0x36 for b in padded)), hashlib.sha256(bytes(b ^ 0x5C for b in padded))


def fingerprint(seed: bytes, message: bytes) -> int:
    """The first 8 bytes of HMAC-SHA-256(seed, message), as a little-endian integer.

    >>> import hmac
    >>> fingerprint(b"seed", b"sfirefox") == int.from_bytes(hmac.digest(b"seed", b"sfirefox", "sha256")[:8], "little")
    True
    """
    inner, outer = (state.copy() for state in _keyed(seed))
    inner.update(message)
    outer.update(inner.digest())
    return int.from_bytes(outer.digest()[:8], "little")


def fingerprints(seed: bytes, messages: Iterable[bytes]) -> bytes:
    """`fingerprint` of many messages, 8 bytes each, one after the other: who searches hashes millions.

    >>> fingerprints(b"seed", [b"a", b"b"])[8:] == fingerprint(b"seed", b"b").to_bytes(8, "little")
    True
    """
    first, second = (state.copy for state in _keyed(seed))
    found = bytearray()  # a million objects of 8 bytes each would take 50 MiB
    for message in messages:
        inner, outer = first(), second()
        inner.update(message)
        outer.update(inner.digest())
        found += outer.digest()[:8]
    return bytes(found)


def feistel_sides(size: int) -> tuple[int, int]:
    """Sides a >= b with a * b >= size and a * b - size < a, so that a walk rarely needs a second step.

    >>> feistel_sides(256), feistel_sides(300), feistel_sides(2)
    ((16, 16), (18, 17), (2, 1))
    """
    a = isqrt(size - 1) + 1
    return a, -(-size // a)


def permute(key: int, size: int, x: int) -> int:
    """Where the permutation of [0, size) under `key` sends x: a Feistel network on Z_a x Z_b with cycle walking.

    Each round adds a function of one half to the other, which is a bijection of Z_a x Z_b; walking until the value is
    below `size` restricts it to [0, size) and keeps it a bijection (the cycle through x starts below `size`, so it
    comes back there).

    >>> sorted(permute(7, 10, x) for x in range(10)) == list(range(10))
    True
    """
    a, b = feistel_sides(size)
    left, right = divmod(x, b)
    while True:
        for turn in range(0, FEISTEL_ROUNDS, 2):
            left = (left + (stream(key, (turn << 32) + right) * a >> 64)) % a
            right = (right + (stream(key, (turn + 1 << 32) + left) * b >> 64)) % b
        value = left * b + right
        if value < size:
            return value
