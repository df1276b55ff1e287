"""Write output files: plain files are replaced atomically; links, pipes, devices and sockets are written through.

Every `save`, every chart, every file of reports and every `-o` of the command line uses this module, so that none of
them replaces `/dev/null`, a named pipe or a link by a plain file. A client's state is written by `client`.
"""

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["descriptor_of", "output_file", "write_atomically"]

_MOST_LINKS = 40  # symbolic links that are followed, at most: the limit of Linux


def write_atomically(
    path: str | os.PathLike[str], data: bytes, *, mode: int | None = None, replace: bool = True
) -> None:
    """Put `data` where `path` says, as `output_file` does.

    >>> import os, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     os.symlink("day1.txt", f"{folder}/newest.txt")
    ...     write_atomically(f"{folder}/newest.txt", b"42")
    ...     os.path.islink(f"{folder}/newest.txt"), pathlib.Path(folder, "day1.txt").read_text()
    (True, '42')
    """
    with output_file(path, mode=mode, replace=replace) as file:
        file.write(data)


@contextmanager
def output_file(
    target: str | os.PathLike[str] | BinaryIO, *, replace: bool = True, mode: int | None = None, hold: bool = False
) -> Iterator[BinaryIO]:
    """A block that writes one output, which is complete when the block has ended without an error.

    - Nothing there, or a plain file: written beside it, synchronised to disk and renamed. An error leaves what was
      there. The new file has the mode of the old one, or `mode` if that is given.
    - A symbolic link: the same for the file that it points to, which is made if it is not there. The link stays.
    - A pipe, a device, a socket or an open descriptor (`/dev/stdout`, `/dev/fd/3`): written through.
    - A folder: `IsADirectoryError`.

    Parameters
    ----------
    target
        A path, or a stream that is already open and stays so, such as `sys.stdout.buffer`.
    replace
        Whether a plain file may be replaced; otherwise `FileExistsError`, even if the file came just now.
    mode
        Permissions of the file. Without it those of the file that is replaced, or what the umask allows.
    hold
        Give the block a temporary file, and copy it into a pipe, device or socket after the block has ended without
        an error. For output that must be seekable or that a late error must be able to withdraw.
    """
    if not isinstance(target, (str, bytes, os.PathLike)):
        with _held(target, hold) as file:
            yield file
        return
    path = os.fsdecode(target)
    descriptor = descriptor_of(path)
    there = _stat(path) if descriptor is None else None
    if descriptor is None and (there is None or stat.S_ISREG(there.st_mode)):
        kept = mode if there is None or mode is not None else stat.S_IMODE(there.st_mode)
        with _plain_file(path, replace=replace, mode=kept) as file:
            yield file
        return
    try:
        with _opened(path, descriptor, there) as stream, _held(stream, hold) as file:
            yield file
    except OSError as problem:
        raise _about(path, problem) from None


def descriptor_of(path: str | os.PathLike[str]) -> int | None:
    """The descriptor that a name such as /dev/stdout or /dev/fd/3 stands for, also through links; None for others.

    What such a descriptor leads to may be a plain file (`> file`), which must not be replaced by its name.

    >>> descriptor_of("/dev/stdout"), descriptor_of("/dev/null")
    (1, None)
    """
    name = os.path.join(os.getcwd(), os.fsdecode(path))
    for _ in range(_MOST_LINKS):
        folder, last = os.path.realpath(os.path.dirname(name)), os.path.basename(name)
        if folder in ("/dev/fd", f"/proc/{os.getpid()}/fd") and last.isdecimal():
            return int(last)
        name = os.path.join(folder, last)
        if not os.path.islink(name):
            break
        name = os.path.join(folder, os.readlink(name))
    return None


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:  # also a link to nothing
        return None


def _about(path: str, problem: OSError, temporary: str | None = None) -> OSError:
    """The same error about the name that the caller gave; as it is where it is about another file."""
    if problem.filename not in (None, path, temporary):
        return problem
    reason = str(problem) if problem.errno is None else os.strerror(problem.errno)
    return OSError(problem.errno, reason, path)


@contextmanager
def _plain_file(path: str, *, replace: bool, mode: int | None) -> Iterator[BinaryIO]:
    import uuid

    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:40]}.{uuid.uuid4().hex}")
    try:
        # Without a mode the file is made as any other is, so that the umask holds.
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode or 0o666)) as file:
            if mode is not None and os.name == "posix":
                os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(temporary, target)
        else:
            _put_if_absent(temporary, target)
        _sync_folder(folder)
    except OSError as problem:
        raise _about(path, problem, temporary) from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def _put_if_absent(temporary: str, target: str) -> None:
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: what comes between these two lines is lost
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), temporary) from None
        os.replace(temporary, target)


def _sync_folder(folder: str) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _opened(path: str, descriptor: int | None, there: os.stat_result | None) -> Iterator[BinaryIO]:
    """What is not a plain file, opened for writing and never made, cut or replaced."""
    if descriptor is not None:
        sys.stdout.flush()  # what was printed before comes first
        with open(os.dup(descriptor), "wb") as file:
            yield file
    elif there is not None and stat.S_ISSOCK(there.st_mode):
        import socket

        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            with connection.makefile("wb") as file:
                yield file
    else:
        with open(os.open(path, os.O_WRONLY), "wb") as file:  # a folder is refused by the system here
            yield file


@contextmanager
def _held(stream: BinaryIO, hold: bool) -> Iterator[BinaryIO]:
    if not hold:
        yield stream
    else:
        with tempfile.NamedTemporaryFile() as kept:
            yield kept  # type: ignore[misc]
            kept.flush()
            kept.seek(0)
            shutil.copyfileobj(kept, stream)
    stream.flush()
