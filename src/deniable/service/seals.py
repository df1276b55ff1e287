"""Seals: a checksum of each row of a store, over all columns with data.

A checksum of the counts alone does not see a changed hour, or a row that came to belong to another survey. It is for
faults of disks and memory, not for people: whoever can write to the store can make another seal.
"""

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.service.database import Session

# The columns that a seal covers, in order; numbers that the database gives to rows are not among them. Each database
# keeps ids in its own way, and seals what it keeps.
SEALED = {
    "survey": ("digest", "body", "rules", "closed", "floor", "shown"),
    "delta": ("survey", "win", "counts", "counters"),
    "tally": ("survey", "win", "counts", "counters"),
    "shard": ("source", "survey", "win", "counts", "counters"),
    "token": ("hash", "survey", "kind", "quota", "used", "name"),
    "ids": ("survey", "day", "ids"),
}


def seal(table: str, *values: object) -> int:
    """The CRC-32 of a row: of its table and of its values in the order of `SEALED`.

    >>> seal("delta", 1, 480_000, None, "{}") == seal("delta", 1, 480_001, None, "{}")
    False
    """
    found = zlib.crc32(table.encode())
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        found = zlib.crc32(data, zlib.crc32(b"%s %d:" % (type(value).__name__.encode(), len(data)), found))
    return found


def _crc_table() -> npt.NDArray[np.uint32]:
    """What each byte does to a CRC-32, whose polynomial is 0xEDB88320 in the order of bits that zlib uses."""
    words = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        words = np.where(words & 1, words >> 1 ^ np.uint32(0xEDB88320), words >> 1)
    return words


_CRC = _crc_table()


def seals(table: str, *values: object, rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """The seals of many rows that differ in their last value alone, which is bytes of one length.

    >>> ids = np.arange(32, dtype=np.uint8).reshape(2, 16)
    >>> seals("ids", 1, 20_000, rows=ids).tolist() == [seal("ids", 1, 20_000, row.tobytes()) for row in ids]
    True
    """
    start = zlib.crc32(b"bytes %d:" % rows.shape[1], seal(table, *values))
    found = np.full(len(rows), ~np.uint32(start))
    for place in range(rows.shape[1]):
        found = _CRC[found.astype(np.uint8) ^ rows[:, place]] ^ found >> np.uint32(8)
    return ~found


def insert(session: Session, table: str, values: Sequence[object], otherwise: str = "") -> None:
    """Add a row with its seal; `otherwise` says what is done where there is such a row."""
    marks = ", ".join("?" * (len(values) + 1))
    sql = f"INSERT INTO {table} ({', '.join(SEALED[table])}, seal) VALUES ({marks}) {otherwise}"
    session.run(sql, [*values, seal(table, *values)])
