"""`Channel.randomize` on arrays: one word a row, looked up in the row of weights that the answer chooses.

The words are divided into 2**g equal parts, and a guide has for each answer and part the first column that a word of
the part can name; from there a few steps lead to the column. Columns of weight zero are left out, so that every edge is
below 2**64 and fits 64 bits; the last column of a row needs no edge.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns.encode import Words
from deniable.mechanisms import Channel

__all__ = ["table_block"]

_PARTS = 2  # parts of the words a column: more take more memory, fewer more steps
_MOST_GUIDE = 1 << 22  # entries of a guide, at most: 16 MiB


@dataclass(frozen=True)
class _Lookup:
    """Rows laid out one after the other, each with one place more than the longest has columns."""

    bits: int  # g
    guide: npt.NDArray[np.int32]  # the place to begin at, for each answer and part
    edges: Words  # the first word of each place
    last: npt.NDArray[np.bool_]  # whether a place is the last of its row
    names: npt.NDArray[Any]  # the column of each place


@lru_cache(maxsize=4)
def _lookup(mechanism: Channel) -> _Lookup:
    rows = [mechanism.row(cell) for cell in range(mechanism.cells)]
    used = [[column for column, weight in enumerate(row) if weight] for row in rows]
    wide = max(map(len, used)) + 1
    bits = max(1, (_PARTS * wide - 1).bit_length())
    while mechanism.cells << bits > _MOST_GUIDE and bits > 1:
        bits -= 1
    parts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    edges = np.zeros((len(rows), wide), np.uint64)
    names = np.zeros((len(rows), wide), np.min_scalar_type(mechanism.columns - 1))
    last = np.zeros((len(rows), wide), bool)
    guide = np.zeros((len(rows), 1 << bits), np.int32)
    for cell, (row, columns) in enumerate(zip(rows, used, strict=True)):
        count = len(columns)
        edges[cell, :count] = list(accumulate((row[column] for column in columns[:-1]), initial=0))
        names[cell, :count], last[cell, count - 1] = columns, True
        guide[cell] = np.searchsorted(edges[cell, :count], parts, side="right") - 1 + cell * wide
    return _Lookup(bits, guide.ravel(), edges.ravel(), last.ravel(), names.ravel())


def table_block(mechanism: Channel, cells: npt.NDArray[Any], words: Words) -> npt.NDArray[Any]:
    """The columns that these words name for answers in these cells.

    >>> from deniable.mechanisms import WeightTable
    >>> table = WeightTable([[3 << 62, 1 << 62], [1 << 62, 3 << 62]], 2)
    >>> table_block(table, np.array([0, 1, 0]), np.array([3 << 62, 1 << 62, 0], np.uint64)).tolist()
    [1, 1, 0]
    """
    if mechanism.width != 64:
        raise RuntimeError(f"words must have the 64 bits of the stream, got {mechanism.width}")
    look = _lookup(mechanism)
    part = (words >> np.uint64(64 - look.bits)).astype(np.intp)
    place = look.guide.take((cells.astype(np.intp) << look.bits) + part)
    short = np.flatnonzero(~look.last.take(place) & (look.edges.take(place + 1, mode="clip") <= words))
    while short.size:
        place[short] += 1
        found = place[short]
        short = short[~look.last.take(found) & (look.edges.take(found + 1, mode="clip") <= words[short])]
    return np.asarray(look.names.take(place))
