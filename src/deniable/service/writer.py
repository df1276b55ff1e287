"""Group commit: every upload that arrives while one transaction is on its way to the disk shares the next one.

One thread owns the store's writing connection. The event loop hands it uploads and waits for futures, which are
resolved after the commit and never before.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from deniable.service.clock import Clock
from deniable.service.entries import Ended, Outcome, Upload
from deniable.service.health import Health
from deniable.service.problems import Contended, RequestError, Unavailable
from deniable.service.store import Store

_MOST = 1 << 16  # reports in one transaction
_MOST_BYTES = 1 << 26  # bytes of reports that wait for a commit
_ATTEMPTS = 8  # tries of a transaction that concurrent ones roll back; the pauses between them add up to 0.6 seconds
_T = TypeVar("_T")
_Future = asyncio.Future[Any]
_Group = list[tuple[Upload, _Future]]
_Work = tuple[Callable[[], Any], _Future]
_log = logging.getLogger("deniable.service")


class Writer:
    """The thread that writes. `backlog` bounds the reports that wait for it, and they have 64 MiB.

    Uploads gather in the event loop while a group is being written, and go to the thread as one: it is woken once a
    group, not once an upload.
    """

    def __init__(self, store: Store, clock: Clock, *, backlog: int = 1 << 19) -> None:
        self.store, self.clock, self.backlog = store, clock, backlog
        self.waiting = self._held = 0
        self._health = Health("written")
        self._gathered: _Group = []
        self._busy = self._called = False
        self._queue: SimpleQueue[_Group | _Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start the thread; futures belong to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, upload: Upload) -> "asyncio.Future[Outcome | Ended]":
        """Have an upload written; the future is resolved once it is durable."""
        assert self._loop is not None
        count = upload.count
        if self.waiting + count > self.backlog or (self._held and self._held + len(upload.records) > _MOST_BYTES):
            raise Unavailable("too many reports are waiting to be written")
        self.waiting += count
        self._held += len(upload.records)
        future: asyncio.Future[Outcome | Ended] = self._loop.create_future()
        self._gathered.append((upload, future))
        if not self._busy and not self._called:
            # After what else is ready in the loop: requests that arrived together are written together.
            self._called = True
            self._loop.call_soon(self._hand_over)
        return future

    async def call(self, work: Callable[[], _T]) -> _T:
        """Run something that writes, between two groups."""
        assert self._loop is not None
        future: asyncio.Future[_T] = self._loop.create_future()
        self._queue.put((work, future))
        return await future

    async def stop(self) -> None:
        """Write what waits, then end the thread."""
        if self._thread is None:
            return
        while self._gathered or self._busy:
            self._hand_over()
            await asyncio.sleep(0.001)
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._thread = None

    def _hand_over(self) -> None:
        """Give the thread what has gathered, up to the size of one transaction."""
        self._called = False
        if self._busy or not self._gathered:
            return
        size = end = 0
        while end < len(self._gathered) and size < _MOST:
            size += self._gathered[end][0].count
            end += 1
        group, self._gathered = self._gathered[:end], self._gathered[end:]
        self._busy = True
        self._queue.put(group)

    def _run(self) -> None:
        assert self._loop is not None
        while (item := self._queue.get()) is not None:
            if isinstance(item, tuple):
                work, future = item
                self._loop.call_soon_threadsafe(_settle, future, self._result_of(work))
                continue
            uploads = [upload for upload, _ in item]
            found = self._result_of(lambda: self._write(uploads))  # noqa: B023
            self._loop.call_soon_threadsafe(self._resolve, item, found)
            self.store.tidy()

    def _write(self, uploads: list[Upload]) -> list[Outcome | Ended]:
        return self.store.write(uploads, hours=self.clock.hours(), minute=self.clock.minutes())

    def _result_of(self, work: Callable[[], Any]) -> Any:
        try:
            found = _again(work)
        except Unavailable as problem:
            self._health.bad(problem)
            return problem
        except Exception as problem:
            if not isinstance(problem, (ValueError, RequestError)):  # who asked is told what was wrong
                _log.exception("writing failed")
            return problem
        self._health.good()
        return found

    def _resolve(self, group: _Group, found: Any) -> None:
        self._busy = False
        failed = isinstance(found, Exception)
        for place, (upload, future) in enumerate(group):
            self.waiting -= upload.count
            self._held -= len(upload.records)
            _settle(future, found if failed else found[place])
        self._hand_over()


def _again(work: Callable[[], _T]) -> _T:
    """Retry a transaction that was rolled back because of concurrent ones, with exponential backoff."""
    for attempt in range(_ATTEMPTS - 1):
        try:
            return work()
        except Contended:
            time.sleep(0.005 * 2**attempt)  # of a deadlock only one transaction is rolled back
    return work()


def _settle(future: _Future, result: Any) -> None:
    if future.done():  # whoever waited is gone; what was written stays written
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
