"""One public surface: sorted, resolvable, documented with an example, and loaded late where it is heavy."""

import ast
import importlib
import inspect
from types import ModuleType

import pytest

import deniable as dn

PLAIN = [name for name in dn.__all__ if name != "__version__"]


def documented(value: object) -> list[object]:
    """What must carry an example: the thing itself, or for a module everything it exports."""
    if isinstance(value, ModuleType):
        return [getattr(value, name) for name in value.__all__]
    return [value]


def test_the_list_is_sorted_and_has_no_repeats() -> None:
    assert dn.__all__ == sorted(set(dn.__all__))


@pytest.mark.parametrize("name", dn.__all__)
def test_every_name_resolves(name: str) -> None:
    assert getattr(dn, name) is not None
    assert name in dir(dn)


@pytest.mark.parametrize("name", PLAIN)
def test_every_name_has_a_docstring_with_an_example(name: str) -> None:
    value = getattr(dn, name)
    assert inspect.getdoc(value)
    for thing in documented(value):
        text = inspect.getdoc(thing) or ""
        assert text, thing
        # The exceptions share the example at their root.
        if not (isinstance(thing, type) and issubclass(thing, dn.DeniableError) and thing is not dn.DeniableError):
            assert ">>>" in text, thing


def test_nothing_else_is_offered() -> None:
    """What a shell completes after `dn.`: no module of ours, no import, nothing private."""
    assert dir(dn) == dn.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'deniable' has no attribute 'plna'"):
        dn.plna  # noqa: B018


def test_the_lazy_table_and_the_imports_for_type_checkers_cover_the_list() -> None:
    """What `import deniable` defines at once, and what the table loads later, is the whole list and nothing twice."""
    tree = ast.parse(inspect.getsource(dn))
    now = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    later = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.If)
        for statement in node.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    lazy = set(dn._LAZY)
    assert lazy == later
    assert not lazy & now
    assert set(PLAIN) <= lazy | now
    assert lazy <= set(dn.__all__)


@pytest.mark.parametrize("name", sorted(dn._LAZY))
def test_the_lazy_table_names_the_right_room(name: str) -> None:
    room = dn._LAZY[name] or name
    module = importlib.import_module(f"deniable.{room}")
    assert getattr(dn, name) is (getattr(module, name) if dn._LAZY[name] else module)
