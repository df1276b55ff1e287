"""Write reports to a file or stream: Parquet, Arrow IPC, CSV or JSON lines, by the suffix of its name or by choice."""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from deniable.columns import ReportTable, privatize
from deniable.engines.sources import CODECS, SUFFIXES
from deniable.errors import DataError
from deniable.survey import Survey, output_file

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["output_format", "report_writer"]

Write = Callable[[ReportTable], None]


def output_format(path: str) -> tuple[str, str | None]:
    """The format and the compression that a path's suffix asks for.

    >>> output_format("reports.csv.gz"), output_format("reports.parquet")
    (('csv', 'gzip'), ('parquet', None))
    """
    *_, last = os.path.basename(path).split(".")
    codec = CODECS.get(last.lower())
    inner = os.path.basename(path).removesuffix(f".{last}") if codec else os.path.basename(path)
    found = SUFFIXES.get(inner.rpartition(".")[2].lower()) if "." in inner else None
    if found is None or (codec and found in ("parquet", "arrow")) or inner.lower().endswith(".tsv"):
        raise DataError(
            f"{path} must end in .parquet, .arrow, .csv or .jsonl (the last two also with .gz or .zst), "
            "so that the format is known"
        )
    return found, codec


@contextmanager
def report_writer(
    survey: Survey,
    target: str | BinaryIO,
    *,
    format: str | None = None,
    replace: bool = True,
    hold: bool = False,
) -> Iterator[Write]:
    """A context in which tables of reports are written to `target`, anything that `survey.output_file` accepts.

    A plain file appears under its name when the context ends without an error. Without `format` the suffix of the
    target gives the format.
    """
    kind, codec = (format, None) if format is not None else output_format(str(target))
    with (
        output_file(target, replace=replace, hold=hold) as file,
        _SINKS[kind](survey, _Sink(file), codec) as write,
    ):
        yield write


class _Sink:
    """A stream for Arrow's writers. It counts its position, which a pipe does not know, and does not close the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._place = 0
        self.closed = False

    def write(self, data: "bytes | memoryview") -> int:
        self._file.write(data)
        self._place += len(data)
        return len(data)

    def tell(self) -> int:
        return self._place

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


@contextmanager
def _closing(thing: Any) -> Iterator[Any]:
    """Close `thing` at the end. After an error, an error of closing is suppressed, so that the first one is raised."""
    try:
        yield thing
    except BaseException:
        with contextlib.suppress(Exception):
            thing.close()
        raise
    thing.close()


def _schema(survey: Survey) -> "pa.Schema":
    return privatize(survey, []).to_arrow().schema


@contextmanager
def _parquet(survey: Survey, file: _Sink, codec: str | None) -> Iterator[Write]:
    import pyarrow.parquet as pq

    schema = _schema(survey)
    with _closing(pq.ParquetWriter(file, schema, compression="zstd", compression_level=1)) as writer:
        yield lambda table: writer.write_table(table.to_arrow().replace_schema_metadata(schema.metadata))


@contextmanager
def _arrow(survey: Survey, file: _Sink, codec: str | None) -> Iterator[Write]:
    import pyarrow as pa

    with _closing(pa.ipc.new_file(file, _schema(survey))) as writer:
        yield lambda table: writer.write_table(table.to_arrow())


@contextmanager
def _text(survey: Survey, file: _Sink, codec: str | None, line: str, header: str) -> Iterator[Write]:
    import pyarrow as pa

    packed = None if codec is None else pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), codec)
    with _closing(packed or file) as sink:
        sink.write(header.encode())
        width = survey.report_format.response.size

        def write(table: ReportTable) -> None:
            for start in range(0, len(table), 1 << 16):
                cohorts = table.cohorts[start : start + (1 << 16)].tolist()
                responses: list[Any] = table.responses[start : start + (1 << 16)].tolist()
                if table.responses.ndim == 2:
                    digits = np.ascontiguousarray(table.responses[start : start + (1 << 16)]).tobytes().hex()
                    responses = [digits[i : i + 2 * width] for i in range(0, len(digits), 2 * width)]
                sink.write("".join([line % pair for pair in zip(cohorts, responses, strict=True)]).encode())

        yield write


def _csv(survey: Survey, file: _Sink, codec: str | None) -> "contextlib.AbstractContextManager[Write]":
    return _text(survey, file, codec, "%s,%s\n", "cohort,response\n")


def _jsonl(survey: Survey, file: _Sink, codec: str | None) -> "contextlib.AbstractContextManager[Write]":
    response = '"%s"' if survey.report_format.response.bits else "%s"
    return _text(survey, file, codec, '{"cohort":%s,"response":' + response + "}\n", "")


_SINKS = {"parquet": _parquet, "arrow": _arrow, "csv": _csv, "jsonl": _jsonl}
