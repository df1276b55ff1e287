"""The upload route: what is taken, what is refused and how that is said."""

import asyncio
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.service import uploads
from deniable.service.configuration import Options
from deniable.service.problems import RequestError
from deniable.service.requests import Room, read_body
from deniable.service.sqlite import SQLiteStore
from deniable.service.store import Store
from deniable.service.uploads import Bucket
from tests.cluster import Cluster
from tests.collector import (
    ADMIN,
    Answer,
    Caller,
    Ticking,
    counted,
    envelope,
    name_of,
    one_cell_each,
    records,
    run,
    wire,
)
from tests.contracts.test_js_client import JS

SURVEY = one_cell_each(4096)
LARGE = one_cell_each()
PATH = f"/v1/surveys/{SURVEY.digest}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    made = SQLiteStore(tmp_path)
    yield made
    made.close()


def taken(answer: Answer) -> tuple[int, int, list[tuple[int, str | None, str]]]:
    assert answer.status == 200, answer
    body = answer.json()
    return body["accepted"], body["duplicate"], [(r["index"], r["id"], r["reason"]) for r in body["refused"]]


def test_reports_come_as_bytes_or_as_json_and_are_counted_once(store: Store) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            assert taken(await call.upload(SURVEY, records(SURVEY, [1]))) == (1, 0, [])
            assert taken(await call.upload(SURVEY, records(SURVEY, range(5)))) == (4, 1, [])
            body = envelope(SURVEY, range(3, 8))
            assert taken(await call.upload(SURVEY, body, kind="application/json; charset=utf-8")) == (3, 2, [])
            batch = b"".join(wire(SURVEY, n) for n in range(100, 110))
            for fresh, again in ((10, 0), (0, 10)):
                assert taken(await call.upload(SURVEY, batch, f"?batch={name_of(999).hex()}")) == (fresh, again, [])
            tally = store.tally(call.app._entries[SURVEY.digest])
            assert np.flatnonzero(counted(tally)).tolist() == [*range(8), *range(100, 110)]
            assert counted(tally).max() == 1

    run(scene())


def test_a_json_batch_names_what_it_refuses_and_takes_the_rest(store: Store) -> None:
    async def scene() -> None:
        async with Caller(store, clock=Ticking()) as call:
            await call.create(SURVEY)
            good = json.loads(envelope(SURVEY, [1, 2, 3, 4, 5, 6, 7, 8, 9]))["reports"]
            day, broken = 480_000 // 24, wire(SURVEY, 0)
            good[1]["id"] = "xyz"
            good[2]["report"] = "not base64!"
            good[3]["report"] = good[3]["report"][:8]
            good[4]["answer"] = "firefox"
            good[5]["day"] = "yesterday"
            good[6]["day"] = day - 100
            good[7]["day"] = day + 5
            good[8] |= {"id": name_of(50).hex(), "report": json.loads(_as_json(b"\x07" + broken[1:]))}
            good += ["no object", {"id": name_of(60).hex()}]
            answer = await call.upload(SURVEY, json.dumps({"reports": good}).encode(), kind="application/json")
            assert taken(answer) == (
                1,
                0,
                [
                    (1, None, "id"),
                    (2, name_of(3).hex(), "report"),
                    (3, name_of(4).hex(), "length"),
                    (4, name_of(5).hex(), "report"),
                    (5, name_of(6).hex(), "day"),
                    (6, name_of(7).hex(), "too_old"),
                    (7, name_of(8).hex(), "too_early"),
                    (8, name_of(50).hex(), "version"),
                    (9, None, "report"),
                    (10, name_of(60).hex(), "report"),
                ],
            )
            assert b"firefox" not in answer.body
            text = (await call.admin("GET", "/metrics")).body.decode()
            labels = f'survey="{SURVEY.digest}",name="{SURVEY.digest[:8]}"'  # it has no name
            assert f'deniable_reports_total{{{labels},outcome="report"}} 4' in text
            assert f'deniable_reports_total{{{labels},outcome="accepted"}} 1' in text
            assert 'deniable_requests_total{route="upload",status="200"} 1' in text
            assert "deniable_open_ids 1" in text
            kept = (await call.admin("GET", f"{PATH}/counters")).json()["counters"]
            early = {"id": 1, "report": 4, "length": 1, "day": 1}
            assert kept == {"accepted": 1, "too_old": 1, "too_early": 1, "version": 1, **early}
            hopeless = await call.upload(SURVEY, b'{"reports": [1, 2]}', kind="application/json")
            assert taken(hopeless) == (0, 0, [(0, None, "report"), (1, None, "report")])
            kept = (await call.admin("GET", f"{PATH}/counters")).json()["counters"]
            assert kept["report"] == 6, "what never became a record is counted all the same"

    run(scene())


def _as_json(data: bytes) -> str:
    import base64

    return json.dumps(base64.b64encode(data).decode())


CONTENT = "content type must be application/json or application/octet-stream; see /openapi.json"
NO_JSON = "body must be JSON in UTF-8, in which no field repeats"
REQUESTS = [
    (b"", "", None, 400, "malformed", "body must be one or more records of 27 bytes for this survey, got 0 bytes"),
    (b"123", "", None, 400, "malformed", "body must be one or more records of 27 bytes for this survey, got 3 bytes"),
    (b"123", "?batch=" + "0" * 32, None, 400, "malformed", "records of 11 bytes for this survey, got 3 bytes"),
    (b"{}", "", "application/json", 400, "malformed", 'body must be {"reports": [...]} and nothing else'),
    (b"[" * 99999, "", "application/json", 400, "malformed", NO_JSON),
    (b'{"reports": [' + b'{"id":' * 99999, "", "application/json", 400, "malformed", NO_JSON),
    (b"\xff\xfe{}", "", "application/json", 400, "malformed", NO_JSON),
    ('{"reports": [1]}'.encode("utf-16"), "", "application/json", 400, "malformed", NO_JSON),
    (b'{"reports": [1], "reports": [2]}', "", "application/json", 400, "malformed", NO_JSON),
    (b'{"reports": [{"id": "firefox", "id": ""}]}', "", "application/json", 400, "malformed", NO_JSON),
    (b'{"reports": [' + b"9" * 5000 + b"]}", "", "application/json", 400, "malformed", NO_JSON),
    (b"", "?day=20000&day=20001", None, 400, "malformed", "query must not repeat a parameter"),
    (b'{"reports": []}', "", "application/json", 400, "malformed", "reports must hold at least one report"),
    (b'{"reports": [1], "x": 2}', "", "application/json", 400, "malformed", "and nothing else"),
    (b"{}", "?batch=" + "0" * 32, "application/json", 400, "malformed", "JSON reports have ids of their own"),
    (b"", "?batch=12", None, 400, "malformed", "batch must be 32 hexadecimal digits"),
    (b"", "?day=-4", None, 400, "malformed", "day must be a number of days since 1970-01-01"),
    (b"", "?day=99999999999", None, 400, "malformed", "day must be a number of days since 1970-01-01"),
    (b"", "?answer=firefox", None, 400, "malformed", "query must have no parameters but day and batch"),
    (b"x", "", "text/plain", 415, "content-type", CONTENT),
    (bytes(2 << 20), "", None, 413, "too-large", "body must be at most 1048576 bytes; split it"),
    (b'{"reports": [' + b"1," * 70000 + b"1]}", "", "application/json", 413, "too-many", "got 70001; split it"),
]


def test_a_malformed_request_is_refused_whole_with_a_problem_document(store: Store) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            for body, query, kind, status, word, sentence in REQUESTS:
                answer = await call.upload(SURVEY, body, query, kind=kind or "application/octet-stream")
                assert answer.status == status, (query, answer)
                assert answer.headers["content-type"] == "application/problem+json"
                found = answer.json()
                assert found["type"] == f"urn:deniable:problem:{word}"
                assert found["status"] == status
                assert sentence in found["detail"], found
                assert "firefox" not in found["detail"]
            unknown = await call("POST", f"/v1/surveys/{'0' * 64}/reports", b"x")
            assert unknown.status == 404
            assert unknown.json()["detail"] == "survey 00000000 is not known here"
            assert store.tally(store.entries()[0]).n == 0

    run(scene())


def test_a_stream_of_too_many_records_is_refused(store: Store) -> None:
    async def scene() -> None:
        async with Caller(store, body_limit=1 << 22) as call:
            await call.create(SURVEY)
            answer = await call.upload(SURVEY, bytes(27 * 65_537))
            assert answer.status == 413
            assert answer.json()["detail"] == "a request must hold at most 65536 reports, got 65537; split it"

    run(scene())


def test_upload_tokens_and_their_quota(store: Store) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(SURVEY, uploads="token")
            missing = await call.upload(SURVEY, records(SURVEY, [1]))
            assert missing.status == 401
            assert missing.json()["detail"] == "uploads to this survey must carry an upload token"
            made = await call.admin("POST", f"{path}/tokens", {"kind": "upload", "quota": 3, "name": "build 7"})
            secret = made.json()["token"]
            reader = (await call.admin("POST", f"{path}/tokens", {"kind": "read"})).json()["token"]
            for wrong in ("nonsense", reader, ADMIN):
                refused = await call.upload(SURVEY, records(SURVEY, [1]), token=wrong)
                assert refused.status == 403
                assert refused.json()["detail"] == "the token must be an upload token of this survey"
            assert taken(await call.upload(SURVEY, records(SURVEY, [1, 2]), token=secret)) == (2, 0, [])
            late = taken(await call.upload(SURVEY, records(SURVEY, [2, 3, 4]), token=secret))
            assert late == (1, 1, [(2, name_of(4).hex(), "quota")])
            listed = (await call.admin("GET", f"{path}/tokens")).json()["tokens"]
            assert [(t["name"], t["used"]) for t in listed if t["kind"] == "upload"] == [("build 7", 3)]
            assert secret not in json.dumps(listed)
            assert (await call.admin("DELETE", f"{path}/tokens/{made.json()['id']}")).status == 204
            assert (await call.upload(SURVEY, records(SURVEY, [5]), token=secret)).status == 403

    run(scene())


def test_a_survey_may_limit_its_rate(store: Store) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY, rate=10)
            assert taken(await call.upload(SURVEY, records(SURVEY, range(10))))[0] == 10
            answer = await call.upload(SURVEY, records(SURVEY, range(10, 20)))
            assert answer.status == 429
            assert answer.headers["retry-after"] == "1"
            assert "this survey takes 10 reports a second; send the same bytes again later" in answer.json()["detail"]

    run(scene())


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    bucket = Bucket(10, lambda: now[0])
    assert [bucket.take(10), bucket.take(1)] == [0, 1]
    now[0] = 0.5
    assert [bucket.take(5), bucket.take(5)] == [0, 1]
    now[0] = 100.0
    assert bucket.take(1000) == 0, "a request of more than a second's worth passes a full bucket"
    assert bucket.take(1) == 99, "and what it took has to be paid back"
    now[0] = 199.5
    assert bucket.take(5) == 0


def test_what_waits_is_bounded(store: Store) -> None:
    async def scene() -> None:
        async with Caller(store, backlog=100) as call:
            await call.create(SURVEY)
            answer = await call.upload(SURVEY, records(SURVEY, range(200)))
            assert answer.status == 503
            assert answer.headers["retry-after"] == "2"
            assert "too many reports are waiting to be written; send the same bytes again" in answer.json()["detail"]
            assert taken(await call.upload(SURVEY, records(SURVEY, range(100))))[0] == 100

    run(scene())


def test_uploads_at_once_share_commits(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            many = [call.upload(SURVEY, records(SURVEY, [n % 300])) for n in range(600)]
            found = [taken(answer)[:2] for answer in await asyncio.gather(*many)]
            assert sum(accepted for accepted, _ in found) == 300
            assert sum(duplicate for _, duplicate in found) == 300
            with store.reading() as session:
                (commits,) = session.run("SELECT count(*) FROM delta").fetchone()
            assert commits < 100, "most of 600 requests shared a transaction"
            assert (counted(store.tally(store.entries()[0]))[:300] == 1).all()

    run(scene())


def test_a_closed_survey_answers_gone_to_every_collector(cluster: Cluster) -> None:
    """The second collector has the survey in memory as open; the transaction knows better."""
    from deniable.service.backends import open_store

    async def scene() -> None:
        address = cluster.fresh()
        async with Caller(open_store(address)) as one, Caller(open_store(address)) as two:
            path = await one.create(SURVEY)
            assert taken(await two.upload(SURVEY, records(SURVEY, [1])))[0] == 1
            assert (await one.admin("POST", f"{path}/close")).json()["state"] == "closed"
            for call in (two, one, two):
                answer = await call.upload(SURVEY, records(SURVEY, [2]))
                assert answer.status == 410
                assert answer.json()["detail"] == f"survey {SURVEY.digest[:8]} is closed and takes no reports"

    run(scene())


@pytest.mark.parametrize("origins", ["*", "https://example.org", None])
def test_browsers_may_send_where_they_are_allowed(store: Store, origins: str | None) -> None:
    async def scene() -> None:
        async with Caller(store, origins=origins) as call:
            await call.create(SURVEY)
            before = await call("OPTIONS", f"{PATH}/reports")
            assert before.status == 204
            assert before.headers["access-control-allow-methods"] == "POST"
            assert before.headers["access-control-allow-headers"] == "authorization, content-type"
            for answer in (before, await call.upload(SURVEY, records(SURVEY, [1])), await call("GET", PATH)):
                assert answer.headers.get("access-control-allow-origin") == origins

    run(scene())


def test_nothing_about_a_sender_is_stored(store: SQLiteStore, tmp_path: Path) -> None:
    """Neither a header nor a time finer than the window: two stores that got the same reports an hour apart hold the
    same rows."""

    async def scene(clock: Ticking, where: SQLiteStore) -> list[object]:
        async with Caller(where, clock=clock) as call:
            await call.create(SURVEY)
            clock.pass_hours(clock is not first)
            await call.upload(SURVEY, records(SURVEY, range(9)), f"?day={clock.day()}", token="sender@example.org")
            rows: list[object] = []
            with where.reading() as session:
                for table in ("survey", "delta", "tally", "shard", "token", "ids"):
                    rows += session.run(f"SELECT * FROM {table}").fetchall()
            return rows

    first = Ticking()
    found = run(scene(first, store))
    other = SQLiteStore(tmp_path / "other")
    assert run(scene(Ticking(), other)) == found
    assert "example.org" not in repr(found)
    stored = [row for row in found if isinstance(row, tuple) and isinstance(row[-2], bytes)]  # before the checksum
    assert stored, "ids are there, and only ids"


def test_the_writer_passes_on_what_it_cannot_explain(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            monkeypatch.setattr(store, "write", lambda *_, **__: 1 / 0)
            answer = await call.upload(SURVEY, records(SURVEY, [1]))
            assert answer.status == 500
            assert answer.json()["detail"] == "the collector failed; its log says why. Nothing was acknowledged"
            assert "ZeroDivisionError" not in answer.body.decode()

    run(scene())


def test_a_body_that_comes_in_parts_is_whole_or_refused() -> None:
    parts = [{"type": "http.request", "body": b"ab", "more_body": True}] * 3

    async def read(messages: list[dict[str, object]], headers: object = (), *, hang: bool = False) -> bytes:
        waiting = list(messages)

        async def receive() -> dict[str, object]:
            if not waiting and hang:
                await asyncio.sleep(60)
            return waiting.pop(0)

        return await read_body({"headers": headers}, receive, limit=10, seconds=0.05, room=Room(100))

    last = {"type": "http.request", "body": b"c", "more_body": False}
    assert run(read([*parts, last])) == b"abababc"
    for work, status, sentence in (
        (read(parts, hang=True), 408, "the body must arrive sooner; nothing was taken, send it again"),
        (
            read([*parts, {"type": "http.disconnect"}]),
            400,
            "the body must arrive whole; nothing was taken, send it again",
        ),
        (read([{"type": "http.disconnect"}]), 400, "the body must arrive whole; nothing was taken, send it again"),
        (read([*parts, *parts]), 413, "body must be at most 10 bytes; split it"),
        (read(parts, [(b"content-length", b"11")]), 413, "body must be at most 10 bytes; split it"),
        (read([{"type": "http.request", "body": bytes(11)}]), 413, "body must be at most 10 bytes; split it"),
    ):
        with pytest.raises(RequestError) as refused:
            run(work)
        assert (refused.value.status, refused.value.sentence) == (status, sentence)


def test_a_client_and_a_collector_understand_each_other(store: Store) -> None:
    async def scene() -> None:
        survey = dn.krr(symbols=["no", "yes"], epsilon=3)
        async with Caller(store) as call:
            path = await call.create(survey, minimum=1)
            clients = [dn.Client(survey) for _ in range(200)]
            body = b"".join(name_of(i) + c.report("yes").pack() for i, c in enumerate(clients))
            assert taken(await call.upload(survey, body))[0] == 200
            tally = dn.Tally.from_bytes((await call.admin("GET", f"{path}/tally")).body)
            assert dn.decode(tally)["yes"] > 0.8

    run(scene())


def test_without_a_token_few_reports_come_at_once_and_not_many_a_second(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request must not outvote everybody: relays, which bring many, have a token."""
    monkeypatch.setattr(uploads, "Bucket", lambda rate: Bucket(rate, lambda: 0.0))  # no time passes

    async def scene() -> None:
        async with Caller(store, open_batch=500, open_rate=1000) as call:
            path = await call.create(LARGE, minimum=0)
            secret = (await call.admin("POST", f"{path}/tokens", {"kind": "upload"})).json()["token"]
            read = (await call.admin("POST", f"{path}/tokens", {"kind": "read"})).json()["token"]
            fits, large = records(LARGE, range(500)), records(LARGE, range(501))
            mixed = json.dumps({"reports": [*json.loads(envelope(LARGE, range(300)))["reports"], *[1] * 201]}).encode()
            bodies = (large, None), *((body, "application/json") for body in (envelope(LARGE, range(501)), mixed))
            for body, kind in bodies:
                for token in (None, "no token of this survey", read):
                    answer = await call.upload(LARGE, body, token=token, **({"kind": kind} if kind else {}))
                    assert (answer.status, answer.json()["type"]) == (413, "urn:deniable:problem:too-many")
                    assert answer.json()["detail"] == (
                        "a request without an upload token must hold at most 500 reports, got 501; split it"
                    )
            packed = b"".join(wire(LARGE, number) for number in range(501))
            assert (await call.upload(LARGE, packed, f"?batch={'0' * 32}")).status == 413
            assert (await call.upload(LARGE, fits)).json()["accepted"] == 500
            assert (await call.upload(LARGE, records(LARGE, range(500, 900)))).json()["accepted"] == 400
            refused = await call.upload(LARGE, records(LARGE, range(900, 1001)))
            assert refused.status == 429
            assert refused.json()["detail"] == (
                "this survey takes 1000 reports a second; send the same bytes again later"
            )
            relayed = await call.upload(LARGE, records(LARGE, range(20_000, 30_000)), token=secret)
            assert relayed.json()["accepted"] == 10_000
            (used,) = [token for token in store.tokens(store.entries()[0]) if token.kind == "upload"]
            assert used.used == 10_000, "a relay's reports are charged to its token on an open survey, too"

    run(scene())


def test_a_client_sends_no_more_at_once_than_a_collector_takes_without_a_token() -> None:
    default = Options("store").open_batch
    assert inspect.signature(dn.Client.send).parameters["batch"].default <= default
    found = re.search(r"batch = (\d+)", (JS / "src" / "delivery.js").read_text())
    assert found is not None
    assert int(found[1]) <= default
