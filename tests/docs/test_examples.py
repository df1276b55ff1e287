"""The examples run, on their own, and the notebooks are the scripts with output."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from examples.notebooks import NAMES, cells
from tests.docs.blocks import ROOT

EXAMPLES = ROOT / "examples"
LARGEST = 200_000  # bytes of a notebook with its output


def test_every_script_is_listed_and_has_a_notebook() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py")} - {"__init__", "notebooks"}
    assert scripts == set(NAMES) == {path.stem for path in (EXAMPLES / "notebooks").glob("*.ipynb")}
    page = (EXAMPLES / "README.md").read_text()
    assert [name for name in NAMES if f"({name}.py)" not in page or f"(notebooks/{name}.ipynb)" not in page] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_script_runs(name: str, tmp_path: Path) -> None:
    """In an empty folder, warnings as errors (Spark's own aside); each checks its result with an assert."""
    strict = [] if name == "spark_counting" else ["-W", "error"]
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, *strict, str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_its_script_with_output(name: str) -> None:
    path = EXAMPLES / "notebooks" / f"{name}.ipynb"
    book = nbformat.read(path, as_version=4)
    shown = [(cell.cell_type, cell.source) for cell in book.cells]
    assert shown == cells((EXAMPLES / f"{name}.py").read_text()), f"run python -m examples.notebooks {name}"
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs
    assert all(output.output_type != "error" for output in outputs)
    assert path.stat().st_size < LARGEST
    text = path.read_text()
    for other in (str(Path.home()), "/tmp/", "site-packages", "https://cdn", "://unpkg"):
        assert other not in text, "a path of the machine that ran it, or a script of another host"
