"""The process that decodes: `Decoding` starts it, asks one question at a time through its pipes, and kills it at will.

Not to be confused with `decoding`, the collector's end, which must not load NumPy. This end loads everything before the
first question comes, so that whoever asks first does not wait for it.
"""

import contextlib
import io
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from deniable.decoders import decode, difference
from deniable.decoders.rows import DifferenceRows, EstimateRows, Rows
from deniable.decoders.strategies import constraint_of, decoder_of
from deniable.errors import DeniableError
from deniable.service.decoding import DONE, FAILED, HEAD, REFUSED, frame
from deniable.survey import krr, orr
from deniable.survey.alphabet import symbol_from_json
from deniable.tally import Tally

__all__ = ["answer", "load", "serve"]


def answer(fields: dict[str, Any], tallies: list[bytes]) -> bytes:
    """Decode what was asked: one tally, or how the second differs from the first."""
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
    rows: Rows
    if len(estimates) == 1:
        rows = EstimateRows(estimates[0], **options, patient=False)
    else:
        rows = DifferenceRows(difference(estimates[1], estimates[0]), **options)
    about = dict(fields["about"])
    if about.pop("order", "size") == "own":
        rows = rows.in_own_order()
    return _WRITERS[fields["form"]](rows, about)


def _json(rows: Rows, about: dict[str, Any]) -> bytes:
    return json.dumps(rows.to_json() | about, ensure_ascii=False, allow_nan=False).encode()


def _csv(rows: Rows, about: dict[str, Any]) -> bytes:
    out = io.StringIO()
    rows.write_csv(out, about)
    return out.getvalue().encode()


def _arrow(rows: Rows, about: dict[str, Any]) -> bytes:
    table = rows.to_arrow()
    known = json.loads(table.schema.metadata[b"deniable"])
    table = table.replace_schema_metadata({"deniable": json.dumps(known | about, allow_nan=False)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


_WRITERS = {"json": _json, "csv": _csv, "arrow": _arrow}


def load() -> None:
    """Decode two small tallies, which loads what the decoders load late."""
    closed, hashed = krr(symbols=3, epsilon=1), orr(epsilon=1, cells=4, cohorts=2, seed=bytes(16))
    EstimateRows(decode(Tally(closed, [[5, 3, 2]]))).to_json()
    EstimateRows(decode(Tally(hashed, [[5, 3, 2, 2]] * 2), candidates=["a", "b", "c"])).to_json()


def _receive(source: BinaryIO) -> bytes | None:
    head = source.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    return source.read(HEAD.unpack(head)[1])


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer questions until the collector is gone."""
    while (question := _receive(source)) is not None:
        fields = json.loads(question)
        tallies = [_receive(source) or b"" for _ in range(fields["tallies"])]
        try:
            reply = frame(DONE, answer(fields, tallies))
        except DeniableError as problem:
            reply = frame(REFUSED, str(problem).encode())
        except MemoryError:
            reply = frame(REFUSED, b"candidates must fit into memory; name fewer")
        except Exception:
            reply = frame(FAILED, traceback.format_exc().encode())
        sink.write(reply)
        sink.flush()


if __name__ == "__main__":
    os.nice(10)  # uploads come first
    with contextlib.suppress(OSError):  # where memory runs out, this is what goes, and not the collector
        Path("/proc/self/oom_score_adj").write_text("1000")
    load()
    serve(sys.stdin.buffer, sys.stdout.buffer)
