"""A store of each kind, and uploads to it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deniable.service.entries import Entry, Upload
from deniable.service.postgres import PostgresStore
from deniable.service.sqlite import SQLiteStore
from deniable.service.store import Store
from tests.cluster import Cluster
from tests.collector import one_cell_each, records

NOW = 480_000  # an hour of 2024
TODAY = NOW // 24
SURVEY = one_cell_each(1024)
Open = Callable[[], Store]


@pytest.fixture(params=["sqlite", "postgres"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same store again; the one before is abandoned, as a killed process would leave it."""
    opened: list[Store] = []
    if request.param == "postgres":
        cluster: Cluster = request.getfixturevalue("cluster")
        address = cluster.fresh()

    def open_again() -> Store:
        for old in opened:
            if isinstance(old, SQLiteStore):
                old._give_lock()
        opened.append(SQLiteStore(tmp_path / "store") if request.param == "sqlite" else PostgresStore(address))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


def upload(entry: Entry, numbers: list[int] | range, **more: object) -> Upload:
    return Upload(entry, records(entry.survey, numbers), **more)  # type: ignore[arg-type]
