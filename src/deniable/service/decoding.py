"""Decoding, in a process of its own: it may take seconds and gigabytes, and no upload waits for it.

The collector starts `python -m deniable.service.decoding`, writes tallies and parameters to it and reads the answer. A
decode that takes too long is killed with its process; the next one starts another.
"""

import asyncio
import contextlib
import csv
import io
import json
import math
import os
import struct
import sys
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.decoders import Constraint, Decoder, Estimate

__all__ = ["CONSTRAINTS", "DECODERS", "FORMATS", "Decoding", "DecodingFailed", "Question"]

DECODERS = ("inversion", "least-squares", "likelihood")
CONSTRAINTS = ("none", "normalized", "projected")
FORMATS = {"json": "application/json", "csv": "text/csv; charset=utf-8", "arrow": "application/vnd.apache.arrow.stream"}
_HEAD = struct.Struct("<BQ")
_DONE, _REFUSED, _FAILED = range(3)


class DecodingFailed(Exception):
    """The process was killed: out of time or memory."""


@dataclass(frozen=True, slots=True)
class Question:
    """How to decode, and in which form to answer."""

    decoder: str | None = None
    constraint: str = "projected"
    candidates: tuple[object, ...] | None = None
    level: float = 0.95
    form: str = "json"


class Decoding:
    """The collector's end: one process, one question at a time."""

    def __init__(self, *, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self._turn: asyncio.Lock | None = None

    async def ask(self, question: Question, tallies: list[bytes]) -> bytes:
        """The answer to a question about one tally, or about the difference of two."""
        self._turn = self._turn or asyncio.Lock()
        async with self._turn:
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._ask(question, tallies)
            except TimeoutError:
                await self.stop()
                raise DecodingFailed(f"decoding must take at most {self._seconds:g} seconds") from None
            except (asyncio.IncompleteReadError, ConnectionError):
                await self.stop()
                raise DecodingFailed("decoding ran out of memory") from None
            except asyncio.CancelledError:
                await self.stop()
                raise

    async def _ask(self, question: Question, tallies: list[bytes]) -> bytes:
        process = self._process
        if process is None or process.returncode is not None:
            pipe = asyncio.subprocess.PIPE
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "deniable.service.decoding", stdin=pipe, stdout=pipe, limit=1 << 26
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

    async def stop(self) -> None:
        """Kill the process, if there is one."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _frame(status: int, body: bytes) -> bytes:
    return _HEAD.pack(status, len(body)) + body


# From here on: the other end of the pipe.


def answer(fields: dict[str, Any], tallies: list[bytes]) -> bytes:
    """Decode what was asked."""
    from deniable.decoders import decode
    from deniable.survey.alphabet import symbol_from_json
    from deniable.tally import Tally

    candidates = fields["candidates"]
    names = None if candidates is None else [symbol_from_json(symbol) for symbol in candidates]
    decoder, constraint = _decoder(fields["decoder"]), _constraint(fields["constraint"])
    estimates = [
        decode(Tally.from_bytes(tally), candidates=names, decoder=decoder, constraint=constraint) for tally in tallies
    ]
    level = fields["level"]
    rows = _rows(estimates[0], level) if len(estimates) == 1 else _changes(estimates[0], estimates[1], level)
    head = _head(estimates, fields)
    return _WRITERS[fields["form"]](head, rows)


def _decoder(name: str | None) -> "Decoder | None":
    from deniable.decoders import Inversion, LeastSquares, Likelihood

    known: dict[str | None, Decoder] = {"inversion": Inversion(), "least-squares": LeastSquares()}
    return (known | {"likelihood": Likelihood()}).get(name)


def _constraint(name: str) -> "Constraint":
    from deniable.decoders import Normalized, Projected, Unconstrained

    known: dict[str, Constraint] = {"none": Unconstrained(), "normalized": Normalized(), "projected": Projected()}
    return known[name]


def _head(estimates: "list[Estimate]", fields: dict[str, Any]) -> dict[str, Any]:
    survey = estimates[-1].tally.survey
    head: dict[str, Any] = {
        "survey": survey.digest,
        "name": survey.name,
        "mechanism": survey.title,
        "epsilon_spent": survey.epsilon_spent,
        "n": estimates[0].n if len(estimates) == 1 else [estimate.n for estimate in estimates],
        "decoder": type(estimates[-1].decoder).__name__,
        "constraint": type(estimates[-1].constraint).__name__,
        "level": fields["level"],
    }
    # What the decoders know about the fit is passed on as it is.
    diagnostics = getattr(estimates[-1], "diagnostics", None)
    return head | ({} if diagnostics is None else {"diagnostics": _plain(diagnostics)})


def _plain(value: Any) -> Any:
    """JSON values of a diagnostics object: its fields, numbers that are not finite as null."""
    if hasattr(value, "to_json"):
        return _plain(value.to_json())
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "__slots__") and not isinstance(value, (int, float, str)):
        return {name: _plain(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, (bool, str)) or value is None:
        return value
    return int(value) if isinstance(value, int) else _finite(float(value))


def _rows(estimate: "Estimate", level: float) -> list[dict[str, Any]]:
    from deniable.errors import DecodeError

    count = len(estimate.symbols)
    try:
        errors, bounds = estimate.standard_errors.tolist(), estimate.intervals(level).tolist()
    except DecodeError:  # too many candidates for error bars: the estimate itself is still good
        errors, bounds = [math.nan] * count, [(math.nan, math.nan)] * count
    columns = (estimate.symbols, estimate.probabilities.tolist(), estimate.raw.tolist(), errors, bounds)
    return [
        {"symbol": symbol, "probability": p, "raw": raw, "standard_error": error, "low": low, "high": high}
        for symbol, p, raw, error, (low, high) in zip(*columns, strict=True)
    ]


def _changes(first: "Estimate", second: "Estimate", level: float) -> list[dict[str, Any]]:
    """How much each share rose from the first range to the second: unconstrained estimates of disjoint reports, so
    their variances add."""
    import numpy as np
    from scipy.special import ndtri

    change = second.raw - first.raw
    error = np.hypot(first.standard_errors, second.standard_errors)
    reach = -float(ndtri((1 - level) / 2)) * error
    columns = (second.symbols, change.tolist(), error.tolist(), (change - reach).tolist(), (change + reach).tolist())
    return [
        {"symbol": symbol, "change": rise, "standard_error": spread, "low": low, "high": high}
        for symbol, rise, spread, low, high in zip(*columns, strict=True)
    ]


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _json(head: dict[str, Any], rows: list[dict[str, Any]]) -> bytes:
    from deniable.survey.alphabet import symbol_to_json

    shown = [
        {name: _finite(value) for name, value in row.items()} | {"symbol": symbol_to_json(row["symbol"])}
        for row in rows
    ]
    return json.dumps(head | {"estimates": shown}, ensure_ascii=False, allow_nan=False).encode()


def _csv(head: dict[str, Any], rows: list[dict[str, Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        symbol = row["symbol"]
        writer.writerow(
            [symbol.hex() if isinstance(symbol, bytes) else symbol, *(_finite(row[n]) for n in list(row)[1:])]
        )
    return out.getvalue().encode()


def _arrow(head: dict[str, Any], rows: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa

    from deniable.survey.alphabet import symbol_to_json

    kinds = {type(row["symbol"]) for row in rows}
    names = [
        row["symbol"] if kinds == {str} else json.dumps(symbol_to_json(row["symbol"]), ensure_ascii=False)
        for row in rows
    ]
    numbers = {name: pa.array([row[name] for row in rows], pa.float64()) for name in list(rows[0])[1:]}
    table = pa.table({"symbol": pa.array(names, pa.string()), **numbers})
    table = table.replace_schema_metadata({"deniable": json.dumps(head, allow_nan=False)})
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
    serve(sys.stdin.buffer, sys.stdout.buffer)
