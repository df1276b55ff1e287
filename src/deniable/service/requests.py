"""Reading a request: headers, a bearer token, a body within limits. Network address and user agent are not read."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TypeVar

from deniable.service.problems import RequestError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
_T = TypeVar("_T")


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
    """Bytes that unfinished bodies, or answers that nobody has read yet, may hold, all of them together: many slow ones
    must not fill the memory. `sentence` is for whoever comes when they do."""

    def __init__(
        self, size: int = 1 << 26, sentence: str = "too many bodies are on their way; send the same bytes again"
    ) -> None:
        self.left = size
        self._sentence = sentence

    def take(self, size: int) -> None:
        if size > self.left:
            raise RequestError(503, "busy", self._sentence, retry=2)
        self.left -= size

    @contextmanager
    def held(self) -> "Iterator[Held]":
        """What one answer holds, given back at the end."""
        held = Held(self)
        try:
            yield held
        finally:
            self.left += held.size


class Held:
    """What one answer holds of a `Room`."""

    def __init__(self, room: Room) -> None:
        self._room, self.size = room, 0

    def take(self, size: int) -> None:
        self._room.take(size)
        self.size += size


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, for `object_pairs_hook`; a field that comes twice is read differently by different readers.

    >>> once([("day", 1)])
    {'day': 1}
    """
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("fields must not repeat")
    return found


class Gone(Exception):
    """Whoever asked has closed the connection."""


async def while_connected(receive: Receive, work: Coroutine[Any, Any, _T]) -> _T:
    """Do some work, and stop when nobody waits for it any more. The body of the request has been read."""
    task = asyncio.create_task(work)
    watch = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait((task, watch), return_when=asyncio.FIRST_COMPLETED)
        if not task.done() and watch.result():
            raise Gone
        return await task
    finally:
        for each in (task, watch):
            if not each.done():
                each.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await each


async def _left(receive: Receive) -> bool:
    """Wait until the connection is closed; False where that cannot be known."""
    for _ in range(2):  # the rest of a body that nobody read, and then nothing else
        if (await receive())["type"] == "http.disconnect":
            return True
    return False


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
    whole = bytearray(body)
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    with room.held() as held:
        while True:
            if len(whole) > limit:
                raise _too_large(limit)
            held.take(len(whole) - held.size)
            if not message.get("more_body"):
                return bytes(whole)
            message = await _next(receive, end - loop.time())
            whole += message.get("body", b"")


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
