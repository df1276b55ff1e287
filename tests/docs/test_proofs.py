"""Every claim in a docstring that names its proof names a test that exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.test_imports import files, nodes, parsed

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"(tests/[\w/]+\.py)::(\w+)")


def claims() -> list[tuple[str, str, str]]:
    """(where it stands, test file, test name) for each test that a docstring of the package names."""
    found = []
    for path in files():
        text = path.read_text()
        if not NAMED.search(text):
            continue
        for node in nodes(parsed(path)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                place = f"{path.relative_to(ROOT / 'src')}::{getattr(node, 'name', 'module')}"
                found += [(place, *match) for match in NAMED.findall(ast.get_docstring(node) or "")]
    return found


@cache
def functions_in(path: Path) -> frozenset[str]:
    if not path.exists():
        return frozenset()
    return frozenset(n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef))


@pytest.mark.parametrize(("place", "file", "name"), claims(), ids=lambda part: part)
def test_the_named_proof_exists(place: str, file: str, name: str) -> None:
    assert name in functions_in(ROOT / file), f"{place} rests on {file}::{name}, which is not there"


def test_claims_come_with_proofs() -> None:
    """A docstring that says `Claim:` says `Proof:` too."""
    for path in files():
        text = path.read_text()
        for node in nodes(parsed(path)) if "Claim:" in text or "Proof:" in text else ():
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                told = ast.get_docstring(node) or ""
                assert ("Claim:" in told) == ("Proof:" in told), f"{path.name}::{node.name}"
