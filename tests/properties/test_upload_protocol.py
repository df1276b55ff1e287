"""The whole upload protocol as a state machine: clients retry, reorder and forget answers, days pass, processes die.

Every report has a cell of its own, so the tally itself says how often each one was counted.
"""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from deniable.service.entries import Ended, Entry, Outcome, Rules, Upload
from deniable.service.records import REASONS
from deniable.service.sqlite import SQLite, SQLiteStore
from tests.collector import counted, name_of, one_cell_each, records, wire

SURVEY = one_cell_each(1024)
HORIZON = 3
START = 480_000
# What a power cut would do is not tested here, so the disk need not be a slow one.
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


class Protocol(RuleBasedStateMachine):
    """A store, and what a client may know: which reports it made on which day, and what it was told."""

    made = Bundle("made")

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="deniable-protocol-", dir=MEMORY))
        self.hours = START
        self.next = 0
        self.days: dict[int, int] = {}
        self.batches: dict[int, list[int]] = {}
        self.acknowledged: set[int] = set()
        self.sent: set[int] = set()
        self.store = SQLiteStore(self.folder)
        self.entry: Entry = self.store.create(SURVEY, Rules(horizon=HORIZON))[0]

    @rule(target=made, count=st.integers(1, 5), dated=st.booleans())
    def make(self, count: int, dated: bool) -> object:
        """A client puts reports into its outbox, with the day of today or without one."""
        fresh = [self.next + i for i in range(count) if self.next + i < 1000]
        self.next += len(fresh)
        for number in fresh:
            self.days[number] = self.hours // 24 if dated else 0
        return multiple(*fresh)

    def _uploads(self, numbers: list[int]) -> list[Upload]:
        """One upload a day, as an envelope makes them."""
        days = sorted({self.days[number] for number in numbers})
        by_day = [[n for n in numbers if self.days[n] == day] for day in days]
        return [Upload(self.entry, records(SURVEY, part), day) for day, part in zip(days, by_day, strict=True)]

    def _learn(self, numbers: list[int], outcome: Outcome | Ended, *, told: bool) -> None:
        assert isinstance(outcome, Outcome)
        refused = {place: REASONS[code] for place, code in outcome.refused}
        assert outcome.accepted + outcome.duplicate + len(refused) == len(numbers)
        assert set(refused.values()) <= {"too_old"}
        if told:
            self.acknowledged |= {number for place, number in enumerate(numbers) if place not in refused}

    @rule(numbers=st.lists(made, min_size=1, max_size=8), told=st.booleans())
    def send(self, numbers: list[int], told: bool) -> None:
        """Any reports, old or new, in any order, also twice in one request; the answer may be lost."""
        self.sent |= set(numbers)
        uploads = self._uploads(numbers)
        outcomes = self.store.write(uploads, hours=self.hours)
        for upload, outcome in zip(uploads, outcomes, strict=True):
            part = [n for n in numbers if self.days[n] == upload.day]
            self._learn(part, outcome, told=told)

    @rule(first=st.lists(made, min_size=1, max_size=4), second=st.lists(made, min_size=1, max_size=4))
    def send_at_once(self, first: list[int], second: list[int]) -> None:
        """Two requests in one transaction."""
        self.sent |= {*first, *second}
        uploads = [*self._uploads(first), *self._uploads(second)]
        self.store.write(uploads, hours=self.hours)

    @rule(count=st.integers(1, 4), again=st.integers(1, 3))
    def relay(self, count: int, again: int) -> None:
        """A relay sends reports of its own under one id, once or more often."""
        if self.next + count > 1000:
            return
        fresh = list(range(self.next, self.next + count))
        self.next += count
        packed = b"".join(wire(SURVEY, number) for number in fresh)
        batch = Upload(self.entry, packed, batch=b"B" + name_of(fresh[0])[1:])
        for turn in range(again):
            (outcome,) = self.store.write([batch], hours=self.hours)
            assert outcome == (Outcome(count, 0) if turn == 0 else Outcome(0, count))
        self.sent |= set(fresh)
        self.acknowledged |= set(fresh)

    @rule(numbers=st.lists(made, min_size=1, max_size=4))
    def crash_before_the_commit(self, numbers: list[int]) -> None:
        """The process dies with a transaction open: nothing of it may stay, on disk or in memory."""
        self.sent |= set(numbers)
        (upload, *_) = self._uploads(numbers)
        original = self.store.database._append_ids

        def die() -> None:
            original()
            raise KeyboardInterrupt

        self.store.database._append_ids = die  # type: ignore[method-assign]
        before = self.store.tally(self.entry)
        try:
            self.store.write([upload], hours=self.hours)
        except KeyboardInterrupt:
            assert self.store.tally(self.entry) == before
        self.store.database._append_ids = original  # type: ignore[method-assign]

    @rule(numbers=st.lists(made, min_size=1, max_size=4))
    def close_and_reopen(self, numbers: list[int]) -> None:
        """A closed survey takes nothing; opened again it still knows what it has counted."""
        self.store.end(SURVEY.digest, day=self.hours // 24)
        uploads = self._uploads(numbers)
        assert self.store.write(uploads, hours=self.hours) == [Ended.CLOSED] * len(uploads)
        self.store.reopen(SURVEY.digest, minute=60 * self.hours)

    @rule()
    def restart(self) -> None:
        """Another process opens what this one leaves behind, without a goodbye."""
        self.store.database.close()
        self.store = SQLiteStore(self.folder)

    @rule(hours=st.integers(1, 80))
    def time_passes(self, hours: int) -> None:
        self.hours += hours

    @rule(hours=st.integers(-60, 60))
    def the_clock_is_set(self, hours: int) -> None:
        self.hours = max(START, self.hours + hours)

    @rule()
    def purge(self) -> None:
        self.store.purge(today=self.hours // 24)

    @rule()
    def fold(self) -> None:
        self.store.fold(self.entry)

    @invariant()
    def every_report_is_counted_once_or_not_at_all(self) -> None:
        counts = counted(self.store.tally(self.entry))
        found = set(np.flatnonzero(counts).tolist())
        assert counts.max() <= 1, f"counted twice: {np.flatnonzero(counts > 1)}"
        assert self.acknowledged <= found, f"lost: {self.acknowledged - found}"
        assert found <= self.sent, f"never sent: {found - self.sent}"

    @invariant()
    def the_store_is_sound(self) -> None:
        assert list(self.store.check()) == []

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)


@pytest.mark.slow
def test_the_upload_protocol() -> None:
    run_state_machine_as_test(Protocol, settings=settings(max_examples=40, stateful_step_count=25))


class _Forgetful(SQLite):
    """Mutant: ids are known as long as the process lives, but never written."""

    def _append_ids(self) -> None:
        return


class _Hasty(SQLite):
    """Mutant: ids are known before their transaction commits."""

    def admit(self, session, key, ids, days):  # type: ignore[no-untyped-def]
        new = super().admit(session, key, ids, days)
        self._seen.add(self._seen.prints(key, ids[new]))
        return new


@pytest.mark.parametrize("mutant", [_Forgetful, _Hasty])
def test_the_state_machine_catches_stores_that_lose_or_double(
    mutant: type[SQLite], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One walk through the machine on which both mutants are found out, and the real store is not."""

    def walk() -> None:
        machine = Protocol()
        try:
            machine.begin()
            machine.make(count=3, dated=True)
            machine.crash_before_the_commit([0, 1])
            for _ in range(2):
                machine.send([0, 1, 2], told=True)
                machine.every_report_is_counted_once_or_not_at_all()
                machine.restart()
        finally:
            machine.teardown()

    walk()
    monkeypatch.setattr("deniable.service.sqlite.SQLite", mutant)
    with pytest.raises(AssertionError, match={_Forgetful: "counted twice", _Hasty: "lost"}[mutant]):
        walk()
