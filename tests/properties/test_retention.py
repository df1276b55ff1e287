"""No two answers that a reader ever got differ by fewer reports than the minimum, whatever happened between them."""

import asyncio
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from deniable.service import retention
from deniable.service.clock import hour_of, label
from deniable.service.copies import backup, restore
from deniable.service.decoding import Part
from deniable.service.entries import Entry
from deniable.service.intake import Intake
from deniable.service.models import DecodeRequest
from deniable.service.records import pack_counts
from deniable.service.sqlite import SQLiteStore
from deniable.service.tallies import COUNTED
from deniable.service.window_blocks import Window
from tests.collector import Caller, Ticking, counted, name_of, one_cell_each, wire

SURVEY = one_cell_each(1024)
START, MINIMUM = hour_of("2026-11-01"), 10
PATH = f"/v1/surveys/{SURVEY.digest}"
ASKED = ("tally", "estimate", "estimate_csv", "trend", "difference", "windows")


class Watched:
    """A collector whose readers' answers are noted as the sets of reports that they are made of. What decodes is
    replaced by what it would have read: the counts of the store at that moment."""

    def __init__(self, store: SQLiteStore) -> None:
        self.store, self.clock = store, Ticking(START + 1)
        store.database._connection.raw.execute("PRAGMA synchronous = OFF")  # nothing here is about power cuts
        self.seen: list[frozenset[int]] = []
        self.call = Caller(store, clock=self.clock)
        self.call.app.decoding.ask = self._ask  # type: ignore[method-assign, assignment]

    async def _ask(self, given: DecodeRequest, entry: Entry, parts: list[Part], *, form: str, **_: object) -> bytes:
        for part in parts:
            cells = sum(counted(self.store.tally(entry, *span)) for span in part.spans)
            self.seen.append(frozenset(np.flatnonzero(cells).tolist()))
        if form == "track":
            return b"\n".join([b'"latest": null', *[b'"smooth": null'] * len(parts)])
        return b"[]" if form == "changed" else b"{}"

    async def ask(self, kind: str, first: int | None, last: int | None) -> None:
        bounds = {"from": first, "to": last}
        query = "&".join(f"{name}={label(START + 24 * day)}" for name, day in bounds.items() if day is not None)
        if kind == "difference":
            query += f"&against_to={label(START + 24 * (first or 0))}"
            query = query if first is not None else f"from={label(START)}&{query}"
        if kind == "estimate_csv":
            kind, query = "estimate", query + "&format=csv"
        query += "" if kind in ("tally", "windows") else "&candidates=ash"
        answer = await self.call("GET", f"{PATH}/{kind}?{query}" if kind != "windows" else f"{PATH}/windows")
        begin = 0 if kind == "difference" and first is None else first
        backwards = begin is not None and last is not None and begin >= last
        assert answer.status in (200, 409) or (answer.status == 400 and backwards), answer
        if kind == "windows":
            assert all(window["reports"] >= MINIMUM for window in answer.json()["windows"])


def closest(seen: list[frozenset[int]]) -> int:
    """By how many reports the two nearest answers differ that are not the same; so many that are in one alone."""
    found = {frozenset[int](), *seen}
    return min((len(one ^ other) for one, other in itertools.combinations(found, 2)), default=MINIMUM)


class Histories(RuleBasedStateMachine):
    """Reports come, days pass, clocks jump, windows are deleted, surveys end, shards are merged, and readers ask."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._runner = asyncio.Runner()
        self._watched = Watched(SQLiteStore(self._folder.name))
        self._sent = 0
        self._elsewhere: dict[int, int] = {}

    @initialize(retention=st.integers(1, 4))
    def begin(self, retention: int) -> None:
        async def work() -> None:
            await self._watched.call.app.start()
            await self._watched.call.create(SURVEY, minimum=MINIMUM, results="public", retention=retention, horizon=90)

        self._runner.run(work())

    @rule(count=st.sampled_from([1, MINIMUM - 1, MINIMUM, 2 * MINIMUM + 1]))
    def upload(self, count: int) -> None:
        count = min(count, 700 - self._sent)
        body = b"".join(name_of(n) + wire(SURVEY, n) for n in range(self._sent, self._sent + count))
        if count > 0:
            answer = self._runner.run(self._watched.call.upload(SURVEY, body))
            self._sent += count if answer.status == 200 else 0

    @rule(counts=st.lists(st.sampled_from([0, 1, MINIMUM - 1, MINIMUM, MINIMUM + 1]), min_size=1, max_size=4))
    def some_days(self, counts: list[int]) -> None:
        """What most days are like: reports, the hourly purge, and somebody who looks."""
        for count in counts:
            self.upload(count)
            self._watched.clock.pass_hours(24)
            self.purge()
            self.ask_for_all()

    @rule(days=st.sampled_from([-2, -1, 1]), count=st.integers(0, 2), back=st.booleans())
    def the_clock_is_set(self, days: int, count: int, back: bool) -> None:
        """To another day, perhaps for a moment only."""
        self._watched.clock.jump(24 * days)
        self.upload(count)
        if back:
            self._watched.clock.jump(-24 * days)
        self.ask_for_all()

    @rule()
    def restart(self) -> None:
        """Another clock, which trusts what it sees."""
        self._runner.run(self._watched.call.app.stop())
        self._open_again()

    def _open_again(self) -> None:
        old = self._watched
        self._watched = Watched(SQLiteStore(self._folder.name))
        self._watched.clock.now, self._watched.seen = old.clock.now, old.seen
        self._watched.clock.trusted, self._watched.clock._offset = True, old.clock.now
        self._runner.run(self._watched.call.app.start())

    @rule()
    def purge(self) -> None:
        day = self._watched.clock.day()
        app = self._watched.call.app
        self._runner.run(app.writer.call(lambda: app.store.purge(today=day)))

    @rule(reopen=st.booleans())
    def close(self, reopen: bool) -> None:
        self._runner.run(self._watched.call.admin("POST", f"{PATH}/{'reopen' if reopen else 'close'}"))

    @rule(day=st.integers(-3, 0), count=st.integers(1, 5))
    def merge(self, day: int, count: int) -> None:
        """Another store has grown in a window of some days ago."""
        window = 24 * (self._watched.clock.day() + day)
        self._elsewhere[window] = min(self._elsewhere.get(window, 0) + count, 5)
        taken = {}
        for place, (start, size) in enumerate(self._elsewhere.items()):
            cells = 700 + 5 * place + np.arange(size)
            if cells[-1] < 1024:
                taken[start] = pack_counts(1024, cells, np.ones(size, np.int64)), json.dumps({"accepted": size})
        app = self._watched.call.app
        entry = app.store.entries()[0]
        self._runner.run(app.writer.call(lambda: app.store.take_shard("elsewhere", SURVEY, entry.rules, taken)))

    @rule(kind=st.sampled_from(ASKED), first=st.none() | st.integers(0, 20), last=st.none() | st.integers(0, 20))
    def ask(self, kind: str, first: int | None, last: int | None) -> None:
        self._runner.run(self._watched.ask(kind, first, last))

    @rule()
    def ask_for_all(self) -> None:
        for kind in ASKED:
            self._runner.run(self._watched.ask(kind, None, None))

    def teardown(self) -> None:
        self._runner.run(self._watched.call.app.stop())
        self._runner.close()
        self._folder.cleanup()
        assert closest(self._watched.seen) >= MINIMUM


class Lost(Histories):
    """The same, with stores that are lost and backups that are put in their place. What other stores gave is left out:
    it may be given again, and is then not known from what is new."""

    def __init__(self) -> None:
        super().__init__()
        self._backup = tempfile.TemporaryDirectory()

    def merge(self, day: int, count: int) -> None:
        """No rule here."""

    @rule()
    def back_up(self) -> None:
        backup(self._folder.name, f"{self._backup.name}/file", replace=True)

    @rule()
    def restore(self) -> None:
        if not Path(self._backup.name, "file").exists():
            return
        self._runner.run(self._watched.call.app.stop())
        self._folder.cleanup()
        self._folder = tempfile.TemporaryDirectory()
        restore(f"{self._backup.name}/file", self._folder.name)
        self._open_again()
        self.ask_for_all()

    @rule(before=st.sampled_from([1, MINIMUM, 2 * MINIMUM]), after=st.integers(0, 2), then=st.integers(0, MINIMUM))
    def a_day_of_which_the_end_is_lost(self, before: int, after: int, then: int) -> None:
        self.upload(before)
        self.back_up()
        self.some_days([after])
        self.restore()
        self.some_days([then])

    def teardown(self) -> None:
        self._backup.cleanup()
        super().teardown()


HOW = settings(max_examples=60, stateful_step_count=12, suppress_health_check=list(HealthCheck), deadline=None)
# A mutant need not be found in its shortest form; and it is looked for in the same histories every time.
FIND = settings(HOW, phases=[Phase.generate], max_examples=1000, report_multiple_bugs=False, derandomize=True)


@pytest.mark.slow
def test_histories() -> None:
    run_state_machine_as_test(Histories, settings=HOW)


@pytest.mark.slow
def test_histories_of_stores_that_are_lost() -> None:
    run_state_machine_as_test(Lost, settings=HOW)


def lost_at_the_end_of_a_day() -> None:
    """A day with the minimum of reports is backed up, shown with one more, and restored without that one."""
    history = Lost()
    history.begin(retention=4)
    history.a_day_of_which_the_end_is_lost(MINIMUM, 1, 0)
    history.teardown()


def test_what_was_restored_does_not_count_towards_the_minimum() -> None:
    lost_at_the_end_of_a_day()


@pytest.mark.parametrize("mutant", ["nothing is marked", "what is marked counts"])
def test_the_property_finds_what_a_restored_store_shows_too_early(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One history is enough."""
    if mutant == "nothing is marked":
        monkeypatch.setattr(retention.Retention, "mark_restored", lambda _: 0)
    else:
        monkeypatch.setattr(retention, "Window", lambda start, end, reports, _: Window(start, end, reports))
    with pytest.raises(AssertionError):
        lost_at_the_end_of_a_day()


def _single_windows(self: Any, session: Any, entry: Entry, last: int) -> None:
    for table in COUNTED:
        session.run(f"DELETE FROM {table} WHERE survey = ? AND win < ?", [entry.key, last])


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ["windows are deleted one by one", "reports are counted in what was shown"])
def test_the_property_finds_mutants(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if mutant == "windows are deleted one by one":
        monkeypatch.setattr(retention.Retention, "_drop_windows", _single_windows)
    else:
        real = Intake._states

        def forgetful(self: Intake, *args: Any) -> Any:
            return {key: (gone, floor, 0) for key, (gone, floor, _) in real(self, *args).items()}

        monkeypatch.setattr(Intake, "_states", forgetful)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Histories, settings=FIND)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(SQLiteStore(tmp_path))


def test_what_retention_leaves_shows_no_single_report(watched: Watched) -> None:
    """Days of 99, 1 and 100 reports at a minimum of 100: the day of one goes with the day it was shown with."""

    async def scene() -> None:
        async with watched.call as call:
            await call.create(SURVEY, minimum=100, results="public", retention=5)
            sent = 0
            for count in (99, 1, 100):
                body = b"".join(name_of(n) + wire(SURVEY, n) for n in range(sent, sent + count))
                assert (await call.upload(SURVEY, body)).json()["accepted"] == count
                sent += count
                watched.clock.pass_hours(24)
            watched.clock.pass_hours(1)
            await watched.ask("tally", None, None)
            for day in range(8):
                today = watched.clock.day()
                await call.app.writer.call(lambda: call.app.store.purge(today=today))  # noqa: B023
                await watched.ask("tally", None, None)
                watched.clock.pass_hours(24)
                assert len(watched.seen[-1]) in (100, 200), day
            assert {len(one) for one in watched.seen} == {100, 200}
            listed = (await call("GET", f"{PATH}/windows")).json()
            assert listed["windows"] == []

    asyncio.run(scene())
