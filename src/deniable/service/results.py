"""Results: windows, tallies, estimates and differences, for whoever may read them.

Everyone but the administrator, who holds the store anyway, sees windows that have ended, joined until each has the
survey's minimum of reports; ranges begin and end between those. So any two results that such a reader can get differ by
the minimum or more: neither asking again and again nor taking one range from another shows single reports.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from deniable.errors import DeniableError
from deniable.service.clock import hour_of, label, window_end
from deniable.service.decoding import CONSTRAINTS, DECODERS, FORMATS, Decoding, DecodingFailed, Question
from deniable.service.entries import Entry
from deniable.service.problems import Answer, RequestError
from deniable.service.requests import Request, once
from deniable.service.store import Store
from deniable.survey import strict_json
from deniable.tally import Tally

__all__ = ["PARAMETERS", "RANGE", "SECOND", "Part", "blocks", "counters", "estimate", "hours_of", "tally", "windows"]

RANGE = frozenset({"from", "to"})
SECOND = frozenset({"against_from", "against_to"})
PARAMETERS = RANGE | {
    "decoder", "constraint", "candidates", "complete", "level", "simultaneous", "top", "order", "format",
}  # fmt: skip
_MOST_CANDIDATES = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """The tally of a range, and the hours that it begins at and ends before, where they are bounded."""

    tally: Tally
    first: int | None
    last: int | None

    def about(self, prefix: str = "") -> dict[str, str | None]:
        """The range in words, by the names of the parameters."""
        bounds = {"from": self.first, "to": self.last}
        return {prefix + name: None if hours is None else label(hours) for name, hours in bounds.items()}


@dataclass(slots=True)
class _Block:
    """Windows that are shown together."""

    starts: list[int]
    last: int
    reports: int


def blocks(store: Store, entry: Entry, now: int) -> list[_Block]:
    """Windows that have ended, joined until each block has the minimum of reports. Those of a survey that is closed for
    good have; one that can be opened again may still add single reports to the window of today."""
    least, found = max(entry.rules.minimum, 1), []
    block = _Block([], 0, 0)
    for start, counts in store.windows(entry).items():
        end = window_end(entry.rules.window, start)
        if end > now and not entry.final:
            break
        block.starts.append(start)
        block.last, block.reports = end, block.reports + counts.get("accepted", 0)
        if block.reports >= least:
            found.append(block)
            block = _Block([], 0, 0)
    return found


def windows(store: Store, entry: Entry, request: Request, now: int) -> Answer:
    """The windows that a range can name, with their reports; to the administrator, who may name any, every window as it
    grows (`live`). `reports` is how many there are so far: to readers all of them while there is no result, so that
    they see one coming, and then those in windows that have ended."""
    counted = {start: counts.get("accepted", 0) for start, counts in store.windows(entry).items()}
    ends = {start: window_end(entry.rules.window, start) for start in counted}
    reports = sum(counted.values())
    if request.admin:
        listed = [(start, ends[start], count) for start, count in counted.items()]
    elif listed := [(block.starts[0], block.last, block.reports) for block in blocks(store, entry, now)]:
        reports = sum(count for start, count in counted.items() if ends[start] <= now or entry.final)
    named = [{"start": label(start), "end": label(end), "reports": count} for start, end, count in listed]
    about = {"window": entry.rules.window, "minimum": entry.rules.minimum, "live": request.admin, "reports": reports}
    return Answer.json({**about, "windows": named})


def counters(store: Store, entry: Entry, request: Request) -> Answer:
    """How many reports met which fate, in all."""
    total: dict[str, int] = {}
    for counts in store.windows(entry).values():
        for reason, count in counts.items():
            total[reason] = total.get(reason, 0) + count
    return Answer.json({"counters": total})


def tally(store: Store, entry: Entry, request: Request, now: int) -> Answer:
    """The tally of a range, as the file that `Tally.load` and `deniable decode` read."""
    found = read_range(store, entry, request.query.get("from"), request.query.get("to"), request.admin, now)
    name = f'attachment; filename="{entry.survey.digest[:8]}.tally"'.encode()
    return Answer(200, found.tally.to_bytes(), b"application/octet-stream", [(b"content-disposition", name)])


def read_range(store: Store, entry: Entry, first: str | None, last: str | None, admin: bool, now: int) -> Part:
    """The tally of a range, if enough reports are in it and, but for the administrator, in whatever it cuts off."""
    least = max(entry.rules.minimum, 1)
    begin, end = hours_of(first, last)
    if begin is not None and end is not None and begin >= end:
        raise RequestError(400, "malformed", f"a range must end after it begins, got from {first} to {last}")
    if not admin:
        begin, end = _between_blocks(blocks(store, entry, now), begin, end, least)
    elif starts := [start for start, counts in store.windows(entry).items() if counts.get("accepted", 0)]:
        # The dates that a range without bounds stands for: whoever keeps a result wants to know them.
        begin = starts[0] if begin is None else begin
        end = window_end(entry.rules.window, starts[-1]) if end is None else end
    found = store.tally(entry, begin, end)
    if found.n < least:
        raise RequestError(409, "too-few", f"results are shown from {least} reports on; this range has fewer")
    return Part(found, begin, end)


def _between_blocks(found: list[_Block], first: int | None, last: int | None, least: int) -> tuple[int, int]:
    """Where a range begins and ends that holds whole blocks."""
    chosen = []
    for block in found:
        inside = [(first is None or first <= start) and (last is None or start < last) for start in block.starts]
        if all(inside):
            chosen.append(block)
        elif any(inside):
            raise RequestError(
                409, "too-few", f"a range must begin and end where a window in /windows does, got one that cuts "
                f"{label(block.starts[0])} to {label(block.last)}; windows below {least} reports are joined"
            )  # fmt: skip
    if not chosen:
        shown = f"results are shown from {least} reports on, of windows that have ended"
        raise RequestError(409, "too-few", f"{shown}; this range has fewer")
    return chosen[0].starts[0], chosen[-1].last


def hours_of(first: str | None, last: str | None) -> tuple[int | None, int | None]:
    """The hours that two texts of a request name."""
    try:
        return None if first is None else hour_of(first), None if last is None else hour_of(last)
    except DeniableError as problem:
        raise RequestError(400, "malformed", str(problem)) from None


def question_of(request: Request) -> tuple[Question, dict[str, str | None]]:
    """How to decode, from the query or from a JSON body, which has the same names; and the texts of the ranges."""
    given = _body(request.body) if request.method == "POST" else _from_query(request.query)
    ranges: dict[str, str | None] = {}
    for name in sorted(RANGE | SECOND):
        ranges[name] = given.get(name)
        if not isinstance(ranges[name], str | None):
            raise RequestError(400, "malformed", f"{name} must be text like 2026-11-15")
    for name, known in (
        ("decoder", DECODERS),
        ("constraint", CONSTRAINTS),
        ("order", ("size", "own")),
        ("format", tuple(FORMATS)),
    ):
        if name in given and given[name] not in known:
            raise RequestError(400, "malformed", f"{name} must be one of {', '.join(known)}")
    level = given.get("level", 0.95)
    if not isinstance(level, float) or not 0.0 < level < 1.0:
        raise RequestError(400, "malformed", "level must be a number between 0 and 1, for instance 0.95")
    for name in ("complete", "simultaneous"):
        if type(given.get(name, False)) is not bool:
            raise RequestError(400, "malformed", f"{name} must be true or false")
    top = given.get("top")
    if top is not None and (type(top) is not int or not 0 < top < 2**31):
        raise RequestError(400, "malformed", "top must be a positive number of symbols")
    candidates = given.get("candidates")
    if candidates is not None and (not isinstance(candidates, list) or not 0 < len(candidates) <= _MOST_CANDIDATES):
        raise RequestError(400, "malformed", f"candidates must be a list of 1 to {_MOST_CANDIDATES} symbols")
    question = Question(
        decoder=given.get("decoder"),
        constraint=given.get("constraint"),
        candidates=None if candidates is None else tuple(candidates),
        complete=given.get("complete", False),
        level=level,
        simultaneous=given.get("simultaneous", False),
        top=top,
        form=given.get("format", "json"),
        about={"order": given.get("order", "size")},
    )
    return question, ranges


def _from_query(query: dict[str, str]) -> dict[str, Any]:
    """The values that texts stand for; a text that stands for none stays, and is refused as such."""
    given: dict[str, Any] = dict(query)
    if "candidates" in given:
        given["candidates"] = given["candidates"].split(",")
    for name in given.keys() & {"complete", "simultaneous"}:
        given[name] = {"true": True, "false": False}.get(given[name], given[name])
    if "top" in given and given["top"].isascii() and given["top"].isdecimal() and len(given["top"]) < 12:
        given["top"] = int(given["top"])
    if "level" in given:
        try:
            given["level"] = float(given["level"])
        except ValueError:
            given["level"] = None
    return given


def _body(body: bytes) -> dict[str, Any]:
    try:
        # The one number that may have a fraction is read apart; everything else is as strict as a survey.
        given = json.loads(body.decode(), object_pairs_hook=once)
        plain = {name: value for name, value in given.items() if name != "level"} if isinstance(given, dict) else None
        strict_json(json.dumps(plain))
    except (ValueError, RecursionError):
        raise RequestError(400, "malformed", "body must be a JSON object of parameters") from None
    if plain is None:
        raise RequestError(400, "malformed", "body must be a JSON object of parameters")
    if unknown := sorted(set(given) - PARAMETERS - SECOND):
        raise RequestError(400, "malformed", f"body must not have the field {unknown[0][:40]!r}; see /openapi.json")
    return dict(given)


async def estimate(decoding: Decoding, question: Question, parts: list[Part]) -> Answer:
    """A decoded answer in the form that was asked for: of one part, or how the second differs from the first."""
    about = parts[-1].about() if len(parts) == 1 else {**parts[0].about("against_"), **parts[1].about()}
    try:
        body = await decoding.ask(
            replace(question, about=question.about | about), [part.tally.to_bytes() for part in parts]
        )
    except DeniableError as problem:
        raise RequestError(422, "undecodable", str(problem)) from None
    except DecodingFailed as problem:
        raise RequestError(503, "decoding", str(problem), retry=60) from None
    return Answer(200, body, FORMATS[question.form].encode())
