"""The short forms of every fault; `make soak` runs the long ones."""

import pytest

from deniable.service import store as store_module
from deniable.service.sqlite import SQLiteStore
from tests import faults
from tests.cluster import Cluster


@pytest.mark.parametrize("name", faults.FAULTS)
def test_nothing_acknowledged_is_lost_or_doubled(name: str, cluster: Cluster) -> None:
    fault, rounds, _ = faults.FAULTS[name]
    verdict = fault(rounds, cluster)
    if verdict is None:  # its twin without a mount, pages limited or query_only, runs everywhere
        assert name.endswith("-tmpfs")
        assert name.removesuffix("-tmpfs") in faults.FAULTS
        pytest.skip("mounting a file system is not allowed here")
    assert verdict.sound, str(verdict)


def test_a_store_that_forgets_ids_is_found_out(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: a commit that keeps counts and not ids doubles whatever is sent again after a restart."""
    original = SQLiteStore._append_ids
    monkeypatch.setattr(SQLiteStore, "_append_ids", lambda self: None)
    assert store_module.SCHEMA == 1
    with faults.folder() as home:
        from deniable.service.entries import Rules, Upload
        from tests.collector import records

        for _ in range(2):
            store = SQLiteStore(home / "store")
            entry, _ = store.create(faults.SURVEY, Rules())
            store.write([Upload(entry, records(faults.SURVEY, range(10)))], hours=480_000)
            store.close()
        found = faults.judge("mutant", faults._tally(str(home / "store")), set(range(10)), 10)
    assert (found.lost, found.doubled, found.sound) == (0, 10, False)
    assert original is not SQLiteStore._append_ids


def test_the_judge_sees_losses() -> None:
    import deniable as dn

    empty = dn.Tally(faults.SURVEY)
    assert faults.judge("nothing there", empty, {1, 2, 3}, 10).lost == 3
    assert not faults.judge("nothing sent", empty, set(), 0).sound
