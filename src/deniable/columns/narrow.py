"""k-RR with 16 bits of a word first: the other 48 are drawn only for rows that the first ones do not decide.

Of the 65,536 first bits as many decide for each cell as its share of the words allows, rounded down: the lowest for the
cell itself, then as many for each of the others. What was rounded away is left for the last ones, fewer than there are
cells, and there the other 48 bits decide. So the law is that of whole words, to the last of 2**64, for a quarter of the
cipher's work, and which cell a row names is one division of small integers.

Forms use it, whose rows have many parts. A column alone has a whole word a row, as `KRR.randomize` has.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns.stream import WordStream
from deniable.mechanisms import KRR

__all__ = ["late_steps", "narrow_block", "shares", "suits"]

FIRST = 16  # bits of a word that are drawn for every row
_REST = 64 - FIRST  # bits that are drawn for few rows
_CELLS = 128  # cells of k-RR, at most: the sum of a cell and a step fits into a byte

Steps = npt.NDArray[np.uint8]


def suits(mechanism: KRR) -> bool:
    """Whether answers have one of few cells, and the first bits decide for each of them."""
    small = mechanism.occupied == 1 and mechanism.cells <= _CELLS and mechanism.width == 64
    return small and mechanism.other >= 1 << _REST


def shares(mechanism: KRR) -> tuple[int, int]:
    """How many of the 65,536 first bits decide for the cell itself, and how many for each of the others.

    >>> shares(KRR(2, 1)), shares(KRR(16, 2))
    ((47910, 17625), (21628, 2927))
    """
    return mechanism.keep >> _REST, mechanism.other >> _REST


def late_steps(mechanism: KRR, words: npt.NDArray[np.uint64]) -> Steps:
    """The steps of words that the first bits leave open, counted from the first of these words.

    Step 0 keeps the cell, step i names the i-th cell after it, around.
    """
    kept, each = shares(mechanism)
    keep, other = mechanism.keep - (kept << _REST), mechanism.other - (each << _REST)
    edges = np.array([keep + i * other for i in range(mechanism.cells - 1)], np.uint64)
    return np.searchsorted(edges, words, side="right").astype(np.uint8)


def narrow_block(mechanism: KRR, cells: npt.NDArray[Any], stream: WordStream) -> npt.NDArray[Any]:
    """The reports of some rows; one row of cells is one report.

    Claim: as many words lead to each report as `KRR.randomize` has for it.
    Proof: tests/exact/test_narrow.py::test_every_cell_has_as_many_words_as_the_thresholds_say

    >>> narrow_block(KRR(3, 10), np.array([0, 1, 2], np.uint8), WordStream()).dtype
    dtype('uint8')
    """
    kept, each = shares(mechanism)
    decided = kept + (mechanism.cells - 1) * each
    first = stream.first_bits(len(cells))
    late = np.flatnonzero(first >= decided)
    begun = first[late].astype(np.uint64) - np.uint64(decided)
    # The bits of the cell itself are taken together, so that the division gives 0 for them and i for the i-th other.
    np.clip(first, kept - each, decided - 1, out=first)
    first -= np.uint16(kept - each)
    first //= np.uint16(each)
    found = first.astype(np.uint8)
    if late.size:
        found[late] = late_steps(mechanism, begun << np.uint64(_REST) | stream.words(late.size) >> np.uint64(FIRST))
    found += cells
    # The remainder: where `found` is below `cells`, subtracting wraps to a larger number.
    return np.asarray(np.minimum(found, found - np.uint8(mechanism.cells)))
