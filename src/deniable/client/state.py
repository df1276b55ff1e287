"""A device's state on disk: its secret, a cohort and an account for each survey, and an outbox. No answer.

One JSON file, readable by its owner alone, for all surveys of a device. It is replaced as a whole (temporary file,
fsync, rename, fsync of the folder) under a lock, so it is never half written and two processes never lose each other's
changes; the one that was there is overwritten with zeros, so that a delivered report does not stay on the disk.
Beside it stands `<name>.lock`, which stays: it is locked during changes, and once the state exists it says so. A state
that is gone while its lock says that there was one was lost, and is an error: a device that started afresh would give
old answers new noise.

The outbox is kept in the order of the reports' random ids, so neither the file nor a batch shows in which order
answers were given; the only times in it are the day that a report was made on and, for a survey that is answered once a
window, the window of the last report, and the turn of the device where only a share of them answers in each.
"""

import contextlib
import hmac
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable.client.forgetting import forgetting
from deniable.client.ledger import Account
from deniable.errors import StateError
from deniable.mechanisms import epsilon_text
from deniable.survey import Agreement

__all__ = ["Contents", "StateFile", "Waiting"]

FORMAT, FIRST_FORMAT = "deniable-client/2", "deniable-client/1"
PATIENCE = 10.0  # seconds to wait for another process that holds the lock
_MARK = b"A device's state was created beside this file. Without it, it was lost: restore it.\n"


@dataclass(frozen=True, slots=True)
class Waiting:
    """One report in the outbox.

    Parameters
    ----------
    survey : str
        The survey's digest.
    id : str
        The id that it is sent under, 16 random bytes in hexadecimal.
    report : bytes
        The packed report.
    day : int or None
        The UTC day, counted from 1970, on which it was made. It never changes: a collector forgets ids by it, so a day
        that changed between two sendings could have the report counted twice. None: the device did not know it.

    Examples
    --------
    >>> waiting = Waiting("18ca4d86", id="00" * 16, report=b"...", day=20772)
    >>> waiting
    Waiting(survey='18ca4d86', id='00000000000000000000000000000000', report=b'...', day=20772)
    >>> waiting.row()
    ['18ca4d86', '00000000000000000000000000000000', '2e2e2e', 20772]
    """

    survey: str
    id: str
    report: bytes
    day: int | None = None

    def row(self) -> list[object]:
        """The report as the state file holds it."""
        known = [] if self.day is None else [self.day]
        return [self.survey, self.id, self.report.hex(), *known]


@dataclass(slots=True)
class Contents:
    """All that a device keeps. Cohorts and accounts by survey digest, the outbox by report id.

    `refused` counts, by survey and word, the reports that left the outbox uncounted; `unknown` is the first day on
    which a collector said that it does not know the survey, if nobody has taken a report of it since; `windows` has the
    number of the window of the last report, for surveys that are answered once a window; `turns` has the turn of the
    device, for those that only a share of the devices answers in each window.
    """

    secret: bytes = field(repr=False)
    cohorts: dict[str, int] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    outbox: dict[str, Waiting] = field(default_factory=dict)
    refused: dict[str, dict[str, int]] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    windows: dict[str, int] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        fields: dict[str, object] = {
            "format": FORMAT,
            "secret": self.secret.hex(),
            "surveys": {
                digest: {
                    "cohort": self.cohorts[digest],
                    "epsilon": epsilon_text(account.epsilon),
                    "epsilon_report": epsilon_text(account.epsilon_report),
                    "answers": account.answers,
                    "memoised": account.memoised,
                    "fresh": account.fresh,
                    **({"refused": self.refused[digest]} if self.refused.get(digest) else {}),
                    **({"unknown": self.unknown[digest]} if digest in self.unknown else {}),
                    **({"window": self.windows[digest]} if digest in self.windows else {}),
                    **({"turn": self.turns[digest]} if digest in self.turns else {}),
                }
                for digest, account in sorted(self.accounts.items())
            },
            "outbox": [waiting.row() for waiting in sorted(self.outbox.values(), key=lambda waiting: waiting.id)],
        }
        # The check catches damage, not forgery: whoever can write this file is the device.
        fields["check"] = _checksum(fields)
        return json.dumps(fields, sort_keys=True).encode() + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes, survey: Agreement) -> "Contents | str | None":
        """The contents; or None if they are damaged; or the digest of the one survey of a file of the first format."""
        try:
            fields = json.loads(data)
            check = fields.pop("check")
            if not hmac.compare_digest(check, _checksum(fields)):
                return None
            if fields["format"] == FIRST_FORMAT:
                return cls._first_format(fields, survey)
            if fields["format"] != FORMAT or set(fields) != {"format", "secret", "surveys", "outbox"}:
                return None
            found = cls(bytes.fromhex(fields["secret"]))
            for digest, entry in fields["surveys"].items():
                found.cohorts[digest] = _count(entry["cohort"])
                found.accounts[digest] = Account(
                    digest,
                    Fraction(entry["epsilon"]),
                    Fraction(entry["epsilon_report"]),
                    None if entry["answers"] is None else _count(entry["answers"]),
                    _count(entry["memoised"]),
                    _count(entry["fresh"]),
                )
                if "refused" in entry:
                    found.refused[digest] = {str(word): _count(number) for word, number in entry["refused"].items()}
                if "unknown" in entry:
                    found.unknown[digest] = _count(entry["unknown"])
                if "window" in entry:
                    found.windows[digest] = _count(entry["window"])
                if "turn" in entry:
                    found.turns[digest] = _count(entry["turn"])
            for digest, name, report, *day in fields["outbox"]:  # no day: queued before reports had one
                found.outbox[name] = Waiting(digest, name, bytes.fromhex(report), *map(_count, day))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ZeroDivisionError):
            return None
        return found if len(found.secret) == 32 else None

    @classmethod
    def _first_format(cls, fields: dict[str, Any], survey: Agreement) -> "Contents | str":
        """A file of version 0.1, which held one survey and counted nothing; it may have reported, so it has once."""
        digest = str(fields["survey"])
        if digest != survey.digest:
            return digest
        account = replace(Account.of(survey), memoised=1)
        return cls(bytes.fromhex(fields["secret"]), {digest: _count(fields["cohort"])}, {digest: account})


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def _checksum(fields: dict[str, object]) -> str:
    return hmac.digest(b"deniable client state", json.dumps(fields, sort_keys=True).encode(), "sha256").hex()


class StateFile:
    """The file of one device. `change` reads, lets the caller change, and writes: all of it, or nothing."""

    __slots__ = ("_lock", "path")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # A link is followed once, here: replacing the file must not replace a link to it.
        self.path = Path(os.path.realpath(path))
        self._lock = self.path.with_name(self.path.name + ".lock")

    @contextlib.contextmanager
    def change(self, survey: Agreement, *, create: "Contents | None" = None) -> Iterator[Contents]:
        """The contents, locked; what they are when the block ends is on disk when this returns.

        Only the first use of a path may `create`; if the block raises, nothing is written.
        """
        with self._sentences(), self._locked() as lock:
            marked = os.fstat(lock).st_size > 0
            if not os.path.lexists(self.path):
                if marked or create is None:
                    raise StateError(
                        f"client state {self.path} is gone, but {self._lock.name} says that this device had one; "
                        f"restore it, or delete {self._lock.name} too and accept that earlier reports and new ones can "
                        "be combined"
                    )
                forgetting(self._write, forgetting(create.to_bytes))
            before = after = self.path.read_bytes()
            try:
                contents = forgetting(self._parsed, before, survey)
                if isinstance(contents, str):
                    raise StateError(contents)
                if not marked:  # before any report; a foreign file does not get here
                    os.write(lock, _MARK)
                    os.fsync(lock)
                    self._sync_folder()
                yield contents
                after = forgetting(contents.to_bytes)
                if after != before:
                    forgetting(self._write, after)
            finally:
                before = after = b""  # they hold the secret, and a traceback may show local names

    def look(self, survey: Agreement) -> Contents:
        """The contents as they are; changes to what this returns are lost."""
        with self._sentences():
            contents = forgetting(lambda: self._parsed(self._current(), survey))
            if isinstance(contents, str):
                raise StateError(contents)
            return contents

    def _current(self) -> bytes:
        """The file's bytes, read without the lock: not those of one that was replaced, and wiped, meanwhile."""
        while True:
            with open(self.path, "rb") as file:
                data = file.read()
                if os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    return data

    def _parsed(self, data: bytes, survey: Agreement) -> "Contents | str":
        """The contents, or what is wrong with them: an error raised here would carry frames that hold the secret."""
        found = Contents.from_bytes(data, survey)
        if isinstance(found, str):
            return (
                f"client state {self.path} is for survey {found[:8]}, not {survey.digest[:8]}, and of version 0.1; "
                "open it once with its own survey"
            )
        if found is None or not 0 <= found.cohorts.get(survey.digest, 0) < survey.cohorts:
            return (
                f"client state {self.path} is damaged or not a client's state; restore it, or delete it with "
                f"{self._lock.name} and accept that earlier reports and new ones can be combined"
            )
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            return f"client state {self.path} must be readable by its owner only; run chmod 600 on it"
        return found

    def _write(self, data: bytes) -> None:
        """Replace the file, and overwrite what it was: a report that was delivered, and the secret beside it.

        Under the lock one name is enough for the new file. What a crash left under it is removed: the file is made
        here, with its mode, or not at all. The old one is wiped after the new one is durable; its blocks are free for
        others from then on. (A disk or file system that writes elsewhere than told keeps them for longer.)
        """
        temporary = self.path.with_name(f".{self.path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with contextlib.suppress(FileNotFoundError):
            _wipe(temporary)
        try:
            with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            old = _opened(self.path)
            os.replace(temporary, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                _wipe(temporary)
            raise
        self._sync_folder()
        if old is not None:
            _overwrite(old)

    def _sync_folder(self) -> None:
        if os.name != "posix":
            return
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        # Not through a link: what it leads to is another program's file, and would get the mark.
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            deadline = time.monotonic() + PATIENCE
            while not _try_lock(lock):
                if time.monotonic() > deadline:
                    raise StateError(f"client state {self.path} is in use by another process; wait until it is done")
                time.sleep(0.01)
            yield lock
        finally:
            os.close(lock)  # which unlocks it

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        problem = None
        try:
            yield
        except OSError as error:
            problem = (error.strerror or type(error).__name__).lower()
            error.__traceback__ = None  # Python chains it to what is raised next, and its frames hold the secret
        if problem is not None:
            raise StateError(
                f"client state {self.path} cannot be read or written: {problem}; what it held is kept, try again"
            )


def _opened(path: Path) -> int | None:
    """A descriptor of the file that will be overwritten with zeros after its removal.

    None if there is no such file, and on Windows, where an open file cannot be removed.
    """
    if os.name != "posix":
        return None
    try:
        return os.open(path, os.O_WRONLY | os.O_NOFOLLOW)
    except OSError:
        return None


def _overwrite(old: int) -> None:
    """Overwrite a removed file with zeros, and close it. One with another name (a hard link, a backup) is kept."""
    try:
        with contextlib.suppress(OSError):  # wiping is best effort: the new file is in place
            found = os.fstat(old)
            if not found.st_nlink:
                os.pwrite(old, bytes(found.st_size), 0)
                os.fsync(old)
    finally:
        os.close(old)


def _wipe(path: Path) -> None:
    old = _opened(path)
    try:
        os.unlink(path)
    finally:
        if old is not None:
            _overwrite(old)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            os.lseek(handle, 1 << 20, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
            return True
        except OSError:
            return False

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
