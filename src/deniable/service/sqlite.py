"""The embedded store: one directory, one writing process, every commit on disk before it is acknowledged.

Ids are appended as they come, sixteen bytes each in rows of one commit, and never looked up on disk: the set of open
ids is in memory (`seen`), built from those rows at the start. Rows are sorted inside, so that what is stored does not
say which id came with which report.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable.errors import StoreError
from deniable.service.entries import FOR_GOOD, Entry
from deniable.service.gathering import Bools, Ids
from deniable.service.problems import Unavailable
from deniable.service.seals import seal
from deniable.service.seen import Prints, Seen
from deniable.service.store import Cursor, Session, Store

__all__ = ["FILE", "SQLiteStore", "private"]

FILE = "collector.sqlite"
_JOINED = 1 << 16  # bytes of ids from which on a row stays as it is
_WAIT = 2.0  # seconds for another process that holds the database

# What goes away by itself or when somebody makes room. After anything else the state on disk is not known.
_PASSING = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_BUSY: "the database is locked by another process",
    sqlite3.SQLITE_LOCKED: "the database is locked by another process",
    sqlite3.SQLITE_READONLY: "the disk can only be read",
}


def private(path: str | os.PathLike[str]) -> None:
    """A file for its owner alone, from the moment that it is there."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


# What reading a damaged file raises: SQLite's own message about a name in it may not be UTF-8.
_DAMAGED = (sqlite3.Error, UnicodeDecodeError)


class _Connection(Session):
    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def run(self, sql: str, values: Sequence[object] = ()) -> Cursor:
        return self.raw.execute(sql, values)


class SQLiteStore(Store):
    """A store in a directory. Without `write` it may be opened beside the process that writes.

    >>> import tempfile, deniable as dn
    >>> from deniable.service.entries import Rules, Upload
    >>> survey = dn.krr(symbols=["a", "b"], epsilon=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = SQLiteStore(folder)
    ...     entry, _ = store.create(survey, Rules())
    ...     upload = Upload(entry, bytes(16) + dn.Report(survey, 0, b"\\x01").pack())
    ...     found = [store.write([upload], hours=480_000) for _ in range(2)]
    ...     print(*found, store.tally(entry).n)
    ...     store.close()
    [Outcome(accepted=1, duplicate=0, refused=())] [Outcome(accepted=0, duplicate=1, refused=())] 1
    """

    kind = "sqlite"
    ROW: ClassVar[tuple[str, str]] = ("rowid", "rowid = ?")
    TABLES: ClassVar[tuple[str, ...]] = (
        "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS survey (key INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT UNIQUE NOT NULL, "
        "body TEXT NOT NULL, rules TEXT NOT NULL, closed INTEGER NOT NULL, floor INTEGER NOT NULL, "
        "shown INTEGER NOT NULL DEFAULT 0, seal BIGINT NOT NULL DEFAULT 0)",
        "CREATE TABLE IF NOT EXISTS delta (seq INTEGER PRIMARY KEY, survey INTEGER NOT NULL, win INTEGER NOT NULL, "
        "counts BLOB, counters TEXT NOT NULL, seal BIGINT NOT NULL DEFAULT 0)",
        "CREATE TABLE IF NOT EXISTS tally (survey INTEGER, win INTEGER, counts BLOB, counters TEXT NOT NULL, "
        "seal BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (survey, win))",
        "CREATE TABLE IF NOT EXISTS shard (source TEXT, survey INTEGER, win INTEGER, counts BLOB, "
        "counters TEXT NOT NULL, seal BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (source, survey, win))",
        "CREATE TABLE IF NOT EXISTS token (hash TEXT PRIMARY KEY, survey INTEGER NOT NULL, kind TEXT NOT NULL, "
        "quota INTEGER, used INTEGER NOT NULL, name TEXT NOT NULL, seal BIGINT NOT NULL DEFAULT 0)",
        "CREATE TABLE IF NOT EXISTS ids (survey INTEGER NOT NULL, day INTEGER NOT NULL, ids BLOB NOT NULL, "
        "seal BIGINT NOT NULL DEFAULT 0)",
    )

    def __init__(self, folder: str | os.PathLike[str], *, write: bool = True) -> None:
        super().__init__()
        self.folder, self.path = Path(folder), Path(folder) / FILE
        self.where = str(self.folder.absolute())
        self.broken: str | None = None
        self._lock: int | None = None
        self._fresh: list[tuple[Entry, Ids, npt.NDArray[np.int64], Prints]] = []
        self._stale = 0
        if not write:
            if not self.path.exists():
                raise StoreError(f"{self.folder} must be a store, got no {FILE} in it")
            return
        self._take_lock()
        try:
            self._connection = self._connect()
            with self.writing() as session:
                self._prepare(session)
            self._load()
        except (*_DAMAGED, Unavailable) as problem:
            self._give_lock()
            raise StoreError(f"{self.path} must be a sound store: {problem}; restore a backup") from None
        except BaseException:
            self._give_lock()
            raise

    def _take_lock(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._give_lock()
            raise StoreError(
                f"{self.folder} must have one writing process, got a second; for several use PostgreSQL or a store each"
            ) from None

    def _give_lock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _connect(self) -> _Connection:
        private(self.path)  # the database's other files get its mode
        raw = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("PRAGMA synchronous = FULL")  # a commit is on disk, not only handed to the system
        raw.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten: ids, and commits of one report
        raw.execute("PRAGMA journal_size_limit = 67108864")
        return _Connection(raw)

    def _load(self) -> None:
        """Build the set of open ids from disk."""
        self._seen, self._stale = Seen(), 0
        rows = self._connection.raw.execute("SELECT survey, ids FROM ids ORDER BY survey")
        waiting: list[bytes] = []
        size, current = 0, None
        for survey, ids in rows:
            if survey != current or size >= 1 << 20:
                self._remember(current, waiting)
                waiting, size, current = [], 0, survey
            waiting.append(ids)
            size += len(ids)
        self._remember(current, waiting)

    def _remember(self, survey: int | None, rows: list[bytes]) -> None:
        if survey is not None and rows:
            joined = b"".join(rows)
            if len(joined) % 16:
                raise StoreError(f"{self.path} must be a sound store: ids must be of 16 bytes each; restore a backup")
            ids = np.frombuffer(joined, np.uint8).reshape(-1, 16)
            self._seen.add(self._seen.prints(survey, ids))

    @contextmanager
    def writing(self) -> Iterator[Session]:
        if self.broken is not None:
            raise Unavailable(self.broken)
        raw = self._connection.raw
        self._fresh.clear()
        try:
            raw.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._append_ids()
            raw.execute("COMMIT")
        except _DAMAGED as problem:
            self._undo()
            code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
            if code not in _PASSING:
                # Whether the last commit reached the disk is not known: only a restart may trust the file again.
                self.broken = f"the database failed: {problem}; check the disk, then restart"
            raise Unavailable(_PASSING.get(code) or self.broken or "the database failed") from None
        except BaseException:
            self._undo()
            raise
        try:
            for _, _, _, prints in self._fresh:
                self._seen.add(prints)
        except BaseException:
            # Committed, but not known in memory: a report sent again would be counted again, so none is taken.
            self.broken = "the ids of the last commit do not fit into memory; restart with more of it"
            raise
        finally:
            self._fresh.clear()

    def _undo(self) -> None:
        self._fresh.clear()
        try:
            if self._connection.raw.in_transaction:
                self._connection.raw.execute("ROLLBACK")
        except sqlite3.Error as problem:
            self.broken = f"the database failed: {problem}; check the disk, then restart"

    def _append_ids(self) -> None:
        for entry, ids, days, _ in self._fresh:
            for day in np.unique(days).tolist():
                chosen = ids[days == day]
                order = np.argsort(chosen.view("<u8")[:, 0])
                self._insert(self._connection, "ids", [entry.key, day, chosen[order].tobytes()])

    @contextmanager
    def reading(self) -> Iterator[Session]:
        try:
            raw = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", timeout=_WAIT, uri=True)
        except sqlite3.Error as problem:
            raise Unavailable(f"the database cannot be read: {problem}") from None
        try:
            raw.execute("BEGIN")
            yield _Connection(raw)
        except _DAMAGED as problem:
            raise Unavailable(f"the database cannot be read: {problem}") from None
        finally:
            raw.close()

    def _admit(self, session: Session, entry: Entry, ids: Ids, days: npt.NDArray[np.int64]) -> Bools:
        prints = self._seen.prints(entry.key, ids)
        new = ~self._seen.find(prints)
        if len(np.unique(prints[0])) < len(ids):
            first = np.zeros(len(ids), bool)
            first[np.unique(ids, axis=0, return_index=True)[1]] = True
            new &= first
        earlier = {row.tobytes() for owner, kept, _, _ in self._fresh if owner.key == entry.key for row in kept}
        if earlier:
            new &= np.array([row.tobytes() not in earlier for row in ids], bool)
        self._fresh.append((entry, ids[new], days[new], (prints[0][new], prints[1][new])))
        return new

    def _forget(self, session: Session, entry: Entry, ids: Ids) -> None:
        gone = {row.tobytes() for row in ids}
        for place, (owner, kept, days, prints) in enumerate(self._fresh):
            if owner.key == entry.key:
                stay = np.array([row.tobytes() not in gone for row in kept], bool)
                self._fresh[place] = owner, kept[stay], days[stay], (prints[0][stay], prints[1][stay])

    def _drop_ids(self, session: Session, entry: Entry, before: int | None) -> None:
        # What stays behind in memory only says "duplicate" where "too old" is said first; it goes with the next load.
        where, values = ("", [entry.key]) if before is None else (" AND day > 0 AND day < ?", [entry.key, before])
        gone = session.run(f"SELECT COALESCE(SUM(LENGTH(ids)), 0) FROM ids WHERE survey = ?{where}", values).fetchone()
        session.run(f"DELETE FROM ids WHERE survey = ?{where}", values)
        self._stale += gone[0] // 16

    # One process writes, one transaction after the other: a survey is its own for as long as a transaction lasts.
    def _share(self, session: Session, keys: Sequence[int]) -> None:
        pass

    def _alone(self, session: Session, key: int) -> None:
        pass

    def purge(self, *, today: int) -> None:
        super().purge(today=today)
        for entry in self.entries():
            with self.writing() as session:
                self._join_ids(session, entry)
        self._cut_log()
        if self._stale > 100_000 and 2 * self._stale > len(self._seen):
            self._load_again()

    def delete(self, digest: str) -> int | None:
        try:
            return super().delete(digest)
        finally:
            self._cut_log()

    def end(self, digest: str, *, day: int = FOR_GOOD) -> Entry | None:
        try:
            return super().end(digest, day=day)
        finally:
            self._cut_log()

    def _join_ids(self, session: Session, entry: Entry) -> None:
        """Join rows of few ids of a day into one, in the order of the ids: a row for each commit would say for as long
        as ids are kept which report came before which. A damaged row stays as it is, and does not get a new seal."""
        sql = "SELECT rowid, day, ids, seal FROM ids WHERE survey = ? AND LENGTH(ids) < ? ORDER BY day"
        found = session.run(sql, [entry.key, _JOINED]).fetchall()
        small = [row[:3] for row in found if row[3] == seal("ids", entry.key, *row[1:3])]
        for day, rows in groupby(small, key=lambda row: row[1]):
            chosen = list(rows)
            if len(chosen) < 2:
                continue
            ids = np.frombuffer(b"".join(row[2] for row in chosen), np.uint8).reshape(-1, 16)
            ids = ids[np.lexsort((ids.view(">u8")[:, 1], ids.view(">u8")[:, 0]))]
            for number, _, _ in chosen:
                session.run("DELETE FROM ids WHERE rowid = ?", [number])
            self._insert(session, "ids", [entry.key, day, ids.tobytes()])

    def _cut_log(self) -> None:
        """Empty the write-ahead log, which holds what was overwritten in the database. While somebody reads, or on a
        full disk, it is cut at the next chance."""
        raw = self._connection.raw
        with contextlib.suppress(sqlite3.Error):
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _forgotten(self, entry: Entry) -> None:
        super()._forgotten(entry)
        if self._stale:
            self._load_again()

    def _load_again(self) -> None:
        """Build the set of open ids anew, without those that are gone. What is not in it would be counted twice, so
        whatever goes wrong here ends the writing."""
        self._seen = Seen()  # given back before the new one is built
        try:
            self._load()
        except BaseException as problem:
            self.broken = f"the ids cannot be read again: {problem}; check the disk and the memory, then restart"
            raise

    def _check_database(self, session: Session) -> Iterator[str]:
        for (found,) in session.run("PRAGMA integrity_check(10)").fetchall():
            if found != "ok":
                yield f"the database must hold together: {' '.join(str(found).split())}"

    def _columns(self, session: Session, table: str) -> set[str]:
        return {row[1] for row in session.run(f"PRAGMA table_info({table})").fetchall()}

    def _check_ids(self, session: Session, entry: Entry, sealed: bool) -> Iterator[str | int]:
        known: list[bytes] = []
        changed = False
        columns = ("survey", "day", "ids", "seal" if sealed else "NULL")
        for _, survey, day, ids, found in self._rows(session, "ids", columns, entry.key):
            if type(ids) is not bytes or not ids or len(ids) % 16 or type(day) is not int or day < 0:
                yield "ids must be of 16 bytes each, with a day"
                return
            known.append(ids)
            changed |= sealed and found != seal("ids", survey, day, ids)
        if changed:
            yield "table ids: a row must be as it was written, got another checksum"
        joined = np.frombuffer(b"".join(known), [("high", "<u8"), ("low", "<u8")])
        if len(np.unique(joined)) < len(joined):
            yield "each id must be kept once, got one twice"
        yield len(joined)

    def open_ids(self) -> int:
        return len(self._seen) - self._stale

    def close(self) -> None:
        if self._lock is None:
            return
        if self.broken is None:
            for entry in self.entries():
                self.fold(entry)
            self._cut_log()
        self._connection.raw.close()
        self._give_lock()

    def limit_pages(self, pages: int) -> None:
        """Let the database grow to so many pages and no further: a small disk, for tests of a full one."""
        self._connection.raw.execute(f"PRAGMA max_page_count = {pages}")
