"""Parquet that executors can open themselves: Arrow decodes it in the worker, and no row passes through Java.

Spark decodes Parquet into rows, writes the rows into Arrow batches and sends those to a worker: some 250 ns of CPU a
row, where Arrow needs 15 for the file itself. A DataFrame that is nothing but Parquet files of this file system is
recognised by its plan; whatever else it is (filtered, renamed, cached, of another store) is left to Spark, and so is a
file that is not as expected.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["Split", "batches_of", "splits_of"]

# A file, and which of so many parts of its row groups.
Split = tuple[str, int, int]

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical.Project"
_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
_ATTRIBUTE = "org.apache.spark.sql.catalyst.expressions.AttributeReference"
_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
_FORMAT = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_LISTING = "org.apache.spark.sql.execution.datasources.InMemoryFileIndex"
_PART = 1 << 26
_ROWS = 1 << 18


def splits_of(dataframe: "DataFrame", names: list[str]) -> list[Split] | None:
    """The parts of the files that the DataFrame is, or None if it is anything else."""
    jdf = getattr(dataframe, "_jdf", None)
    if jdf is None or not _is_plain(jdf.queryExecution().optimizedPlan(), names):  # there is no plan to see on Connect
        return None
    files = [unquote(uri) for uri in dataframe.inputFiles()]
    if not files or not all(file.startswith("file:/") for file in files):
        return None
    paths = ["/" + file.removeprefix("file:").lstrip("/") for file in files]
    found: list[Split] = []
    for path in paths:
        try:
            parts = -(-os.path.getsize(path) // _PART) or 1
        except OSError:
            return None
        found += [(path, part, parts) for part in range(parts)]
    return found


def _is_plain(plan: Any, names: list[str]) -> bool:
    """Whether a plan is a relation of Parquet files, or some of its columns as they are."""
    while _class(plan) == _LOGICAL:
        columns = plan.projectList()
        if any(_class(columns.apply(place)) != _ATTRIBUTE for place in range(columns.size())):
            return False
        plan = plan.child()
    if _class(plan) != _RELATION or plan.isStreaming() or _class(plan.relation()) != _FILES:
        return False
    relation = plan.relation()
    # Exactly these: what extends them may leave rows out, or keep some of them elsewhere.
    if _class(relation.fileFormat()) != _FORMAT or _class(relation.location()) != _LISTING:
        return False
    return not set(names) & {str(name).lower() for name in relation.partitionSchema().fieldNames()}


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
