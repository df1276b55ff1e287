"""Decoding, in a process of its own: it may take seconds and gigabytes, and no upload waits for it.

The collector starts `python -m deniable.service.decoding`, writes tallies and parameters to it and reads the answer. A
decode that takes too long is killed with its process; the next one starts another.
"""

import asyncio
import contextlib
import io
import json
import os
import struct
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.decoders.rows import Rows

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
_HEAD = struct.Struct("<BQ")
_DONE, _REFUSED, _FAILED = range(3)
_MOST_WAITING = 32


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
    """The collector's end: one process, one question at a time."""

    def __init__(self, *, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self._turn: asyncio.Lock | None = None
        self._waiting = 0

    async def ask(self, question: Question, tallies: list[bytes]) -> bytes:
        """The answer to a question about one tally, or about the difference of two."""
        self._turn = self._turn or asyncio.Lock()
        if self._waiting >= _MOST_WAITING:
            raise DecodingFailed(f"at most {_MOST_WAITING} questions must wait to be decoded; ask again later")
        self._waiting += 1
        try:
            return await self._in_turn(self._turn, question, tallies)
        finally:
            self._waiting -= 1

    async def _in_turn(self, turn: asyncio.Lock, question: Question, tallies: list[bytes]) -> bytes:
        async with turn:
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._ask(question, tallies)
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

    async def _ask(self, question: Question, tallies: list[bytes]) -> bytes:
        process = self._process
        if process is None or process.returncode is not None:
            pipe = asyncio.subprocess.PIPE
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable, *_program(), stdin=pipe, stdout=pipe, limit=1 << 26
            )
        assert process.stdin is not None
        assert process.stdout is not None
        fields = {name: getattr(question, name) for name in Question.__slots__}
        process.stdin.write(_frame(_DONE, json.dumps(fields | {"tallies": len(tallies)}).encode()))
        for tally in tallies:
            process.stdin.write(_frame(_DONE, tally))
        await process.stdin.drain()
        status, size = _HEAD.unpack(await process.stdout.readexactly(_HEAD.size))
        body = await process.stdout.readexactly(size)
        if status == _REFUSED:
            raise DeniableError(body.decode())
        if status == _FAILED:
            raise RuntimeError(f"decoding failed:\n{body.decode()}")
        return body

    async def forget(self) -> None:
        """A survey was deleted: end the process that may have seen its counts, unless somebody waits for it."""
        if not self._waiting:
            await self.stop()

    async def stop(self) -> None:
        """Kill the process, if there is one."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _program() -> list[str]:
    """Not from the directory that the collector happens to run in (-P)."""
    return ["-P", "-m", "deniable.service.decoding"]


def _frame(status: int, body: bytes) -> bytes:
    return _HEAD.pack(status, len(body)) + body


# From here on: the other end of the pipe.


def answer(fields: dict[str, Any], tallies: list[bytes]) -> bytes:
    """Decode what was asked: one tally, or how the second differs from the first."""
    from deniable.decoders import decode, difference
    from deniable.decoders.rows import DifferenceRows, EstimateRows
    from deniable.decoders.strategies import constraint_of, decoder_of
    from deniable.survey.alphabet import symbol_from_json
    from deniable.tally import Tally

    candidates = fields["candidates"]
    names = None if candidates is None else [symbol_from_json(symbol) for symbol in candidates]
    estimates = [
        decode(
            Tally.from_bytes(tally),
            candidates=names,
            decoder=decoder_of(fields["decoder"]),
            constraint=constraint_of(fields["constraint"]),
            complete=fields["complete"],
        )
        for tally in tallies
    ]
    options = {name: fields[name] for name in ("level", "simultaneous", "top")}
    if len(estimates) == 1:
        return _WRITERS[fields["form"]](EstimateRows(estimates[0], **options, patient=False), fields["about"])
    return _WRITERS[fields["form"]](DifferenceRows(difference(estimates[1], estimates[0]), **options), fields["about"])


def _json(rows: "Rows", about: dict[str, Any]) -> bytes:
    return json.dumps(rows.to_json() | about, ensure_ascii=False, allow_nan=False).encode()


def _csv(rows: "Rows", about: dict[str, Any]) -> bytes:
    out = io.StringIO()
    rows.write_csv(out)
    return out.getvalue().encode()


def _arrow(rows: "Rows", about: dict[str, Any]) -> bytes:
    import pyarrow as pa

    table = rows.to_arrow()
    known = json.loads(table.schema.metadata[b"deniable"])
    table = table.replace_schema_metadata({"deniable": json.dumps(known | about, allow_nan=False)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


_WRITERS = {"json": _json, "csv": _csv, "arrow": _arrow}


def _receive(source: BinaryIO) -> bytes | None:
    head = source.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    return source.read(_HEAD.unpack(head)[1])


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer questions until the collector is gone."""
    while (question := _receive(source)) is not None:
        fields = json.loads(question)
        tallies = [_receive(source) or b"" for _ in range(fields["tallies"])]
        try:
            reply = _frame(_DONE, answer(fields, tallies))
        except DeniableError as problem:
            reply = _frame(_REFUSED, str(problem).encode())
        except MemoryError:
            reply = _frame(_REFUSED, b"candidates must fit into memory; name fewer")
        except Exception:
            reply = _frame(_FAILED, traceback.format_exc().encode())
        sink.write(reply)
        sink.flush()


if __name__ == "__main__":
    os.nice(10)  # uploads come first
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with contextlib.suppress(OSError):  # where memory runs out, this is what goes, and not the collector
        Path("/proc/self/oom_score_adj").write_text("1000")
    serve(sys.stdin.buffer, sys.stdout.buffer)
