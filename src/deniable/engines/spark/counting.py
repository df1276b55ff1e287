"""Count a DataFrame of reports.

Index reports are counted in Java (`histograms`), or by the workers if they are in large Parquet files (`scans`). This
module counts everything else: bit reports, windows, text, and Spark Connect.

Each task counts the Arrow batches of its partition with the code of `deniable.columns` and returns one row: all of its
counts, and its refused rows by reason. Up to 64 tasks add up these rows, one task adds up their sums, and the driver
receives a single tally. Spark's own GROUP BY would move every group of every partition through a hash table.

The counts of a partition are one row, and the number of the partition alone decides which task adds it up. So if Spark
repeats a task (a lost executor, speculative execution, rows that differ the second time), the result contains each
partition once, from one attempt. Accumulators are not used: a transformation that updates them updates them again
whenever a task is repeated.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from deniable.columns import BatchCounter, count_refused, report_columns
from deniable.engines.spark.histograms import count_cells, suits
from deniable.engines.spark.scans import Split, batches_of, size_of, splits_of, tasks_of
from deniable.engines.spark.windows import NO_TIME, by_window
from deniable.errors import WireError
from deniable.survey import Agreement, Form, Survey
from deniable.tally import FormTally, Tally

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Found = tuple[Tally, dict[str, int]]

counters_of: dict[type, Callable[..., Any]] = {}  # what counts reports of other agreements: a form's

# The row of a task: which task adds it up, the window (null without windows), the counts, and the refused rows as JSON.
_SCHEMA = "part int, window long, counts binary, refused string"
_FAN = 64  # tasks that add up the counts of all others
_UNREAD = "file that Spark must read"  # stands for a reason where a worker cannot read a file
# Rows that are counted at once. Spark sends batches of 10,000; a histogram of 131,072 cells pays from about 100,000.
_ROWS = 1 << 18
_BYTES = 1 << 25  # bytes of rows that are counted at once, if they are fewer rows: 32 MiB
# Bytes of files per core from which workers read them. A worker takes half the time of Java for a row, but a second to
# start.
_WORTH = 1 << 25


@overload
def count(survey: Survey, dataframe: "DataFrame") -> Found: ...
@overload
def count(survey: Form, dataframe: "DataFrame") -> tuple[FormTally, dict[str, int]]: ...
def count(survey: Agreement, dataframe: "DataFrame") -> Any:
    """Count a DataFrame of reports (the columns of `ReportTable`, or a form's structs); returns the tally, and the
    refused rows by reason.

    Claim: the tally and the reasons are those of `dn.count(survey, table, refused={})`, whatever the partitions are and
        whichever tasks Spark repeats.
    Proof: tests/spark/test_count.py::test_the_same_as_the_local_count

    >>> from deniable.engines import spark
    >>> tally, refused = spark.count(survey, session.read.parquet("reports"))     # doctest: +SKIP
    """
    if (other := counters_of.get(type(survey))) is not None:
        return other(survey, dataframe)
    assert isinstance(survey, Survey)
    return count_windows(survey, dataframe).get(None, (Tally(survey), {}))


def count_windows(
    survey: Survey, dataframe: "DataFrame", *, time: str | None = None, window: str = "day"
) -> dict[int | None, Found]:
    """`count` for each window of the column `time`, by the first hour of the window; None stands for no time."""
    names = report_columns(survey, dataframe.columns)
    _check_types(survey, dataframe.select(*names))
    wanted = dataframe.select(*names, *([] if time is None else [dataframe[time].alias("time")]))
    if time is None:
        found = _count_splits(survey, dataframe, names)
        if found is None:
            found = count_cells(survey, wanted, names)
        if found is not None:
            return {None: found}
    return _merged(survey, wanted, partial(_counted, survey=survey, window=None if time is None else window))


def _count_splits(survey: Survey, dataframe: "DataFrame", names: list[str]) -> Found | None:
    """`count` of Parquet files that the workers read. None if the DataFrame is something else, if a worker cannot read
    a file, or if the files are so small that Java counts them before a worker has started."""
    splits = splits_of(dataframe, names)
    if splits is None:
        return None
    session = dataframe.sparkSession
    cores = session.sparkContext.defaultParallelism
    if suits(survey) and size_of(splits) < cores * _WORTH:
        return None
    work = partial(_counted_splits, survey=survey, names=names, splits=splits)
    found = _merged(survey, session.range(0, len(splits), 1, tasks_of(splits, cores)), work)[None]
    return None if _UNREAD in found[1] else found


def count_text(survey: Survey, dataframe: "DataFrame", names: list[str]) -> Found:
    """`count` of text: either the named columns and `_broken`, or lines of JSON."""
    work = partial(_counted, survey=survey, window=None, text=names)
    return _merged(survey, dataframe, work).get(None, (Tally(survey), {}))


def _merged(survey: Survey, dataframe: "DataFrame", work: Any) -> dict[int | None, Found]:
    found = merged(survey.cohorts * (1 + survey.columns), dataframe, work)
    return {start: (_tally(survey, vector), refused) for start, (vector, refused) in found.items()}


def merged(
    size: int, dataframe: "DataFrame", work: Any
) -> dict[int | None, tuple[npt.NDArray[np.integer[Any]], dict[str, int]]]:
    """The sums of the vectors of so many counts that tasks return, by window, and the refused rows by reason."""
    tree = dataframe.mapInArrow(work, _SCHEMA)
    # Without a number of partitions, so that Spark can merge small ones.
    tree = tree.repartition("part").mapInArrow(partial(_added, size=size), _SCHEMA)
    tree = tree.repartition(1).mapInArrow(partial(_added, size=size), _SCHEMA)
    return {found.window: (_unpacked(found.counts), json.loads(found.refused)) for found in tree.collect()}


def _check_types(survey: Survey, dataframe: "DataFrame") -> None:
    """Refuse columns of another type, with the messages of `dn.count`, by counting a batch without rows."""
    from pyspark.sql.pandas.types import to_arrow_schema

    BatchCounter(survey).add(to_arrow_schema(dataframe.schema).empty_table())


def blocks(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.Table]":
    """Batches joined until they have enough rows for a histogram."""
    import pyarrow as pa

    kept: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        kept.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield pa.Table.from_batches(kept)
            kept, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(kept)


def _counted(
    batches: "Iterable[pa.RecordBatch]", *, survey: Survey, window: str | None, text: list[str] | None = None
) -> "Iterator[pa.RecordBatch]":
    """The counts of one partition, by window."""

    part = part_of_task()
    counters: dict[int | None, BatchCounter] = {}
    for block in blocks(batches):
        for start, piece in [(None, block)] if window is None else by_window(block, window):
            counter = counters.setdefault(start, BatchCounter(survey))
            if window is not None and start is None:
                counter.refuse(NO_TIME, len(piece))
            else:
                for batch in [piece] if text is None else _typed(survey, piece, text, counter.refused):
                    counter.add(batch)
    for start, counter in counters.items():
        tally = counter.tally()
        yield row(part, start, np.concatenate([tally.reports, tally.counts.ravel()]), counter.refused)


def part_of_task() -> int:
    """Which task adds up the counts of this one."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId()) % _FAN


def _typed(survey: Survey, table: "pa.Table", names: list[str], refused: dict[str, int]) -> "Iterator[pa.RecordBatch]":
    """Rows of text as reports, by the code of the local engine."""
    from deniable.engines.input_files import InputFile
    from deniable.engines.text_files import FIELDS, JsonReader, converted

    bits = survey.report_format.response.bits
    wanted = {name: "bytes" if bits and name == "response" else "number" for name in names}
    if "_broken" not in table.schema.names:
        lines = "\n".join(value for value in table["value"].to_pylist() if value).encode()
        reader = JsonReader(InputFile("-", "jsonl", None, 0), io.BytesIO(lines), decoded=True)
        yield from reader.batches(wanted, _ROWS, refused)
        return
    whole = table["_broken"].is_null()
    if broken := len(table) - whole.combine_chunks().true_count:
        refused[FIELDS] = refused.get(FIELDS, 0) + broken
    for batch in table.filter(whole).select(names).to_batches():
        yield converted(batch, wanted, refused, InputFile("-", "csv", None, 0))


def _counted_splits(
    numbers: "Iterable[pa.RecordBatch]", *, survey: Survey, names: list[str], splits: list[Split]
) -> "Iterator[pa.RecordBatch]":
    """The counts of some parts of files, by their numbers."""
    import pyarrow as pa

    part = part_of_task()
    counter = BatchCounter(survey)
    try:
        for number in (number for batch in numbers for number in batch["id"].to_pylist()):
            for batch in batches_of(splits[number], names):
                counter.add(batch)
    except (pa.ArrowException, OSError, LookupError, WireError):
        counter.refuse(_UNREAD, 1)
    tally = counter.tally()
    yield row(part, None, np.concatenate([tally.reports, tally.counts.ravel()]), counter.refused)


def _added(batches: "Iterable[pa.RecordBatch]", *, size: int) -> "Iterator[pa.RecordBatch]":
    """The sum of some partial counts, by window."""
    vectors: dict[int | None, npt.NDArray[np.int64]] = {}
    reasons: dict[int | None, dict[str, int]] = {}
    for batch in batches:
        for place in range(batch.num_rows):  # one at a time: a row may be a gigabyte
            start = batch["window"][place].as_py()
            vector = vectors.setdefault(start, np.zeros(size, np.int64))
            vector += _unpacked(batch["counts"][place].as_buffer())
            count_refused(reasons.setdefault(start, {}), json.loads(batch["refused"][place].as_py()))
    for start, vector in vectors.items():
        yield row(0, start, vector, reasons[start])


def row(part: int, start: int | None, vector: npt.NDArray[np.int64], refused: dict[str, int]) -> "pa.RecordBatch":
    import pyarrow as pa

    values = [[part], [start], [_packed(vector)], [json.dumps(refused)]]
    types = [pa.int32(), pa.int64(), pa.binary(), pa.string()]
    arrays = [pa.array(value, kind) for value, kind in zip(values, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, ["part", "window", "counts", "refused"])


def _packed(vector: npt.NDArray[np.int64]) -> bytes:
    """Counts in the narrowest of 1, 2, 4 or 8 bytes that holds them all, after a byte that says which."""
    kind = np.min_scalar_type(int(vector.max()))
    return bytes([kind.itemsize]) + vector.astype(kind.newbyteorder("<")).tobytes()


def _unpacked(data: Any) -> npt.NDArray[np.integer[Any]]:
    raw = memoryview(data)
    return np.frombuffer(raw[1:], np.dtype(f"<u{raw[0]}"))


def _tally(survey: Survey, vector: npt.NDArray[np.integer[Any]]) -> Tally:
    return Tally(survey, vector[survey.cohorts :].reshape(survey.cohorts, survey.columns), vector[: survey.cohorts])
