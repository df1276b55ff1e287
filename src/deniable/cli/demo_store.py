"""The store of `deniable serve --demo`: three weeks of simulated answers, with a real shift in the third.

It is made here, on the command line's side: the collector itself has no code that could hold an answer.
"""

import secrets
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.survey import Survey, krr, orr

if TYPE_CHECKING:
    from deniable.service import Store

DAYS = 21  # of answers, today included
SHIFT = 14  # the day on which people begin to answer differently

QUESTION = "How do you feel about going to work tomorrow?"
# Invented shares, in thousandths, before and after the shift.
ANSWERS = {
    "looking forward to it": (240, 170),
    "it is fine": (310, 250),
    "tired of it": (200, 200),
    "anxious": (90, 190),
    "looking for another job": (110, 140),
    "I do not work": (50, 50),
}

SEARCHED = "What did you last look up about your health?"
# Invented shares of free text; what is left of a thousand wrote something rare.
WRITTEN = {
    "back pain": (200, 180),
    "sleep": (170, 160),
    "headache": (140, 130),
    "flu": (60, 190),
    "anxiety": (110, 90),
    "rash": (90, 70),
    "allergy": (90, 60),
    "pregnancy": (60, 50),
    "tinnitus": (30, 30),
}
CANDIDATES = tuple(WRITTEN)


@dataclass(frozen=True, slots=True)
class Told:
    """A survey of the demo: its owner token, and the candidates to look for if it is open."""

    survey: Survey
    token: str
    candidates: tuple[str, ...] = ()


def fill(store: "Store", *, people: int = 2500) -> list[Told]:
    """Two surveys with about `people` answers a day each, up to today. A store that has them already is left alone."""
    from deniable.service import Rules, Token, hash_of, new_secret

    now = int(time.time() // 3600)
    told = []
    for survey, shares in _surveys():
        entry, new = store.create(survey, Rules(minimum=50, results="private"))
        secret = new_secret()
        store.add_token(Token(hash_of(secret), entry.key, "owner", None, 0, "demo"))
        told.append(Told(survey, secret, CANDIDATES if survey.alphabet.is_open else ()))
        for hours, column in _days(shares, now, people, rare=survey.alphabet.is_open) if new else ():
            _answer(store, survey, column, hours)
        store.tidy()
    return told


def _surveys() -> Iterator[tuple[Survey, Mapping[str, tuple[int, int]]]]:
    yield krr(list(ANSWERS), epsilon=2, name=QUESTION), ANSWERS
    # Its seed is public and always the same, so that a second start finds the survey of the first.
    yield orr(epsilon="2.5", cells=12, cohorts=128, seed=b"deniable demo 01", name=SEARCHED), WRITTEN


def _days(
    shares: Mapping[str, tuple[int, int]], now: int, people: int, *, rare: bool
) -> Iterator[tuple[int, list[str]]]:
    """The hour and the answers of each day; a few more people on some days than on others."""
    for day in range(DAYS):
        count = people + secrets.randbelow(people // 5)
        column: list[str] = []
        for answer, (before, after) in shares.items():
            column += [answer] * (count * (before if day < SHIFT else after) // 1000)
        # What is left wrote something that hardly anybody else did.
        left = range(count - len(column) if rare else 0)
        column += [f"something rare, number {number}" for number in left]
        yield now - 24 * (DAYS - 1 - day), column


def _answer(store: "Store", survey: Survey, column: list[str], hours: int) -> None:
    """Randomise a day's answers as devices would, and hand the reports in as one upload."""
    from deniable.columns import privatize
    from deniable.service import Upload

    packed = b"".join(report.pack() for report in privatize(survey, column))
    entry = store.entry(survey.digest)
    assert entry is not None
    store.write([Upload(entry, packed, batch=uuid.uuid4().bytes)], hours=hours)
