"""The files that paths, folders, patterns or a dash (standard input) name, and their formats.

The suffix of a file gives its format; only the two layouts of Arrow IPC are told apart by content. No file is skipped
silently: one of unknown format, a pattern that matches nothing or a file that is named twice is an error before
anything is read.
"""

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

from deniable.errors import DataError

__all__ = ["FORMATS", "Paths", "Source", "paths_of", "sound", "sources"]

FORMATS = ("parquet", "arrow", "csv", "jsonl")  # formats that can be read
SUFFIXES = {  # the format by the suffix of a file
    "parquet": "parquet",
    "pq": "parquet",
    "arrow": "arrow",
    "arrows": "arrow",
    "feather": "arrow",
    "ipc": "arrow",
    "csv": "csv",
    "tsv": "csv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "jsonl",
}
CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "lz4": "lz4"}  # Arrow's name of a compression by suffix

Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read; the path `-` is standard input."""

    path: str
    format: str
    codec: str | None
    size: int

    @property
    def name(self) -> str:
        return "standard input" if self.path == "-" else self.path

    def open(self) -> BinaryIO:
        """Its bytes, as they are stored."""
        if self.path != "-":
            return open(self.path, "rb")
        try:
            # Not sys.stdin.buffer: a thread that waits in it when the process ends would hold its lock.
            return open(sys.stdin.fileno(), "rb", closefd=False)
        except (AttributeError, OSError, ValueError):  # a stand-in without a descriptor
            return sys.stdin.buffer

    def close(self, file: BinaryIO) -> None:
        """Close what `open` gave; standard input is not ours to close."""
        if self.path != "-":
            file.close()


def paths_of(given: Any) -> list[str] | None:
    """The paths that an argument holds, one or several, or None if it is something else."""
    if isinstance(given, (str, os.PathLike)):
        return [os.fspath(given)]
    if isinstance(given, (list, tuple)) and given and all(isinstance(part, (str, os.PathLike)) for part in given):
        return [os.fspath(part) for part in given]
    return None


def sources(paths: Paths, *, format: str | None = None) -> list[Source]:
    """The files that paths, folders and patterns name, in order.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "b.csv.gz").write_bytes(b""), pathlib.Path(folder, "a.parquet").write_bytes(b"")
    ...     [(source.format, source.codec) for source in sources(folder)]
    [('parquet', None), ('csv', 'gzip')]
    """
    if format is not None and format not in FORMATS:
        raise DataError(f"format must be one of {', '.join(FORMATS)}, got {str(format)[:40]!r}")
    found: list[Source] = []
    for path in paths_of(paths) or ():
        found += [_source(file, format) for file in _expanded(path)]
    if not found:
        raise DataError("at least one file must be named, got none")
    seen: set[str] = set()
    for source in found:
        real = source.path if source.path == "-" else os.path.realpath(source.path)
        if real in seen:
            raise DataError(f"{source.name} must be named once, got it twice; each row counts once")
        seen.add(real)
    return found


def _expanded(path: str) -> list[str]:
    if os.path.isdir(path):
        found = []
        for folder, folders, files in os.walk(path):
            # What starts so is hidden, or a note that Spark and others leave beside their data.
            folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
            found += [os.path.join(folder, name) for name in sorted(files) if not name.startswith((".", "_"))]
        if not found:
            raise DataError(f"{path} must hold files, got an empty folder")
        return found
    if path != "-" and not os.path.lexists(path) and glob.has_magic(path):
        found = [file for name in sorted(glob.glob(path, recursive=True)) for file in _expanded(name)]
        if not found:
            raise DataError(f"{path} must match a file, got none that does")
        return found
    return [path]


def _source(path: str, format: str | None) -> Source:
    codec, stem = None, path
    head, _, last = os.path.basename(path).rpartition(".")
    if head and last.lower() in CODECS:
        codec, stem = CODECS[last.lower()], head
    suffix = os.path.basename(stem).rpartition(".")[2].lower() if "." in os.path.basename(stem) else ""
    known = format or SUFFIXES.get(suffix)
    if known is None:
        if path == "-":
            raise DataError(f"standard input must have a format: one of {', '.join(FORMATS)}; name it with --format")
        endings = ", ".join(f".{ending}" for ending in SUFFIXES)
        raise DataError(f"{path} must end in one of {endings}, or its format must be named, with --format or format=")
    if codec is not None and known == "parquet":
        raise DataError(
            f"{path} must not be compressed as a whole: Parquet compresses its own columns; unpack it first"
        )
    return Source(path, known, codec, 0 if path == "-" else os.path.getsize(path))


@contextmanager
def sound(source: Source) -> Iterator[None]:
    """A block that reads a source: what Arrow says about damage becomes a sentence, without a value in it."""
    import pyarrow as pa

    kind = {"parquet": "Parquet", "arrow": "Arrow IPC", "csv": "CSV", "jsonl": "JSON lines"}[source.format]
    damage = DataError(
        f"{source.name} must be a whole {kind} file, got one that is cut off, damaged or of another format"
    )
    try:
        yield
        return
    except DataError:
        raise
    except (pa.ArrowException, pa.ArrowMemoryError, EOFError, UnicodeDecodeError):
        pass  # a damaged length may ask for more memory than there is
    except OSError as problem:
        # Arrow reports a stream that ends too early, and bytes that cannot be unpacked, as errors without a number.
        if problem.errno is not None:
            raise OSError(problem.errno, os.strerror(problem.errno), source.name) from None
    # Raised outside the handler: Arrow's messages may hold values.
    raise damage
