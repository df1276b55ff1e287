"""Closing, opening again, changing and deleting a survey over HTTP, and who may."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.service.clock import minute_label
from deniable.service.entries import Rules
from deniable.service.sqlite import SQLiteStore
from tests.cluster import Cluster
from tests.collector import ADMIN, Answer, Caller, Ticking, counted, one_cell_each, records, run

SURVEY = one_cell_each(1024, "a question")
PATH = f"/v1/surveys/{SURVEY.digest}"
UNKNOWN = f"survey {SURVEY.digest[:8]} is not known here"
CLOSED = f"survey {SURVEY.digest[:8]} is closed and takes no reports"
SOON = 480_000 * 60 + 90  # a minute, an hour and a half after `Ticking` starts


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    made = SQLiteStore(tmp_path)
    yield made
    made.close()


def told(answer: Answer) -> tuple[int, str, str]:
    """Status, word and sentence of a refusal."""
    found = answer.json()
    return answer.status, found["type"].removeprefix("urn:deniable:problem:"), found["detail"]


async def secret(call: Caller, kind: str) -> str:
    return str((await call.admin("POST", f"{PATH}/tokens", {"kind": kind})).json()["token"])


def test_whoever_asked_may_close_reopen_change_and_delete(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            owner = await secret(call, "owner")

            async def owned(method: str, path: str, body: object = b"") -> Answer:
                return await call(method, path, body, token=owner)

            assert (await call.upload(SURVEY, records(SURVEY, range(3)))).status == 200
            assert (await owned("POST", f"{PATH}/close")).json()["state"] == "closed"
            assert told(await call.upload(SURVEY, records(SURVEY, [3]))) == (410, "closed", CLOSED)
            opened = (await owned("POST", f"{PATH}/reopen")).json()
            assert (opened["state"], opened["final"]) == ("open", False)
            again = (await call.upload(SURVEY, records(SURVEY, range(4)))).json()
            assert (again["accepted"], again["duplicate"]) == (1, 3), "what was counted before still is, once"
            texts = {"introduction": "One.\n\nTwo.", "thanks": "Bye."}
            changed = (await owned("PATCH", PATH, {"rules": texts})).json()
            assert changed["rules"] == Rules(**texts).to_json()  # type: ignore[arg-type]
            assert changed["survey"]["digest"] == SURVEY.digest, "texts are no part of the agreement"
            assert (await owned("DELETE", PATH)).json() == {"digest": SURVEY.digest, "reports": 4}
            for answer in (
                await call("GET", PATH),
                await call.upload(SURVEY, records(SURVEY, [9])),
                await call.admin("DELETE", PATH),
                await call.admin("POST", f"{PATH}/reopen"),
            ):
                assert told(answer) == (404, "unknown-survey", UNKNOWN)
            assert (await owned("DELETE", PATH)).status == 403, "the owner's token went, too"
            assert (await call.admin("GET", "/v1/surveys")).json() == {"surveys": []}

    run(scene())


def test_what_may_not_be_changed_is_refused(store: SQLiteStore) -> None:
    allowed = "closes, introduction, thanks, frames"
    fixed = f"rules to change must be among {allowed}, got 'minimum'; make a new survey instead"
    now = minute_label(SOON - 90)
    past = f"closes must be in the future, got {now} at {now}; to end a survey now, close it"

    async def scene() -> None:
        async with Caller(store, clock=Ticking()) as call:
            await call.create(SURVEY)
            for method, path, body, status, sentence in (
                ("PATCH", PATH, {"rules": {"minimum": 1}}, 422, fixed),
                ("PATCH", PATH, {"rules": []}, 422, "rules must be an object, got list"),
                ("PATCH", PATH, {}, 400, "body must be an object with rules and at most rules"),
                ("PATCH", PATH, {"rules": {"thanks": 1}}, 422, "thanks must be text, got int"),
                ("PATCH", PATH, {"rules": {"closes": now}}, 422, past),
                ("POST", f"{PATH}/close", {"final": 1}, 400, "final must be true or false"),
                ("POST", f"{PATH}/close", {"for": "good"}, 400, "body must be an object with at most final"),
            ):  # fmt: skip
                answer = await call.admin(method, path, body)
                assert (answer.status, answer.json()["detail"]) == (status, sentence)
            new = {"survey": json.loads(one_cell_each(512).to_json()), "rules": {"closes": "2020-01-01"}}
            refused = told(await call.admin("POST", "/v1/surveys", new))
            assert refused[:2] == (422, "survey")
            assert refused[2].startswith("closes must be in the future, got 2020-01-01T00:00Z at ")
            assert store.entries()[0].rules == Rules()

    run(scene())


def test_a_closing_date_ends_a_survey_to_the_minute_and_may_be_moved(store: SQLiteStore) -> None:
    async def scene() -> None:
        clock = Ticking()
        async with Caller(store, clock=clock) as call:
            body = {"survey": json.loads(SURVEY.to_json()), "rules": {"closes": minute_label(SOON)}}
            assert (await call.admin("POST", "/v1/surveys", body)).status == 201
            clock.pass_seconds(90 * 60 - 1)
            assert (await call.upload(SURVEY, records(SURVEY, [1]))).status == 200
            clock.pass_seconds(1)
            for _ in range(2):
                assert told(await call.upload(SURVEY, records(SURVEY, [2]))) == (410, "closed", CLOSED)
            assert (await call("GET", PATH)).json()["state"] == "closed"
            assert (await call.admin("POST", "/v1/surveys", body)).status == 200, "the same once more, as ever"
            later = {"rules": {"closes": minute_label(SOON + 1)}}
            assert (await call.admin("PATCH", PATH, later)).json()["state"] == "open"
            assert (await call.upload(SURVEY, records(SURVEY, [2]))).status == 200
            clock.pass_seconds(60)
            assert (await call.upload(SURVEY, records(SURVEY, [3]))).status == 410
            opened = (await call.admin("POST", f"{PATH}/reopen")).json()
            assert (opened["state"], opened["rules"]["closes"]) == ("open", None)
            assert (await call.upload(SURVEY, records(SURVEY, range(1, 4)))).json()["duplicate"] == 2

    run(scene())


def test_a_clock_that_jumps_neither_ends_a_survey_nor_opens_it(store: SQLiteStore) -> None:
    async def scene() -> None:
        clock = Ticking()
        async with Caller(store, clock=clock) as call:
            await call.create(SURVEY, closes=minute_label(SOON))
            clock.jump(50)
            assert (await call.upload(SURVEY, records(SURVEY, [1]))).status == 200, "devices discard what 410 refuses"
            clock.pass_hours(2)
            assert (await call.upload(SURVEY, records(SURVEY, [2]))).status == 410
            clock.jump(-100)
            assert (await call.upload(SURVEY, records(SURVEY, [2]))).status == 410

    run(scene())


def test_readers_of_a_survey_that_may_open_again_see_windows_that_are_over(store: SQLiteStore) -> None:
    """Or closing, opening and closing again would show the single report that came between."""

    async def scene() -> None:
        clock = Ticking()
        async with Caller(store, clock=clock) as call:
            await call.create(SURVEY, minimum=3, results="public")
            await call.upload(SURVEY, records(SURVEY, range(3)))
            await call.admin("POST", f"{PATH}/close")
            assert (await call("GET", f"{PATH}/tally")).status == 409
            assert (await call.admin("GET", f"{PATH}/tally")).status == 200
            closed = (await call.admin("POST", f"{PATH}/close", {"final": True})).json()
            assert (closed["state"], closed["final"]) == ("closed", True)
            assert (await call("GET", f"{PATH}/tally")).status == 200, "nothing can be added any more"
            refused = told(await call.admin("POST", f"{PATH}/reopen"))
            assert refused[:2] == (409, "final")
            assert refused[2].startswith(f"survey {SURVEY.digest[:8]} is closed for good: its report ids are forgotten")

    run(scene())


def test_a_survey_registered_anew_starts_empty(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY, uploads="token", rate=5, minimum=0)
            uploading = await secret(call, "upload")
            assert (await call.upload(SURVEY, records(SURVEY, range(5)), token=uploading)).status == 200
            assert SURVEY.digest in (await call.admin("GET", "/metrics")).body.decode()
            await call.admin("DELETE", PATH)
            assert SURVEY.digest not in (await call.admin("GET", "/metrics")).body.decode()
            assert not call.app._entries
            assert not call.app._uploads._good
            assert not call.app._uploads._buckets
            await call.create(SURVEY, uploads="token", minimum=0)
            assert (await call.upload(SURVEY, records(SURVEY, [0]), token=uploading)).status == 403
            uploading = await secret(call, "upload")
            assert (await call.upload(SURVEY, records(SURVEY, [0, 9]), token=uploading)).json()["accepted"] == 2
            assert (await call.admin("GET", f"{PATH}/counters")).json() == {"counters": {"accepted": 2}}
            (listed,) = (await call.admin("GET", "/v1/surveys")).json()["surveys"]
            assert listed["reports"] == 2

    run(scene())


def test_the_process_that_decoded_a_deleted_survey_ends(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY, minimum=1)
            await call.upload(SURVEY, records(SURVEY, range(5)))
            assert (await call.admin("POST", f"{PATH}/estimate", {"candidates": ["a", "b"]})).status == 200
            process = call.app.decoding._process
            assert process is not None
            assert (await call.admin("DELETE", PATH)).status == 200
            assert process.returncode is not None, "its memory has seen the counts"
            await call.create(SURVEY, minimum=1)
            await call.upload(SURVEY, records(SURVEY, range(5)))
            assert (await call.admin("POST", f"{PATH}/estimate", {"candidates": ["a", "b"]})).status == 200

    run(scene())


def test_other_collectors_learn_of_a_deletion_at_the_next_report(cluster: Cluster) -> None:
    """The second collector has the survey in memory; registered anew meanwhile, it is another one under its name."""
    from deniable.service.backends import open_store

    async def scene() -> None:
        address = cluster.fresh()
        async with Caller(open_store(address)) as one, Caller(open_store(address)) as two:
            await one.create(SURVEY, minimum=0)
            assert (await two.upload(SURVEY, records(SURVEY, [1, 2]))).json()["accepted"] == 2
            assert (await one.admin("DELETE", PATH)).json()["reports"] == 2
            assert told(await two.upload(SURVEY, records(SURVEY, [3]))) == (404, "unknown-survey", UNKNOWN)
            await one.create(SURVEY, minimum=0)
            assert (await two.upload(SURVEY, records(SURVEY, [3]))).json()["accepted"] == 1
            await one.admin("DELETE", PATH)
            await one.create(SURVEY, minimum=0)
            again = await two.upload(SURVEY, records(SURVEY, [4]))
            assert told(again) == (503, "unavailable", "the survey was registered anew; send the same bytes again")
            assert again.headers["retry-after"] == "1"
            assert (await two.upload(SURVEY, records(SURVEY, [4]))).json()["accepted"] == 1
            (entry,) = two.app.store.entries()
            assert counted(two.app.store.tally(entry)).nonzero()[0].tolist() == [4]
            moved = {"rules": {"closes": "2999-01-01"}}
            assert (await one.admin("PATCH", PATH, moved)).status == 200
            assert (await two("GET", PATH)).json()["rules"]["closes"] == "2999-01-01T00:00Z"

    run(scene())


@pytest.mark.parametrize("route", ["close", "reopen", "tokens"])
def test_a_survey_that_goes_while_a_request_is_on_its_way_is_unknown(store: SQLiteStore, route: str) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            allow = call.app._roles.allow

            async def then_gone(*args: object) -> object:
                found = await allow(*args)  # type: ignore[arg-type]
                await call.app.writer.call(lambda: store.delete(SURVEY.digest))
                return found

            call.app._roles.allow = then_gone  # type: ignore[method-assign, assignment]
            body = {"kind": "read"} if route == "tokens" else b""
            answer = await call("POST", f"{PATH}/{route}", body, token=ADMIN)
            assert told(answer) == (404, "unknown-survey", UNKNOWN)

    run(scene())
