"""The ASGI application: from a request to the handler of its route, and the few things that every answer shares.

Uploads take their own short way.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from deniable.errors import DeniableError
from deniable.service import admin, results
from deniable.service.clock import Clock
from deniable.service.decoding import Decoding
from deniable.service.entries import Entry
from deniable.service.health import Health
from deniable.service.metrics import Metrics
from deniable.service.openapi import document
from deniable.service.pages import Pages
from deniable.service.planning import Planning
from deniable.service.problems import Answer, Headers, RequestError, Unavailable, problem
from deniable.service.requests import Gone, Receive, Request, Room, Scope, Send, bearer, read_body, while_connected
from deniable.service.roles import Roles
from deniable.service.routes import UPLOAD, Route, find, preflight
from deniable.service.store import Store
from deniable.service.uploads import Deleted, Uploads
from deniable.service.writer import Writer

__all__ = ["App"]

_log = logging.getLogger("deniable.service")
_PURGE_EVERY = 3600.0
_PROBE_EVERY = 5.0  # seconds between two looks whether the store can be written
# Nobody on the way keeps a copy of results or tokens, and no browser takes a symbol for a page.
_NOT_KEPT = (b"cache-control", b"no-store")
_PLAIN = (b"x-content-type-options", b"nosniff")
_SMALL, _PIECE = 1 << 16, 1 << 18  # bytes of an answer that is sent as one, and of a piece of a larger one
# What may take long and nobody else needs: it ends when whoever asked is gone.
_PATIENT = frozenset({"plan", "tally", "estimate", "trend", "difference"})
_R = TypeVar("_R")


class App:
    """The collector as an ASGI application. `admin_token` is the administrator's secret; only its hash is kept.

    `warm_after` is how many seconds after its start it loads what the first reader of results would wait for. Whoever
    sends reports without a token may send `open_batch` in a request and, where the survey has no rate of its own, all
    of them together `open_rate` a second (None: as many as they like).
    """

    def __init__(
        self,
        store: Store,
        *,
        admin_token: str,
        clock: Clock | None = None,
        origins: str | None = "*",
        body_limit: int = 1 << 20,
        body_seconds: float = 10.0,
        decode_seconds: float = 60.0,
        decode_memory: int = 1 << 32,
        open_batch: int = 500,
        open_rate: int | None = 1000,
        backlog: int = 1 << 19,
        public_url: str | None = None,
        warm_after: float | None = None,
    ) -> None:
        self.store, self.clock, self.metrics = store, clock or Clock(), Metrics()
        self.writer = Writer(store, self.clock, backlog=backlog)
        self.decoding = Decoding(store.where, seconds=decode_seconds, memory=decode_memory)
        self.planning, self.pages = Planning(seconds=decode_seconds), Pages()
        self.stopping, self.public_url = False, public_url
        self._roles = Roles(admin_token, store, self._read, self._entry)
        self._answers = Room(1 << 28, "too many large answers are on their way; ask again later")
        self._results = results.Results(self.writer, self.clock, self.decoding, self._read, self._answers)
        self._probed = -_PROBE_EVERY
        self._writable: str | None = None
        self._limit, self._seconds = body_limit, body_seconds
        self._room, self._reading = Room(max(1 << 26, body_limit)), Health("read")
        self._uploads = Uploads(
            self.writer, self.metrics, limit=body_limit, seconds=body_seconds, room=self._room,
            batch=open_batch, rate=open_rate,
        )  # fmt: skip
        self._entries: dict[str, Entry] = {}
        self._common: Headers = [] if origins is None else [(b"access-control-allow-origin", origins.encode())]
        self._upload_headers: Headers = [(b"content-type", b"application/json"), *self._common]
        self._warm_after = warm_after
        self._chores: list[asyncio.Task[None]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            if scope["method"] == "POST" and (found := UPLOAD.fullmatch(scope["path"])):
                await self._upload(found[1], scope, receive, send)
            else:
                await self._other(scope, receive, send)

    # Uploads.
    async def _upload(self, digest: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            entry = self._entries.get(digest)
            if entry is None or (entry.rules.closes is not None and entry.ended(self.clock.minutes())):
                entry = await self._entry(digest)
            body = await self._uploads.take(entry, scope, receive)
        except Deleted as gone:
            await self._send(send, "upload", problem(await self._deleted(gone.entry)))
            return
        except RequestError as error:
            if error.word == "closed":
                self._entries.pop(digest, None)
            await self._send(send, "upload", problem(error))
            return
        except Unavailable as error:
            await self._send(send, "upload", problem(_unavailable(error)))
            return
        except Exception:
            await self._send(send, "upload", self._bug())
            return
        self.metrics.requests["upload", 200] += 1
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 200, "headers": [*self._upload_headers, length]})
        await send({"type": "http.response.body", "body": body})

    async def _entry(self, digest: str) -> Entry:
        """A survey by its digest; an open one is kept in memory for uploads. It may be closed, changed or deleted, by
        another collector too: every transaction looks whether it was."""
        entry = await self._read(lambda: self.store.entry(digest))
        if entry is None:
            raise RequestError(404, "unknown-survey", f"survey {digest[:8]} is not known here", more={"survey": digest})
        if not entry.ended(self.clock.minutes()):
            self._entries[digest] = entry
        return entry

    async def _known(self, digest: str) -> bool:
        """Whether there is such a survey; where the store does not answer, its page may try."""
        with contextlib.suppress(Unavailable):
            return digest in self._entries or await self._read(lambda: self.store.entry(digest)) is not None
        return True

    async def _deleted(self, entry: Entry) -> RequestError:
        """What to say of an upload whose survey was deleted on its way. One that was registered anew since then takes
        it at the next try: devices discard what an unknown survey refuses."""
        self._forget(entry)
        try:
            await self._entry(entry.survey.digest)
        except RequestError as error:
            return error
        except Unavailable as error:
            return _unavailable(error)
        return RequestError(503, "unavailable", "the survey was registered anew; send the same bytes again", retry=1)

    def _forget(self, entry: Entry) -> None:
        """Keep nothing in memory of a survey that was deleted."""
        self._entries.pop(entry.survey.digest, None)
        self._uploads.forget(entry)

    # Everything else.
    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = "unknown"
        try:
            if scope["method"] == "OPTIONS":
                await self._send(send, "preflight", preflight(scope["path"]))
                return
            if (page := await self.pages.answer(scope, self._known)) is not None:
                await self._send(send, "page", page, body=scope["method"] != "HEAD")
                return
            route, parts = find(scope["method"], scope["path"])
            name = route.name
            entry, role = await self._roles.allow(route, parts, bearer(scope))
            query = Request.parameters(scope["query_string"], route.parameters)
            body = b""
            if route.method in ("POST", "PATCH"):
                body = await read_body(scope, receive, limit=self._limit, seconds=self._seconds, room=self._room)
            request = Request(route.method, parts, query, body, role == "admin", role == "public")
            if route.name.removesuffix("_post") in _PATIENT:
                answer = await while_connected(receive, self._handle(route, entry, request))
            else:
                answer = await self._handle(route, entry, request)
        except Gone:
            return
        except RequestError as error:
            page = self.pages.missing(scope) if error.word == "unknown-path" else None
            answer = page or problem(error)
        except Unavailable as error:
            answer = problem(_unavailable(error))
        except Exception:
            answer = self._bug()
        try:
            await self._send(send, name, answer, body=scope["method"] != "HEAD")
        except RequestError as error:  # no room to hold it, and nothing was sent
            await self._send(send, name, problem(error))

    async def _read(self, work: Callable[[], _R]) -> _R:
        try:
            found = await asyncio.to_thread(work)
        except Unavailable as problem:
            self._reading.bad(problem)
            raise
        self._reading.good()
        return found

    async def _handle(self, route: Route, entry: Entry | None, request: Request) -> Answer:
        store = self.store
        if entry is None:
            plain: dict[str, Callable[[], Awaitable[Answer]]] = {
                "health": self._health,
                "ready": self._ready,
                "openapi": self._openapi,
                "metrics": self._metrics,
                "collector": self._collector,
                "plan": lambda: self.planning.answer(request.body),
                "list": lambda: self._read(lambda: admin.list_surveys(store, self.clock.minutes())),
                "create": lambda: self._create(request),
            }
            return await plain[route.name]()
        known = entry
        handlers: dict[str, Callable[[], Awaitable[Answer]]] = {
            "survey": lambda: self._survey(known),
            "change": lambda: self._put(known, "changed", lambda now: admin.change(store, known, request, now)),
            "close": lambda: self._put(known, "closed", lambda now: admin.close(store, known, request, now)),
            "reopen": lambda: self._put(known, "reopened", lambda now: admin.reopen(store, known, now)),
            "delete": lambda: self._delete(known),
            "tokens": lambda: self._read(lambda: admin.list_tokens(store, known, request)),
            "add_token": lambda: self.writer.call(lambda: admin.add_token(store, known, request)),
            "drop_token": lambda: self._drop_token(known, request),
            "counters": lambda: self._read(lambda: results.counters(store, known)),
            "windows": lambda: self._results.windows(known, request),
            "tally": lambda: self._results.tally(known, request),
            "estimate": lambda: self._results.estimate(known, request),
            "trend": lambda: self._results.trend(known, request),
            "difference": lambda: self._results.difference(known, request),
        }
        return await handlers[route.name.removesuffix("_post")]()

    async def _health(self) -> Answer:
        return Answer.json({"status": "alive"})

    async def _ready(self) -> Answer:
        broken = getattr(self.store, "broken", None)
        if self.stopping or broken is not None:
            raise RequestError(503, "not-ready", broken or "the collector is stopping", retry=5)
        await self._read(self.store.name)
        if (now := asyncio.get_running_loop().time()) >= self._probed + _PROBE_EVERY:
            self._probed = now
            self._writable = await self._probe()
        if self._writable is not None:
            raise RequestError(503, "not-ready", self._writable, retry=5)
        return Answer.json({"status": "ready", "clock": "trusted" if self.clock.trusted else "jumped"})

    async def _probe(self) -> str | None:
        """Why the store cannot be written, or None if it can: a full disk can be read for as long as one likes."""
        try:
            await self.writer.call(self.store.probe)
        except Unavailable as problem:
            return str(problem)
        return None

    async def _openapi(self) -> Answer:
        return Answer.json(document())

    async def _collector(self) -> Answer:
        return Answer.json({"public_url": self.public_url})

    async def _metrics(self) -> Answer:
        known = set(self.metrics.names)
        for digest, name in (await self._read(lambda: self.store.names(known))).items():
            self.metrics.name(digest, name)
        gauges = {
            "deniable_waiting_reports": float(self.writer.waiting),
            "deniable_open_ids": float(await self._read(self.store.open_ids)),
            "deniable_store_ready": float(getattr(self.store, "broken", None) is None),
            "deniable_clock_trusted": float(self.clock.trusted),
        }
        return Answer(200, self.metrics.text(gauges).encode(), b"text/plain; version=0.0.4; charset=utf-8")

    async def _create(self, request: Request) -> Answer:
        answer, entry = await self.writer.call(lambda: admin.create(self.store, request, self.clock.minutes()))
        if answer.status == 201:
            _log.info("survey", extra={"fields": {"event": "created", "survey": entry.survey.digest}})
        return answer

    async def _survey(self, entry: Entry) -> Answer:
        return Answer(200, admin.shown_as_json(entry, self.clock.minutes()))

    async def _put(self, entry: Entry, event: str, work: Callable[[int], Entry]) -> Answer:
        """Put another state of a survey in place of the one before."""
        found = await self.writer.call(lambda: work(self.clock.minutes()))
        self._entries.pop(entry.survey.digest, None)
        _log.info("survey", extra={"fields": {"event": event, "survey": entry.survey.digest}})
        return Answer.json(admin.shown(found, self.clock.minutes()))

    async def _delete(self, entry: Entry) -> Answer:
        answer = await self.writer.call(lambda: admin.delete(self.store, entry))
        self._forget(entry)
        await self.decoding.forget()
        _log.info("survey", extra={"fields": {"event": "deleted", "survey": entry.survey.digest}})
        return answer

    async def _drop_token(self, entry: Entry, request: Request) -> Answer:
        answer = await self.writer.call(lambda: admin.drop_token(self.store, entry, request))
        self._uploads.forget_tokens()
        return answer

    # What every answer shares.
    def _bug(self) -> Answer:
        _log.exception("a request failed")
        return problem(RequestError(500, "bug", "the collector failed; its log says why. Nothing was acknowledged"))

    async def _send(self, send: Send, route: str, answer: Answer, *, body: bool = True) -> None:
        self.metrics.requests[route, answer.status] += 1
        kept = any(name == b"cache-control" for name, _ in answer.headers)
        headers = [*self._common, *([] if kept else [_NOT_KEPT]), _PLAIN, *answer.headers]
        if answer.status not in (204, 304):
            headers += [(b"content-type", answer.kind), (b"content-length", b"%d" % len(answer.body))]
        start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        if not body or len(answer.body) <= _SMALL:
            await send(start)
            await send({"type": "http.response.body", "body": answer.body if body else b""})
            return
        with self._answers.held() as held:
            held.take(len(answer.body))
            await send(start)
            # In pieces, each when the one before is on its way: what nobody reads is held here, where it is counted.
            for place in range(0, len(answer.body), _PIECE):
                piece = answer.body[place : place + _PIECE]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    # Start and stop.
    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})

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
        self.pages.start()

    async def _purge(self) -> None:
        while True:
            day = self.clock.day()
            if self.clock.trusted:
                # What goes wrong is logged by the writer, and there is another hour.
                with contextlib.suppress(Unavailable, DeniableError):
                    await self.writer.call(lambda: self.store.purge(today=day))  # noqa: B023
            await asyncio.sleep(_PURGE_EVERY)


def _unavailable(error: Unavailable) -> RequestError:
    return RequestError(503, "unavailable", f"the store does not answer: {error}", retry=2)
