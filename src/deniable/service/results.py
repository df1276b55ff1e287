"""Results: windows, tallies, estimates and differences, for whoever may read them.

Everyone but the administrator, who holds the store anyway, sees blocks of windows that have ended, each with the
survey's minimum of reports or more; ranges begin and end between those. So any two results that such a reader can get
differ by the minimum or more: neither asking again and again nor taking one range from another shows single reports.

Nothing here reads counts: which reports are meant is known from counters, and the process that decodes reads the rest.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from deniable.errors import DeniableError
from deniable.service import trend
from deniable.service.blocks import Block, joined
from deniable.service.clock import Clock, label, window_end
from deniable.service.decoding import FORMATS, Decoding, DecodingFailed, Part, Question
from deniable.service.entries import Entry
from deniable.service.problems import Answer, RequestError, Unavailable
from deniable.service.questions import hours_of, question_of, range_of
from deniable.service.requests import Request, Room
from deniable.service.retention import ended
from deniable.service.store import Store
from deniable.service.writer import Writer

__all__ = ["Results", "counters"]

Windows = dict[int, dict[str, int]]
Read = Callable[[Callable[[], Any]], Awaitable[Any]]


class Results:
    """Answers questions about surveys. `read` runs what looks into the store; `room` bounds what answers may hold."""

    def __init__(self, writer: Writer, clock: Clock, decoding: Decoding, read: Read, room: Room) -> None:
        self._writer, self._clock, self._decoding, self._read, self._room = writer, clock, decoding, read, room

    async def windows(self, entry: Entry, request: Request) -> Answer:
        """The windows that a range can name, with their reports; to the administrator, who may name any, each window as
        it grows (`live`). `reports` is how many there are so far: to readers all of them while there is no result, so
        that they see one coming, and then those in windows that have ended."""
        counted, blocks = await self._known(entry, request)
        reports = sum(map(_accepted, counted.values()))
        if request.admin:
            spans = [(start, window_end(entry.rules.window, start), _accepted(counted[start])) for start in counted]
        elif spans := [(block.starts[0], block.last, block.reports) for block in blocks]:
            reports = sum(span.reports for span in ended(entry, counted, self._clock.settled()))
        named = [{"start": label(start), "end": label(end), "reports": count} for start, end, count in spans]
        about = {"window": entry.rules.window, "minimum": entry.rules.minimum, "live": request.admin}
        return Answer.json({**about, "reports": reports, "windows": named})

    async def tally(self, entry: Entry, request: Request) -> Answer:
        """The tally of a range, as the file that `Tally.load` and `deniable decode` read."""
        part = await self._part(entry, request, request.query.get("from"), request.query.get("to"))
        body = await self._ask(Question(form="tally"), entry, [part], request.public)
        name = f'attachment; filename="{entry.survey.digest[:8]}.tally"'.encode()
        return Answer(200, body, b"application/octet-stream", [(b"content-disposition", name)])

    async def estimate(self, entry: Entry, request: Request) -> Answer:
        """The shares in a range."""
        question, ranges = question_of(request)
        part = await self._part(entry, request, ranges["from"], ranges["to"])
        return await self._decoded(question, entry, [part], request.public)

    async def difference(self, entry: Entry, request: Request) -> Answer:
        """How the shares in a range differ from those in an earlier one."""
        question, ranges = question_of(request)
        ends, starts = hours_of(ranges["against_to"], ranges["from"])
        if ends is None or starts is None or ends > starts:
            raise RequestError(
                400, "malformed", "against_to and from must be given, and the earlier range must end before the later"
            )
        earlier = await self._part(entry, request, ranges["against_from"], ranges["against_to"])
        later = await self._part(entry, request, ranges["from"], ranges["to"])
        return await self._decoded(question, entry, [earlier, later], request.public)

    async def trend(self, entry: Entry, request: Request) -> Answer:
        """The last windows of a range that have enough reports, each with its estimates, and those that changed."""
        question, ranges = question_of(request)
        if question.form != "json":
            raise RequestError(400, "malformed", "format must be json for results over time")
        first, last = range_of(ranges["from"], ranges["to"])
        parts = await self._parts(entry, request, first, last)
        if not parts:
            raise _too_few(entry, "no window has as many")
        ask = lambda question, parts: self._ask(question, entry, parts, request.public)  # noqa: E731
        with self._room.held() as held:
            return await trend.trend(ask, entry, question, parts[-trend.MOST :], held)

    async def _decoded(self, question: Question, entry: Entry, parts: list[Part], public: bool) -> Answer:
        """An answer in the form that was asked for: of one part, or how the second differs from the first."""
        about = parts[-1].about() if len(parts) == 1 else {**parts[0].about("against_"), **parts[1].about()}
        body = await self._ask(replace(question, about=question.about | about), entry, parts, public)
        return Answer(200, body, FORMATS[question.form].encode())

    async def _ask(self, question: Question, entry: Entry, parts: Sequence[Part], public: bool) -> bytes:
        try:
            return await self._decoding.ask(question, entry, parts, public=public)
        except DeniableError as problem:
            raise RequestError(422, "undecodable", str(problem)) from None
        except DecodingFailed as problem:
            raise RequestError(503, "decoding", str(problem), retry=60) from None

    async def _known(self, entry: Entry, request: Request) -> tuple[Windows, list[Block]]:
        """The windows of a survey and, but for the administrator, the blocks of them that readers may see."""
        store: Store = self._writer.store
        if request.admin:
            return await self._read(lambda: store.windows(entry)), []
        found = await self._read(lambda: store.blocks(entry))
        hour = self._clock.settled()
        more = [span for span in ended(entry, found[0], hour) if span.start >= found[1]]
        if joined(more, _least(entry)):
            try:
                await self._writer.call(lambda: store.show(entry, hour=hour))
                found = await self._read(lambda: store.blocks(entry))
            except Unavailable:  # a full disk: what was shown can be shown again, and no more
                pass
        return found[0], found[2]

    async def _parts(self, entry: Entry, request: Request, first: int | None, last: int | None) -> list[Part]:
        """The windows with enough reports in a range, oldest first: those that whoever asks may name."""
        counted, blocks = await self._known(entry, request)
        spans = [(block.starts[0], block.last) for block in blocks]
        if request.admin:
            enough = [start for start, counts in counted.items() if _accepted(counts) >= _least(entry)]
            spans = [(start, window_end(entry.rules.window, start)) for start in enough]
        inside = [span for span in spans if (first is None or span[0] >= first) and (last is None or span[1] <= last)]
        return [_part(counted, *span) for span in inside]

    async def _part(self, entry: Entry, request: Request, first: str | None, last: str | None) -> Part:
        """A range, if enough reports are in it and, but for the administrator, in whatever it cuts off."""
        counted, blocks = await self._known(entry, request)
        begin, end = range_of(first, last)
        if not request.admin:
            begin, end = _between(blocks, begin, end, _least(entry))
        elif starts := [start for start, counts in counted.items() if _accepted(counts)]:
            # The dates that a range without bounds stands for: whoever keeps a result wants to know them.
            begin = starts[0] if begin is None else begin
            end = window_end(entry.rules.window, starts[-1]) if end is None else end
        if begin is None or end is None:
            raise _too_few(entry, "this range has fewer")
        found = _part(counted, begin, end)
        if found.reports < _least(entry):
            raise _too_few(entry, "this range has fewer")
        return found


def counters(store: Store, entry: Entry) -> Answer:
    """How many reports met which fate, in all."""
    total: dict[str, int] = {}
    for counts in store.windows(entry).values():
        for reason, count in counts.items():
            total[reason] = total.get(reason, 0) + count
    return Answer.json({"counters": total})


def _accepted(counts: dict[str, int]) -> int:
    return counts.get("accepted", 0)


def _least(entry: Entry) -> int:
    return max(entry.rules.minimum, 1)


def _too_few(entry: Entry, why: str) -> RequestError:
    return RequestError(409, "too-few", f"results are shown from {_least(entry)} reports on; {why}")


def _part(counted: Windows, begin: int, end: int) -> Part:
    inside = {start: counts for start, counts in counted.items() if begin <= start < end}
    state = hashlib.sha256(json.dumps(inside, sort_keys=True).encode()).hexdigest()
    return Part(((begin, end),), sum(map(_accepted, inside.values())), state)


def _between(found: list[Block], first: int | None, last: int | None, least: int) -> tuple[int, int]:
    """Where a range begins and ends that holds whole blocks."""
    chosen = []
    for block in found:
        inside = [(first is None or first <= start) and (last is None or start < last) for start in block.starts]
        if all(inside):
            chosen.append(block)
        elif any(inside):
            raise RequestError(
                409, "too-few", f"a range must begin and end where a window in /windows does, got one that cuts "
                f"{label(block.starts[0])} to {label(block.last)}; windows below {least} reports are joined"
            )  # fmt: skip
    if not chosen:
        shown = f"results are shown from {least} reports on, of windows that have ended"
        raise RequestError(409, "too-few", f"{shown}; this range has fewer")
    return chosen[0].starts[0], chosen[-1].last
