"""Reports on their way: batches over HTTP, the same bytes under the same ids until a collector acknowledges them.

    POST {url}/v1/surveys/{digest}/reports?day=n  application/octet-stream: 16 bytes of id, then the packed report, ...
    200 {"accepted": n, "duplicate": n, "refused": [{"index": i, "id": "...", "reason": "..."}]}

Only such an answer, with numbers that add up, counts as an acknowledgement: a login page that says 200 does not. What
was refused leaves the outbox too (the same bytes would be refused again) and is told to the caller. `day` is left out
where none is known, and where the collector says `too_early`: then our clock is ahead. That is safe: such a report was
not counted, or its id is still known, and an id without a day is kept as long as the survey is open.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deniable.client.state import Waiting
from deniable.errors import DeliveryError, StateError

__all__ = ["Delivery", "Refusal", "deliver"]

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
_LONGEST_ANSWER = 1 << 22
_LATER = {408, 425, 429}  # request timeout, too early, too many requests
_TOO_EARLY = "too_early"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A report that the collector will not take, and why.

    >>> Refusal(id="00" * 16, reason="the survey is closed").reason
    'the survey is closed'
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of the outbox: reports counted, counted before, refused, and still `waiting`.

    `problem` says why some wait; `retry_after` is how many seconds the collector asked to be left alone for.

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
    """Not now: why, and for how long if the collector said so."""

    problem: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    accepted: int
    duplicate: int
    refused: tuple[Refusal, ...]


def deliver(
    waiting: Sequence[Waiting],
    acknowledge: Callable[[tuple[str, ...]], int],
    *,
    url: str,
    digest: str,
    token: str | None,
    batch: int,
    attempts: int,
    timeout: float,
    pause: Callable[[float], None],
    wait: Callable[[float], None],
) -> Delivery:
    """Send what is waiting, batch by batch; `acknowledge` takes ids out of the outbox and says how many are left."""
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
        outcome: _Answer | _Later = _Later("no attempt was made")
        for attempt in range(attempts):
            outcome = _post(place, part, token, timeout)
            if isinstance(outcome, _Answer) or attempt + 1 == attempts:
                break
            if outcome.seconds is None:
                pause(min(FIRST_WAIT * 2**attempt, LONGEST_WAIT))
            elif outcome.seconds <= LONGEST_WAIT:
                wait(outcome.seconds)
            else:
                break
        if isinstance(outcome, _Later):
            return Delivery(accepted, duplicate, refused, left, outcome.problem, outcome.seconds)
        early = {refusal.id for refusal in outcome.refused if refusal.reason == _TOO_EARLY and part[0].day is not None}
        if early:
            parts.append([replace(w, day=None) for w in part if w.id in early])
        left = acknowledge(tuple(w.id for w in part if w.id not in early))
        accepted, duplicate = accepted + outcome.accepted, duplicate + outcome.duplicate
        refused += tuple(refusal for refusal in outcome.refused if refusal.id not in early)
    return Delivery(accepted, duplicate, refused, left)


def _batches(waiting: Sequence[Waiting], size: int) -> Iterator[Sequence[Waiting]]:
    """Reports of one day each, because a request has one day; in the order that they wait in, days in order."""
    days: dict[int | None, list[Waiting]] = {}
    for report in waiting:
        days.setdefault(report.day, []).append(report)
    for day in sorted(days, key=lambda day: day or 0):
        for start in range(0, len(days[day]), size):
            yield days[day][start : start + size]


def _post(place: str, part: Sequence[Waiting], token: str | None, timeout: float) -> _Answer | _Later:
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
        return _Later(f"{place} answered {status}{_detail(text)}", later)
    raise DeliveryError(
        f"{place} must take reports, but answered {status}{_detail(text)}; the reports wait in the outbox"
    )


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
    """Text from the network, on one line and not for ever."""
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
