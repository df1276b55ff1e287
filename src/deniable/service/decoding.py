"""Decoding, in a process of its own: it may take seconds and gigabytes, and no upload waits for it.

The collector starts `python -m deniable.service.worker`, writes tallies and parameters to it and reads the answer. A
decode that takes too long is killed with its process; the next one starts another. Answers are kept by what was asked
and by the bytes of the tallies, so that a page which asks again decodes only what has grown.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import struct
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from deniable.errors import DeniableError

__all__ = ["CONSTRAINTS", "DECODERS", "FORMATS", "Decoding", "DecodingFailed", "Question"]

# The names of `decoders.strategies`, which this process must not load.
DECODERS = (
    "empirical-bayes",
    "empirical-bayes-ordered",
    "inversion",
    "least-squares",
    "weighted-least-squares",
    "likelihood",
    "screening",
)
CONSTRAINTS = ("none", "normalized", "projected")
FORMATS = {"json": "application/json", "csv": "text/csv; charset=utf-8", "arrow": "application/vnd.apache.arrow.stream"}
HEAD = struct.Struct("<BQ")  # of a message through a pipe: its status, and the bytes that follow
DONE, REFUSED, FAILED = range(3)
_MOST_WAITING = 32
_MOST_KEPT = 1 << 25  # bytes of answers that are kept


class DecodingFailed(Exception):
    """No answer: out of time or memory, or too many wait for one."""


@dataclass(frozen=True, slots=True)
class Question:
    """How to decode, and in which form to answer; None leaves the choice to `decode`. `about` is said along with it."""

    decoder: str | None = None
    constraint: str | None = None
    candidates: tuple[object, ...] | None = None
    complete: bool = False
    level: float = 0.95
    simultaneous: bool = False
    top: int | None = None
    form: str = "json"
    about: dict[str, Any] = field(default_factory=dict)


class Decoding:
    """The collector's end: one process, one question at a time, and the answers that were given last."""

    def __init__(self, *, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()  # answers, those last asked for at the end
        self._size = 0  # bytes of all of them

    async def start(self) -> None:
        """Start the process before anybody asks: it takes a moment to load."""
        async with self._turn:
            await self._running()

    async def ask(self, question: Question, tallies: list[bytes]) -> bytes:
        """The answer to a question about one tally, or about the difference of two."""
        messages = [json.dumps({**_fields(question), "tallies": len(tallies)}).encode(), *tallies]
        key = hashlib.sha256(b"".join(frame(DONE, message) for message in messages)).digest()
        if (known := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return known
        if self._waiting >= _MOST_WAITING:
            raise DecodingFailed(f"at most {_MOST_WAITING} questions must wait to be decoded; ask again later")
        self._waiting += 1
        kept = self._kept
        try:
            found = await self._in_turn(messages)
        finally:
            self._waiting -= 1
        if kept is self._kept:  # else a survey was deleted meanwhile, which may be this one
            self._keep(key, found)
        return found

    def _keep(self, key: bytes, found: bytes) -> None:
        """Keep an answer, and forget those that nobody has asked for the longest where there are too many bytes."""
        if key in self._kept or len(found) > _MOST_KEPT // 8:
            return
        self._kept[key] = found
        self._size += len(found)
        while self._size > _MOST_KEPT:
            self._size -= len(self._kept.popitem(last=False)[1])

    async def _in_turn(self, messages: list[bytes]) -> bytes:
        async with self._turn:
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._ask(messages)
            except TimeoutError:
                await self.stop()
                raise DecodingFailed(
                    f"decoding must take at most {self._seconds:g} seconds; name fewer candidates"
                ) from None
            except (asyncio.IncompleteReadError, ConnectionError):
                await self.stop()
                raise DecodingFailed("decoding ran out of memory; name fewer candidates") from None
            except asyncio.CancelledError:
                await self.stop()
                raise

    async def _running(self) -> asyncio.subprocess.Process:
        process = self._process
        if process is None or process.returncode is not None:
            pipe = asyncio.subprocess.PIPE
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable, *_program(), stdin=pipe, stdout=pipe, limit=1 << 26, env=_environment()
            )
        return process

    async def _ask(self, messages: list[bytes]) -> bytes:
        process = await self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            process.stdin.write(frame(DONE, message))
        await process.stdin.drain()
        status, size = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
        body = await process.stdout.readexactly(size)
        if status == REFUSED:
            raise DeniableError(body.decode())
        if status == FAILED:
            raise RuntimeError(f"decoding failed:\n{body.decode()}")
        return body

    async def forget(self) -> None:
        """A survey was deleted: forget all answers, and end the process that may have seen its counts, unless somebody
        waits for it."""
        self._kept, self._size = OrderedDict(), 0
        if not self._waiting:
            await self.stop()

    async def stop(self) -> None:
        """Kill the process, if there is one."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _fields(question: Question) -> dict[str, Any]:
    return {name: getattr(question, name) for name in Question.__slots__}


def _program() -> list[str]:
    """Not from the directory that the collector happens to run in (-P)."""
    return ["-P", "-m", "deniable.service.worker"]


def _environment() -> dict[str, str]:
    """One thread for linear algebra, unless somebody has said otherwise: uploads come first."""
    return {"OPENBLAS_NUM_THREADS": "1", **os.environ}


def frame(status: int, body: bytes) -> bytes:
    """A message as it goes through a pipe."""
    return HEAD.pack(status, len(body)) + body
