"""Public functions document their arguments: NumPy sections that name exactly the parameters, and an example.

A name is public if `deniable` exports it, or one of the doors below. `python -m tests.docs.test_docstrings` lists what
is missing in all rooms; the examples themselves run as doctests, with the modules that they stand in.
"""

import ast
import doctest
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import pytest

import deniable as dn
from tests.docs.test_imports import ROOMS

# The rooms in which nothing is missing. The aim is every room.
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
)

# Doors beside that of the package itself: its modules `lab` and `theory`, and rooms that people use by their full name.
DOORED = (
    "lab", "theory", "crowds", "errors", "noise", "mechanisms", "client", "matrices", "simulation", "planner",
    "tracking", "charts", "audit", "reproduce", "service",
)  # fmt: skip

_UNDERLINED = re.compile(r"^(?P<title>[A-Z][a-z ]+)\n-{3,}\n", re.M)
_NAMED = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .+)?$", re.M)


@cache
def public() -> dict[str, Any]:
    """Every public class and function by its full name."""
    doors: list[ModuleType] = [dn, *(importlib.import_module(f"deniable.{room}") for room in DOORED)]
    found = [getattr(door, name) for door in doors for name in door.__all__]
    kept = [thing for thing in found if inspect.isclass(thing) or inspect.isfunction(thing)]
    return {f"{thing.__module__}.{thing.__qualname__}": thing for thing in kept}


def room_of(name: str) -> str:
    return name.split(".")[1]


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class. Those of a public parent, and overrides without a docstring of
    their own, which inherit the parent's, are looked at there."""
    parents = [parent for parent in kind.__mro__[1:] if of_ours(parent)]
    known = {id(thing) for thing in public().values()}
    hidden = [parent for parent in parents if id(parent) not in known]
    for name in sorted({name for each in (kind, *hidden) for name in vars(each)}):
        thing = inspect.getattr_static(kind, name)
        inherited = thing.__doc__ is None and any(hasattr(parent, name) for parent in parents)
        is_one = isinstance(thing, (staticmethod, classmethod, property)) or callable(thing)
        if is_one and not name.startswith("_") and not inherited:
            yield name, thing


def of_ours(kind: type) -> bool:
    return kind.__module__.startswith(("deniable", __name__))


def parameters_of(function: Callable[..., Any], *, bound: bool) -> list[str]:
    """The names of its parameters, without that of the object or class that it is called on."""
    return list(inspect.signature(function).parameters)[bound:]


def sections(text: str) -> dict[str, str]:
    """The NumPy sections of a docstring by title."""
    places = list(_UNDERLINED.finditer(text))
    ends = [*(match.start() for match in places), len(text)][1:]
    return {match["title"]: text[match.end() : end] for match, end in zip(places, ends, strict=False)}


def documented(text: str) -> list[str]:
    """The parameters that a docstring names, in its order."""
    found = _NAMED.finditer(sections(text).get("Parameters", ""))
    return [name.strip().lstrip("*") for match in found for name in match["names"].split(",")]


def examples(text: str) -> list[ast.AST]:
    """The code of a docstring's examples."""
    return [ast.parse(example.source) for example in doctest.DocTestParser().get_examples(text)]


def faults_of(name: str, text: str | None, wanted: list[str]) -> Iterator[str]:
    """What a docstring lacks of its Parameters section."""
    if not text:
        yield f"{name}: no docstring"
    elif (told := documented(text)) != wanted:
        yield f"{name}: Parameters are {', '.join(wanted) or 'none'}, documented {', '.join(told) or 'none'}"


def faults_of_function(name: str, function: Callable[..., Any]) -> Iterator[str]:
    text = inspect.getdoc(function)
    yield from faults_of(name, text, parameters_of(function, bound=False))
    if not examples(text or ""):
        yield f"{name}: no example"


def faults_of_class(name: str, kind: type) -> Iterator[str]:
    """Its own Parameters are those of the constructor. Methods must be in an example of the class or its parents."""
    maker = next(parent for parent in kind.__mro__ if "__init__" in vars(parent))
    made = of_ours(maker) and not getattr(kind, "_is_protocol", False)
    text = inspect.cleandoc(kind.__doc__ or "")
    yield from faults_of(name, text, parameters_of(vars(maker)["__init__"], bound=True) if made else [])
    shown = examples(text)
    for parent in kind.__mro__[1:]:
        shown += examples(inspect.getdoc(parent) or "") if of_ours(parent) else []
    for _, thing in members(kind):
        shown += examples(inspect.getdoc(thing) or "")
    if not shown:
        yield f"{name}: no example"
    used = {part.attr for code in shown for part in ast.walk(code) if isinstance(part, ast.Attribute)}
    for member, thing in members(kind):
        function = getattr(thing, "__func__", thing)
        wanted = parameters_of(function, bound=not isinstance(thing, staticmethod)) if callable(function) else []
        yield from faults_of(f"{name}.{member}", inspect.getdoc(getattr(kind, member)), wanted)
        if member not in used and not isinstance(thing, property):
            yield f"{name}.{member}: in no example"


def missing(room: str) -> list[str]:
    """What the public names of a room lack, a sentence each."""
    return [
        fault
        for name, thing in public().items()
        if room_of(name) == room
        for fault in (faults_of_class(name, thing) if inspect.isclass(thing) else faults_of_function(name, thing))
    ]


@pytest.mark.parametrize("room", DONE)
def test_public_names_document_their_parameters_with_an_example(room: str) -> None:
    assert "\n".join(missing(room)) == ""


def test_every_room_that_is_done_has_public_names() -> None:
    assert {room_of(name) for name in public()} <= set(ROOMS)
    assert set(DONE) <= {room_of(name) for name in public()}


def good(symbols: int, *, epsilon: float = 1.0) -> int:
    """A sum.

    Parameters
    ----------
    symbols, epsilon : float
        Numbers.

    Examples
    --------
    >>> good(1)
    2
    """
    return int(symbols + epsilon)


def undocumented(symbols: int) -> None:
    """A sum of symbols.

    >>> undocumented(3)
    """


def outdated(symbols: int, cells: int) -> None:
    """A sum.

    Parameters
    ----------
    symbols : int
        A number.
    hashes : int
        One that is gone.
    """


class Silent:
    """A class.

    Examples
    --------
    >>> Silent() is None
    False
    """

    def forgotten(self) -> None:
        """In no example."""


def test_a_docstring_with_all_of_it_passes() -> None:
    assert not list(faults_of_function("good", good))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (faults_of_function("f", undocumented), ["f: Parameters are symbols, documented none"]),
        (
            faults_of_function("f", outdated),
            ["f: Parameters are symbols, cells, documented symbols, hashes", "f: no example"],
        ),
        (faults_of_class("c", Silent), ["c.forgotten: in no example"]),
    ],
)
def test_what_is_missing_is_named(found: Iterator[str], said: list[str]) -> None:
    assert list(found) == said


if __name__ == "__main__":
    for each in ROOMS:
        print("\n".join(missing(each)), end="\n" if missing(each) else "")
