"""The counts of a store, by survey and window.

A commit appends one row of counts a survey and window (`delta`). Nothing that is there is rewritten on the way to an
acknowledgement. Later the rows of `delta` are folded into one row of `tally`, in one transaction, so that a store grows
with counters and open ids and not with reports. Counts of other stores stand beside them (`shard`).
"""

import logging
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import StoreError, TallyError
from deniable.service.database import Database, Session
from deniable.service.entries import Counters, Entry, counters_of
from deniable.service.problems import Unavailable
from deniable.service.records import add_packed, pack_counts
from deniable.service.seals import SEALED, insert, seal
from deniable.tally import Tally

COUNTED = ("tally", "delta", "shard")  # the tables that hold counts by window
_REPLACE = "ON CONFLICT (survey, win) DO UPDATE SET counts = excluded.counts, counters = excluded.counters, "
_REPLACE += "seal = excluded.seal"
_BEFORE = "survey = ? AND win < ?"
_FOLD_BYTES, _FOLD_ROWS = 1 << 18, 512  # of appended counts, from which on a survey is folded between two commits
_PART_BYTES, _PART_ROWS = 1 << 22, 512  # of stored counts that are read at once
_log = logging.getLogger("deniable.service")

Packed = tuple[bytes, str]  # the counts and the counters of a window
Total = tuple[npt.NDArray[np.int64], Counters]


class _Appended:
    """How much of a survey was appended since it was last folded."""

    __slots__ = ("entry", "rows", "size")

    def __init__(self, entry: Entry) -> None:
        self.entry, self.rows, self.size = entry, 0, 0


class Tallies:
    """Counts and counters: appended, folded, summed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._appended: dict[int, _Appended] = {}

    def append(self, session: Session, entry: Entry, window: int, counts: bytes | None, counters: Counters) -> None:
        """Add what one commit has counted to a window."""
        insert(session, "delta", [entry.key, window, counts, counters.to_json()])
        appended = self._appended.setdefault(entry.key, _Appended(entry))
        appended.rows += 1
        appended.size += len(counts or b"")

    def tidy(self) -> None:
        """Fold surveys whose appended rows have outgrown their counters; done between groups, after the answers."""
        for appended in list(self._appended.values()):
            enough = max(_FOLD_BYTES, 16 * appended.entry.shape.size)
            if appended.rows >= _FOLD_ROWS or appended.size >= enough:
                self.fold(appended.entry)

    def fold(self, entry: Entry) -> None:
        """Move a survey's appended counts into its tallies. What cannot be folded now stays as it is, and counts."""
        self._appended.pop(entry.key, None)
        try:
            with self._database.writing() as session:
                self.fold_in(session, entry)
        except (Unavailable, StoreError):
            return

    def fold_in(self, session: Session, entry: Entry) -> int:
        """The same in a transaction; how many rows are damaged. Those stay as they are, with all that they would be
        summed up with: the sum would get a seal that is right."""
        if not self._database.lock_fold(session, entry.key):
            return 0
        sql = "SELECT seq, win, counts, counters, seal FROM delta WHERE survey = ? ORDER BY win"
        found = session.run(sql, [entry.key]).fetchall()
        sound = [row for row in found if _is_sealed("delta", entry, *row[1:])]
        damaged = len(found) - len(sound)
        folded: list[int] = []
        for window, group in groupby(sound, key=itemgetter(1)):
            sql = "SELECT win, counts, counters, seal FROM tally WHERE survey = ? AND win = ?"
            rows, before = list(group), session.run(sql, [entry.key, window]).fetchall()
            if not all(_is_sealed("tally", entry, *row) for row in before):
                damaged += 1
                continue
            total = np.zeros(entry.shape.size, np.int64), Counters()
            add_rows(total, [row[-3:-1] for row in (*before, *rows)])
            insert(session, "tally", [entry.key, window, *packed(total)], _REPLACE)
            folded += [row[0] for row in rows]
        for start in range(0, len(folded), 500):
            part = folded[start : start + 500]
            session.run(f"DELETE FROM delta WHERE seq IN ({', '.join('?' * len(part))})", part)
        if damaged:
            report_damage(entry.survey.digest, f"{damaged} rows of counts have another checksum; they stay as they are")
        return damaged

    def are_sealed(self, session: Session, entry: Entry, last: int) -> bool:
        """Whether every row of counts before the hour `last` is as it was written."""
        for table in COUNTED:
            columns = (*SEALED[table], "seal")
            for _, *row, found in self._database.rows(session, table, columns, _BEFORE, [entry.key, last]):
                if found != seal(table, *row):
                    return False
        return True

    def windows(self, entry: Entry) -> dict[int, dict[str, int]]:
        """The counters of every window."""
        with self._database.reading() as session:
            return windows_in(session, entry)

    def reports(self) -> dict[int, int]:
        """How many reports were accepted, by the key of their survey."""
        with self._database.reading() as session:
            return self.reports_in(session, None)

    @staticmethod
    def reports_in(session: Session, key: int | None) -> dict[int, int]:
        """The same, of one survey or of all."""
        found: dict[int, int] = {}
        where, values = ("", []) if key is None else (" WHERE survey = ?", [key])
        for table in COUNTED:
            for survey, counters in session.run(f"SELECT survey, counters FROM {table}{where}", values).fetchall():
                found[survey] = found.get(survey, 0) + counters_of(counters).get("accepted", 0)
        return found

    def tally(self, entry: Entry, first: int | None = None, last: int | None = None) -> Tally:
        """The sum of the windows that start at or after the hour `first` and before the hour `last`."""
        total = np.zeros(entry.shape.size, np.int64), Counters()
        bounds = -(2**31) if first is None else first, 2**31 - 1 if last is None else last
        with self._database.reading() as session:
            for table in COUNTED:
                add_rows(total, self._range(session, table, entry, *bounds))
            sizes = [counts.get("accepted", 0) for counts in windows_in(session, entry, *bounds).values()]
        try:
            found: Tally = entry.shape.tally(total[0], sizes)
            return found
        except TallyError as problem:
            raise StoreError(
                f"stored counts must be those of their windows ({problem}); run deniable store check"
            ) from None

    @staticmethod
    def _range(session: Session, table: str, entry: Entry, first: int, last: int) -> Iterator[Any]:
        """The rows of a range, a few megabytes at a time: a year of hours may have more bytes than there is memory."""
        place = "seq" if table == "delta" else "win"
        sql = f"SELECT {place}, LENGTH(counts) FROM {table} WHERE survey = ? AND win >= ? AND win < ? ORDER BY {place}"
        rows = session.run(sql, [entry.key, first, last]).fetchall()
        start = size = 0
        for end, (_, length) in enumerate(rows, 1):
            size += length or 0
            if size < _PART_BYTES and end - start < _PART_ROWS and end < len(rows):
                continue
            sql = f"SELECT counts, counters FROM {table} WHERE survey = ? AND win >= ? AND win < ? "
            within = [rows[start][0], rows[end - 1][0]]
            sql += f"AND {place} >= ? AND {place} <= ?"
            yield from session.run(sql, [entry.key, first, last, *within]).fetchall()
            start, size = end, 0

    def forget(self, entry: Entry) -> None:
        """Called after a survey was deleted."""
        self._appended.pop(entry.key, None)


def add_rows(total: Total, rows: Iterable[Any]) -> None:
    """Add rows of counts and counters."""
    for counts, counters in rows:
        if counts is not None:
            add_packed(total[0], counts)
        total[1].add(counters_of(counters))


def packed(total: Total) -> Packed:
    """Counts and counters as a row has them."""
    vector, counters = total
    places = np.flatnonzero(vector)
    return pack_counts(len(vector), places, vector[places]), counters.to_json()


def windows_in(session: Session, entry: Entry, *bounds: int) -> dict[int, dict[str, int]]:
    """The counters of every window of a survey, or of those from the first bound to before the second."""
    found: dict[int, Counters] = {}
    for table in COUNTED:
        sql = f"SELECT win, counters FROM {table} WHERE survey = ?" + " AND win >= ? AND win < ?" * bool(bounds)
        for window, counters in session.run(sql, [entry.key, *bounds]).fetchall():
            found.setdefault(window, Counters()).add(counters_of(counters))
    return {window: found[window].counts for window in sorted(found)}


def report_damage(digest: str, problem: str) -> None:
    """Say in the log that something of a survey is damaged, and what was therefore not done."""
    _log.error("damaged", extra={"fields": {"event": "damaged", "survey": digest, "problem": problem}})


def _is_sealed(table: str, entry: Entry, window: Any, counts: Any, counters: Any, found: Any) -> bool:
    return bool(found == seal(table, entry.key, window, counts, counters))
