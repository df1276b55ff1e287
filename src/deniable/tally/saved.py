"""What tallies of one question and of a form have in common: sums, and files.

A tally file is one line that names the format, one line of JSON with the survey or form and the totals, the counts
(int64, little-endian, zlib), and the SHA-256 of everything before it.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from deniable.errors import SurveyError, TallyError
from deniable.survey import strict_json, write_atomically

__all__ = ["SavedTally", "inflated", "packed_file", "unpacked_file"]


class SavedTally:
    """What has `to_bytes` and `from_bytes` has `save` and `load`; what has `copy` and `merge` adds."""

    __slots__ = ()

    def copy(self) -> Self:
        """An independent tally with the same counts."""
        raise NotImplementedError

    def merge(self, other: Self) -> None:
        """Add another tally to this one."""
        raise NotImplementedError

    def _no_tally(self, other: object) -> TallyError:
        """The error for what cannot be added."""
        raise NotImplementedError

    def __iadd__(self, other: Self) -> Self:
        self.merge(other)
        return self

    def __add__(self, other: Self) -> Self:
        total = self.copy()
        total.merge(other)
        return total

    def __radd__(self, other: object) -> Self:
        """So that `sum(tallies)` adds them up.

        >>> import deniable as dn
        >>> sum(dn.Tally(dn.warner(epsilon=1), [[1, 2]]) for _ in range(3)).n
        9
        """
        if other == 0:
            return self.copy()
        raise self._no_tally(other)

    def to_bytes(self) -> bytes:
        """The tally as bytes."""
        raise NotImplementedError

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a tally that `to_bytes` wrote.

        Parameters
        ----------
        data : bytes
            All of it.
        """
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tally. A plain file is replaced atomically; links, pipes and devices are written through.

        Parameters
        ----------
        path : str or path
            Where to write.
        """
        write_atomically(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a tally that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Tally or FormTally
            The tally in it.

        Raises
        ------
        TallyError
            As `from_bytes`; the message begins with the path.
        """
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except TallyError as problem:
            raise TallyError(f"{os.fspath(path)}: {problem}") from None


def packed_file(magic: bytes, header: dict[str, Any], arrays: Sequence[npt.NDArray[np.int64]]) -> bytes:
    """A tally file: its first line, the header, and the numbers."""
    line = json.dumps(header, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    body = magic + line + zlib.compress(np.concatenate(arrays).astype("<i8").tobytes(), 6)
    return body + hashlib.sha256(body).digest()


def unpacked_file(data: bytes, magic: bytes, what: str, of: str) -> tuple[dict[str, Any], bytes]:
    """The header of a tally file, whose first line says `magic`, and its packed numbers.

    The header has the field `of`, "survey" or "form", and "n".
    """
    if not data.startswith(magic):
        line = magic[:-1]
        raise TallyError(f"tally must start with {line.decode()!r}, got {data[: len(line)]!r}; this is not {what}")
    body, check = data[:-32], data[-32:]
    if len(data) < len(magic) + 32 or hashlib.sha256(body).digest() != check:
        raise TallyError("tally must match its checksum; the file was truncated or altered")
    line, _, packed = body[len(magic) :].partition(b"\n")
    try:
        header = strict_json(line)
        if not isinstance(header, dict) or set(header) - {"windows"} != {of, "n"}:
            first, second = sorted((of, "n"))
            raise SurveyError(
                f"the header must have the fields {first!r} and {second!r}, and none but 'windows' beside them"
            )
    except SurveyError as problem:
        raise TallyError(f"tally must carry its {of} and its total: {problem}") from None
    return header, packed


def inflated(packed: bytes, size: int, of: str) -> npt.NDArray[np.int64]:
    """The numbers of a file, of which there must be just so many bytes: never more than that is unpacked.

    >>> inflated(zlib.compress(bytes(8)), 8, "this survey")
    array([0])
    """
    try:
        unpacker = zlib.decompressobj()
        numbers = unpacker.decompress(packed, size + 1)
    except zlib.error as problem:
        raise TallyError(f"tally counts must be a zlib stream: {problem}") from None
    if len(numbers) != size or not unpacker.eof or unpacker.unused_data:
        raise TallyError(f"tally counts must be {size} bytes for {of}, got {len(numbers)} or more")
    return np.frombuffer(numbers, "<i8")
