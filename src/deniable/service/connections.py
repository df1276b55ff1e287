"""One HTTP connection with time and size limits that uvicorn does not have.

A request that stalls, a head or trailer without an end, an idle connection and an unread response each hold memory or a
connection slot, so each is closed. One timer for each connection checks every `patience` seconds.
"""

import asyncio
import contextlib
import fcntl
import sys
import termios

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

LARGEST_HEAD = 1 << 16  # bytes of the request line and all header fields: far above what browsers send
MOST_FIELDS = 200  # header fields of a request; each costs an object
_SLOWEST = 1024  # bytes a second: least rate at which the other side reads a response between two checks
# Time limit of a whole response: a minute, and a second for each 64 KiB that was read. A weak mobile connection meets
# it. Slower readers of large responses would hold the memory that all responses share.
_GRACE = 60.0  # seconds
_LEAST_RATE = 1 << 16  # bytes a second
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)  # fmt: skip


def _unread(transport: asyncio.Transport) -> int:
    """Bytes that were written and that the other side has not taken, while some of them wait in this process. The
    system's own part is counted with them: it takes more in steps of megabytes, the reader in small ones."""
    size: int = transport.get_write_buffer_size()
    if size:
        with contextlib.suppress(OSError, AttributeError):  # a socket that is closed, or no such socket
            queue = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
            size += int.from_bytes(queue, sys.byteorder)
    return size


class _TooLarge(Exception):
    """The head of a request exceeds `LARGEST_HEAD` or `MOST_FIELDS`."""


def guarded(
    *, patience: float, body_limit: int, idle: float = 75.0, grace: float = _GRACE, least_rate: float = _LEAST_RATE
) -> type[HttpToolsProtocol]:
    """The protocol of a connection whose requests have `patience` seconds to arrive, and `idle` between two of them. An
    answer must be read at `least_rate` bytes a second on average, from `grace` seconds on."""
    # A body of one-byte chunks is six times its size; what goes on after that is no request.
    largest = 8 * body_limit + 2 * LARGEST_HEAD

    class Protocol(HttpToolsProtocol):
        """See the module."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._heard = self._began = self._free = self.loop.time()
            self._in_head = self._in_message = self._has_body = self._too_large = False
            self._size = self._head = self._unread = self._held = self._taken = 0
            self._slow_since: float | None = None  # when the present answer had to wait for its reader first
            self._written = False  # all of that answer
            self._cycles: list[RequestResponseCycle] = []
            self._watch = self.loop.call_later(patience, self._look)

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            self._heard = self.loop.time()
            begun = self._in_message
            super().data_received(data)
            if not self._in_message or self.transport.is_closing():
                return
            self._size = self._size + len(data) if begun else 0
            if self._in_head and (self._size > LARGEST_HEAD or len(self.headers) > MOST_FIELDS):
                self._refuse()
            elif self._size > largest or len(self.headers) > MOST_FIELDS:
                self.transport.close()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._in_head = self._in_message = True
            self._has_body = False
            self._head = 0
            self._began = self.loop.time()

        def on_url(self, url: bytes) -> None:
            self._head += len(url)
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._head += len(name) + len(value) + 4
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._in_head = False
            # Again, of what came in one read: nothing of it is acted on.
            if self._head > LARGEST_HEAD or len(self.headers) > MOST_FIELDS:
                self._too_large = True
                raise _TooLarge
            super().on_headers_complete()
            if self.cycle is not None:
                self._cycles = [*(cycle for cycle in self._cycles if not cycle.response_complete), self.cycle]

        def send_400_response(self, msg: str) -> None:
            """Called by the parser's caller for what is no request, and for what we have refused."""
            if self._too_large:
                self._refuse()
            else:
                super().send_400_response(msg)

        def _refuse(self) -> None:
            if not self._answering():  # between the parts of another answer nothing can be said
                self.transport.write(_TOO_LARGE)
            self.transport.close()

        def on_body(self, body: bytes) -> None:
            self._has_body = True
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._in_message = False
            super().on_message_complete()

        def on_response_complete(self) -> None:
            self._free = self.loop.time()
            self._written = True
            super().on_response_complete()

        def pause_writing(self) -> None:
            self._held = _unread(self.transport)
            if self._slow_since is None:
                self._slow_since, self._taken, self._written = self.loop.time(), 0, False
            super().pause_writing()

        def resume_writing(self) -> None:
            self._taken += self._held - _unread(self.transport)
            self._held = self._unread = 0  # what was written has been read
            if self._written:
                self._slow_since = None
            super().resume_writing()

        def _unsteady(self, now: float) -> bool:
            """Whether an answer is read too slowly: since the last look, or all in all."""
            left = _unread(self.transport)
            if self._unread and left > max(self._unread - _SLOWEST * patience, 0):
                return True
            taken = self._taken + max(self._held - left, 0)
            return self._slow_since is not None and taken < least_rate * (now - self._slow_since - grace)

        def _answering(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _look(self) -> None:
            now = self.loop.time()
            # A connection that is being closed waits for the reader of what was written.
            if self._unsteady(now) or (not self.transport.is_closing() and self._over(now)):
                self.transport.abort()
                return
            self._unread = _unread(self.transport)
            self._watch = self.loop.call_later(patience, self._look)

        def _over(self, now: float) -> bool:
            silent, since, answering = now - self._heard, now - self._began, self._answering()
            if self._in_message:
                if self._in_head or (answering and not self._has_body):
                    return since >= patience
                if not answering:  # answered before it ended: time to read that, and no more
                    return since >= 3 * patience
                # The rest of a body is timed by whoever reads it, but only while something comes.
                return silent >= patience
            # From the connect or the last answer on, whatever comes: line breaks before a request are no request.
            return not answering and now - self._free >= (patience if self.cycle is None else max(patience, idle))

        def connection_lost(self, exc: Exception | None) -> None:
            self._watch.cancel()
            # Of requests that came one after the other the server tells the last that nobody is there. The others would
            # go on writing to a connection that is closed, each with a traceback in the log.
            for cycle in self._cycles:
                cycle.disconnected = True
                cycle.message_event.set()
            super().connection_lost(exc)

    return Protocol
