"""Every database that a store may live in. A new one is one entry in `BACKENDS`, and the contract suite runs on it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from deniable.service.database import Database
from deniable.service.postgres import PostgreSQL
from deniable.service.sqlite import SQLite
from tests.cluster import Cluster
from tests.memory_backend import Memory

__all__ = ["BACKENDS", "Backend"]


@dataclass(frozen=True)
class Backend:
    """Where a test has an empty store of a kind, as `open_store` takes it; and what the system does with a database
    whose process was killed, where a test must do it: give back locks."""

    type: type[Database]
    place: Callable[[pytest.FixtureRequest, Path], str]
    killed: Callable[[Database], None] = lambda _: None


def _fresh(request: pytest.FixtureRequest, _: Path) -> str:
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.fresh()


def _drop_lock(database: Database) -> None:
    assert isinstance(database, SQLite)
    database._give_lock()


BACKENDS = [
    Backend(SQLite, lambda _, folder: str(folder / "store"), _drop_lock),
    Backend(PostgreSQL, _fresh),
    Backend(Memory, lambda _, folder: f"memory:{folder}"),
]
