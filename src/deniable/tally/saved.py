"""Files of tallies: of one question's, and of a form's."""

import os
import zlib
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from deniable.errors import TallyError
from deniable.survey import write_atomically

__all__ = ["SavedTally", "inflated"]


class SavedTally:
    """What has `to_bytes` and `from_bytes` has `save` and `load`."""

    __slots__ = ()

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
