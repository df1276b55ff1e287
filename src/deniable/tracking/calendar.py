"""The positions of windows on a regular calendar: numbers, days, hours, weeks or months, with gaps."""

import re
from collections.abc import Sequence
from datetime import date
from math import gcd

from deniable.errors import DecodeError

__all__ = ["places_of"]

_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:T(\d{2})(?::00)?Z?)?")
_WEEK = re.compile(r"(\d{4})-W(\d{2})")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_MOST_MISSING = 20  # missing windows per window with reports; above it the labels are no regular calendar


def places_of(labels: Sequence[object]) -> list[int]:
    """The place of each window on an even calendar; the first is 0.

    Parameters
    ----------
    labels
        Whole numbers, or texts such as "2026-11-18", "2026-11-18T09", "2026-W47" or "2026-11"; other texts are taken to
        follow each other without a gap.

    Returns
    -------
    list of int
        Increasing numbers.

    Raises
    ------
    DecodeError
        If a window comes twice or before the one that precedes it.

    Examples
    --------
    >>> places_of(["2026-11-17", "2026-11-18", "2026-11-20"])
    [0, 1, 3]
    >>> places_of(["2026-11-02", "2026-11-09", "2026-11-23"])
    [0, 1, 3]
    """
    if len(set(labels)) != len(labels):
        twice = next(label for place, label in enumerate(labels) if label in labels[:place])
        raise DecodeError(f"windows must not overlap, got {twice!r} twice; add up the tallies of one window first")
    times = [_time(label) for label in labels]
    known = [time for time in times if time is not None]
    if len(known) != len(labels) or len({unit for unit, _ in known}) != 1:
        return list(range(len(labels)))
    numbers = [number for _, number in known]
    for place in range(1, len(numbers)):
        if numbers[place] <= numbers[place - 1]:
            raise DecodeError(
                f"windows must be in the order of time, got {labels[place]!r} after {labels[place - 1]!r}; sort them"
            )
    step = gcd(*(number - numbers[0] for number in numbers)) or 1
    found = [(number - numbers[0]) // step for number in numbers]
    return found if found[-1] < _MOST_MISSING * len(found) else list(range(len(labels)))


def _time(label: object) -> tuple[str, int] | None:
    """A label as a unit and a number of it; None if it is neither a number nor a time."""
    if isinstance(label, int):
        return "number", label
    if not isinstance(label, str):
        return None
    try:
        if found := _DAY.fullmatch(label):
            day = date(int(found[1]), int(found[2]), int(found[3])).toordinal()
            return ("day", day) if found[4] is None else ("hour", 24 * day + int(found[4]))
        if found := _WEEK.fullmatch(label):
            return "week", date.fromisocalendar(int(found[1]), int(found[2]), 1).toordinal() // 7
        if found := _MONTH.fullmatch(label):
            return "month", 12 * int(found[1]) + int(found[2])
    except ValueError:
        pass
    return None
