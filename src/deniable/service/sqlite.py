"""The embedded store: one directory, one writing process, every commit on disk before it is acknowledged.

Ids are appended as they come, sixteen bytes each in rows of one commit, and never looked up on disk: the set of open
ids is in memory (`seen`), built from those rows at the start. Rows are sorted inside, so that what is stored does not
say which id came with which report.
"""

import contextlib
import fcntl
import filecmp
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count, groupby
from pathlib import Path

import numpy as np

from deniable.errors import StoreError
from deniable.service.database import Bools, Cursor, Database, Days, Ids, Session, tables
from deniable.service.migrations import seal_rows
from deniable.service.problems import Unavailable
from deniable.service.seals import insert, seal
from deniable.service.seen import Prints, Seen
from deniable.service.store import Store
from deniable.survey import output_file

FILE = "collector.sqlite"
_JOINED = 1 << 16  # bytes of ids from which on a row stays as it is
_MOST_STALE = 100_000  # ids in memory that are forgotten on disk, from which on the set of ids may be built anew
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


def copy_database(path: Path, file: str) -> None:
    """Copy a database into a file, in one state also while others write, and refuse it if its pages do not hold
    together."""
    with (
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(file)) as copy,
    ):
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        sound(copy, str(path))


def sound(database: sqlite3.Connection, name: str) -> None:
    """Refuse a database whose pages do not hold together."""
    try:
        found = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.DatabaseError as problem:
        found = str(problem)
    if found != "ok":
        found = " ".join(found.split())
        raise StoreError(f"{name} must be a sound database: {found}; use an earlier backup")


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

    database: "SQLite"

    def __init__(self, folder: str | os.PathLike[str], *, write: bool = True, migrate: bool = True) -> None:
        super().__init__(SQLite(folder, write=write), migrate=migrate)


class SQLite(Database):
    """The database of an embedded store: one file in a directory, and a lock. `copied`: it was just made from a backup,
    so that an upgrade needs no other one."""

    kind = "sqlite"
    shared = False
    ROW = ("rowid", "rowid = ?")
    TABLES = tables(
        key="INTEGER PRIMARY KEY AUTOINCREMENT",
        number="INTEGER",
        blob="BLOB",
        ids="survey INTEGER NOT NULL, day INTEGER NOT NULL, ids BLOB NOT NULL, seal BIGINT NOT NULL",
    )

    def __init__(self, folder: str | os.PathLike[str], *, write: bool = True, copied: bool = False) -> None:
        self.folder, self.path, self._copied = Path(folder), Path(folder) / FILE, copied
        self.where, self.writable = str(self.folder.absolute()), write
        self._lock: int | None = None
        self._fresh: list[tuple[int, Ids, Days, Prints]] = []
        self._stale = 0
        if not write:
            if not self.path.exists():
                raise StoreError(f"{self.folder} must be a store, got no {FILE} in it")
            return
        self._take_lock()
        try:
            self._connection = self._connect()
        except _DAMAGED as problem:
            self._give_lock()
            raise StoreError(self.refusal(Unavailable(str(problem)))) from None
        except BaseException:
            self._give_lock()
            raise

    def refusal(self, problem: Unavailable) -> str:
        return f"{self.path} must be a sound store: {problem}; restore a backup"

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

    def load(self) -> None:
        """Build the set of open ids from disk."""
        self._seen, self._stale = Seen(), 0
        waiting: list[bytes] = []
        size, current = 0, None
        try:
            for survey, ids in self._connection.raw.execute("SELECT survey, ids FROM ids ORDER BY survey"):
                if survey != current or size >= 1 << 20:
                    self._remember(current, waiting)
                    waiting, size, current = [], 0, survey
                waiting.append(ids)
                size += len(ids)
        except _DAMAGED as problem:
            raise Unavailable(str(problem)) from None
        self._remember(current, waiting)

    def _remember(self, survey: int | None, rows: list[bytes]) -> None:
        if survey is not None and rows:
            joined = b"".join(rows)
            if len(joined) % 16:
                raise Unavailable("ids must be of 16 bytes each")
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
        for key, ids, days, _ in self._fresh:
            for day in np.unique(days).tolist():
                chosen = ids[days == day]
                order = np.argsort(chosen.view("<u8")[:, 0])
                insert(self._connection, "ids", [key, day, chosen[order].tobytes()])

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

    def admit(self, session: Session, key: int, ids: Ids, days: Days) -> Bools:
        prints = self._seen.prints(key, ids)
        new = ~self._seen.find(prints)
        if len(np.unique(prints[0])) < len(ids):
            first = np.zeros(len(ids), bool)
            first[np.unique(ids, axis=0, return_index=True)[1]] = True
            new &= first
        earlier = {row.tobytes() for owner, kept, _, _ in self._fresh if owner == key for row in kept}
        if earlier:
            new &= np.array([row.tobytes() not in earlier for row in ids], bool)
        self._fresh.append((key, ids[new], days[new], (prints[0][new], prints[1][new])))
        return new

    def forget(self, session: Session, key: int, ids: Ids) -> None:
        gone = {row.tobytes() for row in ids}
        for place, (owner, kept, days, prints) in enumerate(self._fresh):
            if owner == key:
                stay = np.array([row.tobytes() not in gone for row in kept], bool)
                self._fresh[place] = owner, kept[stay], days[stay], (prints[0][stay], prints[1][stay])

    def drop_ids(self, session: Session, key: int, before: int | None) -> None:
        # What stays behind in memory only says "duplicate" where "too old" is said first; it goes with the next load.
        where, values = ("", [key]) if before is None else (" AND day > 0 AND day < ?", [key, before])
        gone = session.run(f"SELECT COALESCE(SUM(LENGTH(ids)), 0) FROM ids WHERE survey = ?{where}", values).fetchone()
        session.run(f"DELETE FROM ids WHERE survey = ?{where}", values)
        self._stale += gone[0] // 16

    def join_ids(self, session: Session, key: int) -> None:
        """Join rows of few ids of a day into one, in the order of the ids: a row for each commit would say for as long
        as ids are kept which report came before which. A damaged row stays as it is, and does not get a new seal."""
        sql = "SELECT rowid, day, ids, seal FROM ids WHERE survey = ? AND LENGTH(ids) < ? ORDER BY day"
        found = session.run(sql, [key, _JOINED]).fetchall()
        small = [row[:3] for row in found if row[3] == seal("ids", key, *row[1:3])]
        for day, rows in groupby(small, key=lambda row: row[1]):
            chosen = list(rows)
            if len(chosen) < 2:
                continue
            ids = np.frombuffer(b"".join(row[2] for row in chosen), np.uint8).reshape(-1, 16)
            ids = ids[np.lexsort((ids.view(">u8")[:, 1], ids.view(">u8")[:, 0]))]
            for number, _, _ in chosen:
                session.run("DELETE FROM ids WHERE rowid = ?", [number])
            insert(session, "ids", [key, day, ids.tobytes()])

    def forgot(self, *, survey: bool = False) -> None:
        self._cut_log()
        if (survey and self._stale) or (self._stale > _MOST_STALE and 2 * self._stale > len(self._seen)):
            self._load_again()

    def _cut_log(self) -> None:
        """Empty the write-ahead log, which holds what was overwritten in the database. While somebody reads, or on a
        full disk, it is cut at the next chance."""
        raw = self._connection.raw
        with contextlib.suppress(sqlite3.Error):
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _load_again(self) -> None:
        """Build the set of open ids anew, without those that are gone. What is not in it would be counted twice, so
        whatever goes wrong here ends the writing."""
        self._seen = Seen()  # given back before the new one is built
        try:
            self.load()
        except BaseException as problem:
            self.broken = f"the ids cannot be read again: {problem}; check the disk and the memory, then restart"
            raise

    def check_database(self, session: Session) -> Iterator[str]:
        for (found,) in session.run("PRAGMA integrity_check(10)").fetchall():
            if found != "ok":
                yield f"the database must hold together: {' '.join(str(found).split())}"

    def columns(self, session: Session, table: str) -> set[str]:
        return {row[1] for row in session.run(f"PRAGMA table_info({table})").fetchall()}

    def check_ids(self, session: Session, key: int, sealed: bool) -> Iterator[str | int]:
        known: list[bytes] = []
        changed = False
        columns = ("survey", "day", "ids", "seal" if sealed else "NULL")
        for _, survey, day, ids, found in self.rows(session, "ids", columns, "survey = ?", [key]):
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

    def back_up(self, layout: int) -> str | None:
        """A copy beside the store, under a name that nothing has yet. An upgrade that was killed may have left the same
        bytes there: then those are the backup."""
        if self._copied:
            return None
        stem = f"{self.path.stem}-layout{layout}"
        for left in self.folder.glob(f".{stem}*"):  # copies that were killed half way
            left.unlink()
        last = None
        for number in count(1):
            target = self.folder / f"{stem}{'' if number == 1 else f'-{number}'}.sqlite"
            if target.exists():
                last = target
                continue
            try:
                with output_file(target, replace=False, mode=0o600) as file:
                    copy_database(self.path, file.name)
                    if last is not None and filecmp.cmp(last, file.name, shallow=False):
                        raise _SameBackup
            except _SameBackup:
                return str(last)
            except (sqlite3.Error, OSError) as problem:
                told = (
                    f"a backup must be made beside the store before its upgrade: {problem}; make room, then start again"
                )
                raise StoreError(told) from None
            return str(target)
        raise AssertionError

    def to_layout_4(self, session: Session) -> None:
        if "seal" not in self.columns(session, "ids"):
            seal_rows(self, session, "ids")

    def open_ids(self) -> int:
        return len(self._seen) - self._stale

    def close(self) -> None:
        if self._lock is not None:
            self._connection.raw.close()
            self._give_lock()


class _SameBackup(Exception):
    """The backup that was about to be written is there already."""
