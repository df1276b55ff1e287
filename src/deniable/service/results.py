"""Results: windows, tallies, estimates and differences, for whoever may read them."""

import json
from typing import Any

from deniable.errors import DeniableError
from deniable.service.clock import hour_of, label
from deniable.service.decoding import CONSTRAINTS, DECODERS, FORMATS, Decoding, DecodingFailed, Question
from deniable.service.entries import Entry
from deniable.service.problems import Answer, RequestError
from deniable.service.requests import Request
from deniable.service.store import Store
from deniable.survey import strict_json
from deniable.tally import Tally

__all__ = ["PARAMETERS", "RANGE", "SECOND", "counters", "estimate", "hours_of", "tally", "windows"]

RANGE = frozenset({"from", "to"})
SECOND = frozenset({"against_from", "against_to"})
PARAMETERS = RANGE | {"decoder", "constraint", "candidates", "level", "format"}
_MOST_CANDIDATES = 1 << 20


def windows(store: Store, entry: Entry, request: Request) -> Answer:
    """Every window with its reports; a window below the minimum says only that it is."""
    listed = []
    for window, counts in store.windows(entry).items():
        accepted = counts.get("accepted", 0)
        listed.append({"start": label(window), "reports": accepted if accepted >= entry.rules.minimum else None})
    return Answer.json({"window": entry.rules.window, "minimum": entry.rules.minimum, "windows": listed})


def counters(store: Store, entry: Entry, request: Request) -> Answer:
    """How many reports met which fate, in all."""
    total: dict[str, int] = {}
    for counts in store.windows(entry).values():
        for reason, count in counts.items():
            total[reason] = total.get(reason, 0) + count
    return Answer.json({"counters": total})


def tally(store: Store, entry: Entry, request: Request) -> Answer:
    """The tally of a range, as the file that `Tally.load` and `deniable decode` read."""
    found = read_range(store, entry, request.query.get("from"), request.query.get("to"))
    name = f'attachment; filename="{entry.survey.digest[:8]}.tally"'.encode()
    return Answer(200, found.to_bytes(), b"application/octet-stream", [(b"content-disposition", name)])


def read_range(store: Store, entry: Entry, first: str | None, last: str | None) -> Tally:
    """The tally of a range, if enough reports are in it."""
    found = store.tally(entry, *hours_of(first, last))
    if found.n < max(entry.rules.minimum, 1):
        raise RequestError(
            409, "too-few", f"results are shown from {max(entry.rules.minimum, 1)} reports on; this range has fewer"
        )
    return found


def hours_of(first: str | None, last: str | None) -> tuple[int | None, int | None]:
    """The hours that two texts of a request name."""
    try:
        return None if first is None else hour_of(first), None if last is None else hour_of(last)
    except DeniableError as problem:
        raise RequestError(400, "malformed", str(problem)) from None


def question_of(request: Request) -> tuple[Question, dict[str, str | None]]:
    """How to decode, from the query or from a JSON body, which has the same names; and the texts of the ranges."""
    given: dict[str, Any] = dict(request.query)
    if request.method == "POST":
        given = _body(request.body)
    else:
        if "candidates" in given:
            given["candidates"] = given["candidates"].split(",")
        if "level" in given:
            try:
                given["level"] = float(given["level"])
            except ValueError:
                given["level"] = None
    ranges: dict[str, str | None] = {}
    for name in sorted(RANGE | SECOND):
        ranges[name] = given.get(name)
        if not isinstance(ranges[name], str | None):
            raise RequestError(400, "malformed", f"{name} must be text like 2026-11-15")
    for name, known in (("decoder", DECODERS), ("constraint", CONSTRAINTS), ("format", tuple(FORMATS))):
        if name in given and given[name] not in known:
            raise RequestError(400, "malformed", f"{name} must be one of {', '.join(known)}")
    level = given.get("level", 0.95)
    if not isinstance(level, float) or not 0.0 < level < 1.0:
        raise RequestError(400, "malformed", "level must be a number between 0 and 1, for instance 0.95")
    candidates = given.get("candidates")
    if candidates is not None and (not isinstance(candidates, list) or not 0 < len(candidates) <= _MOST_CANDIDATES):
        raise RequestError(400, "malformed", f"candidates must be a list of 1 to {_MOST_CANDIDATES} symbols")
    chosen = None if candidates is None else tuple(candidates)
    question = Question(
        given.get("decoder"), given.get("constraint", "projected"), chosen, level, given.get("format", "json")
    )
    return question, ranges


def _body(body: bytes) -> dict[str, Any]:
    try:
        # The one number that may have a fraction is read apart; everything else is as strict as a survey.
        given = json.loads(body.decode())
        plain = {name: value for name, value in given.items() if name != "level"} if isinstance(given, dict) else None
        strict_json(json.dumps(plain))
    except (ValueError, RecursionError):
        raise RequestError(400, "malformed", "body must be a JSON object of parameters") from None
    if plain is None:
        raise RequestError(400, "malformed", "body must be a JSON object of parameters")
    if unknown := sorted(set(given) - PARAMETERS - SECOND):
        raise RequestError(400, "malformed", f"body must not have the field {unknown[0][:40]!r}; see /openapi.json")
    return dict(given)


async def estimate(decoding: Decoding, question: Question, tallies: list[Tally]) -> Answer:
    """A decoded answer in the form that was asked for."""
    try:
        body = await decoding.ask(question, [found.to_bytes() for found in tallies])
    except DeniableError as problem:
        raise RequestError(422, "undecodable", str(problem)) from None
    except DecodingFailed as problem:
        raise RequestError(503, "decoding", f"{problem}; name fewer candidates", retry=60) from None
    return Answer(200, body, FORMATS[question.form].encode())
