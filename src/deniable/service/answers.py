"""Answers over HTTP: models as JSON, bytes of other kinds, and errors as RFC 9457 problem documents."""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Generic, TypeVar

import msgspec

from deniable.service.models import Problem
from deniable.service.problems import RequestError

Headers = list[tuple[bytes, bytes]]
T = TypeVar("T")


@dataclass(slots=True)
class Answer(Generic[T]):
    """Status, body and headers of a response whose body is a `T`."""

    status: int
    body: bytes
    kind: bytes = b"application/json"
    headers: Headers = field(default_factory=list)

    @classmethod
    def of(cls, value: T, status: int = 200) -> "Answer[T]":
        """A value as JSON."""
        return cls(status, msgspec.json.encode(value))


def problem(error: RequestError) -> Answer[Problem]:
    """The problem document of an error.

    >>> problem(RequestError(404, "unknown-survey", "there is no such survey")).body.decode()
    '{"type":"urn:deniable:problem:unknown-survey","title":"Not Found","status":404,"detail":"there is no such survey"}'
    """
    told = Problem(
        type=f"urn:deniable:problem:{error.word}",
        title=HTTPStatus(error.status).phrase,
        status=error.status,
        detail=error.sentence,
        **error.more,
    )
    headers: Headers = []
    if error.retry is not None:
        headers.append((b"retry-after", str(error.retry).encode()))
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return Answer(error.status, msgspec.json.encode(told), b"application/problem+json", headers)
