"""k-RR with 16 bits of a word first: the other 48 are drawn only for rows that the first ones do not decide.

A word decides a report by which interval of thresholds it lies in. All words with the same first 16 bits lie in one
interval, unless a threshold is among them, which is so for as many of the 65,536 as there are cells, at most. So the
law is that of whole words, to the last of 2**64, and most rows take a quarter of the cipher's work.

Forms use it, whose rows have many parts. A column alone has a whole word a row, as `KRR.randomize` has.
"""

from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns.stream import WordStream
from deniable.mechanisms import KRR

__all__ = ["narrow_block", "step_of", "steps", "suits"]

FIRST = 16  # bits of a word that are drawn for every row
_CELLS = 64  # cells of k-RR, at most: with more, too many rows need a whole word
UNDECIDED = 255  # stands for a step where the first bits do not decide

Steps = npt.NDArray[np.uint8]


def suits(mechanism: KRR) -> bool:
    """Whether answers have one of few cells."""
    return mechanism.occupied == 1 and mechanism.cells <= _CELLS and mechanism.width == 64


def _edges(mechanism: KRR) -> list[int]:
    """Where each step begins: step 0 keeps the cell, step i names the i-th cell after it; and 2**64."""
    return [0, *(mechanism.keep + i * mechanism.other for i in range(mechanism.cells))]


@lru_cache(maxsize=1024)
def steps(mechanism: KRR) -> Steps:
    """The step of all words that begin with the same 16 bits, or `UNDECIDED`.

    Claim: a step has as many words as `KRR.randomize` has for its cell.
    Proof: tests/exact/test_narrow.py::test_every_cell_has_as_many_words_as_the_thresholds_say

    >>> found = steps(KRR(2, 1))
    >>> int((found == 0).sum()), int((found == 1).sum()), int((found == UNDECIDED).sum())
    (47910, 17625, 1)
    """
    found = np.full(1 << FIRST, UNDECIDED, np.uint8)
    for step, (low, high) in enumerate(pairwise(_edges(mechanism))):
        found[-(-low >> 64 - FIRST) : high >> 64 - FIRST] = step
    return found


def step_of(mechanism: KRR, words: npt.NDArray[np.uint64]) -> Steps:
    """The steps of whole words."""
    inner = np.array(_edges(mechanism)[1:-1], np.uint64)
    return np.searchsorted(inner, words, side="right").astype(np.uint8)


def narrow_block(mechanism: KRR, cells: npt.NDArray[Any], stream: WordStream) -> npt.NDArray[Any]:
    """The reports of some rows; one row of cells is one report.

    >>> narrow_block(KRR(3, 40), np.array([0, 1, 2], np.uint8), WordStream()).tolist()
    [0, 1, 2]
    """
    first = stream.first_bits(len(cells))
    found = steps(mechanism).take(first, mode="wrap")  # all are in range, and this does not look
    open_ = np.flatnonzero(found == UNDECIDED)
    if open_.size:
        begun = first[open_].astype(np.uint64) << np.uint64(64 - FIRST)
        found[open_] = step_of(mechanism, begun | stream.words(open_.size) >> np.uint64(FIRST))
    found += cells
    # The remainder: where `found` is below `cells`, subtracting wraps to a larger number.
    return np.asarray(np.minimum(found, found - np.uint8(mechanism.cells)))
