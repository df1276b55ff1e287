"""Time in the collector: days and windows. No finer time is ever stored.

A window is named by the hour it starts at, counted from 1970 in UTC. Weeks start on Monday.
"""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

from deniable.errors import StoreError
from deniable.survey import WINDOWS as _HOURS
from deniable.survey import first_hour, window_number

WINDOWS = tuple(_HOURS)
_STEP = 3600.0  # seconds; a change of the wall clock of this much or more is a jump: the unit of windows is an hour
_SETTLING = 300.0  # seconds after an hour in which its commits may still arrive, or another collector be behind
_MINUTE = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d)(?::(\d\d))?)?Z?", re.ASCII)


class Clock:
    """The wall clock, compared with the monotonic clock: a jump of an hour or more is detected and remembered.

    After a jump `trusted` is False. Ids and windows must not be deleted then, because the clock may jump back.
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._steady = wall, steady
        self._offset = wall() - steady()
        self.trusted = True

    def hours(self) -> int:
        """Whole hours since 1970."""
        return int(self._now() // 3600)

    def minutes(self) -> int:
        """Whole minutes since 1970, for closing dates. Once the clock has jumped, as it would be had it not: devices
        discard what a closed survey refuses, so no survey may end, or open again, because somebody set a clock."""
        now = self._now()
        return int((now if self.trusted else self._steady() + self._offset) // 60)

    def _now(self) -> float:
        now = self._wall()
        if abs(now - self._steady() - self._offset) >= _STEP:
            self.trusted = False
        return now

    def settled(self) -> int:
        """The hour before which nothing is written any more: a commit may be on its way for a moment after its hour,
        and the clock of another collector may be behind."""
        now = self._now()
        return int(((now if self.trusted else min(now, self._steady() + self._offset)) - _SETTLING) // 3600)

    def day(self) -> int:
        """Whole days since 1970."""
        return self.hours() // 24


def window_of(kind: str, hours: int) -> int:
    """The first hour of the window that an hour falls in.

    >>> label(window_of("week", hour_of("2026-11-15T14")))
    '2026-11-09T00'
    """
    return first_hour(kind, window_number(kind, hours))


def window_end(kind: str, start: int) -> int:
    """The first hour after the window that starts at an hour.

    >>> window_end("day", 48)
    72
    """
    return start + _HOURS[kind]


def label(hours: int) -> str:
    """An hour as text: 2026-11-15T14."""
    return datetime.fromtimestamp(hours * 3600, UTC).strftime("%Y-%m-%dT%H")


def hour_of(text: str) -> int:
    """The hour that a text names.

    Parameters
    ----------
    text : str
        A time in UTC: 2026-11-15T14, or 2026-11-15 for its first hour.

    Returns
    -------
    int
        Hours since 1970.

    Raises
    ------
    StoreError
        If the text is no such time.

    Examples
    --------
    >>> hour_of("1970-01-02")
    24
    """
    try:
        form = "%Y-%m-%dT%H" if "T" in text else "%Y-%m-%d"
        return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp() // 3600)
    except (ValueError, OverflowError):
        raise StoreError(f"a time must be like 2026-11-15 or 2026-11-15T14, in UTC, got {text[:40]!r}") from None


def minute_of(text: str) -> int:
    """The minute that a text names, counted from 1970 in UTC; a date alone is its first minute.

    >>> minute_of("1970-01-02"), minute_of("1970-01-02T01"), minute_of("1970-01-02T01:30Z")
    (1440, 1500, 1530)
    """
    try:
        date, hour, minute = _MINUTE.fullmatch(text).groups("00")  # type: ignore[union-attr]
        found = datetime.fromisoformat(f"{date}T{hour}:{minute}+00:00")
        if found.year < 1970:
            raise ValueError
        return int(found.timestamp() // 60)
    except (AttributeError, ValueError, OverflowError):
        raise StoreError(f"a time must be like 2026-11-15 or 2026-11-15T14:30, in UTC, got {text[:40]!r}") from None


def minute_label(minutes: int) -> str:
    """A minute as text.

    >>> minute_label(minute_of("2026-11-15T14"))
    '2026-11-15T14:00Z'
    """
    return datetime.fromtimestamp(minutes * 60, UTC).strftime("%Y-%m-%dT%H:%MZ")
