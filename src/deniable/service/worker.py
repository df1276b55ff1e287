"""The process that decodes: `Decoding` starts it, asks one question at a time through its pipes, and kills it at will.

Not to be confused with `decoding`, the collector's end. This end loads everything before the first question comes, so
that whoever asks first does not wait for it; it reads the counts itself, so that they are in no other memory.
"""

import contextlib
import io
import json
import os
import resource
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from deniable.decoders import (
    Beginnings,
    DifferenceRows,
    EstimateRows,
    MarginalEstimate,
    MarginalRows,
    ResultRows,
    constraint_of,
    decode,
    decoder_of,
    difference,
    discover,
    plain_cell,
)
from deniable.errors import DeniableError, UnfinishedSearch
from deniable.service.backends import read_store
from deniable.service.children import DONE, FAILED, REFUSED, answer_messages
from deniable.service.clock import label
from deniable.service.cross_tables import cross_table
from deniable.service.decoding import CHANGED, SPENT, UNAVAILABLE, UNFINISHED
from deniable.service.entries import Entry
from deniable.service.following import tracked_lines
from deniable.service.form_records import evened
from deniable.service.problems import Unavailable
from deniable.service.store import Store
from deniable.survey import NO_ANSWER, krr, orr, symbol_from_json
from deniable.tally import FormTally, Tally

_LONGEST = 1 << 28  # bytes of an answer, which the collector holds until it is read
_LARGE = 1 << 29  # bytes: after a question that took more, the memory goes back with the process


class _Changed(Exception):
    """Reports that were there when the question was asked are not."""


class _Source:
    """The store and the survey that were asked for last."""

    def __init__(self) -> None:
        self._where: str | None = None
        self._store: Store | None = None
        self._entry: Entry | None = None

    def tally(self, fields: dict[str, Any], spans: list[list[int]], reports: int) -> Tally:
        """The sum of some spans of windows, which have so many reports or more."""
        if self._store is None or self._where != fields["store"]:
            self._where, self._store = fields["store"], read_store(fields["store"])
        if self._entry is None or self._entry.key != fields["key"]:
            self._entry = self._store.entry(fields["survey"])
        if self._entry is None or self._entry.key != fields["key"]:
            raise _Changed
        found = self._store.tally(self._entry, *spans[0])
        for span in spans[1:]:
            found += self._store.tally(self._entry, *span)
        if found.n < reports:
            raise _Changed
        if not fields["even"]:
            return found
        return evened(found, _evened) if isinstance(found, FormTally) else _evened(found)


def _evened(tally: Tally) -> Tally:
    """The tally with windows of equal size: readers see no window below the minimum, and so not how large it was.

    Error bars allow for no less: of all windows that add up to so many reports, equal ones share most.
    """
    sizes = tally.windows or ()
    if len(sizes) < 2:
        return tally
    each, more = divmod(tally.n, len(sizes))
    windows = [each + (place < more) for place in range(len(sizes))]
    return Tally(tally.survey, tally.counts, tally.reports, windows=windows)


def answer(fields: dict[str, Any], source: _Source) -> bytes:
    """Decode what was asked: one part, how the second differs from the first, or all of them tracked."""
    parts = [(spans, reports) for spans, reports in fields["parts"]]
    if fields["form"] == "tally":
        return source.tally(fields, *parts[0]).to_bytes()
    if "rows" in fields:
        return cross_table(fields, [source.tally(fields, *part) for part in parts])
    if fields["question"] is not None:
        return of_question(fields, [source.tally(fields, *part) for part in parts])
    if "most" in fields:
        return _searched(fields, source.tally(fields, *parts[0]))
    return _decoded(fields, [source.tally(fields, *part) for part in parts])


def of_question(fields: dict[str, Any], tallies: Sequence[Any]) -> bytes:
    """The same of one question of a form, which is a survey like any other; of a related pair both have one tally."""
    name = fields["question"]
    for tally in tallies:
        if not isinstance(tally, FormTally):
            raise DeniableError("question must be left out where a survey has one question")
    part = tallies[0].form.part_of(name)
    told = fields | {"question": None}
    if fields["form"] == "json":
        told["about"] = fields["about"] | {"survey": tallies[0].form.digest}
    if part.questions[0].skip and part.survey.alphabet.is_open and fields["candidates"] is not None:
        told["candidates"] = list(dict.fromkeys([*fields["candidates"], NO_ANSWER]))  # it is an answer like any other
    own = [tally[name] for tally in tallies]
    if any(tally.n == 0 for tally in own):
        raise DeniableError(f"question {name!r} must have answers to be decoded, got none in this range").because(
            "empty"
        )
    if len(part.questions) > 1:
        if len(own) > 1 or fields["form"] not in _WRITERS or "most" in fields:
            raise DeniableError("a question that is related to another must be asked for its estimate in one range")
        place = [question.name for question in part.questions].index(name)
        estimate = MarginalEstimate(decode(own[0], **_settings(fields)), part, place)
        return _WRITERS[fields["form"]](_rows(MarginalRows(estimate, **_shown(fields)), fields), told["about"])
    return _searched(told, own[0]) if "most" in fields else _decoded(told, own)


def _decoded(fields: dict[str, Any], tallies: Sequence[Any]) -> bytes:
    candidates = fields["candidates"]
    names = None if candidates is None else [symbol_from_json(symbol) for symbol in candidates]
    if fields["form"] == "track":
        labels = [label(spans[0][0]) for spans, _ in fields["parts"]]
        options = {name: fields[name] for name in ("turnover", "change", "level", "top")}
        return tracked_lines(labels, tallies, candidates=names, **options)
    if isinstance(tallies[0], FormTally):
        return _form(tallies, fields, names)
    estimates = [decode(tally, candidates=names, **_settings(fields)) for tally in tallies]
    rows: ResultRows
    if len(estimates) == 1:
        rows = EstimateRows(estimates[0], **_shown(fields), patient=False)
    else:
        rows = DifferenceRows(difference(estimates[1], estimates[0]), **_shown(fields))
    return _WRITERS[fields["form"]](_rows(rows, fields), fields["about"])


def _settings(fields: dict[str, Any]) -> dict[str, Any]:
    """How to decode."""
    return {
        "decoder": decoder_of(fields["decoder"]),
        "constraint": constraint_of(fields["constraint"]),
        "complete": fields["complete"],
        "turnover": fields["turnover"],
        "change": fields["change"],
    }


def _shown(fields: dict[str, Any]) -> dict[str, Any]:
    """Which rows are wanted, and with which intervals."""
    return {name: fields[name] for name in ("level", "simultaneous", "top")}


def _rows(rows: ResultRows, fields: dict[str, Any]) -> ResultRows:
    return rows.in_own_order() if fields["order"] == "own" else rows


def _searched(fields: dict[str, Any], tally: Tally) -> bytes:
    """What people wrote, in a tally of a survey that discovers text."""
    resume = None if fields["resume"] is None else Beginnings.from_json(fields["resume"])
    options = {name: fields[name] for name in ("alphabet", "prefixes", "candidates", "level", "most", "seconds")}
    found = discover(tally, resume=resume, **options)
    rows = EstimateRows(found, **_shown(fields))
    return _WRITERS[fields["form"]](rows, fields["about"])


def _form(tallies: Sequence[Any], fields: dict[str, Any], names: list[Any] | None) -> bytes:
    """The estimates of a form, question by question."""
    if len(tallies) > 1 or fields["form"] not in ("json", "csv", "arrow"):
        raise DeniableError(
            "a form must be asked for its estimate in one range; download its tallies for anything else"
        )
    if names is not None:
        raise DeniableError("candidates must not be given for a form; download its tally and decode it with a list")
    found = decode(tallies[0], **_settings(fields))
    if fields["form"] == "json":
        told = json.loads(found.to_json(fields["level"])) | fields["about"]
        return json.dumps(told, ensure_ascii=False, allow_nan=False).encode()
    table = found.to_arrow(fields["level"])
    sink = io.BytesIO()
    if fields["form"] == "csv":
        cells = [plain_cell(symbol) for symbol in table["symbol"].to_pylist()]
        csv.write_csv(table.set_column(1, "symbol", [cells]), sink)
        return sink.getvalue()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _json(rows: ResultRows, about: dict[str, Any]) -> bytes:
    return json.dumps(rows.to_json() | about, ensure_ascii=False, allow_nan=False).encode()


def _csv(rows: ResultRows, about: dict[str, Any]) -> bytes:
    out = io.StringIO()
    rows.write_csv(out, about)
    return out.getvalue().encode()


def _arrow(rows: ResultRows, about: dict[str, Any]) -> bytes:
    table = rows.to_arrow()
    known = json.loads(table.schema.metadata[b"deniable"])
    table = table.replace_schema_metadata({"deniable": json.dumps(known | about, allow_nan=False)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _window(rows: ResultRows, about: dict[str, Any]) -> bytes:
    """A window of a trend."""
    told = rows.to_json()
    found = {"start": about["from"], "end": about["to"], "n": told["n"], "estimates": told["estimates"]}
    found |= {"figures": told["figures"]} if "figures" in told else {}
    return json.dumps(found, ensure_ascii=False, allow_nan=False).encode()


_WRITERS = {"json": _json, "csv": _csv, "arrow": _arrow, "window": _window}


def load() -> None:
    """Decode two small tallies, which loads what the decoders load late."""
    closed, hashed = krr(symbols=3, epsilon=1), orr(epsilon=1, cells=4, cohorts=2, seed=bytes(16))
    EstimateRows(decode(Tally(closed, [[5, 3, 2]]))).to_json()
    EstimateRows(decode(Tally(hashed, [[5, 3, 2, 2]] * 2), candidates=["a", "b", "c"])).to_json()


def _peak() -> int:
    """The most bytes of memory that this process has had. Not `ru_maxrss`, which begins with what the collector had
    when it started us; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def _reply(question: bytes, source: _Source) -> tuple[int, bytes]:
    """Status and body of the answer, and whether the process has grown large."""
    status, body = _judged(question, source)
    return status | (SPENT if _peak() > _LARGE else 0), body


def _refused(sentence: str, reason: str | None) -> tuple[int, bytes]:
    return REFUSED, json.dumps([sentence, reason]).encode()


def _judged(question: bytes, source: _Source) -> tuple[int, bytes]:
    try:
        found = answer(json.loads(question), source)
        if len(found) > _LONGEST:
            return _refused(f"an answer must be at most {_LONGEST} bytes, got {len(found)}; name fewer symbols", "many")
        return DONE, found
    except Unavailable as problem:
        return UNAVAILABLE, json.dumps([str(problem), problem.detail]).encode()
    except _Changed:
        return CHANGED, b""
    except UnfinishedSearch as problem:
        return UNFINISHED, json.dumps([str(problem), problem.beginnings.to_json()]).encode()
    except DeniableError as problem:
        return _refused(str(problem), problem.reason)
    except MemoryError:
        return _refused("candidates must fit into memory; name fewer", "many")
    except Exception:
        return FAILED, traceback.format_exc().encode()


if __name__ == "__main__":
    os.nice(10)  # uploads come first
    with contextlib.suppress(OSError):  # where memory runs out, this is what goes, and not the collector
        Path("/proc/self/oom_score_adj").write_text("1000")
    most = int(sys.argv[1])
    with contextlib.suppress(OSError, ValueError):  # a limit that is there already and lower stays
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    load()
    answer_messages(partial(_reply, source=_Source()))
