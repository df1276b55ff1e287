"""Group commit: every upload that arrives while one transaction is on its way to the disk shares the next one.

One thread owns the store's writing connection. The event loop hands it uploads and waits for futures, which are
resolved after the commit and never before.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from deniable.service.clock import Clock
from deniable.service.entries import Outcome, Upload
from deniable.service.store import Store, Unavailable

__all__ = ["Writer"]

_MOST = 1 << 16  # reports in one transaction
_T = TypeVar("_T")
_Future = asyncio.Future[Any]
_Item = tuple[Upload | Callable[[], Any], _Future]
_log = logging.getLogger("deniable.service")


class Writer:
    """The thread that writes. `backlog` bounds the reports that wait for it."""

    def __init__(self, store: Store, clock: Clock, *, backlog: int = 1 << 19) -> None:
        self.store, self.clock, self.backlog = store, clock, backlog
        self.waiting = 0
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start the thread; futures belong to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, upload: Upload) -> "asyncio.Future[Outcome | None]":
        """Have an upload written; the future is resolved once it is durable."""
        assert self._loop is not None
        count = upload.count
        if self.waiting + count > self.backlog:
            raise Unavailable("too many reports are waiting to be written")
        self.waiting += count
        future: asyncio.Future[Outcome | None] = self._loop.create_future()
        self._queue.put((upload, future))
        return future

    async def call(self, work: Callable[[], _T]) -> _T:
        """Run something that writes, between two groups."""
        assert self._loop is not None
        future: asyncio.Future[_T] = self._loop.create_future()
        self._queue.put((work, future))
        return await future

    async def stop(self) -> None:
        """Write what waits, then end the thread."""
        if self._thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)
            self._thread = None

    def _run(self) -> None:
        assert self._loop is not None
        more = True
        while more:
            items, more = self._next()
            uploads = [(work, future) for work, future in items if isinstance(work, Upload)]
            done: list[tuple[_Future, Any]] = []
            if uploads:
                done += self._write([upload for upload, _ in uploads], [future for _, future in uploads])
            for work, future in items:
                if not isinstance(work, Upload):
                    done.append((future, _result_of(work)))
            taken = sum(upload.count for upload, _ in uploads)
            self._loop.call_soon_threadsafe(self._resolve, done, taken)
            if uploads:
                self.store.tidy()

    def _next(self) -> tuple[list[_Item], bool]:
        """Everything that waits, up to the size of one transaction; False once the end was asked for."""
        items: list[_Item] = []
        size = 0
        item = self._queue.get()
        while item is not None:
            items.append(item)
            size += item[0].count if isinstance(item[0], Upload) else 0
            if size >= _MOST:
                return items, True
            try:
                item = self._queue.get_nowait()
            except Empty:
                return items, True
        return items, False

    def _write(self, uploads: list[Upload], futures: list[_Future]) -> list[tuple[_Future, Any]]:
        found = _result_of(lambda: self.store.write(uploads, hours=self.clock.hours()))
        if isinstance(found, Exception):
            return [(future, found) for future in futures]
        return list(zip(futures, found, strict=True))

    def _resolve(self, done: list[tuple[_Future, Any]], taken: int) -> None:
        self.waiting -= taken
        for future, result in done:
            if future.done():  # whoever waited is gone; what was written stays written
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)


def _result_of(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Unavailable as problem:
        _log.warning("the store cannot be written", extra={"fields": {"event": "unavailable", "why": str(problem)}})
        return problem
    except Exception as problem:
        if not isinstance(problem, ValueError):
            _log.exception("writing failed")
        return problem
