"""Every type of problem that the collector states has a sentence in every language of the pages, and so has every
reason of a type that has many."""

import ast
import json
from pathlib import Path
from typing import Any, get_args

import pytest

import deniable as dn
import deniable.service
from deniable.service import models
from deniable.service.pages.texts import LANGUAGES, texts
from deniable.service.sqlite import SQLiteStore
from tests.collector import Caller, records, run

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


def reasons_in(source: str) -> set[str]:
    """The reasons that a module gives to errors: `.because("many")`, `{"reason": "many"}`, `_refused(..., "many")`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        given: list[tuple[Any, Any]] = []
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = [("reason", node.args[-1])] if name in ("because", "_refused") else []
        elif isinstance(node, ast.Dict):
            given = [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values, strict=True)]
        found |= {str(value.value) for name, value in given if name == "reason" and isinstance(value, ast.Constant)}
    return found - {"None"}


def reasons() -> set[str]:
    return set(get_args(models.Reason))


def test_every_reason_has_a_sentence_in_every_language() -> None:
    given = set().union(*(reasons_in(path.read_text()) for path in FOLDER.parent.rglob("*.py")))
    assert given - {"certain"} == reasons()  # that one is a plan's, without a number for the crowd
    for language in LANGUAGES:
        assert set(texts(language)["reasons"]) == reasons(), language


def test_a_new_reason_is_found() -> None:
    assert reasons_in('raise DecodeError("no").because("new")') == {"new"}
    assert reasons_in('told = {"reason": "new"}') == {"new"}
    assert reasons_in('return _refused("no", "new")') == {"new"}


# What somebody can enter on a page that looks right to the page: each names its reason, so that nothing is English.
MANY = [f"answer {number}" for number in range(5000)]
ALIKE = ["\u00e9", "e\u0301"]  # one letter, and two that are shown as it
OPEN = dn.orr(epsilon=2, cells=8, cohorts=4, seed=bytes(16), name="What would you change?")
SEARCHED = dn.discovery(epsilon=6, length=4, cohorts=64, seed=bytes(16))
PLAN: dict[str, Any] = {"n": 1000, "max_error": 0.05}
ENTERED: dict[str, tuple[str, dict[str, Any], str]] = {
    "answers alike": ("/v1/plan", PLAN | {"symbols": ALIKE}, "alike"),
    "many answers": ("/v1/plan", PLAN | {"symbols": MANY}, "many"),
    "many in a form": (
        "/v1/plan/form",
        PLAN | {"name": "", "questions": [{"name": "a", "symbols": MANY}, {"name": "b", "symbols": ["x", "y"]}]},
        "many",
    ),
    "alike in a form": (
        "/v1/plan/form",
        PLAN
        | {
            "name": "",
            "questions": [{"name": "a", "symbols": ALIKE}, {"name": "b", "ordered": ["x", "y"]}],
        },
        "alike",
    ),
    "a tab in a title": ("/v1/surveys", {"survey": dn.warner(epsilon=1, name="a b"), "rules": {}}, "control"),
    "a bell in a text": (
        "/v1/surveys",
        {"survey": dn.warner(epsilon=1), "rules": {"introduction": "a\x07b"}},
        "control",
    ),
    "a date that is over": (
        "/v1/surveys",
        {"survey": dn.warner(epsilon=1), "rules": {"closes": "2020-01-01T00:00Z"}},
        "past",
    ),
    "candidates alike": ("open/estimate", {"candidates": ["a", "a"]}, "alike"),
    "many candidates": ("searched/discover", {"candidates": [str(number) for number in range(65_537)]}, "many"),
    "a range of characters": ("searched/discover", {"alphabet": "a-z"}, "alphabet"),
    "characters alone": ("searched/discover", {"alphabet": "digits", "prefixes": ["x"]}, "characters"),
    "a search too early": ("searched/discover", {}, "levels"),
}


@pytest.mark.parametrize("what", ENTERED)
def test_what_somebody_enters_is_refused_with_a_reason(what: str, tmp_path: Path) -> None:
    path, body, reason = ENTERED[what]

    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            given = dict(body)
            where = path
            if isinstance(given.get("survey"), dn.Survey):
                tabbed = dn.Survey(
                    given["survey"].alphabet, given["survey"].encoding, given["survey"].mechanism, "a\tb"
                )
                given["survey"] = json.loads((tabbed if "tab" in what else given["survey"]).to_json())
            if not path.startswith("/"):
                survey = OPEN if path.startswith("open") else SEARCHED
                where = f"{await call.create(survey, minimum=1)}/{path.partition('/')[2]}"
                cohorts = 1 if "early" in what else survey.cohorts
                numbers = range(0, cohorts * survey.columns, survey.columns)
                assert (await call.upload(survey, records(survey, numbers))).json()["accepted"] == cohorts
            answer = await call.admin("POST", where, given)
            assert answer.status in (400, 422), answer
            assert answer.json().get("reason") == reason, answer

    run(story())
