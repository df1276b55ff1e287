"""The positions of windows on a regular calendar: numbers, days, hours, weeks or months, with gaps."""

import contextlib
import re
from collections.abc import Sequence
from datetime import date, datetime, time
from math import gcd
from numbers import Integral

from deniable.errors import DecodeError

__all__ = ["in_order", "label_gaps", "period_of", "places_of"]

_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:T(\d{2})(?::00)?Z?)?")
_PLAIN = re.compile(r"(19|20)\d{6}")  # 20261118: as a number it would be followed by nothing for 70 windows a month
_WEEK = re.compile(r"(\d{4})-W(\d{2})")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_LEAST_PERIOD = 3  # windows; of a cycle with fewer little is to be seen
_MOST_MISSING = 20  # missing windows per window with reports; above it the labels are no regular calendar


def places_of(labels: Sequence[object]) -> list[int]:
    """The place of each window on an even calendar; the first is 0.

    Parameters
    ----------
    labels
        Whole numbers, or texts such as "2026-11-18", 20261118, "2026-11-18T09", "2026-W47" or "2026-11". If none of
        them is a time, they are taken to follow each other without a gap.

    Returns
    -------
    list of int
        Increasing numbers.

    Raises
    ------
    DecodeError
        If a window comes twice or before the one that precedes it, if some are days and others weeks or no times at
        all, or if a date does not exist.

    Examples
    --------
    >>> places_of(["2026-11-17", "2026-11-18", "2026-11-20"])
    [0, 1, 3]
    >>> places_of(["2026-11-02", "2026-11-09", "2026-11-23"])
    [0, 1, 3]
    """
    times = [_time(label) for label in labels]
    which = [time or label for time, label in zip(times, labels, strict=True)]
    if len(set(which)) != len(which):
        twice = next(labels[place] for place, one in enumerate(which) if one in which[:place])
        raise DecodeError(f"windows must not overlap, got {twice!r} twice; add up the tallies of one window first")
    units = {time and time[0]: label for time, label in zip(times, labels, strict=True)}
    if len(units) > 1 and {None, "number"} & set(units):
        some = " and ".join(repr(label) for label in list(units.values())[:2])
        raise DecodeError(
            f"windows must all be times, all be numbers or all be other names, got {some}; leave out what is not one "
            "window"
        )
    if len(units) > 1:
        some = " and ".join(repr(label) for label in list(units.values())[:2])
        raise DecodeError(f"windows must all be as long, or they overlap, got {some}; add up the shorter ones first")
    numbers = [time[1] for time in times if time is not None]
    if not numbers:
        return list(range(len(labels)))
    for place in range(1, len(numbers)):
        if numbers[place] <= numbers[place - 1]:
            raise DecodeError(
                f"windows must be in the order of time, got {labels[place]!r} after {labels[place - 1]!r}; sort them"
            )
    step = gcd(*(number - numbers[0] for number in numbers)) or 1
    found = [(number - numbers[0]) // step for number in numbers]
    return found if found[-1] < _MOST_MISSING * len(found) else list(range(len(labels)))


def period_of(labels: Sequence[object], places: Sequence[int]) -> int | None:
    """How many windows the calendar's own cycle has: a day in hours, a week in days, a year in months; None elsewhere.

    Parameters
    ----------
    labels
        Of the windows that are there.
    places
        Where they are, as `places_of` found.

    Examples
    --------
    >>> period_of(["2026-11-17", "2026-11-18"], [0, 1]), period_of(["2026-11-17T00", "2026-11-18T00"], [0, 1])
    (7, 7)
    >>> period_of(["2026-11-17T00", "2026-11-17T01"], [0, 1]), period_of([1, 2], [0, 1])
    (24, None)
    """
    first, last = _time(labels[0]), _time(labels[-1])
    if first is None or last is None or not places[-1] or (last[1] - first[1]) % places[-1]:
        return None
    step = (last[1] - first[1]) // places[-1]
    if first[0] == "day" or (first[0] == "hour" and step == 24):
        return 7 if step in (1, 24) else None
    whole = {"hour": 24, "month": 12}.get(first[0], 0)
    return whole // step if whole % step == 0 and whole // step >= _LEAST_PERIOD else None


def in_order(labels: Sequence[object]) -> list[int]:
    """The places of labels in the order of time; as they are where they are no times.

    >>> in_order(["2026-11-18", "2026-11-20", "2026-11-19"]), in_order(["spring", "autumn"])
    ([0, 2, 1], [0, 1])
    """
    times = [_time(label) for label in labels]
    if None in times:
        return list(range(len(labels)))
    return sorted(range(len(labels)), key=lambda place: times[place] or ("", 0))


def label_gaps(labels: Sequence[object], places: Sequence[int]) -> list[object]:
    """The labels of all windows, missing ones named after their place between the others.

    Parameters
    ----------
    labels
        Of the windows that are there.
    places
        Where they are, as `places_of` found.

    Returns
    -------
    list
        One label a window.

    Examples
    --------
    >>> label_gaps(["2026-11-17", "2026-11-19"], [0, 2])
    ['2026-11-17', '2026-11-18', '2026-11-19']
    >>> label_gaps([3, 9], [0, 1])
    [3, 9]
    """
    found: list[object] = [f"(missing {place})" for place in range(places[-1] + 1)]
    for label, place in zip(labels, places, strict=True):
        found[place] = label
    first, last = _time(labels[0]), _time(labels[-1])
    if first is not None and last is not None and places[-1] > 0:
        unit, start = first
        step = (last[1] - start) // places[-1]
        for place, label in enumerate(found):
            if isinstance(label, str) and label.startswith("(missing"):
                found[place] = _label(unit, start + step * place)
    return found


def _label(unit: str, number: int) -> object:
    """The label of a time: what `_time` reads."""
    if unit == "number":
        return number
    if unit == "day":
        return date.fromordinal(number).isoformat()
    if unit == "hour":
        return f"{date.fromordinal(number // 24).isoformat()}T{number % 24:02}"
    if unit == "week":
        year, week, _ = date.fromordinal(7 * number + 1).isocalendar()
        return f"{year}-W{week:02}"
    return f"{(number - 1) // 12}-{(number - 1) % 12 + 1:02}"


def _time(label: object) -> tuple[str, int] | None:
    """A label as a unit and a number of it; None if it is a name."""
    if isinstance(label, (str, Integral)) and _PLAIN.fullmatch(str(label)):
        with contextlib.suppress(ValueError):
            return "day", datetime.strptime(str(label), "%Y%m%d").toordinal()
    if isinstance(label, Integral):  # those of NumPy, too
        return "number", int(label)
    if isinstance(label, datetime):
        if label != label.replace(minute=0, second=0, microsecond=0):
            raise DecodeError(f"windows must be whole hours, days, weeks or months, got {str(label)!r}")
        return "hour", 24 * label.toordinal() + label.hour
    if isinstance(label, date):
        return "day", label.toordinal()
    if not isinstance(label, str):
        kind = type(label).__name__
        raise DecodeError(f"windows must be whole numbers, dates or texts, got {kind}; write dates as '2026-11-18'")
    try:
        if found := _DAY.fullmatch(label):
            day = date(int(found[1]), int(found[2]), int(found[3])).toordinal()
            return ("day", day) if found[4] is None else ("hour", 24 * day + time(int(found[4])).hour)
        if found := _WEEK.fullmatch(label):
            return "week", date.fromisocalendar(int(found[1]), int(found[2]), 1).toordinal() // 7
        if found := _MONTH.fullmatch(label):
            first = date(int(found[1]), int(found[2]), 1)
            return "month", 12 * first.year + first.month
    except ValueError as error:
        raise DecodeError(f"windows must be dates that exist, got {label!r}") from error
    return None
