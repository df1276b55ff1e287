"""The results of all runs in one SQLite file, so that a run that was stopped continues where it was.

What was committed survives `kill -9`: SQLite recovers its log when the file is opened again. The file is locked as long
as it is open, and the system drops the lock with the process, so no stale lock can stay behind.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from deniable.errors import DeniableError

_APPLICATION, _FORMAT = 0x646E6272, 1  # in the file's header: "dnbr", and the version of the table below
_TABLE = """CREATE TABLE cells (
    seed INTEGER NOT NULL, key TEXT NOT NULL, numbers TEXT NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (seed, key)
) WITHOUT ROWID"""
_AT_ONCE = 500  # keys in one query; SQLite before 3.32 allows 999 variables


class ResultCache(AbstractContextManager["ResultCache"]):
    """The results of one seed in a file, which may hold those of other seeds too.

    Parameters
    ----------
    path : str or path
        The file; ":memory:" for none.
    seed : int
        The seed of the results.

    Raises
    ------
    DeniableError
        If the file is another program's, damaged, in use, or cannot be written.

    Examples
    --------
    >>> store = ResultCache(":memory:", seed=7)
    >>> store.put({"a": [0.1, float("inf")], "b": []}, seconds=3.0)
    >>> store.get_many(["a", "c"]), store.seconds(["a"])
    ({'a': [0.1, inf]}, 1.5)
    >>> store.close()
    """

    def __init__(self, path: str | os.PathLike[str], *, seed: int) -> None:
        self.path, self.seed = os.fspath(path), seed
        with self._explained():
            self._file = sqlite3.connect(self.path, timeout=0, isolation_level=None)
        try:
            with self._explained():
                self._open()
        except BaseException:
            self._file.close()
            raise

    def _open(self) -> None:
        self._file.execute("PRAGMA locking_mode = EXCLUSIVE")
        application, version, objects = (
            self._file.execute(question).fetchone()[0]
            for question in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        new = application == version == objects == 0
        if not new and application != _APPLICATION:
            raise _foreign(self.path)
        if not new and version != _FORMAT:
            raise DeniableError(
                f"{self.path} must be of format {_FORMAT}, got {version}: another version of deniable wrote it; "
                "choose another folder"
            )
        # With a write-ahead log a commit is one write, and survives a crash of the process without waiting for the
        # disk; a power cut may lose the last commits.
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        with self._transaction():  # takes the lock, which stays
            if new:
                self._file.execute(_TABLE)
                self._file.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._file.execute(f"PRAGMA user_version = {_FORMAT}")
        (verdict,) = self._file.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise _damaged(self.path, verdict)

    def get_many(self, keys: Iterable[str]) -> dict[str, list[float]]:
        """The numbers of those keys that are here.

        Parameters
        ----------
        keys : iterable of str
            The keys that are wanted.
        """
        found: dict[str, list[float]] = {}
        with self._explained():
            for key, numbers in self._rows("key, numbers", keys):
                try:
                    found[key] = [float(number) for number in json.loads(numbers)]
                except (TypeError, ValueError) as problem:
                    raise _damaged(self.path, f"the numbers of {key} cannot be read") from problem
        return found

    def put(self, results: Mapping[str, Sequence[float]], seconds: float) -> None:
        """Keep what one task found; all or nothing, at once.

        Parameters
        ----------
        results : mapping of str to sequences of float
            Numbers by key.
        seconds : float
            The CPU seconds of the task, which its results share.
        """
        share = seconds / max(1, len(results))
        rows = [(self.seed, key, json.dumps([float(x) for x in numbers]), share) for key, numbers in results.items()]
        with self._explained(), self._transaction():
            self._file.executemany("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?)", rows)

    def seconds(self, keys: Iterable[str]) -> float:
        """The CPU seconds that some results took, whenever they were computed.

        Parameters
        ----------
        keys : iterable of str
            The keys of the results.
        """
        with self._explained():
            return sum((seconds for _, seconds in self._rows("key, seconds", keys)), 0.0)

    def close(self) -> None:
        """Merge the log into the file, and close it."""
        with self._explained():
            self._file.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, columns: str, keys: Iterable[str]) -> Iterator[tuple[str, Any]]:
        wanted = list(dict.fromkeys(keys))
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"SELECT {columns} FROM cells WHERE seed = ? AND key IN ({marks})"
            yield from self._file.execute(query, [self.seed, *some])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._file.execute("BEGIN EXCLUSIVE")
        try:
            yield
            self._file.execute("COMMIT")
        except BaseException:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever SQLite refuses becomes a sentence that names the file."""
        try:
            yield
        except sqlite3.Error as problem:
            name = getattr(problem, "sqlite_errorname", "")
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise DeniableError(
                    f"{self.path} is in use by another run; wait for it, or choose another folder"
                ) from problem
            if name.startswith("SQLITE_NOTADB"):
                raise _foreign(self.path) from problem
            if name.startswith("SQLITE_CORRUPT"):
                raise _damaged(self.path, str(problem)) from problem
            places = [place for place in (self.path, os.path.dirname(self.path)) if os.path.exists(place)]
            allowed = all(
                os.access(place, os.W_OK) for place in places
            )  # where it is not, the messages of SQLite differ
            reason = problem if allowed else "permission denied"
            raise DeniableError(f"{self.path} cannot be written: {reason}") from problem


def _foreign(path: str) -> DeniableError:
    return DeniableError(f"{path} is not a store of results; choose another folder")


def _damaged(path: str, reason: str) -> DeniableError:
    return DeniableError(f"{path} is damaged: {reason}; remove it, and what it held is computed again")
