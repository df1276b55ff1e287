"""Copies of an embedded store: online backup, restore, and the import of another store's counts as a shard."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from deniable.errors import StoreError
from deniable.service.migrations import refuse_newer
from deniable.service.sqlite import FILE, SQLite, SQLiteStore, copy_database, private, sound
from deniable.service.store import Store
from deniable.survey import output_file


def backup(folder: str, target: str | BinaryIO, *, replace: bool = False) -> int:
    """Copy a store into one file, also while a collector writes to it.

    The copy is a consistent snapshot: every report in it is there with its id.

    Parameters
    ----------
    folder : str
        The directory of the store.
    target : str or binary file
        Where to write; only its owner can read it. A pipe gets the copy once it is complete and checked.
    replace : bool
        Whether an existing file may be replaced.

    Returns
    -------
    int
        Bytes that were written.

    Examples
    --------
    >>> import tempfile
    >>> from deniable.service import open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_store(f"{folder}/store").close()
    ...     print(backup(f"{folder}/store", f"{folder}/backup") > 0)
    True
    """
    store = SQLiteStore(folder, write=False)
    with output_file(target, replace=replace, mode=0o600, hold=True) as file:
        copy_database(store.database.path, file.name)
        return os.path.getsize(file.name)


def restore(source: str, folder: str, *, complete: bool = False) -> int:
    """Make a store from a backup.

    Reports that were acknowledged after the backup are not in it. Clients that send them again are counted.

    Parameters
    ----------
    source : str
        A backup file.
    folder : str
        A directory without a store.
    complete : bool
        Whether no report was acknowledged after the backup.

    Returns
    -------
    int
        Reports that readers see only together with enough new ones (`Retention.mark_restored`); 0 if complete.

    Raises
    ------
    StoreError
        If the backup is damaged, or the directory has a store.

    Examples
    --------
    >>> import tempfile
    >>> from deniable.service import open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_store(f"{folder}/store").close()
    ...     _ = backup(f"{folder}/store", f"{folder}/backup")
    ...     print(restore(f"{folder}/backup", f"{folder}/again"))
    0
    """
    if not os.path.exists(source):
        raise StoreError(f"{source} must be a backup file, got nothing there")
    target = Path(folder)
    if (target / FILE).exists():
        raise StoreError(f"{folder} must not be a store yet; restore into a new directory, then move it")
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = target / f"{FILE}.part"
    private(part)
    with (
        sqlite3.connect(f"{Path(source).absolute().as_uri()}?mode=ro", uri=True) as given,
        sqlite3.connect(part) as copy,
    ):
        try:
            given.backup(copy)
        except sqlite3.DatabaseError as problem:
            raise StoreError(f"{source} must be a sound database: {problem}; use an earlier backup") from None
        sound(copy, source)
    given.close()
    copy.close()
    os.replace(part, target / FILE)
    with closing(Store(SQLite(folder, copied=True))) as store:
        return 0 if complete else store.mark_restored()


def merge(into: Store, others: list[str]) -> int:
    """Take over the counts of other embedded stores as shards. It is idempotent: each store counts once.

    Parameters
    ----------
    into : Store
        The store that takes the counts.
    others : list of str
        Directories of other embedded stores.

    Returns
    -------
    int
        Reports of the other stores.

    Examples
    --------
    >>> import tempfile
    >>> from deniable.service import open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_store(f"{folder}/store").close()
    ...     store = open_store(f"{folder}/main")
    ...     print(merge(store, [f"{folder}/store"]))
    ...     store.close()
    0
    """
    total = 0
    for folder in others:
        store = SQLiteStore(folder, write=False)
        refuse_newer(store.database)
        for entry in store.entries():
            into.take_shard(store.name(), entry.survey, entry.rules, store.own_tallies(entry))
            total += store.tally(entry).n
    return total
