"""The modules of a room import each other in one direction only, inside functions and for type checking too."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "deniable"


def imports(room: str) -> dict[str, set[str]]:
    """The modules of a room, each with those of the same room that it imports anywhere."""
    prefix, found = f"deniable.{room}.", {}
    for path in sorted((SOURCE / room).glob("*.py")):
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        modules = [node.module for node in nodes if node.module and node.module.startswith(prefix)]
        if path.stem != "__init__":
            found[path.stem] = {module.removeprefix(prefix) for module in modules}
    return found


@pytest.mark.parametrize("room", ["decoders", "design"])
def test_modules_of_a_room_form_no_cycle(room: str) -> None:
    graph = imports(room)
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)


def test_a_cycle_would_be_found() -> None:
    graph = imports("decoders")
    assert "fit" in graph["estimate"]
    with pytest.raises(CycleError):
        list(TopologicalSorter(graph | {"fit": {"estimate"}}).static_order())
