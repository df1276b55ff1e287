"""Errors of a request or of the store; `answers` turns them into problem documents."""

from collections.abc import Mapping
from typing import Any


class Unavailable(Exception):
    """The store cannot do this now. Nothing was written, and the same request may be sent again.

    Parameters
    ----------
    sentence : str
        For the client.
    detail : str, optional
        For the log; it may name hosts and users.

    Examples
    --------
    >>> str(Unavailable("the disk is full", "/srv/store: ENOSPC"))
    'the disk is full'
    """

    def __init__(self, sentence: str, detail: str | None = None) -> None:
        super().__init__(sentence)
        self.detail = detail


class Contended(Unavailable):
    """The database rolled this back because of a concurrent transaction; a retry may succeed at once."""


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
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.status, self.word, self.sentence, self.retry = status, word, sentence, retry
        self.more = dict(more or {})


def malformed(sentence: str) -> RequestError:
    """A request that does not follow the rules of `/openapi.json`."""
    return RequestError(400, "malformed", sentence)


def why(problem: Exception) -> dict[str, Any]:
    """The reason of an error in a word, as an extension member, where it has one: pages say it in their language.

    >>> from deniable.errors import DecodeError
    >>> why(DecodeError("candidates must be fewer").because("many")), why(DecodeError("no"))
    ({'reason': 'many'}, {})
    """
    reason = getattr(problem, "reason", None)
    return {} if reason is None else {"reason": reason}
