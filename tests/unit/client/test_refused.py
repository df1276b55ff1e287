"""Reports that nobody will take: a closed survey empties the outbox, an unknown one after 30 days, nothing else."""

import json
from pathlib import Path

import pytest

import deniable as dn
from deniable.client import Delivery, Refusal, Status
from tests.failing_collector import Fault, collecting
from tests.forensics import watched as watched

SURVEY = dn.krr(symbols=["a", "b", "c"], epsilon=1)
OTHER = dn.krr(symbols=["a", "b", "c"], epsilon=2)
DAY = 20_773
CLOSED, UNKNOWN = (410, "closed"), (404, "unknown-survey")


def said(status: int, word: str, survey: str | None = SURVEY.digest, **changes: object) -> Fault:
    """The collector's problem document."""
    fields = {"type": f"urn:deniable:problem:{word}", "title": "x", "status": status, "detail": "a sentence"}
    fields |= ({} if survey is None else {"survey": survey}) | changes
    return status, {"Content-Type": "application/problem+json"}, json.dumps(fields).encode()


@pytest.fixture(params=["on disk", "in memory"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> dn.Client:
    return dn.Client(SURVEY, state=tmp_path / "me.json" if request.param == "on disk" else None)


def at(monkeypatch: pytest.MonkeyPatch, day: int) -> None:
    monkeypatch.setattr("time.time", lambda: day * 86_400.0 + 5)


def test_a_closed_survey_empties_the_outbox_in_one_request(client: dn.Client) -> None:
    for answer in "abcab":
        client.queue(answer)
    names = [w.id for w in client.outbox]
    before = client.ledger.exact()
    with collecting(SURVEY, said(*CLOSED)) as collector:
        found = client.send(collector.url, batch=2)
        place = f"{collector.url}/v1/surveys/{SURVEY.digest}/reports"
        problem = f"{place} must take reports, but answered 410 (a sentence); 5 reports were dropped"
        assert found == Delivery(0, 0, tuple(Refusal(name, "closed") for name in names), 0, problem)
        assert client.send(collector.url) == Delivery(0, 0, (), 0), "and it is not asked again"
    assert len(collector.requests) == 1
    assert client.outbox == ()
    assert client.status() == Status(client.cohort, 0, {"closed": 5}, 1.0, 3.0, 1.0, 3.0)
    assert client.ledger.exact() == before, "what was made is spent, whoever refuses it"


def test_one_report_is_one(client: dn.Client) -> None:
    client.queue("a")
    with collecting(SURVEY, said(*CLOSED)) as collector:
        found = client.send(collector.url)
    assert found.problem is not None
    assert found.problem.endswith("(a sentence); 1 report was dropped")


def test_the_noise_of_a_dropped_report_is_the_noise_of_the_next(client: dn.Client) -> None:
    first = client.queue("a")
    with collecting(SURVEY, said(*CLOSED)) as collector:
        client.send(collector.url)
    assert client.queue("a") == first


def test_a_survey_that_closes_between_two_batches_drops_the_rest(client: dn.Client) -> None:
    for answer in "abcab":
        client.queue(answer)
    with collecting(SURVEY, "ok", said(*CLOSED)) as collector:
        found = client.send(collector.url, batch=2)
    assert (found.accepted, found.waiting) == (2, 0)
    assert [refusal.reason for refusal in found.refused] == ["closed"] * 3
    assert client.status().refused == {"closed": 3}


@pytest.mark.parametrize(
    "fault",
    [
        404, 410,
        (404, {}, b"<html>not found"), (410, {}, b"[]"), (410, {}, b"[" * 100_000), (410, {}, b"null"),
        said(410, "closed", None), said(410, "closed", OTHER.digest), said(410, "closed", SURVEY.digest[:8]),
        said(404, "closed"), said(410, "unknown-survey"), said(404, "unknown-path"), said(403, "closed"),
        said(400, "unknown-survey"), said(410, "closed", type=["closed"]), said(410, "closed", type="closed"),
    ],
    ids=str,
)  # fmt: skip
def test_nothing_but_the_collectors_word_on_this_survey_drops_anything(
    client: dn.Client, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.queue("a")
    waiting = client.outbox
    for day in (DAY, DAY + 400):
        at(monkeypatch, day)
        with collecting(SURVEY, fault) as collector, pytest.raises(dn.DeliveryError, match=r"wait in the outbox$"):
            client.send(collector.url)
    assert client.outbox == waiting
    assert client.status().refused == {}


def test_only_the_reports_of_that_survey_go(tmp_path: Path) -> None:
    first, second = (dn.Client(survey, state=tmp_path / "me.json") for survey in (SURVEY, OTHER))
    first.queue("a")
    second.queue("b")
    with collecting(SURVEY, said(*CLOSED)) as collector:
        first.send(collector.url)
    assert (first.status().waiting, second.status().waiting) == (0, 1)
    assert (first.status().refused, second.status().refused) == ({"closed": 1}, {})
    assert second.status().total_spent == 3.0


def test_an_unknown_survey_drops_after_thirty_days_of_being_unknown(
    client: dn.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collector that was restored from an old copy gets as long to be put right."""
    at(monkeypatch, DAY)
    client.queue("a")
    waiting = client.outbox
    for day in (DAY + 60, DAY + 61, DAY + 89):
        at(monkeypatch, day)
        with collecting(SURVEY, said(*UNKNOWN)) as collector, pytest.raises(dn.DeliveryError) as caught:
            client.send(collector.url)
        assert str(caught.value).endswith(
            "must take reports, but answered 404 (a sentence); the reports wait in the outbox"
        )
        assert client.outbox == waiting
    at(monkeypatch, DAY + 90)
    client.queue("b")
    with collecting(SURVEY, said(*UNKNOWN)) as collector:
        found = client.send(collector.url)
    assert [refusal.reason for refusal in found.refused] == ["unknown-survey"] * 2
    assert found.problem is not None
    assert found.problem.endswith("answered 404 (a sentence); 2 reports were dropped")
    assert client.status().refused == {"unknown-survey": 2}
    client.queue("c")
    with collecting(SURVEY, said(*UNKNOWN)) as collector:
        assert len(client.send(collector.url).refused) == 1, "it has been unknown for long enough"


def test_a_survey_that_is_known_again_starts_the_days_anew(client: dn.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for day, fault, kept in [(0, said(*UNKNOWN), 1), (29, "ok", 0), (40, said(*UNKNOWN), 1), (69, said(*UNKNOWN), 2)]:
        at(monkeypatch, DAY + day)
        client.queue("a")
        with collecting(SURVEY, fault) as collector:
            if fault == "ok":
                assert client.send(collector.url).accepted == 2
            else:
                with pytest.raises(dn.DeliveryError):
                    client.send(collector.url)
        assert client.status().waiting == kept


def test_a_clock_that_goes_back_or_shows_nonsense_drops_nothing(
    client: dn.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.queue("a")
    for day in (DAY + 300, DAY, DAY + 29, 0, 1 << 20):
        at(monkeypatch, day)
        with collecting(SURVEY, said(*UNKNOWN)) as collector, pytest.raises(dn.DeliveryError):
            client.send(collector.url)
    assert client.status().waiting == 1


def test_the_count_and_the_days_survive_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "me.json"
    for day in (0, 30):
        at(monkeypatch, DAY + day)
        client = dn.Client(SURVEY, state=path)
        client.queue("a")
        with collecting(SURVEY, said(*UNKNOWN)) as collector:
            if day:
                client.send(collector.url)
            else:
                with pytest.raises(dn.DeliveryError):
                    client.send(collector.url)
    entry = json.loads(path.read_bytes())["surveys"][SURVEY.digest]
    assert (entry["refused"], entry["unknown"]) == ({"unknown-survey": 2}, DAY)
    assert dn.Client(SURVEY, state=path).status().refused == {"unknown-survey": 2}


def test_two_processes_that_are_refused_count_a_report_once(tmp_path: Path) -> None:
    one = dn.Client(SURVEY, state=tmp_path / "me.json")
    twin = dn.Client(SURVEY, state=tmp_path / "me.json")
    one.queue("a")
    with collecting(SURVEY, 503, said(*CLOSED), said(*CLOSED)) as collector:

        def meanwhile(_: float) -> None:
            twin.send(collector.url)

        found = one.send(collector.url, attempts=2, wait=meanwhile)
    assert len(found.refused) == 1
    assert one.status().refused == {"closed": 1}
