"""Shards: the export of a store's counts, and the counts of other stores kept beside its own."""

import numpy as np

from deniable.errors import StoreError
from deniable.service.database import Database, Session
from deniable.service.entries import Counters, Entry, Rules
from deniable.service.retention import shown_in
from deniable.service.seals import insert
from deniable.service.stored_surveys import Surveys, fixed_rules
from deniable.service.tallies import Packed, Total, add_rows, packed, windows_in
from deniable.survey import Agreement


class Shards:
    """A store's counts as a shard of another one."""

    def __init__(self, database: Database, surveys: Surveys) -> None:
        self._database, self._surveys = database, surveys

    def own_tallies(self, entry: Entry) -> dict[int, Packed]:
        """This store's own counts and counters by window, shards left out: what it gives away as a shard."""
        found: dict[int, Total] = {}
        with self._database.reading() as session:
            for table in ("tally", "delta"):
                sql = f"SELECT win, counts, counters FROM {table} WHERE survey = ?"
                for window, counts, counters in session.run(sql, [entry.key]).fetchall():
                    if type(window) is not int:
                        raise StoreError("stored windows must be numbers; the store is damaged, restore a backup")
                    total = found.setdefault(window, (np.zeros(entry.shape.size, np.int64), Counters()))
                    add_rows(total, [(counts, counters)])
        return {window: packed(total) for window, total in found.items()}

    def take(self, source: str, survey: Agreement, rules: Rules, tallies: dict[int, Packed]) -> None:
        """Put another store's counts beside ours; taking a later state of the same store replaces the earlier one.

        Windows that were shown to readers stay as they are. What the other store has counted in them since is added to
        the first window that was not shown, so that it appears with the reports of that one.
        """
        with self._database.writing() as session:
            entry, _ = self._surveys.add(session, survey, rules)
            if entry.rules.fixed != rules.fixed:
                raise fixed_rules(survey)
        with self._database.writing() as session:
            found = self._surveys.locked(session, survey.digest)
            if found is None:  # another collector just deleted it
                return
            entry = found
            shown = shown_in(session, entry)
            taken = {window: counted for window, counted in tallies.items() if window >= shown}
            late = self._late(session, source, entry, shown, tallies)
            if late[0].any():
                add_rows(late, [taken[shown]] if shown in taken else [])
                taken[shown] = packed(late)
            session.run("DELETE FROM shard WHERE source = ? AND survey = ? AND win >= ?", [source, entry.key, shown])
            for window, (counts, counters) in taken.items():
                insert(session, "shard", [source, entry.key, window, counts, counters])

    @staticmethod
    def _late(session: Session, source: str, entry: Entry, shown: int, tallies: dict[int, Packed]) -> Total:
        """What another store has counted before the hour `shown` and we have not taken. What retention has deleted here
        does not come back: with a retention, nothing from before the oldest window that is here is late."""
        zero = np.zeros(entry.shape.size, np.int64)
        sql = "SELECT counts, counters FROM shard WHERE source = ? AND survey = ? AND win < ?"
        kept = session.run(sql, [source, entry.key, shown]).fetchall()
        oldest = min(windows_in(session, entry), default=shown) if entry.rules.retention is not None else -(2**31)
        theirs, ours = (zero, Counters()), (zero.copy(), Counters())
        add_rows(theirs, [counted for window, counted in tallies.items() if oldest <= window < shown])
        add_rows(ours, kept)
        more = theirs[0] - ours[0]
        if (more < 0).any():  # it has deleted windows itself, and what else it has cannot be told apart
            return zero, Counters()
        names = theirs[1].counts
        left = {name: names[name] - ours[1].counts.get(name, 0) for name in names}
        return more, Counters({name: count for name, count in left.items() if count > 0})
