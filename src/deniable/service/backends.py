"""The databases that a store may live in, by how an address begins; what is none of them is a directory."""

from collections.abc import Callable

from deniable.errors import MissingExtra, require
from deniable.service.database import Database
from deniable.service.migrations import refuse_newer
from deniable.service.store import Store

Opener = Callable[[str, bool], Database]  # from an address, and whether it is opened to write


def _postgres(address: str, write: bool) -> Database:
    require("to open a PostgreSQL store", "postgres")
    try:
        from deniable.service.postgres import PostgreSQL
    except ImportError:  # psycopg is there, and the C library that it wraps is not
        told = "psycopg must find PostgreSQL's library, libpq, and did not; run pip install 'deniable[postgres]'"
        raise MissingExtra(told) from None
    return PostgreSQL(address, write=write)


def _sqlite(folder: str, write: bool) -> Database:
    from deniable.service.sqlite import SQLite

    return SQLite(folder, write=write)


BACKENDS: dict[str, Opener] = {"postgres://": _postgres, "postgresql://": _postgres}


def open_store(where: str, *, write: bool = True, migrate: bool = True) -> Store:
    """The store at an address or in a directory.

    Parameters
    ----------
    where
        A directory, or an address that begins like one of `BACKENDS`.
    write
        Whether to write to it; without, it may be in use by a collector.
    migrate
        Whether a store of an older layout is upgraded; otherwise it is refused.
    """
    opener = next((opener for start, opener in BACKENDS.items() if where.startswith(start)), _sqlite)
    return Store(opener(where, write), migrate=migrate)


def read_store(where: str) -> Store:
    """The same, to look at: older layouts can be read as they are, newer ones are refused."""
    store = open_store(where, write=False)
    refuse_newer(store.database)
    return store
