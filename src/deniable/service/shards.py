"""Counts that a store gives away and takes over: another store's, put beside its own."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import StoreError
from deniable.service.checking import Checked
from deniable.service.entries import Counters, Entry, Rules, counters_of
from deniable.service.records import add_packed, pack_counts
from deniable.service.registry import Session, fixed_rules
from deniable.survey import Survey

__all__ = ["Shards"]

Packed = tuple[bytes, str]  # the counts and the counters of a window
Total = tuple[npt.NDArray[np.int64], Counters]


class Shards(Checked):
    """A store's counts as a shard of another one."""

    @staticmethod
    def _add(total: Total, rows: Iterable[Any]) -> None:
        for counts, counters in rows:
            if counts is not None:
                add_packed(total[0], counts)
            total[1].add(counters_of(counters))

    def own_tallies(self, entry: Entry) -> dict[int, Packed]:
        """This store's own counts and counters by window, shards left out: what it gives away as a shard."""
        found: dict[int, Total] = {}
        with self.reading() as session:
            for table in ("tally", "delta"):
                sql = f"SELECT win, counts, counters FROM {table} WHERE survey = ?"
                for window, counts, counters in session.run(sql, [entry.key]).fetchall():
                    if type(window) is not int:
                        raise StoreError("stored windows must be numbers; the store is damaged, restore a backup")
                    total = found.setdefault(window, (np.zeros(entry.shape.size, np.int64), Counters()))
                    self._add(total, [(counts, counters)])
        return {window: _packed(total) for window, total in found.items()}

    def take_shard(self, source: str, survey: Survey, rules: Rules, tallies: dict[int, Packed]) -> None:
        """Put another store's counts beside ours; taking a later state of the same store replaces the earlier one.

        Windows that were shown to readers stay as they are. What the other store has counted in them since is added to
        the first window that was not shown, so that it appears with the reports of that one.
        """
        with self.writing() as session:
            entry, _ = self._create(session, survey, rules)
            if entry.rules.fixed != rules.fixed:
                raise fixed_rules(survey)
        with self.writing() as session:
            found = self._locked(session, survey.digest)
            if found is None:  # another collector just deleted it
                return
            entry = found
            shown = self._shown(session, entry)
            taken = {window: packed for window, packed in tallies.items() if window >= shown}
            late = self._late(session, source, entry, shown, tallies)
            if late[0].any():
                self._add(late, [taken[shown]] if shown in taken else [])
                taken[shown] = _packed(late)
            session.run("DELETE FROM shard WHERE source = ? AND survey = ? AND win >= ?", [source, entry.key, shown])
            for window, (counts, counters) in taken.items():
                self._insert(session, "shard", [source, entry.key, window, counts, counters])

    def _late(self, session: Session, source: str, entry: Entry, shown: int, tallies: dict[int, Packed]) -> Total:
        """What another store has counted before the hour `shown` and we have not taken. What retention has deleted here
        does not come back: with a retention, nothing from before the oldest window that is here is late."""
        zero = np.zeros(entry.shape.size, np.int64)
        sql = "SELECT win, counts, counters FROM shard WHERE source = ? AND survey = ? AND win < ?"
        kept = session.run(sql, [source, entry.key, shown]).fetchall()
        oldest = min(self._windows(session, entry), default=shown) if entry.rules.retention is not None else -(2**31)
        theirs, ours = (zero, Counters()), (zero.copy(), Counters())
        self._add(theirs, [packed for window, packed in tallies.items() if oldest <= window < shown])
        self._add(ours, [row[1:] for row in kept])
        more = theirs[0] - ours[0]
        if (more < 0).any():  # it has deleted windows itself, and what else it has cannot be told apart
            return zero, Counters()
        names = theirs[1].counts
        left = {name: names[name] - ours[1].counts.get(name, 0) for name in names}
        return more, Counters({name: count for name, count in left.items() if count > 0})


def _packed(total: Total) -> Packed:
    vector, counters = total
    places = np.flatnonzero(vector)
    return pack_counts(len(vector), places, vector[places]), counters.to_json()
