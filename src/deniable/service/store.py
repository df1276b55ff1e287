"""What every store does, in SQL that SQLite and PostgreSQL share.

A commit appends: ids as they came, and one row of counts a survey and window (`delta`). Nothing that is there is
rewritten on the way to an acknowledgement. Later the rows of `delta` are folded into one row of `tally`, in one
transaction, so that a store grows with counters and open ids and not with reports.

What differs is how an id is known to be new, and that is all a subclass adds: `_admit`, `_forget`, `_drop_ids`.
"""

import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from deniable.errors import StoreError
from deniable.service.clock import window_of
from deniable.service.entries import Counters, Entry, Outcome, Rules, Token, Upload
from deniable.service.gathering import Bools, Ids, Owner, any_of, gather, outcome_of, spread_over, steps
from deniable.service.problems import Unavailable
from deniable.service.records import REASONS, add_packed, pack_counts
from deniable.survey import Survey
from deniable.tally import Tally

__all__ = ["Store", "Unavailable"]

SCHEMA = 1
_CODE = {reason: code for code, reason in enumerate(REASONS)}
_ONE = Outcome(1, 0)
_FOLD_BYTES, _FOLD_ROWS = 1 << 18, 512


class Cursor(Protocol):
    """What both databases' drivers return."""

    def fetchall(self) -> list[Any]: ...
    def fetchone(self) -> Any: ...


class Session(ABC):
    """One transaction: `run` takes SQL with question marks for the values."""

    @abstractmethod
    def run(self, sql: str, values: Sequence[object] = ()) -> Cursor: ...


class Store(ABC):
    """Surveys, tallies, open ids and tokens, in one database. All writing is done by one thread at a time."""

    kind: ClassVar[str]
    TABLES: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        self._pending: dict[int, _Waiting] = {}

    # What a subclass provides.
    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """A transaction that may write: committed at the end, undone on an error."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees one state, on a connection of its own; for any thread."""

    @abstractmethod
    def _admit(self, session: Session, entry: Entry, ids: Ids, days: npt.NDArray[np.int64]) -> Bools:
        """Which ids are new, keeping those; each id that occurs twice is new at its first place."""

    @abstractmethod
    def _forget(self, session: Session, entry: Entry, ids: Ids) -> None:
        """Take back ids that `_admit` kept in this transaction."""

    @abstractmethod
    def _drop_ids(self, session: Session, entry: Entry, before: int | None) -> None:
        """Forget the ids of days before `before` (those without a day stay), or all of them."""

    @abstractmethod
    def open_ids(self) -> int:
        """How many report ids are kept."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back. A store that was killed instead needs no repair."""

    # The layout.
    def _prepare(self, session: Session) -> None:
        for statement in self.TABLES:
            session.run(statement)
        found = session.run("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        if found is None:
            session.run("INSERT INTO meta (name, value) VALUES ('schema', ?)", [str(SCHEMA)])
            session.run("INSERT INTO meta (name, value) VALUES ('store', ?)", [uuid.uuid4().hex])
        elif found[0] != str(SCHEMA):
            raise StoreError(f"store must have layout {SCHEMA}, got {found[0]}; use the version that made it")

    def name(self) -> str:
        """A random name that this store was born with; shards are known by it."""
        with self.reading() as session:
            return str(session.run("SELECT value FROM meta WHERE name = 'store'").fetchone()[0])

    # Surveys.
    def create(self, survey: Survey, rules: Rules) -> tuple[Entry, bool]:
        """Add a survey; adding the same one again with the same rules changes nothing. Also whether it is new."""
        with self.writing() as session:
            new = session.run("SELECT 1 FROM survey WHERE digest = ?", [survey.digest]).fetchone() is None
            session.run(
                "INSERT INTO survey (digest, body, rules, closed, floor) VALUES (?, ?, ?, 0, 0) "
                "ON CONFLICT (digest) DO NOTHING",
                [survey.digest, survey.to_json(), json.dumps(rules.to_json(), sort_keys=True)],
            )
            entry = self._entry(session, survey.digest)
        if entry.rules != rules:
            raise StoreError(
                f"rules must stay as they are once survey {survey.digest[:8]} is created; make a new survey instead"
            )
        return entry, new

    def entries(self) -> list[Entry]:
        """Every survey, in the order of creation."""
        with self.reading() as session:
            rows = session.run("SELECT digest FROM survey ORDER BY key").fetchall()
            return [self._entry(session, digest) for (digest,) in rows]

    def entry(self, digest: str) -> Entry | None:
        """The survey with this digest, or None."""
        with self.reading() as session:
            found = session.run("SELECT 1 FROM survey WHERE digest = ?", [digest]).fetchone()
            return None if found is None else self._entry(session, digest)

    def _entry(self, session: Session, digest: str) -> Entry:
        columns = "key, body, rules, closed, floor"
        key, body, rules, closed, floor = session.run(
            f"SELECT {columns} FROM survey WHERE digest = ?", [digest]
        ).fetchone()
        return Entry(key, Survey.from_json(body), Rules.read(json.loads(rules)), bool(closed), floor)

    def end(self, digest: str) -> Entry:
        """Close a survey for good: no report is taken any more, so its ids are forgotten; its counts stay."""
        with self.writing() as session:
            session.run("UPDATE survey SET closed = 1 WHERE digest = ?", [digest])
            entry = self._entry(session, digest)
            self._drop_ids(session, entry, None)
            self._fold(session, entry)
        return entry

    # Uploads.
    def write(self, uploads: Sequence[Upload], *, hours: int) -> list[Outcome | None]:
        """Take a group of uploads in one transaction: keep new ids and add their reports to the tally of this hour's
        window, both or neither. None stands for an upload to a survey that was closed meanwhile.

        Claim: a report is in the tally exactly once if and only if its id was new in a transaction that committed.
        Proof: tests/properties/test_upload_protocol.py::test_the_upload_protocol
        """
        outcomes: list[Outcome | None] = [None] * len(uploads)
        by_survey: dict[int, list[int]] = {}
        for place, upload in enumerate(uploads):
            by_survey.setdefault(upload.entry.key, []).append(place)
        with self.writing() as session:
            state = self._states(session, by_survey)
            for key in sorted(by_survey):
                closed, floor = state[key]
                if not closed:
                    for places in steps(uploads, by_survey[key]):
                        found = self._write_one(session, [uploads[i] for i in places], hours=hours, floor=floor)
                        for place, outcome in zip(places, found, strict=True):
                            outcomes[place] = outcome
        return outcomes

    def _states(self, session: Session, keys: Iterable[int]) -> dict[int, tuple[bool, int]]:
        wanted = sorted(keys)
        marks = ", ".join("?" * len(wanted))
        rows = session.run(f"SELECT key, closed, floor FROM survey WHERE key IN ({marks})", wanted).fetchall()
        return {key: (bool(closed), floor) for key, closed, floor in rows}

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
        entry, _ = self.create(survey, rules)
        with self.writing() as session:
            session.run("DELETE FROM shard WHERE source = ? AND survey = ?", [source, entry.key])
            for window, (counts, counters) in tallies.items():
                session.run(
                    "INSERT INTO shard (source, survey, win, counts, counters) VALUES (?, ?, ?, ?, ?)",
                    [source, entry.key, window, counts, counters],
                )

    # Tokens.
    def add_token(self, token: Token) -> None:
        """Keep the hash of a secret; the secret itself is never stored."""
        with self.writing() as session:
            session.run(
                "INSERT INTO token (hash, survey, kind, quota, used, name) VALUES (?, ?, ?, ?, ?, ?)",
                [token.hash, token.survey, token.kind, token.quota, token.used, token.name],
            )

    def tokens(self, entry: Entry) -> list[Token]:
        """The tokens of a survey."""
        with self.reading() as session:
            sql = "SELECT hash, survey, kind, quota, used, name FROM token WHERE survey = ? ORDER BY hash"
            return [Token(*row) for row in session.run(sql, [entry.key]).fetchall()]

    def drop_token(self, entry: Entry, prefix: str) -> bool:
        """Revoke the token whose hash starts like this; whether there was one."""
        names = [token.hash for token in self.tokens(entry) if token.hash.startswith(prefix)]
        with self.writing() as session:
            for name in names:
                session.run("DELETE FROM token WHERE hash = ?", [name])
        return bool(names)

    # Retention.
    def purge(self, *, today: int) -> None:
        """Forget what may be forgotten: ids past their survey's horizon, and windows past its retention.

        From then on reports of those days are refused, whatever a clock says later, so none is counted twice. One call
        forgets at most one day of ids of a survey: a clock that was wrong for an hour costs a day, and not a year.
        """
        for entry in self.entries():
            with self.writing() as session:
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
