"""Results over time: every window decoded, and a mark where one differs from those before it.

A window is compared with all reports since the last mark, taken together: they are more than one window's, so smaller
changes show, and after a mark the comparison starts afresh. The level of a comparison is that of the request shared
among all of them, so that a mark anywhere in a trend without any change is as rare as the level says.

Claim: in a trend without a change there is a mark with probability 1 - level at most; after one, no mark but its own.
Proof: tests/statistical/test_trend.py::test_marks_where_nothing_changes_are_as_rare_as_the_level_says
"""

import asyncio
import dataclasses
import json
from typing import Any

from deniable.service import results
from deniable.service.clock import window_end
from deniable.service.decoding import Decoding, Question
from deniable.service.entries import Entry
from deniable.service.problems import Answer, RequestError
from deniable.service.requests import Request
from deniable.service.store import Store

__all__ = ["MOST", "PARAMETERS", "gathered", "strict_level", "trend"]

MOST = 62  # windows: two months of days
PARAMETERS = results.PARAMETERS - {"format"}


async def trend(store: Store, decoding: Decoding, entry: Entry, request: Request, now: int) -> Answer:
    """The last windows of a range that have enough reports, each with its estimates, and those that `changed`."""
    question, ranges = results.question_of(request)
    if question.form != "json":
        raise RequestError(400, "malformed", "format must be json for results over time")
    first, last = results.hours_of(ranges["from"], ranges["to"])
    parts = await asyncio.to_thread(_parts, store, entry, request.admin, first, last, now)
    if not parts:
        least = max(entry.rules.minimum, 1)
        raise RequestError(409, "too-few", f"results are shown from {least} reports on; no window has as many")
    # Every symbol counts, whatever part of them is to be listed.
    size = len(question.candidates or entry.survey.symbols or ())
    level = strict_level(question.level, size * (len(parts) - 1))
    strict = dataclasses.replace(question, level=level, simultaneous=False, top=None)
    if question.decoder is None:
        # What is compared are unbiased estimates: with a constraint `decode` stops there, and does not shrink them.
        strict = dataclasses.replace(strict, constraint=question.constraint or "projected")
    windows: list[dict[str, Any]] = []
    since: results.Part | None = None
    for part in parts:
        found = await _ask(decoding, question, [part])
        changed: list[Any] = []
        if since is not None:
            told = await _ask(decoding, strict, [since, part])
            rows = told["changes"]
            changed = [row["symbol"] for row in rows if _leaves_out_zero(row)]
        since = gathered(since, part, bool(changed))
        row = {"start": found["from"], "end": found["to"], "n": found["n"], "estimates": found["estimates"]}
        windows.append(row | {"changed": changed})
    return Answer.json(
        {"survey": entry.survey.digest, "window": entry.rules.window, "level": question.level, "windows": windows}
    )


def _leaves_out_zero(row: dict[str, Any]) -> bool:
    return row["raw_low"] is not None and bool(row["raw_low"] > 0 or row["raw_high"] < 0)


def strict_level(level: float, comparisons: int) -> float:
    """The level of each of so many intervals that hold together at `level`; no nearer to 1 than floating point tells.

    >>> round(strict_level(0.95, 10), 9), strict_level(0.95, 10**15) < 1
    (0.995, True)
    """
    return 1 - max((1 - level) / max(comparisons, 1), 1e-12)


def gathered(since: results.Part | None, part: results.Part, changed: bool) -> results.Part:
    """What the next window is compared with: everything since the last mark."""
    if since is None or changed:
        return part
    return results.Part(since.tally + part.tally, since.first, part.last)


def _parts(
    store: Store, entry: Entry, admin: bool, first: int | None, last: int | None, now: int
) -> list[results.Part]:
    """The last windows with enough reports, oldest first: those that whoever asks may name."""
    least = max(entry.rules.minimum, 1)
    spans = [
        (start, window_end(entry.rules.window, start))
        for start, counts in sorted(store.windows(entry).items())
        if counts.get("accepted", 0) >= least
    ]
    if not admin:
        spans = [(block.starts[0], block.last) for block in results.blocks(store, entry, now)]
    chosen = [span for span in spans if (first is None or span[0] >= first) and (last is None or span[1] <= last)]
    return [results.Part(store.tally(entry, *span), *span) for span in chosen[-MOST:]]


async def _ask(decoding: Decoding, question: Question, parts: list[results.Part]) -> dict[str, Any]:
    answer = await results.estimate(decoding, question, parts)
    told: dict[str, Any] = json.loads(answer.body)
    return told
