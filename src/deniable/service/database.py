"""What a store needs of a database: the one interface that a new backend implements.

The rooms of a store (`stored_surveys`, `tokens`, `intake`, `tallies`, `retention`, `shards`, `checking`) speak SQL that
SQLite and PostgreSQL share. A backend runs it, and does what differs: transactions, locks, and how an id is known to be
new. `tests/contracts` holds every backend to what is written here.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from deniable.service.problems import Unavailable

Bools = npt.NDArray[np.bool_]
Days = npt.NDArray[np.int64]  # since 1970; 0 where the client does not say
Ids = npt.NDArray[np.uint8]  # of shape (n, 16)


class Cursor(Protocol):
    """What the drivers of databases return."""

    def fetchall(self) -> list[Any]: ...
    def fetchone(self) -> Any: ...


class Session(ABC):
    """One transaction."""

    @abstractmethod
    def run(self, sql: str, values: Sequence[object] = ()) -> Cursor:
        """Run one statement; a question mark stands for each of the values."""


def tables(*, key: str, number: str, blob: str, ids: str) -> tuple[str, ...]:
    """Statements that make the tables of a store where they are not there.

    Parameters
    ----------
    key
        The type of a primary key that the database gives to rows, and never gives twice.
    number
        The type of whole numbers of up to 64 bits.
    blob
        The type of bytes.
    ids
        The columns of the table of report ids: `survey`, `day`, `seal` and what the backend needs.
    """
    columns = {
        "meta": "name TEXT PRIMARY KEY, value TEXT NOT NULL",
        "survey": f"key {key}, digest TEXT UNIQUE NOT NULL, body TEXT NOT NULL, rules TEXT NOT NULL, "
        "closed INTEGER NOT NULL, floor INTEGER NOT NULL, shown INTEGER NOT NULL, seal BIGINT NOT NULL",
        "delta": f"seq {key}, survey {number} NOT NULL, win INTEGER NOT NULL, counts {blob}, counters TEXT NOT NULL, "
        "seal BIGINT NOT NULL",
        "tally": f"survey {number}, win INTEGER, counts {blob}, counters TEXT NOT NULL, seal BIGINT NOT NULL, "
        "PRIMARY KEY (survey, win)",
        "shard": f"source TEXT, survey {number}, win INTEGER, counts {blob}, counters TEXT NOT NULL, "
        "seal BIGINT NOT NULL, PRIMARY KEY (source, survey, win)",
        "token": f"hash TEXT PRIMARY KEY, survey {number} NOT NULL, kind TEXT NOT NULL, quota {number}, "
        f"used {number} NOT NULL, name TEXT NOT NULL, seal BIGINT NOT NULL",
        "ids": ids,
    }
    return tuple(f"CREATE TABLE IF NOT EXISTS {table} ({inside})" for table, inside in columns.items())


class Database(ABC):
    """A database that a store lives in. All writing is done by one thread at a time, reading by any.

    A method that gets a `session` works inside that transaction: what it did is undone with it. Errors of the driver
    leave `writing` and `reading` as `Unavailable`, or as `Contended` where the same work may succeed if it is repeated.
    """

    kind: ClassVar[str]
    """Its name in logs and metrics."""

    shared: ClassVar[bool] = True
    """Whether other processes may write to the same database. If not, a store that is closed tidies up first."""

    TABLES: ClassVar[tuple[str, ...]]
    """Statements that make the tables where they are not there, from `tables`."""

    ROW: ClassVar[tuple[str, str]]
    """An expression that names a row of any table, and a condition with one question mark that finds it by that."""

    FOR_UPDATE: ClassVar[str] = ""
    """What makes a SELECT keep others from changing its rows, where others may write."""

    where: str
    """What opens the same store once more, in this process or in another one."""

    broken: str | None = None
    """Why nothing can be written any more until a restart. None while that is not so."""

    writable: bool
    """Whether it was opened to write."""

    # Transactions.
    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """A transaction that may write. At the end of the block it is on disk; an exception in it undoes everything."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees one state, also while others commit. It does not wait for `writing`."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back. A database whose process was killed instead needs no repair."""

    @abstractmethod
    def refusal(self, problem: Unavailable) -> str:
        """The sentence for a store that cannot be opened."""

    # Locks, each until the end of the transaction. A database with one writing process needs none.
    def lock_layout(self, session: Session) -> None:
        """Wait for others that are opening the same database, and keep them waiting."""
        return

    def share(self, session: Session, keys: Sequence[int]) -> None:
        """Keep these surveys from being changed or deleted, in the order of the keys, and let others share them."""
        return

    def alone(self, session: Session, key: int) -> None:
        """Wait until nobody shares or folds a survey, and keep others from both."""
        return

    def lock_fold(self, session: Session, key: int) -> bool:
        """Be the only one that folds the counts of a survey; False, at once, if somebody else is."""
        return True

    # Report ids. The table `ids` has the columns `survey` and `day`; the others are the backend's own.
    def load(self) -> None:
        """Called once the layout is right, before anything else: read what must be in memory."""
        return

    @abstractmethod
    def admit(self, session: Session, key: int, ids: Ids, days: Days) -> Bools:
        """Keep the ids that are new to a survey, and say which are. Of an id that is given twice the first is new. What
        was kept is found by every later `admit`, of any process, once the transaction has committed."""

    @abstractmethod
    def forget(self, session: Session, key: int, ids: Ids) -> None:
        """Take back ids that `admit` kept in this transaction."""

    @abstractmethod
    def drop_ids(self, session: Session, key: int, before: int | None) -> None:
        """Forget the ids of days before `before`, but for those without a day; all of them where it is None."""

    def join_ids(self, session: Session, key: int) -> None:
        """Called every hour: remove the order in which ids came, where the rows say it."""
        return

    def forgot(self, *, survey: bool = False) -> None:
        """Called after a commit that forgot ids or counts, or a whole survey: remove them from logs and memory."""
        return

    @abstractmethod
    def open_ids(self) -> int:
        """About how many ids are kept."""

    # Checks and upgrades.
    @abstractmethod
    def columns(self, session: Session, table: str) -> set[str]:
        """The columns that a table has; none where there is no such table."""

    def check_database(self, session: Session) -> Iterator[str]:
        """Faults of the database below its tables, as sentences."""
        yield from ()

    @abstractmethod
    def check_ids(self, session: Session, key: int, sealed: bool) -> Iterator[str | int]:
        """Faults of a survey's ids as sentences, with their seals if they have some; then how many ids there are."""

    def back_up(self, layout: int) -> str | None:
        """Called before an upgrade, in its transaction: keep the store as it is; where, if it could be done."""
        return None

    def to_layout_4(self, session: Session) -> None:
        """Seal ids that an earlier layout has left without. A backend that came later has no such store."""
        return

    def rows(
        self, session: Session, table: str, columns: Sequence[str], where: str = "TRUE", values: Sequence[object] = ()
    ) -> Iterator[Any]:
        """The rows of a table, each after its name, and read one by one: each may be large."""
        name, this = self.ROW
        for (row,) in session.run(f"SELECT {name} FROM {table} WHERE {where}", values).fetchall():
            sql = f"SELECT {name}, {', '.join(columns)} FROM {table} WHERE {this}"
            yield from session.run(sql, [row]).fetchall()
