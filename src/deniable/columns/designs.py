"""Reports of a block design, on whole columns: the cell that a random word selects, without listing an answer's cells.

An answer of a Hadamard design occupies half a block, one of a projective design a hyperplane: thousands of cells, of
which a report needs one. In both designs one digit of a cell is determined by the others, which are free. So the i-th
of an answer's cells has a closed form, and so has the i-th of the cells that are not its own.
`tests/contracts/test_bulk_words.py` compares this with `KRR.randomize`, word by word.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns.encode import Words, projective_digits
from deniable.mechanisms import KRR, Registry
from deniable.survey import BlockEncoding, Direct, Encoding, Hadamard, Neighbours, Projective

# Entries of the lookup table of a design (2 bytes each), at most, and of one that is made even for few reports. Looking
# up takes 15 ns a report, working the cell out 100 (projective response over 256 symbols, `make bench`).
_LISTED, _SMALL = 1 << 20, 1 << 14

Ints = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

# The cell at each place: among the answer's own cells, in order, where the last argument is true; elsewhere among all
# other cells.
places: Registry[Callable[[Any, Ints, Ints, Truths], Ints]] = Registry(
    "deniable.columns.designs.places", BlockEncoding, "cell at a place"
)


@places.add(Direct)
def _direct(encoding: Direct, answers: Ints, place: Ints, true: Truths) -> Ints:
    return np.where(true, answers, place + (place >= answers))


@places.add(Neighbours)
def _neighbours(encoding: Neighbours, answers: Ints, place: Ints, true: Truths) -> Ints:
    return np.where(true, answers + place, place + np.where(place >= answers, encoding.hashes, 0))


def design_block(mechanism: KRR, encoding: Encoding, keys: Words, words: Words) -> npt.NDArray[Any]:
    """`KRR.randomize` on arrays for the answers `keys` to a block design: one word a row."""
    find = places.of(encoding)
    own, answers = mechanism.occupied, keys.astype(np.int64)
    true = words < np.uint64(own * mechanism.keep)
    # Where a word is below the threshold the subtraction wraps around; `true` discards that number.
    others = (words - np.uint64(own * mechanism.keep)) // np.uint64(mechanism.other)
    place = np.where(true, words // np.uint64(mechanism.keep), others).astype(np.int64)
    symbols = int(getattr(encoding, "symbols", encoding.cells))
    if symbols * encoding.cells <= min(_LISTED, max(4 * len(words), _SMALL)):
        return _listed(encoding, symbols).take(answers * encoding.cells + place + np.where(true, 0, own))
    return find(encoding, answers, place, true)


@lru_cache(maxsize=4)
def _listed(encoding: Encoding, symbols: int) -> npt.NDArray[np.uint16]:
    """For every answer its own cells in order, then all the others: a lookup table for small designs."""
    place = np.tile(np.arange(encoding.cells), symbols)
    answers = np.repeat(np.arange(symbols), encoding.cells)
    true = place < encoding.hashes
    return places.of(encoding)(encoding, answers, np.where(true, place, place - encoding.hashes), true).astype(
        np.uint16
    )


@places.add(Hadamard)
def _hadamard(encoding: Hadamard, answers: Ints, place: Ints, true: Truths) -> Ints:
    """For rows of a Hadamard matrix."""
    half = encoding.hashes
    row, start = answers + 1, np.zeros(1, np.int64)
    if encoding.blocks > 1:
        row, start = answers // encoding.blocks + 1, answers % encoding.blocks * (2 * half)
    low = row & -row
    free = np.where(true, place, place - start)  # among the cells of its own block
    free &= half - 1  # meaningless for cells of other blocks, which the last lines replace
    under = free & (low - 1)
    cell = ((free - under) << 1) | under
    cell |= np.where((np.bitwise_count(row & cell) & 1).astype(bool) == true, low, 0)
    if encoding.blocks == 1:
        return np.asarray(cell)
    # Cells of blocks before it are all others, and so are those after, whose places lack its own half.
    elsewhere = ~true & ((place < start) | (place >= start + half))
    return np.where(elsewhere, place + np.where(place < start, 0, half), start + cell)


@places.add(Projective)
def _projective(encoding: Projective, answers: Ints, place: Ints, true: Truths) -> Ints:
    """For hyperplanes. Let e be how many zeros the answer's digits end in.

    Of the points with m digits after their leading 1, those with m < e are all its own and those with m = e are none
    of them; with m > e the digit at e is decided by those before it, so one in r is its own.
    """
    r, t = encoding.order, encoding.dimension
    powers = r ** np.arange(t + 1, dtype=np.int64)
    points = (powers - 1) // (r - 1)
    digits = projective_digits(encoding)[:, ::-1]  # the last digit first
    zeros = (digits != 0).argmax(axis=1)[answers]
    free = powers[zeros]  # how many points share what stands before the decided digit, and it
    each = np.where(true, 1, r - 1)  # how many choices of the decided digit are on this side
    rank = place - np.where(true, points[zeros], free)
    level = points.searchsorted(rank // (free * each), side="right") - 1
    level = np.clip(level, 0, t - 1)
    rank -= points[level] * free * each
    after = np.minimum(zeros + 1 + level, t - 1)  # m
    high, rest = np.divmod(rank, free * each)
    choice, under = np.divmod(rest, free)
    value = high * (free * r)
    product = digits[answers, after].copy()
    for power in range(t - 1):
        product += digits[answers, power] * (value // powers[power] % r)
    inverse = np.array([0] + [pow(digit, -1, r) for digit in range(1, r)], np.int64)
    decided = -product * inverse[digits[answers, zeros]] % r
    digit = np.where(true, decided, choice + (choice >= decided))
    cell = points[after] + value + digit * free + under
    early = np.where(true, place, points[zeros] + place)  # where m <= e, whole ranges are its own or not
    return np.where(place < np.where(true, points[zeros], free), early, cell)
