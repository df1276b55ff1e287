"""Decoding in a separate process: it may take seconds and gigabytes, and no upload waits for it.

The collector starts `python -m deniable.service.worker`, tells it the store, the windows and the parameters, and reads
the answer. Counts never pass through the collector: whoever asks waits for the process first, and it alone reads them.
A decode that takes too long, or that nobody waits for any more, is killed with its process; the next one starts
another. Answers are kept by what was asked and by the counters of the windows, so that a page which asks again decodes
only what has grown.
"""

import asyncio
import hashlib
import json
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from deniable.errors import DeniableError
from deniable.service.children import FAILED, REFUSED, Child
from deniable.service.clock import label
from deniable.service.entries import Entry
from deniable.service.models import CrosstabRequest, Decoded, DiscoverRequest
from deniable.service.problems import Unavailable

UNAVAILABLE, CHANGED, UNFINISHED = 3, 4, 5  # statuses of an answer, after those of every child
SPENT = 0x80  # added to a status: the process has grown large, and is to be ended
_COMMON = ("question", "candidates", "level", "simultaneous", "top")
_SENT = (*_COMMON, "decoder", "constraint", "complete", "order", "turnover", "change")
_SEARCHED = (*_COMMON, "alphabet", "prefixes", "most", "resume")
_TABULATED = ("question", "candidates", "level", "rows", "columns")
_SEARCHING = 0.75  # of the time that a question has, for a search: it says where it was before the process is killed
_MOST_WAITING, _MOST_PUBLIC = 32, 24  # questions that wait, and how many of them may come without a token
_MOST_KEPT = 1 << 25  # bytes of answers that are kept


class DecodingFailed(Exception):
    """No answer: out of time or memory, or too many wait for one."""


class SearchGaveUp(Exception):
    """A search reached its limit of time or candidates; `resume` is where it can go on."""

    def __init__(self, sentence: str, resume: dict[str, Any]) -> None:
        super().__init__(sentence)
        self.resume = resume


@dataclass(frozen=True, slots=True)
class Part:
    """Windows to decode together, as spans of hours; how many reports they have, and a digest of their counters, by
    which it is known whether they have grown."""

    spans: tuple[tuple[int, int], ...]
    reports: int
    state: str = ""

    def about(self, prefix: str = "") -> dict[str, str]:
        """The range in words, by the names of the parameters."""
        return {f"{prefix}from": label(self.spans[0][0]), f"{prefix}to": label(self.spans[-1][1])}

    def __add__(self, later: "Part") -> "Part":
        return Part(self.spans + later.spans, self.reports + later.reports, f"{self.state}+{later.state}")


class Turn:
    """One at a time, in order; whoever has a token goes before those who have none."""

    def __init__(self) -> None:
        self._busy = False
        self._queues: tuple[deque[asyncio.Future[None]], deque[asyncio.Future[None]]] = deque(), deque()

    @asynccontextmanager
    async def taken(self, *, public: bool) -> AsyncIterator[None]:
        """Wait for the turn, and have it."""
        if self._busy:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queues[public].append(waiting)
            try:
                await waiting
            except asyncio.CancelledError:
                if waiting.done() and not waiting.cancelled():  # it came, and nobody is there to take it
                    self._next()
                raise
        self._busy = True
        try:
            yield
        finally:
            self._next()

    def _next(self) -> None:
        for queue in self._queues:
            while queue:
                if not (waiting := queue.popleft()).done():
                    waiting.set_result(None)
                    return
        self._busy = False


class Decoding(Child):
    """The collector's end: one process, one question at a time, and the answers that were given last.

    A question has `seconds`, a quarter of them where whoever asks has no token. The process may have `memory` bytes.
    """

    def __init__(self, where: str, *, seconds: float = 60.0, memory: int = 1 << 32) -> None:
        super().__init__("deniable.service.worker", str(memory))
        self._where, self._seconds = where, seconds
        self._turn = Turn()
        self._waiting = self._public = 0
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()  # answers, those last asked for at the end
        self._size = 0  # bytes of all of them

    async def start(self) -> None:
        """Start the process before anybody asks: it takes a moment to load."""
        async with self._turn.taken(public=False):
            with suppress(TimeoutError, asyncio.IncompleteReadError, ConnectionError):  # whoever asks is told
                await self._running()

    async def ask(
        self,
        given: Decoded,
        entry: Entry,
        parts: Sequence[Part],
        *,
        form: str = "json",
        about: Mapping[str, str] | None = None,
        public: bool = False,
        even: bool = False,
    ) -> bytes:
        """One part of a survey decoded, or the difference of two, in a form that `worker` can write; `about` is said
        along with it. With `even` nothing tells how many reports single windows have."""
        seconds = self._seconds / 4 if public else self._seconds
        if isinstance(given, DiscoverRequest):
            most = _SEARCHING * seconds
            asked = {name: getattr(given, name) for name in _SEARCHED}
            asked["seconds"] = most if given.seconds is None else min(given.seconds, most)
        elif isinstance(given, CrosstabRequest):
            asked = {name: getattr(given, name) for name in _TABULATED}
        else:
            asked = {name: getattr(given, name) for name in _SENT}
        asked |= {"form": form, "about": about or {}, "survey": entry.survey.digest, "key": entry.key, "even": even}
        told = json.dumps([asked, [[part.spans, part.state] for part in parts]]).encode()
        key = hashlib.sha256(told).digest()
        if (known := self._known(key)) is not None:
            return known
        if self._waiting >= _MOST_WAITING:
            raise DecodingFailed(f"at most {_MOST_WAITING} questions must wait to be decoded; ask again later")
        if public and self._public >= _MOST_PUBLIC:
            raise DecodingFailed(f"at most {_MOST_PUBLIC} questions without a token must wait; ask again later")
        asked |= {"store": self._where, "parts": [[part.spans, part.reports] for part in parts]}
        self._waiting += 1
        self._public += public
        kept = self._kept
        try:
            async with self._turn.taken(public=public):
                if (known := self._known(key)) is not None:  # somebody else asked the same meanwhile
                    return known
                found = await self._in_turn(json.dumps(asked).encode(), seconds)
        finally:
            self._waiting -= 1
            self._public -= public
        if kept is self._kept:  # else a survey was deleted meanwhile, which may be this one
            self._keep(key, found)
        return found

    def _known(self, key: bytes) -> bytes | None:
        if (known := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
        return known

    def _keep(self, key: bytes, found: bytes) -> None:
        """Keep an answer, and forget those that nobody has asked for the longest where there are too many bytes."""
        if key in self._kept or len(found) > _MOST_KEPT // 8:
            return
        self._kept[key] = found
        self._size += len(found)
        while self._size > _MOST_KEPT:
            self._size -= len(self._kept.popitem(last=False)[1])

    async def _in_turn(self, message: bytes, seconds: float) -> bytes:
        try:
            status, body = await self._exchange(message, seconds)
        except TimeoutError:
            raise DecodingFailed(f"decoding must take at most {seconds:g} seconds; name fewer candidates") from None
        except (asyncio.IncompleteReadError, ConnectionError):
            raise DecodingFailed("decoding ran out of memory; name fewer candidates") from None
        if status & SPENT:
            await self.stop()
        status &= ~SPENT
        if status == REFUSED:
            sentence, reason = json.loads(body)
            raise DeniableError(sentence).because(reason)
        if status == UNAVAILABLE:
            raise Unavailable(*json.loads(body))
        if status == UNFINISHED:
            raise SearchGaveUp(*json.loads(body))
        if status == CHANGED:
            raise DecodingFailed("reports of this range were just deleted; ask again")
        if status == FAILED:
            raise RuntimeError(f"decoding failed:\n{body.decode()}")
        return body

    async def forget(self) -> None:
        """A survey was deleted: forget all answers, and end the process that may have seen its counts, unless somebody
        waits for it."""
        self._kept, self._size = OrderedDict(), 0
        if not self._waiting:
            await self.stop()
