"""Parsing of uploads: from the body of a request to records of id and packed report, by day.

    application/json            {"reports": [{"id": "<32 hex digits>", "report": "<base64>", "day": 20772}, ...]}
    application/octet-stream    records of 16 bytes id and a packed report, end to end
    the same with ?batch=<id>   packed reports alone, end to end, under one id for all

`?day=` is the day of every report that does not say its own. A malformed request is refused whole, before anything is
written; a malformed report among others is refused by its place.
"""

import binascii
import json
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from deniable.service.entries import Entry, Upload
from deniable.service.problems import RequestError, malformed
from deniable.service.records import CODES, REASONS
from deniable.service.requests import once

MOST_REPORTS = 1 << 16  # reports of a request: as many as one transaction takes (`writer`)
_LAST_DAY = 1 << 20  # days since 1970: the year 4840, which fits a 32-bit column


@dataclass(slots=True)
class Envelope:
    """Uploads, the places of their reports in the request, and the refused reports as (place, id, code)."""

    uploads: list[Upload]
    places: list[list[int]] | None = None
    refused: list[tuple[int, str | None, int]] = field(default_factory=list)


def open_envelope(entry: Entry, kind: bytes, query: bytes, body: bytes, token: str | None) -> Envelope:
    """The uploads in a request, or a `RequestError` that says what is wrong with it."""
    day, batch = _parameters(query) if query else (0, None)
    kind = kind.partition(b";")[0].strip().lower()
    if kind == b"application/octet-stream":
        record = entry.shape.length + (0 if batch is not None else 16)
        if not body or len(body) % record:
            raise malformed(
                f"body must be one or more records of {record} bytes for this survey, got {len(body)} bytes"
            )
        if len(body) > MOST_REPORTS * record:
            raise _too_many(len(body) // record)
        return Envelope([Upload(entry, body, day, batch, token)])
    if kind != b"application/json":
        raise RequestError(
            415, "content-type", "content type must be application/json or application/octet-stream; see /openapi.json"
        )
    if batch is not None:
        raise malformed("batch must be given with application/octet-stream only; JSON reports have ids of their own")
    return _open_json(entry, day, body, token)


def _parameters(query: bytes) -> tuple[int, bytes | None]:
    day, batch = 0, None
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    if len({name for name, _ in pairs}) != len(pairs):
        raise malformed("query must not repeat a parameter")
    for name, value in pairs:
        if name == "day":
            if not (value.isascii() and value.isdecimal() and len(value) < 8 and 0 < int(value) < _LAST_DAY):
                raise malformed("day must be a number of days since 1970-01-01")
            day = int(value)
        elif name == "batch":
            batch = _id(value)
            if batch is None:
                raise malformed("batch must be 32 hexadecimal digits")
        else:
            raise malformed("query must have no parameters but day and batch")
    return day, batch


def _id(text: object) -> bytes | None:
    if not isinstance(text, str) or len(text) != 32:
        return None
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return None
    return found if len(found) == 16 else None  # fromhex skips blanks


def _open_json(entry: Entry, default: int, body: bytes, token: str | None) -> Envelope:
    try:
        # Decoded here: json.loads would guess UTF-16 and UTF-32 too. A field that came twice could hold anything.
        given = json.loads(body.decode("utf-8"), object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise malformed("body must be JSON in UTF-8, in which no field repeats") from None
    if not isinstance(given, dict) or set(given) != {"reports"} or not isinstance(given["reports"], list):
        raise malformed('body must be {"reports": [...]} and nothing else')
    items = given["reports"]
    if not items:
        raise malformed("reports must hold at least one report")
    if len(items) > MOST_REPORTS:
        raise _too_many(len(items))
    length = entry.shape.length
    refused: list[tuple[int, str | None, int]] = []
    by_day: dict[int, tuple[list[bytes], list[int]]] = {}
    for place, item in enumerate(items):
        found = _read(item, default, length)
        if isinstance(found, str):
            name = _id(item.get("id")) if isinstance(item, dict) else None
            refused.append((place, None if name is None else name.hex(), CODES[found]))
            continue
        day, record = found
        records, places = by_day.setdefault(day, ([], []))
        records.append(record)
        places.append(place)
    if not by_day:
        by_day[default] = [], []
    uploads = [Upload(entry, b"".join(records), day, None, token) for day, (records, _) in by_day.items()]
    uploads[0].noted = dict(Counter(REASONS[code] for _, _, code in refused))
    return Envelope(uploads, [places for _, places in by_day.values()], refused)


def _read(item: object, default: int, length: int) -> tuple[int, bytes] | str:
    """The day and the record of one JSON report, or the reason why there is none."""
    if not isinstance(item, dict) or not {"id", "report"} <= set(item) <= {"id", "report", "day"}:
        return "report"  # a field that nobody asked for could hold anything, so such a report is not even counted
    name = _id(item["id"])
    if name is None:
        return "id"
    day = item.get("day", default)
    if type(day) is not int or not (day == default or 0 < day < _LAST_DAY):
        return "day"
    try:
        packed = binascii.a2b_base64(item["report"], strict_mode=True)
    except (ValueError, TypeError):
        return "report"
    return (day, name + packed) if len(packed) == length else "length"


def _too_many(count: int) -> RequestError:
    return RequestError(413, "too-many", f"a request must hold at most {MOST_REPORTS} reports, got {count}; split it")
