"""Forms at a collector: one transaction a report, windows, tokens, estimates and downloads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import deniable as dn
from deniable.service.form_records import FormShape
from deniable.service.models import Estimate
from deniable.service.sqlite import SQLiteStore
from deniable.survey import Form
from tests.collector import Caller, Ticking, run

FORM = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(["a", "b", "c"], epsilon=1), epsilon=9, spend="sample")
EVERY = dn.form(smokes=dn.warner(epsilon=1), age=dn.number(0, 9, 1, step=1), epsilon=9, participation="window")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    made = SQLiteStore(tmp_path)
    yield made
    made.close()


def wires(form: Form, count: int) -> list[bytes]:
    answers: dict[str, object] = {"smokes": "yes", "likes": "b", "age": 3}
    found = []
    for _ in range(count):
        client = dn.Client(form)
        found.append(client.report({name: answers[name] for name in client.questions}).pack())  # type: ignore[attr-defined]
    return found


def body(packed: list[bytes], first: int = 0) -> bytes:
    return b"".join((first + i).to_bytes(16, "little") + wire for i, wire in enumerate(packed))


def test_forms_are_counted_once_and_decoded(store: SQLiteStore) -> None:
    async def work() -> None:
        async with Caller(store, clock=Ticking()) as call:
            path = await call.create(FORM, minimum=0)
            sent = body(wires(FORM, 300))
            answer = (await call.upload(FORM, sent)).json()
            assert (answer["accepted"], answer["duplicate"]) == (300, 0)
            answer = (await call.upload(FORM, sent)).json()
            assert (answer["accepted"], answer["duplicate"]) == (0, 300)
            bad = bytearray(wires(FORM, 1)[0])
            bad[9] = 3
            answer = (await call.upload(FORM, body([bytes(bad)], 900))).json()
            assert [one["reason"] for one in answer["refused"]] == ["cohort"]
            found = (await call.admin("GET", f"{path}/estimate")).json()
            assert found["n"] == 300
            assert found["questions"]["smokes"]["yes"]["probability"] > 0.9
            assert found["questions"]["likes"]["b"]["probability"] > 0.9
            table = (await call.admin("GET", f"{path}/estimate?format=csv")).body.decode()
            assert table.startswith('"question","symbol","probability"')
            tally = dn.Tally.from_bytes((await call.admin("GET", f"{path}/tally")).body)
            assert tally.n == 300
            refused = await call.admin("GET", f"{path}/estimate?candidates=a")
            assert refused.status == 422
            told = "candidates must not be given for a form; download its tally and decode it with a list"
            assert refused.json()["detail"] == told
            shown = (await call.admin("GET", path)).json()
            assert shown["survey"]["format"] == "deniable-form/1"

    run(work())


def test_windows_of_a_form_add_up(store: SQLiteStore) -> None:
    clock = Ticking()

    async def work() -> None:
        async with Caller(store, clock=clock) as call:
            path = await call.create(EVERY, minimum=0)
            assert (await call.upload(EVERY, body(wires(EVERY, 120)))).json()["accepted"] == 120
            clock.pass_hours(48)
            assert (await call.upload(EVERY, body(wires(EVERY, 80), 500))).json()["accepted"] == 80
            tally = dn.Tally.from_bytes((await call.admin("GET", f"{path}/tally")).body)
            assert [part.windows for part in tally.parts] == [(120, 80)] * 2  # type: ignore[attr-defined]
            listed = (await call.admin("GET", f"{path}/windows")).json()["windows"]
            assert [window["reports"] for window in listed] == [120, 80]
            trend = await call.admin("GET", f"{path}/trend")
            assert trend.status == 422
            told = "a form must be asked for its estimate in one range; download its tallies for anything else"
            assert trend.json()["detail"] == told

    run(work())


PAIRED = dn.form(
    smokes=dn.warner(epsilon=1, name="Do you smoke?"),
    likes=dn.krr(["a", "b", "=c"], epsilon=1),
    age=dn.number(0, 9, 1, step=1),
    town=dn.orr(epsilon=1, cells=8, cohorts=4, seed=bytes(16)),
    epsilon=6,
    spend="each",
    relate=[("smokes", "likes")],
    skip=["town"],
    name="Health",
)


def paired(count: int) -> bytes:
    answers = {"smokes": "yes", "likes": "=c", "age": 3, "town": "Oslo"}
    return body([dn.Client(PAIRED).report(answers).pack() for _ in range(count)])


def test_each_question_of_a_form_is_asked_for_as_a_survey(store: SQLiteStore) -> None:
    clock = Ticking()

    async def work() -> None:
        async with Caller(store, clock=clock) as call:
            path = await call.create(PAIRED, minimum=0)
            assert (await call.upload(PAIRED, paired(200))).json()["accepted"] == 200

            async def ask(route: str, **asked: object) -> tuple[int, dict[str, Any]]:
                answer = await call.admin("POST", f"{path}/{route}", asked)
                return answer.status, answer.json()

            for question, symbol, title in (("smokes", "yes", "Do you smoke?"), ("likes", "=c", "likes")):
                status, found = await ask("estimate", question=question)
                msgspec.convert(found, Estimate)
                assert (status, found["n"], found["name"]) == (200, 200, title)
                assert found["survey"] == PAIRED.digest
                assert found["estimates"][0]["symbol"] == symbol
                assert found["estimates"][0]["raw_low"] < 1 <= found["estimates"][0]["raw_high"] + 0.2
            _, found = await ask("estimate", question="likes", top=1, order="own")
            assert len(found["estimates"]) == 1
            _, found = await ask("estimate", question="age")
            assert found["figures"]["median"]["value"] == pytest.approx(3, abs=1)
            _, found = await ask("estimate", question="town", candidates=["oslo", "bergen"])
            assert found["estimates"][0]["symbol"] == "oslo"
            assert {row["symbol"] for row in found["estimates"]} == {"oslo", "bergen", "no answer"}
            lines = (await call.admin("GET", f"{path}/estimate?question=likes&format=csv")).body.decode().splitlines()
            assert lines[1].startswith("'=c,"), "no spreadsheet runs it"
            clock.pass_hours(24)
            later = body([dn.Client(PAIRED).report({"smokes": "no", "likes": "a", "age": 8, "town": None}).pack()
                          for _ in range(100)], 500)  # fmt: skip
            assert (await call.upload(PAIRED, later)).json()["accepted"] == 100
            days = [window["start"] for window in (await call.admin("GET", f"{path}/windows")).json()["windows"]]
            status, found = await ask("trend", question="age")
            assert (status, len(found["windows"])) == (200, 2)
            status, found = await ask("difference", question="age", against_to=days[1], **{"from": days[1]})
            assert (status, found["before"]["n"], found["after"]["n"]) == (200, 200, 100)

            related = "a question that is related to another must be asked for its estimate in one range"
            for route, asked, sentence in (
                ("estimate", {"question": "sex"}, "question must be one of this form's, smokes, likes, age, town"),
                ("difference", {"question": "likes", "against_to": days[1], "from": days[1]}, related),
                ("discover", {"question": "likes"}, related),
                ("discover", {"question": "age"}, "tally must be of a survey that discovers text"),
                ("estimate", {"question": "town"}, "candidates must be given"),
            ):  # fmt: skip
                status, told = await ask(route, **asked)
                assert status == 422, (route, asked)
                assert told["detail"].startswith(sentence), told["detail"]
            for wrong in ("", "q" * 65, 3):
                status, told = await ask("estimate", question=wrong)
                assert status == 400
                assert told["detail"].startswith("question must be the name of a question of the form")

    run(work())


def test_a_survey_of_one_question_has_no_question_to_name(store: SQLiteStore) -> None:
    survey = dn.krr(["a", "b"], epsilon=3)

    async def work() -> None:
        async with Caller(store, clock=Ticking()) as call:
            path = await call.create(survey, minimum=0)
            await call.upload(survey, body([dn.Client(survey).report("a").pack() for _ in range(5)]))
            refused = await call.admin("POST", f"{path}/estimate", {"question": "a"})
            assert refused.status == 422
            assert refused.json()["detail"] == "question must be left out where a survey has one question"

    run(work())


def test_a_question_that_nobody_was_asked_yet_says_so(store: SQLiteStore) -> None:
    async def work() -> None:
        async with Caller(store, clock=Ticking()) as call:
            path = await call.create(FORM, minimum=0)
            packed = next(wire for wire in iter(lambda: wires(FORM, 1)[0], b"") if wire[9] == 1)
            await call.upload(FORM, body([packed]))
            refused = await call.admin("POST", f"{path}/estimate", {"question": "likes"})
            assert refused.status == 422
            told = "question 'likes' must have answers to be decoded, got none in this range"
            assert refused.json()["detail"] == told
            assert (await call.admin("POST", f"{path}/estimate", {"question": "smokes"})).json()["n"] == 1

    run(work())


def test_texts_and_the_closing_date_of_a_form_are_rules_with_limits(store: SQLiteStore) -> None:
    async def work() -> None:
        async with Caller(store, clock=Ticking()) as call:
            texts = {"introduction": "<b>Hello</b>\n\nTen minutes.", "thanks": "Thank you.", "closes": "2100-01-01"}
            path = await call.create(FORM, **texts)
            rules = (await call("GET", path)).json()["rules"]
            assert {name: rules[name] for name in texts} == texts | {"closes": "2100-01-01T00:00Z"}
            for wrong, sentence in (
                ({"introduction": "x" * 2001}, "introduction must have at most 2000 characters, got 2001"),
                ({"thanks": "x" * 1001}, "thanks must have at most 1000 characters, got 1001"),
                ({"thanks": "a\u0000b"}, "thanks must be plain text, got control characters"),
                ({"thanks": "\ud800"}, "thanks must be plain text, got control characters"),
                ({"introduction": ["a"]}, "introduction must be text, got list"),
                ({"closes": "tomorrow"}, "closes must be"),
                ({"closes": "2001-01-01"}, "closes must be in the future"),
                ({"minimum": 3}, "rules to change must be among closes, introduction, thanks, frames"),
            ):
                refused = await call.admin("PATCH", path, {"rules": wrong})
                assert refused.status == 422, wrong
                assert refused.json()["detail"].startswith(sentence), refused.json()["detail"]
            assert (await call("GET", path)).json()["rules"] == rules, "nothing changed"
            changed = await call.admin("PATCH", path, {"rules": {"thanks": "Bye."}})
            assert changed.json()["rules"]["thanks"] == "Bye."

    run(work())


@pytest.mark.parametrize("form", [FORM, EVERY])
def test_the_vector_of_a_form_is_its_tally(form: Form) -> None:
    tally = dn.simulate(form, {q.name: [1 / len(q.answers)] * len(q.answers) for q in form.questions}, 500, _rng())
    shape = FormShape(form)
    assert shape.tally(shape.vector(tally)) == tally


def _rng() -> "np.random.Generator":

    return np.random.default_rng(0)
