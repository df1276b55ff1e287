"""CONTRIBUTING's list for a new store backend is true, and a backend that is made by it runs a collector."""

import inspect
import re
from pathlib import Path

import pytest

from deniable.errors import StoreError
from deniable.service import backends as doors
from deniable.service.backends import open_store
from deniable.service.database import Database
from deniable.service.problems import Unavailable
from tests import memory_backend
from tests.collector import Caller, Ticking, counted, name_of, one_cell_each, run, wire
from tests.contracts import backends
from tests.memory_backend import Memory

ROOT = Path(__file__).parents[2]
SURVEY = one_cell_each(1024)


def section() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text[text.index("## A new store backend") : text.index("## A new route")]


def test_every_file_and_method_of_the_list_is_there() -> None:
    listed = re.findall(r"^\d\. `([^`]+)`", section(), re.M)
    assert listed == ["service/<name>.py", "service/backends.py", "tests/contracts/backends.py"]
    assert (doors.__file__, backends.__file__) == (
        str(ROOT / "src" / "deniable" / listed[1]),
        str(ROOT / listed[2]),
    )
    sentence = section()[section().index("Abstract are") : section().index("; it also has")]
    assert set(re.findall(r"`(\w+)`", sentence)) == Database.__abstractmethods__
    rest = section()[section().index("it also has") : section().index("the four locks")]
    given = set(re.findall(r"`(\w+)`", rest))
    assert given == {name for name in Database.__annotations__ if not hasattr(Database, name)}


def test_every_method_of_the_interface_says_what_it_must_do() -> None:
    methods = [name for name, _ in inspect.getmembers(Database, inspect.isfunction) if not name.startswith("_")]
    assert [name for name in methods if not (Database.__dict__[name].__doc__ or "").strip()] == []
    source = inspect.getsource(Database)
    for name in Database.__annotations__:
        assert re.search(rf'^    {name}: [^\n]+\n    """', source, re.M), f"{name} has no sentence"


def test_the_toy_needs_nothing_but_the_interface() -> None:
    """It imports nothing of the other backends, and the rooms know nothing of it."""
    imported = re.findall(r"^from (deniable\S+) import", Path(memory_backend.__file__).read_text(), re.M)
    rooms = {f"deniable.service.{name}" for name in ("backends", "database", "problems", "seals")}
    assert set(imported) == rooms
    defined = {name for name in vars(Memory) if not name.startswith("_")}
    assert defined - set(Database.__annotations__) == Database.__abstractmethods__, "and it overrides nothing else"


def test_a_collector_runs_on_it(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Ticking(480_000)
        store = open_store(f"memory:{tmp_path}")
        async with Caller(store, clock=clock) as call:
            path = await call.create(SURVEY, minimum=3, results="public")
            body = b"".join(name_of(number) + wire(SURVEY, number) for number in range(5))
            assert (await call.upload(SURVEY, body)).json()["accepted"] == 5
            assert (await call.upload(SURVEY, body)).json()["duplicate"] == 5
            assert (await call("GET", "/readyz")).json()["status"] == "ready"
            clock.pass_hours(25)
            assert (await call("GET", f"{path}/windows")).json()["windows"] != []
        again = open_store(f"memory:{tmp_path}")
        (entry,) = again.entries()
        assert counted(again.tally(entry))[:6].tolist() == [1, 1, 1, 1, 1, 0]
        assert list(again.check()) == []

    run(scene())


def test_a_backend_that_cannot_be_opened_says_its_own_sentence(tmp_path: Path) -> None:
    class Gone(Memory):
        def load(self) -> None:
            raise Unavailable("it is gone")

    doors.BACKENDS["gone:"] = lambda where, write: Gone(where, write=write)
    try:
        with pytest.raises(StoreError, match="gone:here must be a store: it is gone"):
            open_store("gone:here")
    finally:
        del doors.BACKENDS["gone:"]
