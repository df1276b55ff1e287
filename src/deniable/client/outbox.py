"""Reports that leave the outbox, and the day: changes of what a device keeps, each within one write of its state."""

import time
from collections.abc import Mapping, Sequence

from deniable.client.delivery import UNKNOWN
from deniable.client.state import Contents

__all__ = ["settle", "today", "unknown_days"]

_DAYS = range(20_454, 1 << 20)  # from 2026-01-01: a clock that shows less has stopped or was never set


def today() -> int | None:
    """The UTC day, counted from 1970; None where the clock cannot be right: a wrong day would have reports refused."""
    day = int(time.time() // 86_400)
    return day if day in _DAYS else None


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
