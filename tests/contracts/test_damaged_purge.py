"""The hourly purge of a store with a damaged row: the row stays as it is, the log says so, everything else goes on."""

import logging
from typing import Any

import pytest

from deniable.errors import StoreError
from deniable.service.entries import Entry, Rules
from deniable.service.store import Store
from tests.collector import one_cell_each
from tests.contracts.conftest import NOW, SURVEY, TODAY, Open, upload

OTHER = one_cell_each(1024, "another")
RULES = Rules(horizon=7, retention=3, minimum=2)
LATER = TODAY + 9


def filled(store: Store) -> list[Entry]:
    """Two surveys with two windows each, ids with a day, and a commit that is not folded in each window."""
    entries = [store.create(survey, RULES)[0] for survey in (SURVEY, OTHER)]
    for entry in entries:
        store.write([upload(entry, range(5), day=TODAY)], hours=NOW)
        store.fold(entry)
        store.write([upload(entry, range(5, 8), day=TODAY)], hours=NOW)
        store.write([upload(entry, range(8, 10), day=TODAY)], hours=NOW + 24)
    return entries


def rows(store: Store, sql: str, *values: object) -> list[Any]:
    with store.reading() as session:
        return [tuple(row) for row in session.run(sql, values).fetchall()]


def do(store: Store, sql: str, *values: object) -> None:
    with store.writing() as session:
        session.run(sql, values)


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    fields = [record.__dict__["fields"] for record in caplog.records if record.message == "damaged"]
    return [(field["survey"], field["problem"]) for field in fields]


def test_a_purge_without_damage_says_nothing(reopen: Open, caplog: pytest.LogCaptureFixture) -> None:
    store = reopen()
    filled(store)
    with caplog.at_level(logging.ERROR):
        store.purge(today=LATER)
    assert said(caplog) == []
    assert rows(store, "SELECT * FROM ids") == rows(store, "SELECT * FROM tally") == []


def test_a_damaged_commit_stays_and_the_rest_is_purged(reopen: Open, caplog: pytest.LogCaptureFixture) -> None:
    store = reopen()
    first, other = filled(store)
    do(store, "UPDATE delta SET win = win + 24 WHERE survey = ? AND win = ?", first.key, NOW)
    damaged = rows(store, "SELECT * FROM delta WHERE survey = ? AND counters = ?", first.key, '{"accepted":3}')
    with caplog.at_level(logging.ERROR):
        store.purge(today=LATER)
    assert rows(store, "SELECT * FROM delta") == damaged, "the other commits are folded, and this one has its seal"
    assert rows(store, "SELECT COUNT(*) FROM ids") == [(0,)], "ids of both surveys are forgotten"
    assert store.windows(other) == {}
    # Which windows were shown together cannot be told any more, so none is deleted.
    assert {start - NOW: counts["accepted"] for start, counts in store.windows(first).items()} == {0: 5, 24: 5}
    assert said(caplog) == [
        (SURVEY.digest, "1 rows of counts have another checksum; they stay as they are"),
        (
            SURVEY.digest,
            "no window of it is deleted: its rows must be as they were written, got another checksum; restore a backup",
        ),
    ]
    assert len(list(store.check())) == 1
    do(store, "UPDATE delta SET win = ? WHERE survey = ?", NOW, first.key)
    store.purge(today=LATER)
    assert store.windows(first) == {}, "with the row repaired the purge goes on"


def test_a_damaged_sum_keeps_its_commits_beside_it(reopen: Open, caplog: pytest.LogCaptureFixture) -> None:
    store = reopen()
    first, _ = filled(store)
    do(store, "UPDATE tally SET counters = ? WHERE survey = ?", '{"accepted":4}', first.key)
    with caplog.at_level(logging.ERROR):
        store.purge(today=TODAY)
    assert rows(store, "SELECT survey, win FROM delta") == [(first.key, NOW)]
    assert rows(store, "SELECT win FROM tally WHERE survey = ? ORDER BY win", first.key) == [(NOW,), (NOW + 24,)]
    assert [survey for survey, _ in said(caplog)] == [SURVEY.digest]


@pytest.mark.parametrize("column", ["rules", "counters"])
def test_what_cannot_be_read_stops_its_survey_alone(
    reopen: Open, caplog: pytest.LogCaptureFixture, column: str
) -> None:
    store = reopen()
    first, other = filled(store)
    if column == "rules":
        do(store, "UPDATE survey SET rules = 'none' WHERE key = ?", first.key)
        store = reopen()
    else:
        do(store, "UPDATE tally SET counters = 'none' WHERE survey = ?", first.key)
    with caplog.at_level(logging.ERROR):
        store.purge(today=LATER)
    assert store.windows(other) == {}
    left = rows(store, "SELECT DISTINCT survey FROM ids")
    assert left == ([(first.key,)] if column == "rules" else []), "without its rules nobody knows what may be forgotten"
    assert {survey for survey, _ in said(caplog)} == {SURVEY.digest}
    assert list(store.check()) != []


def test_what_was_shown_is_not_cut_by_a_damaged_counter(reopen: Open) -> None:
    """Days of 99, 1 and 100 reports at a minimum of 100. A counter that says 100 for the 99 would make the first day a
    block of its own: deleted alone, the second day would be what two answers differ by."""
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(retention=3))
    for day, numbers in enumerate((range(99), range(99, 100), range(100, 200))):
        store.write([upload(entry, numbers)], hours=NOW + 24 * day)
    store.show(entry, hour=NOW + 72)
    store.fold(entry)
    do(store, "UPDATE tally SET counters = ? WHERE win = ?", '{"accepted":100}', NOW)
    store.purge(today=TODAY + 4)
    store.purge(today=TODAY + 400)
    assert store.tally(entry).n == 200


def test_a_damaged_backup_is_not_restored(reopen: Open) -> None:
    store = reopen()
    first, _ = filled(store)
    do(store, "UPDATE delta SET win = win + 24 WHERE survey = ? AND win = ?", first.key, NOW)
    told = "stored rows must be as they were written; the backup is damaged, use another one"
    with pytest.raises(StoreError, match=told):
        store.mark_restored()
