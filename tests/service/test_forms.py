"""Forms at a collector: one transaction a report, windows, tokens, estimates and downloads."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.service.form_records import FormShape
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


@pytest.mark.parametrize("form", [FORM, EVERY])
def test_the_vector_of_a_form_is_its_tally(form: Form) -> None:
    tally = dn.simulate(form, {q.name: [1 / len(q.answers)] * len(q.answers) for q in form.questions}, 500, _rng())
    shape = FormShape(form)
    assert shape.tally(shape.vector(tally)) == tally


def _rng() -> "np.random.Generator":

    return np.random.default_rng(0)
