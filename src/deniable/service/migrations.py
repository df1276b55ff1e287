"""The layout of a store, and the steps from each earlier one: numbered, one function each, all in one transaction.

A new layout is a new number here, a step to it, and stores that the version before has written, for the tests
(`tests/vectors/stores`). A step must go on working on those, so it uses as little as it can of code that may change.
"""

import logging
import uuid
from collections.abc import Callable
from typing import Any

from deniable.errors import StoreError
from deniable.service.database import Database, Session
from deniable.service.retention import shown_until
from deniable.service.seals import SEALED, seal
from deniable.service.stored_surveys import entry_of
from deniable.service.tallies import windows_in

LAYOUT = 4  # number of the layout that this version writes; `STEPS` has what led to each
_log = logging.getLogger("deniable.service")


def prepare(database: Database, *, migrate: bool, hour: int) -> None:
    """Make the tables of a new store, or bring those of an older one to `LAYOUT`. Killed half way, it is the old one.

    Parameters
    ----------
    database
        The database, which nobody else writes to until this is done.
    migrate
        Whether a store of an older layout may be upgraded.
    hour
        The hour before which nothing is written any more (`Clock.settled`).

    Raises
    ------
    StoreError
        If the layout is not known, or is an older one that may not be upgraded. Nothing is changed then.
    """
    with database.writing() as session:
        database.lock_layout(session)
        for statement in database.TABLES:
            session.run(statement)
        found = session.run("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        if found is None:
            name = uuid.uuid4().hex
            for row in (("schema", str(LAYOUT)), ("store", name), ("seal", str(seal("meta", name)))):
                session.run("INSERT INTO meta (name, value) VALUES (?, ?)", row)
            return
        layout = layout_number(found[0])
        if layout == LAYOUT:
            return
        if not migrate:
            raise StoreError(
                f"store must have layout {LAYOUT}, got {layout}; start once without --no-migrate to upgrade it, or use "
                "the version that made it"
            )
        kept = database.back_up(layout)
        for number in range(layout + 1, LAYOUT + 1):
            STEPS[number](database, session, hour)
        session.run("UPDATE meta SET value = ? WHERE name = 'schema'", [str(LAYOUT)])
    _log.info("store", extra={"fields": {"event": "upgraded", "from": layout, "to": LAYOUT, "backup": kept}})


def layout_number(value: Any) -> int:
    """The number of a layout as `meta` has it, if this version knows it."""
    known = {str(number): number for number in range(1, LAYOUT + 1)}
    if value not in known:
        raise StoreError(
            f"layout must be {LAYOUT} or older, got {str(value)[:40]!r}; use the version that made the store"
        )
    return known[value]


def refuse_newer(database: Database) -> None:
    """Refuse to read a store whose layout this version does not know."""
    with database.reading() as session:
        if database.columns(session, "meta"):
            for (value,) in session.run("SELECT value FROM meta WHERE name = 'schema'").fetchall():
                layout_number(value)


def _to_layout_2(database: Database, session: Session, hour: int) -> None:
    """The tables stay. A survey that is closed may keep its ids (`Entry.closed`), and rules may hold a closing date and
    texts. What layout 1 has closed has forgotten its ids, and says so already: `closed` is 1, `FOR_GOOD`."""


def _to_layout_3(database: Database, session: Session, hour: int) -> None:
    """The hour up to which windows were shown. Older versions showed blocks of all that had ended and kept no note of
    it, so whatever they can have shown counts as shown. Else the first purge would delete single windows of those
    blocks, and the others would join anew."""
    session.run("ALTER TABLE survey ADD COLUMN shown INTEGER NOT NULL DEFAULT 0")
    for row in session.run("SELECT key, body, rules, closed, floor FROM survey").fetchall():
        entry = entry_of(row)
        shown = shown_until(entry, windows_in(session, entry), 0, hour)
        session.run("UPDATE survey SET shown = ? WHERE key = ?", [shown, entry.key])


def _to_layout_4(database: Database, session: Session, hour: int) -> None:
    """A checksum for each row. The last versions of layout 3 have them, but for ids on PostgreSQL. A row that has one
    keeps it, because the row may be damaged."""
    for table in SEALED:
        if table != "ids" and "seal" not in database.columns(session, table):
            seal_rows(database, session, table)
    database.to_layout_4(session)
    meta = dict(session.run("SELECT name, value FROM meta").fetchall())
    if "seal" not in meta and "store" in meta:
        session.run("INSERT INTO meta (name, value) VALUES ('seal', ?)", [str(seal("meta", meta["store"]))])


def seal_rows(database: Database, session: Session, table: str) -> None:
    """Give every row of a table a seal, as it is."""
    session.run(f"ALTER TABLE {table} ADD COLUMN seal BIGINT NOT NULL DEFAULT 0")
    for row, *values in database.rows(session, table, SEALED[table]):
        session.run(f"UPDATE {table} SET seal = ? WHERE {database.ROW[1]}", [seal(table, *values), row])


STEPS: dict[int, Callable[[Database, Session, int], None]] = {2: _to_layout_2, 3: _to_layout_3, 4: _to_layout_4}
