"""Windows of time on whole columns: hours, days and weeks in UTC, as the collector has them (`service.clock`)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import EngineError
from deniable.survey import WINDOWS, first_hour, window_number

if TYPE_CHECKING:
    import pyarrow as pa

NO_TIME = "no time from 1970 to 9999"  # the reason for which a row is refused
_HOUR = 3_600_000_000  # microseconds
_HOURS = 70_389_528  # hours from 1970 to the end of the year 9999, the last that Python's dates have


def check_window(window: str) -> None:
    """Refuse a window that the collector does not have."""
    if window not in WINDOWS:
        raise EngineError(f"window must be one of {', '.join(WINDOWS)}, got {window!r}")


def label(start: int) -> str:
    """The first hour of a window as the collector writes it.

    >>> label(24)
    '1970-01-02T00'
    """
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=start)).strftime("%Y-%m-%dT%H")


def by_window(table: "pa.Table", window: str) -> "Iterator[tuple[int | None, pa.Table]]":
    """The rows of each window, by its first hour after 1970; None stands for no time, or one before 1970 or past 9999.

    >>> import pyarrow as pa
    >>> from datetime import UTC, datetime
    >>> times = [datetime(1970, 1, 2, 5, tzinfo=UTC), None, datetime(1970, 1, 2, 6, tzinfo=UTC)]
    >>> table = pa.table({"time": pa.array(times, pa.timestamp("us", "UTC")), "response": [0, 1, 2]})
    >>> [(start, piece["response"].to_pylist()) for start, piece in by_window(table, "day")]
    [(None, [1]), (24, [0, 2])]
    """
    import pyarrow as pa

    # Microseconds since 1970 in UTC, whatever zone the session shows them in.
    times = table["time"].combine_chunks().cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    hours = times // _HOUR
    starts: Any = first_hour(window, window_number(window, hours))  # of whole columns as of one hour
    none = -WINDOWS[window]
    starts[(hours < 0) | (hours >= _HOURS)] = none  # no window starts there: the first week does later
    for start in np.unique(starts).tolist():
        piece = table if (starts == start).all() else table.filter(pa.array(starts == start))
        yield (None if start == none else start), piece
