"""Integrity checks of a store: its database, its layout, and the consistency of its rows.

Every fault is a sentence. A store that is damaged in one place is looked at in all others, as far as it can be read.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from deniable.errors import StoreError
from deniable.service.clock import WINDOWS, label, window_of
from deniable.service.database import Database, Session
from deniable.service.entries import Entry, counters_of
from deniable.service.migrations import LAYOUT, layout_number
from deniable.service.problems import Unavailable
from deniable.service.records import add_packed
from deniable.service.seals import SEALED, seal
from deniable.service.stored_surveys import entry_of
from deniable.service.tallies import COUNTED

# The columns of each table that a store must have, and those that older layouts do not have.
COLUMNS = {
    "meta": ("name", "value"),
    "survey": ("key", *SEALED["survey"]),
    "delta": ("seq", *SEALED["delta"]),
    **{table: SEALED[table] for table in ("tally", "shard", "token")},
    "ids": ("survey", "day"),
}
_NEWER = ("shown", "seal")
_CHANGED = "a row must be as it was written, got another checksum"
_KINDS = ("upload", "read", "owner")


class Checks:
    """What a store is checked for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def check(self) -> Iterator[str]:
        """Every invariant that does not hold, as a sentence; nothing for a sound store."""
        try:
            with self._database.reading() as session:
                yield from list(self._database.check_database(session))
                layout = list(self._check_layout(session))
                yield from layout
                if not layout:
                    sealed = "seal" in self._database.columns(session, "survey")
                    yield from self._check_rows(session, sealed)
        except (Unavailable, StoreError) as problem:
            yield f"the store must be readable: {problem}"

    def _check_layout(self, session: Session) -> Iterator[str]:
        found = {table: self._database.columns(session, table) for table in COLUMNS}
        if not found["meta"]:
            yield "the file must be a collector's store, got a database without its tables"
            return
        meta = dict(session.run("SELECT name, value FROM meta").fetchall())
        try:
            layout = layout_number(meta.get("schema"))
        except StoreError as problem:
            yield str(problem)
            return
        if layout < 3 and "shown" in found["survey"]:
            yield f"layout must be {LAYOUT}, got {layout} with tables of a later one; restore a backup"
        sealed = layout == LAYOUT or "seal" in found["survey"]
        if not meta.get("store"):
            yield "the store must have the name that it was born with, got none"
        elif sealed and meta.get("seal") != str(seal("meta", meta["store"])):
            yield "the store must have the name that it was born with, got another checksum"
        for table, columns in COLUMNS.items():
            wanted = columns if table == "meta" else (*columns, "seal")
            missing = [name for name in wanted if name not in found[table]]
            if missing and not (layout < LAYOUT and set(missing) <= set(_NEWER)):
                yield f"table {table} must have the columns {', '.join(columns)}, got none called {missing[0]}"

    def _check_rows(self, session: Session, sealed: bool) -> Iterator[str]:
        more = "shown, seal" if sealed else "0, 0"
        sql = f"SELECT key, digest, body, rules, closed, floor, {more} FROM survey ORDER BY key"
        rows = session.run(sql).fetchall()
        keys = {row[0] for row in rows}
        for table in (*COUNTED, "token", "ids"):
            sql = f"SELECT DISTINCT survey FROM {table}"
            if lost := sorted(str(key) for (key,) in session.run(sql).fetchall() if key not in keys):
                yield f"rows of table {table} must belong to a survey, got some of number {lost[0]}, which is not there"
        for key, *row, found in rows:
            digest = row[0]
            name = f"survey {str(digest)[:8]}"
            try:
                entry = entry_of((key, *row[1:5]))
            except StoreError as problem:
                yield f"{name}: {problem}"
                continue
            if entry.survey.digest != digest:
                yield f"{name}: its text must be that of the survey, got the one of {entry.survey.digest[:8]}"
                continue
            if sealed and found != seal("survey", *row):
                yield f"{name}: {_CHANGED}"
            yield from self._check_survey(session, entry, name, sealed)

    def _check_survey(self, session: Session, entry: Entry, name: str, sealed: bool) -> Iterator[str]:
        faults: list[str] = []
        told = counted = own = 0
        wrong: list[str] = []
        changed: list[str] = []
        for table in COUNTED:
            columns = (*SEALED[table], "seal" if sealed else "NULL")
            for _, *row, found_seal in self._database.rows(session, table, columns, "survey = ?", [entry.key]):
                window, counts, text = row[-3:]
                try:
                    if type(window) is not int or window < 0:
                        raise StoreError(f"a window must be named by an hour since 1970, got {str(window)[:40]}")
                    where = label(window)
                    accepted = _accepted(text)
                    found = _reports(entry, window, counts)
                except (StoreError, ValueError, OverflowError, OSError) as problem:
                    faults.append(f"{name}, table {table}: {problem}")
                    continue
                told, counted = told + accepted, counted + found
                own += accepted if table != "shard" else 0
                if accepted != found:
                    wrong.append(where)
                elif sealed and found_seal != seal(table, *row):
                    changed.append(f"{name}, table {table}: {_CHANGED} in {where}")
        if told != counted:
            faults.append(f"{name}: counts must hold the {told} reports that were accepted, got {counted}")
        elif wrong:
            faults.append(f"{name}: counts must hold the reports that were accepted, got others in {wrong[0]}")
        faults += changed[:1]
        for fault in self._database.check_ids(session, entry.key, sealed):
            if isinstance(fault, str):
                faults.append(f"{name}: {fault}")
            elif not faults and entry.rules.retention is None and fault > own:
                lost = f"each of its {fault} ids must belong to a report, got {own} reports"
                faults.append(f"{name}: {lost}: counts are lost")
        columns = (*SEALED["token"], "seal" if sealed else "NULL")
        tokens = self._database.rows(session, "token", columns, "survey = ?", [entry.key])
        faults += [f"{name}: {fault}" for fault in _check_tokens(tokens, sealed)]
        yield from faults


def _accepted(text: Any) -> int:
    return counters_of(text).get("accepted", 0)


def _reports(entry: Entry, window: int, counts: Any) -> int:
    """How many reports a row of counts holds, if a row of this survey can look like that."""
    kind = entry.rules.window
    if kind not in WINDOWS or window_of(kind, window) != window:
        raise StoreError(f"a window must begin where a {kind} does, got {label(window)}")
    if counts is None:
        return 0
    vector = np.zeros(entry.shape.size, np.int64)
    add_packed(vector, counts)
    return int(entry.shape.tally(vector).n)


def _check_tokens(rows: Iterator[Any], sealed: bool) -> Iterator[str]:
    for _, *row, found in rows:
        hashed, _, kind, quota, used, _ = row
        known = isinstance(hashed, str) and re.fullmatch("[0-9a-f]{64}", hashed) and kind in _KINDS
        if not known or type(used) is not int or used < 0 or (quota is not None and not used <= quota):
            yield f"token {str(hashed)[:16]} must have a hash, a kind and what it has used, at most its quota"
        elif sealed and found != seal("token", *row):
            yield f"table token: {_CHANGED} of {hashed[:16]}"
