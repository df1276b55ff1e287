"""The database backends of a store, by the scheme of the address; any other text is a directory."""

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
    where : str
        A directory, or an address that begins like one of `BACKENDS`.
    write : bool
        Whether to write to it; without, it may be in use by a collector.
    migrate : bool
        Whether a store of an older layout is upgraded; otherwise it is refused.

    Returns
    -------
    Store
        Open; close it after use.

    Raises
    ------
    StoreError
        If there is no store that can be opened.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_store(folder).close()
    ...     store = open_store(folder, write=False)
    ...     print(store.kind, len(store.entries()))
    ...     store.close()
    sqlite 0
    """
    opener = next((opener for start, opener in BACKENDS.items() if where.startswith(start)), _sqlite)
    return Store(opener(where, write), migrate=migrate)


def read_store(where: str) -> Store:
    """The store at an address or in a directory, for reading. Older layouts are read without an upgrade.

    Parameters
    ----------
    where : str
        A directory, or an address that begins like one of `BACKENDS`.

    Returns
    -------
    Store
        Open for reading.

    Raises
    ------
    StoreError
        If its layout is newer than this version.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_store(folder).close()
    ...     store = read_store(folder)
    ...     print(store.kind, len(store.entries()))
    ...     store.close()
    sqlite 0
    """
    store = open_store(where, write=False)
    refuse_newer(store.database)
    return store
