"""How people take part in a survey: once, once in every window of time, or at every event.

A window is an hour, a day or a week in UTC, counted from the one that 1970-01-01 falls in; weeks start on Monday. Where
it is known which part of the devices is replaced from one window to the next, or which part of the others draws its
answer anew, the text may end with it: "window:day:turnover=0.05:change=0.1", or one of the two. Devices do not heed it;
error bars of what several windows show do.

Or it ends with the share of the devices that report in a window: "window:day:share=1/7". Each device has its turn in
one window of seven, which it draws before any answer, and keeps. Its reports have fresh noise, so no two windows share
any.
"""

import re
from datetime import UTC, datetime, timedelta

from deniable.errors import SurveyError

__all__ = [
    "PARTICIPATIONS",
    "WINDOWS",
    "change_of",
    "check_participation",
    "every_of",
    "first_hour",
    "first_minute",
    "next_turn",
    "participation_words",
    "turnover_of",
    "window_number",
]

WINDOWS = {"hour": 1, "day": 24, "week": 168}  # hours
PARTICIPATIONS = ("once", *(f"window:{window}" for window in WINDOWS), "event")
# Hours from a Monday to the Thursday 1970-01-01: the first week began before the epoch.
_SHIFT = {"hour": 0, "day": 0, "week": 72}
_PART = r"(0|1|0\.[0-9]{0,3}[1-9])"  # its shortest spelling, with four digits at most
_LIVES = re.compile(rf"(?::turnover={_PART})?(?::change={_PART})?")
_SHARE = re.compile(r":share=1/([2-9]|[1-9][0-9]{1,4})")  # one window of 2 to 99,999


def check_participation(value: object) -> str:
    """The canonical text of a way to take part; "window" is short for "window:day".

    >>> check_participation("window"), check_participation("once"), check_participation("window:week:turnover=0.1")
    ('window:day', 'once', 'window:week:turnover=0.1')
    """
    text = "window:day" if value == "window" else value
    lives = re.search(r":(?:turnover|change)=", text) if isinstance(text, str) else None
    if isinstance(text, str) and (share := text.find(":share=")) > 0 and text[:share] in PARTICIPATIONS:
        if not text.startswith("window:") or not _SHARE.fullmatch(text, share):
            raise SurveyError(
                "share must follow a window, from 1/2 to 1/99999, as in 'window:day:share=1/7', and without a "
                f"turnover, got {text[:60]!r}"
            )
        return text
    if isinstance(text, str) and lives and text[: lives.start()] in PARTICIPATIONS:
        if not text.startswith("window:") or not _LIVES.fullmatch(text, lives.start()):
            raise SurveyError(
                "turnover and change must follow a window, in this order, from 0 to 1 with at most four digits after "
                f"the point, as in 'window:day:turnover=0.05:change=0.1', got {text[:60]!r}"
            )
        return text
    if not isinstance(text, str) or text not in PARTICIPATIONS:
        known = ", ".join(repr(one) for one in PARTICIPATIONS[:-1])
        shown = repr(text[:40]) if isinstance(text, str) else type(text).__name__
        raise SurveyError(f"participation must be {known} or {PARTICIPATIONS[-1]!r}, got {shown}")
    return text


def participation_words(participation: str) -> str:
    """A way to take part as people say it.

    >>> participation_words("window:day"), participation_words("event"), participation_words("window:day:share=1/7")
    ('once a day', 'at every event', 'in one day of 7')
    """
    how, *window = participation.split(":")
    if (every := every_of(participation)) > 1:
        return f"in one {window[0]} of {every}"
    if window:
        return f"once {'an' if window[0] == 'hour' else 'a'} {window[0]}"
    return {"once": "once", "event": "at every event"}[how]


def turnover_of(participation: str) -> float | None:
    """The part of the devices that is replaced each window, where a way to take part says it.

    >>> turnover_of("window:day:turnover=0.05"), turnover_of("window:day")
    (0.05, None)
    """
    return _part(participation, ":turnover=")


def change_of(participation: str) -> float | None:
    """The part of the devices that draws its answer anew before each window, where a way to take part says it.

    >>> change_of("window:day:turnover=0.05:change=0.1"), change_of("window:day:turnover=0.05")
    (0.1, None)
    """
    return _part(participation, ":change=")


def _part(participation: str, mark: str) -> float | None:
    _, found, rest = participation.partition(mark)
    return float(rest.partition(":")[0]) if found else None


def every_of(participation: str) -> int:
    """How many windows there are to one turn of a device: 1, unless only a share of the devices reports in each.

    >>> every_of("window:day:share=1/7"), every_of("window:day"), every_of("once")
    (7, 1, 1)
    """
    _, mark, part = participation.partition(":share=1/")
    return int(part) if mark else 1


def next_turn(number: int, every: int, turn: int) -> int:
    """The first window from `number` on in which a device has its turn: one whose number leaves `turn` by `every`.

    >>> [next_turn(number, 7, 2) for number in (1, 2, 3)], next_turn(5, 1, 0)
    ([2, 2, 9], 5)
    """
    return number + (turn - number) % every


def window_number(window: str, hours: int) -> int:
    """The number of the window that an hour, counted from 1970, falls in.

    >>> window_number("day", 49), window_number("week", 95), window_number("week", 96)
    (2, 0, 1)
    """
    return (hours + _SHIFT[window]) // WINDOWS[window]


def first_hour(window: str, number: int) -> int:
    """The first hour of a window, counted from 1970.

    >>> first_hour("day", 2), first_hour("week", 1)
    (48, 96)
    """
    return number * WINDOWS[window] - _SHIFT[window]


def first_minute(window: str, number: int) -> str:
    """When a window begins, as text.

    >>> first_minute("week", window_number("week", 498_600))
    '2026-11-16T00:00Z'
    """
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=first_hour(window, number))
    return start.strftime("%Y-%m-%dT%H:%MZ")
