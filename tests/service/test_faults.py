"""The short forms of every fault; `make soak` runs the long ones."""

import pytest

import deniable as dn
from deniable.service.entries import Rules, Upload
from deniable.service.sqlite import SQLite, SQLiteStore
from tests import faults
from tests.cluster import Cluster
from tests.collector import records

pytestmark = pytest.mark.slow


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
    monkeypatch.setattr(SQLite, "_append_ids", lambda self: None)
    with faults.folder() as home:
        for _ in range(2):
            store = SQLiteStore(home / "store")
            entry, _ = store.create(faults.SURVEY, Rules())
            store.write([Upload(entry, records(faults.SURVEY, range(10)))], hours=480_000)
            store.close()
        found = faults.judge("mutant", faults._tally(str(home / "store")), set(range(10)), 10)
    assert (found.lost, found.doubled, found.sound) == (0, 10, False)


HASTY = """
import sys
from deniable.cli import main
from deniable.service.entries import Outcome
from deniable.service.writer import Writer

hand_over = Writer._hand_over

def hasty(self):
    for place, (upload, future) in enumerate(self._gathered):
        if not future.done():
            future.set_result(Outcome(upload.count, 0))
    hand_over(self)

Writer._hand_over = hasty
sys.exit(main(sys.argv[1:]))
"""


def test_a_collector_that_answers_before_it_commits_is_found_out() -> None:
    """Mutant: the same kill loop, on a process that acknowledges first and writes a moment later; it ends
    with the first loss."""
    with faults.folder() as home:
        verdict = faults._kill("hasty", str(home / "store"), home, 40, program=("-c", HASTY))
    assert verdict.lost > 0
    assert not verdict.sound


def test_the_judge_sees_losses() -> None:
    empty = dn.Tally(faults.SURVEY)
    assert faults.judge("nothing there", empty, {1, 2, 3}, 10).lost == 3
    assert not faults.judge("nothing sent", empty, set(), 0).sound
