"""A request as the handlers see it: path parts, parameters, a bounded body, a bearer token. No address, no agent."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from deniable.service.problems import RequestError

__all__ = ["Receive", "Request", "Room", "Scope", "Send", "bearer", "header", "once", "read_body"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def header(scope: Scope, name: bytes) -> bytes:
    """A header's value, or nothing."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


def bearer(scope: Scope) -> str | None:
    """The token of `Authorization: Bearer ...`, or None."""
    scheme, _, secret = header(scope, b"authorization").partition(b" ")
    if scheme.lower() != b"bearer" or not secret.strip():
        return None
    return secret.strip().decode("utf-8", "surrogateescape")


class Room:
    """Bytes that unfinished bodies may hold, all of them together: many slow ones must not fill the memory."""

    def __init__(self, size: int = 1 << 26) -> None:
        self.left = size

    def take(self, size: int) -> None:
        if size > self.left:
            raise RequestError(503, "busy", "too many bodies are on their way; send the same bytes again", retry=2)
        self.left -= size


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, for `object_pairs_hook`; a field that comes twice is read differently by different readers.

    >>> once([("day", 1)])
    {'day': 1}
    """
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("fields must not repeat")
    return found


async def read_body(scope: Scope, receive: Receive, *, limit: int, seconds: float, room: Room) -> bytes:
    """The body, if it is no longer than `limit` and all of it comes within `seconds`, while there is `room`.

    Nearly every body is there with its head, and a timer for each would cost more than the rest of this function; so
    the server watches for the first part of a body (see `server`), and here only the others are timed.
    """
    message = _connected(await receive())
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        if len(body) > limit:
            raise _too_large(limit)
        return body
    length = header(scope, b"content-length")
    if length.isdigit() and int(length) > limit:
        raise _too_large(limit)
    whole, held = bytearray(body), 0
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    try:
        while True:
            if len(whole) > limit:
                raise _too_large(limit)
            room.take(len(whole) - held)
            held = len(whole)
            if not message.get("more_body"):
                return bytes(whole)
            message = await _next(receive, end - loop.time())
            whole += message.get("body", b"")
    finally:
        room.left += held


async def _next(receive: Receive, seconds: float) -> Message:
    try:
        async with asyncio.timeout(seconds):
            return _connected(await receive())
    except TimeoutError:
        raise RequestError(408, "slow", "the body must arrive sooner; nothing was taken, send it again") from None


def _connected(message: Message) -> Message:
    if message["type"] == "http.disconnect":
        raise RequestError(400, "disconnected", "the body must arrive whole; nothing was taken, send it again")
    return message


def _too_large(limit: int) -> RequestError:
    return RequestError(413, "too-large", f"body must be at most {limit} bytes; split it")


@dataclass(slots=True)
class Request:
    """What a handler of the slower routes gets."""

    method: str
    parts: dict[str, str]
    query: dict[str, str]
    body: bytes
    admin: bool

    @classmethod
    def parameters(cls, raw: bytes, known: frozenset[str]) -> dict[str, str]:
        """The query, which must hold known names, each once."""
        try:
            pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict")
        except ValueError:
            raise RequestError(400, "malformed", "query must be percent-encoded UTF-8") from None
        found = dict(pairs)
        if len(found) != len(pairs):
            raise RequestError(400, "malformed", "query must not repeat a parameter")
        if unknown := sorted(set(found) - known):
            raise RequestError(
                400, "malformed", f"query must not have the parameter {unknown[0][:40]!r}; see /openapi.json"
            )
        return found
