"""How people take part in a survey: once, once in every window of time, or at every event.

A window is an hour, a day or a week in UTC, counted from the one that 1970-01-01 falls in; weeks start on Monday.
"""

from datetime import UTC, datetime, timedelta

from deniable.errors import SurveyError

__all__ = [
    "PARTICIPATIONS",
    "WINDOWS",
    "check_participation",
    "first_hour",
    "first_minute",
    "participation_words",
    "window_number",
]

WINDOWS = {"hour": 1, "day": 24, "week": 168}  # hours
PARTICIPATIONS = ("once", *(f"window:{window}" for window in WINDOWS), "event")
# Hours from a Monday to the Thursday 1970-01-01: the first week began before the epoch.
_SHIFT = {"hour": 0, "day": 0, "week": 72}


def check_participation(value: object) -> str:
    """The canonical text of a way to take part; "window" is short for "window:day".

    >>> check_participation("window"), check_participation("once")
    ('window:day', 'once')
    """
    text = "window:day" if value == "window" else value
    if not isinstance(text, str) or text not in PARTICIPATIONS:
        known = ", ".join(repr(one) for one in PARTICIPATIONS[:-1])
        shown = repr(text[:40]) if isinstance(text, str) else type(text).__name__
        raise SurveyError(f"participation must be {known} or {PARTICIPATIONS[-1]!r}, got {shown}")
    return text


def participation_words(participation: str) -> str:
    """A way to take part as people say it.

    >>> participation_words("window:day"), participation_words("event")
    ('once a day', 'at every event')
    """
    _, _, window = participation.partition(":")
    if window:
        return f"once {'an' if window == 'hour' else 'a'} {window}"
    return {"once": "once", "event": "at every event"}[participation]


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
