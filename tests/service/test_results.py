"""Results over HTTP: tallies, estimates in every form, differences; decoded in a process that may die."""

import asyncio
import csv
import io
import itertools
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import deniable as dn
from deniable.cli import decode as command
from deniable.decoders import strategies
from deniable.decoders.rows import DifferenceRows, EstimateRows
from deniable.errors import DeniableError, StoreError
from deniable.service import decoding as room
from deniable.service import models
from deniable.service.clock import Clock, hour_of, label, minute_of, window_of
from deniable.service.decoding import Decoding, DecodingFailed, Part, Turn
from deniable.service.entries import Entry, Rules, Upload
from deniable.service.models import DecodeRequest
from deniable.service.sqlite import SQLiteStore
from deniable.service.store import Unavailable
from tests.collector import Caller, Ticking, run
from tests.waiting import PATIENCE

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
                {"start": "2026-11-01T00", "end": "2026-11-02T00", "reports": 600},
                {"start": "2026-11-02T00", "end": "2026-11-03T00", "reports": 400},
            ]
            whole = (await call.admin("GET", f"{path}/estimate")).json()
            expected = dn.decode(store.tally(store.entries()[0]))
            assert whole == EstimateRows(expected).to_json() | {"from": "2026-11-01T00", "to": "2026-11-03T00"}
            assert (whole["n"], whole["decoder"], whole["intervals"]) == (1000, "EmpiricalBayes", "exact")
            assert whole["diagnostics"]["rank"] == 3
            assert [row["significant"] for row in whole["estimates"]][:2] == [True, True]  # the third once in many runs

            options = "decoder=inversion&constraint=none&level=0.9"
            day = await call.admin("GET", f"{path}/estimate?from=2026-11-02&{options}&format=csv")
            assert day.headers["content-type"] == "text/csv; charset=utf-8"
            rows = list(csv.DictReader(io.StringIO(day.body.decode())))
            second = dn.decode(store.tally(store.entries()[0], hour_of("2026-11-02"), None))
            assert [row["symbol"] for row in rows] == ["chrome", "firefox", "lynx"]
            assert [float(row["raw"]) for row in rows] == pytest.approx(second.raw)
            assert [float(row["probability"]) for row in rows] == pytest.approx(second.raw)
            assert [float(row["raw_low"]) for row in rows] == pytest.approx(second.intervals(0.9)[:, 0])
            assert [row["significant"] for row in rows][:2] == ["True", "True"]

            arrow = await call.admin("GET", f"{path}/estimate?to=2026-11-02&format=arrow")
            table = pa.ipc.open_stream(arrow.body).read_all()
            first = dn.decode(store.tally(store.entries()[0], None, hour_of("2026-11-02")))
            assert table.column("probability").to_pylist() == pytest.approx(sorted(first.probabilities)[::-1])
            about = json.loads(table.schema.metadata[b"deniable"])
            assert (about["n"], about["from"], about["to"]) == (600, "2026-11-01T00", "2026-11-02T00")
            assert about["diagnostics"]["influence"] == first.diagnostics.influence

            change = await call.admin("GET", f"{path}/difference?against_to=2026-11-02&from=2026-11-02")
            bounds = {"against_from": "2026-11-01T00", "against_to": "2026-11-02T00"}
            bounds |= {"from": "2026-11-02T00", "to": "2026-11-03T00"}
            assert change.json() == DifferenceRows(dn.difference(second, first)).to_json() | bounds
            assert (change.json()["before"]["n"], change.json()["after"]["n"]) == (600, 400)
            options = "top=1&simultaneous=true&level=0.9&format=csv"
            shortest = await call.admin("GET", f"{path}/difference?against_to=2026-11-02&from=2026-11-02&{options}")
            (row,) = csv.DictReader(io.StringIO(shortest.body.decode()))
            limits = dn.difference(second, first).intervals(0.9, simultaneous=True)
            assert float(row["raw_low"]) == pytest.approx(limits[BROWSERS.index(row["symbol"])][0])

    run(scene())


def test_both_doors_know_the_same_names() -> None:
    assert models.DECODERS == command.DECODERS == tuple(strategies.DECODERS)
    assert models.CONSTRAINTS == command.CONSTRAINTS == tuple(strategies.CONSTRAINTS)
    assert {type(decoder) for decoder in strategies.DECODERS.values()} == {
        dn.EmpiricalBayes, dn.Inversion, dn.LeastSquares, dn.WeightedLeastSquares, dn.Likelihood,
        dn.Screening, dn.Contaminated,
    }  # fmt: skip


def test_readers_cannot_take_results_apart(store: SQLiteStore) -> None:
    """Windows of 60, 30, 80 and 200 reports and one that goes on, at a minimum of 50: what someone with a read token
    can get are unions of parts of at least 50 reports each, however often they ask and whatever they subtract."""

    async def scene() -> None:
        clock = Ticking(hour_of("2026-11-01"))
        async with Caller(store, clock=clock) as call:
            path = await call.create(OPEN, minimum=50, window="hour", results="public")
            clock.pass_seconds(299)
            sent = 0
            for count in (60, 30, 80, 200):
                early = await call("GET", f"{path}/tally?from={label(clock.hours())}")
                await answers(call, OPEN, sent, ["ash"] * count)
                sent += count
                late = await call("GET", f"{path}/tally?from={label(clock.hours())}")
                assert early.body == late.body, "a window that goes on shows nothing of what comes in"
                assert early.status == 409
                clock.pass_hours(1)
                just = await call("GET", f"{path}/windows")
                clock.pass_seconds(2)
                assert (await call("GET", f"{path}/windows")).body != just.body or count == 30, "five minutes later"
                clock.pass_seconds(-2)
            assert late.json()["detail"] == (
                "results are shown from 50 reports on, of windows that have ended; this range has fewer"
            )
            clock.pass_seconds(2)
            await answers(call, OPEN, sent, ["ash"] * 70)
            listed = (await call("GET", f"{path}/windows")).json()["windows"]
            assert listed == [
                {"start": "2026-11-01T00", "end": "2026-11-01T01", "reports": 60},
                {"start": "2026-11-01T01", "end": "2026-11-01T03", "reports": 110},
                {"start": "2026-11-01T03", "end": "2026-11-01T04", "reports": 200},
            ]
            sizes = {}
            hours = [None, *(f"2026-11-01T{hour:02}" for hour in range(7))]
            for first, last in itertools.product(hours, hours):
                query = "&".join(f"{name}={text}" for name, text in (("from", first), ("to", last)) if text)
                answer = await call("GET", f"{path}/tally?{query}")
                if answer.status == 200:
                    sizes[first, last] = dn.Tally.from_bytes(answer.body).n
                else:
                    assert answer.status == (400 if first and last and first >= last else 409)
            assert set(sizes.values()) == {60, 110, 200, 170, 310, 370}
            assert sizes[None, None] == 370
            cut = await call("GET", f"{path}/tally?from=2026-11-01T02")
            assert cut.json()["detail"] == (
                "a range must begin and end where a window in /windows does, got one that cuts 2026-11-01T01 to "
                "2026-11-01T03; windows below 50 reports are joined"
            )
            whole = (await call("GET", f"{path}/estimate?candidates=ash")).json()
            assert (whole["n"], whole["from"], whole["to"]) == (370, "2026-11-01T00", "2026-11-01T04")
            assert dn.Tally.from_bytes((await call.admin("GET", f"{path}/tally")).body).n == 440
            assert len((await call.admin("GET", f"{path}/windows")).json()["windows"]) == 5
            await call.admin("POST", f"{path}/close")
            assert dn.Tally.from_bytes((await call("GET", f"{path}/tally")).body).n == 370, "it may be opened again"
            await call.admin("POST", f"{path}/close", {"final": True})
            assert dn.Tally.from_bytes((await call("GET", f"{path}/tally")).body).n == 440, "nothing more can come"

    run(scene())


def test_the_minimum_is_a_minimum_for_the_administrator_too(store: SQLiteStore) -> None:
    async def scene() -> None:
        clock = Ticking(hour_of("2026-11-01"))
        async with Caller(store, clock=clock) as call:
            path = await call.create(OPEN, minimum=50)
            await answers(call, OPEN, 0, ["ash"] * 49)
            paths = [f"{path}/tally", f"{path}/tally?from=2026-11-01", f"{path}/estimate?candidates=ash"]
            for asked in (*paths, f"{path}/trend?candidates=ash"):
                refused = await call.admin("GET", asked)
                assert (refused.status, refused.json()["type"]) == (409, "urn:deniable:problem:too-few"), asked
            await answers(call, OPEN, 49, ["ash"])
            for asked in paths[:2]:
                assert dn.Tally.from_bytes((await call.admin("GET", asked)).body).n == 50

    run(scene())


@pytest.mark.slow
def test_an_open_survey_is_decoded_with_candidates(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(OPEN, minimum=1)
            await answers(call, OPEN, 0, ["ash"] * 400 + ["birch"] * 200)
            by_query = (await call.admin("GET", f"{path}/estimate?candidates=ash,birch,oak")).json()
            by_body = await call.admin("POST", f"{path}/estimate", {"candidates": ["ash", "birch", "oak"]})
            assert by_body.json() == by_query
            assert by_query["estimates"][0]["probability"] > 0.4
            expected = dn.decode(store.tally(store.entries()[0]), candidates=["ash", "birch", "oak"])
            assert expected.unallocated is not None
            low, high = expected.unallocated.interval(0.95)
            assert (by_query["unallocated"]["raw_low"], by_query["unallocated"]["raw_high"]) == (low, high)
            assert by_query["intervals"] == "approximate"
            assert by_query["diagnostics"]["fit"]["p_value"] == expected.diagnostics.fit.p_value  # type: ignore[union-attr]
            options = "complete=true&decoder=weighted-least-squares&constraint=projected"
            whole = (await call.admin("GET", f"{path}/estimate?candidates=ash,birch,oak&{options}")).json()
            assert (whole["unallocated"], whole["decoder"]) == (None, "WeightedLeastSquares")
            posted = {"candidates": ["ash", "birch", "oak"], "complete": True, "decoder": "weighted-least-squares"}
            posted["constraint"] = "projected"
            assert (await call.admin("POST", f"{path}/estimate", posted)).json() == whole
            cased = (await call.admin("GET", f"{path}/estimate?candidates=Ash,BIRCH,oak%20")).json()
            assert cased["estimates"] == by_query["estimates"]
            merged = await call.admin("POST", f"{path}/estimate", {"candidates": ["Ash", "birch", "oak", "ash", "OAK"]})
            assert merged.json() == by_query
            twice = await call.admin("POST", f"{path}/estimate", {"candidates": ["ash", "oak", "ash"]})
            assert twice.status == 422
            assert "candidates must be distinct after NFC normalisation; remove the repeats" in twice.body.decode()
            without = await call.admin("GET", f"{path}/estimate")
            assert without.status == 422
            assert without.json()["type"] == "urn:deniable:problem:undecodable"
            assert "candidates must be given" in without.json()["detail"]
            for none in (["ash"], 1.5, None, True, {"int": "1"}):
                mixed = await call.admin("POST", f"{path}/estimate", {"candidates": [none]})
                assert mixed.status == 422, "a symbol that is none is the caller's mistake"
            assert by_query["estimates"][2]["symbol"] == "oak"
            arrow = await call.admin("GET", f"{path}/estimate?candidates=ash,birch&format=arrow")
            assert pa.ipc.open_stream(arrow.body).read_all().column("symbol").to_pylist() == ["ash", "birch", None]
            lines = (await call.admin("GET", f"{path}/estimate?candidates=ash,birch&format=csv")).body.decode()
            last = list(csv.DictReader(io.StringIO(lines)))[-1]
            assert (last["symbol"], last["listed"]) == ("(unlisted)", "False")
            own = {"candidates": ["birch", "ash", "Birch"], "order": "own"}
            told = (await call.admin("POST", f"{path}/estimate", own)).json()
            assert [row["symbol"] for row in told["estimates"]] == ["birch", "ash"]
            lines = (await call.admin("POST", f"{path}/estimate", own | {"format": "csv"})).body.decode()
            rows = list(csv.DictReader(io.StringIO(lines)))
            assert [row["symbol"] for row in rows] == ["birch", "ash", "(unlisted)"]
            assert {row["listed"] for row in rows[:2]} == {"True"}
            assert rows[0]["to_exclusive"] == told["to"], "the hour that is left out, and says so"

    run(scene())


WRONG = [
    (
        "estimate?decoder=magic",
        "decoder must be one of empirical-bayes, empirical-bayes-ordered, "
        "inversion, least-squares, weighted-least-squares, likelihood, screening, contaminated",
    ),
    ("estimate?complete=yes", "complete must be true or false"),
    ("estimate?simultaneous=1", "simultaneous must be true or false"),
    ("estimate?top=0", "top must be a positive number of symbols"),
    ("estimate?top=-1", "top must be a positive number of symbols"),
    ("estimate?top=999999999999", "top must be a positive number of symbols"),
    ("estimate?constraint=x", "constraint must be one of none, normalized, projected"),
    ("estimate?format=xml", "format must be one of json, csv, arrow"),
    ("estimate?order=random", "order must be one of size, own"),
    ("trend?from=2026-11-03&to=2026-11-03", "a range must end after it begins, got from 2026-11-03 to 2026-11-03"),
    (
        "estimate?from=2026-11-03&to=2026-11-02",
        "a range must end after it begins, got from 2026-11-03 to 2026-11-02",
    ),
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
    (b'{"top": 1, "top": 2}', "body must be a JSON object of parameters"),
    (b"[" * 99999, "body must be a JSON object of parameters"),
    ({"day": 1}, "body must not have the field 'day'; see /openapi.json"),
    ({"candidates": "ash"}, "candidates must be a list of 1 to 1048576 symbols"),
    ({"candidates": []}, "candidates must be a list of 1 to 1048576 symbols"),
    ({"from": 3}, "from must be text like 2026-11-15"),
    ({"complete": 1}, "complete must be true or false"),
    ({"top": True}, "top must be a positive number of symbols"),
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


@pytest.fixture
def entry(store: SQLiteStore) -> Entry:
    """A survey with one report an hour."""
    made, _ = store.create(SURVEY, Rules(window="hour"))
    report = dn.Report(SURVEY, 0, b"\x01").pack()
    for hour in range(60):
        store.write([Upload(made, hour.to_bytes(16, "big") + report)], hours=hour)
    return made


def part(count: int) -> list[Part]:
    """So many of them."""
    return [Part(((0, count),), count)]


@pytest.mark.slow
def test_a_decode_that_takes_too_long_or_dies_is_told_and_the_next_one_works(store: SQLiteStore, entry: Entry) -> None:
    async def scene() -> None:
        decoding = Decoding(store.where, seconds=1e-6)
        with pytest.raises(DecodingFailed, match=r"decoding must take at most 1e-06 seconds"):
            await decoding.ask(DecodeRequest(), entry, part(15))
        decoding._seconds = PATIENCE
        assert json.loads(await decoding.ask(DecodeRequest(), entry, part(15)))["n"] == 15
        await decoding.stop()
        asked = asyncio.create_task(decoding.ask(DecodeRequest(), entry, part(16)))
        while decoding._process is None:
            await asyncio.sleep(0.001)
        decoding._process.kill()  # as the kernel does where memory runs out
        with pytest.raises(DecodingFailed, match="decoding ran out of memory"):
            await asked
        assert json.loads(await decoding.ask(DecodeRequest(), entry, part(16)))["n"] == 16
        many = (decoding.ask(DecodeRequest(), entry, part(20 + i)) for i in range(40))
        found = await asyncio.gather(*many, return_exceptions=True)
        refused = [str(problem) for problem in found if isinstance(problem, DecodingFailed)]
        assert refused == ["at most 32 questions must wait to be decoded; ask again later"] * 8
        assert decoding._process is not None
        adjusted = Path(f"/proc/{decoding._process.pid}/oom_score_adj")
        assert not adjusted.exists() or adjusted.read_text().strip() == "1000"
        await decoding.stop()

    run(scene())


def test_what_was_asked_before_is_answered_without_decoding(store: SQLiteStore, entry: Entry) -> None:
    """The same question about the same counts; another question or other counts are decoded."""

    async def scene() -> None:
        decoding = Decoding(store.where)
        first = await decoding.ask(DecodeRequest(), entry, part(15))
        await decoding.stop()
        assert await decoding.ask(DecodeRequest(), entry, part(15)) is first
        assert decoding._process is None, "nothing was started for it"
        assert json.loads(await decoding.ask(DecodeRequest(level=0.9), entry, part(15)))["level"] == 0.9
        assert decoding._process is not None
        assert json.loads(await decoding.ask(DecodeRequest(), entry, part(16)))["n"] == 16
        await decoding.stop()

    run(scene())


def test_no_answer_outlives_a_deletion(store: SQLiteStore, entry: Entry) -> None:
    async def scene() -> None:
        decoding = Decoding(store.where)
        await decoding.ask(DecodeRequest(), entry, part(15))
        assert len(decoding._kept) == 1
        asked = asyncio.create_task(decoding.ask(DecodeRequest(), entry, part(16)))
        await asyncio.sleep(0)
        assert decoding._waiting == 1
        await decoding.forget()
        assert json.loads(await asked)["n"] == 16, "whoever waits is answered"
        assert decoding._kept == {}
        assert decoding._size == 0
        await decoding.stop()

    run(scene())


def test_answers_that_are_kept_take_little_memory(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_MOST_KEPT", 80)
    decoding = Decoding(store.where)
    for name in b"abcdefghij":
        decoding._keep(bytes([name]), b"ten bytes.")
        assert decoding._kept.get(b"a") is not None or name > b"h"[0]
    assert b"".join(decoding._kept) == b"cdefghij", "the oldest go"
    decoding._keep(b"z", b"eleven byte")
    assert b"z" not in decoding._kept, "one that would take an eighth is not kept"
    assert decoding._size == sum(map(len, decoding._kept.values())) == 80


def test_the_process_is_there_before_anybody_asks(store: SQLiteStore, entry: Entry) -> None:
    async def scene() -> None:
        decoding = Decoding(store.where)
        await decoding.start()
        process = decoding._process
        assert process is not None
        await decoding.start()
        assert json.loads(await decoding.ask(DecodeRequest(), entry, part(15)))["n"] == 15
        assert decoding._process is process, "and it is the one that answers"
        await decoding.stop()

    run(scene())


def test_loading_is_not_counted_as_time_of_a_question(store: SQLiteStore, entry: Entry) -> None:
    """Else the first question ends a process that loads slowly, the next starts another, and none is ever answered.
    Nor does it begin anew because whoever asked first has gone."""
    slow = "import runpy, sys, time; time.sleep(1.5); runpy.run_module(sys.argv.pop(1), run_name='__main__')"

    async def scene() -> None:
        decoding = Decoding(store.where, seconds=PATIENCE)
        decoding._command[1:] = ["-P", "-c", slow, *decoding._command[3:]]
        gone = asyncio.create_task(decoding.ask(DecodeRequest(), entry, part(15)))
        while decoding._process is None:
            await asyncio.sleep(0.001)
        process = decoding._process
        gone.cancel()
        await asyncio.wait([gone])
        decoding._seconds = 1.0
        assert json.loads(await decoding.ask(DecodeRequest(), entry, part(15)))["n"] == 15
        assert decoding._process is process
        await decoding.stop()
        assert process.returncode is not None

    run(scene())


def test_a_failed_decode_is_a_problem_and_not_a_bug(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store, decode_seconds=1e-6) as call:
            path = await call.create(SURVEY, minimum=0)
            await answers(call, SURVEY, 0, ["lynx"] * 5)
            answer = await call.admin("GET", f"{path}/estimate")
            assert answer.status == 503
            assert answer.json()["detail"] == "decoding must take at most 1e-06 seconds; name fewer candidates"

    run(scene())


def test_a_bug_in_decoding_is_a_bug(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(SURVEY, minimum=0)
            await answers(call, SURVEY, 0, ["lynx"] * 5)
            with pytest.raises(RuntimeError, match="decoding failed:\nTraceback"):
                await call.app.decoding.ask(
                    DecodeRequest(), store.entries()[0], [Part(((0, 2**31 - 1),), 5)], form="an unknown form"
                )
            assert (await call.admin("GET", f"{path}/estimate")).status == 200, "the process lives on"

    run(scene())


def test_a_store_that_does_not_answer_is_told(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="deniable.service")

    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(SURVEY)

            def gone() -> None:
                raise Unavailable("PostgreSQL does not answer", "connection to db.internal refused, user collector")

            monkeypatch.setattr(store.database, "reading", gone)
            call.app._entries.clear()
            for method, where in (
                ("GET", "/readyz"), ("GET", path), ("GET", f"{path}/counters"), ("GET", "/v1/surveys"),
                ("POST", f"{path}/reports"),
            ):  # fmt: skip
                answer = await call.admin(method, where)
                assert answer.status == 503
                assert answer.json()["detail"] == "the store does not answer: PostgreSQL does not answer"
                assert answer.headers["retry-after"] == "2"
            monkeypatch.undo()
            assert (await call.admin("GET", path)).status == 200

    run(scene())
    # The hourly purge writes, and may do so just now.
    records = [record for record in caplog.records if "read" in record.message]
    told = [(record.message, record.fields) for record in records]  # type: ignore[attr-defined]
    why = "connection to db.internal refused, user collector"
    assert told[-2:] == [
        ("the store cannot be read", {"event": "unavailable", "why": why}),
        ("the store can be read again", {"event": "available"}),
    ], "one line for five requests, and one when it was over"


@pytest.mark.parametrize("text", ["", "yesterday", "2026-02-30", "2026-11-15T25", "99999-01-01"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(StoreError, match="a time must be like 2026-11-15 or 2026-11-15T14, in UTC, got"):
        hour_of(text)
    with pytest.raises(StoreError, match="a time must be like 2026-11-15 or 2026-11-15T14:30, in UTC, got"):
        minute_of(text)


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


def test_readers_without_a_token_have_less(store: SQLiteStore) -> None:
    async def scene() -> None:
        clock = Ticking(hour_of("2026-11-01"))
        async with Caller(store, clock=clock) as call:
            path = await call.create(OPEN, minimum=5, results="public")
            await answers(call, OPEN, 0, ["ash"] * 5)
            clock.pass_hours(25)
            secret = (await call.admin("POST", f"{path}/tokens", {"kind": "read"})).json()["token"]
            many = {"candidates": [f"tree {number}" for number in range(4097)]}
            ranges = {"against_to": "2026-11-02", "from": "2026-11-02"}
            for kind, token in itertools.product(("estimate", "trend", "difference"), (None, "unknown")):
                body = many | (ranges if kind == "difference" else {})
                refused = await call("POST", f"{path}/{kind}", body, token=token)
                assert (refused.status, refused.json()["detail"]) == (
                    401,
                    "candidates must be at most 4096 without a token, got 4097; ask with a read token",
                )
            asked: list[tuple[bool, float]] = []

            async def noted(message: bytes, seconds: float) -> bytes:
                asked.append((len(json.loads(message)["candidates"]) > 4096, seconds))
                return b"{}"

            call.app.decoding._in_turn = noted  # type: ignore[method-assign]
            assert (await call("POST", f"{path}/estimate", many, token=secret)).status == 200
            assert (await call("GET", f"{path}/estimate?candidates=ash")).status == 200
            assert asked == [(True, 900.0), (False, 225.0)], "a quarter of the time"

    run(scene())


def test_who_has_a_token_goes_before_those_without_and_gaps_close() -> None:
    async def scene() -> None:
        turn, order = Turn(), list[str]()

        async def come(name: str, public: bool) -> None:
            async with turn.taken(public=public):
                order.append(name)
                await asyncio.sleep(0)

        async with turn.taken(public=True):
            coming = [asyncio.create_task(come(name, name.startswith("p"))) for name in ("p1", "p2", "t1", "p3", "t2")]
            await asyncio.sleep(0)
            coming[1].cancel()
            await asyncio.sleep(0)
            assert order == []
        await asyncio.gather(*coming, return_exceptions=True)
        assert order == ["t1", "t2", "p1", "p3"]
        async with turn.taken(public=False):
            late = asyncio.create_task(come("late", False))
            await asyncio.sleep(0)
        late.cancel()  # just when its turn has come
        await asyncio.gather(late, return_exceptions=True)
        async with asyncio.timeout(PATIENCE), turn.taken(public=True):
            order.append("last")
        assert order[-1] == "last"

    run(scene())


def test_strangers_leave_places_for_those_with_a_token(store: SQLiteStore, entry: Entry) -> None:
    async def scene() -> None:
        decoding = Decoding(store.where)
        async with decoding._turn.taken(public=False):
            waiting = [
                asyncio.create_task(decoding.ask(DecodeRequest(), entry, part(20 + i), public=True)) for i in range(30)
            ]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            refused = [task for task in waiting if task.done()]
            assert {str(task.exception()) for task in refused} == {
                "at most 24 questions without a token must wait; ask again later"
            }
            assert len(refused) == 6
            more = [asyncio.create_task(decoding.ask(DecodeRequest(), entry, part(1 + i))) for i in range(8)]
            await asyncio.sleep(0)
            assert not any(task.done() for task in more)
            for task in (*waiting, *more):
                task.cancel()
            await asyncio.gather(*waiting, *more, return_exceptions=True)
        assert (decoding._waiting, decoding._public) == (0, 0)
        await decoding.stop()

    run(scene())


def test_what_is_deleted_or_unreadable_meanwhile_is_said(store: SQLiteStore, entry: Entry) -> None:
    async def scene() -> None:
        decoding = Decoding(store.where)
        with pytest.raises(DecodingFailed, match="reports of this range were just deleted; ask again"):
            await decoding.ask(DecodeRequest(), entry, [Part(((0, 30),), 31)])
        with store.writing() as session:
            session.run("UPDATE delta SET counts = x'00'")
        with pytest.raises(DeniableError, match="stored counts must be readable; the store is damaged"):
            await decoding.ask(DecodeRequest(), entry, part(30))
        store.database.path.rename(store.database.path.with_suffix(".away"))
        with pytest.raises(Unavailable, match="the database cannot be read"):
            await decoding.ask(DecodeRequest(), entry, part(31))
        store.database.path.with_suffix(".away").rename(store.database.path)
        await decoding.stop()

    run(scene())
