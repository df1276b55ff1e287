"""CONTRIBUTING's list for a new mechanism is true: the registries are on it, and what is made by it works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.test_registrations import BLOCK_REGISTRIES, ENCODING_REGISTRIES, MECHANISM_REGISTRIES
from tests.docs.test_imports import SOURCE

ROOT = Path(__file__).parents[2]
TOY = ROOT / "tests" / "toy"
MOST = 8


def section() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text[text.index("## A new mechanism") :]


def listed() -> list[str]:
    return re.findall(r"^\d\. `([^`]+)`", section(), re.M)


def files_of(registries: list[str]) -> set[str]:
    """The files that registries stand in, by their full names."""
    return {"/".join(name.split(".")[1:-1]) + ".py" for name in registries}


def test_the_list_is_short_and_every_file_is_there() -> None:
    assert len(listed()) <= MOST
    assert [name for name in listed() if "<name>" not in name and not (SOURCE / name).is_file()] == []


def test_every_registry_is_on_the_list_and_nothing_else() -> None:
    assert set(listed()) == {"mechanisms/<name>.py", "survey/presets.py", *files_of(MECHANISM_REGISTRIES)}
    for file in files_of(ENCODING_REGISTRIES + BLOCK_REGISTRIES):
        assert f"`{file}`" in section()


def test_the_toys_are_made_of_listed_files_alone() -> None:
    """Each file but the walk says in its first words which file of the list it stands for."""
    paths = [path for path in TOY.glob("*.py") if path.stem not in ("__init__", "walk")]
    assert {path.read_text().removeprefix('"""').split(":")[0] for path in paths} == set(listed())


@pytest.mark.slow
def test_a_mechanism_made_by_the_list_works_from_end_to_end(tmp_path: Path) -> None:
    """In a package and a process of its own it privatises, counts, simulates, decodes, plans, audits, has a notice."""
    shutil.copytree(TOY, tmp_path / "planted", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-W", "error", "-m", "planted.walk"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1::2] == ["walked Band", "walked Plain"]


def test_without_a_registration_it_is_named(tmp_path: Path) -> None:
    shutil.copytree(TOY, tmp_path / "planted", ignore=shutil.ignore_patterns("__pycache__"))
    text = "import deniable.planner, deniable.cli.words, deniable.audit\nfrom deniable.mechanisms import missing\n"
    text += "from planted.band import Band\nfrom planted.plain import Plain\nprint(*missing(Band), *missing(Plain))\n"
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    channel = ["deniable.planner.catalogue.planned", "deniable.survey.reading.mechanisms"]
    assert done.stdout.split() == channel + MECHANISM_REGISTRIES
