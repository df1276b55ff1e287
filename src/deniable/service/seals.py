"""Seals: a checksum of each row of a store, over every column that says something.

A checksum of the counts alone does not see a changed hour, or a row that came to belong to another survey. It is for
faults of disks and memory, not for people: whoever can write to the store can make another seal.
"""

import zlib

__all__ = ["SEALED", "seal"]

# The columns that a seal covers, in order; numbers that the database gives to rows are not among them. PostgreSQL keeps
# one id a row, without a seal.
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
