"""The surveys of a store, their rules and their tokens: from creation to deletion, in SQL that both databases share."""

import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple
from typing import Any, ClassVar, Protocol

from deniable.errors import StoreError
from deniable.service.entries import FOR_GOOD, Entry, Rules, Token, counters_of
from deniable.service.seals import SEALED, seal
from deniable.survey import Survey

__all__ = ["Cursor", "Registry", "Session", "fixed_rules"]

# Layout 2 has the tables of layout 1. In it a survey that is closed may keep its ids (`Entry.closed`), and rules may
# hold a closing date and texts, which older versions do not know. Layout 3 adds `survey.shown` (see `retention`),
# before which older versions would go on counting, and checksums of rows (see `seals`).
SCHEMA = 3
OLDER = ("1", "2")
_PROBE = 1 << 16  # bytes
_MOST_SURVEYS = 64  # that are kept in memory as they were read


class Cursor(Protocol):
    """What both databases' drivers return."""

    def fetchall(self) -> list[Any]: ...
    def fetchone(self) -> Any: ...


class Session(ABC):
    """One transaction: `run` takes SQL with question marks for the values."""

    @abstractmethod
    def run(self, sql: str, values: Sequence[object] = ()) -> Cursor: ...


class Registry(ABC):
    """Surveys and tokens; `Store` adds reports. All writing is done by one thread at a time."""

    TABLES: ClassVar[tuple[str, ...]]
    SEALED: ClassVar[tuple[str, ...]] = tuple(SEALED)  # the tables whose rows have a checksum
    ROW: ClassVar[tuple[str, str]]  # what names a row of any table, and SQL for a row of a given name
    where: str  # what opens it once more

    def __init__(self) -> None:
        self._surveys: dict[str, tuple[Survey, str]] = {}  # with their text

    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """A transaction that may write: committed at the end, undone on an error."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees one state, on a connection of its own; for any thread."""

    @abstractmethod
    def _drop_ids(self, session: Session, entry: Entry, before: int | None) -> None:
        """Forget the ids of days before `before` (those without a day stay), or all of them."""

    @abstractmethod
    def _fold(self, session: Session, entry: Entry) -> None:
        """Move a survey's appended counts into its tallies."""

    @abstractmethod
    def _upgraded(self, session: Session) -> None:
        """Called when a store of an older layout is opened, once `survey.shown` is there."""

    # Several collectors may share a database: whoever writes under a survey shares it with others who do, and whoever
    # changes it or deletes it has it alone, until the end of the transaction.
    @abstractmethod
    def _share(self, session: Session, keys: Sequence[int]) -> None:
        """Keep these surveys from being changed or deleted; keys in order."""

    @abstractmethod
    def _alone(self, session: Session, key: int) -> None:
        """Wait until nobody writes under a survey, and keep others from it."""

    # The layout.
    def _prepare(self, session: Session) -> None:
        for statement in self.TABLES:
            session.run(statement)
        found = session.run("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        if found is None:
            session.run("INSERT INTO meta (name, value) VALUES ('schema', ?)", [str(SCHEMA)])
            session.run("INSERT INTO meta (name, value) VALUES ('store', ?)", [uuid.uuid4().hex])
            self._seal_name(session)
        elif found[0] in OLDER:
            session.run("ALTER TABLE survey ADD COLUMN shown INTEGER NOT NULL DEFAULT 0")
            for table in self.SEALED:
                session.run(f"ALTER TABLE {table} ADD COLUMN seal BIGINT NOT NULL DEFAULT 0")
                self._seal(session, table)
            self._seal_name(session)
            self._upgraded(session)
            # What was closed there has forgotten its ids, and says so already: closed is 1, `FOR_GOOD`.
            session.run("UPDATE meta SET value = ? WHERE name = 'schema'", [str(SCHEMA)])
        elif found[0] != str(SCHEMA):
            raise StoreError(f"store must have layout {SCHEMA}, got {found[0]}; use the version that made it")

    def _rows(self, session: Session, table: str, columns: Sequence[str], survey: int | None = None) -> Iterator[Any]:
        """The rows of a table, each after its name, and read one by one: each may be large."""
        name, this = self.ROW
        where, values = ("", []) if survey is None else (" WHERE survey = ?", [survey])
        for (row,) in session.run(f"SELECT {name} FROM {table}{where}", values).fetchall():
            sql = f"SELECT {name}, {', '.join(columns)} FROM {table} WHERE {this}"
            yield from session.run(sql, [row]).fetchall()

    def _seal(self, session: Session, table: str) -> None:
        """Seal every row of a table as it is."""
        for row, *values in self._rows(session, table, SEALED[table]):
            session.run(f"UPDATE {table} SET seal = ? WHERE {self.ROW[1]}", [seal(table, *values), row])

    @staticmethod
    def _seal_name(session: Session) -> None:
        """A store of another name would be merged beside what it gave before, and be counted twice."""
        for (name,) in session.run("SELECT value FROM meta WHERE name = 'store'").fetchall():
            session.run("INSERT INTO meta (name, value) VALUES ('seal', ?)", [str(seal("meta", name))])

    @staticmethod
    def _insert(session: Session, table: str, values: Sequence[object], otherwise: str = "") -> None:
        """Add a row with its seal; `otherwise` says what is done where there is such a row."""
        marks = ", ".join("?" * (len(values) + 1))
        sql = f"INSERT INTO {table} ({', '.join(SEALED[table])}, seal) VALUES ({marks}) {otherwise}"
        session.run(sql, [*values, seal(table, *values)])

    @staticmethod
    def _put(session: Session, key: int, **changed: object) -> None:
        """Change columns of a survey that nobody else writes to."""
        columns = SEALED["survey"]
        row = session.run(f"SELECT {', '.join(columns)} FROM survey WHERE key = ?", [key]).fetchone()
        values = dict(zip(columns, row, strict=True)) | changed
        names = ", ".join(f"{name} = ?" for name in (*changed, "seal"))
        session.run(
            f"UPDATE survey SET {names} WHERE key = ?", [*changed.values(), seal("survey", *values.values()), key]
        )

    def name(self) -> str:
        """A random name that this store was born with; shards are known by it."""
        with self.reading() as session:
            found = session.run("SELECT value FROM meta WHERE name = 'store'").fetchone()
        if found is None:
            raise StoreError("the store must have the name that it was born with, got none; restore a backup")
        return str(found[0])

    def probe(self) -> None:
        """Write something and take it back, or raise: a full disk lets a row be changed, but nothing be added."""
        name = f"probe {uuid.uuid4().hex}"
        with self.writing() as session:
            session.run("INSERT INTO meta (name, value) VALUES (?, ?)", [name, "0" * _PROBE])
        with self.writing() as session:
            session.run("DELETE FROM meta WHERE name LIKE 'probe %'")

    # Surveys.
    def create(self, survey: Survey, rules: Rules) -> tuple[Entry, bool]:
        """Add a survey; adding the same one again with the same rules changes nothing. Also whether it is new."""
        with self.writing() as session:
            entry, new = self._create(session, survey, rules)
        if entry.rules != rules:
            raise fixed_rules(survey)
        return entry, new

    def _create(self, session: Session, survey: Survey, rules: Rules) -> tuple[Entry, bool]:
        while True:
            new = session.run("SELECT 1 FROM survey WHERE digest = ?", [survey.digest]).fetchone() is None
            row = [survey.digest, survey.to_json(), _as_text(rules), 0, 0, 0]
            self._insert(session, "survey", row, "ON CONFLICT (digest) DO NOTHING")
            if (entry := self._shared(session, survey.digest)) is not None:  # or another collector just deleted it
                return entry, new

    def entries(self) -> list[Entry]:
        """Every survey, in the order of creation."""
        with self.reading() as session:
            rows = session.run("SELECT digest FROM survey ORDER BY key").fetchall()
            found = (self._entry(session, digest) for (digest,) in rows)
            return [entry for entry in found if entry is not None]

    def names(self, known: Collection[str]) -> dict[str, str]:
        """What surveys are called, by digest, but for those whose digests are known."""
        with self.reading() as session:
            digests = [str(row[0]) for row in session.run("SELECT digest FROM survey ORDER BY key").fetchall()]
            found = {digest: self._entry(session, digest) for digest in digests if digest not in known}
        return {digest: entry.survey.name for digest, entry in found.items() if entry is not None}

    def entry(self, digest: str) -> Entry | None:
        """The survey with this digest, or None."""
        with self.reading() as session:
            return self._entry(session, digest)

    def _entry(self, session: Session, digest: str) -> Entry | None:
        # A survey never changes, and one of many thousand symbols takes a while to read: those asked for are kept.
        known = self._surveys.get(digest)
        body = "body" if known is None else "''"
        sql = f"SELECT key, {body}, rules, closed, floor FROM survey WHERE digest = ?"
        row = session.run(sql, [digest]).fetchone()
        if row is None:
            return None
        found = entry_of(row, known)
        if known is None and found.survey.digest == digest:
            self._surveys[digest] = found.survey, row[1]
            while len(self._surveys) > _MOST_SURVEYS:
                self._surveys.pop(next(iter(self._surveys)), None)
        return found

    def _shared(self, session: Session, digest: str) -> Entry | None:
        """A survey that nobody changes or deletes until the end of the transaction."""
        found = self._entry(session, digest)
        if found is not None:
            self._share(session, [found.key])
            found = self._entry(session, digest)
        return found

    def _locked(self, session: Session, digest: str) -> Entry | None:
        """A survey that nobody else writes to until the end of the transaction."""
        found = self._entry(session, digest)
        if found is not None:
            self._alone(session, found.key)
            found = self._entry(session, digest)
        return found

    def end(self, digest: str, *, day: int = FOR_GOOD) -> Entry | None:
        """Close a survey on a day: no report is taken any more, and its counts stay. Its ids stay, too, so that it can
        be opened again; without a day it is closed for good and they are forgotten. None: there is no such survey."""
        with self.writing() as session:
            entry = self._locked(session, digest)
            if entry is None or entry.final or (entry.closed and day != FOR_GOOD):
                return entry
            self._put(session, entry.key, closed=day)
            if day == FOR_GOOD:
                self._drop_ids(session, entry, None)
            self._fold(session, entry)
            return self._entry(session, digest)

    def reopen(self, digest: str, *, minute: int) -> Entry | None:
        """Take reports again. A closing date that has passed at `minute` is taken off."""
        with self.writing() as session:
            entry = self._locked(session, digest)
            if entry is None:
                return None
            if entry.final:
                raise StoreError(
                    f"survey {digest[:8]} is closed for good: its report ids are forgotten, so that a report sent "
                    "again would count again; duplicate it instead"
                )
            self._put(session, entry.key, closed=0)
            opened = self._entry(session, digest)
            if opened is not None and opened.ended(minute):
                self._put(session, entry.key, rules=_as_text(opened.rules.changed({"closes": None})))
            return self._entry(session, digest)

    def change(self, digest: str, given: object) -> Entry | None:
        """Put others in place of some rules that may change."""
        with self.writing() as session:
            entry = self._locked(session, digest)
            if entry is None:
                return None
            self._put(session, entry.key, rules=_as_text(entry.rules.changed(given)))
            return self._entry(session, digest)

    def delete(self, digest: str) -> int | None:
        """Delete a survey with everything under it: counts, ids, counters, tokens. How many reports were counted.

        Whoever writes reports shares the survey until they are committed, so each is either there and deleted with it,
        or finds no survey and is refused. Its key is not used again: registered anew, a survey starts empty.
        """
        with self.writing() as session:
            entry = self._locked(session, digest)
            if entry is None:
                return None
            reports = self._counted(session, entry.key).get(entry.key, 0)
            self._drop_ids(session, entry, None)
            for table in ("delta", "tally", "shard", "token"):
                session.run(f"DELETE FROM {table} WHERE survey = ?", [entry.key])
            session.run("DELETE FROM survey WHERE key = ?", [entry.key])
        self._surveys.pop(digest, None)
        self._forgotten(entry)
        return reports

    @abstractmethod
    def _forgotten(self, entry: Entry) -> None:
        """Called after a survey was deleted: what of it is in memory goes, too."""

    def reports(self) -> dict[int, int]:
        """How many reports were accepted, by the key of their survey."""
        with self.reading() as session:
            return self._counted(session, None)

    @staticmethod
    def _counted(session: Session, key: int | None) -> dict[int, int]:
        found: dict[int, int] = {}
        where, values = ("", []) if key is None else (" WHERE survey = ?", [key])
        for table in ("tally", "delta", "shard"):
            for survey, counters in session.run(f"SELECT survey, counters FROM {table}{where}", values).fetchall():
                found[survey] = found.get(survey, 0) + counters_of(counters).get("accepted", 0)
        return found

    # Tokens.
    def add_token(self, token: Token) -> bool:
        """Keep the hash of a secret; the secret itself is never stored. False: there is no such survey any more."""
        with self.writing() as session:
            self._share(session, [token.survey])
            if session.run("SELECT 1 FROM survey WHERE key = ?", [token.survey]).fetchone() is None:
                return False
            self._insert(session, "token", list(astuple(token)))
        return True

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


def entry_of(row: Any, known: tuple[Survey, str] | None = None) -> Entry:
    """A survey as its row tells it, without the digest; its text is not read again where it is `known`."""
    key, body, rules, closed, floor = row
    try:
        if not all(type(number) is int and number >= 0 for number in (closed, floor)):
            raise ValueError("numbers must not be negative")
        survey, body = known or (Survey.from_json(body), body)
        return Entry(key, survey, Rules.read(json.loads(rules)), closed, floor, body)
    except (TypeError, ValueError) as problem:
        raise StoreError(f"its row must be readable: {problem}; the store is damaged, restore a backup") from None


def _as_text(rules: Rules) -> str:
    return json.dumps(rules.to_json(), sort_keys=True)


def fixed_rules(survey: Survey) -> StoreError:
    """The error for a survey that is there already with other rules."""
    return StoreError(
        f"rules must stay as they are once survey {survey.digest[:8]} is created; make a new survey instead"
    )
