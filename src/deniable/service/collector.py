"""The collector: its store, its writer, the processes that it starts, and which surveys it knows."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import ClassVar, TypeVar

from deniable.errors import DeniableError
from deniable.service.answers import Headers
from deniable.service.clock import Clock
from deniable.service.configuration import Options
from deniable.service.decoding import Decoding
from deniable.service.entries import Entry
from deniable.service.health import Health
from deniable.service.metrics import Metrics
from deniable.service.pages import Pages
from deniable.service.planning import Planning
from deniable.service.problems import RequestError, Unavailable
from deniable.service.requests import Room
from deniable.service.roles import Roles
from deniable.service.routing import Route, Router
from deniable.service.store import Store
from deniable.service.uploads import Uploads
from deniable.service.writer import Writer

_PURGE_EVERY = 3600.0  # seconds between two purges: the shortest window is an hour
_PROBE_EVERY = 5.0  # seconds between two probes of whether the store can be written
_MOST_ANSWER_BYTES = 1 << 28  # bytes of all responses that are being sent
_R = TypeVar("_R")


class Collector:
    """What the handlers of all routes share. `admin_token` is the administrator's secret; only its hash is kept.

    `warm_after` is how many seconds after its start it loads what the first reader of results would wait for.
    """

    table: ClassVar[tuple[Route, ...]] = ()

    def __init__(
        self,
        store: Store,
        options: Options,
        *,
        admin_token: str,
        routes: tuple[Route, ...] | None = None,
        clock: Clock | None = None,
        backlog: int = 1 << 19,
        warm_after: float | None = None,
    ) -> None:
        self.router = Router(self.table if routes is None else routes)
        self.store, self.clock, self.metrics, self.pages = store, clock or Clock(), Metrics(), Pages()
        self.options, self.stopping, self._warm_after = options, False, warm_after
        self.writer = Writer(store, self.clock, backlog=backlog)
        self.decoding = Decoding(store.where, seconds=options.decode_seconds, memory=options.decode_memory)
        self.planning = Planning(seconds=options.decode_seconds)
        self.answers = Room(_MOST_ANSWER_BYTES, "too many large answers are on their way; ask again later")
        self._bodies, origins = Room(max(1 << 26, options.body_limit)), options.origins
        self._common: Headers = [] if origins is None else [(b"access-control-allow-origin", origins.encode())]
        self._roles = Roles(admin_token, store, self.read, self.entry)
        self._uploads = Uploads(self.writer, self.metrics, options, self._bodies)
        self._entries: dict[str, Entry] = {}
        self._reading = Health("read")
        self._probed = -_PROBE_EVERY
        self._unwritable: str | None = None
        self._chores: list[asyncio.Task[None]] = []

    async def read(self, work: Callable[[], _R]) -> _R:
        """Run what looks into the store, in a thread."""
        try:
            found = await asyncio.to_thread(work)
        except Unavailable as problem:
            self._reading.bad(problem)
            raise
        self._reading.good()
        return found

    async def entry(self, digest: str) -> Entry:
        """A survey by its digest; an open one is kept in memory for uploads. It may be closed, changed or deleted, by
        another collector too: every transaction looks whether it was."""
        entry = await self.read(lambda: self.store.entry(digest))
        if entry is None:
            raise unknown_survey(digest)
        if not entry.ended(self.clock.minutes()):
            self._entries[digest] = entry
        return entry

    async def frames(self, digest: str) -> tuple[str, ...] | None:
        """Which sites may frame a survey's page, as the store has it now; None where there is no such survey. Where
        the store does not answer, the page may try, in no frame."""
        with contextlib.suppress(Unavailable):
            entry = await self.read(lambda: self.store.entry(digest))
            return None if entry is None else entry.rules.frames
        return ()

    def changed(self, entry: Entry) -> None:
        """Look a survey up again: somebody changed it."""
        self._entries.pop(entry.survey.digest, None)

    def forget(self, entry: Entry) -> None:
        """Keep nothing in memory of a survey that was deleted."""
        self._entries.pop(entry.survey.digest, None)
        self._uploads.forget(entry)

    def forget_tokens(self) -> None:
        """Look every token up again: one was revoked."""
        self._uploads.forget_tokens()

    async def why_unwritable(self) -> str | None:
        """Why the store cannot be written, or None if it can: a full disk can be read for as long as one likes."""
        if (now := asyncio.get_running_loop().time()) >= self._probed + _PROBE_EVERY:
            self._probed, self._unwritable = now, None
            try:
                await self.writer.call(self.store.probe)
            except Unavailable as problem:
                self._unwritable = str(problem)
        return self._unwritable

    async def start(self) -> None:
        """Begin to write; until `stop` the store belongs to the writer's thread."""
        self.writer.start()
        self._chores.append(asyncio.create_task(self._purge()))
        if self._warm_after is not None:
            self._chores.append(asyncio.create_task(self._warm(self._warm_after)))

    async def stop(self) -> None:
        """Write what waits, then let go of everything."""
        self.stopping = True
        for chore in self._chores:
            chore.cancel()
        await self.writer.stop()
        await self.decoding.stop()
        await self.planning.stop()
        await self.pages.stop()
        await asyncio.to_thread(self.store.close)

    async def _warm(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.decoding.start()

    async def _purge(self) -> None:
        while True:
            day = self.clock.day()
            if self.clock.trusted:
                # What goes wrong is logged by the writer, and there is another hour.
                with contextlib.suppress(Unavailable, DeniableError):
                    await self.writer.call(lambda: self.store.purge(today=day))  # noqa: B023
            await asyncio.sleep(_PURGE_EVERY)


def unknown_survey(digest: str) -> RequestError:
    """The error for a survey that is not here, or not any more."""
    return RequestError(404, "unknown-survey", f"survey {digest[:8]} is not known here", more={"survey": digest})
