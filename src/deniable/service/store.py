"""What every store does, in SQL that SQLite and PostgreSQL share.

A commit appends: ids as they came, and one row of counts a survey and window (`delta`). Nothing that is there is
rewritten on the way to an acknowledgement. Later the rows of `delta` are folded into one row of `tally`, in one
transaction, so that a store grows with counters and open ids and not with reports.

What differs is how an id is known to be new, and that is all a subclass adds: `_admit`, `_forget`, `_drop_ids`.
"""

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from deniable.errors import StoreError
from deniable.service.clock import minute_of, window_of
from deniable.service.entries import FOR_GOOD, Counters, Ended, Entry, Outcome, Rules, Upload
from deniable.service.gathering import Bools, Ids, Owner, any_of, gather, outcome_of, spread_over, steps
from deniable.service.problems import Unavailable
from deniable.service.records import REASONS, add_packed, pack_counts
from deniable.service.registry import Cursor, Registry, Session, fixed_rules
from deniable.survey import Survey
from deniable.tally import Tally

__all__ = ["Cursor", "Session", "Store", "Unavailable"]

_CODE = {reason: code for code, reason in enumerate(REASONS)}
_ONE = Outcome(1, 0)
_FOLD_BYTES, _FOLD_ROWS = 1 << 18, 512


class Store(Registry):
    """Surveys, tallies, open ids and tokens, in one database. All writing is done by one thread at a time."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        self._pending: dict[int, _Waiting] = {}

    # What a subclass provides.
    @abstractmethod
    def _admit(self, session: Session, entry: Entry, ids: Ids, days: npt.NDArray[np.int64]) -> Bools:
        """Which ids are new, keeping those; each id that occurs twice is new at its first place."""

    @abstractmethod
    def _forget(self, session: Session, entry: Entry, ids: Ids) -> None:
        """Take back ids that `_admit` kept in this transaction."""

    @abstractmethod
    def open_ids(self) -> int:
        """How many report ids are kept."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back. A store that was killed instead needs no repair."""

    # Uploads.
    def write(self, uploads: Sequence[Upload], *, hours: int, minute: int | None = None) -> list[Outcome | Ended]:
        """Take a group of uploads in one transaction: keep new ids and add their reports to the tally of this hour's
        window, both or neither. `Ended` stands for an upload to a survey that was closed or deleted meanwhile, or whose
        closing date is at or before `minute` (the first of the hour unless given).

        Claim: a report is in the tally exactly once if and only if its id was new in a transaction that committed.
        Proof: tests/properties/test_upload_protocol.py::test_the_upload_protocol
        """
        outcomes: list[Outcome | Ended] = [Ended.DELETED] * len(uploads)
        by_survey: dict[int, list[int]] = {}
        for place, upload in enumerate(uploads):
            by_survey.setdefault(upload.entry.key, []).append(place)
        with self.writing() as session:
            state = self._states(session, by_survey, 60 * hours if minute is None else minute)
            for key in sorted(state):
                ended, floor = state[key]
                if ended:
                    for place in by_survey[key]:
                        outcomes[place] = Ended.CLOSED
                    continue
                for places in steps(uploads, by_survey[key]):
                    found = self._write_one(session, [uploads[i] for i in places], hours=hours, floor=floor)
                    for place, outcome in zip(places, found, strict=True):
                        outcomes[place] = outcome
        return outcomes

    def _states(self, session: Session, keys: Iterable[int], minute: int) -> dict[int, tuple[bool, int]]:
        """Whether each survey that is there has ended, and its floor; both hold until the end of the transaction."""
        wanted = sorted(keys)
        self._share(session, wanted)
        marks = ", ".join("?" * len(wanted))
        rows = session.run(f"SELECT key, closed, floor, rules FROM survey WHERE key IN ({marks})", wanted).fetchall()
        found = {}
        for key, closed, floor, rules in rows:
            closes = json.loads(rules).get("closes")
            found[key] = bool(closed) or (closes is not None and minute >= minute_of(closes)), floor
        return found

    def _write_one(self, session: Session, uploads: list[Upload], *, hours: int, floor: int) -> list[Outcome]:
        entry = uploads[0].entry
        shape, today = entry.shape, hours // 24
        rows, ids, codes, owners = gather(uploads)
        codes[:] = shape.check(rows)
        oldest = max(floor, today - entry.rules.horizon)
        for upload, owner in zip(uploads, owners, strict=True):
            if upload.day and not oldest <= upload.day <= today + 1:
                codes[owner.rows] = _CODE["too_old" if upload.day < oldest else "too_early"]
        # An id is asked about only if at least one report under it is good.
        alone = all(upload.batch is None for upload in uploads)
        good = codes == 0
        asked = good if alone else np.concatenate([any_of(good[o.rows], o.ids) for o in owners])
        days = np.repeat([upload.day for upload in uploads], [owner.ids.stop - owner.ids.start for owner in owners])
        new = np.zeros(len(ids), bool)
        if asked.all():
            new[:] = self._admit(session, entry, ids, days)
        elif asked.any():
            new[asked] = self._admit(session, entry, ids[asked], days[asked])
        if any(upload.token is not None for upload in uploads):
            self._charge(session, entry, uploads, owners, ids, new, good, codes)
        spread = new if alone else np.concatenate([spread_over(new[o.ids], o.rows) for o in owners])
        codes[good & ~spread & (codes == 0)] = _CODE["duplicate"]
        counters = Counters()
        counters.add_codes(codes)
        for upload in uploads:
            if upload.noted:
                counters.add(upload.noted)
        accepted = codes == 0
        taken = rows if accepted.all() else rows[accepted]
        packed = pack_counts(shape.size, *shape.count(taken)) if len(taken) else None
        window = window_of(entry.rules.window, hours)
        session.run(
            "INSERT INTO delta (survey, win, counts, counters) VALUES (?, ?, ?, ?)",
            [entry.key, window, packed, counters.to_json()],
        )
        waiting = self._pending.setdefault(entry.key, _Waiting(entry))
        waiting.rows += 1
        waiting.size += len(packed or b"")
        if not codes.any():
            return [
                _ONE if owner.rows.stop - owner.rows.start == 1 else outcome_of(codes[owner.rows]) for owner in owners
            ]
        return [outcome_of(codes[owner.rows]) for owner in owners]

    def _charge(
        self,
        session: Session,
        entry: Entry,
        uploads: list[Upload],
        owners: list[Owner],
        ids: Ids,
        new: Bools,
        good: Bools,
        codes: npt.NDArray[np.uint8],
    ) -> None:
        """Refuse what goes beyond a token's quota: those reports are not counted and their ids are not kept."""
        left: dict[str, int | None] = {}
        for secret in sorted({upload.token for upload in uploads if upload.token is not None}):
            row = session.run(
                f"SELECT quota, used FROM token WHERE hash = ? AND survey = ?{self._for_update}", [secret, entry.key]
            ).fetchone()
            left[secret] = 0 if row is None else None if row[0] is None else row[0] - row[1]
        spent = dict.fromkeys(left, 0)
        for upload, owner in zip(uploads, owners, strict=True):
            if upload.token is None:
                continue
            fresh = good[owner.rows] & spread_over(new[owner.ids], owner.rows)
            wanted, room = int(fresh.sum()), left[upload.token]
            if room is not None and wanted > room - spent[upload.token]:
                keep = 0 if upload.batch is not None else max(0, room - spent[upload.token])
                over = np.flatnonzero(fresh)[keep:]
                codes[owner.rows][over] = _CODE["quota"]
                gone = np.arange(owner.ids.start, owner.ids.stop)[over if upload.batch is None else slice(None)]
                self._forget(session, entry, ids[gone])
                new[gone] = False
                wanted = keep
            spent[upload.token] += wanted
        for secret, count in spent.items():
            session.run("UPDATE token SET used = used + ? WHERE hash = ?", [count, secret])

    _for_update: ClassVar[str] = ""

    def _forgotten(self, entry: Entry) -> None:
        self._pending.pop(entry.key, None)

    # Folding.
    def tidy(self) -> None:
        """Fold surveys whose appended rows have outgrown their counters; done between groups, after the answers."""
        for waiting in list(self._pending.values()):
            enough = max(_FOLD_BYTES, 16 * waiting.entry.shape.size)
            if waiting.rows >= _FOLD_ROWS or waiting.size >= enough:
                self.fold(waiting.entry)

    def fold(self, entry: Entry) -> None:
        """Move a survey's appended counts into its tallies. What cannot be folded now stays as it is, and counts."""
        self._pending.pop(entry.key, None)
        try:
            with self.writing() as session:
                self._fold(session, entry)
        except (Unavailable, StoreError):
            return

    def _lock_fold(self, session: Session, entry: Entry) -> bool:
        return True

    def _fold(self, session: Session, entry: Entry) -> None:
        if not self._lock_fold(session, entry):
            return
        rows = session.run("SELECT seq, win, counts, counters FROM delta WHERE survey = ?", [entry.key]).fetchall()
        windows: dict[int, tuple[npt.NDArray[np.int64], Counters]] = {}
        for _, window, counts, counters in rows:
            if window not in windows:
                windows[window] = np.zeros(entry.shape.size, np.int64), Counters()
                self._add(windows[window], self._folded(session, entry, window))
            self._add(windows[window], [(counts, counters)])
        for window, (vector, total) in windows.items():
            places = np.flatnonzero(vector)
            packed = pack_counts(entry.shape.size, places, vector[places])
            session.run(
                "INSERT INTO tally (survey, win, counts, counters) VALUES (?, ?, ?, ?) ON CONFLICT (survey, win) "
                "DO UPDATE SET counts = excluded.counts, counters = excluded.counters",
                [entry.key, window, packed, total.to_json()],
            )
        for start in range(0, len(rows), 500):
            part = [row[0] for row in rows[start : start + 500]]
            session.run(f"DELETE FROM delta WHERE seq IN ({', '.join('?' * len(part))})", part)

    @staticmethod
    def _folded(session: Session, entry: Entry, window: int) -> list[Any]:
        sql = "SELECT counts, counters FROM tally WHERE survey = ? AND win = ?"
        return session.run(sql, [entry.key, window]).fetchall()

    @staticmethod
    def _add(total: tuple[npt.NDArray[np.int64], Counters], rows: Iterable[Any]) -> None:
        for counts, counters in rows:
            if counts is not None:
                add_packed(total[0], counts)
            total[1].add(json.loads(counters))

    # Results.
    def windows(self, entry: Entry) -> dict[int, dict[str, int]]:
        """The counters of every window."""
        found: dict[int, Counters] = {}
        with self.reading() as session:
            for table in ("tally", "delta", "shard"):
                sql = f"SELECT win, counters FROM {table} WHERE survey = ?"
                for window, counters in session.run(sql, [entry.key]).fetchall():
                    found.setdefault(window, Counters()).add(json.loads(counters))
        return {window: found[window].counts for window in sorted(found)}

    def tally(self, entry: Entry, first: int | None = None, last: int | None = None) -> Tally:
        """The sum of the windows that start at or after the hour `first` and before the hour `last`."""
        total = np.zeros(entry.shape.size, np.int64), Counters()
        with self.reading() as session:
            for table in ("tally", "delta", "shard"):
                self._add(total, self._range(session, table, entry, first, last))
        return entry.shape.tally(total[0])

    def own_tallies(self, entry: Entry) -> dict[int, tuple[bytes, str]]:
        """This store's own counts and counters by window, shards left out: what it gives away as a shard."""
        found: dict[int, tuple[npt.NDArray[np.int64], Counters]] = {}
        with self.reading() as session:
            for table in ("tally", "delta"):
                sql = f"SELECT win, counts, counters FROM {table} WHERE survey = ?"
                for window, counts, counters in session.run(sql, [entry.key]).fetchall():
                    total = found.setdefault(window, (np.zeros(entry.shape.size, np.int64), Counters()))
                    self._add(total, [(counts, counters)])
        size = entry.shape.size
        return {
            window: (pack_counts(size, np.flatnonzero(vector), vector[vector != 0]), counters.to_json())
            for window, (vector, counters) in found.items()
        }

    @staticmethod
    def _range(session: Session, table: str, entry: Entry, first: int | None, last: int | None) -> list[Any]:
        sql = f"SELECT counts, counters FROM {table} WHERE survey = ? AND win >= ? AND win < ?"
        bounds = [-(2**31) if first is None else first, 2**31 - 1 if last is None else last]
        return session.run(sql, [entry.key, *bounds]).fetchall()

    def take_shard(self, source: str, survey: Survey, rules: Rules, tallies: dict[int, tuple[bytes, str]]) -> None:
        """Put another store's counts beside ours; taking a later state of the same store replaces the earlier one."""
        with self.writing() as session:
            entry, _ = self._create(session, survey, rules)
            if entry.rules.fixed != rules.fixed:
                raise fixed_rules(survey)
            session.run("DELETE FROM shard WHERE source = ? AND survey = ?", [source, entry.key])
            for window, (counts, counters) in tallies.items():
                session.run(
                    "INSERT INTO shard (source, survey, win, counts, counters) VALUES (?, ?, ?, ?, ?)",
                    [source, entry.key, window, counts, counters],
                )

    # Retention.
    def purge(self, *, today: int) -> None:
        """Forget what may be forgotten: ids past their survey's horizon, and windows past its retention. A survey that
        ended longer ago than its horizon is closed for good, and its ids without a day are forgotten with the others.

        From then on reports of those days are refused, whatever a clock says later, so none is counted twice. One call
        forgets at most one day of ids of a survey: a clock that was wrong for an hour costs a day, and not a year.
        """
        for digest in [entry.survey.digest for entry in self.entries()]:
            with self.writing() as session:
                entry = self._locked(session, digest)
                if entry is None:
                    continue
                ended = entry.ended_on(today)
                if ended is not None and not entry.final and ended < today - entry.rules.horizon:
                    session.run("UPDATE survey SET closed = ? WHERE key = ?", [FOR_GOOD, entry.key])
                    self._drop_ids(session, entry, None)
                sql = "SELECT MIN(day) FROM ids WHERE survey = ? AND day > 0"
                (oldest,) = session.run(sql, [entry.key]).fetchone()
                if oldest is not None and oldest < today - entry.rules.horizon:
                    floor = max(entry.floor, oldest + 1)
                    session.run("UPDATE survey SET floor = ? WHERE key = ?", [floor, entry.key])
                    self._drop_ids(session, entry, floor)
                if entry.rules.retention is not None:
                    last = 24 * (today - entry.rules.retention)
                    for table in ("tally", "delta", "shard"):
                        session.run(f"DELETE FROM {table} WHERE survey = ? AND win < ?", [entry.key, last])

    def check(self) -> Iterator[str]:
        """Every invariant that does not hold, as a sentence; nothing for a sound store."""
        for entry in self.entries():
            try:
                found = self.tally(entry)
            except ValueError as problem:
                yield f"survey {entry.survey.digest[:8]}: {problem}"
                continue
            accepted = sum(counters.get("accepted", 0) for counters in self.windows(entry).values())
            if accepted != found.n:
                yield (
                    f"survey {entry.survey.digest[:8]}: counts must hold the {accepted} reports that were accepted, "
                    f"got {found.n}"
                )


class _Waiting:
    """How much of a survey was appended since it was last folded."""

    __slots__ = ("entry", "rows", "size")

    def __init__(self, entry: Entry) -> None:
        self.entry, self.rows, self.size = entry, 0, 0
