"""Every type of problem that the collector states has a sentence in every language of the pages."""

import ast
from pathlib import Path

import deniable.service
from deniable.service import models
from deniable.service.pages.texts import LANGUAGES, texts

FOLDER = Path(deniable.service.__file__).parent


def words_of(source: str) -> set[str]:
    """The words that a module gives to `RequestError`, as they are written there."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "RequestError":
            word = node.args[1] if len(node.args) > 1 else None
            if isinstance(word, ast.Constant):
                found.add(str(word.value))
    return found


def stated() -> set[str]:
    found = {one.refusal[1] for one in vars(models).values() if hasattr(one, "refusal")}  # of malformed input
    return found.union(*(words_of(path.read_text()) for path in FOLDER.rglob("*.py")))


def test_every_type_has_a_sentence_in_every_language() -> None:
    words = stated()
    assert {"too-few", "malformed", "token", "unknown-survey", "plan"} <= words
    assert len(words) > 25
    for language in LANGUAGES:
        assert set(texts(language)["problems"]) == {word.replace("-", "_") for word in words}, language


def test_a_new_type_is_found() -> None:
    assert words_of('raise RequestError(418, "teapot", "no coffee") from None') == {"teapot"}
