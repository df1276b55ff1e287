"""Files of reports into a tally, read and counted by Spark: Parquet, CSV and JSON lines.

Text is read as text and converted where it is counted, so that a field that is no number costs its row
and nothing else.
"""

import glob
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.columns.batches import check_digest, report_columns
from deniable.engines.spark.counting import MALFORMED, count, count_text
from deniable.engines.spark.sessions import reason_of, session_for
from deniable.errors import EngineError
from deniable.survey import Survey
from deniable.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["count_files"]

FORMATS = ("parquet", "csv", "jsonl")
_SUFFIXES = {"parquet": "parquet", "pq": "parquet", "csv": "csv", "tsv": "tsv"}
_SUFFIXES |= dict.fromkeys(("jsonl", "ndjson", "json"), "jsonl")
_SUFFIXES |= dict.fromkeys(("arrow", "arrows", "feather", "ipc"), "arrow")
_CODECS = ("gz", "bz2")


def count_files(
    survey: Survey, paths: list[str], *, master: str | None = None, format: str | None = None
) -> tuple[Tally, dict[str, int]]:
    """Count files of reports on Spark: the tally, and the refused rows by reason.

    `paths` are files, folders, patterns, or addresses that Spark can read (s3a://..., hdfs://...); what they hold goes
    by their endings, or is named with `format`. Executors must be able to read them at the same place. The running
    session is used, or one is made at `master` and stopped again.

    >>> from deniable.engines import spark
    >>> tally, refused = spark.count_files(survey, ["reports"], master="local[*]")       # doctest: +SKIP
    """
    groups = _by_format(paths, format)
    for path in groups.get("parquet", ()):
        if path.startswith("file://"):  # Spark does not show the metadata, and elsewhere we cannot read it
            _check_survey(survey, path.removeprefix("file://"))
    tally, refused = Tally(survey), dict[str, int]()
    with session_for(master) as session:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            for kind, files in groups.items():
                if kind == "parquet":
                    found = count(survey, session.read.parquet(*files))
                else:
                    found = count_text(survey, _text(session, survey, kind, files), no_row=MALFORMED[kind])
                tally += found[0]
                for reason, rows in found[1].items():
                    refused[reason] = refused.get(reason, 0) + rows
        except (PySparkException, Py4JError) as problem:
            raise EngineError(f"Spark must read and count every file, and failed: {reason_of(problem)}") from None
    return tally, refused


def _check_survey(survey: Survey, path: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, EOFError):
        raise EngineError(f"{path} must be a whole Parquet file, got one that is cut off or damaged") from None
    check_digest(survey, schema)


def _text(session: "SparkSession", survey: Survey, kind: str, files: Sequence[str]) -> "DataFrame":
    """The columns of the reports as text, and `_broken`: a line that is no row, or null."""
    bad = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_broken"}
    if kind == "jsonl":
        names = report_columns(survey, _keys(session, files))
        schema = ", ".join(f"`{name}` string" for name in [*names, "_broken"])
        # Numbers stay the text they are.
        frame = session.read.options(primitivesAsString="true", **bad).schema(schema).json(list(files))
    else:
        # A quoted empty field is no missing one; Spark is told to read it as something that is no number either.
        plain = {"header": "true", "sep": "\t" if kind == "tsv" else ",", "escape": '"', "emptyValue": '""'}
        header = session.read.options(**plain).csv(list(files)).columns
        names = report_columns(survey, header)
        # The names of the first file, which every other must have; fields that nobody asked for are parsed, too, or
        # Spark would not see that there are too many or too few of them.
        schema = ", ".join("`" + name.replace("`", "``") + "` string" for name in [*header, "_broken"])
        strict = {"enforceSchema": "false", "columnPruning": "false"}
        frame = session.read.options(**plain, **strict, **bad).schema(schema).csv(list(files))
    return frame.select(*names, "_broken")


def _keys(session: "SparkSession", files: Sequence[str]) -> list[str]:
    """The names in the first line; the usual ones if that is no object: then the line is a refused row."""
    first = session.read.text(list(files)).first()
    try:
        found = json.loads(first.value) if first is not None else None
    except ValueError:
        found = None
    return list(found) if isinstance(found, dict) else ["cohort", "response"]


def _by_format(paths: Sequence[str], format: str | None) -> dict[str, list[str]]:
    """Every file or address, by what it holds."""
    if format == "arrow":
        raise EngineError("format must be parquet, csv or jsonl on Spark, got arrow; count Arrow IPC without Spark")
    if format not in (None, *FORMATS):
        raise EngineError(f"format must be one of {', '.join(FORMATS)}, got {str(format)[:40]!r}")
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for path in [file for given in paths for file in _expanded(given)]:
        if path in seen:
            raise EngineError(f"{path} must be named once, got it twice; each row counts once")
        seen.add(path)
        found.setdefault(_kind_of(path, format), []).append(path)
    if not found:
        raise EngineError("at least one file must be named, got none")
    return found


def _expanded(path: str) -> list[str]:
    """The files that a path names on this machine, in full; an address is left to Spark."""
    if "://" in path and not path.startswith("file://"):
        return [path]
    path = path.removeprefix("file://")
    if os.path.isdir(path):
        found = []
        for folder, folders, files in os.walk(path):
            # What starts so is hidden, or a note that Spark and others leave beside their data.
            folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
            found += [os.path.join(folder, name) for name in sorted(files) if not name.startswith((".", "_"))]
    elif os.path.lexists(path):
        found = [path]
        if os.path.basename(path).startswith((".", "_")):
            raise EngineError(f"{path} must not start with a dot or an underscore: Spark would skip it; rename it")
    else:
        found = [name for name in sorted(glob.glob(path, recursive=True)) if os.path.isfile(name)]
    if not found:
        raise EngineError(f"{path} must name a file, a folder with files, or a pattern that matches some, got none")
    return ["file://" + os.path.realpath(name) for name in found]


def _kind_of(path: str, format: str | None) -> str:
    parts = os.path.basename(path.rstrip("/")).lower().split(".")[1:]
    packed = parts.pop() if len(parts) > 1 and parts[-1] in (*_CODECS, "zst", "lz4") else None
    if packed not in (None, *_CODECS):
        raise EngineError(f"{path} must be packed with gzip or bzip2 for Spark, got .{packed}; unpack it first")
    kind = _SUFFIXES.get(parts[-1] if parts else "")
    if format is not None:
        return "tsv" if (format, kind) == ("csv", "tsv") else format
    if kind == "arrow":
        raise EngineError(f"{path} must be Parquet, CSV or JSON lines for Spark, got Arrow IPC; count it without Spark")
    if kind is None:
        raise EngineError(f"{path} must end in .parquet, .csv, .tsv or .jsonl, or its format must be named")
    return kind
