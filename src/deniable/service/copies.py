"""Copies of an embedded store: backup while it runs, restore, and another store's counts taken over as a shard."""

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
    """Copy a store into one file, also while a collector writes to it; how many bytes that are.

    The copy is one state: every report in it is there with its id. It is for its owner alone. Into a pipe it goes when
    it is complete and was checked.
    """
    store = SQLiteStore(folder, write=False)
    with output_file(target, replace=replace, mode=0o600, hold=True) as file:
        copy_database(store.database.path, file.name)
        return os.path.getsize(file.name)


def restore(source: str, folder: str, *, complete: bool = False) -> int:
    """Make a store from a backup, in a directory that has none yet; how many reports readers see again only with new
    ones (`mark_restored`), which none need where the backup is `complete`.

    Reports that were acknowledged after the backup are not in it. Clients that send them again are counted.
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
    """Take over the counts of other embedded stores, each once however often it is taken; how many reports."""
    total = 0
    for folder in others:
        store = SQLiteStore(folder, write=False)
        refuse_newer(store.database)
        for entry in store.entries():
            into.take_shard(store.name(), entry.survey, entry.rules, store.own_tallies(entry))
            total += store.tally(entry).n
    return total
