"""Nothing runs from the folder that a collector, or a command, happens to be started in."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import deniable as dn
from deniable.reproduce.cache import ResultCache
from deniable.reproduce.pool import Results
from deniable.service.children import program
from tests.collector import ADMIN, Server, records
from tests.tasks import Draw
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

SURVEY = dn.orr(epsilon=1, cells=4, cohorts=4, seed=bytes(16))
PLANTED = ("vl_convert", "numpy", "json", "pyarrow", "altair", "struct", "pickle", "uvicorn", "sqlite3", "scipy")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder full of modules that leave a trace when they are run."""
    made = tmp_path / "here"
    made.mkdir()
    for name in PLANTED:
        (made / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\nraise ImportError")
    before = Path.cwd()
    os.chdir(made)
    yield tmp_path
    os.chdir(before)


def ran(folder: Path) -> str:
    trace = folder / "ran"
    return trace.read_text() if trace.exists() else ""


def test_the_trap_works(folder: Path) -> None:
    """Mutant: a child without -P runs what lies there."""
    command = program("deniable.service.pages.bundle")
    command.remove("-P")
    assert subprocess.run(command, capture_output=True, timeout=PATIENCE).returncode != 0
    assert ran(folder) != ""


def test_a_collector_runs_no_code_from_its_folder(folder: Path) -> None:
    server = Server(str(folder / "store"), folder, program=("-P", "-m", "deniable")).start()
    try:
        server.create(SURVEY, minimum=0, results="public")
        path = f"/v1/surveys/{SURVEY.digest}"
        body = records(SURVEY, range(8))
        assert server.ask("POST", f"{path}/reports", body, kind="application/octet-stream").status == 200
        # What anyone may ask for, and what the administrator may.
        assert server.ask("GET", "/pages/vega.js", token=None).status == 200
        assert server.ask("GET", "/pages/charts.json", token=None).status == 200
        for form in ("json", "csv", "arrow"):
            answer = server.ask("GET", f"{path}/estimate?candidates=a,b&format={form}", token=ADMIN)
            assert answer.status == 200, answer
        assert server.ask("GET", f"{path}/trend?candidates=a,b").status == 200
        plan = {"n": 10_000, "epsilon": 1, "symbols": 4}
        assert server.ask("POST", "/v1/plan", json.dumps(plan).encode()).status == 200
    finally:
        server.stop()
    assert ran(folder) == ""


def test_the_processes_of_the_command_line_run_no_code_from_their_folder(folder: Path) -> None:
    """`deniable reproduce` counts in processes of its own, which begin with `pickle` and `struct`."""
    with ResultCache(folder / "cells.sqlite", seed=5) as store, Results(store, processes=1) as results:
        assert list(results([Draw(("a", "b"))], "draws")) == ["a", "b"]
    assert ran(folder) == ""
    assert "PYTHONSAFEPATH" not in os.environ


def test_every_process_of_the_package_is_started_by_one_function() -> None:
    source = Path(dn.__file__).parent
    starts = [path.name for path in source.rglob("*.py") if "sys.executable" in path.read_text(encoding="utf-8")]
    assert starts == ["children.py"]
