"""Runs tasks in worker processes, and stores every result as it arrives.

The workers are processes even where one is enough: linear algebra there must be limited to one thread, which a process
can only be told before it starts. On many cores, threads of its own in every worker would slow all of them down.
"""

import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from multiprocessing import resource_tracker
from typing import TypeAlias

from deniable.errors import DeniableError
from deniable.reproduce.cache import ResultCache
from deniable.reproduce.tasks import Task

OnProgress: TypeAlias = Callable[[str, float, float, int], None]
"""Called with a label, the cost that is done, the cost in all, and how many tasks of this label are left."""

_Found: TypeAlias = tuple[dict[str, list[float]], float]
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
# Without the last a worker would begin with whatever `pickle.py` lies in the folder that the command was started in.
_SURROUNDINGS = dict.fromkeys((*_ONE_THREAD, "PYTHONSAFEPATH"), "1")
_PAUSE = 0.2  # seconds between two looks for results, so that Ctrl-C is noticed


def cores() -> int:
    """How many processors this process may use.

    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class _Failure(Exception):
    """What a task raised, as text: not every exception survives the way from the worker to its parent."""


class Results(AbstractContextManager["Results"]):
    """Call it with tasks and get the numbers of all their keys; only what the store lacks is computed.

    Parameters
    ----------
    store : ResultCache
        Where results are kept as they arrive.
    processes : int, optional
        Worker processes; one a core, if it is left out.
    on_progress : callable, optional
        Called with a label, the cost that is done, the cost in all, and how many tasks of this label are left.

    Examples
    --------
    >>> from deniable.reproduce.cache import ResultCache
    >>> with ResultCache(":memory:", seed=0) as store, Results(store) as results:
    ...     results.expect(0.0)
    ...     results([], "nothing to do"), results.reused, results.seconds()
    ...     results.close()
    ({}, 0, 0.0)
    """

    def __init__(
        self, store: ResultCache, *, processes: int | None = None, on_progress: OnProgress | None = None
    ) -> None:
        self.store = store
        self.processes = cores() if processes is None else processes
        self.computed = 0
        self._on_progress = on_progress
        self._pool: ProcessPoolExecutor | None = None
        self._asked: set[str] = set()
        self._done = self._total = self._expected = 0.0

    def __call__(self, tasks: Sequence[Task], label: str) -> dict[str, list[float]]:
        """The numbers of every key of `tasks`, the same on any number of processes; `label` is for the progress."""
        keys = list(dict.fromkeys(key for task in tasks for key in task.keys))
        known = self.store.get_many(keys)
        missing, taken = [], set(known)
        for task in tasks:
            lacks = [key for key in task.keys if key not in taken]
            taken.update(lacks)
            if lacks:
                missing.append(task if len(lacks) == len(task.keys) else task.only(lacks))
        self._expected = max(0.0, self._expected - sum(task.cost for task in tasks))
        self._asked.update(keys)
        if missing:
            known |= self._compute(missing, label)
        return {key: known[key] for key in keys}

    def expect(self, cost: float) -> None:
        """Say about how much the calls to come will cost together, so that the progress can count them in.

        Each call takes its tasks off again, and what it finds in the store is no longer counted at all.

        Parameters
        ----------
        cost : float
            Rough CPU seconds.
        """
        self._expected = cost

    @property
    def reused(self) -> int:
        """How many of the results asked for were in the store already."""
        return len(self._asked) - self.computed

    def seconds(self) -> float:
        """CPU seconds behind all results asked for, those of earlier runs included."""
        return self.store.seconds(self._asked)

    def close(self) -> None:
        """Stop the workers, once they have finished."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def _compute(self, tasks: list[Task], label: str) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        running: dict[Future[_Found], Task] = {}
        finished: queue.SimpleQueue[Future[_Found]] = queue.SimpleQueue()
        self._total += sum(task.cost for task in tasks)
        try:
            # The largest first: a large one that came last would keep a single worker busy.
            self._start(sorted(tasks, key=lambda task: -task.cost), running, finished)
            self._tell(label, len(running))
            while running:
                with suppress(queue.Empty):
                    future = finished.get(timeout=_PAUSE)
                    found |= self._keep(future, running[future])
                    del running[future]
                    self._tell(label, len(running))
        except BaseException as problem:
            with _uninterrupted():
                self._stop()
                self._rescue(running)
            if isinstance(problem, (BrokenProcessPool, MemoryError)):
                raise DeniableError(
                    f"memory ran out or a worker process was stopped while computing {label}; what was finished is "
                    "kept: run the same again, with fewer processes if memory is short"
                ) from problem
            raise
        return found

    def _start(
        self,
        tasks: list[Task],
        running: dict[Future[_Found], Task],
        finished: "queue.SimpleQueue[Future[_Found]]",
    ) -> None:
        with _surroundings_of_workers():  # around every submit: the executor starts a worker when it needs one
            if self._pool is None:
                spawn = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(self.processes, spawn, _begin)
            for task in tasks:
                future = self._pool.submit(_work, task, self.store.seed)
                running[future] = task
                future.add_done_callback(finished.put)

    def _keep(self, future: Future[_Found], task: Task) -> dict[str, list[float]]:
        try:
            results, seconds = future.result()
        except _Failure as problem:
            which = task.keys[0] + (f" (first of {len(task.keys)})" if len(task.keys) > 1 else "")
            raise DeniableError(f"{which} failed: {problem}; what was finished before is kept") from problem
        self.store.put(results, seconds)
        self.computed += len(results)
        self._done += task.cost
        return results

    def _stop(self) -> None:
        """End the workers in the middle of their work, and everything that waits for them."""
        pool, self._pool = self._pool, None
        if pool is not None:
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(cancel_futures=True)

    def _rescue(self, running: dict[Future[_Found], Task]) -> None:
        """Store the results that had arrived when something else failed; on a full disk this fails again, silently."""
        for future in running:
            if future.done() and not future.cancelled() and future.exception() is None:
                with suppress(DeniableError):
                    self.store.put(*future.result())

    def _tell(self, label: str, left: int) -> None:
        if self._on_progress is not None:
            self._on_progress(label, self._done, self._total + self._expected, left)


def _begin() -> None:
    """The first thing a worker does: ignore Ctrl-C, which its parent handles, and exit when the parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_the_parent, daemon=True).start()


def _follow_the_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has one"
    parent.join()
    os._exit(1)


def _work(task: Task, seed: int) -> _Found:
    start = time.process_time()
    try:
        results = {key: [float(number) for number in numbers] for key, numbers in task.run(seed).items()}
        assert results.keys() == set(task.keys), "the results must be those of the task's keys"
    except MemoryError:
        raise
    except Exception as problem:
        raise _Failure(f"{type(problem).__name__}: {problem}") from problem
    return results, time.process_time() - start


@contextmanager
def _surroundings_of_workers() -> Iterator[None]:
    """What a process inherits when it starts: one thread for linear algebra, no code from the current folder, and
    a blocked Ctrl-C, which would otherwise end it with a traceback before `_begin` is reached."""
    before = {name: os.environ.get(name) for name in _SURROUNDINGS}
    os.environ.update(_SURROUNDINGS)
    try:
        resource_tracker.ensure_running()  # when it starts, it switches Ctrl-C on again
        with _uninterrupted():
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A block in which Ctrl-C is blocked; it is delivered at the end. (Not on Windows.)"""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
