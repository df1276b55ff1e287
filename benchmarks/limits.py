"""What plain NumPy needs for the same work: vector code without checks, exactness or private randomness.

A limit, not a client: NumPy's generators are fast and predictable, and its floats are not the survey's integers.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ENCODE", "ESTIMATE", "count_bits", "grr", "hadamard", "hashed", "hashed_cells", "mixture", "sets", "unary"]

Ints = npt.NDArray[np.int64]
HASHES = 1024


def grr(codes: Ints, k: int, epsilon: float, rng: np.random.Generator) -> Ints:
    lies = rng.integers(0, k - 1, len(codes))
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    return np.where(rng.random(len(codes)) < keep, codes, lies + (lies >= codes))


def unary(codes: Ints, k: int, rise: float, stay: float, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    bits = rng.random((len(codes), k), np.float32) < rise
    bits[np.arange(len(codes)), codes] = rng.random(len(codes)) < stay
    return np.packbits(bits, axis=1, bitorder="little")


def hashed(codes: Ints, g: int, epsilon: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    seeds = rng.integers(0, HASHES, len(codes))
    return seeds, grr(hashed_cells(codes, seeds, g), g, epsilon, rng)


def hashed_cells(codes: Ints, seeds: Ints | int, g: int) -> Ints:
    mixed = (codes * 1024 + seeds).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(((mixed >> np.uint64(32)) * np.uint64(g) >> np.uint64(32)).astype(np.int64))


def sets(codes: Ints, k: int, epsilon: float, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """The w smallest of k random keys; the true one's is put first or last by a coin."""
    w, inside = _set_size(k, epsilon), _in_set(k, epsilon)
    keys = rng.random((len(codes), k), np.float32)
    keys[np.arange(len(codes)), codes] = np.where(rng.random(len(codes)) < inside, -1, 2)
    bits = np.zeros((len(codes), k), bool)
    np.put_along_axis(bits, np.argpartition(keys, w - 1, axis=1)[:, :w], True, axis=1)
    return np.packbits(bits, axis=1, bitorder="little")


def hadamard(codes: Ints, k: int, epsilon: float, rng: np.random.Generator) -> Ints:
    """Any cell; where its parity is not the one that the coin asks for, the row's lowest bit is turned."""
    rows = codes + 1
    cells = rng.integers(0, 1 << k.bit_length(), len(codes))
    odd = rng.random(len(codes)) >= math.exp(epsilon) / (math.exp(epsilon) + 1)
    wrong = (np.bitwise_count(rows & cells) & 1).astype(bool) != odd
    return np.where(wrong, cells ^ (rows & -rows), cells)


def mixture(codes: Ints, own: npt.NDArray[Any], cells: int, mixed: float, rng: np.random.Generator) -> Ints:
    """A cell of the answer's own, from a list of them, or with the probability `mixed` any cell at all."""
    true = own.ravel().take(codes * own.shape[1] + rng.integers(0, own.shape[1], len(codes)))
    return np.where(rng.random(len(codes)) < mixed, rng.integers(0, cells, len(codes)), true)


Encode = Callable[[Ints, int, float, np.random.Generator], object]

ENCODE: dict[str, Encode] = {
    "GRR": grr,
    "SUE": lambda codes, k, epsilon, rng: unary(
        codes, k, 1 / (math.exp(epsilon / 2) + 1), math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1), rng
    ),
    "OUE": lambda codes, k, epsilon, rng: unary(codes, k, 1 / (math.exp(epsilon) + 1), 0.5, rng),
    "OLH": lambda codes, k, epsilon, rng: hashed(codes, round(math.exp(epsilon)) + 1, epsilon, rng),
    "SS": sets,
    "HR": hadamard,
}


def count_bits(packed: npt.NDArray[np.uint8], k: int) -> Ints:
    total = np.zeros(k, np.int64)
    for start in range(0, len(packed), 4096):
        block = np.unpackbits(packed[start : start + 4096], axis=1, count=k, bitorder="little")
        total += block.sum(axis=0, dtype=np.int64)
    return total


def _unbiased(counts: Ints, n: int, hit: float, miss: float) -> npt.NDArray[np.float64]:
    return np.asarray((counts / n - miss) / (hit - miss))


def _of_cells(reports: Any, k: int, epsilon: float, n: int) -> npt.NDArray[np.float64]:
    miss = 1 / (math.exp(epsilon) + k - 1)
    return _unbiased(np.bincount(reports, minlength=k), n, math.exp(epsilon) * miss, miss)


def _of_bits(hit: Callable[[int, float], float], miss: Callable[[int, float], float]) -> Any:
    return lambda reports, k, epsilon, n: _unbiased(count_bits(reports, k), n, hit(k, epsilon), miss(k, epsilon))


def _set_size(k: int, epsilon: float) -> int:
    return max(1, round(k / (math.exp(epsilon) + 1)))


def _in_set(k: int, epsilon: float) -> float:
    w = _set_size(k, epsilon)
    return w * math.exp(epsilon) / (w * math.exp(epsilon) + k - w)


def _of_hashes(reports: Any, k: int, epsilon: float, n: int) -> npt.NDArray[np.float64]:
    """Support counts over the tally of each hash function."""
    seeds, cells = reports
    g = round(math.exp(epsilon)) + 1
    tally = np.bincount(seeds * g + cells, minlength=HASHES * g).reshape(HASHES, g)
    support = np.zeros(k, np.int64)
    for seed in range(HASHES):
        support += tally[seed][hashed_cells(np.arange(k), np.full(k, seed), g)]
    return _unbiased(support, n, math.exp(epsilon) / (math.exp(epsilon) + g - 1), 1 / g)


def _of_rows(reports: Any, k: int, epsilon: float, n: int) -> npt.NDArray[np.float64]:
    """A fast Walsh-Hadamard transform of the counts."""
    size = 1 << k.bit_length()
    found = np.bincount(reports, minlength=size).astype(np.float64) / n
    step = 1
    while step < size:
        pairs = found.reshape(-1, 2, step)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        step *= 2
    return found[1 : k + 1] * (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)


# Reports as ENCODE makes them, symbols, epsilon, reports -> the unbiased estimate.
ESTIMATE: dict[str, Callable[[Any, int, float, int], npt.NDArray[np.float64]]] = {
    "GRR": _of_cells,
    "SUE": _of_bits(lambda k, e: 1 / (1 + math.exp(-e / 2)), lambda k, e: 1 / (1 + math.exp(e / 2))),
    "OUE": _of_bits(lambda k, e: 0.5, lambda k, e: 1 / (1 + math.exp(e))),
    "OLH": _of_hashes,
    "SS": _of_bits(_in_set, lambda k, e: (_set_size(k, e) - _in_set(k, e)) / (k - 1)),
    "HR": _of_rows,
}
