"""Results over HTTP: tallies, estimates in every form, differences; decoded in a process that may die."""

import asyncio
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import StoreError
from deniable.service.clock import Clock, hour_of, label, window_of
from deniable.service.decoding import Decoding, DecodingFailed, Question
from deniable.service.sqlite import SQLiteStore
from deniable.service.store import Unavailable
from tests.collector import Caller, Ticking, run

BROWSERS = ["chrome", "firefox", "lynx"]
SURVEY = dn.krr(symbols=BROWSERS, epsilon=3)
OPEN = dn.orr(epsilon=3, cells=8, cohorts=16, seed=bytes(16))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    made = SQLiteStore(tmp_path)
    yield made
    made.close()


async def answers(call: Caller, survey: dn.Survey, first: int, people: list[str]) -> None:
    packed = [dn.Client(survey, memoize=False).report(symbol).pack() for symbol in people]
    body = b"".join((first + i).to_bytes(16, "big") + wire for i, wire in enumerate(packed))
    assert (await call.upload(survey, body)).json()["accepted"] == len(people)


def test_estimates_in_every_form_and_their_difference(store: SQLiteStore) -> None:
    async def scene() -> None:
        clock = Ticking(hour_of("2026-11-01"))
        async with Caller(store, clock=clock) as call:
            path = await call.create(SURVEY, minimum=50)
            await answers(call, SURVEY, 0, ["firefox"] * 300 + ["chrome"] * 300)
            clock.pass_hours(24)
            await answers(call, SURVEY, 600, ["firefox"] * 100 + ["chrome"] * 300)
            listed = (await call.admin("GET", f"{path}/windows")).json()
            assert listed["windows"] == [
                {"start": "2026-11-01T00", "reports": 600},
                {"start": "2026-11-02T00", "reports": 400},
            ]
            whole = (await call.admin("GET", f"{path}/estimate")).json()
            expected = dn.decode(store.tally(store.entries()[0]))
            assert whole["n"] == 1000
            assert [row["symbol"] for row in whole["estimates"]] == BROWSERS
            assert [row["probability"] for row in whole["estimates"]] == pytest.approx(expected.probabilities)
            assert [row["standard_error"] for row in whole["estimates"]] == pytest.approx(expected.standard_errors)

            options = "decoder=inversion&constraint=none&level=0.9"
            day = await call.admin("GET", f"{path}/estimate?from=2026-11-02&{options}&format=csv")
            assert day.headers["content-type"] == "text/csv; charset=utf-8"
            rows = list(csv.DictReader(io.StringIO(day.body.decode())))
            second = dn.decode(store.tally(store.entries()[0], hour_of("2026-11-02"), None))
            assert [float(row["raw"]) for row in rows] == pytest.approx(second.raw)
            assert [float(row["low"]) for row in rows] == pytest.approx(second.intervals(0.9)[:, 0])

            arrow = await call.admin("GET", f"{path}/estimate?to=2026-11-02&format=arrow")
            table = pa.ipc.open_stream(arrow.body).read_all()
            first = dn.decode(store.tally(store.entries()[0], None, hour_of("2026-11-02")))
            assert table.column("probability").to_pylist() == pytest.approx(first.probabilities)
            assert json.loads(table.schema.metadata[b"deniable"])["n"] == 600

            change = await call.admin("GET", f"{path}/difference?against_to=2026-11-02&from=2026-11-02")
            assert change.json()["n"] == [600, 400]
            found = change.json()["estimates"]
            assert [row["change"] for row in found] == pytest.approx(second.raw - first.raw)
            spread = np.hypot(first.standard_errors, second.standard_errors)
            assert [row["standard_error"] for row in found] == pytest.approx(spread)
            assert [row["high"] - row["change"] for row in found] == pytest.approx(1.959964 * spread, rel=1e-5)

    run(scene())


def test_an_open_survey_is_decoded_with_candidates(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(OPEN, minimum=1)
            await answers(call, OPEN, 0, ["ash"] * 400 + ["birch"] * 200)
            by_query = (await call.admin("GET", f"{path}/estimate?candidates=ash,birch,oak")).json()
            by_body = await call.admin("POST", f"{path}/estimate", {"candidates": ["ash", "birch", "oak"]})
            assert by_body.json() == by_query
            assert by_query["estimates"][0]["probability"] > 0.4
            without = await call.admin("GET", f"{path}/estimate")
            assert without.status == 422
            assert without.json()["type"] == "urn:deniable:problem:undecodable"
            assert "candidates must be given" in without.json()["detail"]
            mixed = await call.admin("POST", f"{path}/estimate", {"candidates": [["ash"]]})
            assert mixed.status == 422, "a symbol that is none is the caller's mistake"
            assert by_query["estimates"][2]["symbol"] == "oak"

    run(scene())


WRONG = [
    ("estimate?decoder=magic", "decoder must be one of inversion, least-squares, likelihood"),
    ("estimate?constraint=x", "constraint must be one of none, normalized, projected"),
    ("estimate?format=xml", "format must be one of json, csv, arrow"),
    ("estimate?level=2", "level must be a number between 0 and 1, for instance 0.95"),
    ("estimate?level=x", "level must be a number between 0 and 1, for instance 0.95"),
    ("estimate?from=soon", "a time must be like 2026-11-15 or 2026-11-15T14, in UTC, got 'soon'"),
    ("estimate?to=2026-13-01", "a time must be like 2026-11-15 or 2026-11-15T14, in UTC, got '2026-13-01'"),
    ("difference", "against_to and from must be given, and the earlier range must end before the later"),
    ("difference?against_to=2026-11-03&from=2026-11-02", "the earlier range must end before the later"),
]
WRONG_BODIES = [
    (b"[]", "body must be a JSON object of parameters"),
    (b"{", "body must be a JSON object of parameters"),
    (b'{"a": NaN}', "body must be a JSON object of parameters"),
    ({"day": 1}, "body must not have the field 'day'; see /openapi.json"),
    ({"candidates": "ash"}, "candidates must be a list of 1 to 1048576 symbols"),
    ({"candidates": []}, "candidates must be a list of 1 to 1048576 symbols"),
    ({"from": 3}, "from must be text like 2026-11-15"),
]


def test_questions_that_make_no_sense(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(SURVEY, minimum=0)
            for query, sentence in WRONG:
                answer = await call.admin("GET", f"{path}/{query}")
                assert answer.status == 400, (query, answer)
                assert sentence in answer.json()["detail"], (query, answer)
            for body, sentence in WRONG_BODIES:
                answer = await call.admin("POST", f"{path}/estimate", body)
                assert answer.status == 400, (body, answer)
                assert answer.json()["detail"] == sentence
            none = await call.admin("GET", f"{path}/estimate")
            assert none.json()["detail"] == "results are shown from 1 reports on; this range has fewer"

    run(scene())


def test_a_decode_that_takes_too_long_or_dies_is_told_and_the_next_one_works() -> None:
    tally = dn.Tally(SURVEY, [[5, 5, 5]]).to_bytes()

    async def scene() -> None:
        decoding = Decoding(seconds=0.05)  # no interpreter starts that fast
        with pytest.raises(DecodingFailed, match=r"decoding must take at most 0\.05 seconds"):
            await decoding.ask(Question(), [tally])
        decoding._seconds = 60
        assert json.loads(await decoding.ask(Question(), [tally]))["n"] == 15
        await decoding.stop()
        asked = asyncio.create_task(decoding.ask(Question(), [tally]))
        while decoding._process is None:
            await asyncio.sleep(0.001)
        decoding._process.kill()  # as the kernel does where memory runs out
        with pytest.raises(DecodingFailed, match="decoding ran out of memory"):
            await asked
        assert json.loads(await decoding.ask(Question(), [tally]))["n"] == 15
        await decoding.stop()

    run(scene())


def test_a_failed_decode_is_a_problem_and_not_a_bug(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store, decode_seconds=0.01) as call:
            path = await call.create(SURVEY, minimum=0)
            await answers(call, SURVEY, 0, ["lynx"] * 5)
            answer = await call.admin("GET", f"{path}/estimate")
            assert answer.status == 503
            assert answer.json()["detail"] == "decoding must take at most 0.01 seconds; name fewer candidates"

    run(scene())


def test_a_bug_in_decoding_is_a_bug(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(SURVEY, minimum=0)
            await answers(call, SURVEY, 0, ["lynx"] * 5)
            broken = Question(form="an unknown form")
            with pytest.raises(RuntimeError, match="decoding failed:\nTraceback"):
                await call.app.decoding.ask(broken, [store.tally(store.entries()[0]).to_bytes()])
            assert (await call.admin("GET", f"{path}/estimate")).status == 200, "the process lives on"

    run(scene())


def test_a_store_that_does_not_answer_is_told(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(SURVEY)

            def gone() -> None:
                raise Unavailable("PostgreSQL does not answer: connection refused")

            monkeypatch.setattr(store, "reading", gone)
            for where in ("/readyz", path, f"{path}/counters", "/v1/surveys"):
                answer = await call.admin("GET", where)
                assert answer.status == 503
                sentence = "the store does not answer: PostgreSQL does not answer: connection refused"
                assert answer.json()["detail"] == sentence
                assert answer.headers["retry-after"] == "2"
            monkeypatch.undo()

    run(scene())


@pytest.mark.parametrize("text", ["", "yesterday", "2026-02-30", "2026-11-15T25", "99999-01-01"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(StoreError, match="a time must be like 2026-11-15 or 2026-11-15T14, in UTC, got"):
        hour_of(text)


def test_windows_hold_their_hours() -> None:
    for kind, size in (("hour", 1), ("day", 24), ("week", 168)):
        for hours in range(480_000, 480_400):
            start = window_of(kind, hours)
            assert start <= hours < start + size
            assert window_of(kind, start) == start
    assert label(window_of("week", hour_of("2026-11-15"))) == "2026-11-09T00", "a Monday"


def test_a_clock_that_jumps_is_not_trusted_and_one_that_drifts_is() -> None:
    wall, steady = [1e9], [0.0]
    clock = Clock(lambda: wall[0], lambda: steady[0])
    wall[0], steady[0] = 1e9 + 7200, 7000.0
    assert clock.hours() == int((1e9 + 7200) // 3600)
    assert clock.trusted
    wall[0] += 86_400
    assert clock.day() == int((1e9 + 93_600) // 86_400)
    assert not clock.trusted
