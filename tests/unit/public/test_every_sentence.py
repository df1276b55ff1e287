"""Untested messages are broken messages: each sentence that the library can refuse with is quoted in a test."""

import ast
from collections.abc import Iterator
from pathlib import Path

import deniable

SOURCE = Path(deniable.__file__).parent
TESTS = Path(__file__).parents[2]
ROOMS = ["noise.py", "reports.py", "client", "mechanisms", "survey"]
ROOMS += ["tally", "columns", "engines", "engines/spark", "matrices", "theory", "simulation.py", "decoders", "lab"]
ROOMS += ["crowds", "charts", "planner", "audit", "reproduce", "service"]


def sentences() -> Iterator[tuple[str, list[str]]]:
    """Where each error is made, and the constant parts of its sentence."""
    for room in ROOMS:
        path = SOURCE / room
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error"):
                    texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
                    yield f"{file.name}:{node.lineno}", [t for t in texts if isinstance(t, str) and len(t) > 5]


def quoted() -> str:
    """All text of the tests, with strings that go on in the next line joined."""
    files = [path for path in TESTS.rglob("*") if path.suffix in (".py", ".json") and path != Path(__file__)]
    lines: list[str] = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            constants = [n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)]
            lines += [constant.replace("\\", "") for constant in constants if isinstance(constant, str)]
        else:
            lines.append(text)
    return "\n".join(lines)


def test_every_sentence_is_quoted_in_a_test() -> None:
    known = quoted()
    found = dict(sentences())
    assert len(found) > 140
    longest = {place: max(parts, key=len).strip() for place, parts in found.items() if parts}
    silent = {place: part for place, part in longest.items() if part not in known}
    assert silent == {}
