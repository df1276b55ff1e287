"""Count files of reports with Spark: Parquet, CSV and JSON lines.

Text is converted by the code of the local engine, in the task that counts it, so that a field that is no number makes
only its row invalid.
"""

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from deniable.columns import check_digest, count_refused, report_columns
from deniable.engines.input_files import SUFFIXES, sources
from deniable.engines.readers import open_reader
from deniable.engines.spark.counting import count, count_text
from deniable.engines.spark.sessions import reason_of, session_for
from deniable.engines.text_files import check_encoding
from deniable.errors import DataError, EngineError
from deniable.survey import Agreement, Form, Survey
from deniable.tally import FormTally, Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HEAD = 100  # lines of JSON from which the names of columns are read


@overload
def count_files(
    survey: Survey, paths: list[str], *, master: str | None = None, format: str | None = None
) -> tuple[Tally, dict[str, int]]: ...
@overload
def count_files(
    survey: Form, paths: list[str], *, master: str | None = None, format: str | None = None
) -> tuple[FormTally, dict[str, int]]: ...
def count_files(
    survey: Agreement, paths: list[str], *, master: str | None = None, format: str | None = None
) -> tuple[Tally | FormTally, dict[str, int]]:
    """Count files of reports on Spark: the tally, and the refused rows by reason. Those of a form are Parquet files.

    `paths` are files, folders and patterns, or addresses that Spark can read (s3a://..., hdfs://...); what they hold
    goes by their endings, or is named with `format`. Executors must find the files at the same place. The running
    session is used, or one is made at `master` and stopped again.

    >>> from deniable.engines import spark
    >>> tally, refused = spark.count_files(survey, ["reports"], master="local[*]")       # doctest: +SKIP
    """
    groups = _by_format(survey, paths, format)
    if isinstance(survey, Form) and (other := next((kind for kind in groups if kind != "parquet"), None)):
        raise DataError(f"files of forms must be Parquet files, got {other}; read it into a table and count that")
    with session_for(master) as session:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            if isinstance(survey, Form):
                return count(survey, session.read.parquet(*groups["parquet"]))
            tally, refused = Tally(survey), dict[str, int]()
            for kind, files in groups.items():
                if kind == "parquet":
                    found = count(survey, session.read.parquet(*files))
                elif kind == "jsonl":
                    found = count_text(survey, *_lines(session, survey, files))
                else:
                    found = count_text(survey, *_fields(session, survey, files, "\t" if kind == "tsv" else ","))
                tally.add(found[0].counts, found[0].reports)  # of one window, as the local engine counts them
                count_refused(refused, found[1])
        except (PySparkException, Py4JError) as problem:
            raise EngineError(f"Spark must read and count every file, and failed: {reason_of(problem)}") from None
    return tally, refused


def _lines(session: "SparkSession", survey: Survey, files: Sequence[str]) -> "tuple[DataFrame, list[str]]":
    """JSON lines as they are, and the columns that the first of them name; the usual ones if none is an object."""
    lines = session.read.text(list(files))
    found: dict[str, None] = {}
    for row in lines.head(_HEAD):
        try:
            fields = json.loads(row.value)
        except ValueError:
            continue
        found |= dict.fromkeys(fields) if isinstance(fields, dict) else {}
    return lines, report_columns(survey, list(found) or ["cohort", "response"])


def _fields(
    session: "SparkSession", survey: Survey, files: Sequence[str], separator: str
) -> "tuple[DataFrame, list[str]]":
    """The columns of CSV as text, with `_broken`: a line that has another number of fields, or null."""
    # A quoted empty field is no missing one; Spark is told to read it as something that is no number either.
    plain = {"header": "true", "sep": separator, "escape": '"', "emptyValue": '""'}
    header = session.read.options(**plain).csv(list(files)).columns
    names = report_columns(survey, header)
    # The names of the first file, which every other must have; fields that nobody asked for are parsed, too, or Spark
    # would not see that there are too many or too few of them.
    schema = ", ".join("`" + name.replace("`", "``") + "` string" for name in [*header, "_broken"])
    strict = {"enforceSchema": "false", "columnPruning": "false", "columnNameOfCorruptRecord": "_broken"}
    frame = session.read.options(**plain, **strict).schema(schema).csv(list(files))
    return frame.select(*names, "_broken"), names


def _by_format(survey: Agreement, paths: Sequence[str], format: str | None) -> dict[str, list[str]]:
    """Every file or address, by what it holds."""
    away = [path for path in paths if "://" in path and not path.startswith("file://")]
    here = [path.removeprefix("file://") for path in paths if path not in away]
    found: dict[str, list[str]] = {}
    for source in sources(here, format=format) if here or not away else ():
        name = source.name
        if source.format == "arrow" or source.path == "-":
            what = "standard input" if source.path == "-" else "Arrow IPC"
            raise EngineError(
                f"{name} must be a file of Parquet, CSV or JSON lines for Spark, got {what}; count it here"
            )
        if source.codec not in (None, "gzip", "bz2"):
            raise EngineError(
                f"{name} must be packed with gzip or bzip2 for Spark, got {source.codec}; unpack it first"
            )
        if os.path.basename(source.path).startswith((".", "_")):
            raise EngineError(f"{name} must not start with a dot or an underscore: Spark would skip it; rename it")
        if source.format == "parquet":  # Spark does not show the metadata, and elsewhere we cannot read it
            reader = open_reader(source)
            reader.close()
            check_digest(survey, reader)  # which has metadata, as a schema has
        else:  # Spark would take it for lines that are no reports
            check_encoding(source)
        kind = "tsv" if source.format == "csv" and ".tsv" in source.path.lower() else source.format
        found.setdefault(kind, []).append("file://" + os.path.realpath(source.path))
    for path in away:
        kind = format or SUFFIXES.get(path.removesuffix(".gz").removesuffix(".bz2").rpartition(".")[2].lower(), "")
        if kind not in ("parquet", "csv", "jsonl"):
            raise DataError(
                f"{path} must end in .parquet, .csv or .jsonl, or its format must be one of these, for Spark"
            )
        found.setdefault("tsv" if ".tsv" in path.lower() else kind, []).append(path)
    return found
