"""Plans of forms over HTTP: what a form costs, how sharp each answer will be, and what is refused with what instead."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import deniable as dn
from deniable.service.form_models import PlannedForm
from deniable.service.planning import _plan
from deniable.service.sqlite import SQLiteStore
from tests.collector import Caller, run

QUESTIONS: list[dict[str, Any]] = [
    {"name": "smokes", "title": "Do you smoke?", "symbols": ["no", "yes"], "skip": True},
    {"name": "often", "title": "How often?", "ordered": ["never", "seldom", "often"]},
    {"name": "age", "title": "How old are you?", "number": ["18", "90"], "step": "1", "outside": "refuse"},
    {"name": "ill", "title": "What was found?", "symbols": ["no", "flu", "hiv"], "sensitive": ["hiv"]},
    {"name": "city", "title": "Where do you live?", "candidates": 20, "text": "exact", "skip": True},
]
LONG = {"name": "x", "symbols": ["a"] * 5000}
UNNAMED = {"name": "not a word", "symbols": ["a", "b"]}
ASKED: dict[str, Any] = {"questions": QUESTIONS, "n": 20_000, "name": "Health"}


def planned(**arguments: Any) -> tuple[dict[str, Any], dn.Form]:
    import json

    found = _plan(arguments)
    return found, dn.Form.from_json(json.dumps(found["form"]))


def test_a_form_of_every_kind_is_planned_at_a_budget() -> None:
    found, form = planned(**ASKED, epsilon="3")
    msgspec.convert(found, PlannedForm)
    assert (form.name, form.epsilon <= 3, found["found"]) == ("Health", True, "error")
    assert [question.title for question in form.questions] == [one["title"] for one in QUESTIONS]
    assert [question.skip for question in form.questions] == [True, False, False, False, True]
    assert form.part_of("often").survey.symbols == ("never", "seldom", "often")
    scale = form.part_of("age").survey.alphabet.bins
    assert scale is not None
    assert (scale.low, scale.high, scale.step, scale.outside) == ("18", "90", "1", "refuse")
    assert form.uneven == ("ill",)
    assert [one["measure"] for one in found["questions"]] == ["share", "place", "mean", "share", "share"]
    assert found["report_bytes"] == form.report_format.length
    assert found["questions"][0]["mechanism"] == form.part_of("smokes").survey.title == "k-RR", "of three answers"
    assert found["spendings"][0]["drawn"] == form.drawn
    age = found["questions"][2]
    assert 0.5 < age["error"] < 10, "in years"


def test_a_form_is_planned_for_an_error() -> None:
    found, form = planned(questions=QUESTIONS[:3], n=20_000, max_error=0.05)
    assert found["found"] == "epsilon"
    assert form.epsilon == pytest.approx(found["epsilon"])
    limits = {"smokes": 0.05, "often": 0.1, "age": 3.6}
    assert all(one["error"] <= limits[one["name"]] for one in found["questions"])
    related, paired = planned(questions=QUESTIONS[:2], n=50_000, epsilon=4, relate=[["smokes", "often"]])
    assert paired.part_of("smokes").name == "smokes, often"
    assert [one["measure"] for one in related["questions"]] == ["share", "share"]


def test_plans_of_forms_over_http(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            asked = {"questions": QUESTIONS[:2], "n": 1000, "epsilon": "3"}
            assert (await call("POST", "/v1/plan/form", asked)).status == 401
            made = await call.admin("POST", "/v1/plan/form", asked)
            assert made.status == 200, made
            form = dn.Form.from_fields(made.json()["form"])
            await call.create(form)

            refused = await call.admin(
                "POST", "/v1/plan/form", {"questions": QUESTIONS[:2], "n": 100, "max_error": 0.01}
            )
            told = refused.json()
            assert refused.status == 422
            assert told["detail"].endswith("with 100 people, got 0.01; ask more people")
            assert [(way["epsilon"], way["privacy"]) for way in told["alternatives"]] == [
                (2.0, "strong"),
                (4.0, "weak"),
            ]
            assert told["alternatives"][0]["error"] > told["alternatives"][1]["error"] > 0.01
            for wrong, status, sentence in (
                ({"questions": QUESTIONS[:1], "n": 100, "epsilon": 1}, 400, "questions must be a list of 2 to 256"),
                (
                    {"questions": [QUESTIONS[0], QUESTIONS[0]], "n": 100, "epsilon": 1}, 422,
                    "a form must have each question once, got 'smokes' more than once",
                ),
                (
                    {"questions": [QUESTIONS[0], {"name": "x"}], "n": 100, "epsilon": 1}, 422,
                    "question 'x' must have one of symbols, ordered, number and candidates, got none",
                ),
                (
                    {"questions": [QUESTIONS[0], LONG], "n": 100, "epsilon": 1}, 422,
                    "answers of 'x' must be at most 4096 here; deniable plan takes more",
                ),
                (
                    {"questions": [QUESTIONS[0], UNNAMED], "n": 100, "epsilon": 1}, 422,
                    "a question's name must be a word of at most 64 letters, digits and underscores",
                ),
                ({"questions": QUESTIONS[:2], "n": 100}, 422, "two of n, epsilon and max_error must be given"),
            ):  # fmt: skip
                answer = await call.admin("POST", "/v1/plan/form", wrong)
                assert answer.status == status, answer
                assert answer.json()["detail"].startswith(sentence), answer

    run(story())
