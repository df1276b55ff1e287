"""Results: windows, tallies, estimates and differences, for whoever may read them.

Everyone but the administrator, who holds the store anyway, sees blocks of windows that have ended, each with the
survey's minimum of reports or more; ranges begin and end between those. So any two results that such a reader can get
differ by the minimum or more: neither asking again and again nor taking one range from another shows single reports.

Nothing here reads counts: which reports are meant is known from counters, and the process that decodes reads the rest.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Any

from deniable.errors import DeniableError
from deniable.service import models, trends
from deniable.service.answers import Answer
from deniable.service.clock import hour_of, label, window_end
from deniable.service.collector import Collector
from deniable.service.decoding import DecodingFailed, Part, SearchGaveUp
from deniable.service.entries import Counters, Entry
from deniable.service.problems import RequestError, Unavailable, malformed, why
from deniable.service.retention import ended
from deniable.service.window_blocks import Block, joined

CountedWindows = dict[int, dict[str, int]]  # counters of a window, by the hour that it starts at
_MOST_PUBLIC_CANDIDATES = 1 << 12  # of whoever has no token: a few seconds of decoding
_Tabled = models.EstimateRequest | models.DiscoverRequest | models.CrosstabRequest
_Tables = Annotated[str, "text/csv"] | Annotated[bytes, "application/vnd.apache.arrow.stream"]


async def windows(collector: Collector, entry: Entry, role: str) -> models.WindowList:
    """The windows that a range can name, with their reports; to the administrator, who may name any, each window as
    it grows (`live`). `reports` is how many there are so far: to readers all of them while there is no result, so
    that they see one coming, and then those in windows that have ended."""
    view = _View(collector, entry, role)
    counted, blocks = await view.known()
    reports = sum(map(_accepted, counted.values()))
    if view.is_admin:
        spans = [(start, window_end(entry.rules.window, start), _accepted(counted[start])) for start in counted]
    elif spans := [(block.starts[0], block.last, block.reports) for block in blocks]:
        reports = sum(span.reports for span in ended(entry, counted, collector.clock.settled()))
    return models.WindowList(
        window=entry.rules.window,
        minimum=entry.rules.minimum,
        live=view.is_admin,
        reports=reports,
        windows=[models.ShownWindow(start=label(start), end=label(end), reports=count) for start, end, count in spans],
    )


async def tally(
    collector: Collector, entry: Entry, role: str, given: models.Range
) -> Answer[Annotated[bytes, "application/octet-stream"]]:
    """The tally of a range, as the file that `Tally.load` and `deniable decode` read."""
    view = _View(collector, entry, role)
    body = await view.decoded(models.DecodeRequest(), [await view.part(given.from_, given.to)], form="tally")
    name = f'attachment; filename="{entry.survey.digest[:8]}.tally"'.encode()
    return Answer(200, body, b"application/octet-stream", [(b"content-disposition", name)])


async def estimate(
    collector: Collector, entry: Entry, role: str, given: models.EstimateRequest
) -> Answer[models.Estimate | _Tables]:
    """The shares in a range."""
    view = _View(collector, entry, role)
    view.check_candidates(given)
    return await view.answer(given, [await view.part(given.from_, given.to)])


async def discover(
    collector: Collector, entry: Entry, role: str, given: models.DiscoverRequest
) -> Answer[models.Estimate | _Tables]:
    """The texts that people wrote in a range, found without a list."""
    view = _View(collector, entry, role)
    return await view.answer(given, [await view.part(given.from_, given.to)])


async def difference(
    collector: Collector, entry: Entry, role: str, given: models.DifferenceRequest
) -> Answer[models.Difference | _Tables]:
    """How the shares in a range differ from those in an earlier one."""
    view = _View(collector, entry, role)
    view.check_candidates(given)
    return await view.answer(given, await view.two_parts(given, "against_to and from must be given, and"))


async def crosstab(
    collector: Collector, entry: Entry, role: str, given: models.CrosstabRequest
) -> Answer[models.CrosstabTable | _Tables]:
    """How two answers of the same people go together, or how an answer differs between two ranges."""
    view = _View(collector, entry, role)
    view.check_candidates(given)
    if (given.rows is None) != (given.columns is None):
        raise malformed("rows and columns must name two questions, got one")
    if given.rows is not None:
        return await view.answer(given, [await view.part(given.from_, given.to)])
    needed = "rows and columns must be given, or against_to and from, of which"
    return await view.answer(given, await view.two_parts(given, needed))


async def trend(collector: Collector, entry: Entry, role: str, given: models.TrendRequest) -> Answer[models.Trend]:
    """The last windows of a range that have enough reports, each with its estimates, and those that changed."""
    view = _View(collector, entry, role)
    view.check_candidates(given)
    parts = await view.parts(*_range(given.from_, given.to))
    if not parts:
        raise _too_few(entry, "no window has as many")
    with collector.answers.held() as held:
        return await trends.trend(view.decoded, entry, given, parts[-trends.MOST_WINDOWS :], held)


async def counters(collector: Collector, entry: Entry) -> models.Counters:
    """How many reports met which fate, in all."""
    total = Counters()
    for counts in (await collector.read(lambda: collector.store.windows(entry))).values():
        total.add(counts)
    return models.Counters(total.counts)


class _View:
    """What whoever asks may see of a survey's results."""

    def __init__(self, collector: Collector, entry: Entry, role: str) -> None:
        self._collector, self._entry, self._role = collector, entry, role
        self.is_admin = role == "admin"

    def check_candidates(self, given: models.DecodeRequest | models.CrosstabRequest) -> None:
        """Refuse what only the holder of a token may ask."""
        if given.candidates is not None and len(given.candidates) > _MOST_PUBLIC_CANDIDATES and self._role == "public":
            sentence = f"candidates must be at most {_MOST_PUBLIC_CANDIDATES} without a token"
            raise RequestError(401, "token-missing", f"{sentence}, got {len(given.candidates)}; ask with a read token")

    async def decoded(
        self,
        given: models.Decoded,
        parts: Sequence[Part],
        *,
        form: str,
        about: dict[str, str] | None = None,
    ) -> bytes:
        """An answer in some form: of one part, or how the second differs from the first."""
        public = self._role == "public"
        try:
            return await self._collector.decoding.ask(
                given, self._entry, parts, form=form, about=about or {}, public=public, even=not self.is_admin
            )
        except SearchGaveUp as problem:
            raise RequestError(422, "unfinished", str(problem), more={"resume": problem.resume}) from None
        except DeniableError as problem:
            raise RequestError(422, "undecodable", str(problem), more=why(problem)) from None
        except DecodingFailed as problem:
            raise RequestError(503, "decoding", str(problem), retry=60, more={"reason": "slow"}) from None

    async def answer(self, given: _Tabled, parts: Sequence[Part]) -> Answer[Any]:
        """What one part says or, of two, how the later differs from the earlier, in the format that is asked for."""
        *before, part = parts
        about = {name: text for one in before for name, text in one.about("against_").items()} | part.about()
        body = await self.decoded(given, parts, form=given.format, about=about)
        return Answer(200, body, models.FORMATS[given.format].encode())

    async def two_parts(self, given: models.DifferenceRequest | models.CrosstabRequest, needed: str) -> list[Part]:
        """The earlier and the later range."""
        ends, starts = _hour(given.against_to), _hour(given.from_)
        if ends is None or starts is None or ends > starts:
            raise malformed(f"{needed} the earlier range must end before the later")
        return [await self.part(given.against_from, given.against_to), await self.part(given.from_, given.to)]

    async def known(self) -> tuple[CountedWindows, list[Block]]:
        """The windows of a survey and, but for the administrator, the blocks of them that readers may see."""
        collector, entry, store = self._collector, self._entry, self._collector.store
        if self.is_admin:
            return await collector.read(lambda: store.windows(entry)), []
        found = await collector.read(lambda: store.blocks(entry))
        hour = collector.clock.settled()
        more = [span for span in ended(entry, found[0], hour) if span.start >= found[1]]
        if joined(more, entry.least):
            try:
                await collector.writer.call(lambda: store.show(entry, hour=hour))
                found = await collector.read(lambda: store.blocks(entry))
            except Unavailable:  # a full disk: what was shown can be shown again, and no more
                pass
        return found[0], found[2]

    async def parts(self, first: int | None, last: int | None) -> list[Part]:
        """The windows with enough reports in a range, oldest first: those that whoever asks may name."""
        counted, blocks = await self.known()
        spans = [(block.starts[0], block.last) for block in blocks]
        if self.is_admin:
            enough = [start for start, counts in counted.items() if _accepted(counts) >= self._entry.least]
            spans = [(start, window_end(self._entry.rules.window, start)) for start in enough]
        inside = [span for span in spans if (first is None or span[0] >= first) and (last is None or span[1] <= last)]
        return [_part(counted, *span) for span in inside]

    async def part(self, first: str | None, last: str | None) -> Part:
        """A range, if enough reports are in it and, but for the administrator, in whatever it cuts off."""
        entry = self._entry
        counted, blocks = await self.known()
        begin, end = _range(first, last)
        if not self.is_admin:
            begin, end = _between(blocks, begin, end, entry.least)
        elif starts := [start for start, counts in counted.items() if _accepted(counts)]:
            # The dates that a range without bounds stands for: whoever keeps a result wants to know them.
            begin = starts[0] if begin is None else begin
            end = window_end(entry.rules.window, starts[-1]) if end is None else end
        if begin is None or end is None:
            raise _too_few(entry, "this range has fewer")
        found = _part(counted, begin, end)
        if found.reports < entry.least:
            raise _too_few(entry, "this range has fewer")
        return found


def _hour(text: str | None) -> int | None:
    """The hour that a text of a request names."""
    try:
        return None if text is None else hour_of(text)
    except DeniableError as problem:
        raise malformed(str(problem)) from None


def _range(first: str | None, last: str | None) -> tuple[int | None, int | None]:
    """The hours of one range, which must not be empty."""
    begin, end = _hour(first), _hour(last)
    if begin is not None and end is not None and begin >= end:
        raise malformed(f"a range must end after it begins, got from {first} to {last}")
    return begin, end


def _accepted(counts: dict[str, int]) -> int:
    return counts.get("accepted", 0)


def _too_few(entry: Entry, why: str) -> RequestError:
    return RequestError(409, "too-few", f"results are shown from {entry.least} reports on; {why}")


def _part(counted: CountedWindows, begin: int, end: int) -> Part:
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
