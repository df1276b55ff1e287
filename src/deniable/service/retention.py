"""Retention: which windows were published, and when surveys, counts and ids are deleted.

Readers get whole blocks of windows (`blocks`). The hour up to which blocks were shown is kept in the store (`shown`):
no report is counted before it any more, whatever a clock says, and blocks before it are deleted whole. So what was once
shown together never changes, and no two answers differ by fewer reports than the survey's minimum.

Claim: any two answers that readers ever got are of the same reports, or differ by the minimum of reports or more.
Proof: tests/properties/test_retention.py::test_histories
"""

from collections.abc import Mapping

from deniable.errors import StoreError
from deniable.service.clock import window_end
from deniable.service.database import Database, Session
from deniable.service.entries import FOR_GOOD, RESTORED, Counters, Entry, counters_of
from deniable.service.seals import SEALED, seal
from deniable.service.stored_surveys import Surveys
from deniable.service.tallies import COUNTED, Tallies, report_damage, windows_in
from deniable.service.window_blocks import Block, Window, joined

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


def shown_until(entry: Entry, windows: Windows, shown: int, hour: int) -> int:
    """The hour up to which windows are shown once blocks are made of those that have ended at `hour`."""
    spans = [span for span in ended(entry, windows, hour) if span.start >= shown]
    blocks = joined(spans, entry.least)
    return blocks[-1].last if blocks else shown


def shown_in(session: Session, entry: Entry) -> int:
    """The hour up to which the windows of a survey were shown."""
    row = session.run("SELECT shown FROM survey WHERE key = ?", [entry.key]).fetchone()
    return 0 if row is None else int(row[0])


class Retention:
    """The end of things: windows are shown and deleted, ids forgotten, surveys closed and deleted."""

    def __init__(self, database: Database, surveys: Surveys, tallies: Tallies) -> None:
        self._database, self._surveys, self._tallies = database, surveys, tallies

    # What readers are shown.
    def blocks(self, entry: Entry) -> tuple[dict[int, dict[str, int]], int, list[Block]]:
        """In one state: the counters of every window, the hour up to which they were shown, the blocks before it."""
        with self._database.reading() as session:
            windows, shown = windows_in(session, entry), shown_in(session, entry)
        return windows, shown, _before(entry, windows, shown)

    def show(self, entry: Entry, *, hour: int) -> None:
        """Make blocks of the windows that have ended at `hour`, for readers to see and for nothing to change."""
        with self._database.writing() as session:
            # Alone: a report that is on its way to such a window is counted first, the next one finds it shown.
            found = self._surveys.locked(session, entry.survey.digest)
            if found is not None and found.key == entry.key:
                self._show(session, found, hour)

    def _show(self, session: Session, entry: Entry, hour: int) -> None:
        windows, shown = windows_in(session, entry), shown_in(session, entry)
        if (later := shown_until(entry, windows, shown, hour)) > shown:
            self._surveys.put(session, entry.key, shown=later)

    def mark_restored(self) -> int:
        """Called for a store that was made from a backup; how many reports it holds that were not shown until then.

        Readers may have been shown those since, together with reports that are lost now. Without them a window would
        differ from the one that was shown by as few reports as were lost: so what was restored is shown again only with
        the minimum of new reports. A survey that is closed for good has lost nothing: its blocks are made at once.
        """
        marked = 0
        for digest in self._digests():
            with self._database.writing() as session:
                entry = self._surveys.locked(session, digest)
                if entry is None:
                    continue
                if entry.final:
                    self._show(session, entry, 0)
                    continue
                if self._tallies.fold_in(session, entry):
                    raise StoreError("stored rows must be as they were written; the backup is damaged, use another one")
                shown = shown_in(session, entry)
                for table in ("tally", "shard"):
                    rows = self._database.rows(session, table, SEALED[table], "survey = ?", [entry.key])
                    for row, *values, text in rows:
                        counters = counters_of(text)
                        if values[-2] < shown or not counters.get("accepted"):
                            continue
                        marked += counters["accepted"]
                        text = Counters(counters | {RESTORED: counters["accepted"]}).to_json()
                        sql = f"UPDATE {table} SET counters = ?, seal = ? WHERE {self._database.ROW[1]}"
                        session.run(sql, [text, seal(table, *values, text), row])
        return marked

    # What ends.
    def end(self, digest: str, *, day: int = FOR_GOOD) -> Entry | None:
        """Close a survey on a day: no report is taken any more, and its counts stay. Its ids stay, too, so that it can
        be opened again; without a day it is closed for good and they are forgotten. None: there is no such survey."""
        with self._database.writing() as session:
            entry = self._surveys.locked(session, digest)
            if entry is None or entry.final or (entry.closed and day != FOR_GOOD):
                return entry
            self._surveys.put(session, entry.key, closed=day)
            if day == FOR_GOOD:
                self._database.drop_ids(session, entry.key, None)
            self._tallies.fold_in(session, entry)
            closed = self._surveys.find(session, digest)
        self._database.forgot()
        return closed

    def delete(self, digest: str) -> int | None:
        """Delete a survey with everything under it: counts, ids, counters, tokens. How many reports were counted.

        Whoever writes reports shares the survey until they are committed, so each is either there and deleted with it,
        or finds no survey and is refused. Its key is not used again: registered anew, a survey starts empty.
        """
        with self._database.writing() as session:
            entry = self._surveys.locked(session, digest)
            if entry is None:
                return None
            reports = self._tallies.reports_in(session, entry.key).get(entry.key, 0)
            self._database.drop_ids(session, entry.key, None)
            for table in (*COUNTED, "token"):
                session.run(f"DELETE FROM {table} WHERE survey = ?", [entry.key])
            session.run("DELETE FROM survey WHERE key = ?", [entry.key])
        self._surveys.forget(digest)
        self._tallies.forget(entry)
        self._database.forgot(survey=True)
        return reports

    def purge(self, *, today: int) -> None:
        """Forget what may be forgotten: ids past their survey's horizon, and windows past its retention. A survey that
        ended longer ago than its horizon is closed for good, and its ids without a day are forgotten with the others.

        From then on reports of those days are refused, whatever a clock says later, so none is counted twice. One call
        forgets at most one day of ids of a survey: a clock that was wrong for an hour costs a day, and not a year.
        Windows that were shown together are deleted together, once the last of them is past its retention.

        A damaged row stays as it is, and the log says so. Windows of its survey are deleted only if every row that says
        which of them were shown together is as it was written. Other surveys are not affected.
        """
        for digest in self._digests():
            try:
                with self._database.writing() as session:
                    entry = self._surveys.locked(session, digest)
                    if entry is not None:
                        self._purge(session, entry, today)
            except StoreError as problem:
                report_damage(digest, f"nothing of it is purged: {problem}")
        self._database.forgot()

    def _digests(self) -> list[str]:
        with self._database.reading() as session:
            return self._surveys.digests(session)

    def _purge(self, session: Session, entry: Entry, today: int) -> None:
        closed = entry.ended_on(today)
        if closed is not None and not entry.final and closed < today - entry.rules.horizon:
            self._surveys.put(session, entry.key, closed=FOR_GOOD)
            self._database.drop_ids(session, entry.key, None)
        sql = "SELECT MIN(day) FROM ids WHERE survey = ? AND day > 0"
        (oldest,) = session.run(sql, [entry.key]).fetchone()
        if oldest is not None and oldest < today - entry.rules.horizon:
            floor = max(entry.floor, oldest + 1)
            self._surveys.put(session, entry.key, floor=floor)
            self._database.drop_ids(session, entry.key, floor)
        # A commit of one report, appended beside its id, would tell whose it is for as long as it is there.
        self._database.join_ids(session, entry.key)
        self._tallies.fold_in(session, entry)
        if entry.rules.retention is not None:
            try:
                self._drop_windows(session, entry, 24 * (today - entry.rules.retention))
            except StoreError as problem:
                report_damage(entry.survey.digest, f"no window of it is deleted: {problem}")

    def _drop_windows(self, session: Session, entry: Entry, last: int) -> None:
        """Delete what ended at the hour `last` or before: blocks of what was shown, and of the rest any window."""
        windows, shown = windows_in(session, entry), shown_in(session, entry)
        whole = [block.last for block in _before(entry, windows, shown) if block.last <= last]
        rest = [span.end for span in ended(entry, windows, last) if span.start >= shown and span.end <= last]
        if not whole and not rest:
            return
        if not self._tallies.are_sealed(session, entry, last):
            raise StoreError("its rows must be as they were written, got another checksum; restore a backup")
        kept = max(whole, default=-(2**31))
        for table in COUNTED:
            session.run(f"DELETE FROM {table} WHERE survey = ? AND win < ?", [entry.key, kept])
            if rest:
                sql = f"DELETE FROM {table} WHERE survey = ? AND win >= ? AND win < ?"
                session.run(sql, [entry.key, shown, max(rest)])


def _before(entry: Entry, windows: Windows, shown: int) -> list[Block]:
    """The blocks before the hour `shown`, which is the end of one: joined as they were when they were shown."""
    spans = [span for span in ended(entry, windows, shown) if span.start < shown]
    return joined(spans, entry.least)
