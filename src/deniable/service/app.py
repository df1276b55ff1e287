"""The ASGI application: dispatches a request to the handler of its route, and adds the common headers.

Uploads bypass the table of routes.
"""

import logging
from typing import Any

from deniable.service.answers import Answer, problem
from deniable.service.collector import Collector
from deniable.service.entries import Entry
from deniable.service.inputs import read_json, read_query
from deniable.service.models import Input
from deniable.service.problems import RequestError, Unavailable
from deniable.service.requests import Gone, Receive, Scope, Send, bearer, read_body, while_connected
from deniable.service.routes import ROUTES, UPLOAD
from deniable.service.routing import Route
from deniable.service.uploads import Deleted

_log = logging.getLogger("deniable.service")
# No cache keeps results or tokens, and no browser guesses another content type (a symbol may look like HTML).
_NOT_KEPT = (b"cache-control", b"no-store")
_JSON = (b"content-type", b"application/json")
_PLAIN = (b"x-content-type-options", b"nosniff")
_SMALL, _PIECE = 1 << 16, 1 << 18  # bytes of an answer that is sent as one, and of a piece of a larger one


class App(Collector):
    """The collector as an ASGI application."""

    table = ROUTES

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
                entry = await self.entry(digest)
            body = await self._uploads.take(entry, scope, receive)
        except Deleted as gone:
            await self._send(send, "upload", await self._deleted(gone.entry))
            return
        except Exception as error:
            if isinstance(error, RequestError) and error.word == "closed":
                self._entries.pop(digest, None)
            await self._send(send, "upload", _refusal(error))
            return
        self.metrics.requests["upload", 200] += 1
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 200, "headers": [_JSON, *self._common, length]})
        await send({"type": "http.response.body", "body": body})

    async def _deleted(self, entry: Entry) -> Answer[Any]:
        """What to say of an upload whose survey was deleted on its way. One that was registered anew since then takes
        it at the next try: devices discard what an unknown survey refuses."""
        self.forget(entry)
        try:
            await self.entry(entry.survey.digest)
        except (RequestError, Unavailable) as error:
            return _refusal(error)
        anew = "the survey was registered anew; send the same bytes again"
        return problem(RequestError(503, "unavailable", anew, retry=1))

    # Everything else.
    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: Answer[Any]
        name, whole = "unknown", scope["method"] != "HEAD"
        try:
            if scope["method"] == "OPTIONS":
                answer, name = self.router.preflight(scope["path"]), "preflight"
            elif (page := await self.pages.answer(scope, self.frames)) is not None:
                answer, name = page, "page"
            else:
                route, parts = self.router.find(scope["method"], scope["path"])
                name = route.name
                answer = await self._answer(route, parts, scope, receive)
        except Gone:
            return
        except Exception as error:
            missing = isinstance(error, RequestError) and error.word == "unknown-path"
            answer = (self.pages.missing(scope) if missing else None) or _refusal(error)
        try:
            await self._send(send, name, answer, whole=whole)
        except RequestError as error:  # no room to hold it, and nothing was sent
            await self._send(send, name, problem(error))

    async def _answer(self, route: Route, parts: dict[str, str], scope: Scope, receive: Receive) -> Answer[Any]:
        entry, role = await self._roles.allow(route, parts, bearer(scope))
        given: Input | None = read_query(route.query, scope["query_string"])
        if route.takes_body:
            limit, seconds = self.options.body_limit, self.options.patience
            body = await read_body(scope, receive, limit=limit, seconds=seconds, room=self._bodies)
            given = None if route.body is None else read_json(route.body, body)
        work = route.answered(self, given=given, entry=entry, role=role, token=parts.get("token"))
        return await (while_connected(receive, work) if route.ends_with_caller else work)

    # What every answer shares.
    async def _send(self, send: Send, route: str, answer: Answer[Any], *, whole: bool = True) -> None:
        self.metrics.requests[route, answer.status] += 1
        kept = any(name == b"cache-control" for name, _ in answer.headers)
        headers = [*self._common, *([] if kept else [_NOT_KEPT]), _PLAIN, *answer.headers]
        if answer.status not in (204, 304):
            headers += [(b"content-type", answer.kind), (b"content-length", b"%d" % len(answer.body))]
        start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        if not whole or len(answer.body) <= _SMALL:
            await send(start)
            await send({"type": "http.response.body", "body": answer.body if whole else b""})
            return
        with self.answers.held() as held:
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


def _refusal(error: Exception) -> Answer[Any]:
    """The answer to a request that failed."""
    if isinstance(error, Unavailable):
        error = RequestError(503, "unavailable", f"the store does not answer: {error}", retry=2)
    if not isinstance(error, RequestError):
        _log.error("a request failed", exc_info=error)
        error = RequestError(500, "bug", "the collector failed; its log says why. Nothing was acknowledged")
    return problem(error)
