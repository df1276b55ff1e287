"""Cross-tables at a collector: what the library makes of the same tally, and what is refused."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import deniable as dn
from deniable.service.models import CrosstabTable
from deniable.service.sqlite import SQLiteStore
from tests.collector import Caller, Ticking, run

FORM = dn.form(
    smokes=dn.warner(epsilon=3, name="Do you smoke?"),
    likes=dn.krr(["a", "b", "=c"], epsilon=3),
    age=dn.krr(["young", "old"], epsilon=3),
    epsilon=12,
    relate=[("smokes", "likes")],
)
PLAIN = dn.krr(["no", "yes"], epsilon=4, name="Do you smoke?")
AGAIN = dn.krr(["no", "yes"], epsilon=4, epsilon_report=2, participation="window")

RELATED_ONE = (
    "question 'likes' must not be related to another to be compared between ranges; "
    "ask for rows and columns in one range"
)
NAMELESS = "question must name a question of the form, or rows and columns two related ones"
NO_FORM = "rows and columns must be questions of a form, and this survey has one question"
SAME_PEOPLE = (
    "ranges must be of different people to be tabulated, and devices of this survey answer again and again; "
    "ask for the difference of two ranges"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    made = SQLiteStore(tmp_path)
    yield made
    made.close()


def body(survey: Any, answers: list[Any], first: int) -> bytes:
    wires = [dn.Client(survey).report(answer).pack() for answer in answers]
    return b"".join((first + place).to_bytes(16, "little") + wire for place, wire in enumerate(wires))


def forms(count: int, age: str = "old") -> list[dict[str, str]]:
    often = [("yes", "a"), ("no", "=c")] * 8
    pairs = [*often, ("no", "a"), ("yes", "=c"), ("no", "b"), ("yes", "b")] * (count // 20)
    ages = [age] * 7 + ["young", "old", "old"]
    return [{"smokes": one, "likes": two, "age": ages[i % 10]} for i, (one, two) in enumerate(pairs)]


def test_two_related_questions_and_two_ranges_of_a_form(store: SQLiteStore) -> None:
    clock = Ticking()

    async def work() -> None:
        async with Caller(store, clock=clock) as call:
            path = await call.create(FORM, minimum=0)
            assert (await call.upload(FORM, body(FORM, forms(300), 0))).json()["accepted"] == 300
            clock.pass_hours(24)
            assert (await call.upload(FORM, body(FORM, forms(200, "young"), 900))).json()["accepted"] == 200
            asked: dict[str, object] = {"rows": "likes", "columns": "smokes"}
            answer = await call.admin("POST", f"{path}/crosstab", asked)
            told = answer.json()
            msgspec.convert(told, CrosstabTable)
            tally = dn.Tally.from_bytes((await call.admin("GET", f"{path}/tally")).body)
            table = dn.crosstab(tally, "likes", "smokes")
            expected = table.to_json()
            assert {name: told[name] for name in expected} == expected
            assert (told["survey"], told["n"]) == (FORM.digest, 500)
            assert told["independence"]["p_value"] < 1e-6
            sure = {(cell["row"], cell["column"]): cell["certain"] for cell in told["cells"]}
            assert (sure["a", "yes"], sure["a", "no"]) == (1, -1)
            text = (await call.admin("GET", f"{path}/crosstab?rows=likes&columns=smokes&format=csv")).body.decode()
            assert text.startswith('"row","column","probability"')
            assert '"\'=c"' in text, "no spreadsheet runs it"
            stream = (await call.admin("GET", f"{path}/crosstab?rows=likes&columns=smokes&format=arrow")).body
            assert pa.ipc.open_stream(io.BytesIO(stream)).read_all().num_rows == 6

            days = [window["start"] for window in (await call.admin("GET", f"{path}/windows")).json()["windows"]]
            apart: dict[str, object] = {"question": "age", "against_to": days[1], "from": days[1]}
            told = (await call.admin("POST", f"{path}/crosstab", apart)).json()
            msgspec.convert(told, CrosstabTable)
            assert told["rows"] == {
                "name": "range",
                "symbols": [f"{days[0]} to {days[1]}", f"{days[1]} to {told['to']}"],
            }
            assert told["independence"]["p_value"] < 1e-6
            for wrong, status, sentence in (
                ({"rows": "likes"}, 400, "rows and columns must name two questions, got one"),
                ({}, 400, "rows and columns must be given, or against_to and from, of which the earlier range must"),
                ({"against_to": days[1], "from": days[0]}, 400, "rows and columns must be given, or against_to"),
                ({"rows": "likes", "columns": "age"}, 422, "questions must be related in the form to be tabulated"),
                ({**apart, "question": "likes"}, 422, RELATED_ONE),
                ({**apart, "question": None}, 422, NAMELESS),
                ({**asked, "level": 2}, 400, "level must be a number between 0 and 1"),
            ):  # fmt: skip
                answer = await call.admin("POST", f"{path}/crosstab", wrong)
                assert (answer.status, answer.json()["detail"][: len(sentence)]) == (status, sentence)

    run(work())


def test_ranges_of_one_question_and_of_devices_that_answer_again(store: SQLiteStore) -> None:
    clock = Ticking()

    async def work() -> None:
        async with Caller(store, clock=clock) as call:
            path = await call.create(PLAIN, minimum=0)
            assert (await call.upload(PLAIN, body(PLAIN, ["yes"] * 200, 0))).json()["accepted"] == 200
            again = await call.create(AGAIN, minimum=0)
            assert (await call.upload(AGAIN, body(AGAIN, ["yes"] * 50, 5000))).json()["accepted"] == 50
            clock.pass_hours(24)
            assert (await call.upload(PLAIN, body(PLAIN, ["no"] * 200, 900))).json()["accepted"] == 200
            assert (await call.upload(AGAIN, body(AGAIN, ["no"] * 50, 6000))).json()["accepted"] == 50
            days = [window["start"] for window in (await call.admin("GET", f"{path}/windows")).json()["windows"]]
            apart: dict[str, object] = {"against_to": days[1], "from": days[1]}
            told = (await call.admin("POST", f"{path}/crosstab", apart)).json()
            assert told["columns"] == {"name": "Do you smoke?", "symbols": ["no", "yes"]}
            assert told["cells"][1]["within_row"] > 0.9 > 0.1 > told["cells"][3]["within_row"]
            for where, asked, sentence in (
                (path, {"rows": "a", "columns": "b"}, NO_FORM),
                (path, {**apart, "question": "a"}, "question must be left out where a survey has one question"),
                (again, apart, SAME_PEOPLE),
            ):  # fmt: skip
                answer = await call.admin("POST", f"{where}/crosstab", asked)
                assert (answer.status, answer.json()["detail"][: len(sentence)]) == (422, sentence)

    run(work())
