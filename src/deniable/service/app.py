"""The ASGI application: routes, roles, and the few things that every answer shares.

A route names the least role that may use it: anyone (`public`), the holder of a survey's read token or anyone where its
rules say so (`read`), the holder of its owner token, who asked the question (`owner`), or the administrator (`admin`).
Uploads take their own short way.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from deniable.errors import DeniableError
from deniable.service import admin, results, trend
from deniable.service.clock import Clock
from deniable.service.decoding import Decoding
from deniable.service.entries import Entry
from deniable.service.health import Health
from deniable.service.metrics import Metrics
from deniable.service.openapi import document
from deniable.service.pages import Pages
from deniable.service.planning import Planning
from deniable.service.problems import Answer, Headers, RequestError, Unavailable, problem
from deniable.service.requests import Receive, Request, Room, Scope, Send, bearer, read_body
from deniable.service.store import Store
from deniable.service.tokens import hash_of, one_of, same
from deniable.service.uploads import Deleted, Uploads
from deniable.service.writer import Writer

__all__ = ["ROUTES", "App", "Route"]

_log = logging.getLogger("deniable.service")
_UPLOAD = re.compile(r"/v1/surveys/([0-9a-f]{64})/reports")
_SURVEY = "/v1/surveys/{digest}"
_PURGE_EVERY = 3600.0
# Nobody on the way keeps a copy of results or tokens, and no browser takes a symbol for a page.
_PLAIN: Headers = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path: its name, who may use it, and its parameters."""

    name: str
    method: str
    path: str
    role: str
    parameters: frozenset[str] = frozenset()

    @property
    def pattern(self) -> "re.Pattern[str]":
        return re.compile(self.path.replace("{digest}", "(?P<digest>[0-9a-f]{64})").replace(
            "{token}", "(?P<token>[0-9a-f]{16})"
        ))  # fmt: skip


ROUTES = (
    Route("health", "GET", "/healthz", "public"),
    Route("ready", "GET", "/readyz", "public"),
    Route("openapi", "GET", "/openapi.json", "public"),
    Route("metrics", "GET", "/metrics", "admin"),
    Route("collector", "GET", "/v1/collector", "public"),
    Route("plan", "POST", "/v1/plan", "admin"),
    Route("list", "GET", "/v1/surveys", "admin"),
    Route("create", "POST", "/v1/surveys", "admin"),
    Route("survey", "GET", _SURVEY, "public"),
    Route("change", "PATCH", _SURVEY, "owner"),
    Route("delete", "DELETE", _SURVEY, "owner"),
    Route("close", "POST", _SURVEY + "/close", "owner"),
    Route("reopen", "POST", _SURVEY + "/reopen", "owner"),
    Route("upload", "POST", _SURVEY + "/reports", "upload", frozenset({"day", "batch"})),
    Route("tokens", "GET", _SURVEY + "/tokens", "admin"),
    Route("add_token", "POST", _SURVEY + "/tokens", "admin"),
    Route("drop_token", "DELETE", _SURVEY + "/tokens/{token}", "admin"),
    Route("counters", "GET", _SURVEY + "/counters", "admin"),
    Route("windows", "GET", _SURVEY + "/windows", "read"),
    Route("tally", "GET", _SURVEY + "/tally", "read", results.RANGE),
    Route("estimate", "GET", _SURVEY + "/estimate", "read", results.PARAMETERS),
    Route("estimate_post", "POST", _SURVEY + "/estimate", "read"),
    Route("trend", "GET", _SURVEY + "/trend", "read", trend.PARAMETERS),
    Route("trend_post", "POST", _SURVEY + "/trend", "read"),
    Route("difference", "GET", _SURVEY + "/difference", "read", results.PARAMETERS | results.SECOND),
    Route("difference_post", "POST", _SURVEY + "/difference", "read"),
)
_PATTERNS = [(route, route.pattern) for route in ROUTES]


class App:
    """The collector as an ASGI application. `admin_token` is the administrator's secret; only its hash is kept.

    `warm_after` is how many seconds after its start it loads what the first reader of results would wait for.
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
        backlog: int = 1 << 19,
        public_url: str | None = None,
        warm_after: float | None = None,
    ) -> None:
        self.store, self.clock, self.metrics = store, clock or Clock(), Metrics()
        self.writer = Writer(store, self.clock, backlog=backlog)
        self.decoding = Decoding(seconds=decode_seconds)
        self.planning, self.pages = Planning(seconds=decode_seconds), Pages()
        self.stopping, self.public_url = False, public_url
        self._admin = hash_of(admin_token)
        self._limit, self._seconds = body_limit, body_seconds
        self._room, self._reading = Room(max(1 << 26, body_limit)), Health("read")
        self._uploads = Uploads(self.writer, self.metrics, limit=body_limit, seconds=body_seconds, room=self._room)
        self._entries: dict[str, Entry] = {}
        self._common: Headers = [] if origins is None else [(b"access-control-allow-origin", origins.encode())]
        self._upload_headers: Headers = [(b"content-type", b"application/json"), *self._common]
        self._warm_after = warm_after
        self._chores: list[asyncio.Task[None]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            if scope["method"] == "POST" and (found := _UPLOAD.fullmatch(scope["path"])):
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
                await self._send(send, "preflight", self._preflight(scope["path"]))
                return
            if (page := await self.pages.answer(scope, self._known)) is not None:
                await self._send(send, "page", page, body=scope["method"] != "HEAD")
                return
            route, parts = self._route(scope["method"], scope["path"])
            name = route.name
            entry, is_admin = await self._allow(route, parts, bearer(scope))
            query = Request.parameters(scope["query_string"], route.parameters)
            body = b""
            if route.method in ("POST", "PATCH"):
                body = await read_body(scope, receive, limit=self._limit, seconds=self._seconds, room=self._room)
            request = Request(route.method, parts, query, body, is_admin)
            answer = await self._handle(route, entry, request)
        except RequestError as error:
            page = self.pages.missing(scope) if error.word == "unknown-path" else None
            answer = page or problem(error)
        except Unavailable as error:
            answer = problem(_unavailable(error))
        except Exception:
            answer = self._bug()
        await self._send(send, name, answer, body=scope["method"] != "HEAD")

    def _route(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        wanted = "GET" if method == "HEAD" else method
        allowed = []
        for route, pattern in _PATTERNS:
            if found := pattern.fullmatch(path):
                if route.method == wanted:
                    return route, found.groupdict()
                allowed.append(route.method)
        if allowed:
            raise RequestError(405, "method", f"method must be one of {', '.join(sorted(allowed))} here")
        raise RequestError(404, "unknown-path", "there is nothing here; see /openapi.json")

    async def _allow(self, route: Route, parts: dict[str, str], secret: str | None) -> tuple[Entry | None, bool]:
        """The survey of the path, if whoever asks may use the route, and whether it is the administrator. Who may not
        learns nothing else."""
        is_admin = secret is not None and same(self._admin, secret)
        if route.role == "admin" and not is_admin:
            raise _refusal(secret, "the administrator's token")
        if route.role == "owner" and not is_admin:
            owned = None if secret is None else await self._read(lambda: self.store.entry(parts["digest"]))
            if owned is None or not await self._holds(owned, secret, "owner"):
                raise _refusal(secret, "the administrator's token or an owner token of this survey")
            return owned, True
        entry = await self._entry(parts["digest"]) if "digest" in parts else None
        if route.role == "read" and not is_admin:
            assert entry is not None
            # Whoever asked the question reads as the administrator does, who could: windows as they grow.
            if await self._holds(entry, secret, "owner"):
                return entry, True
            if entry.rules.results != "public" and not await self._holds(entry, secret, "read"):
                raise _refusal(secret, "a read token of this survey")
        return entry, is_admin

    async def _holds(self, entry: Entry, secret: str | None, kind: str) -> bool:
        if secret is None:
            return False
        tokens, hashed = await self._read(lambda: self.store.tokens(entry)), hash_of(secret)
        return one_of((token.hash for token in tokens if token.kind == kind), hashed)

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
            "counters": lambda: self._read(lambda: results.counters(store, known, request)),
            "windows": lambda: self._read(lambda: results.windows(store, known, request, self.clock.settled())),
            "tally": lambda: self._read(lambda: results.tally(store, known, request, self.clock.settled())),
            "estimate": lambda: self._estimate(known, request),
            "trend": lambda: trend.trend(self.store, self.decoding, known, request, self.clock.settled()),
            "difference": lambda: self._difference(known, request),
        }
        return await handlers[route.name.removesuffix("_post")]()

    async def _health(self) -> Answer:
        return Answer.json({"status": "alive"})

    async def _ready(self) -> Answer:
        broken = getattr(self.store, "broken", None)
        if self.stopping or broken is not None:
            raise RequestError(503, "not-ready", broken or "the collector is stopping", retry=5)
        await self._read(self.store.name)
        return Answer.json({"status": "ready", "clock": "trusted" if self.clock.trusted else "jumped"})

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
        return Answer.json(admin.shown(entry, self.clock.minutes()))

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

    async def _estimate(self, entry: Entry, request: Request) -> Answer:
        question, ranges = results.question_of(request)
        found = await self._range(entry, request, ranges["from"], ranges["to"])
        return await results.estimate(self.decoding, question, [found])

    async def _difference(self, entry: Entry, request: Request) -> Answer:
        question, ranges = results.question_of(request)
        first, last = ranges["against_from"], ranges["against_to"]
        ends, starts = results.hours_of(last, ranges["from"])
        if ends is None or starts is None or ends > starts:
            raise RequestError(
                400, "malformed", "against_to and from must be given, and the earlier range must end before the later"
            )
        earlier = await self._range(entry, request, first, last)
        later = await self._range(entry, request, ranges["from"], ranges["to"])
        return await results.estimate(self.decoding, question, [earlier, later])

    async def _range(self, entry: Entry, request: Request, first: str | None, last: str | None) -> results.Part:
        now = self.clock.settled()
        return await self._read(lambda: results.read_range(self.store, entry, first, last, request.admin, now))

    # What every answer shares.
    def _preflight(self, path: str) -> Answer:
        methods = sorted({route.method for route, pattern in _PATTERNS if pattern.fullmatch(path)})
        if not methods:
            raise RequestError(404, "unknown-path", "there is nothing here; see /openapi.json")
        headers: Headers = [
            (b"access-control-allow-methods", ", ".join(methods).encode()),
            (b"access-control-allow-headers", b"authorization, content-type"),
            (b"access-control-max-age", b"86400"),
        ]
        return Answer(204, b"", headers=headers)

    def _bug(self) -> Answer:
        _log.exception("a request failed")
        return problem(RequestError(500, "bug", "the collector failed; its log says why. Nothing was acknowledged"))

    async def _send(self, send: Send, route: str, answer: Answer, *, body: bool = True) -> None:
        self.metrics.requests[route, answer.status] += 1
        headers = [*self._common, *_PLAIN, *answer.headers]
        if answer.status not in (204, 304):
            headers += [(b"content-type", answer.kind), (b"content-length", b"%d" % len(answer.body))]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body if body else b""})

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


def _refusal(secret: str | None, wanted: str) -> RequestError:
    if secret is None:
        return RequestError(401, "token-missing", f"this must carry {wanted} as Authorization: Bearer")
    return RequestError(403, "token-refused", f"the token must be {wanted}")
