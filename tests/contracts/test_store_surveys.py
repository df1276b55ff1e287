"""A survey's life in a store: closed, opened again, ended by its date, changed, deleted, registered anew."""

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.errors import StoreError
from deniable.service.backends import open_store
from deniable.service.clock import minute_label
from deniable.service.entries import Ended, Entry, Outcome, Rules, Token, Upload
from deniable.service.records import pack_counts
from deniable.service.sqlite import SQLiteStore
from deniable.service.store import Store, Unavailable
from tests.cluster import Cluster
from tests.collector import counted, one_cell_each, wire
from tests.contracts.conftest import NOW, SURVEY, TODAY, Open, upload


def test_a_survey_that_is_opened_again_knows_what_it_counted(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(horizon=7))
    store.write([upload(entry, range(5)), upload(entry, [5], day=TODAY)], hours=NOW)
    for _ in range(2):
        assert store.end(SURVEY.digest, day=TODAY) == replace(entry, closed=TODAY)
    assert store.write([upload(entry, [7])], hours=NOW) == [Ended.CLOSED]
    store.purge(today=TODAY + 7)
    store = reopen()
    for _ in range(2):
        assert store.reopen(SURVEY.digest, minute=60 * NOW) == entry
    assert store.write([upload(entry, range(8))], hours=NOW) == [Outcome(2, 6)]
    assert counted(store.tally(entry)).max() == 1
    assert list(store.check()) == []


@pytest.mark.parametrize("dated", [True, False])
def test_a_survey_that_ended_before_its_horizon_is_closed_for_good(reopen: Open, dated: bool) -> None:
    """Closed by hand, or by a date that passed: then ids without a day are forgotten, too."""
    store = reopen()
    closes = {"closes": minute_label(1440 * TODAY)} if dated else {}
    entry, _ = store.create(SURVEY, Rules.read({"horizon": 7, **closes}))
    store.write([upload(entry, range(5))], hours=24 * TODAY - 1)
    if not dated:
        store.end(SURVEY.digest, day=TODAY)
    store.purge(today=TODAY + 7)
    assert not _found(store).final
    store.purge(today=TODAY + 8)
    assert _found(store).final
    with store.reading() as session:
        assert session.run("SELECT count(*) FROM ids").fetchone() == (0,)
    store.change(SURVEY.digest, {"closes": None})
    assert store.write([upload(entry, [0])], hours=NOW) == [Ended.CLOSED]
    assert store.tally(entry).n == 5


def _found(store: Store) -> Entry:
    found = store.entry(SURVEY.digest)
    assert found is not None
    return found


def test_a_closing_date_is_kept_to_the_minute_and_may_be_moved(reopen: Open) -> None:
    store = reopen()
    last = 60 * NOW + 30
    entry, _ = store.create(SURVEY, Rules.read({"closes": minute_label(last)}))
    assert store.write([upload(entry, [1])], hours=NOW, minute=last - 1) == [Outcome(1, 0)]
    assert store.write([upload(entry, [2])], hours=NOW, minute=last) == [Ended.CLOSED]
    later = store.change(SURVEY.digest, {"closes": minute_label(last + 1), "thanks": "Bye."})
    assert later is not None
    assert later.rules == replace(entry.rules, closes=minute_label(last + 1), thanks="Bye.")
    assert store.write([upload(entry, [1, 2])], hours=NOW, minute=last) == [Outcome(1, 1)], "a stale entry in memory"
    opened = reopen().reopen(SURVEY.digest, minute=last + 5)
    assert opened is not None
    assert (opened.rules.closes, opened.rules.thanks) == (None, "Bye.")
    ahead = store.change(SURVEY.digest, {"closes": minute_label(last + 9)})
    assert store.reopen(SURVEY.digest, minute=last) == ahead, "a date to come stays"


def test_texts_and_dates_are_no_reason_to_refuse_a_shard(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(thanks="here"))
    store.take_shard("elsewhere", SURVEY, Rules(thanks="there", closes="2030-01-01T00:00Z"), {})
    assert store.entries() == [entry]
    with pytest.raises(StoreError, match="must stay as they are"):
        store.take_shard("elsewhere", SURVEY, Rules(minimum=3), {})


def test_a_deleted_survey_leaves_nothing_and_starts_anew_empty(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(uploads="token"))
    other, _ = store.create(one_cell_each(1024, "another"), Rules())
    store.add_token(Token("a" * 64, entry.key, "upload", None, 0, ""))
    store.add_token(Token("b" * 64, other.key, "owner", None, 0, ""))
    store.write([upload(entry, range(10), token="a" * 64), upload(other, range(4))], hours=NOW)
    store.fold(entry)
    store.write([upload(entry, [10, 11], token="a" * 64, day=TODAY)], hours=NOW)
    shard = {NOW: (pack_counts(entry.shape.size, np.array([900]), np.array([3])), '{"accepted":3}')}
    store.take_shard("elsewhere", SURVEY, Rules(uploads="token"), shard)
    assert store.reports() == {entry.key: 15, other.key: 4}
    assert store.delete(SURVEY.digest) == 15
    assert store.delete(SURVEY.digest) is None
    with store.reading() as session:
        for table in ("delta", "tally", "shard", "token", "ids"):
            (left,) = session.run(f"SELECT count(*) FROM {table} WHERE survey = ?", [entry.key]).fetchone()
            assert left == 0, table
    assert store.entries() == [other]
    assert store.write([upload(entry, [1]), upload(other, [3, 4])], hours=NOW) == [Ended.DELETED, Outcome(1, 1)]
    assert not store.add_token(Token("c" * 64, entry.key, "owner", None, 0, ""))
    for gone in (store.end, partial(store.reopen, minute=0), partial(store.change, given={})):
        assert gone(SURVEY.digest) is None
    store.fold(entry)
    store.purge(today=TODAY)
    again, new = store.create(SURVEY, Rules())
    assert new
    assert again.key != entry.key
    assert (store.tally(again).n, store.windows(again), store.tokens(again)) == (0, {}, [])
    # What was waiting on a device when the survey was deleted counts in the new one, once.
    assert store.write([upload(again, [1])], hours=NOW) == [Outcome(1, 0)]
    store = reopen()
    assert store.write([upload(again, [1])], hours=NOW) == [Outcome(0, 1)]
    assert store.write([upload(other, range(5))], hours=NOW) == [Outcome(0, 5)], "the ids of others are known"
    assert list(store.check()) == []


@pytest.mark.parametrize("deed", ["delete", "end"])
def test_uploads_that_race_with_a_deletion_are_counted_before_or_refused(cluster: Cluster, deed: str) -> None:
    """Three collectors write while a fourth deletes, or closes: what comes after finds it so; no row is left over."""
    address = cluster.fresh()
    stores = [open_store(address) for _ in range(4)]
    entry, _ = stores[0].create(SURVEY, Rules())
    begun, outcomes = threading.Semaphore(0), [list[object]() for _ in range(3)]

    def bring(place: int) -> None:
        for number in range(300 * place, 300 * (place + 1)):
            outcomes[place] += stores[place].write([upload(entry, [number])], hours=NOW)
            begun.release()
            stores[place].tidy()

    threads = [threading.Thread(target=bring, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(90):
        begun.acquire()
    gone = getattr(stores[3], deed)(SURVEY.digest)
    for thread in threads:
        thread.join()
    accepted = sum(outcomes[place].count(Outcome(1, 0)) for place in range(3))
    refused = Ended.DELETED if deed == "delete" else Ended.CLOSED
    for told in outcomes:
        first = told.index(refused) if refused in told else len(told)
        assert set(told[first:]) <= {refused}, "nothing is taken after the first refusal"
    assert any(refused in told for told in outcomes)
    with stores[0].reading() as session:
        left = [session.run(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("ids", "delta", "tally")]
    if deed == "delete":
        assert gone == accepted, "each that was acknowledged was there, and went"
        assert left == [0, 0, 0]
    else:
        assert stores[0].tally(entry).n == accepted
        assert left[0] == 0, "a survey that is closed for good keeps no id"
    for store in stores:
        store.close()


def test_a_deletion_waits_for_a_commit_that_is_on_its_way(cluster: Cluster) -> None:
    """The writer has looked and found the survey open: until it has committed, nobody deletes."""
    address = cluster.fresh()
    one, two = open_store(address), open_store(address)
    entry, _ = one.create(SURVEY, Rules())
    looked, gone = one.intake.write_one, list[int | None]()
    deleting = threading.Thread(target=lambda: gone.append(two.delete(SURVEY.digest)))

    def slowly(*args: Any, **options: Any) -> list[Outcome]:
        deleting.start()
        deleting.join(1)  # a deletion that does not wait is over by now
        return looked(*args, **options)

    one.intake.write_one = slowly  # type: ignore[method-assign]
    assert one.write([upload(entry, range(3))], hours=NOW) == [Outcome(3, 0)]
    deleting.join()
    assert gone == [3]
    with one.reading() as session:
        assert [session.run(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("ids", "delta", "survey")] == [0] * 3
    for store in (one, two):
        store.close()


def test_a_deletion_overwrites_what_it_deletes(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    survey = one_cell_each(1024, "a question that nobody may find again")
    entry, _ = store.create(survey, Rules(introduction="neither may this text be found"))
    names = [b"%016d" % number for number in range(200)]
    for number, name in enumerate(names):
        store.write([Upload(entry, name + wire(survey, number))], hours=NOW)
    files = [tmp_path / "collector.sqlite", tmp_path / "collector.sqlite-wal"]
    before = b"".join(path.read_bytes() for path in files)
    assert names[7] in before
    store.delete(survey.digest)
    after = b"".join(path.read_bytes() for path in files)
    for trace in (*names, b"nobody may find again", b"neither may this text"):
        assert trace not in after
    store.close()


def test_ids_that_cannot_be_read_again_stop_the_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SQLiteStore(tmp_path)
    entry, _ = store.create(SURVEY, Rules())
    other, _ = store.create(one_cell_each(1024, "another"), Rules())
    store.write([upload(entry, [1]), upload(other, [1])], hours=NOW)

    def fail() -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(store.database, "load", fail)
    with pytest.raises(MemoryError):
        store.delete(SURVEY.digest)
    with pytest.raises(Unavailable, match="the ids cannot be read again: no room; check the disk and the memory"):
        store.write([upload(other, [1])], hours=NOW)
    store.close()
