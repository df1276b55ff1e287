"""Surveys and tokens: what an administrator does."""

from typing import Any

from deniable.errors import DeniableError, StoreError
from deniable.service.entries import Entry, Rules, Token
from deniable.service.problems import Answer, RequestError
from deniable.service.requests import Request
from deniable.service.store import Store
from deniable.service.tokens import hash_of, new_secret
from deniable.survey import Survey, strict_json

__all__ = ["add_token", "create", "drop_token", "list_surveys", "list_tokens", "shown"]

_SHOWN = 16  # digits of a token's hash that name it


def shown(entry: Entry) -> dict[str, Any]:
    """A survey as anyone may see it: the public agreement and the collector's rules."""
    return {
        "digest": entry.survey.digest,
        "state": "closed" if entry.closed else "open",
        "rules": entry.rules.to_json(),
        "survey": strict_json(entry.survey.to_json()),
    }


def list_surveys(store: Store, request: Request) -> Answer:
    """Every survey."""
    return Answer.json({"surveys": [shown(entry) for entry in store.entries()]})


def create(store: Store, request: Request) -> tuple[Answer, Entry]:
    """A new survey, or the same one once more."""
    given = _object(request.body, {"survey", "rules"}, {"survey"})
    try:
        survey, rules = Survey.from_fields(given["survey"]), Rules.read(given.get("rules", {}))
    except DeniableError as problem:
        raise RequestError(422, "survey", str(problem)) from None
    try:
        entry, new = store.create(survey, rules)
    except StoreError as problem:
        raise RequestError(409, "exists", str(problem)) from None
    return Answer.json(shown(entry), 201 if new else 200), entry


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
    store.add_token(Token(hash_of(secret), entry.key, kind, quota, 0, name))
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
        raise RequestError(
            400, "malformed", f"body must be an object with {', '.join(sorted(needed))} and at most "
            f"{', '.join(sorted(known))}"
        )  # fmt: skip
    return given
