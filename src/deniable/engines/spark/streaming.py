"""A stream of reports into windowed tallies, each report once, with checkpoint and restart.

Spark repeats a micro-batch that is not in its checkpoint, with the same rows and the same number. So the files of a
batch have its number in their names, and replace those of an earlier attempt:

    FOLDER/stream.json                          which survey, windows and checkpoint this folder belongs to
    FOLDER/2026-11-15T00/000000000041.tally     all reports of the window that starts then, up to batch 40
    FOLDER/2026-11-15T00/000000000041.json      the rows refused so far, by reason
    FOLDER/undated/...                          rows without a time

A batch adds its counts to the newest file of an earlier batch, never to its own, and every file is renamed into place.
The last file of a window has all its counts. The one before is kept in case the batch is repeated; older ones are
deleted.

A row's window comes from one of its columns (when its file or message arrived), not from the clock at reading: a row
that is read again must be in the same window. No row is too late: it is added to its window, however old that is.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.columns import report_columns
from deniable.engines.spark.counting import Found, count_windows
from deniable.engines.spark.windows import check_window, label
from deniable.errors import EngineError
from deniable.survey import Survey, write_atomically
from deniable.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

UNDATED = "undated"  # the folder of rows without a time
_NOTE = "stream.json"  # the file that says which stream a folder belongs to


def count_stream(
    survey: Survey,
    reports: "DataFrame",
    *,
    folder: str | os.PathLike[str],
    checkpoint: str,
    time: str = "time",
    window: str = "day",
) -> "DataStreamWriter":
    """Count a streaming DataFrame into `folder`, which is on the driver's disk; `time` names the column of arrival.

    Gives a writer: `.start()` runs it for ever, `.trigger(availableNow=True).start()` until all that is there is
    counted. Folder and checkpoint belong together: to begin again, delete both.

    Claim: after any number of kills and restarts, the windows hold every row of the finished batches once.
    Proof: tests/spark/test_streaming.py::test_killed_and_started_again

    >>> from deniable.engines import spark
    >>> writer = spark.count_stream(survey, reports, folder="windows", checkpoint="seen")     # doctest: +SKIP
    >>> writer.trigger(processingTime="1 minute").start().awaitTermination()                  # doctest: +SKIP
    """
    Survey.check(survey)
    check_window(window)
    if not reports.isStreaming:
        raise EngineError("reports must be a streaming DataFrame, got one that is not; use spark.count")
    report_columns(survey, reports.columns)
    kind = next((field.dataType.simpleString() for field in reports.schema if field.name == time), None)
    if kind != "timestamp":
        shown = "no such column" if kind is None else kind
        raise EngineError(f"column {time!r} must hold timestamps, got {shown}; name the time of arrival with time=")
    place = Path(folder)

    def add(batch: "DataFrame", number: int) -> None:
        stream = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        _claim(place, {"survey": survey.digest, "window": window, "stream": stream})
        for start, found in count_windows(survey, batch, time=time, window=window).items():
            _add(place / (UNDATED if start is None else label(start)), number, found)

    return reports.writeStream.foreachBatch(add).option("checkpointLocation", checkpoint)


def _claim(folder: Path, mine: dict[str, object]) -> None:
    """Note whose folder this is, or refuse one that is another's: its batches have the same numbers as ours."""
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / _NOTE
    if not note.exists():
        write_atomically(note, json.dumps(mine).encode() + b"\n")
    theirs = json.loads(note.read_bytes())
    for name, word in (("survey", "survey"), ("window", "window"), ("stream", "checkpoint")):
        if theirs[name] != mine[name]:
            raise EngineError(
                f"{folder} must be counted with the {word} it was begun with, {str(theirs[name])[:8]}, got "
                f"{str(mine[name])[:8]}; take another folder, with another checkpoint"
            )


def _add(folder: Path, number: int, found: Found) -> None:
    """Add the counts of a batch to what the batches before it left."""
    folder.mkdir(exist_ok=True)
    batches = _batches(folder)
    if batches and batches[-1] > number:
        raise EngineError(
            f"{folder} must not be ahead of its checkpoint, got batch {batches[-1]} there and batch {number}; "
            "the checkpoint is an old copy: count again with a new folder and a new checkpoint"
        )
    before = [batch for batch in batches if batch < number]
    tally, refused = found
    if before:
        base, reasons = _read(folder, before[-1])
        base.add(tally.counts, tally.reports)  # not `+`: they are of one window
        tally = base
        refused = {name: reasons.get(name, 0) + refused.get(name, 0) for name in reasons | refused}
    # The reasons first: a reader goes by the tallies that are there.
    write_atomically(folder / f"{number:012d}.json", json.dumps(refused, sort_keys=True).encode() + b"\n")
    tally.save(folder / f"{number:012d}.tally")
    for old in before[:-1]:
        (folder / f"{old:012d}.tally").unlink()
        (folder / f"{old:012d}.json").unlink(missing_ok=True)


def _batches(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.tally") if path.stem.isdigit())


def _read(folder: Path, number: int) -> Found:
    return Tally.load(folder / f"{number:012d}.tally"), json.loads((folder / f"{number:012d}.json").read_bytes())


def read_windows(folder: str | os.PathLike[str]) -> dict[str, Found]:
    """The tally of every window, and its refused rows by reason, by the hour it starts at; while a stream writes, too.

    Windows are named as the collector names them, and rows without a time stand under 'undated'. Tallies add: a week
    is the sum of its days.

    >>> from deniable.engines import spark
    >>> tally, refused = spark.read_windows("windows")["2026-11-15T00"]                       # doctest: +SKIP
    """
    place = Path(folder)
    if not (place / _NOTE).exists():
        raise EngineError(f"{place} must be a folder that count_stream has written, got none")
    found: dict[str, Found] = {}
    for window in sorted(path for path in place.iterdir() if path.is_dir()):
        while batches := _batches(window):
            try:
                found[window.name] = _read(window, batches[-1])
                break
            except FileNotFoundError:  # two newer ones came meanwhile
                continue
    return found
