"""The encodings of `survey.encodings` on whole columns: a second implementation, for speed.

`tests/contracts/test_columns.py` compares every function here with the code for single values.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import AlphabetError
from deniable.mechanisms import Registry
from deniable.survey import (
    END,
    FEISTEL_ROUNDS,
    GAMMA,
    Alphabet,
    Direct,
    Encoding,
    Hadamard,
    Hashed,
    Neighbours,
    Permuted,
    Prefixes,
    Projective,
    Survey,
    feistel_sides,
    fingerprints,
    symbol_bytes,
)

Words = npt.NDArray[np.uint64]
Cells = npt.NDArray[np.int32]

_BLOCK = 1 << 16  # cells that are computed at once: 512 KiB, which stay in a cache
_U = np.uint64


def keys_of(survey: Survey, symbols: Sequence[object]) -> Words:
    """The key of each symbol (`Survey.key`) as words: its position, or in an open alphabet its fingerprint.

    One word a symbol, shape (S,), or one for each level where cohorts hash different parts of it, shape (S, L).
    """
    alphabet = survey.alphabet
    if not alphabet.is_open and (symbols is alphabet.symbols):
        return np.arange(len(alphabet), dtype=np.uint64)
    try:
        return keyings.of(survey.encoding)(survey.encoding, alphabet, symbols)
    except AlphabetError as problem:
        raise AlphabetError(f"every symbol must be one that the survey can encode: {problem}") from None


def mix64(z: Words) -> Words:
    """`survey.hashing.mix64`, in place."""
    z ^= z >> _U(30)
    z *= _U(0xBF58476D1CE4E5B9)
    z ^= z >> _U(27)
    z *= _U(0x94D049BB133111EB)
    z ^= z >> _U(31)
    return z


def stream(keys: Words, index: Words) -> Words:
    """`survey.hashing.stream`, broadcast."""
    with np.errstate(over="ignore"):
        return mix64(keys + (index + _U(1)) * _U(GAMMA))


def fixed_words(count: int) -> Words:
    """Pseudo-random words that never change (splitmix64).

    >>> [hex(int(word)) for word in fixed_words(1)]
    ['0xe220a8397b1dcdaf']
    """
    return stream(np.zeros(1, _U), np.arange(count, dtype=_U))


def scale(words: Words, bound: int) -> Words:
    """floor(word * bound / 2**64) for bound <= 2**32, in 64-bit arithmetic."""
    if bound > 1 and bound & (bound - 1) == 0:  # a power of two: its leading bits
        return words >> _U(65 - bound.bit_length())
    high, low = words >> _U(32), words & _U(0xFFFFFFFF)
    high *= _U(bound)
    low *= _U(bound)
    low >>= _U(32)
    high += low
    high >>= _U(32)
    return high


def _permute(keys: Words, size: int, x: Words) -> Words:
    """`survey.hashing.permute` at one point per key; `keys` and `x` broadcast together."""
    a, b = feistel_sides(size)
    value = np.broadcast_to(x, np.broadcast_shapes(keys.shape, x.shape)).astype(np.uint64)
    keys = np.broadcast_to(keys, value.shape)
    walking = np.ones(value.shape, bool)
    while walking.any():
        left, right = np.divmod(value[walking], _U(b))
        key = keys[walking]
        for turn in range(0, FEISTEL_ROUNDS, 2):
            left = (left + scale(stream(key, right + _U(turn << 32)), a)) % _U(a)
            right = (right + scale(stream(key, left + _U(turn + 1 << 32)), b)) % _U(b)
        value[walking] = left * _U(b) + right
        walking = value >= _U(size)
    return value


def _permutation_rows(keys: Words, size: int) -> npt.NDArray[np.intp]:
    """All of each permutation, one row a key. A round function has only sqrt(size) inputs, so it is tabulated."""
    a, b = feistel_sides(size)
    rows = np.arange(len(keys))[:, None]
    sides = (a, b)
    tables = []
    for turn in range(FEISTEL_ROUNDS):
        target, source = sides[turn % 2], sides[1 - turn % 2]
        index = np.arange(source, dtype=np.uint64) + _U(turn << 32)
        tables.append(scale(stream(keys[:, None], index[None, :]), target).astype(np.intp))
    point = np.broadcast_to(np.arange(size), (len(keys), size))
    left, right = np.divmod(point, b)
    left, right = left.copy(), right.copy()

    def rounds(row: npt.NDArray[np.intp], left: npt.NDArray[np.intp], right: npt.NDArray[np.intp]) -> None:
        for turn in range(0, FEISTEL_ROUNDS, 2):
            left += tables[turn].ravel().take(right + row * b)
            np.subtract(left, a, out=left, where=left >= a)
            right += tables[turn + 1].ravel().take(left + row * a)
            np.subtract(right, b, out=right, where=right >= b)

    rounds(rows, left, right)
    value: npt.NDArray[np.intp] = left * b + right
    while (row_of := np.nonzero(value >= size))[0].size:
        left, right = np.divmod(value[row_of], b)
        rounds(row_of[0], left, right)
        value[row_of] = left * b + right
    return value


def cells_at(encoding: Encoding, cohorts: npt.NDArray[Any], keys: Words) -> Cells:
    """The cells of each (cohort, key) pair, shape (n, h); a repeat within one answer is marked by the cell number k."""
    return encoders.of(encoding)(encoding, cohorts, keys)


# `Encoding.key` of many symbols, as words: most keys are one already.
keyings: Registry[Callable[[Any, Alphabet, Sequence[object]], Words]] = Registry(
    "deniable.columns.encode.keyings", Encoding, "words of its keys"
)
# `cells_at`, `cell_table` and `cell_rows` of each encoding; the last two follow from the first, but not as fast.
encoders: Registry[Callable[[Any, npt.NDArray[Any], Words], Cells]] = Registry(
    "deniable.columns.encode.encoders", Encoding, "column code"
)
tables: Registry[Callable[[Any, Words, int], Cells]] = Registry("deniable.columns.encode.tables", Encoding, "table")
streams: Registry[Callable[[Any, Words], Iterator[npt.NDArray[np.intp]]]] = Registry(
    "deniable.columns.encode.streams", Encoding, "stream of cells"
)


@keyings.add(Encoding)
def _one_word(encoding: Encoding, alphabet: Alphabet, symbols: Sequence[object]) -> Words:
    return np.array([encoding.key(alphabet, symbol) for symbol in symbols], np.uint64)


@keyings.add(Hashed)
def _fingerprint(encoding: Hashed, alphabet: Alphabet, symbols: Sequence[object]) -> Words:
    messages = map(symbol_bytes, map(alphabet.canonical, symbols))
    return np.frombuffer(fingerprints(encoding.seed, messages), "<u8").astype(np.uint64, copy=False)


@keyings.add(Prefixes)
def _fingerprint_a_level(encoding: Prefixes, alphabet: Alphabet, symbols: Sequence[object]) -> Words:
    return words_of_levels(encoding, [encoding.key(alphabet, symbol) for symbol in symbols])


def words_of_levels(encoding: Prefixes, keys: Sequence[bytes]) -> Words:
    """The fingerprints of each key's prefixes, one a level, shape (S, L)."""
    found = np.empty((len(keys), len(encoding.levels)), np.uint64)
    for (length, _), column in zip(encoding.levels, found.T, strict=True):
        begin = bytes([length])
        messages = (begin + (key if key[length:] in (b"", END) else key[:length]) for key in keys)
        column[:] = np.frombuffer(fingerprints(encoding.seed, messages), "<u8")
    return found


@encoders.add(Direct)
def _direct_cells(encoding: Direct, cohorts: npt.NDArray[Any], keys: Words) -> Cells:
    return keys.astype(np.int32)[:, None]


@encoders.add(Neighbours)
def _neighbour_cells(encoding: Neighbours, cohorts: npt.NDArray[Any], keys: Words) -> Cells:
    return np.asarray(keys.astype(np.int32)[:, None] + np.arange(encoding.hashes, dtype=np.int32))


@encoders.add(Hashed)
def _hashed_cells(encoding: Hashed, cohorts: npt.NDArray[Any], keys: Words) -> Cells:
    cells = scale(stream(keys[:, None], _numbers(encoding, cohorts)), encoding.cells)
    return _mark_repeats(cells.astype(np.int32), encoding.cells)


@encoders.add(Prefixes)
def _prefix_cells(encoding: Prefixes, cohorts: npt.NDArray[Any], keys: Words) -> Cells:
    starts = np.array(encoding.starts, np.int64)
    numbers = cohorts.astype(np.int64)
    levels = np.searchsorted(starts, numbers % encoding.cohorts, side="right") - 1
    words = stream(keys[np.arange(len(keys)), levels], (numbers - starts[levels]).astype(np.uint64))
    return scale(words, encoding.cells).astype(np.int32)[:, None]


@encoders.add(Permuted)
def _permuted_cells(encoding: Permuted, cohorts: npt.NDArray[Any], keys: Words) -> Cells:
    roots = stream(np.full(1, encoding.root, np.uint64), _numbers(encoding, cohorts))
    cells = _permute(roots, encoding.symbols, keys[:, None]) % _U(encoding.cells)
    return _mark_repeats(cells.astype(np.int32), encoding.cells)


def _numbers(encoding: Encoding, cohorts: npt.NDArray[Any]) -> Words:
    """The numbers of the hash functions of each cohort, shape (n, h)."""
    return np.asarray(
        cohorts.astype(np.uint64)[:, None] * _U(encoding.hashes) + np.arange(encoding.hashes, dtype=np.uint64)
    )


@encoders.add(Hadamard)
def _hadamard_cells(encoding: Hadamard, cohorts: npt.NDArray[Any], keys: Words) -> Cells:
    """Row by row, the numbers below 2**m whose bits in common with the row are even in number, in order.

    All bits but the row's lowest one are free, and they decide that one. Bits below it are not in the row, so it does
    not depend on them, and counting through the free bits counts upwards.
    """
    row, block = np.divmod(keys.astype(np.int64)[:, None], encoding.blocks)
    row += 1
    low = row & -row
    free = np.arange(encoding.hashes)
    cell = (free // low) * (2 * low) + free % low
    cell += np.where(np.bitwise_count(row & cell) % 2 == 1, low, 0)
    return np.asarray(block * (2 * encoding.hashes) + cell, np.int32)


def projective_digits(encoding: Projective) -> npt.NDArray[np.int64]:
    """`Projective.point` of every number, shape (b, t)."""
    r, t = encoding.order, encoding.dimension
    values = np.concatenate([np.arange(r**m, dtype=np.int64) + r**m for m in range(t)])
    return np.asarray(values[:, None] // r ** np.arange(t - 1, -1, -1, dtype=np.int64) % r)


@encoders.add(Projective)
def _projective_cells(encoding: Projective, cohorts: npt.NDArray[Any], keys: Words) -> Cells:
    """Row by row, the points that are orthogonal to a point, in order."""
    keys, positions = np.unique(keys, return_inverse=True)
    r, digits = encoding.order, projective_digits(encoding)
    found = np.empty((len(keys), encoding.hashes), np.int32)
    step = max(1, (1 << 22) // encoding.cells)
    for start in range(0, len(keys), step):
        part = digits[keys[start : start + step].astype(np.intp)]
        found[start : start + step] = np.nonzero(part @ digits.T % r == 0)[1].reshape(len(part), -1)
    return np.asarray(found[positions])


def _mark_repeats(cells: Cells, k: int) -> Cells:
    """Replace every cell that stands earlier on the last axis by k: a Bloom filter sets a bit once."""
    for j in range(1, cells.shape[-1]):
        cells[..., j][(cells[..., :j] == cells[..., j : j + 1]).any(axis=-1)] = k
    return cells


def cell_table(encoding: Encoding, keys: Words, *, first: int = 0) -> Cells:
    """H as numbers: the cells of every key in every cohort, shape (C, h, S); the number k marks a repeat.

    With `first`, the C cohorts from that number on: hash functions as independent as those of any other cohorts.
    """
    return tables.of(encoding)(encoding, keys, first)


@tables.add(Encoding)
def _any_table(encoding: Encoding, keys: Words, first: int) -> Cells:
    cohorts = range(first, first + encoding.cohorts)
    rows = [cells_at(encoding, np.full(len(keys), cohort), keys).T for cohort in cohorts]
    return np.ascontiguousarray(rows[0][None]) if len(rows) == 1 else np.stack(rows)


@tables.add(Hashed)
def _hashed_table(encoding: Hashed, keys: Words, first: int) -> Cells:
    def rows(numbers: Words) -> Words:
        return scale(stream(keys[None, :], numbers[:, None]), encoding.cells)

    return _tabulated(encoding, len(keys), first, max(len(keys), 1), rows)


@tables.add(Permuted)
def _permuted_table(encoding: Permuted, keys: Words, first: int) -> Cells:
    def rows(numbers: Words) -> npt.NDArray[np.intp]:
        roots = stream(np.full(1, encoding.root, np.uint64), numbers)
        return _permutation_rows(roots, encoding.symbols)[:, keys.astype(np.intp)] % encoding.cells

    return _tabulated(encoding, len(keys), first, encoding.symbols, rows)


def _tabulated(
    encoding: Encoding, count: int, first: int, width: int, rows: Callable[[Words], npt.NDArray[Any]]
) -> Cells:
    """A table from the rows of its hash functions, a block at a time; `width` is how long a row is on the way."""
    total = encoding.cohorts * encoding.hashes
    table = np.empty((total, count), np.int32)
    index = np.arange(first * encoding.hashes, first * encoding.hashes + total, dtype=np.uint64)
    step = max(1, _BLOCK // width)
    for start in range(0, total, step):
        table[start : start + step] = rows(index[start : start + step])
    shaped = table.reshape(encoding.cohorts, encoding.hashes, count)
    if encoding.hashes > 1:
        shaped = np.moveaxis(_mark_repeats(np.moveaxis(shaped, 1, 2), encoding.cells), 2, 1)
    return np.ascontiguousarray(shaped)


def cell_rows(encoding: Encoding, keys: Words) -> Iterator[npt.NDArray[np.intp]]:
    """`cell_table`, one cohort at a time: shape (h, S), ready to index with, and nothing is kept.

    >>> import deniable as dn
    >>> encoding = dn.orr(epsilon=1, cells=4, cohorts=2, seed=bytes(16)).encoding
    >>> keys = np.arange(3, dtype=np.uint64)
    >>> np.array_equal(np.stack(list(cell_rows(encoding, keys))), cell_table(encoding, keys))
    True
    """
    return streams.of(encoding)(encoding, keys)


@streams.add(Encoding)
def _any_rows(encoding: Encoding, keys: Words) -> Iterator[npt.NDArray[np.intp]]:
    for cohort in range(encoding.cohorts):
        yield cells_at(encoding, np.full(len(keys), cohort), keys).T.astype(np.intp)


@streams.add(Prefixes)
def _prefix_rows(encoding: Prefixes, keys: Words) -> Iterator[npt.NDArray[np.intp]]:
    for column, (_, cohorts) in zip(keys.T, encoding.levels, strict=True):
        words = np.ascontiguousarray(column)
        for number in range(cohorts):
            yield scale(stream(words, np.full(1, number, np.uint64)), encoding.cells).view(np.int64)[None]


@streams.add(Hashed)
def _hashed_rows(encoding: Hashed, keys: Words) -> Iterator[npt.NDArray[np.intp]]:
    index = np.arange(encoding.cohorts * encoding.hashes, dtype=np.uint64).reshape(-1, encoding.hashes)
    for numbers in index:
        rows = [scale(stream(keys, number), encoding.cells).view(np.int64) for number in numbers]
        for j, row in enumerate(rows[1:], start=1):
            for earlier in rows[:j]:  # a Bloom filter sets a bit once
                row[row == earlier] = encoding.cells
        yield np.stack(rows) if len(rows) > 1 else rows[0][None]
