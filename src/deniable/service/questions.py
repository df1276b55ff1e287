"""What is asked about results: how to decode, and of which hours, from a query or a JSON body."""

import json
from typing import Any

from deniable.errors import DeniableError
from deniable.service.clock import hour_of
from deniable.service.decoding import CONSTRAINTS, DECODERS, FORMATS, Question
from deniable.service.problems import RequestError
from deniable.service.requests import Request, once
from deniable.survey import strict_json

__all__ = ["PARAMETERS", "RANGE", "SECOND", "hours_of", "question_of", "range_of"]

RANGE = frozenset({"from", "to"})
SECOND = frozenset({"against_from", "against_to"})
PARAMETERS = RANGE | {
    "decoder", "constraint", "candidates", "complete", "level", "simultaneous", "top", "order", "format",
}  # fmt: skip
_MOST_CANDIDATES = 1 << 20
_MOST_PUBLIC = 1 << 12  # candidates of whoever has no token: a few seconds of decoding


def hours_of(first: str | None, last: str | None) -> tuple[int | None, int | None]:
    """The hours that two texts of a request name."""
    try:
        return None if first is None else hour_of(first), None if last is None else hour_of(last)
    except DeniableError as problem:
        raise RequestError(400, "malformed", str(problem)) from None


def range_of(first: str | None, last: str | None) -> tuple[int | None, int | None]:
    """The hours of one range, which must not be empty."""
    begin, end = hours_of(first, last)
    if begin is not None and end is not None and begin >= end:
        raise RequestError(400, "malformed", f"a range must end after it begins, got from {first} to {last}")
    return begin, end


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
    if candidates is not None and len(candidates) > _MOST_PUBLIC and request.public:
        sentence = f"candidates must be at most {_MOST_PUBLIC} without a token, got {len(candidates)}"
        raise RequestError(401, "token-missing", f"{sentence}; ask with a read token")
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
