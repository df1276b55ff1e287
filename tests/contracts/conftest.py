"""A store of each kind, and uploads to it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deniable.service.backends import open_store
from deniable.service.entries import Entry, Upload
from deniable.service.store import Store
from tests.collector import one_cell_each, records
from tests.contracts.backends import BACKENDS, Backend

NOW = 480_000  # an hour of 2024
TODAY = NOW // 24
SURVEY = one_cell_each(1024)
Open = Callable[[], Store]


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.type.kind)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


@pytest.fixture
def reopen(backend: Backend, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same store again; the one before is abandoned, as a killed process would leave it."""
    opened: list[Store] = []
    place = backend.place(request, tmp_path)

    def open_again() -> Store:
        for old in opened:
            backend.killed(old.database)
        opened.append(open_store(place))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


def upload(entry: Entry, numbers: list[int] | range, **more: object) -> Upload:
    return Upload(entry, records(entry.survey, numbers), **more)  # type: ignore[arg-type]
