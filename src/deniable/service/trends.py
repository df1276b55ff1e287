"""Results over time: every window decoded by itself, and all of them tracked together.

Two kinds of questions go to the process that decodes. Each window alone is asked for by itself, so that a page which
asks again decodes only what has grown. All of them together (`track`) give smooth bands, the windows in which a share
changed, and how the last window differs from a normal one. Where they cannot be tracked, `problem` says why, and the
single windows stay.

Claim: in a trend without a change there is a mark with probability 1 - level at most.
Proof: tests/statistical/test_tracking.py::test_changes_are_named_as_rarely_as_the_level_says
"""

import json
from typing import Protocol

from deniable.service.answers import Answer
from deniable.service.decoding import Part
from deniable.service.entries import Entry
from deniable.service.models import DecodeRequest, Trend
from deniable.service.problems import RequestError
from deniable.service.requests import Held

MOST_WINDOWS = 62  # two months of days
_UNTRACKED = b'"smooth": null, "changed": []'  # of a window that was not tracked


class _Decode(Protocol):
    async def __call__(
        self, given: DecodeRequest, parts: list[Part], *, form: str, about: dict[str, str] | None = None
    ) -> bytes: ...


async def trend(decode: _Decode, entry: Entry, given: DecodeRequest, parts: list[Part], held: Held) -> Answer[Trend]:
    """Each window with its estimates, oldest first, and what all of them together tell. `held` counts the bytes of the
    answer as it grows."""
    alone: list[bytes] = []
    for part in parts:
        alone.append(await decode(given, [part], form="window", about=part.about()))
        held.take(len(alone[-1]))
    head, *tracked = await _tracked(decode, given, parts)
    held.take(len(head) + sum(map(len, tracked)))
    # Joined as bytes: as Python's objects a window of many symbols would take ten times the memory.
    windows = [row[:-1] + b", " + more + b"}" for row, more in zip(alone, tracked, strict=True)]
    about = {"survey": entry.survey.digest, "window": entry.rules.window, "level": given.level}
    start = json.dumps(about).encode()[:-1] + b", " + head
    return Answer(200, start + b', "windows": [' + b", ".join(windows) + b"]}")


async def _tracked(decode: _Decode, given: DecodeRequest, parts: list[Part]) -> list[bytes]:
    """Members of JSON objects: those of the whole, and those of each window."""
    problem: str | None = None
    reason: str | None = None
    if len(parts) > 1:
        try:
            return (await decode(given, parts, form="track")).split(b"\n")
        except RequestError as refused:
            problem, reason = str(refused), refused.more.get("reason")
    unknown = {"latest": None, "turnover": None, "cycle": None}
    head = json.dumps({**unknown, "problem": problem, "reason": reason}).encode()[1:-1]
    return [head, *[_UNTRACKED] * len(parts)]
