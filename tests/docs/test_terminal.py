"""One progress reporter and one table printer for commands, benchmarks and studies, drawn from the syntax trees."""

import ast
import re

import pytest

from tests.docs.test_imports import SOURCE, files, nodes, parsed
from tests.docs.test_ladders import names_in, texts_in

ROOT = SOURCE.parents[1]
MORE = (ROOT / "benchmarks", ROOT / "studies")
REPORTER, PRINTER = "src/deniable/cli/progress.py", "src/deniable/cli/text.py"


def redraws(tree: ast.AST) -> bool:
    """Whether a file moves a terminal's cursor: an escape sequence, or a carriage return that is printed or written."""
    calls = [node for node in nodes(tree) if isinstance(node, ast.Call)]
    said = [c for c in calls if getattr(c.func, "attr", getattr(c.func, "id", None)) in ("print", "write")]
    return any("\x1b[" in text for text in texts_in(tree)) or any(
        re.match(r"\r(?!\n)", text) for call in said for text in texts_in(call)
    )


def aligns(tree: ast.AST) -> bool:
    """Whether a file fills text with spaces to a width: `ljust` and its siblings, or a format like `{name:<10}`."""
    for node in nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("ljust", "rjust", "center") and len(node.args) == 1:  # a second one is the filling
                return True
            if any(word.arg in ("initial_indent", "subsequent_indent") and filled(word) for word in node.keywords):
                return True
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            first = node.format_spec.values[:1]
            if first and isinstance(first[0], ast.Constant) and re.match(r"[<>^]", str(first[0].value)):
                return True
    return False


def filled(keyword: ast.keyword) -> bool:
    """An indentation that is computed, as for a name before wrapped text; two plain blanks are none."""
    return not isinstance(keyword.value, ast.Constant)


def files_that(what: object) -> list[str]:
    assert callable(what)
    paths = [path for folder in (SOURCE, *MORE) for path in sorted(folder.rglob("*.py"))]
    return [path.relative_to(ROOT).as_posix() for path in paths if what(parsed(path))]


def test_one_file_redraws_a_line() -> None:
    assert files_that(redraws) == [REPORTER]


def test_one_class_reports_progress() -> None:
    tree = parsed(ROOT / REPORTER)
    assert [node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))] == ["Reporter"]


def test_one_file_aligns_columns() -> None:
    # It pads by columns of the terminal, not by characters, so the search for the usual ways finds nothing of it. A
    # matrix of epsilons prints itself on a device, where there is no command line, a regression as statsmodels does.
    assert files_that(aligns) == ["src/deniable/relations/shown_regression.py", "src/deniable/survey/privacy.py"]
    near = [path for path in files() if "columns_of" in path.read_text()]
    pads = [path.relative_to(ROOT).as_posix() for path in near if "columns_of" in names_in(parsed(path))]
    assert pads == [PRINTER]


@pytest.mark.parametrize(
    "code",
    ["print('\\r' + line)", "out.write(f'\\r{done} of {total}')", "out.write('\\x1b[K')", "print(x, end='\\r')"],
)
def test_another_reporter_is_found(code: str) -> None:
    assert redraws(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    ["name.ljust(width)", "f'{name:<10}'", "f'{name:>{width}}'", "textwrap.fill(text, 9, initial_indent=f'{name} ')"],
)
def test_another_printer_is_found(code: str) -> None:
    assert aligns(ast.parse(code))


@pytest.mark.parametrize("code", ["key.ljust(64, b'\\0')", "f'{x:,.3g}'", "fill(text, 9, initial_indent='  ')"])
def test_numbers_and_bytes_are_no_tables(code: str) -> None:
    assert not aligns(ast.parse(code))
    assert not redraws(ast.parse(code))
