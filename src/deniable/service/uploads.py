"""The upload path: a bare ASGI function, because every layer here is paid for by each report.

It imports `survey`, `reports` and `tally` and nothing else of the package.
"""

import asyncio
import json
import time
from collections.abc import Callable

from deniable.service.configuration import Options
from deniable.service.entries import Ended, Entry, Outcome
from deniable.service.envelope import Envelope, open_envelope
from deniable.service.metrics import Metrics
from deniable.service.problems import RequestError, Unavailable
from deniable.service.records import REASONS
from deniable.service.requests import Receive, Room, Scope, bearer, header, read_body
from deniable.service.tokens import hash_of, one_of
from deniable.service.writer import Writer

_ONE = b'{"accepted":1,"duplicate":0,"refused":[]}'


class Deleted(Exception):
    """The survey of an upload is not there any more."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.survey.digest)
        self.entry = entry


class Bucket:
    """At most `rate` reports a second, and as many at once."""

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._left, self._at = float(rate), clock()

    def take(self, count: int) -> int:
        """0 if `count` reports may pass, else after how many seconds they may."""
        now = self._clock()
        self._left = min(self._rate, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left >= min(count, self._rate):  # a request larger than a second's worth waits for a full bucket
            self._left -= count
            return 0
        return max(1, round((min(count, self._rate) - self._left) / self._rate))


class Uploads:
    """Takes requests with reports to the writer and says what became of them."""

    def __init__(self, writer: Writer, metrics: Metrics, options: Options, room: Room) -> None:
        self._writer, self._metrics, self._options, self._room = writer, metrics, options, room
        self._buckets: dict[int, Bucket] = {}
        self._good: set[tuple[int, str]] = set()

    async def take(self, entry: Entry, scope: Scope, receive: Receive) -> bytes:
        """The body of the answer to an upload, after everything in it that is good is durable."""
        secret = bearer(scope)
        token = None if secret is None else hash_of(secret)
        if entry.rules.uploads == "token":
            await self._check_token(entry, token)
        elif token is not None and not await self._is_good(entry, token):
            token = None  # an open survey takes reports from anyone
        if entry.ended(self._writer.clock.minutes()):
            raise closed(entry)
        if header(scope, b"content-encoding").lower() not in (b"", b"identity"):
            raise RequestError(415, "content-encoding", "body must not be compressed; send the reports as they are")
        limit, seconds = self._options.body_limit, self._options.patience
        body = await read_body(scope, receive, limit=limit, seconds=seconds, room=self._room)
        envelope = open_envelope(entry, header(scope, b"content-type"), scope["query_string"], body, token)
        count = sum(upload.count for upload in envelope.uploads)
        if token is None and count + len(envelope.refused) > self._options.open_batch:
            sentence = f"a request without an upload token must hold at most {self._options.open_batch} reports"
            raise RequestError(413, "too-many", f"{sentence}, got {count + len(envelope.refused)}; split it")
        rate = entry.rules.rate or (self._options.open_rate if token is None else None)
        if rate is not None:
            self._throttle(entry, rate, count)
        try:
            if envelope.places is None:  # a stream of bytes is one upload
                outcome = await self._writer.submit(envelope.uploads[0])
                if isinstance(outcome, Outcome) and not outcome.refused:  # the way that nearly every request takes
                    self._count(entry, outcome.accepted, outcome.duplicate)
                    return upload_body(outcome.accepted, outcome.duplicate, [])
                outcomes = [outcome]
            else:
                outcomes = await asyncio.gather(*map(self._writer.submit, envelope.uploads))
        except Unavailable as problem:
            raise RequestError(
                503, "unavailable", f"reports cannot be stored now: {problem}; send the same bytes again", retry=2
            ) from None
        if Ended.DELETED in outcomes:
            raise Deleted(entry)
        if Ended.CLOSED in outcomes:
            raise closed(entry)
        return self._answer(entry, envelope, [outcome for outcome in outcomes if isinstance(outcome, Outcome)])

    def _count(self, entry: Entry, accepted: int, duplicate: int) -> None:
        reports = self._metrics.reports
        self._metrics.name(entry.survey.digest, entry.survey.name)
        reports[entry.survey.digest, "accepted"] += accepted
        if duplicate:
            reports[entry.survey.digest, "duplicate"] += duplicate

    async def _check_token(self, entry: Entry, token: str | None) -> None:
        if token is None:
            raise RequestError(401, "token-missing", "uploads to this survey must carry an upload token")
        if not await self._is_good(entry, token):
            raise RequestError(403, "token-refused", "the token must be an upload token of this survey")

    async def _is_good(self, entry: Entry, token: str) -> bool:
        """Whether this is an upload token of a survey."""
        if (entry.key, token) in self._good:  # one that another collector revoked since then has no quota left
            return True
        known = await asyncio.to_thread(self._writer.store.tokens, entry)
        if not one_of((found.hash for found in known if found.kind == "upload"), token):
            return False
        self._good.add((entry.key, token))
        return True

    def forget_tokens(self) -> None:
        """Look every token up again: one was revoked."""
        self._good.clear()

    def forget(self, entry: Entry) -> None:
        """Keep nothing about a survey that was deleted."""
        self._buckets.pop(entry.key, None)
        self._good = {(key, token) for key, token in self._good if key != entry.key}
        self._metrics.forget(entry.survey.digest)

    def _throttle(self, entry: Entry, rate: int, count: int) -> None:
        bucket = self._buckets.setdefault(entry.key, Bucket(rate))
        if wait := bucket.take(count):
            sentence = f"this survey takes {rate} reports a second; send the same bytes again later"
            raise RequestError(429, "rate", sentence, retry=wait)

    def _answer(self, entry: Entry, envelope: Envelope, outcomes: list[Outcome]) -> bytes:
        refused = list(envelope.refused)
        accepted = duplicate = 0
        for number, (upload, outcome) in enumerate(zip(envelope.uploads, outcomes, strict=True)):
            accepted += outcome.accepted
            duplicate += outcome.duplicate
            for row, code in outcome.refused:
                place = row if envelope.places is None else envelope.places[number][row]
                if upload.batch is not None:
                    name = upload.batch.hex()
                else:
                    size = 16 + entry.shape.length
                    name = upload.records[row * size : row * size + 16].hex()
                refused.append((place, name, code))
        self._count(entry, accepted, duplicate)
        for _, _, code in refused:
            self._metrics.reports[entry.survey.digest, REASONS[code]] += 1
        return upload_body(accepted, duplicate, refused)


def upload_body(accepted: int, duplicate: int, refused: list[tuple[int, str | None, int]]) -> bytes:
    """The answer to an upload."""
    if not refused:
        if accepted == 1 and not duplicate:
            return _ONE
        return b'{"accepted":%d,"duplicate":%d,"refused":[]}' % (accepted, duplicate)
    named = [{"index": place, "id": name, "reason": REASONS[code]} for place, name, code in sorted(refused)]
    return json.dumps({"accepted": accepted, "duplicate": duplicate, "refused": named}).encode()


def closed(entry: Entry) -> RequestError:
    """The error for reports to a survey that has ended."""
    digest = entry.survey.digest
    return RequestError(410, "closed", f"survey {digest[:8]} is closed and takes no reports", more={"survey": digest})
