"""Tasks in worker processes: the same numbers on any number of them, nothing twice, and nothing lost when one fails."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.errors import DeniableError
from deniable.reproduce.cache import ResultCache
from deniable.reproduce.pool import Results
from tests.tasks import Die, Draw, Environment, Exhaust, Fail, Forget


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResultCache]:
    with ResultCache(tmp_path / "cells.sqlite", seed=5) as store:
        yield store


def lots(count: int, **settings: object) -> list[Draw]:
    return [Draw((f"{i} a", f"{i} b"), **settings) for i in range(count)]  # type: ignore[arg-type]


def expected(tasks: list[Draw], seed: int) -> dict[str, list[float]]:
    return {key: numbers for task in tasks for key, numbers in task.run(seed).items()}


def test_the_same_numbers_on_any_number_of_processes_and_from_the_disk(tmp_path: Path) -> None:
    tasks = lots(6)
    for processes in (1, 2):
        with (
            ResultCache(tmp_path / f"{processes}.sqlite", seed=5) as store,
            Results(store, processes=processes) as results,
        ):
            found = results(tasks, "lots")
            assert list(found.items()) == list(expected(tasks, 5).items())
            assert results(tasks, "lots") == found
            assert (results.computed, results.reused) == (12, 0)
    with ResultCache(tmp_path / "1.sqlite", seed=5) as store, Results(store) as results:
        assert results(tasks, "lots") == found
        assert (results.computed, results.reused) == (0, 12)
        assert results._pool is None, "nothing was to be done, so nobody was hired"
        assert results.seconds() == store.seconds(found) > 0


def test_only_what_is_missing_is_computed_and_only_once(store: ResultCache, tmp_path: Path) -> None:
    log = tmp_path / "log"
    store.put({"0 a": [7.0], "1 a": [8.0], "1 b": [9.0]}, seconds=1.0)
    tasks = [*lots(3, log=str(log)), Draw(("2 b", "new"), log=str(log))]
    with Results(store, processes=1) as results:
        found = results(tasks, "lots")
    assert sorted(log.read_text().splitlines()) == ["0 b", "2 a", "2 b", "new"]
    assert (found["0 a"], found["1 b"]) == ([7.0], [9.0])
    assert found["2 b"] == expected(tasks, 5)["2 b"]
    assert (results.computed, results.reused) == (4, 3)


def test_the_largest_are_first(store: ResultCache, tmp_path: Path) -> None:
    log = tmp_path / "log"
    tasks = [Draw((str(weight),), log=str(log), weight=weight) for weight in (2, 5, 1, 4, 3)]
    with Results(store, processes=1) as results:
        assert list(results(tasks, "lots")) == ["2", "5", "1", "4", "3"]
    assert log.read_text().split() == ["5", "4", "3", "2", "1"]


def test_workers_have_one_thread_and_stay_for_the_next_call(
    store: ResultCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with Results(store, processes=1) as results:
        first, *threads = results([Environment(("a",))], "first")["a"]
        second = results([Environment(("b",))], "second")["b"][0]
    assert threads == [1, 1, 1]
    assert first == second != os.getpid()
    assert os.environ["OMP_NUM_THREADS"] == "8"
    assert "MKL_NUM_THREADS" not in os.environ


def test_progress_counts_what_is_to_be_done_and_what_is_expected(store: ResultCache) -> None:
    told: list[tuple[str, float, float, int]] = []
    store.put({"0 a": [1.0], "0 b": [2.0]}, seconds=1.0)
    with Results(store, processes=1, on_progress=lambda *word: told.append(word)) as results:
        results.expect(14)
        results(lots(3, pause=0.3), "first")  # costs 2 each, and the first is in the store
        results(lots(4, pause=0.3), "second")  # 8, of which 6 are in the store by now
        results(lots(4), "nothing left to do")
    assert told[0] == ("first", 0, 4 + 8, 2)
    assert ("first", 4, 4 + 8, 0) in told
    assert told[-1] == ("second", 6, 6, 0)
    assert {word[0] for word in told} == {"first", "second"}
    done = [word[1] / word[2] for word in told]
    assert done == sorted(done)
    assert len(told) < 20, "a word now and then, not without pause"


def test_a_task_that_raises_is_named_and_the_rest_is_kept(store: ResultCache) -> None:
    tasks = [*lots(2), Fail(("bad a", "bad b"), pause=0.5, weight=0.1)]
    with Results(store, processes=1) as results:
        said = "bad a (first of 2) failed: TallyMismatch: these do not fit; what was finished before is kept"
        with pytest.raises(DeniableError, match=re.escape(said)):
            results(tasks, "lots")
        assert store.get_many(["0 a", "0 b", "1 a", "1 b", "bad a"]) == expected(lots(2), 5)
        assert results(lots(3), "more") == expected(lots(3), 5), "new workers come for the next call"


def test_a_task_that_leaves_results_out_has_failed(store: ResultCache) -> None:
    said = "a failed: AssertionError: the results must be those of the task's keys"
    with Results(store, processes=1) as results, pytest.raises(DeniableError, match=said):
        results([Forget(("a",))], "lots")


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("task", [Die(("bad",), pause=0.5, weight=0.1), Exhaust(("bad",), pause=0.5, weight=0.1)])
def test_a_worker_that_is_killed_is_a_sentence_and_the_rest_is_kept(store: ResultCache, task: Draw) -> None:
    said = (
        "memory ran out or a worker process was stopped while computing lots; what was finished is kept: "
        "run the same again, with fewer processes if memory is short"
    )
    with Results(store, processes=1) as results, pytest.raises(DeniableError, match=said):
        results([*lots(2), task], "lots")
    assert store.get_many(["0 a", "0 b", "1 a", "1 b", "bad"]) == expected(lots(2), 5)


def test_what_arrived_while_something_went_wrong_is_kept(store: ResultCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the moment between the arrival of a result and its place on the disk."""
    put, calls = store.put, []

    def interrupted(results: dict[str, list[float]], seconds: float) -> None:
        calls.append(results)
        if len(calls) == 1:
            raise KeyboardInterrupt
        put(results, seconds)

    monkeypatch.setattr(store, "put", interrupted)
    with Results(store, processes=1) as results, pytest.raises(KeyboardInterrupt):
        results(lots(1), "lots")
    assert store.get_many(["0 a", "0 b"]) == expected(lots(1), 5)
