"""Reports that leave the outbox, the day and the window: changes of what a device keeps, each in one write of it."""

import time
from collections.abc import Mapping, Sequence

from deniable.client.delivery import UNKNOWN
from deniable.client.state import Contents
from deniable.errors import ParticipationError
from deniable.survey import Agreement, first_minute, next_turn, participation_words, window_number

__all__ = ["settle", "this_window", "today", "unknown_days"]

_DAYS = range(20_454, 1 << 20)  # from 2026-01-01: a clock that shows less has stopped or was never set


def today() -> int | None:
    """The UTC day, counted from 1970; None where the clock cannot be right: a wrong day would have reports refused."""
    day = int(time.time() // 86_400)
    return day if day in _DAYS else None


def this_window(survey: Agreement, last: int | None, turn: int = 0) -> int | None:
    """The number of the window to answer in now, where a survey has windows; `last` is the one of the report before.

    It is asked before the answer is looked at, and knows the clock, `last` and the device's turn alone: what it refuses
    says nothing about the answer.
    """
    if survey.window is None:
        return None
    if today() is None:
        raise ParticipationError(
            f"the clock of this device must be right for a survey that is answered "
            f"{participation_words(survey.participation)}, got a time that cannot be; set the clock"
        )
    now = window_number(survey.window, int(time.time() // 3600))
    if last is not None and last > now:
        raise ParticipationError(
            f"the clock of this device must not go back: it last answered in the {survey.window} from "
            f"{first_minute(survey.window, last)}, got the one from {first_minute(survey.window, now)}; set the clock"
        )
    following = next_turn(now + (last == now), survey.every, turn)
    if following != now:
        raise ParticipationError(
            f"this survey must be answered {participation_words(survey.participation)} on this device; the next "
            f"answer is taken from {first_minute(survey.window, following)}"
        )
    return now


def settle(kept: Contents, survey: str, ids: Sequence[str], refused: Mapping[str, str]) -> None:
    """Take these reports out of the outbox, and count the `refused` ones by the word that is given for each.

    The ledger stays as it is. The bytes have left the device, whatever was said of them; and if refusing a report gave
    its epsilon back, a collector that refuses everything could ask for ever.
    """
    counts = kept.refused.setdefault(survey, {})
    for name in ids:
        # One that is gone already was sent by another process, too, which has counted it.
        if kept.outbox.pop(name, None) is not None and name in refused:
            counts[refused[name]] = counts.get(refused[name], 0) + 1
    if UNKNOWN not in refused.values():
        kept.unknown.pop(survey, None)


def unknown_days(kept: Contents, survey: str) -> int:
    """How many days ago a collector first said that it does not know this survey: today, if none has yet."""
    day = today()
    if day is None:
        return 0
    first = min(day, kept.unknown.get(survey, day))
    kept.unknown[survey] = first
    return day - first
