"""The outbox and the network: nothing lost, nothing sent anew, nothing counted twice."""

import datetime
import email.utils
import json
import socket
from pathlib import Path

import pytest

import deniable as dn
from deniable.client import Delivery, Refusal, Waiting
from deniable.client import delivery as room
from deniable.client.delivery import _seconds
from tests.failing_collector import Fault, collecting
from tests.forensics import watched as watched

SURVEY = dn.orr(epsilon=1, epsilon_report="1/2", cells=8, cohorts=500, seed=bytes(16))
PROBLEM = json.dumps({"title": "Bad request", "detail": "the survey\n is closed" + "!" * 400}).encode()


class Clock:
    """Waits without waiting, and remembers."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


@pytest.fixture(params=["on disk", "in memory"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> dn.Client:
    return dn.Client(SURVEY, state=tmp_path / "me.json" if request.param == "on disk" else None)


def filled(client: dn.Client, count: int) -> list[bytes]:
    return sorted(client.queue(f"answer {i}").pack() for i in range(count))


def test_reports_arrive_once_and_leave_the_outbox(client: dn.Client) -> None:
    sent = filled(client, 7)
    with collecting(SURVEY) as collector:
        assert client.send(collector.url + "/", batch=3) == Delivery(7, 0, (), 0)
        assert client.send(collector.url) == Delivery(0, 0, (), 0)
        assert sorted(collector.counted.values()) == sent
    assert [count for *_, count in collector.requests] == [3, 3, 1]
    path, headers, _ = collector.requests[0]
    assert path == f"/v1/surveys/{SURVEY.digest}/reports"
    assert headers["User-Agent"] == "deniable"
    assert headers["Content-Type"] == "application/octet-stream"
    assert "Authorization" not in headers
    assert client.outbox == ()


def test_an_upload_token_is_sent(client: dn.Client) -> None:
    filled(client, 1)
    with collecting(SURVEY) as collector:
        client.send(collector.url, token="s3cret")
    assert collector.requests[0][1]["Authorization"] == "Bearer s3cret"


@pytest.mark.parametrize("fault", [408, 425, 429, 500, 502, 503])
def test_after_an_answer_that_says_later_the_same_bytes_go_out_again(client: dn.Client, fault: Fault) -> None:
    sent = filled(client, 5)
    clock = Clock()
    with collecting(SURVEY, fault, fault, "ok") as collector:
        found = client.send(collector.url, attempts=5, wait=clock)
        collector.check()
    assert found == Delivery(5, 0, (), 0)
    assert sorted(collector.counted.values()) == sent
    assert len(collector.seen) == 15
    assert len(clock.waits) == 2
    assert 0.25 <= clock.waits[0] <= 0.5 <= clock.waits[1] <= 1.0


@pytest.mark.parametrize("fault", ["lost", "deaf", "half", (200, {}, b"<html>login")])
def test_without_an_answer_it_returns_at_once_and_says_when_to_send_again(client: dn.Client, fault: Fault) -> None:
    sent = filled(client, 5)
    clock = Clock()
    with collecting(SURVEY, *[fault] * 9) as collector:
        found = [client.send(collector.url, attempts=5, wait=clock) for _ in range(9)]
        last = client.send(collector.url, attempts=5, wait=clock)
        again = client.send(collector.url)
        collector.check()
    assert clock.waits == [], "whoever called may do something else meanwhile"
    assert len(collector.requests) == 10
    assert {(one.accepted, one.duplicate, one.waiting) for one in found} == {(0, 0, 5)}
    assert all(one.problem for one in found)
    later = [one.retry_after for one in found]
    tops = [min(0.5 * 2**i, 60.0) for i in range(9)]
    assert all(seconds and top / 2 <= seconds <= top for top, seconds in zip(tops, later, strict=True))
    counted = fault in ("lost", "half")
    assert last == Delivery(0 if counted else 5, 5 if counted else 0, (), 0)
    assert again == Delivery(0, 0, (), 0)
    assert sorted(collector.counted.values()) == sent
    client.queue("x")
    with collecting(SURVEY, "deaf") as collector:
        soon = client.send(collector.url).retry_after
    assert soon is not None
    assert 0.25 <= soon <= 0.5, "failures in a row are counted from the last answer on"


def test_waits_grow_and_have_jitter_and_end(client: dn.Client) -> None:
    filled(client, 1)
    clock = Clock()
    with collecting(SURVEY, *[503] * 20) as collector:
        found = client.send(collector.url, attempts=12, wait=clock)
    assert len(collector.requests) == 12
    assert found.waiting == 1
    assert found.problem == f"{collector.url}/v1/surveys/{SURVEY.digest}/reports answered 503"
    assert found.retry_after is not None
    assert 30 <= found.retry_after <= 60
    tops = [min(0.5 * 2**i, 60.0) for i in range(11)]
    assert all(top / 2 <= seconds <= top for top, seconds in zip(tops, clock.waits, strict=True))
    assert len({seconds / top for top, seconds in zip(tops, clock.waits, strict=True)}) == 11
    assert len(client.outbox) == 1


def test_it_does_not_wait(client: dn.Client) -> None:
    filled(client, 1)
    clock = Clock()
    with collecting(SURVEY, 500) as collector:
        assert client.send(collector.url, wait=clock).waiting == 1, "unless it is asked to"
    assert clock.waits == []


def test_retry_after_is_honoured(client: dn.Client) -> None:
    filled(client, 2)
    clock = Clock()
    with collecting(SURVEY, (429, {"Retry-After": "7"}, b""), (503, {"Retry-After": "soon"}, b""), "ok") as collector:
        assert client.send(collector.url, attempts=3, wait=clock).accepted == 2
    assert clock.waits[0] == 7.0
    assert 0.5 <= clock.waits[1] <= 1.0  # what cannot be read is no instruction


def test_a_long_retry_after_is_the_callers_business(client: dn.Client) -> None:
    filled(client, 2)
    clock = Clock()
    with collecting(SURVEY, (503, {"Retry-After": "3600"}, PROBLEM)) as collector:
        found = client.send(collector.url, attempts=5, wait=clock)
    assert clock.waits == []
    assert (found.waiting, found.retry_after) == (2, 3600.0)
    assert found.problem is not None
    assert "answered 503 (the survey is closed!!!" in found.problem
    assert len(found.problem) < 500


def test_dates_of_retry_after() -> None:
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)
    found = _seconds(email.utils.format_datetime(later, usegmt=True))
    assert found is not None
    assert 80 < found < 91
    assert _seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert _seconds("Wed, 21 Oct 2015 07:28:00 -0000") == 0.0
    assert [_seconds(text) for text in (None, "", "soon", "-3", "1e3", "²")] == [None] * 6


@pytest.mark.parametrize(
    "status", [300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 409, 410, 413, 415, 422, 201, 204]
)
def test_other_answers_raise_and_keep_the_outbox(client: dn.Client, status: int) -> None:
    before = filled(client, 3)
    answer: Fault = (status, {"Location": "http://127.0.0.1:9/elsewhere"}, b"" if status == 204 else PROBLEM)
    with collecting(SURVEY, answer) as collector, pytest.raises(dn.DeliveryError) as caught:
        client.send(collector.url)
    place = f"{collector.url}/v1/surveys/{SURVEY.digest}/reports"
    assert str(caught.value).startswith(f"{place} must take reports, but answered {status}")
    assert str(caught.value).endswith("; the reports wait in the outbox")
    assert len(collector.requests) == 1
    assert sorted(w.report for w in client.outbox) == before


def test_refused_reports_leave_the_outbox_and_are_told(client: dn.Client) -> None:
    filled(client, 2)
    bad = Waiting(SURVEY.digest, "ff" * 16, b"\x02" + client.outbox[0].report[1:])
    if client._file is None:
        client._memory.outbox[bad.id] = bad
    else:
        with client._file.change(SURVEY) as kept:
            kept.outbox[bad.id] = bad
    with collecting(SURVEY) as collector:
        found = client.send(collector.url)
    assert found == Delivery(2, 0, (Refusal("ff" * 16, "report must have wire version 1, got 2"),), 0)
    assert client.outbox == ()
    assert client.status().refused == {"refused": 1}


@pytest.mark.parametrize(
    "answer",
    [
        {"accepted": 1, "duplicate": 0, "refused": []},
        {"accepted": 3, "duplicate": 0, "refused": []},
        {"accepted": 2, "duplicate": 0},
        {"accepted": "2", "duplicate": 0, "refused": []},
        {"accepted": True, "duplicate": True, "refused": []},
        {"accepted": 3, "duplicate": -1, "refused": []},
        {"accepted": 1, "duplicate": 0, "refused": [{"index": 0, "id": "00", "reason": "no"}]},
        {"accepted": 1, "duplicate": 0, "refused": [{"index": 5, "id": "00", "reason": "no"}]},
        {"accepted": 1, "duplicate": 0, "refused": {"index": 0}},
        [],
        2,
        None,
    ],
    ids=json.dumps,
)
def test_an_answer_that_does_not_add_up_acknowledges_nothing(client: dn.Client, answer: object) -> None:
    filled(client, 2)
    with collecting(SURVEY, (200, {}, json.dumps(answer).encode())) as collector:
        found = client.send(collector.url, attempts=1)
    place = f"{collector.url}/v1/surveys/{SURVEY.digest}/reports"
    assert found.problem == f"{place} must answer as a collector does, got something else; a login page?"
    assert (found.waiting, len(client.outbox)) == (2, 2)


def test_a_refusal_of_the_wrong_report_acknowledges_nothing(client: dn.Client) -> None:
    filled(client, 2)
    first, second = client.outbox
    rows = [
        [{"index": 1, "id": first.id, "reason": "x"}],
        [{"index": -1, "id": second.id, "reason": "x"}],
        [{"index": 0, "id": first.id, "reason": "x"}] * 2,
    ]
    for refused in rows:
        answer = {"accepted": 2 - len(refused), "duplicate": 0, "refused": refused}
        with collecting(SURVEY, (200, {}, json.dumps(answer).encode())) as collector:
            assert client.send(collector.url, attempts=1).waiting == 2


def test_the_day_is_fixed_when_a_report_is_queued(client: dn.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is of one day; a retry on a later day says the old one, and a report of an older version says none."""
    if client._file is not None:
        old = Waiting(SURVEY.digest, "ee" * 16, client.report("x").pack())
        with client._file.change(SURVEY) as kept:
            kept.outbox[old.id] = old
    days: dict[str, int | None] = {}
    for day, answers in ((20_800, 3), (20_799, 2)):
        monkeypatch.setattr("time.time", lambda day=day: day * 86_400 + 86_399.9)
        filled(client, answers)
        days |= {w.id: w.day for w in client.outbox if w.id not in days}
    monkeypatch.setattr("time.time", lambda: 20_900 * 86_400.0)
    assert sorted(str(day) for day in days.values())[:5] == ["20799"] * 2 + ["20800"] * 3
    with collecting(SURVEY, "lost", "ok", "deaf") as collector:
        rounds = [client.send(collector.url, batch=2, wait=Clock()) for _ in range(3)]
        collector.check()
    assert sum(found.accepted + found.duplicate for found in rounds) == len(days)
    assert [found.problem is None for found in rounds] == [False, False, True]
    assert collector.days == {name: {"" if day is None else f"day={day}"} for name, day in days.items()}


@pytest.mark.parametrize("seconds", [0.0, 20_454 * 86_400 - 1.0, (1 << 20) * 86_400.0, -5.0])
def test_a_clock_that_cannot_be_right_gives_no_day(
    client: dn.Client, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr("time.time", lambda: seconds)
    client.queue("x")
    assert [w.day for w in client.outbox] == [None]


def test_reports_of_a_day_that_has_not_come_go_again_without_one(client: dn.Client) -> None:
    filled(client, 3)
    early, late, good = client.outbox
    refused = [
        {"index": 0, "id": early.id, "reason": "too_early"},
        {"index": 1, "id": late.id, "reason": "too_old"},
    ]
    answer: Fault = (200, {}, json.dumps({"accepted": 1, "duplicate": 0, "refused": refused}).encode())
    with collecting(SURVEY, answer, "lost") as collector:
        found = client.send(collector.url, wait=Clock())
    assert (found.accepted, found.refused, found.waiting) == (1, (Refusal(late.id, "too_old"),), 1)
    assert client.outbox == (early,), "it waits as it was, until it is acknowledged"
    assert list(collector.counted) == [early.id]
    assert collector.days == {early.id: {f"day={early.day}", ""}} | {w.id: {f"day={w.day}"} for w in (late, good)}
    dayless = json.dumps({"accepted": 0, "duplicate": 0, "refused": refused[:1]}).encode()
    with collecting(SURVEY, (200, {}, dayless), (200, {}, dayless)) as collector:
        found = client.send(collector.url)
    assert found == Delivery(0, 0, (Refusal(early.id, "too_early"),), 0), "said of a report without a day, it is final"


def test_no_collector_at_all(client: dn.Client) -> None:
    filled(client, 2)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    clock = Clock()
    found = client.send(f"http://127.0.0.1:{port}", attempts=5, wait=clock)
    assert found.problem == (
        f"http://127.0.0.1:{port}/v1/surveys/{SURVEY.digest}/reports cannot be reached: connection refused"
    )
    assert (found.waiting, clock.waits) == (2, [])
    assert found.retry_after is not None
    found = client.send("http://nowhere.invalid", attempts=1)
    assert found.waiting == 2


def test_a_collector_that_never_answers(client: dn.Client) -> None:
    filled(client, 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = client.send(f"http://127.0.0.1:{silent.getsockname()[1]}", attempts=1, timeout=0.1)
    assert found.problem is not None
    assert found.problem.endswith("cannot be reached: timed out")


def test_a_later_batch_that_fails_keeps_only_itself(client: dn.Client) -> None:
    filled(client, 5)
    with collecting(SURVEY, "ok", 400) as collector, pytest.raises(dn.DeliveryError):
        client.send(collector.url, batch=2)
    assert len(client.outbox) == 3
    with collecting(SURVEY, "ok", *[503] * 5) as collector:
        found = client.send(collector.url, batch=2, attempts=2, wait=Clock())
    assert (found.accepted, found.waiting) == (2, 1)


def test_what_is_queued_meanwhile_waits_for_the_next_time(tmp_path: Path) -> None:
    client = dn.Client(SURVEY, state=tmp_path / "me.json")
    filled(client, 2)
    twin = dn.Client(SURVEY, state=tmp_path / "me.json")
    with collecting(SURVEY, 503) as collector:

        def meanwhile(_: float) -> None:
            twin.queue("gargoyle 7")  # no word that documentation in memory may have

        found = client.send(collector.url, attempts=2, wait=meanwhile)
        assert (found.accepted, found.waiting) == (2, 1)
        assert twin.send(collector.url).accepted == 1


def test_bad_arguments(client: dn.Client) -> None:
    for url in ("ftp://x", "collector.example", ""):
        with pytest.raises(dn.DeliveryError, match="url must start with http:// or https://, got "):
            client.send(url)
    for token in ("", "a b", "é", "a\nb"):
        # A token is a secret, however wrong it is: the sentence ends without it.
        with pytest.raises(dn.DeliveryError, match=r"^token must be printable ASCII text without blanks$"):
            client.send("http://127.0.0.1:9", token=token)
    with pytest.raises(dn.DeliveryError, match="batch must be at least 1, got 0"):
        client.send("http://127.0.0.1:9", batch=0)
    with pytest.raises(dn.DeliveryError, match="attempts must be at least 1, got 0"):
        client.send("http://127.0.0.1:9", attempts=0)
    client._memory.outbox |= {"a": Waiting(SURVEY.digest, "a", b"1"), "b": Waiting(SURVEY.digest, "b", b"22")}
    if client._file is None:
        with pytest.raises(dn.StateError, match="reports of one survey must have one length; the outbox is damaged"):
            client.send("http://127.0.0.1:9")


def test_the_network_is_loaded_when_it_is_needed() -> None:
    import subprocess
    import sys

    code = "import sys, deniable; print(any(m.startswith(('urllib.request', 'ssl', 'email')) for m in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
    assert room.LONGEST_WAIT == 60.0
