"""What a store keeps of time that has passed: counts that were shown, and for how long counts and ids stay.

Readers get whole blocks of windows (`blocks`). The hour up to which blocks were shown is kept in the store (`shown`):
no report is counted before it any more, whatever a clock says, and blocks before it are deleted whole. So what was once
shown together never changes, and no two answers differ by fewer reports than the survey's minimum.

Claim: any two answers that readers ever got are of the same reports, or differ by the minimum of reports or more.
Proof: tests/properties/test_retention.py::test_histories
"""

from collections.abc import Mapping

from deniable.service.blocks import Block, Window, joined
from deniable.service.clock import Clock, window_end
from deniable.service.entries import FOR_GOOD, RESTORED, Counters, Entry, counters_of
from deniable.service.registry import Registry, Session
from deniable.service.seals import SEALED, seal

__all__ = ["Retention", "ended"]

COUNTED = ("tally", "delta", "shard")  # the tables that hold counts by window
Windows = Mapping[int, Mapping[str, int]]


def ended(entry: Entry, windows: Windows, hour: int) -> list[Window]:
    """Windows that have ended at an hour. Those of a survey that is closed for good have; one that can be opened again
    may still add single reports to the window of today."""
    kind = entry.rules.window
    spans = [
        Window(start, window_end(kind, start), counts.get("accepted", 0), counts.get(RESTORED, 0))
        for start, counts in windows.items()
    ]
    return [span for span in spans if entry.final or span.end <= hour]


class Retention(Registry):
    """The windows of surveys, from the first report to their deletion."""

    def windows(self, entry: Entry) -> dict[int, dict[str, int]]:
        """The counters of every window."""
        with self.reading() as session:
            return self._windows(session, entry)

    def blocks(self, entry: Entry) -> tuple[dict[int, dict[str, int]], int, list[Block]]:
        """In one state: the counters of every window, the hour up to which they were shown, the blocks before it."""
        with self.reading() as session:
            windows, shown = self._windows(session, entry), self._shown(session, entry)
        return windows, shown, _before(entry, windows, shown)

    def show(self, entry: Entry, *, hour: int) -> None:
        """Make blocks of the windows that have ended at `hour`, for readers to see and for nothing to change."""
        with self.writing() as session:
            # Alone: a report that is on its way to such a window is counted first, the next one finds it shown.
            found = self._locked(session, entry.survey.digest)
            if found is not None and found.key == entry.key:
                self._show(session, found, hour)

    def _show(self, session: Session, entry: Entry, hour: int) -> None:
        windows, shown = self._windows(session, entry), self._shown(session, entry)
        spans = [span for span in ended(entry, windows, hour) if span.start >= shown]
        if blocks := joined(spans, max(entry.rules.minimum, 1)):
            self._put(session, entry.key, shown=blocks[-1].last)

    def _upgraded(self, session: Session) -> None:
        """Older versions showed blocks of all that had ended and kept no note of it: whatever they can have shown was
        shown. Else the first purge would delete single windows of those blocks, and the others would join anew."""
        hour = Clock().settled()
        for (digest,) in session.run("SELECT digest FROM survey ORDER BY key").fetchall():
            if (entry := self._locked(session, digest)) is not None:
                self._show(session, entry, hour)

    def mark_restored(self) -> int:
        """Called for a store that was made from a backup; how many reports it holds that were not shown until then.

        Readers may have been shown those since, together with reports that are lost now. Without them a window would
        differ from the one that was shown by as few reports as were lost: so what was restored is shown again only with
        the minimum of new reports. A survey that is closed for good has lost nothing: its blocks are made at once.
        """
        marked = 0
        for digest in [entry.survey.digest for entry in self.entries()]:
            with self.writing() as session:
                entry = self._locked(session, digest)
                if entry is None:
                    continue
                if entry.final:
                    self._show(session, entry, 0)
                    continue
                self._fold(session, entry)
                shown = self._shown(session, entry)
                for table in ("tally", "shard"):
                    for row, *values, text in self._rows(session, table, SEALED[table], entry.key):
                        counters = counters_of(text)
                        if values[-2] < shown or not counters.get("accepted"):
                            continue
                        marked += counters["accepted"]
                        text = Counters(counters | {RESTORED: counters["accepted"]}).to_json()
                        sql = f"UPDATE {table} SET counters = ?, seal = ? WHERE {self.ROW[1]}"
                        session.run(sql, [text, seal(table, *values, text), row])
        return marked

    @staticmethod
    def _windows(session: Session, entry: Entry) -> dict[int, dict[str, int]]:
        found: dict[int, Counters] = {}
        for table in COUNTED:
            sql = f"SELECT win, counters FROM {table} WHERE survey = ?"
            for window, counters in session.run(sql, [entry.key]).fetchall():
                found.setdefault(window, Counters()).add(counters_of(counters))
        return {window: found[window].counts for window in sorted(found)}

    @staticmethod
    def _shown(session: Session, entry: Entry) -> int:
        row = session.run("SELECT shown FROM survey WHERE key = ?", [entry.key]).fetchone()
        return 0 if row is None else int(row[0])

    def purge(self, *, today: int) -> None:
        """Forget what may be forgotten: ids past their survey's horizon, and windows past its retention. A survey that
        ended longer ago than its horizon is closed for good, and its ids without a day are forgotten with the others.

        From then on reports of those days are refused, whatever a clock says later, so none is counted twice. One call
        forgets at most one day of ids of a survey: a clock that was wrong for an hour costs a day, and not a year.
        Windows that were shown together are deleted together, once the last of them is past its retention.
        """
        for digest in [entry.survey.digest for entry in self.entries()]:
            with self.writing() as session:
                entry = self._locked(session, digest)
                if entry is None:
                    continue
                closed = entry.ended_on(today)
                if closed is not None and not entry.final and closed < today - entry.rules.horizon:
                    self._put(session, entry.key, closed=FOR_GOOD)
                    self._drop_ids(session, entry, None)
                sql = "SELECT MIN(day) FROM ids WHERE survey = ? AND day > 0"
                (oldest,) = session.run(sql, [entry.key]).fetchone()
                if oldest is not None and oldest < today - entry.rules.horizon:
                    floor = max(entry.floor, oldest + 1)
                    self._put(session, entry.key, floor=floor)
                    self._drop_ids(session, entry, floor)
                # A commit of one report, appended beside its id, would tell whose it is for as long as it is there.
                self._fold(session, entry)
                if entry.rules.retention is not None:
                    self._drop_windows(session, entry, 24 * (today - entry.rules.retention))

    def _drop_windows(self, session: Session, entry: Entry, last: int) -> None:
        """Delete what ended at the hour `last` or before: blocks of what was shown, and of the rest any window."""
        windows, shown = self._windows(session, entry), self._shown(session, entry)
        whole = [block.last for block in _before(entry, windows, shown) if block.last <= last]
        rest = [span.end for span in ended(entry, windows, last) if span.start >= shown and span.end <= last]
        kept = max(whole, default=-(2**31))
        for table in COUNTED:
            session.run(f"DELETE FROM {table} WHERE survey = ? AND win < ?", [entry.key, kept])
            if rest:
                sql = f"DELETE FROM {table} WHERE survey = ? AND win >= ? AND win < ?"
                session.run(sql, [entry.key, shown, max(rest)])


def _before(entry: Entry, windows: Windows, shown: int) -> list[Block]:
    """The blocks before the hour `shown`, which is the end of one: joined as they were when they were shown."""
    spans = [span for span in ended(entry, windows, shown) if span.start < shown]
    return joined(spans, max(entry.rules.minimum, 1))
