"""The surveys of a store and their rules."""

import json
from collections.abc import Collection
from typing import Any

from deniable.errors import StoreError
from deniable.service.database import Database, Session
from deniable.service.entries import Entry, Rules
from deniable.service.seals import SEALED, insert, seal
from deniable.survey import Agreement, read_agreement, strict_json

_MOST_CACHED = 64  # surveys: one of many thousand symbols takes a while to read, and none ever changes


class Surveys:
    """Surveys, from registration to their last change of rules; `Retention` closes and deletes them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cached: dict[str, tuple[Agreement, str]] = {}  # by digest, with their text

    def create(self, survey: Agreement, rules: Rules) -> tuple[Entry, bool]:
        """Add a survey; adding the same one again with the same rules changes nothing. Also whether it is new."""
        with self._database.writing() as session:
            entry, new = self.add(session, survey, rules)
        if entry.rules != rules:
            raise fixed_rules(survey)
        return entry, new

    def add(self, session: Session, survey: Agreement, rules: Rules) -> tuple[Entry, bool]:
        """Add a survey unless it is there, with whatever rules; whether it is new."""
        while True:
            new = session.run("SELECT 1 FROM survey WHERE digest = ?", [survey.digest]).fetchone() is None
            row = [survey.digest, survey.to_json(), _as_text(rules), 0, 0, 0]
            insert(session, "survey", row, "ON CONFLICT (digest) DO NOTHING")
            if (entry := self._shared(session, survey.digest)) is not None:  # or another collector just deleted it
                return entry, new

    def digests(self, session: Session) -> list[str]:
        """The digest of every survey, in the order of creation."""
        return [str(row[0]) for row in session.run("SELECT digest FROM survey ORDER BY key").fetchall()]

    def entries(self) -> list[Entry]:
        """Every survey, in the order of creation."""
        with self._database.reading() as session:
            found = (self.find(session, digest) for digest in self.digests(session))
            return [entry for entry in found if entry is not None]

    def names(self, known: Collection[str]) -> dict[str, str]:
        """What surveys are called, by digest, but for those whose digests are known."""
        with self._database.reading() as session:
            found = {digest: self.find(session, digest) for digest in self.digests(session) if digest not in known}
        return {digest: entry.survey.name for digest, entry in found.items() if entry is not None}

    def entry(self, digest: str) -> Entry | None:
        """The survey with this digest, or None."""
        with self._database.reading() as session:
            return self.find(session, digest)

    def find(self, session: Session, digest: str) -> Entry | None:
        """The same, as a transaction sees it."""
        cached = self._cached.get(digest)
        body = "body" if cached is None else "''"
        sql = f"SELECT key, {body}, rules, closed, floor FROM survey WHERE digest = ?"
        row = session.run(sql, [digest]).fetchone()
        if row is None:
            return None
        entry = entry_of(row, cached)
        if cached is None and entry.survey.digest == digest:
            self._cached[digest] = entry.survey, row[1]
            while len(self._cached) > _MOST_CACHED:
                self._cached.pop(next(iter(self._cached)), None)
        return entry

    def _shared(self, session: Session, digest: str) -> Entry | None:
        """A survey that nobody changes or deletes until the end of the transaction."""
        entry = self.find(session, digest)
        if entry is not None:
            self._database.share(session, [entry.key])
            entry = self.find(session, digest)
        return entry

    def locked(self, session: Session, digest: str) -> Entry | None:
        """A survey that nobody else writes to until the end of the transaction."""
        entry = self.find(session, digest)
        if entry is not None:
            self._database.alone(session, entry.key)
            entry = self.find(session, digest)
        return entry

    @staticmethod
    def put(session: Session, key: int, **changed: object) -> None:
        """Change columns of a survey that is `locked`."""
        columns = SEALED["survey"]
        row = session.run(f"SELECT {', '.join(columns)} FROM survey WHERE key = ?", [key]).fetchone()
        values = dict(zip(columns, row, strict=True)) | changed
        names = ", ".join(f"{name} = ?" for name in (*changed, "seal"))
        sql = f"UPDATE survey SET {names} WHERE key = ?"
        session.run(sql, [*changed.values(), seal("survey", *values.values()), key])

    def change(self, digest: str, given: object) -> Entry | None:
        """Put others in place of some rules that may change."""
        with self._database.writing() as session:
            entry = self.locked(session, digest)
            if entry is None:
                return None
            self.put(session, entry.key, rules=_as_text(entry.rules.changed(given)))
            return self.find(session, digest)

    def reopen(self, digest: str, *, minute: int) -> Entry | None:
        """Take reports again. A closing date that has passed at `minute` is taken off."""
        with self._database.writing() as session:
            entry = self.locked(session, digest)
            if entry is None:
                return None
            if entry.final:
                raise StoreError(
                    f"survey {digest[:8]} is closed for good: its report ids are forgotten, so that a report sent "
                    "again would count again; duplicate it instead"
                )
            self.put(session, entry.key, closed=0)
            opened = self.find(session, digest)
            if opened is not None and opened.ended(minute):
                self.put(session, entry.key, rules=_as_text(opened.rules.changed({"closes": None})))
            return self.find(session, digest)

    def forget(self, digest: str) -> None:
        """Called after a survey was deleted."""
        self._cached.pop(digest, None)


def entry_of(row: Any, known: tuple[Agreement, str] | None = None) -> Entry:
    """A survey as its row tells it, without the digest; its text is not read again where it is `known`."""
    key, body, rules, closed, floor = row
    try:
        if not all(type(number) is int and number >= 0 for number in (closed, floor)):
            raise ValueError("numbers must not be negative")
        survey, body = known or (read_agreement(strict_json(body)), body)
        return Entry(key, survey, Rules.read(json.loads(rules)), closed, floor, body)
    except (TypeError, ValueError) as problem:
        raise StoreError(f"its row must be readable: {problem}; the store is damaged, restore a backup") from None


def _as_text(rules: Rules) -> str:
    return json.dumps(rules.to_json(), sort_keys=True)


def fixed_rules(survey: Agreement) -> StoreError:
    """The error for a survey that is there already with other rules."""
    return StoreError(
        f"rules must stay as they are once survey {survey.digest[:8]} is created; make a new survey instead"
    )
