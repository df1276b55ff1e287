"""The interface of readers: a file as a stream of batches. Each format has its own reader (`binary`, `text`)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from deniable.engines.input_files import InputFile, sound

if TYPE_CHECKING:
    import pyarrow as pa


class Reader(Protocol):
    """An open file: the names of its columns (None if they are unknown), its metadata, and its batches."""

    @property
    def names(self) -> list[str] | None: ...

    @property
    def metadata(self) -> dict[bytes, bytes]: ...

    @property
    def done(self) -> int:
        """The number of bytes read so far, approximately."""
        ...

    def close(self) -> None:
        """Close the file; standard input stays open."""
        ...

    def batches(self, wanted: dict[str, str], rows: int, refused: dict[str, int]) -> "Iterator[pa.RecordBatch]":
        """The columns that are `wanted` and nothing else, in batches of at most `rows` rows or a few MiB of text.

        `wanted` says what each column holds: a "number", "bytes", an "answer" or a "quantity", which is the answer to a
        survey of numbers. Readers of text convert their fields,
        and count in `refused` the rows that cannot be converted; other readers return the columns as they are.
        """
        ...


def open_reader(source: InputFile) -> Reader:
    """A reader for a source; `DataError` if the file is damaged."""
    # Imported here because naming files does not need Arrow.
    from deniable.engines.binary_files import IpcReader, ParquetReader
    from deniable.engines.text_files import CsvReader, JsonReader

    mapped = source.format == "arrow" and source.path != "-" and source.codec is None and source.size > 0
    with sound(source):
        if source.format == "parquet" or mapped:
            return ParquetReader(source) if source.format == "parquet" else IpcReader(source, None)
        file = source.open()
        try:
            if source.format == "arrow":
                return IpcReader(source, file)
            return CsvReader(source, file) if source.format == "csv" else JsonReader(source, file)
        except BaseException:
            source.close(file)
            raise
