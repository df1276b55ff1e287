"""No room asks which mechanism or encoding it has: drawn from the syntax trees. What differs is registered by type."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deniable.mechanisms import Mechanism
from deniable.survey import Encoding
from tests.docs.test_imports import SOURCE, files, nodes, parsed, room_of

ASKING = {"isinstance", "issubclass"}


def every_subclass(of: type[Any]) -> Iterator[Any]:
    for kind in of.__subclasses__():
        yield kind
        yield from every_subclass(kind)


def types() -> dict[str, str]:
    """Every type of mechanism and encoding by name, and the room that defines it."""
    found = [*every_subclass(Mechanism), *every_subclass(Encoding)]
    return {kind.__name__: kind.__module__.split(".")[1] for kind in found if kind.__module__.startswith("deniable.")}


def kinds() -> set[str]:
    """What surveys call them."""
    found = [*every_subclass(Mechanism), *every_subclass(Encoding)]
    return {str(kind.kind) for kind in found if hasattr(kind, "kind")}


def names_in(node: ast.AST) -> set[str]:
    """Every name in an expression; of `a.b` the last."""
    found = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return found | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def texts_in(node: ast.AST) -> set[str]:
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def ladders(tree: ast.AST, room: str) -> Iterator[tuple[int, str]]:
    """Line and reason for every place that asks for the type of a mechanism or an encoding, or compares its kind."""
    abroad, known = {name for name, home in types().items() if home != room}, kinds()
    for node in nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKING:
            if found := names_in(node.args[1]) & abroad:
                yield node.lineno, f"{node.func.id} of {', '.join(sorted(found))}"
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            typed = any(isinstance(s, ast.Call) and isinstance(s.func, ast.Name) and s.func.id == "type" for s in sides)
            if typed and (found := set().union(*map(names_in, sides)) & abroad):
                yield node.lineno, f"type is {', '.join(sorted(found))}"
            asked = any(isinstance(s, (ast.Name, ast.Attribute)) and "kind" in names_in(s) for s in sides)
            if asked and (found := set().union(*map(texts_in, sides)) & known):
                yield node.lineno, f"kind is {', '.join(sorted(found))}"
        elif isinstance(node, ast.Match):
            cases = [part for case in node.cases for part in ast.walk(case.pattern)]
            found = {n for p in cases if isinstance(p, ast.MatchClass) for n in names_in(p.cls)} & abroad
            if "kind" in names_in(node.subject):
                found |= {t for p in cases if isinstance(p, ast.MatchValue) for t in texts_in(p)} & known
            if found:
                yield node.lineno, f"match on {', '.join(sorted(found))}"


def found_in(path: Path) -> list[str]:
    place = path.relative_to(SOURCE)
    return [f"{place}:{line}: {why}" for line, why in ladders(parsed(path), room_of(path))]


def test_no_room_asks_which_mechanism_or_encoding_it_has() -> None:
    assert [line for path in files() for line in found_in(path)] == []


MUTANTS = {
    "a type": "isinstance(survey.mechanism.permanent, KRR)",
    "one of several": "isinstance(encoding, (Hadamard, survey.Projective))",
    "a union": "isinstance(encoding, Hashed | Permuted)",
    "a class": "issubclass(kind, BitFlip)",
    "the very type": "type(mechanism) is Subset",
    "the type by equality": "Chain == type(mechanism)",
    "the kind": "survey.mechanism.kind == 'krr'",
    "a name for the kind": "kind in ('hashed', 'permuted')",
    "a match on types": "match mechanism:\n    case BitFlip(optimized=True): pass",
    "a match on kinds": "match encoding.kind:\n    case 'direct' | 'hashed': pass",
}


@pytest.mark.parametrize("name", MUTANTS)
def test_every_way_to_ask_is_found(name: str) -> None:
    assert list(ladders(ast.parse(MUTANTS[name]), "columns"))


def test_a_room_may_ask_about_its_own_types() -> None:
    tree = ast.parse("isinstance(stage, KRR)\nisinstance(column, Array)\ntoken.kind == 'upload'")
    assert not list(ladders(tree, "mechanisms"))
    assert len(list(ladders(tree, "survey"))) == 1
