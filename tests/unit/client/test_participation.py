"""One report a window: durable, refused in sentences, and nothing about the answer in what is kept."""

import contextlib
import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import deniable as dn
from deniable.client.state import StateFile, _checksum
from deniable.survey import WINDOWS
from tests.forensics import watched as watched

DAILY = dn.krr(symbols=["rosebud", "lilac", "orchid"], epsilon=2, participation="window")
OPEN = dn.orr(epsilon=1, cells=8, cohorts=5, seed=bytes(16), participation="window:week")
SetClock = Callable[[str], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    def set_to(text: str) -> None:
        now = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
        monkeypatch.setattr("time.time", lambda: now)

    set_to("2026-11-18T14:30")
    return set_to


def answered(often: str, then: str) -> str:
    return f"this survey must be answered {often} on this device; the next answer is taken from {then}"


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the platform has no tzset")
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
def test_windows_are_those_of_utc_wherever_a_device_is(
    zone: str, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window of the local time would tell the zone, and be another one than the collector's."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        try:
            assert time.timezone, "the zone is known here"
            client = dn.Client(DAILY)
            clock("2026-11-18T00:00")
            client.report("lilac")
            clock("2026-11-18T23:59:59")
            with pytest.raises(dn.ParticipationError, match="taken from 2026-11-19T00:00Z"):
                client.report("lilac")
            clock("2026-11-19T00:00")
            client.report("lilac")
        finally:
            patch.undo()
            time.tzset()


@pytest.mark.parametrize(
    ("window", "first", "last", "then", "often"),
    [
        ("hour", "2026-11-18T14:00", "2026-11-18T14:59:59.999", "2026-11-18T15:00Z", "once an hour"),
        ("day", "2026-11-18T00:00", "2026-11-18T23:59:59.999", "2026-11-19T00:00Z", "once a day"),
        ("week", "2026-12-28T00:00", "2027-01-03T23:59:59.999", "2027-01-04T00:00Z", "once a week"),
    ],
)
@pytest.mark.parametrize("kept", [True, False])
def test_one_report_a_window(
    window: str, first: str, last: str, then: str, often: str, kept: bool, clock: SetClock, tmp_path: Path
) -> None:
    survey = dn.krr(symbols=["rosebud", "lilac"], epsilon=1, participation=f"window:{window}")
    path = tmp_path / "me.json" if kept else None
    client = dn.Client(survey, state=path)
    clock(first)
    sent = client.queue("rosebud")
    clock(last)
    others = [dn.Client(survey, state=path)] if kept else []
    for one in (client, *others):
        for value in ("rosebud", "lilac", "tulip", None):
            for ask in (one.report, one.queue):
                with pytest.raises(dn.ParticipationError) as caught:
                    ask(value)
                assert str(caught.value) == answered(often, then)
    assert client.ledger[survey].memoised == len(client.outbox) == 1
    clock(then[:-1])
    assert client.report("rosebud") == sent, "memoised as ever"
    clock(first)
    with pytest.raises(dn.ParticipationError) as caught:
        client.report("rosebud")
    assert str(caught.value) == (
        f"the clock of this device must not go back: it last answered in the {window} from {then}, got the one from "
        f"{first}Z; set the clock"
    )
    assert set(WINDOWS) == {"hour", "day", "week"}


@pytest.mark.parametrize("time", ["1970-01-01", "2025-12-31T23:59", "9999-12-31"])
def test_a_clock_that_cannot_be_right_is_refused(time: str, clock: SetClock) -> None:
    client = dn.Client(DAILY)
    clock(time)
    with pytest.raises(dn.ParticipationError) as caught:
        client.report("rosebud")
    assert str(caught.value) == (
        "the clock of this device must be right for a survey that is answered once a day, got a time that cannot be; "
        "set the clock"
    )
    clock("2026-01-01")
    client.report("rosebud")


def test_the_state_keeps_the_number_of_the_window_and_the_answer_leaves_no_trace(
    clock: SetClock, tmp_path: Path
) -> None:
    entries = []
    for name, value in enumerate(("rosebud", "orchid")):
        path = tmp_path / f"{name}.json"
        dn.Client(DAILY, state=path).report(value)
        entries.append(json.loads(path.read_text())["surveys"][DAILY.digest])
    assert entries[0] == entries[1]
    assert entries[0]["window"] == 20_775


def test_a_state_from_before_windows_is_read_and_one_with_a_wrong_window_is_damaged(
    clock: SetClock, tmp_path: Path
) -> None:
    path = tmp_path / "me.json"
    client = dn.Client(DAILY, state=path)
    assert "window" not in json.loads(path.read_text())["surveys"][DAILY.digest]
    client.report("rosebud")
    for wrong in (-1, "20775", 20_775.0, None, True):
        fields = json.loads(path.read_text())
        del fields["check"]
        fields["surveys"][DAILY.digest]["window"] = wrong
        fields["check"] = _checksum(fields)
        broken = tmp_path / "broken.json"
        broken.write_text(json.dumps(fields))
        broken.chmod(0o600)
        with pytest.raises(dn.StateError, match="is damaged"):
            dn.Client(DAILY, state=broken)


def test_an_answer_that_is_not_taken_leaves_the_window_open(clock: SetClock, tmp_path: Path) -> None:
    for client in (dn.Client(DAILY), dn.Client(DAILY, state=tmp_path / "me.json")):
        with pytest.raises(dn.AlphabetError):
            client.report("tulip")
        client.report("rosebud")


def test_no_report_is_seen_before_its_window_is_on_disk(
    clock: SetClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "me.json"
    client = dn.Client(DAILY, state=path)
    written: list[bytes] = []
    real = StateFile._write

    def full(self: StateFile, data: bytes) -> None:
        raise OSError(28, os.strerror(28))

    def noted(self: StateFile, data: bytes) -> None:
        real(self, data)
        written.append(path.read_bytes())

    monkeypatch.setattr(StateFile, "_write", full)
    with pytest.raises(dn.StateError, match="no space left"):
        client.report("rosebud")
    monkeypatch.setattr(StateFile, "_write", noted)
    client.report("rosebud")
    assert [json.loads(data)["surveys"][DAILY.digest]["window"] for data in written] == [20_775]


def test_surveys_of_one_device_have_windows_of_their_own(clock: SetClock, tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    daily, weekly, once = (
        dn.Client(survey, state=path) for survey in (DAILY, OPEN, dn.krr(symbols=["rosebud", "lilac"], epsilon=1))
    )
    for client in (daily, weekly, once, once):
        client.report("rosebud")
    clock("2026-11-19")
    daily.report("lilac")
    with pytest.raises(dn.ParticipationError, match="once a week"):
        weekly.report("rosebud")
    clock("2026-11-23")
    weekly.report("rosebud")


@pytest.mark.parametrize("how", ["once", "event"])
def test_without_windows_a_client_is_as_it_was(how: str, tmp_path: Path) -> None:
    survey = dn.krr(symbols=["rosebud", "lilac"], epsilon=1, participation=how)
    client = dn.Client(survey, state=tmp_path / "me.json")
    assert client.report("rosebud") == client.report("rosebud")
    assert "window" not in json.loads((tmp_path / "me.json").read_text())["surveys"][survey.digest]


@pytest.mark.parametrize("ask", ["report", "queue"])
def test_the_only_time_that_is_kept_is_the_number_of_the_window(ask: str, clock: SetClock, tmp_path: Path) -> None:
    """And the day of a report that waits: every field of the file is named here."""
    path = tmp_path / "me.json"
    client = dn.Client(DAILY, state=path)
    clock("2026-11-18T14:37:21")
    report = getattr(client, ask)("rosebud")
    fields = json.loads(path.read_bytes())
    assert set(fields) == {"check", "format", "outbox", "secret", "surveys"}
    account = {"epsilon": "2", "epsilon_report": "2", "answers": 3, "memoised": 1, "fresh": 0}
    assert fields["surveys"] == {DAILY.digest: account | {"cohort": 0, "window": 20775}}
    waiting = [[DAILY.digest, client.outbox[0].id, report.pack().hex(), 20775]] if ask == "queue" else []
    assert fields["outbox"] == waiting
    assert sorted(os.listdir(tmp_path)) == ["me.json", "me.json.lock"]


TURNS = dn.krr(symbols=["rosebud", "lilac", "orchid"], epsilon=2, participation="window:day:share=1/7")


def test_a_turn_is_kept_and_no_other_window_is_answered(tmp_path: Path, clock: SetClock) -> None:
    """Also after a restart; a form keeps its turn in the same way."""
    flower = dn.krr(["rosebud", "lilac"], epsilon=1)
    form = dn.form(first=flower, second=flower, epsilon=2, participation="window:day:share=1/7")
    for survey, answer in ((TURNS, "lilac"), (form, {"first": "lilac", "second": "rosebud"})):
        state = tmp_path / f"{survey.digest}.json"
        dn.Client(survey, state=state)
        turn = json.loads(state.read_text())["surveys"][survey.digest]["turn"]
        taken = []
        for day in range(1, 29):
            clock(f"2026-11-{day:02}T12:00")
            with contextlib.suppress(dn.ParticipationError):
                dn.Client(survey, state=state).report(answer)
                taken.append(20_757 + day)
            with pytest.raises(dn.ParticipationError, match="in one day of 7"):
                dn.Client(survey, state=state).report(answer)
        assert [number % 7 for number in taken] == [turn] * 4
        assert dn.Client(survey, state=state).ledger[survey].fresh == 4
        clock("2026-11-01T12:00")
        with pytest.raises(dn.ParticipationError, match="the clock of this device must not go back"):
            dn.Client(survey, state=state).report(answer)


def test_devices_have_every_turn_alike() -> None:
    """Of 7,000 devices each turn has a seventh, within 6 standard errors: a false alarm in 1e8 runs."""
    turns = [dn.Client(TURNS, memoize=False)._kept().turns[TURNS.digest] for _ in range(7_000)]
    for turn in range(7):
        assert abs(turns.count(turn) / 7_000 - 1 / 7) < 6 * (1 / 7 * 6 / 7 / 7_000) ** 0.5
