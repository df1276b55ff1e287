"""A backend made by CONTRIBUTING's list, and by nothing else: SQLite in memory, with one row for each id.

It has one connection for everybody, so a lock stands for the transaction. What a process leaves behind when it is
killed is what was committed; here that is the connection, which outlives the object.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar

import numpy as np

from deniable.service.backends import BACKENDS
from deniable.service.database import Bools, Cursor, Database, Days, Ids, Session, tables
from deniable.service.problems import Unavailable
from deniable.service.seals import seals

__all__ = ["Memory"]


class _Connection(Session):
    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw, self.lock = raw, threading.RLock()

    def run(self, sql: str, values: Sequence[object] = ()) -> Cursor:
        return self.raw.execute(sql, values)


class Memory(Database):
    kind = "memory"
    ROW = ("rowid", "rowid = ?")
    TABLES = tables(
        key="INTEGER PRIMARY KEY AUTOINCREMENT",
        number="INTEGER",
        blob="BLOB",
        ids="survey INTEGER, id BLOB, day INTEGER NOT NULL, seal BIGINT NOT NULL, PRIMARY KEY (survey, id)",
    )
    _kept: ClassVar[dict[str, _Connection]] = {}

    def __init__(self, where: str, *, write: bool = True) -> None:
        self.where, self.writable = where, write
        if where not in self._kept:
            self._kept[where] = _Connection(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))
        self._connection = self._kept[where]

    @contextmanager
    def _transaction(self, end: str) -> Iterator[Session]:
        with self._connection.lock:
            try:
                self._connection.run("BEGIN")
                yield self._connection
                self._connection.run(end)
            except BaseException as problem:
                if self._connection.raw.in_transaction:
                    self._connection.run("ROLLBACK")
                if isinstance(problem, sqlite3.Error):
                    raise Unavailable(str(problem)) from None
                raise

    def writing(self) -> AbstractContextManager[Session]:
        return self._transaction("COMMIT")

    def reading(self) -> AbstractContextManager[Session]:
        return self._transaction("ROLLBACK")

    def close(self) -> None:
        pass

    def refusal(self, problem: Unavailable) -> str:
        return f"{self.where} must be a store: {problem}"

    def admit(self, session: Session, key: int, ids: Ids, days: Days) -> Bools:
        new = np.zeros(len(ids), bool)
        sql = "INSERT INTO ids VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1"
        for place, (one, day) in enumerate(zip(ids, days.tolist(), strict=True)):
            (sealed,) = seals("ids", key, day, rows=one[None]).tolist()
            new[place] = session.run(sql, [key, one.tobytes(), day, sealed]).fetchone() is not None
        return new

    def forget(self, session: Session, key: int, ids: Ids) -> None:
        for one in ids:
            session.run("DELETE FROM ids WHERE survey = ? AND id = ?", [key, one.tobytes()])

    def drop_ids(self, session: Session, key: int, before: int | None) -> None:
        last = 1 << 31 if before is None else before
        first = 0 if before is None else 1
        session.run("DELETE FROM ids WHERE survey = ? AND day >= ? AND day < ?", [key, first, last])

    def open_ids(self) -> int:
        with self.reading() as session:
            return int(session.run("SELECT COUNT(*) FROM ids").fetchone()[0])

    def columns(self, session: Session, table: str) -> set[str]:
        return {row[1] for row in session.run(f"PRAGMA table_info({table})").fetchall()}

    def check_ids(self, session: Session, key: int, sealed: bool) -> Iterator[str | int]:
        rows = session.run("SELECT id, day, seal FROM ids WHERE survey = ?", [key]).fetchall()
        for one, day, found in rows:
            if seals("ids", key, day, rows=np.frombuffer(one, np.uint8)[None]).tolist() != [found]:
                yield "table ids: a row must be as it was written, got another checksum"
                break
        yield len(rows)


BACKENDS["memory:"] = lambda where, write: Memory(where, write=write)
