"""PostgreSQL: one truth for several collectors, on one host or many.

The unique index on (survey, id) decides what is new, whoever asks; ids go there as one binary array in order, so that
two collectors that bring the same ids wait for each other and never deadlock. Counts are appended, so that collectors
do not contend for rows; whoever gets the lock folds them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import pq, sql
from psycopg.adapt import Dumper

from deniable.errors import StoreError
from deniable.service.entries import Entry
from deniable.service.gathering import Bools, Ids
from deniable.service.problems import Contended, Unavailable
from deniable.service.seals import SEALED
from deniable.service.store import Cursor, Session, Store

__all__ = ["PostgresStore"]

# What the database undid because of what others did: a deadlock, and a state that changed meanwhile.
_CONTENDED = ("40P01", "40001")
_UUIDS = 2951  # the type number of uuid[]


class _Uuids:
    """Ids as the binary form of a PostgreSQL array, made without a Python object for each."""

    def __init__(self, ids: Ids) -> None:
        self.data = ids


class _UuidsDumper(Dumper):
    format = pq.Format.BINARY
    oid = _UUIDS

    def dump(self, obj: _Uuids) -> bytes:
        count = len(obj.data)
        # One dimension, no nulls, elements of type uuid (2950), their number, the first index.
        head = np.array([1, 0, 2950, count, 1], ">i4").tobytes()
        rows = np.empty((count, 20), np.uint8)
        rows[:, :4] = np.frombuffer(np.array([16], ">i4").tobytes(), np.uint8)
        rows[:, 4:] = obj.data
        return head + rows.tobytes()


class _Connection(Session):
    def __init__(self, raw: "psycopg.Connection[Any]") -> None:
        self.raw = raw

    def run(self, statement: str, values: Sequence[object] = ()) -> Cursor:
        return self.raw.execute(sql.SQL(statement.replace("?", "%s")), values)


class PostgresStore(Store):
    """A store at a `postgres://` address; any number of processes may have it open."""

    kind = "postgres"
    _for_update: ClassVar[str] = " FOR UPDATE"
    SEALED: ClassVar[tuple[str, ...]] = tuple(table for table in SEALED if table != "ids")
    ROW: ClassVar[tuple[str, str]] = ("ctid::text", "ctid = ?::tid")
    TABLES: ClassVar[tuple[str, ...]] = (
        "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS survey (key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        "digest TEXT UNIQUE NOT NULL, body TEXT NOT NULL, rules TEXT NOT NULL, closed INTEGER NOT NULL, "
        "floor INTEGER NOT NULL, "
        "shown INTEGER NOT NULL DEFAULT 0, seal BIGINT NOT NULL DEFAULT 0)",
        "CREATE TABLE IF NOT EXISTS delta (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        "survey BIGINT NOT NULL, win INTEGER NOT NULL, counts BYTEA, counters TEXT NOT NULL, "
        "seal BIGINT NOT NULL DEFAULT 0)",
        "CREATE TABLE IF NOT EXISTS tally (survey BIGINT, win INTEGER, counts BYTEA, counters TEXT NOT NULL, "
        "seal BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (survey, win))",
        "CREATE TABLE IF NOT EXISTS shard (source TEXT, survey BIGINT, win INTEGER, counts BYTEA, "
        "counters TEXT NOT NULL, seal BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (source, survey, win))",
        "CREATE TABLE IF NOT EXISTS token (hash TEXT PRIMARY KEY, survey BIGINT NOT NULL, kind TEXT NOT NULL, "
        "quota BIGINT, used BIGINT NOT NULL, name TEXT NOT NULL, "
        "seal BIGINT NOT NULL DEFAULT 0)",
        "CREATE TABLE IF NOT EXISTS ids (survey BIGINT NOT NULL, id UUID NOT NULL, day INTEGER NOT NULL, "
        "PRIMARY KEY (survey, id))",
    )

    def __init__(self, address: str, *, write: bool = True) -> None:
        super().__init__()
        self.where = self._address = address
        self._raw: psycopg.Connection[Any] | None = None
        if not write:
            return
        try:
            with self.writing() as session:
                # Two collectors that start together create the tables one after the other.
                session.run("SELECT pg_advisory_xact_lock(7220119)")
                self._prepare(session)
        except Unavailable as problem:
            raise StoreError(f"store must be a PostgreSQL address that answers: {problem.detail}") from None
        except StoreError:
            self.close()
            raise

    def _connect(self) -> "psycopg.Connection[Any]":
        raw = psycopg.connect(self._address, connect_timeout=5, autocommit=True)
        raw.adapters.register_dumper(_Uuids, _UuidsDumper)
        raw.execute("SET synchronous_commit = on")
        return raw

    @contextmanager
    def writing(self) -> Iterator[Session]:
        try:
            if self._raw is None or self._raw.closed:
                self._raw = self._connect()
            with self._raw.transaction():
                yield _Connection(self._raw)
        except psycopg.Error as problem:
            # A lost connection during COMMIT leaves the outcome open; the ids make asking again safe.
            if self._raw is not None and isinstance(problem, psycopg.OperationalError):
                self._raw.close()
            raise _unavailable(problem) from None

    @contextmanager
    def reading(self) -> Iterator[Session]:
        try:
            with self._connect() as raw:
                raw.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                with raw.transaction():
                    yield _Connection(raw)
        except psycopg.Error as problem:
            raise _unavailable(problem) from None

    def _admit(self, session: Session, entry: Entry, ids: Ids, days: npt.NDArray[np.int64]) -> Bools:
        new = np.zeros(len(ids), bool)
        words = ids.view(">u8")
        order = np.lexsort((words[:, 1], words[:, 0]))
        ordered, ordered_days = ids[order], days[order]
        first = np.ones(len(ids), bool)
        first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        for day in np.unique(ordered_days).tolist():
            chosen = np.flatnonzero(first & (ordered_days == day))
            count, kept = session.run(
                "WITH new AS (INSERT INTO ids (survey, id, day) SELECT ?, id, ? FROM unnest(?) AS id "
                "ON CONFLICT DO NOTHING RETURNING id) "
                "SELECT count(*), CASE WHEN count(*) < ? THEN string_agg(uuid_send(id), '') END FROM new",
                [entry.key, day, _Uuids(ordered[chosen]), len(chosen)],
            ).fetchone()
            if count == len(chosen):
                new[order[chosen]] = True
            elif count:
                found = set(np.frombuffer(kept, "V16").tolist())
                new[order[chosen]] = [row.tobytes() in found for row in ordered[chosen]]
        return new

    def _forget(self, session: Session, entry: Entry, ids: Ids) -> None:
        session.run("DELETE FROM ids WHERE survey = ? AND id = ANY(?)", [entry.key, _Uuids(ids)])

    def _drop_ids(self, session: Session, entry: Entry, before: int | None) -> None:
        if before is None:
            session.run("DELETE FROM ids WHERE survey = ?", [entry.key])
        else:
            session.run("DELETE FROM ids WHERE survey = ? AND day > 0 AND day < ?", [entry.key, before])

    def _lock_fold(self, session: Session, entry: Entry) -> bool:
        locked = session.run("SELECT pg_try_advisory_xact_lock(7220120, ?::int)", [entry.key]).fetchone()
        return bool(locked[0])

    def _share(self, session: Session, keys: Sequence[int]) -> None:
        for key in keys:
            session.run("SELECT pg_advisory_xact_lock_shared(7220121, ?::int)", [key])

    def _alone(self, session: Session, key: int) -> None:
        # Whoever folds holds no share of the survey, but rows of it: it ends first.
        for lock in (7220121, 7220120):
            session.run("SELECT pg_advisory_xact_lock(?::int, ?::int)", [lock, key])

    def _columns(self, session: Session, table: str) -> set[str]:
        sql = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped"
        return {row[0] for row in session.run(sql, [table]).fetchall()}

    def _check_ids(self, session: Session, entry: Entry, sealed: bool) -> Iterator[str | int]:
        sql = "SELECT COUNT(*), COALESCE(MIN(day), 0) FROM ids WHERE survey = ?"
        count, first = session.run(sql, [entry.key]).fetchone()
        if first < 0:
            yield "ids must have a day"
        yield count

    def open_ids(self) -> int:
        """An estimate, from the database's own statistics: counting would read them all."""
        with self.reading() as session:
            return max(0, int(session.run("SELECT reltuples FROM pg_class WHERE relname = 'ids'").fetchone()[0]))

    def close(self) -> None:
        if self._raw is not None and not self._raw.closed:
            self._raw.close()


def _unavailable(problem: Exception) -> Unavailable:
    # The driver's text names the host and the user, which whoever sends a report need not know.
    first = str(problem).strip().partition("\n")[0]
    kind = Contended if getattr(problem, "sqlstate", None) in _CONTENDED else Unavailable
    return kind("PostgreSQL does not answer", f"PostgreSQL does not answer: {first}")
