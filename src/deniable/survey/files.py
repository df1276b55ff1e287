"""Files that are whole or not there: a survey, a tally or a client's state is never half written."""

import os
import tempfile
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: str | os.PathLike[str], data: bytes, *, mode: int = 0o644, replace: bool = True) -> None:
    """Put `data` at `path`, or leave what was there: temporary file, fsync, rename, fsync of the folder.

    Without `replace` a file that is already there stays, and `FileExistsError` says so, even if it came just now.
    """
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            if os.name == "posix":
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(temporary, target)
        else:
            os.link(temporary, target)
    finally:
        Path(temporary).unlink(missing_ok=True)
    if os.name != "posix":
        return
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
