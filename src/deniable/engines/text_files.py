"""CSV and JSON lines as batches of typed columns: by Arrow, which is fast, and row by row where Arrow refuses a batch.

A row is refused if a field has the wrong type, if the number of fields is wrong, or if the line is no JSON object; the
other rows are kept. Refusals must not depend on where a batch ends, so both paths apply the same rules.

A file in another encoding than UTF-8 is refused as a whole, by its header or at its first answer that is not UTF-8. To
leave out such rows would leave out every answer with an accent, and bias the estimate.
"""

import codecs
import contextlib
import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from deniable.engines.input_files import InputFile
from deniable.errors import DataError

_BLOCK = 1 << 22  # bytes that are read at once
_LONGEST = 1 << 26  # bytes of a line, at most, which bounds memory for a file without line breaks
_HEAD = 1 << 16  # bytes at the start from which the encoding and the names of columns are read

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # UTF-32 in little-endian order begins with the first

# Reasons for which a row is refused; `WRONG` has those of a field by what its column holds.
FIELDS, NO_OBJECT = "wrong number of fields", "no JSON object"
WRONG = {"number": "{} not a whole number", "bytes": "{} not hexadecimal", "answer": "answer not text or an integer"}
WRONG |= {"quantity": "answer not a number"}  # an answer to a survey of numbers

_ANSWERS = {"answer", "quantity"}

# Text from a file as one column, by what the column holds. Each raises ArrowInvalid if a single value is wrong.
CONVERT: dict[str, Callable[[pa.Array], pa.Array]] = {
    "number": lambda array: array.cast(pa.string()).cast(pa.int64()),
    "bytes": lambda array: _unhexed(array.cast(pa.string())),
    "answer": lambda array: array.cast(pa.string()),
    "quantity": lambda array: array.cast(pa.string()),
}


def not_utf8(source: InputFile, guess: str = "") -> DataError:
    """The error for a file in another encoding; the message shows none of its content."""
    got = guess or "bytes that are not, perhaps Latin-1 or Windows-1252"
    return DataError(
        f"{source.name} must be UTF-8 text, got {got}; save it as UTF-8, or convert it with "
        f"`iconv -f {guess or 'WINDOWS-1252'} -t UTF-8`"
    )


def _unhexed(array: pa.Array) -> pa.Array:
    try:
        return pa.array([None if value is None else bytes.fromhex(value) for value in array.to_pylist()], pa.binary())
    except ValueError:
        raise pa.ArrowInvalid from None


def readable_rows(array: pa.Array, convert: Callable[[pa.Array], object]) -> list[bool]:
    """Which rows of a column can be converted, by bisection."""
    try:
        convert(array)
        return [True] * len(array)
    except pa.ArrowInvalid:
        if len(array) == 1:
            return [False]
    half = len(array) // 2
    return readable_rows(array[:half], convert) + readable_rows(array[half:], convert)


def converted(
    batch: pa.RecordBatch, wanted: dict[str, str], refused: dict[str, int], source: InputFile
) -> pa.RecordBatch:
    """A batch of text with its columns converted to the wanted types, without the rows that cannot be."""
    for name, kind in wanted.items():
        try:
            column = CONVERT[kind](batch.column(name))
        except pa.ArrowInvalid:
            if kind in _ANSWERS:  # any UTF-8 text is an answer
                raise not_utf8(source) from None
            good = pa.array(readable_rows(batch.column(name), CONVERT[kind]))
            if not good.true_count and not _all_utf8(batch.column(name)):  # not single bad rows
                raise not_utf8(source) from None
            reason = WRONG[kind].format(name)
            refused[reason] = refused.get(reason, 0) + len(good) - good.true_count
            batch = batch.filter(good)
            column = CONVERT[kind](batch.column(name))
        batch = batch.set_column(batch.schema.get_field_index(name), name, column)
    return batch


class _Bytes:
    """The decompressed bytes of a source, with the position in the file and the number of quotes read so far."""

    def __init__(self, source: InputFile, file: BinaryIO) -> None:
        self._source, self._file = source, file
        if source.codec is not None and not source.size and os.path.isfile(source.path):
            raise EOFError  # compressed data is never empty
        packed = pa.PythonFile(self._file, mode="r")
        self._inner = packed if source.codec is None else pa.CompressedInputStream(packed, source.codec)
        self._ahead = b""
        self.quotes = 0
        self.closed = False

    def finish(self) -> None:
        self._source.close(self._file)

    @property
    def done(self) -> int:
        return self._file.tell() if self._source.size else 0

    def head(self, *, check: bool = True) -> bytes:
        """The first bytes, without a byte order mark; `read` returns them again."""
        found: bytes = self._inner.read(_HEAD)
        # Without a mark, the first two letters of UTF-16 or UTF-32 have a zero byte: no text starts with one.
        if check and (found.startswith(UTF_16) or b"\0" in found[:4]):
            raise not_utf8(self._source, "UTF-32" if found.count(0) > len(found) // 2 else "UTF-16")
        self._ahead = found.removeprefix(codecs.BOM_UTF8)
        return self._ahead

    def read(self, size: int) -> bytes:
        head, self._ahead = self._ahead[:size], self._ahead[size:]
        found: bytes = head + self._inner.read(size - len(head)) if head else self._inner.read(size)
        self.quotes += found.count(b'"')
        return found

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


def check_encoding(source: InputFile) -> None:
    """Refuse text that starts as UTF-16 or UTF-32 does; other errors are raised when it is read."""
    with contextlib.suppress(EOFError, OSError, pa.ArrowInvalid):
        file = source.open()
        try:
            _Bytes(source, file).head()
        finally:
            source.close(file)


class CsvReader:
    """Comma-separated (`.tsv`: tab-separated) UTF-8 text with a header; an empty field without quotes is missing."""

    def __init__(self, source: InputFile, file: BinaryIO) -> None:
        self._source = source
        self._bytes = _Bytes(source, file)
        self._delimiter = "\t" if ".tsv" in source.path.lower() else ","
        # Incremental, because the head may end within a character.
        head = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(self._bytes.head())
        self.names = next(csv.reader(io.StringIO(head, newline=""), delimiter=self._delimiter), [])
        if not self.names:
            raise DataError(f"{source.name} must start with a line that names its columns, got none")
        if any("\udc80" <= letter <= "\udcff" for name in self.names for letter in name):
            raise not_utf8(source)
        self.metadata: dict[bytes, bytes] = {}

    def close(self) -> None:
        self._bytes.finish()

    @property
    def done(self) -> int:
        return self._bytes.done

    def batches(self, wanted: dict[str, str], rows: int, refused: dict[str, int]) -> Iterator[pa.RecordBatch]:
        def refuse(row: object) -> str:
            refused[FIELDS] = refused.get(FIELDS, 0) + 1
            return "skip"

        reader = pa.csv.open_csv(
            pa.PythonFile(self._bytes, mode="r"),
            read_options=pa.csv.ReadOptions(block_size=_BLOCK, use_threads=False),
            parse_options=pa.csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=refuse
            ),
            convert_options=pa.csv.ConvertOptions(
                include_columns=list(wanted),
                column_types=dict.fromkeys(wanted, pa.binary()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        for batch in reader:
            yield converted(batch, wanted, refused, self._source)
        if self._bytes.quotes % 2:
            raise DataError(f"{self._source.name} must close every quote, got an odd number of them; it may be cut off")


class JsonReader:
    """One JSON object a line; a field that is not there is missing.

    `decoded` says that the lines come from a reader that has chosen their encoding.
    """

    def __init__(self, source: InputFile, file: BinaryIO, *, decoded: bool = False) -> None:
        self._source = source
        self._bytes = _Bytes(source, file)
        rows = [_object(line) for line in self._bytes.head(check=not decoded).split(b"\n")]
        found = dict.fromkeys(str(name) for row in rows if row is not None for name in row)
        self.names = list(found) if any(row is not None for row in rows) else None
        self.metadata: dict[bytes, bytes] = {}

    def close(self) -> None:
        self._bytes.finish()

    @property
    def done(self) -> int:
        return self._bytes.done

    def _blocks(self) -> Iterator[bytes]:
        """Whole lines, a few MiB at a time."""
        kept: list[bytes] = []
        size = 0
        while found := self._bytes.read(_BLOCK):
            end = found.rfind(b"\n") + 1
            if end:
                yield b"".join([*kept, found[:end]])
                kept, size, found = [], 0, found[end:]
            kept.append(found)
            size += len(found)
            if size > _LONGEST:
                raise DataError(
                    f"{self._source.name} must have lines of at most {_LONGEST >> 20} MiB, got a longer one"
                )
        if size:
            yield b"".join(kept)

    def batches(self, wanted: dict[str, str], rows: int, refused: dict[str, int]) -> Iterator[pa.RecordBatch]:
        for block in self._blocks():
            lines = [line for line in block.split(b"\n") if line.strip()]
            batch = _parsed(block, len(lines), wanted) if lines else None
            if batch is not None:
                packed = {name: kind for name, kind in wanted.items() if kind == "bytes"}
                yield converted(batch, packed, refused, self._source)
            elif lines:
                yield from _one_by_one(lines, wanted, refused, self._source)


def _parsed(block: bytes, lines: int, wanted: dict[str, str]) -> pa.RecordBatch | None:
    """A block of lines by Arrow's parser, or None if it refuses a row."""
    for answers, quantity in ((pa.string(), pa.float64()), (pa.int64(), pa.string())):
        kinds = {"number": pa.int64(), "bytes": pa.string(), "answer": answers, "quantity": quantity}
        schema = pa.schema({name: kinds[kind] for name, kind in wanted.items()})
        options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        reading = pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        try:
            table = pa.json.read_json(io.BytesIO(block), read_options=reading, parse_options=options).combine_chunks()
            table.validate(full=True)
            if table.num_rows == lines:  # else there are two objects in a line, or one over several
                return table.to_batches()[0]
        except pa.ArrowException:
            continue
    return None


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line.decode(errors="surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _all_utf8(column: pa.Array) -> bool:
    try:
        column.cast(pa.string())
        return True
    except pa.ArrowInvalid:
        return False


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
        return True
    except UnicodeDecodeError:
        return False


def _value(kind: str, value: object) -> object:
    """A field as what its column holds; ValueError if it is something else."""
    if value is None:
        return None
    if isinstance(value, str) and kind != "number":
        value.encode()  # refuses bytes that are no UTF-8
        return bytes.fromhex(value) if kind == "bytes" else value
    if kind == "quantity" and type(value) in (int, float):
        return float(value)  # type: ignore[arg-type]
    if type(value) is int and kind != "bytes" and -(2**63) <= value < 2**63:
        return value
    raise ValueError


def _one_by_one(
    lines: list[bytes], wanted: dict[str, str], refused: dict[str, int], source: InputFile
) -> Iterator[pa.RecordBatch]:
    """A block that `_parsed` refused, row by row; a batch for answers that are text and one for integers."""
    found: dict[bool, list[dict[str, object]]] = {False: [], True: []}
    for line in lines:
        fields = _object(line)
        row: dict[str, object] = {}
        reason = NO_OBJECT if fields is None else ""
        for name, kind in wanted.items() if fields is not None else ():
            try:
                row[name] = _value(kind, fields.get(name) if fields else None)
            except (ValueError, OverflowError):
                if kind in _ANSWERS and not _is_utf8(line):
                    raise not_utf8(source) from None
                reason = WRONG[kind].format(name)
                break
        if reason:
            refused[reason] = refused.get(reason, 0) + 1
        else:
            answers = not _ANSWERS.isdisjoint(wanted.values())
            found[answers and type(next(iter(row.values()))) in (int, float)].append(row)
    for numbers, rows in found.items():
        if rows:
            kinds = {"number": pa.int64(), "bytes": pa.binary(), "answer": pa.int64() if numbers else pa.string()}
            kinds |= {"quantity": pa.float64() if numbers else pa.string()}
            yield pa.RecordBatch.from_pylist(rows, pa.schema({name: kinds[kind] for name, kind in wanted.items()}))
