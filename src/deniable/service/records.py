"""Batches of packed reports: validation against a survey, and the counts that they add.

`tally.checking` has the rules; here each becomes a code of the collector. A tally is one vector here: the counts of
every (cohort, column), after the reports of every cohort where a report does not hit exactly one column.
"""

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import StoreError
from deniable.survey import Survey
from deniable.tally import Tally, refused_rows, split_rows

# Why a report is refused; its place in this list is its code, and 0 and 1 are no refusals.
REASONS = (
    "accepted",
    "duplicate",
    "version",
    "survey",
    "cohort",
    "response",
    "length",
    "id",
    "report",
    "day",
    "too_old",
    "too_early",
    "quota",
)
CODES = {reason: code for code, reason in enumerate(REASONS)}
_BITS_AT_ONCE = 1 << 24  # of bit reports, unpacked to a byte each
_PIECE = 1 << 20  # bytes, a multiple of a counter's eight

Bytes = npt.NDArray[np.uint8]
Vector = npt.NDArray[np.int64]


class RecordShape:
    """What one survey's packed reports look like.

    >>> import deniable as dn
    >>> survey = dn.krr(symbols=4, epsilon=1)
    >>> shape = RecordShape(survey)
    >>> good, bad = dn.Report(survey, 0, b"\\x02").pack(), b"\\x01" * 10
    >>> rows = np.frombuffer(good + bad, np.uint8).reshape(2, shape.length)
    >>> [REASONS[code] for code in shape.check(rows)]
    ['accepted', 'survey']
    >>> shape.count(rows[:1])
    (array([2]), array([1]))
    """

    def __init__(self, survey: Survey) -> None:
        self.survey, self._form = survey, survey.report_format
        self.length = self._form.length
        self.cohorts, self.columns = survey.cohorts, survey.columns
        self.offset = self.cohorts if self._form.response.bits else 0
        self.size = self.offset + self.cohorts * self.columns
        self._head = np.frombuffer(self._form.head, np.uint8)

    def check(self, rows: Bytes) -> Bytes:
        """A code for each row of packed reports: 0, or the place of the reason in `REASONS`."""
        codes = np.zeros(len(rows), np.uint8)
        for rule, wrong in refused_rows(self._form, *split_rows(self._form, rows)):
            codes[wrong] = CODES[rule.field.name]
        head = rows[:, : len(self._head)] != self._head
        if head.any():
            codes[head[:, 1:].any(axis=1)] = CODES["survey"]
            codes[head[:, 0]] = CODES["version"]
        return codes

    def count(self, rows: Bytes) -> tuple[Vector, Vector]:
        """What good rows add to the vector of counts: places, in order, and how often each was hit."""
        cohorts, responses = split_rows(self._form, rows)
        if not self._form.response.bits:
            return _histogram(cohorts * self.columns + responses, self.size)
        places, counts = _histogram(cohorts, self.cohorts)
        total: Vector | None = np.zeros(self.size, np.int64) if self.size <= 1 << 20 else None
        found: list[Vector] = []
        step = max(1, _BITS_AT_ONCE // self.columns)
        for start in range(0, len(rows), step):
            bits = np.unpackbits(responses[start : start + step], axis=1, count=self.columns, bitorder="little")
            person, column = np.nonzero(bits)
            flat = self.offset + cohorts[start : start + step][person] * self.columns + column
            if total is None:
                found.append(flat)
            else:
                total += np.bincount(flat, minlength=self.size)
        if total is None:
            more, often = _histogram(np.concatenate(found), self.size)
        else:
            more = np.flatnonzero(total)
            often = total[more]
        return np.concatenate([places, more]), np.concatenate([counts, often])

    def tally(self, vector: Vector, windows: Iterable[int] | None = None) -> Tally:
        """The vector of counts as a tally, which checks that some set of reports could have produced it; `windows` are
        the reports of each window, where people take part again."""
        counts = vector[self.offset :].reshape(self.cohorts, self.columns)
        reports = vector[: self.cohorts] if self.offset else counts.sum(axis=1)
        return Tally(self.survey, counts, reports, windows=windows if self.survey.repeats_noise else None)

    def vector(self, tally: Tally) -> Vector:
        """The counts of a tally as one vector."""
        counts = tally.counts.ravel()
        return np.concatenate([tally.reports, counts]) if self.offset else counts.copy()


def _histogram(flat: Vector, size: int) -> tuple[Vector, Vector]:
    if size <= max(4096, 4 * len(flat)):
        counts = np.bincount(flat, minlength=0).astype(np.int64)
        places = np.flatnonzero(counts)
        return places, counts[places]
    places, counts = np.unique(flat, return_counts=True)
    return places, counts.astype(np.int64)


def pack_counts(size: int, places: Vector, counts: Vector) -> bytes:
    """Counts as bytes, sparse or whole, whichever is shorter; what is nearly empty costs nearly nothing. A checksum
    stands before them: a flipped bit could otherwise move a report to another cell without a trace."""
    if 12 * len(places) < 8 * size:
        packed = b"S" + places.astype("<u4").tobytes() + counts.astype("<i8").tobytes()
    else:
        vector = np.zeros(size, "<i8")
        vector[places] = counts
        packed = b"Z" + zlib.compress(vector.tobytes(), 1)
    return b"C" + zlib.crc32(packed).to_bytes(4, "little") + packed


def add_packed(vector: Vector, packed: Any) -> None:
    """Add what `pack_counts` wrote to a vector of counts; damaged bytes are refused, not added. Stores of layouts 1 and
    2 have counts without the checksum."""
    try:
        data = memoryview(packed)
        if bytes(data[:1]) == b"C":
            if zlib.crc32(data[5:]) != int.from_bytes(data[1:5], "little"):
                raise ValueError
            data = data[5:]
        kind = bytes(data[:1])
        if kind == b"S":
            found, rest = divmod(len(data) - 1, 12)
            if rest:
                raise ValueError
            places = np.frombuffer(data, "<u4", found, 1)
            np.add.at(vector, places, np.frombuffer(data, "<i8", found, 1 + 4 * found))
        elif kind == b"Z":
            _add_compressed(vector, data[1:])
        else:
            raise ValueError
    except (TypeError, ValueError, IndexError, zlib.error):
        raise StoreError("stored counts must be readable; the store is damaged, restore a backup") from None


def _add_compressed(vector: Vector, data: memoryview) -> None:
    """Add a compressed vector, piece by piece: a second one of its size may be a hundred megabytes."""
    unpacker, place = zlib.decompressobj(), 0
    piece = unpacker.decompress(data, _PIECE)
    while piece:
        numbers = np.frombuffer(piece, "<i8")
        if place + len(numbers) > len(vector):
            raise ValueError
        vector[place : place + len(numbers)] += numbers
        place += len(numbers)
        piece = unpacker.decompress(unpacker.unconsumed_tail, _PIECE)
    if place != len(vector) or not unpacker.eof:
        raise ValueError
