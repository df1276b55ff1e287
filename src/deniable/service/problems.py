"""Answers over HTTP: JSON, bytes, and errors as RFC 9457 problem documents."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

__all__ = ["Answer", "Contended", "RequestError", "Unavailable", "problem"]

Headers = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class Answer:
    """Status, body and headers of a response."""

    status: int
    body: bytes
    kind: bytes = b"application/json"
    headers: Headers = field(default_factory=list)

    @classmethod
    def json(cls, value: object, status: int = 200) -> "Answer":
        return cls(status, json.dumps(value, ensure_ascii=False, allow_nan=False).encode())


class Unavailable(Exception):
    """The store cannot take this now; nothing was written, and the same request may be sent again.

    The sentence is for whoever asked; `detail`, which may name hosts and users, is for the log.
    """

    def __init__(self, sentence: str, detail: str | None = None) -> None:
        super().__init__(sentence)
        self.detail = detail


class Contended(Unavailable):
    """The store undid this because somebody else wrote at the same time; done again it may work at once."""


class RequestError(Exception):
    """A request that cannot be met: an HTTP status, a word for programs and a sentence for people.

    `more` are extension members of the problem document (RFC 9457, section 3.2): `survey`, the whole digest of the one
    that is meant, where a device acts on the word.
    """

    def __init__(
        self,
        status: int,
        word: str,
        sentence: str,
        *,
        retry: int | None = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.status, self.word, self.sentence, self.retry = status, word, sentence, retry
        self.more = dict(more or {})


def problem(error: RequestError) -> Answer:
    """The problem document of an error.

    >>> problem(RequestError(404, "unknown-survey", "there is no such survey")).body.decode()
    '{"type": "urn:deniable:problem:unknown-survey", "title": "Not Found", "status": 404,
      "detail": "there is no such survey"}'
    """
    document: dict[str, object] = {
        "type": f"urn:deniable:problem:{error.word}",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.sentence,
    } | error.more
    headers: Headers = []
    if error.retry is not None:
        headers.append((b"retry-after", str(error.retry).encode()))
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return Answer(error.status, json.dumps(document, ensure_ascii=False).encode(), b"application/problem+json", headers)
