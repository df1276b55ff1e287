"""A collector's store: a database, and the rooms that read and write it.

What a database must provide is in `database`; what is stored, and in which layout, in `seals` and `migrations`.
"""

import contextlib
import uuid
from contextlib import AbstractContextManager

from deniable.errors import StoreError
from deniable.service.clock import Clock
from deniable.service.database import Database, Session
from deniable.service.intake import Intake
from deniable.service.migrations import prepare
from deniable.service.problems import Unavailable
from deniable.service.replacing import Replacing
from deniable.service.retention import Retention
from deniable.service.shards import Shards
from deniable.service.store_check import Checks
from deniable.service.stored_surveys import Surveys
from deniable.service.tallies import Tallies
from deniable.service.tokens import Tokens

__all__ = ["Store", "Unavailable"]

_PROBE = 1 << 16  # bytes that a probe writes: several pages of a database, so that a full disk is noticed


class Store:
    """Surveys, tokens, reports, tallies and their retention, in one database.

    Parameters
    ----------
    database : Database
        Where everything is kept. Opened to write, it belongs to this store.
    migrate : bool
        Whether a store of an older layout is upgraded; otherwise it is refused.

    Raises
    ------
    StoreError
        If this is no store, cannot be read, or has a layout that may not be used. The database is closed then.

    Examples
    --------
    >>> import tempfile
    >>> from deniable.service import open_store
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = open_store(folder.name)
    >>> store.probe()  # raises if nothing can be written
    >>> store.open_ids(), len(store.name()) > 0
    (0, True)
    >>> with store.writing() as session:
    ...     _ = session.run("INSERT INTO meta (name, value) VALUES (?, ?)", ["note", "1"])
    >>> with store.reading() as session:
    ...     session.run("SELECT value FROM meta WHERE name = 'note'").fetchone()[0]
    '1'
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(self, database: Database, *, migrate: bool = True) -> None:
        self.database = database
        self.kind, self.where = database.kind, database.where
        self.surveys = surveys = Surveys(database)
        self.create, self.entry, self.entries, self.names = (
            surveys.create, surveys.entry, surveys.entries, surveys.names,
        )  # fmt: skip
        self.change, self.reopen = surveys.change, surveys.reopen
        tokens = Tokens(database)
        self.add_token, self.tokens, self.drop_token = tokens.add, tokens.of, tokens.drop
        tallies = Tallies(database)
        self.tally, self.windows, self.reports = tallies.tally, tallies.windows, tallies.reports
        self.fold, self.tidy = tallies.fold, tallies.tidy
        self.intake = Intake(database, tallies)
        self.write = self.intake.write
        retention = Retention(database, surveys, tallies)
        self.blocks, self.show, self.purge = retention.blocks, retention.show, retention.purge
        self.end, self.delete, self.mark_restored = retention.end, retention.delete, retention.mark_restored
        self.replace = Replacing(database, surveys, tallies).replace
        shards = Shards(database, surveys)
        self.own_tallies, self.take_shard = shards.own_tallies, shards.take
        self.check = Checks(database).check
        if database.writable:
            try:
                prepare(database, migrate=migrate, hour=Clock().settled())
                database.load()
            except Unavailable as problem:
                database.close()
                raise StoreError(database.refusal(problem)) from None
            except BaseException:
                database.close()
                raise

    def writing(self) -> AbstractContextManager[Session]:
        """A transaction that may write: committed at the end, undone on an error."""
        return self.database.writing()

    def reading(self) -> AbstractContextManager[Session]:
        """A transaction with a consistent snapshot; for any thread."""
        return self.database.reading()

    def open_ids(self) -> int:
        """About how many report ids are kept."""
        return self.database.open_ids()

    @property
    def broken(self) -> str | None:
        """Why nothing can be written any more until a restart. None while that is not so."""
        return self.database.broken

    def name(self) -> str:
        """The random name that was given to this store when it was created; it identifies shards."""
        with self.reading() as session:
            found = session.run("SELECT value FROM meta WHERE name = 'store'").fetchone()
        if found is None:
            raise StoreError("the store must have the name that it was born with, got none; restore a backup")
        return str(found[0])

    def probe(self) -> None:
        """Insert a row and delete it, or raise: on a full disk a row can be updated, but none be added."""
        name = f"probe {uuid.uuid4().hex}"
        with self.writing() as session:
            session.run("INSERT INTO meta (name, value) VALUES (?, ?)", [name, "0" * _PROBE])
        with self.writing() as session:
            session.run("DELETE FROM meta WHERE name LIKE 'probe %'")

    def close(self) -> None:
        """Release the database. A store whose process was killed instead needs no repair."""
        database = self.database
        if database.writable and not database.shared and database.broken is None:
            with contextlib.suppress(Unavailable, StoreError):
                for entry in self.entries():
                    self.fold(entry)
            database.forgot()
        database.writable = False
        database.close()
