"""Delivery over HTTP, in batches: the same bytes under the same ids until a collector acknowledges them (idempotent).

    POST {url}/v1/surveys/{digest}/reports?day=n  application/octet-stream: 16 bytes of id, then the packed report, ...
    200 {"accepted": n, "duplicate": n, "refused": [{"index": i, "id": "...", "reason": "..."}]}
    410 {"type": "urn:deniable:problem:closed", "survey": "<digest>", ...}

Only such a 200, with numbers that add up, counts as an acknowledgement: a login page that says 200 does not. What was
refused leaves the outbox too (the same bytes would be refused again) and is told to the caller. `day` is left out
where none is known, and where the collector says `too_early`: then our clock is ahead. That is safe: such a report was
not counted, or its id is still known, and an id without a day is kept as long as the survey is open.

A survey that is closed takes none of what waits, ever: all of it is dropped. One that the collector does not know
(404, `unknown-survey`) may be back when a backup has been restored, so its reports are dropped only once that has been
said for `GRACE` days. Both must be said in a problem document that names this survey; any other 404 or 410 is a wrong
address. See docs/decisions/0028-reports-nobody-takes.md.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deniable.client.state import Waiting
from deniable.errors import DeliveryError, StateError

__all__ = ["Delivery", "Refusal", "deliver"]

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds before a second attempt; doubled after each, up to the longest
GRACE = 30  # days; the time after which collectors refuse a report as too old, unless their rules say otherwise
CLOSED, UNKNOWN, REFUSED = "closed", "unknown-survey", "refused"
_LONGEST_ANSWER = 1 << 22  # bytes that are read of an answer; what is said of a batch is far shorter
_LATER = {408, 425, 429}  # request timeout, too early, too many requests
_GONE = {(410, f"urn:deniable:problem:{CLOSED}"): CLOSED, (404, f"urn:deniable:problem:{UNKNOWN}"): UNKNOWN}
_TOO_EARLY = "too_early"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A report that the collector will never take; it has left the outbox.

    Parameters
    ----------
    id : str
        The id that it was sent under, in hexadecimal.
    reason : str
        The collector's word: `closed`, `unknown-survey`, or why it would not take the report itself.

    Examples
    --------
    >>> Refusal(id="00" * 16, reason="closed").reason
    'closed'
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of the outbox.

    Parameters
    ----------
    accepted : int
        Reports that were counted now.
    duplicate : int
        Reports that had been counted before; their acknowledgement was lost.
    refused : tuple of Refusal
        Reports that will never be counted.
    waiting : int
        Reports that are still in the outbox.
    problem : str, optional
        Why some wait, or why all were refused.
    retry_after : float, optional
        If some wait, in how many seconds to send again: as the collector asks, or after no answer longer each time.

    Examples
    --------
    >>> Delivery(accepted=3, duplicate=0, refused=(), waiting=0).problem is None
    True
    """

    accepted: int
    duplicate: int
    refused: tuple[Refusal, ...]
    waiting: int
    problem: str | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class _Later:
    """To be sent again later: why, whether a collector said so, and after how many seconds if it said that."""

    problem: str
    answered: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Gone:
    """To be sent never again: the collector's word for the reason, and a sentence."""

    word: str
    problem: str


@dataclass(frozen=True, slots=True)
class _Answer:
    accepted: int
    duplicate: int
    refused: tuple[Refusal, ...]


def deliver(
    waiting: Sequence[Waiting],
    settle: Callable[[Sequence[str], Mapping[str, str]], int],
    unknown_days: Callable[[], int],
    *,
    url: str,
    digest: str,
    token: str | None,
    batch: int,
    attempts: int,
    timeout: float,
    failed: int,
    jitter: Callable[[float], float],
    wait: Callable[[float], None],
) -> Delivery:
    """Send what is waiting, batch by batch.

    `settle` takes ids out of the outbox, counts those that were refused by the word it is given for them, and says how
    many are left; `unknown_days` for how long the survey has been unknown. `failed` sendings failed before this one.
    """
    if not url.startswith(("http://", "https://")):
        raise DeliveryError(f"url must start with http:// or https://, got {url[:80]!r}")
    if token is not None and not (token.isascii() and token.isprintable() and token and " " not in token):
        raise DeliveryError("token must be printable ASCII text without blanks")
    for name, value in (("batch", batch), ("attempts", attempts)):
        if value < 1:
            raise DeliveryError(f"{name} must be at least 1, got {value}")
    if len({len(w.report) for w in waiting}) > 1:
        raise StateError("reports of one survey must have one length; the outbox is damaged")
    place = f"{url.rstrip('/')}/v1/surveys/{digest}/reports"
    accepted = duplicate = 0
    refused: tuple[Refusal, ...] = ()
    left = len(waiting)
    parts = deque(_batches(waiting, batch))
    while parts:
        part = parts.popleft()
        for attempt in range(attempts):
            outcome = _post(place, part, digest, token, timeout)
            # Without an answer this device is offline, and the caller knows better when to try again.
            if not (isinstance(outcome, _Later) and outcome.answered) or attempt + 1 == attempts:
                break
            if outcome.seconds is not None and outcome.seconds > LONGEST_WAIT:
                break
            wait(jitter(_backoff(attempt)) if outcome.seconds is None else outcome.seconds)
        if isinstance(outcome, _Later):
            later = jitter(_backoff(attempt + failed)) if outcome.seconds is None else outcome.seconds
            return Delivery(accepted, duplicate, refused, left, outcome.problem, later)
        if isinstance(outcome, _Gone):
            if outcome.word == UNKNOWN and unknown_days() < GRACE:
                raise _untaken(outcome.problem)
            rest = [*part, *(w for other in parts for w in other)]
            left = settle([w.id for w in rest], {w.id: outcome.word for w in rest})
            refused += tuple(Refusal(w.id, outcome.word) for w in rest)
            dropped = f"{len(rest)} report{'s were' if len(rest) > 1 else ' was'} dropped"
            return Delivery(accepted, duplicate, refused, left, f"{outcome.problem}; {dropped}")
        early = {refusal.id for refusal in outcome.refused if refusal.reason == _TOO_EARLY and part[0].day is not None}
        if early:
            parts.append([replace(w, day=None) for w in part if w.id in early])
        final = tuple(refusal for refusal in outcome.refused if refusal.id not in early)
        left = settle([w.id for w in part if w.id not in early], {refusal.id: REFUSED for refusal in final})
        accepted, duplicate, refused = accepted + outcome.accepted, duplicate + outcome.duplicate, refused + final
    return Delivery(accepted, duplicate, refused, left)


def _batches(waiting: Sequence[Waiting], size: int) -> Iterator[Sequence[Waiting]]:
    """Reports of one day each, because a request has one day; in the order that they wait in, days in order."""
    days: dict[int | None, list[Waiting]] = {}
    for report in waiting:
        days.setdefault(report.day, []).append(report)
    for day in sorted(days, key=lambda day: day or 0):
        for start in range(0, len(days[day]), size):
            yield days[day][start : start + size]


def _backoff(failures: int) -> float:
    return min(FIRST_WAIT * 2.0 ** min(failures, 10), LONGEST_WAIT)


def _post(
    place: str, part: Sequence[Waiting], digest: str, token: str | None, timeout: float
) -> _Answer | _Later | _Gone:
    # Loaded late: a device that only reports does not pay for a network stack.
    import http.client
    import urllib.error
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        """Not followed: a redirected POST becomes a GET, and the token would go to another host."""

        def redirect_request(self, *_: Any) -> None:
            return None

    body = b"".join(bytes.fromhex(w.id) + w.report for w in part)
    # A fixed agent: that of the library would name the version of Python.
    headers = {"Content-Type": "application/octet-stream", "Accept": "application/json", "User-Agent": "deniable"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    day = part[0].day
    target = place if day is None else f"{place}?day={day}"
    request = urllib.request.Request(target, data=body, headers=headers, method="POST")
    try:
        with urllib.request.build_opener(Stay).open(request, timeout=timeout) as response:
            status, text, later = response.status, response.read(_LONGEST_ANSWER + 1), None
    except urllib.error.HTTPError as error:
        with error:
            status, later = error.code, _seconds(error.headers.get("Retry-After"))
            try:
                text = error.read(_LONGEST_ANSWER)
            except (OSError, http.client.HTTPException):
                text = b""
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _Later(f"{place} cannot be reached: {_cause(error)}")
    if status == 200:
        answer = _answer(text, part)
        return answer or _Later(f"{place} must answer as a collector does, got something else; a login page?")
    if status in _LATER or status >= 500:
        return _Later(f"{place} answered {status}{_detail(text)}", True, later)
    problem = f"{place} must take reports, but answered {status}{_detail(text)}"
    if (word := _gone(status, text, digest)) is not None:
        return _Gone(word, problem)
    raise _untaken(problem)


def _untaken(problem: str) -> DeliveryError:
    return DeliveryError(f"{problem}; the reports wait in the outbox")


def _gone(status: int, text: bytes, digest: str) -> str | None:
    """The word of a collector that says it of just this survey: not of a proxy, and not of a wrong address."""
    try:
        fields = json.loads(text)
        return _GONE.get((status, fields["type"])) if fields["survey"] == digest else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _answer(text: bytes, part: Sequence[Waiting]) -> _Answer | None:
    """The acknowledgement in `text`, or None if it is not one of just these reports."""
    try:
        fields = json.loads(text)
        accepted, duplicate = fields["accepted"], fields["duplicate"]
        refused = {r["index"]: Refusal(r["id"], _shown(r["reason"])) for r in fields["refused"]}
        if any(part[index].id != refusal.id or index < 0 for index, refusal in refused.items()):
            return None
        if type(accepted) is not int or type(duplicate) is not int or accepted < 0 or duplicate < 0:
            return None
        if accepted + duplicate + len(refused) != len(part) or len(refused) != len(fields["refused"]):
            return None
        return _Answer(accepted, duplicate, tuple(refused.values()))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return None


def _detail(text: bytes) -> str:
    """What a problem document (RFC 9457) says, if there is one."""
    try:
        fields = json.loads(text)
        return f" ({_shown(fields.get('detail') or fields['title'])})"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""


def _shown(text: object) -> str:
    """Text from the network as one line of at most 300 printable characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)[:300]).split())


def _cause(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    return _shown(getattr(reason, "strerror", None) or reason or type(error).__name__).lower()


def _seconds(value: str | None) -> float | None:
    """Retry-After: a number of seconds, or a date."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value[:12])
    import datetime
    import email.utils

    try:
        when = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    now = datetime.datetime.now(when.tzinfo or datetime.UTC)
    return max(0.0, (when.replace(tzinfo=when.tzinfo or datetime.UTC) - now).total_seconds())
