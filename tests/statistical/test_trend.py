"""The change marks of results over time: how often they lie where nothing changed, and whether they find what did."""

import asyncio
import json
from functools import reduce
from operator import add
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.service import trends as room
from deniable.service.decoding import Part
from deniable.service.inputs import read_query
from deniable.service.models import DecodeRequest, TrendRequest
from deniable.service.requests import Room
from tests.statistical.harness import accept, binomial_p_value, generator, reject
from tests.surveys import SEED

Floats = npt.NDArray[np.float64]

REPEATS, WINDOWS, SHIFT = 100, 5, 2
LEVEL = 0.9  # far enough from 1 for a trend that forgets something to stand out in so few repeats
BEFORE, AFTER = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
# The shift is nine standard errors or more of a window: it is missed in fewer than one of a million trends.
SURVEYS: dict[str, tuple[dn.Survey, int]] = {
    "krr": (dn.krr(symbols=3, epsilon=1, name="trend"), 4000),
    "orr": (dn.orr(symbols=3, epsilon=2, cells=2, cohorts=8, seed=SEED), 4000),
}


class Inline:
    """What the collector's decoding process says of a change, without the process and without all else that it says."""

    def __init__(self) -> None:
        self.asked: list[DecodeRequest] = []
        self.days: list[dn.Tally] = []

    async def ask(
        self, given: DecodeRequest, parts: list[Part], *, form: str, about: dict[str, str] | None = None
    ) -> bytes:
        self.asked.append(given)
        if len(parts) == 1:
            return json.dumps((about or {}) | {"n": 0, "estimates": []}).encode()
        assert form == "changed"
        # The intervals are those of the unbiased estimates, whichever stand beside them.
        tallies = [reduce(add, (self.days[first // 24] for first, _ in part.spans)) for part in parts]
        old, new = (dn.decode(tally, constraint=dn.Projected()) for tally in tallies)
        change = dn.difference(new, old)
        rows = zip(change.symbols, change.intervals(given.level).tolist(), strict=True)
        return json.dumps([symbol for symbol, (low, high) in rows if low > 0 or high < 0]).encode()


async def marked(survey: dn.Survey, tallies: list[dn.Tally], query: dict[str, str], decoding: Any) -> list[int]:
    """The windows that the collector marks, for a tally a day."""
    parts = [Part(((24 * day, 24 * day + 24),), tally.n) for day, tally in enumerate(tallies)]
    entry: Any = SimpleNamespace(survey=survey, rules=SimpleNamespace(window="day", minimum=1))
    given = read_query(TrendRequest, urlencode(query).encode())
    assert given is not None
    decoding.days = tallies
    with Room().held() as held:
        answer = await room.trend(decoding.ask, entry, given, parts, held)
    told = json.loads(answer.body)
    return [day for day, window in enumerate(told["windows"]) if window["changed"]]


def trends(name: str, days: list[Floats], label: str) -> list[list[int]]:
    survey, n = SURVEYS[name]
    rng = generator(f"trend {name} {label}")

    async def many() -> list[list[int]]:
        found = []
        for _ in range(REPEATS):
            tallies = [dn.simulate(survey, p, n, rng) for p in days]
            found.append(await marked(survey, tallies, {"level": str(LEVEL)}, Inline()))
        return found

    return asyncio.run(many())


@pytest.mark.slow
@pytest.mark.parametrize("name", SURVEYS)
def test_marks_where_nothing_changes_are_as_rare_as_the_level_says(name: str) -> None:
    days = [BEFORE] * WINDOWS
    wrong = sum(bool(marks) for marks in trends(name, days, "still"))
    accept("trend-false-alarms", binomial_p_value(wrong, REPEATS, 1 - LEVEL))
    # The mutant gives every comparison the level that all of them together should have.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "strict_level", lambda level, comparisons: level)
        wrong = sum(bool(marks) for marks in trends(name, days, "still"))
    reject("trend-false-alarms", binomial_p_value(wrong, REPEATS, 1 - LEVEL))


@pytest.mark.parametrize("name", SURVEYS)
def test_a_shift_is_marked_where_it_is_and_not_again(name: str) -> None:
    days = [BEFORE] * SHIFT + [AFTER] * (WINDOWS - SHIFT)
    found = trends(name, days, "shift")
    assert all(SHIFT in marks for marks in found), "nine standard errors are never missed"
    more = sum(marks != [SHIFT] for marks in found)
    accept("trend-marks", binomial_p_value(more, REPEATS, 1 - LEVEL))
    # The mutant never starts afresh, so that every later window differs from the days before the shift.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "gathered", lambda since, part, changed: GATHERED(since, part, False))
        more = sum(marks != [SHIFT] for marks in trends(name, days, "shift"))
    reject("trend-marks", binomial_p_value(more, REPEATS, 1 - LEVEL))


GATHERED = room.gathered


def test_marks_count_every_symbol_whatever_is_listed() -> None:
    """A request for the largest few must not weaken what a mark means."""
    survey, rng, listening = dn.krr(symbols=10, epsilon=1), generator("trend listing"), Inline()
    tallies = [dn.simulate(survey, dn.lab.uniform(10), 1000, rng) for _ in range(3)]
    asyncio.run(marked(survey, tallies, {"top": "2", "simultaneous": "true"}, listening))
    compared = [question for question in listening.asked if question.level != 0.95]
    assert [(q.level, q.simultaneous, q.top) for q in compared] == [(1 - 0.05 / (10 * 2), False, None)] * 2
