"""Surveys and tokens: what an administrator does, and with one survey whoever owns it."""

import json
from typing import Any

from deniable.errors import DeniableError, StoreError
from deniable.service.clock import minute_label, minute_of
from deniable.service.entries import FOR_GOOD, Entry, Rules, Token
from deniable.service.problems import Answer, RequestError
from deniable.service.requests import Request
from deniable.service.store import Store
from deniable.service.tokens import hash_of, new_secret
from deniable.survey import Survey, strict_json
from deniable.survey.survey import checked_name

__all__ = [
    "add_token",
    "change",
    "close",
    "create",
    "drop_token",
    "list_surveys",
    "list_tokens",
    "reopen",
    "shown",
    "shown_as_json",
]

_SHOWN = 16  # digits of a token's hash that name it


def shown(entry: Entry, minute: int, *, survey: bool = True) -> dict[str, Any]:
    """A survey as anyone may see it at a minute (since 1970): the public agreement and the collector's rules."""
    fields = {
        "digest": entry.survey.digest,
        "state": "closed" if entry.ended(minute) else "open",
        "final": entry.final,
        "rules": entry.rules.to_json(),
    }
    return fields | {"survey": strict_json(entry.survey.to_json())} if survey else fields


def shown_as_json(entry: Entry, minute: int) -> bytes:
    """The same as JSON, around the text of the survey as it is: a large one costs a copy and not a second."""
    fields = shown(entry, minute, survey=False)
    return json.dumps(fields, ensure_ascii=False).encode()[:-1] + b', "survey": ' + entry.text.encode() + b"}"


def list_surveys(store: Store, minute: int) -> Answer:
    """Every survey, each with how many reports were accepted."""
    reports = store.reports()
    listed = [shown(entry, minute) | {"reports": reports.get(entry.key, 0)} for entry in store.entries()]
    return Answer.json({"surveys": listed})


def create(store: Store, request: Request, minute: int) -> tuple[Answer, Entry]:
    """A new survey, or the same one once more."""
    given = _object(request.body, {"survey", "rules"}, {"survey"})
    try:
        survey, rules = Survey.from_fields(given["survey"]), Rules.read(given.get("rules", {}))
    except DeniableError as problem:
        raise RequestError(422, "survey", str(problem)) from None
    if store.entry(survey.digest) is None:
        _in_the_future(rules, minute)
        try:
            checked_name(survey.name)
        except DeniableError as problem:
            raise RequestError(422, "survey", str(problem)) from None
    try:
        entry, new = store.create(survey, rules)
    except StoreError as problem:
        raise RequestError(409, "exists", str(problem)) from None
    return Answer.json(shown(entry, minute), 201 if new else 200), entry


def _in_the_future(rules: Rules, minute: int) -> None:
    if rules.closes is not None and minute_of(rules.closes) <= minute:
        told = f"closes must be in the future, got {rules.closes} at {minute_label(minute)}"
        raise RequestError(422, "survey", f"{told}; to end a survey now, close it")


def close(store: Store, entry: Entry, request: Request, minute: int) -> Entry:
    """Take no more reports until the survey is opened again, or with {"final": true} for good."""
    final = (_object(request.body, {"final"}, set()) if request.body else {}).get("final", False)
    if type(final) is not bool:
        raise RequestError(400, "malformed", "final must be true or false")
    day = FOR_GOOD if final else max(minute // 1440, FOR_GOOD + 1)
    return there(store.end(entry.survey.digest, day=day), entry)


def reopen(store: Store, entry: Entry, minute: int) -> Entry:
    """Take reports again."""
    try:
        return there(store.reopen(entry.survey.digest, minute=minute), entry)
    except StoreError as problem:
        raise RequestError(409, "final", str(problem)) from None


def change(store: Store, entry: Entry, request: Request, minute: int) -> Entry:
    """Other texts or another closing date, in place of those before."""
    given = _object(request.body, {"rules"}, {"rules"})["rules"]
    try:
        rules = entry.rules.changed(given)
        if isinstance(given, dict) and "closes" in given:
            _in_the_future(rules, minute)
        return there(store.change(entry.survey.digest, given), entry)
    except StoreError as problem:
        raise RequestError(422, "survey", str(problem)) from None


def delete(store: Store, entry: Entry) -> Answer:
    """Delete a survey with everything under it."""
    reports = store.delete(entry.survey.digest)
    if reports is None:
        raise unknown(entry.survey.digest)
    return Answer.json({"digest": entry.survey.digest, "reports": reports})


def there(found: Entry | None, asked: Entry) -> Entry:
    """What became of a survey, unless it was deleted meanwhile."""
    if found is None:
        raise unknown(asked.survey.digest)
    return found


def unknown(digest: str) -> RequestError:
    """The error for a survey that is not here, or not any more."""
    return RequestError(404, "unknown-survey", f"survey {digest[:8]} is not known here", more={"survey": digest})


def add_token(store: Store, entry: Entry, request: Request) -> Answer:
    """A new token; the answer is the only place where its secret is ever shown."""
    given = _object(request.body, {"kind", "quota", "name"}, {"kind"})
    kind, quota, name = given["kind"], given.get("quota"), given.get("name", "")
    if kind not in ("upload", "read", "owner"):
        raise RequestError(422, "token", "kind must be upload, read or owner")
    if quota is not None and (type(quota) is not int or not 0 < quota < 2**53 or kind != "upload"):
        raise RequestError(422, "token", "quota must be a positive number of reports, for upload tokens only")
    if not isinstance(name, str) or len(name) > 200 or not _storable(name):
        raise RequestError(422, "token", "name must be text of at most 200 characters")
    secret = new_secret()
    if not store.add_token(Token(hash_of(secret), entry.key, kind, quota, 0, name)):
        raise unknown(entry.survey.digest)
    return Answer.json({"token": secret} | _describe(Token(hash_of(secret), entry.key, kind, quota, 0, name)), 201)


def _storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def list_tokens(store: Store, entry: Entry, request: Request) -> Answer:
    """The tokens of a survey, without their secrets."""
    return Answer.json({"tokens": [_describe(token) for token in store.tokens(entry)]})


def drop_token(store: Store, entry: Entry, request: Request) -> Answer:
    """Revoke a token."""
    if not store.drop_token(entry, request.parts["token"]):
        raise RequestError(404, "unknown-token", "there is no such token of this survey")
    return Answer(204, b"")


def _describe(token: Token) -> dict[str, Any]:
    return {
        "id": token.hash[:_SHOWN],
        "kind": token.kind,
        "quota": token.quota,
        "used": token.used,
        "name": token.name,
    }


def _object(body: bytes, known: set[str], needed: set[str]) -> dict[str, Any]:
    try:
        given = strict_json(body)
    except DeniableError:
        raise RequestError(400, "malformed", "body must be JSON in UTF-8, with whole numbers") from None
    if not isinstance(given, dict) or not needed <= set(given) <= known:
        least = f" with {', '.join(sorted(needed))} and" if needed else " with"
        raise RequestError(400, "malformed", f"body must be an object{least} at most {', '.join(sorted(known))}")
    return given
