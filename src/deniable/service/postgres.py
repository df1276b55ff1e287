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

from deniable.service.database import Bools, Cursor, Database, Days, Ids, Session, tables
from deniable.service.problems import Contended, Unavailable
from deniable.service.seals import SEALED, seals

# What the database undid because of what others did: a deadlock, and a state that changed meanwhile.
_CONTENDED = ("40P01", "40001")
_CHUNK = 1 << 16  # ids that are read at once


class _Uuids:
    """Ids as the binary form of a PostgreSQL array, made without a Python object for each."""

    def __init__(self, ids: Ids) -> None:
        self.data = ids


class _Integers:
    """The same for integers of four bytes."""

    def __init__(self, numbers: npt.NDArray[np.uint32]) -> None:
        self.data = numbers.astype(">u4").view(np.uint8).reshape(-1, 4)


class _ArrayDumper(Dumper):
    format = pq.Format.BINARY
    element: ClassVar[int]  # the type number of an element

    def dump(self, obj: _Uuids | _Integers) -> bytes:
        count, width = obj.data.shape
        # One dimension, no nulls, the type of the elements, their number, the first index.
        head = np.array([1, 0, self.element, count, 1], ">i4").tobytes()
        rows = np.empty((count, 4 + width), np.uint8)
        rows[:, :4] = np.frombuffer(np.array([width], ">i4").tobytes(), np.uint8)
        rows[:, 4:] = obj.data
        return head + rows.tobytes()


class _UuidsDumper(_ArrayDumper):
    oid, element = 2951, 2950


class _IntegersDumper(_ArrayDumper):
    oid, element = 1007, 23


class _Connection(Session):
    def __init__(self, raw: "psycopg.Connection[Any]") -> None:
        self.raw = raw

    def run(self, statement: str, values: Sequence[object] = ()) -> Cursor:
        return self.raw.execute(sql.SQL(statement.replace("?", "%s")), values)


class PostgreSQL(Database):
    """A database at a `postgres://` address, with a lock for each survey that is written to."""

    kind = "postgres"
    FOR_UPDATE = " FOR UPDATE"
    ROW = ("ctid::text", "ctid = ?::tid")
    TABLES = tables(
        key="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        number="BIGINT",
        blob="BYTEA",
        ids="survey BIGINT NOT NULL, id UUID NOT NULL, day INTEGER NOT NULL, seal INTEGER NOT NULL, "
        "PRIMARY KEY (survey, id)",
    )

    def __init__(self, address: str, *, write: bool = True) -> None:
        self.where, self.writable = address, write
        self._raw: psycopg.Connection[Any] | None = None

    def refusal(self, problem: Unavailable) -> str:
        return f"store must be a PostgreSQL address that answers: {problem.detail}"

    def _connect(self) -> "psycopg.Connection[Any]":
        raw = psycopg.connect(self.where, connect_timeout=5, autocommit=True)
        raw.adapters.register_dumper(_Uuids, _UuidsDumper)
        raw.adapters.register_dumper(_Integers, _IntegersDumper)
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

    def admit(self, session: Session, key: int, ids: Ids, days: Days) -> Bools:
        new = np.zeros(len(ids), bool)
        words = ids.view(">u8")
        order = np.lexsort((words[:, 1], words[:, 0]))
        ordered, ordered_days = ids[order], days[order]
        first = np.ones(len(ids), bool)
        first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        for day in np.unique(ordered_days).tolist():
            chosen = np.flatnonzero(first & (ordered_days == day))
            rows = ordered[chosen]
            count, kept = session.run(
                "WITH new AS (INSERT INTO ids (survey, id, day, seal) "
                "SELECT ?, id, ?, seal FROM unnest(?, ?) AS given (id, seal) ON CONFLICT DO NOTHING RETURNING id) "
                "SELECT count(*), CASE WHEN count(*) < ? THEN string_agg(uuid_send(id), '') END FROM new",
                [key, day, _Uuids(rows), _Integers(_seals(key, day, rows)), len(chosen)],
            ).fetchone()
            if count == len(chosen):
                new[order[chosen]] = True
            elif count:
                found = set(np.frombuffer(kept, "V16").tolist())
                new[order[chosen]] = [row.tobytes() in found for row in rows]
        return new

    def forget(self, session: Session, key: int, ids: Ids) -> None:
        session.run("DELETE FROM ids WHERE survey = ? AND id = ANY(?)", [key, _Uuids(ids)])

    def drop_ids(self, session: Session, key: int, before: int | None) -> None:
        if before is None:
            session.run("DELETE FROM ids WHERE survey = ?", [key])
        else:
            session.run("DELETE FROM ids WHERE survey = ? AND day > 0 AND day < ?", [key, before])

    # Two collectors that start together make or upgrade the tables one after the other.
    def lock_layout(self, session: Session) -> None:
        session.run("SELECT pg_advisory_xact_lock(7220119)")

    def lock_fold(self, session: Session, key: int) -> bool:
        return bool(session.run("SELECT pg_try_advisory_xact_lock(7220120, ?::int)", [key]).fetchone()[0])

    def share(self, session: Session, keys: Sequence[int]) -> None:
        for key in keys:
            session.run("SELECT pg_advisory_xact_lock_shared(7220121, ?::int)", [key])

    def alone(self, session: Session, key: int) -> None:
        # Whoever folds holds no share of the survey, but rows of it: it ends first.
        for lock in (7220121, 7220120):
            session.run("SELECT pg_advisory_xact_lock(?::int, ?::int)", [lock, key])

    def columns(self, session: Session, table: str) -> set[str]:
        sql = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped"
        return {row[0] for row in session.run(sql, [table]).fetchall()}

    @staticmethod
    def _kept(session: Session, key: int, sealed: bool) -> Iterator[npt.NDArray[Any]]:
        """The ids of a survey with their days and seals, a chunk at a time."""
        sql = (
            "SELECT string_agg(uuid_send(id) || int4send(day) || int4send(seal), '' ORDER BY id) FROM "
            f"(SELECT id, day, {'seal' if sealed else '0 AS seal'} FROM ids WHERE survey = ? AND id >= ?::uuid "
            "ORDER BY id LIMIT ?) AS chunk"
        )
        start = 0
        while start < 1 << 128:
            (found,) = session.run(sql, [key, f"{start:032x}", _CHUNK]).fetchone()
            if found is None:
                return
            rows = np.frombuffer(found, [("id", np.uint8, 16), ("day", ">i4"), ("seal", ">u4")])
            yield rows
            start = int.from_bytes(rows["id"][-1].tobytes(), "big") + 1

    def check_ids(self, session: Session, key: int, sealed: bool) -> Iterator[str | int]:
        sealed = sealed and "seal" in self.columns(session, "ids")
        count, undated, changed = 0, False, False
        for rows in self._kept(session, key, sealed):
            count += len(rows)
            undated |= bool((rows["day"] < 0).any())
            for day in np.unique(rows["day"]).tolist() if sealed else []:
                chosen = rows[rows["day"] == day]
                changed |= bool((_seals(key, day, chosen["id"]) != chosen["seal"]).any())
        if undated:
            yield "ids must have a day"
        if changed:
            yield "table ids: a row must be as it was written, got another checksum"
        yield count

    def to_layout_4(self, session: Session) -> None:
        """Ids get their seals. None has a default any more, so that a collector of an older version that is still
        running cannot write: it would leave rows without a seal."""
        session.run("ALTER TABLE ids ADD COLUMN seal INTEGER")
        for (key,) in session.run("SELECT DISTINCT survey FROM ids").fetchall():
            for rows in self._kept(session, key, False):
                for day in np.unique(rows["day"]).tolist():
                    ids = np.ascontiguousarray(rows["id"][rows["day"] == day])
                    session.run(
                        "UPDATE ids SET seal = given.seal FROM unnest(?, ?) AS given (id, seal) "
                        "WHERE ids.survey = ? AND ids.id = given.id",
                        [_Uuids(ids), _Integers(_seals(key, day, ids)), key],
                    )
        session.run("ALTER TABLE ids ALTER COLUMN seal SET NOT NULL")
        for table in SEALED:
            session.run(f"ALTER TABLE {table} ALTER COLUMN seal DROP DEFAULT")

    def open_ids(self) -> int:
        """An estimate, from the database's own statistics: counting would read them all."""
        with self.reading() as session:
            return max(0, int(session.run("SELECT reltuples FROM pg_class WHERE relname = 'ids'").fetchone()[0]))

    def close(self) -> None:
        if self._raw is not None and not self._raw.closed:
            self._raw.close()


def _seals(key: int, day: int, ids: Ids) -> npt.NDArray[np.uint32]:
    return seals("ids", key, day, rows=ids)


def _unavailable(problem: Exception) -> Unavailable:
    # The driver's text names the host and the user, which whoever sends a report need not know.
    first = str(problem).strip().partition("\n")[0]
    kind = Contended if getattr(problem, "sqlstate", None) in _CONTENDED else Unavailable
    return kind("PostgreSQL does not answer", f"PostgreSQL does not answer: {first}")
