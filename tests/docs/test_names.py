"""One name means one thing: no class, and no module, has the name of another one in another room."""

import ast
from collections.abc import Iterable

import pytest

from tests.docs.test_imports import SOURCE, files, parsed, room_of

# Models of `service/models.py` that have the name of the value which they show, or of the choice among such values.
SHOWN = {"Constraint", "Decoder", "Diagnostics", "Difference", "Estimate", "Group", "Plan", "PlanRequest"}

# Modules that share a name because they share a subject: what one room defines, another counts, draws or serves.
SUBJECTS = {
    "base": "what the siblings in a folder have in common",
    "blocks": "block designs: the encodings, and their matrices",
    "catalogue": "all that there is of a kind, in order",
    "changes": "changes over time: found, and drawn",
    "channel": "a randomiser with any row of weights, and its matrix",
    "cohorts": "surveys with cohorts: their theory, and the claims about them",
    "collector": "the collector, and the commands that talk to one",
    "counting": "reports into counts, by NumPy and by Spark",
    "crosstab": "cross-tables: the values, how they are drawn, and the command",
    "decoding": "`decode`, and the process that runs it for the collector",
    "experiments": "the paper's experiments: the tasks, and their order",
    "krr": "k-ary randomised response, and its closed forms",
    "neighbours": "answers in an order: their cells, and products with H",
    "nonprivate": "counting without privacy, and its closed forms",
    "numbers": "surveys of numbers: the alphabet, columns, plans",
    "plan": "a plan, drawn and printed",
    "planning": "`plan`, and the route that runs it",
    "privacy": "the epsilon that a target needs, and its figure",
    "privatizing": "files of answers into reports, here and by Spark",
    "quantities": "quantities: their surveys, and what is estimated of them",
    "status": "how a client, or a collector, is doing",
    "store": "the collector's store, and the commands on one",
    "survey": "surveys, and the commands on them",
}


def names_of(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The public classes that a module defines, and its other public names that begin like one (types, mostly)."""
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    others = set()
    for node in tree.body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name) and target.id[0].isupper() and not target.id.isupper():
                others.add(target.id)
    return {name for name in classes if not name.startswith("_")}, others


def shared(modules: Iterable[tuple[str, ast.Module]]) -> dict[str, set[str]]:
    """class -> the rooms that define something of its name, where they are several."""
    classes: set[str] = set()
    rooms: dict[str, set[str]] = {}
    for room, tree in modules:
        found, others = names_of(tree)
        classes |= found
        for name in found | others:
            rooms.setdefault(name, set()).add(room)
    return {name: rooms[name] for name in classes if len(rooms[name]) > 1}


def test_no_class_has_the_name_of_one_in_another_room() -> None:
    found = shared((room_of(path), parsed(path)) for path in files())
    assert {name: rooms for name, rooms in found.items() if name not in SHOWN} == {}
    assert set(found) == SHOWN, "these are no longer shared"
    assert all(len(rooms) == 2 and "service" in rooms for rooms in found.values())


def test_no_module_has_the_name_of_one_in_another_room_about_something_else() -> None:
    places: dict[str, set[str]] = {}
    for path in files():
        if not path.stem.startswith("__"):
            places.setdefault(path.stem, set()).add(path.relative_to(SOURCE).as_posix())
    found = {name: sorted(paths) for name, paths in places.items() if len(paths) > 1}
    assert {name: paths for name, paths in found.items() if name not in SUBJECTS} == {}
    assert set(found) == set(SUBJECTS), "these are no longer shared"


@pytest.mark.parametrize("second", ["class Point: 0", "Point = tuple[int, int]"])
def test_a_second_meaning_is_found(second: str) -> None:
    first = "lab", ast.parse("class Point: 0")
    assert shared([first, ("reproduce", ast.parse(second))]) == {"Point": {"lab", "reproduce"}}
    assert shared([first, ("lab", ast.parse(second))]) == {}
    assert shared([first, ("reproduce", ast.parse("class _Point: 0"))]) == {}
