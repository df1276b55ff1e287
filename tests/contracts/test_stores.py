"""Every store keeps the same promises, whatever database it lives in."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.errors import StoreError
from deniable.service import tallies
from deniable.service.backends import open_store
from deniable.service.database import Database
from deniable.service.entries import FOR_GOOD, Ended, Outcome, Rules, Token, Upload
from deniable.service.records import REASONS, pack_counts
from deniable.service.sqlite import SQLiteStore
from deniable.service.store import Unavailable
from deniable.service.window_blocks import Block
from tests.cluster import Cluster
from tests.collector import counted, name_of, one_cell_each, wire
from tests.contracts.backends import BACKENDS
from tests.contracts.conftest import NOW, SURVEY, TODAY, Open, upload
from tests.surveys import SMALL, kinds


def test_the_list_of_databases_is_complete() -> None:
    assert kinds(Database) < {backend.type for backend in BACKENDS}, "and one that is made in the tests"


def test_a_report_is_counted_once_however_often_it_comes(reopen: Open) -> None:
    store = reopen()
    entry, new = store.create(SURVEY, Rules())
    assert new
    first = store.write([upload(entry, range(10)), upload(entry, range(5, 15))], hours=NOW)
    assert first == [Outcome(10, 0), Outcome(5, 5)]
    assert store.write([upload(entry, [3, 3, 20])], hours=NOW) == [Outcome(1, 2)]
    store = reopen()
    assert store.write([upload(entry, [0, 14, 20, 21])], hours=NOW + 100) == [Outcome(1, 3)]
    assert (np.flatnonzero(counted(store.tally(entry)) == 1) == [*range(15), 20, 21]).all()
    assert counted(store.tally(entry)).max() == 1
    assert list(store.check()) == []


def test_a_batch_under_one_id_is_taken_once(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules())
    packed = b"".join(wire(SURVEY, number) for number in range(50))
    batch = Upload(entry, packed, batch=bytes(range(16)))
    assert store.write([batch, upload(entry, [60]), batch], hours=NOW) == [
        Outcome(50, 0),
        Outcome(1, 0),
        Outcome(0, 50),
    ]
    assert reopen().write([batch], hours=NOW) == [Outcome(0, 50)]
    assert store.tally(entry).n == 51


def test_a_batch_with_bad_reports_takes_the_good_ones_and_names_the_bad(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules())
    good, bad = wire(SURVEY, 1), b"\x02" + wire(SURVEY, 2)[1:]
    mixed = Upload(entry, name_of(1) + good + name_of(2) + bad + name_of(2) + wire(SURVEY, 2))
    version = REASONS.index("version")
    assert store.write([mixed], hours=NOW) == [Outcome(2, 0, ((1, version),))]
    batch = Upload(entry, bad + wire(SURVEY, 3), batch=bytes(16))
    assert store.write([batch], hours=NOW) == [Outcome(1, 0, ((0, version),))]
    assert store.write([batch], hours=NOW) == [Outcome(0, 1, ((0, version),))]
    spoilt = Upload(entry, bad, batch=b"spoilt".ljust(16))
    assert store.write([spoilt], hours=NOW) == [Outcome(0, 0, ((0, version),))]
    (counters,) = store.windows(entry).values()
    assert counters == {"accepted": 3, "duplicate": 1, "version": 4}


@pytest.mark.parametrize("name", ["krr", "krappor", "subset", "hadamard", "orr-open", "orappor-open"])
def test_every_kind_of_survey_is_counted(reopen: Open, name: str) -> None:
    store, survey = reopen(), SMALL[name]
    entry, _ = store.create(survey, Rules())
    client = dn.Client(survey, memoize=False)
    symbol = survey.symbols[0] if survey.symbols else "ash"
    packed = [client.report(symbol).pack() for _ in range(30)]
    body = b"".join(name_of(i) + one for i, one in enumerate(packed))
    assert store.write([Upload(entry, body)], hours=NOW) == [Outcome(30, 0)]
    expected = dn.Tally(survey)
    expected.accumulate(packed)
    assert store.tally(entry) == expected
    store.fold(entry)
    assert store.tally(entry) == expected


def test_surveys_do_not_share_ids_or_counts(reopen: Open) -> None:
    store = reopen()
    first, _ = store.create(SURVEY, Rules())
    second, _ = store.create(one_cell_each(1024, "another"), Rules(window="hour"))
    done = store.write([upload(first, [1, 2]), upload(second, [2, 3]), upload(first, [2])], hours=NOW)
    assert done == [Outcome(2, 0), Outcome(2, 0), Outcome(0, 1)]
    assert [store.tally(entry).n for entry in (first, second)] == [2, 2]


def test_a_survey_is_immutable(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(minimum=5))
    assert store.create(SURVEY, Rules(minimum=5)) == (entry, False)
    with pytest.raises(StoreError, match=r"must stay as they are once survey .* is created; make a new survey instead"):
        store.create(SURVEY, Rules(minimum=6))
    assert store.entries() == [entry]
    assert store.entry("0" * 64) is None


def test_a_closed_survey_takes_nothing_and_keeps_its_counts(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules())
    store.write([upload(entry, range(5))], hours=NOW)
    assert store.end(SURVEY.digest) == replace(entry, closed=FOR_GOOD)
    assert store.write([upload(entry, [7])], hours=NOW) == [Ended.CLOSED]
    assert reopen().tally(entry).n == 5
    assert store.write([upload(entry, [0])], hours=NOW) == [Ended.CLOSED], "its ids are forgotten: nothing may come in"
    with pytest.raises(StoreError) as refused:
        store.reopen(SURVEY.digest, minute=60 * NOW)
    assert str(refused.value) == (
        f"survey {SURVEY.digest[:8]} is closed for good: its report ids are forgotten, so that a report sent again "
        "would count again; duplicate it instead"
    )
    assert store.end(SURVEY.digest, day=TODAY) == replace(entry, closed=FOR_GOOD)


def test_windows_and_ranges(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(window="hour"))
    for hour, numbers in enumerate(([0], [1, 2], [3, 4, 5])):
        store.write([upload(entry, numbers)], hours=NOW + hour)
    assert {hour - NOW: counts["accepted"] for hour, counts in store.windows(entry).items()} == {0: 1, 1: 2, 2: 3}
    ranges = [(None, None), (NOW, NOW + 1), (NOW + 1, None), (None, NOW + 2), (NOW + 5, None)]
    for folded in (False, True):
        assert [store.tally(entry, first, last).n for first, last in ranges] == [6, 1, 5, 3, 0], folded
        store.fold(entry)


def test_folding_changes_nothing_and_leaves_one_row_a_window(reopen: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "_FOLD_ROWS", 8)
    store = reopen()
    entry, _ = store.create(SURVEY, Rules())
    for number in range(100):
        store.write([upload(entry, [number])], hours=NOW + 24 * (number % 2))
        store.tidy()
    with store.reading() as session:
        (waiting,), (folded,) = (session.run(f"SELECT count(*) FROM {t}").fetchone() for t in ("delta", "tally"))
    assert waiting <= 8
    assert folded == 2
    assert (counted(store.tally(entry))[:100] == 1).all()
    assert sum(counts["accepted"] for counts in store.windows(entry).values()) == 100


def test_old_ids_are_refused_and_not_counted_again(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(horizon=7))
    assert store.write([upload(entry, [1, 2], day=TODAY), upload(entry, [3])], hours=NOW) == [
        Outcome(2, 0),
        Outcome(1, 0),
    ]
    old, early = REASONS.index("too_old"), REASONS.index("too_early")
    later = NOW + 24 * 8
    assert store.write([upload(entry, [1], day=TODAY)], hours=later) == [Outcome(0, 0, ((0, old),))]
    store.purge(today=TODAY + 8)
    store = reopen()
    assert store.entries()[0].floor == TODAY + 1
    # Even on a clock that was set back: the ids are gone, so their day stays refused.
    assert store.write([upload(entry, [1], day=TODAY)], hours=NOW) == [Outcome(0, 0, ((0, old),))]
    assert store.write([upload(entry, [3])], hours=later) == [Outcome(0, 1)], "an id without a day is kept"
    assert store.write([upload(entry, [9], day=TODAY + 12)], hours=later) == [Outcome(0, 0, ((0, early),))]
    assert store.write([upload(entry, [9], day=TODAY + 9)], hours=later) == [Outcome(1, 0)]
    assert store.tally(entry).n == 4


def test_a_purge_forgets_one_day_at_a_time(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(horizon=7))
    for day in range(3):
        store.write([upload(entry, [day], day=TODAY + day)], hours=NOW + 24 * day)
    floors = []
    for _ in range(4):  # on a clock that is a year ahead
        store.purge(today=TODAY + 365)
        floors.append(store.entries()[0].floor - TODAY)
    assert floors == [1, 2, 3, 3]
    outcomes = store.write([upload(entry, [2], day=TODAY + 2), upload(entry, [9], day=TODAY + 3)], hours=NOW + 72)
    assert outcomes == [Outcome(0, 0, ((0, REASONS.index("too_old")),)), Outcome(1, 0)]
    assert counted(store.tally(entry)).max() == 1


def test_retention_deletes_old_windows(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(retention=3))
    store.write([upload(entry, [1])], hours=NOW)
    store.write([upload(entry, [2])], hours=NOW + 24 * 5)
    store.purge(today=TODAY + 6)
    assert np.flatnonzero(counted(store.tally(entry))).tolist() == [2]


def test_counts_of_every_store_stay_as_they_were_shown(reopen: Open) -> None:
    """Late reports, from a clock that is behind or from another collector, are counted after what was shown."""
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(minimum=3))
    for hours, numbers in ((0, range(3)), (24, range(3, 5))):
        store.write([Upload(entry, b"".join(name_of(n) + wire(SURVEY, n) for n in numbers))], hours=24000 + hours)
    store.show(entry, hour=24000 + 48)
    windows, shown, blocks = store.blocks(entry)
    assert (list(windows), shown, blocks) == ([24000, 24024], 24024, [Block((24000,), 24024, 3)])
    store.write([Upload(entry, name_of(9) + wire(SURVEY, 9))], hours=24000)
    assert np.flatnonzero(counted(store.tally(entry, 24000, 24024))).tolist() == [0, 1, 2]
    assert np.flatnonzero(counted(store.tally(entry, 24024, 24048))).tolist() == [3, 4, 9]
    grown = {24000: (pack_counts(1024, np.array([20]), np.array([1])), '{"accepted":1}')}
    for _ in range(2):
        store.take_shard("elsewhere", SURVEY, entry.rules, grown)
        assert np.flatnonzero(counted(store.tally(entry))).tolist() == [0, 1, 2, 3, 4, 9, 20]
        assert store.tally(entry).n == 7
    assert store.tally(entry, 24000, 24024).n == 3
    assert list(store.check()) == []


def test_a_token_pays_for_new_reports_only(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules(uploads="token"))
    store.add_token(Token("a" * 64, entry.key, "upload", 5, 0, "build 7"))
    store.add_token(Token("b" * 64, entry.key, "upload", None, 0, "unlimited"))
    quota = REASONS.index("quota")
    assert store.write([upload(entry, range(3), token="a" * 64)] * 2, hours=NOW) == [Outcome(3, 0), Outcome(0, 3)]
    over = store.write([upload(entry, range(2, 8), token="a" * 64)], hours=NOW)
    assert over == [Outcome(2, 1, ((3, quota), (4, quota), (5, quota)))]
    again = [upload(entry, [5, 6], token="a" * 64), upload(entry, [5, 6], token="b" * 64)]
    assert store.write(again, hours=NOW)[1] == Outcome(2, 0), "what a quota refused was not kept as seen"
    packed = Upload(entry, wire(SURVEY, 20) + wire(SURVEY, 21), batch=bytes(16), token="a" * 64)
    assert store.write([packed], hours=NOW) == [Outcome(0, 0, ((0, quota), (1, quota)))]
    assert {token.name: token.used for token in store.tokens(entry)} == {"build 7": 5, "unlimited": 2}
    assert store.drop_token(entry, "b" * 16)
    assert not store.drop_token(entry, "b" * 16)
    assert store.write([upload(entry, [30], token="b" * 64)], hours=NOW) == [Outcome(0, 0, ((0, quota),))]
    assert counted(store.tally(entry)).max() == 1
    assert list(store.check()) == [], "a token is sealed with what it has used"


def test_shards_merge_and_a_later_state_replaces_the_earlier(reopen: Open, tmp_path: Path) -> None:
    store, other = reopen(), SQLiteStore(tmp_path / "shard")
    entry, _ = store.create(SURVEY, Rules())
    store.write([upload(entry, [1, 2])], hours=NOW)
    theirs, _ = other.create(SURVEY, Rules())
    for numbers, total in (([3], 3), ([4, 5], 5)):
        other.write([upload(theirs, numbers)], hours=NOW)
        for _ in range(2):  # taking a shard twice counts it once
            store.take_shard(other.name(), SURVEY, Rules(), other.own_tallies(theirs))
            assert store.tally(entry).n == total
    assert list(store.check()) == []
    assert store.own_tallies(entry).keys() == {NOW // 24 * 24}
    other.close()


def test_check_finds_counts_that_do_not_hold(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules())
    store.write([upload(entry, range(9))], hours=NOW)
    with store.writing() as session:
        session.run("UPDATE delta SET counters = '{\"accepted\":8}'")
    (sentence,) = store.check()
    assert "counts must hold the 8 reports that were accepted, got 9" in sentence
    with store.writing() as session:
        session.run("UPDATE delta SET counts = ?", [b"nonsense"])
    (sentence,) = store.check()
    assert "stored counts must be readable" in sentence


def test_another_layout_is_refused(reopen: Open) -> None:
    with reopen().writing() as session:
        session.run("UPDATE meta SET value = '99' WHERE name = 'schema'")
    with pytest.raises(StoreError, match="layout must be 4 or older, got '99'; use the version that made the store"):
        reopen()


def test_collectors_that_share_postgres_count_each_report_once(cluster: Cluster) -> None:
    """Four collectors bring the same thousand reports at once, each in its own order."""
    address = cluster.fresh()
    stores = [open_store(address) for _ in range(4)]
    entry, _ = stores[0].create(SURVEY, Rules())
    accepted = [0] * 4

    def bring(place: int) -> None:
        order = np.random.default_rng(place).permutation(1000).tolist()
        for start in range(0, 1000, 100):
            (outcome,) = stores[place].write([upload(entry, order[start : start + 100])], hours=NOW)
            assert isinstance(outcome, Outcome)
            accepted[place] += outcome.accepted

    threads = [threading.Thread(target=bring, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(accepted) == 1000
    assert counted(stores[0].tally(entry))[:1000].tolist() == [1] * 1000
    for store in stores:
        store.fold(entry)
    assert counted(stores[3].tally(entry))[:1000].tolist() == [1] * 1000
    for store in stores:
        store.close()


def test_a_second_process_is_refused_by_the_embedded_store(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    with pytest.raises(StoreError, match="must have one writing process, got a second; for several use PostgreSQL"):
        SQLiteStore(tmp_path)
    beside = SQLiteStore(tmp_path, write=False)
    assert beside.entries() == []
    store.close()
    SQLiteStore(tmp_path).close()
    with pytest.raises(StoreError, match=r"must be a store, got no collector\.sqlite in it"):
        SQLiteStore(tmp_path / "nowhere", write=False)
    (tmp_path / "garbage").mkdir()
    (tmp_path / "garbage" / "collector.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match=r"must be a sound store: .*; restore a backup"):
        SQLiteStore(tmp_path / "garbage")


def test_ids_that_are_on_disk_but_not_in_memory_stop_the_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SQLiteStore(tmp_path)
    entry, _ = store.create(SURVEY, Rules())

    def full(prints: object) -> None:
        raise MemoryError

    monkeypatch.setattr(store.database._seen, "add", full)
    with pytest.raises(MemoryError):
        store.write([upload(entry, [1])], hours=NOW)
    with pytest.raises(Unavailable, match="do not fit into memory; restart with more of it"):
        store.write([upload(entry, [1])], hours=NOW)
    store.close()
    again = SQLiteStore(tmp_path)
    assert again.write([upload(entry, [1])], hours=NOW) == [Outcome(0, 1)]
    assert again.tally(entry).n == 1
    again.close()


def test_an_address_that_does_not_answer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="store must be a PostgreSQL address that answers: PostgreSQL does not answer"):
        open_store(f"postgresql://postgres@/none?host={tmp_path}")
