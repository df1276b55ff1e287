"""What the files of a collector hold of the past: no id that was forgotten, nothing that pairs an id with a report."""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.service.entries import Rules, Upload
from deniable.service.records import pack_counts
from deniable.service.sqlite import FILE, SQLiteStore
from tests.collector import ADMIN, Caller, one_cell_each, run, wire
from tests.faults import limit_pages

SURVEY = one_cell_each(1024)
NOW = 480_000
TODAY = NOW // 24
NAMES = [hashlib.sha256(b"%d" % number).digest()[:16] for number in range(300)]


def held(folder: Path) -> bytes:
    """Every byte of the database and of its log."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"{FILE}*")))


def alone(number: int) -> bytes:
    """The counts of a commit of one report."""
    return pack_counts(1024, np.array([number]), np.array([1]))


@pytest.mark.parametrize("closed", [True, False])
def test_forgotten_ids_and_commits_of_one_report_leave_no_trace(tmp_path: Path, closed: bool) -> None:
    store = SQLiteStore(tmp_path)
    entry, _ = store.create(SURVEY, Rules(horizon=7))
    for number, name in enumerate(NAMES):
        day = TODAY if number < 100 else TODAY + 5
        store.write([Upload(entry, name + wire(SURVEY, number), day=day)], hours=NOW + 24 * (day - TODAY))
    assert all(name in held(tmp_path) for name in NAMES)
    assert alone(7) in held(tmp_path)
    store.purge(today=TODAY + 8)
    if closed:
        store.close()
    after = held(tmp_path)
    assert not any(name in after for name in NAMES[:100]), "they were forgotten"
    assert all(name in after for name in NAMES[100:]), "and those were not"
    assert not any(alone(number) in after for number in range(300))
    if not closed:
        store.close()


def test_a_survey_that_is_closed_for_good_leaves_no_ids(tmp_path: Path) -> None:
    """At once, and not with the next purge; closed until further notice, it keeps them."""
    store = SQLiteStore(tmp_path)
    entry, _ = store.create(SURVEY, Rules())
    for number, name in enumerate(NAMES):
        store.write([Upload(entry, name + wire(SURVEY, number), day=TODAY)], hours=NOW)
    store.end(SURVEY.digest, day=TODAY)
    assert all(name in held(tmp_path) for name in NAMES)
    store.end(SURVEY.digest)
    assert not any(name in held(tmp_path) for name in NAMES)
    store.close()


def test_ids_are_kept_in_no_order_of_arrival(tmp_path: Path) -> None:
    """The same reports in another order leave the same rows, once they are an hour old."""
    rows = []
    for place, order in enumerate((NAMES[:50], NAMES[49::-1])):
        store = SQLiteStore(tmp_path / str(place))
        entry, _ = store.create(SURVEY, Rules())
        for name in order:
            store.write([Upload(entry, name + wire(SURVEY, NAMES.index(name)))], hours=NOW)
        store.purge(today=TODAY)
        with store.reading() as session:
            rows.append([session.run(f"SELECT * FROM {table}").fetchall() for table in ("ids", "tally", "delta")])
        assert list(store.check()) == []
        assert store.write([Upload(entry, NAMES[3] + wire(SURVEY, 3))], hours=NOW)[0].duplicate == 1  # type: ignore[union-attr]
        store.close()
        again = SQLiteStore(tmp_path / str(place))
        assert again.open_ids() == 50
        again.close()
    assert rows[0] == rows[1]
    assert len(rows[0][0]) == 1


def test_ids_of_one_commit_are_kept_in_no_order_of_arrival(tmp_path: Path) -> None:
    """Nor in that of the reports they came with: before any row is joined with others."""
    rows = []
    for place, order in enumerate((range(50), range(49, -1, -1))):
        store = SQLiteStore(tmp_path / str(place))
        entry, _ = store.create(SURVEY, Rules())
        uploads = [Upload(entry, NAMES[number] + wire(SURVEY, number)) for number in order]
        joined = Upload(entry, b"".join(NAMES[50 + number] + wire(SURVEY, 50 + number) for number in order), day=TODAY)
        store.write([*uploads, joined], hours=NOW)
        with store.reading() as session:
            rows.append(session.run("SELECT * FROM ids ORDER BY rowid").fetchall())
        store.close()
    assert rows[0] == rows[1]
    assert sorted(len(row[2]) for row in rows[0]) == [800, 800]


def test_no_level_of_the_log_has_anything_of_a_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither who asked nor what: reports, ids, tokens, candidates and ranges are in no line, also while debugging."""

    async def scene() -> None:
        store = SQLiteStore(tmp_path)
        async with Caller(store) as call:
            survey = dn.orr(epsilon=3, cells=8, cohorts=16, seed=bytes(16))
            path = await call.create(survey, minimum=1, results="public", uploads="open")
            asked = []

            async def noted(message: bytes, seconds: float) -> bytes:
                asked.append(seconds)
                return b"{}"

            call.app.decoding._in_turn = noted  # type: ignore[method-assign]
            report = dn.Client(survey, memoize=False).report("rosebud").pack()
            caplog.set_level(logging.DEBUG)
            caplog.clear()
            for body in (NAMES[0] + report, NAMES[0] + report, NAMES[1] + bytes(len(report)), b"short", b""):
                for token in (None, "a wrong one", ADMIN):
                    await call.upload(survey, body, token=token)
            await call.upload(survey, NAMES[2] + report, "?day=1", token="wrong")
            await call("POST", f"{path}/reports", {"reports": [{"id": "x", "report": "rosebud"}]})
            for token in (None, "a wrong one", ADMIN):
                for kind in ("windows", "tally", "counters", "estimate?candidates=rosebud", "trend?candidates=rosebud"):
                    await call("GET", f"{path}/{kind}", token=token)
                await call("POST", f"{path}/estimate", {"candidates": ["rosebud", "lilac"]}, token=token)
                await call("POST", f"{path}/estimate", b'{"candidates": "rosebud', token=token)
                await call("GET", f"{path}/tokens", token=token)
                await call("GET", "/rosebud", token=token)
                await call("PUT", path, b"rosebud", token=token)
            assert asked, "somebody got as far as to the decoder"
            told = [(record.name, record.getMessage()) for record in caplog.records if record.name != "asyncio"]
            assert told == []
        store.close()

    run(scene())


def test_a_survey_of_many_symbols_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = dn.krr(symbols=[f"symbol number {i}" for i in range(2000)], epsilon=3)
    read: list[object] = []
    real = dn.Survey.from_json.__func__  # type: ignore[attr-defined]

    def noted(cls: type[dn.Survey], text: str) -> dn.Survey:
        read.append(text)
        found: dn.Survey = real(cls, text)
        return found

    monkeypatch.setattr(dn.Survey, "from_json", classmethod(noted))

    async def scene() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            path = await call.create(large)
            await call("GET", path)
            read.clear()
            found = [await call("GET", path) for _ in range(5)]
            assert len({answer.body for answer in found}) == 1
            assert dn.Survey.from_fields(json.loads(found[0].body)["survey"]) == large
            assert read == []
            assert (await call.admin("DELETE", path)).status == 200
            assert call.app.store.surveys._cached == {}

    run(scene())


def test_each_answer_says_once_how_long_it_may_be_kept(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            path = await call.create(SURVEY)
            seen = {}
            for address in ("/", "/pages/style.css", path, "/healthz", "/nothing", f"{path}/windows"):
                headers: list[tuple[bytes, bytes]] = []

                async def send(message: Any) -> None:
                    headers.extend(message.get("headers", []))  # noqa: B023

                async def receive() -> Any:
                    return {"type": "http.request", "body": b"", "more_body": False}

                scope = {"type": "http", "method": "GET", "path": address, "query_string": b"", "headers": []}
                await call.app(scope, receive, send)
                (seen[address],) = [value for name, value in headers if name == b"cache-control"]
            assert seen.pop("/") == seen.pop("/pages/style.css") == b"no-cache"
            assert set(seen.values()) == {b"no-store"}

    run(scene())


def test_a_full_disk_is_not_ready(tmp_path: Path) -> None:
    async def scene() -> None:
        store = SQLiteStore(tmp_path)
        async with Caller(store) as call:
            await call.create(SURVEY)
            limit_pages(store, 1)
            answer = await call("GET", "/readyz")
            assert (answer.status, answer.json()["detail"]) == (503, "the disk is full")
            assert answer.json()["type"] == "urn:deniable:problem:not-ready"
            limit_pages(store, 1 << 20)
            call.app._probed -= 10.0
            assert (await call("GET", "/readyz")).json()["status"] == "ready"
            with store.reading() as session:
                assert session.run("SELECT COUNT(*) FROM meta WHERE name LIKE 'probe%'").fetchone() == (0,)

    run(scene())
