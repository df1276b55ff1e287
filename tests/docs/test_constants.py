"""Numbers say what they are: every numeric constant of a module has a comment on its line or right above it.

`python -m tests.docs.test_constants` lists what is missing in all rooms.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.test_imports import DOORS, ROOMS, SOURCE, files, room_of

# The rooms whose constants all have one. The aim is every room.
DONE = (
    "errors",
    "noise",
    "mechanisms",
    "survey",
    "reports",
    "client",
    "tally",
    "columns",
    "engines",
    "matrices",
    "theory",
    "simulation",
    "charts",
    "crowds",
    "decoders",
    "lab",
    "planner",
    "tracking",
    "audit",
    "reproduce",
    "service",
    "cli",
)

_NAME = re.compile(r"_?[A-Z][A-Z0-9_]*")
_NUMBERS = {"Fraction", "frozenset", "range", "tuple"}


def is_number(node: ast.AST | None) -> bool:
    """Whether an expression is made of numbers: one of them, arithmetic, or a collection; the keys may be anything."""
    if isinstance(node, ast.Dict):
        return any(map(is_number, node.values)) and all(map(is_number, node.values))
    parts = list(ast.walk(node)) if node is not None else []
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    called = [part.func for part in parts if isinstance(part, ast.Call)]
    return (
        any(type(value) in (int, float) for value in values)
        and not any(isinstance(value, (str, bytes, bool)) for value in values)
        and not any(isinstance(part, (ast.Attribute, ast.Subscript, ast.Lambda)) for part in parts)
        and all(isinstance(func, ast.Name) and func.id in _NUMBERS for func in called)
    )


def numbers(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """The numeric constants of a module, by name, with their statements."""
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        for target in targets:
            names = [part.id for part in ast.walk(target) if isinstance(part, ast.Name)]
            if is_number(value) and all(map(_NAME.fullmatch, names)):
                yield ", ".join(names), node


def silent(text: str) -> list[str]:
    """The numeric constants of a module's text that no comment explains."""
    lines, found = text.splitlines(), []
    for name, node in numbers(ast.parse(text)):
        own = lines[node.lineno - 1 : node.end_lineno]
        above = lines[node.lineno - 2].startswith("#") if node.lineno > 1 else False
        below = lines[node.end_lineno].startswith('"""') if node.end_lineno and node.end_lineno < len(lines) else False
        if not (above or below or any("#" in line for line in own)):
            found.append(name)
    return found


def missing(room: str) -> list[str]:
    """file: name, for every numeric constant of a room without a comment."""
    return [
        f"{path.relative_to(SOURCE).as_posix()}: {name}"
        for path in files()
        if room_of(path) == room
        for name in silent(path.read_text())
    ]


@pytest.mark.parametrize("room", DONE)
def test_every_number_is_explained(room: str) -> None:
    assert missing(room) == []


def test_the_rooms_exist() -> None:
    assert set(DONE) <= {*ROOMS, *DOORS}
    assert any(list(numbers(ast.parse(path.read_text()))) for path in files() if room_of(path) in DONE)


@pytest.mark.parametrize(
    "code",
    [
        "LIMIT = 7",
        "_SMALL, _LARGE = 1 << 4, 2.5e9",
        "SHARE: float = -0.5",
        "SIZES = (1, 2, 3)",
        "LOSSES = {256: (0.1, 0.2)}",
        "BOUND = Fraction(1, 10)",
        "# a comment that is further up\n\nLIMIT = 7",
    ],
)
def test_a_silent_number_is_found(code: str) -> None:
    assert len(silent(code)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "LIMIT = 7  # bytes",
        "# Bytes.\nLIMIT = 7",
        "NAME = 'a'",
        "limit = 7",
        "ON = True",
        "SIZES = (\n    1,  # byte\n    2,\n)",
    ],
)
def test_what_is_explained_or_no_number_is_not(code: str) -> None:
    assert silent(code) == []


if __name__ == "__main__":
    for each in dict.fromkeys(room_of(Path(path)) for path in files()):
        print("\n".join(missing(each)), end="\n" if missing(each) else "")
