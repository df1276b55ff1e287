"""Parquet files that the workers read themselves with Arrow, so that no row passes through Java.

Spark decodes Parquet into rows, writes the rows into Arrow batches and sends those to a worker: 100 to 300 ns of CPU a
row, where Arrow needs 15 for the file itself. A DataFrame that is nothing but Parquet files of this file system is
recognised by its plan. Any other (filtered, renamed, cached, from another store) is read by Spark, and so are files
with unexpected columns.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["Split", "batches_of", "size_of", "splits_of", "tasks_of"]

# A file, the number of a part of its row groups, and the number of parts.
Split = tuple[str, int, int]

# Names of the Java classes of the plans that are recognised.
_PROJECT = "org.apache.spark.sql.catalyst.plans.logical.Project"
_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
_ATTRIBUTE = "org.apache.spark.sql.catalyst.expressions.AttributeReference"
_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
_FORMAT = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_LISTING = "org.apache.spark.sql.execution.datasources.InMemoryFileIndex"
_PART = 1 << 26  # bytes of a file that one task reads: 64 MiB, as a task takes 0.1 s to start
_TASKS = 10_000  # tasks of one job, at most
_ROWS = 1 << 18  # rows of a batch, which bounds memory


def splits_of(dataframe: "DataFrame", names: list[str]) -> list[Split] | None:
    """The parts of the Parquet files of a DataFrame, or None if it is anything else."""
    from py4j.protocol import Py4JError

    jdf = getattr(dataframe, "_jdf", None)
    if jdf is None:  # on Connect there is no plan to see
        return None
    try:
        relation = _files_of(jdf.queryExecution().optimizedPlan(), names)
        files = [] if relation is None else [unquote(uri) for uri in relation.inputFiles()]
    except Py4JError:  # a Spark whose plans look different
        return None
    found: list[Split] = []
    for file in files:  # one that was named twice is read twice, as Spark does
        path = "/" + file.removeprefix("file:").lstrip("/")
        if not file.startswith("file:/") or not os.path.isfile(path):
            return None
        parts = -(-os.path.getsize(path) // _PART) or 1
        found += [(path, part, parts) for part in range(parts)]
    return found or None


def size_of(splits: list[Split]) -> int:
    """How many bytes the files have."""
    return sum(os.path.getsize(path) // parts for path, _, parts in splits)


def tasks_of(splits: list[Split], cores: int) -> int:
    """In how many tasks to read them: more than there are cores only if each has a whole part to read.

    A Python task costs a tenth of a second before it sees a row, so a folder of small files must not be a task each.
    """
    return min(len(splits), max(cores, size_of(splits) // _PART), _TASKS)


def _files_of(plan: Any, names: list[str]) -> Any:
    """The relation of a plan that is one of Parquet files, or some of its columns as they are; or None."""
    while _class(plan) == _PROJECT:
        columns = plan.projectList()
        if any(_class(columns.apply(place)) != _ATTRIBUTE for place in range(columns.size())):
            return None
        plan = plan.child()
    if _class(plan) != _RELATION or plan.isStreaming() or _class(plan.relation()) != _FILES:
        return None
    relation = plan.relation()
    # Exactly these: what extends them may leave rows out, or keep some of them elsewhere.
    if _class(relation.fileFormat()) != _FORMAT or _class(relation.location()) != _LISTING:
        return None
    folders = {str(name).lower() for name in relation.partitionSchema().fieldNames()}
    if set(names) & folders or (folders and relation.location().rootPaths().size() > 1):
        return None
    return relation


def _class(thing: Any) -> str:
    return str(thing.getClass().getName())


def batches_of(split: Split, names: list[str]) -> "Iterator[pa.RecordBatch]":
    """The rows of a part of a file, or a `LookupError` where the file has not got each column once, by this name."""
    import pyarrow.parquet as pq

    path, part, parts = split
    with pq.ParquetFile(path) as file:
        if any(file.schema_arrow.names.count(name) != 1 for name in names):
            raise LookupError
        groups = list(range(part, file.num_row_groups, parts))
        yield from file.iter_batches(_ROWS, row_groups=groups, columns=names, use_threads=False)
