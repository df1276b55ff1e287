"""Read the needed columns of Parquet and Arrow IPC in batches, in bounded memory."""

from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from deniable.engines.sources import Source
from deniable.errors import DataError

__all__ = ["IpcReader", "ParquetReader"]

_MAGIC = b"ARROW1"  # the first bytes of an Arrow IPC file
_END = b"\xff\xff\xff\xff\0\0\0\0"  # the end of an Arrow IPC stream: a continuation mark and a length of 0
_BUFFER = 1 << 20  # bytes of a column chunk that are read at once, which bounds memory for large row groups


class ParquetReader:
    """Row groups are decoded in slices, and column chunks are read through a buffer: a file of one large row group
    takes no more memory than one of many small ones."""

    def __init__(self, source: Source) -> None:
        if source.path == "-" and not source.open().seekable():
            raise DataError(
                f"{source.name} must be a file for Parquet, whose index is at its end; save it first, or use Arrow IPC"
            )
        self._source = source
        self._file = self._opened()
        schema = self._file.schema_arrow
        self.names = list(schema.names)
        self.metadata: dict[bytes, bytes] = dict(schema.metadata or {})
        self._rows = 0

    def _opened(self, text: list[str] | None = None) -> pq.ParquetFile:
        file = self._source.open() if self._source.path == "-" else self._source.path
        return pq.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False, read_dictionary=text)

    def close(self) -> None:
        self._file.close()

    @property
    def done(self) -> int:
        return self._source.size * self._rows // max(int(self._file.metadata.num_rows), 1)

    def batches(self, wanted: dict[str, str], rows: int, refused: dict[str, int]) -> Iterator[pa.RecordBatch]:
        schema = self._file.schema_arrow
        text = [n for n, kind in wanted.items() if kind == "answer" and pa.types.is_string(schema.field(n).type)]
        if text:  # answers repeat: dictionary-encoded, each distinct one is looked up once
            self._file.close()
            self._file = self._opened(text)
        for batch in self._file.iter_batches(batch_size=rows, columns=list(wanted), use_threads=True):
            self._rows += batch.num_rows
            yield batch


class IpcReader:
    """Both layouts of Arrow IPC: the stream, and the file, which is a stream between two marks, with an index."""

    def __init__(self, source: Source, file: BinaryIO | None) -> None:
        self._source, self._packed = source, file
        if file is None:
            # Mapped, so that one batch of a billion rows is paged in as it is counted.
            self._stream: Any = pa.memory_map(source.path)
            self._tail = None
        else:
            packed = pa.PythonFile(file, mode="r")
            inner = packed if source.codec is None else pa.CompressedInputStream(packed, source.codec)
            self._tail = _Tail(inner)
            self._stream = pa.PythonFile(self._tail, mode="r")
        self._is_file = False
        if self._tail is None:
            self._is_file = self._stream.read(len(_MAGIC)) == _MAGIC
            self._stream.seek(0)
        elif self._tail.peek(len(_MAGIC)) == _MAGIC:
            self._tail.read(8)  # from a pipe: skip the mark, read the stream that follows, stop at its end
        if self._is_file:
            schema = pa.ipc.open_file(self._stream).schema
        else:
            opened = pa.ipc.open_stream(self._stream)
            schema, self._opened = opened.schema, opened
        self.names = list(schema.names)
        self.metadata: dict[bytes, bytes] = dict(schema.metadata or {})
        self._read = 0

    def close(self) -> None:
        self._stream.close()
        if self._packed is not None:
            self._source.close(self._packed)

    @property
    def done(self) -> int:
        return self._read

    def batches(self, wanted: dict[str, str], rows: int, refused: dict[str, int]) -> Iterator[pa.RecordBatch]:
        if self._is_file:
            options = pa.ipc.IpcReadOptions(included_fields=[self.names.index(name) for name in wanted])
            opened = pa.ipc.open_file(self._stream, options=options)
            for place in range(opened.num_record_batches):
                yield from self._slices(opened.get_batch(place), wanted, rows)
                self._read = self._source.size * (place + 1) // opened.num_record_batches
            return
        for batch in self._opened:
            yield from self._slices(batch, wanted, rows)
            self._read = self._stream.tell() if self._tail is None else 0
        self._check_end()

    def _slices(self, batch: pa.RecordBatch, wanted: dict[str, str], rows: int) -> Iterator[pa.RecordBatch]:
        chosen = batch.select(list(wanted))
        for start in range(0, chosen.num_rows, rows):
            part = chosen.slice(start, rows)
            part.validate(full=True)  # offsets that point outside the buffer would be followed
            yield part

    def _check_end(self) -> None:
        """Raise EOFError unless the stream has its end mark: one that was cut after a batch is otherwise valid."""
        if self._tail is not None:
            last, more = self._tail.last, not self._tail.is_file and self._tail.read(1) != b""
        else:
            end = self._stream.tell()
            self._stream.seek(max(end - len(_END), 0))
            last, more = self._stream.read(len(_END)), end != self._source.size
        if last != _END or more:
            raise EOFError


class _Tail:
    """A readable stream that keeps the last eight bytes it returned, and whose first bytes can be read ahead."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._head = b""
        self.last = b""
        self.is_file = False
        self.closed = False

    def peek(self, size: int) -> bytes:
        self._head = self._inner.read(size)
        self.is_file = self._head == _MAGIC
        return self._head

    def read(self, size: int) -> bytes:
        head, self._head = self._head[:size], self._head[size:]
        found: bytes = head + self._inner.read(size - len(head))
        self.last = (self.last + found[-8:])[-8:]
        return found

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True
