"""Results over time: every window decoded, and a mark where one differs from those before it.

A window is compared with all reports since the last mark, taken together: they are more than one window's, so smaller
changes show, and after a mark the comparison starts afresh. The level of a comparison is that of the request shared
among all of them, so that a mark anywhere in a trend without any change is as rare as the level says.

Claim: in a trend without a change there is a mark with probability 1 - level at most; after one, no mark but its own.
Proof: tests/statistical/test_trend.py::test_marks_where_nothing_changes_are_as_rare_as_the_level_says
"""

import json
from typing import Protocol

from msgspec.structs import replace

from deniable.service.answers import Answer
from deniable.service.decoding import Part
from deniable.service.entries import Entry
from deniable.service.models import DecodeRequest, Trend
from deniable.service.requests import Held

MOST_WINDOWS = 62  # two months of days


class _Decode(Protocol):
    async def __call__(
        self, given: DecodeRequest, parts: list[Part], *, form: str, about: dict[str, str] | None = None
    ) -> bytes: ...


async def trend(decode: _Decode, entry: Entry, given: DecodeRequest, parts: list[Part], held: Held) -> Answer[Trend]:
    """Each window with its estimates, oldest first, and the symbols that `changed` in it. `held` counts the bytes of
    the answer as it grows."""
    # Every symbol counts, whatever part of them is to be listed.
    size = len(given.candidates or entry.survey.symbols or ())
    level = strict_level(given.level, size * (len(parts) - 1))
    strict = replace(given, level=level, simultaneous=False, top=None)
    if given.decoder is None:
        # What is compared are unbiased estimates: with a constraint `decode` stops there, and does not shrink them.
        strict = replace(strict, constraint=given.constraint or "projected")
    windows: list[bytes] = []
    since: Part | None = None
    for part in parts:
        row = await decode(given, [part], form="window", about=part.about())
        changed = b"[]" if since is None else await decode(strict, [since, part], form="changed")
        since = gathered(since, part, changed != b"[]")
        # Joined as bytes: as Python's objects a window of many symbols would take ten times the memory.
        windows.append(row[:-1] + b', "changed": ' + changed + b"}")
        held.take(len(windows[-1]))
    about = {"survey": entry.survey.digest, "window": entry.rules.window, "level": given.level}
    head = json.dumps(about).encode()
    return Answer(200, head[:-1] + b', "windows": [' + b", ".join(windows) + b"]}")


def strict_level(level: float, comparisons: int) -> float:
    """The level of each of so many intervals that hold together at `level`; no nearer to 1 than floating point tells.

    >>> round(strict_level(0.95, 10), 9), strict_level(0.95, 10**15) < 1
    (0.995, True)
    """
    return 1 - max((1 - level) / max(comparisons, 1), 1e-12)


def gathered(since: Part | None, part: Part, changed: bool) -> Part:
    """What the next window is compared with: everything since the last mark."""
    return part if since is None or changed else since + part
