"""Where the reports come from: a command that is fed values, or a Python function. Each line, or call, is a new device.

A line in holds the values that one new device is given, one after the other, separated by tabs; the line out holds its
packed reports, in base64 or hexadecimal, separated by tabs. Most lines hold one value. Some hold the same one twice:
noise that should be permanent, and is not, shows nowhere else.
"""

import binascii
import contextlib
import shlex
import subprocess
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Protocol

from deniable.client import Client
from deniable.errors import AuditError
from deniable.survey import Survey

# What one new device sends for these values: its packed reports.
Devices = Callable[[Sequence[object]], Sequence[bytes]]

_BLOCK = 4096  # lines written to a command at once


class Source(Protocol):
    """Anything that turns the values of new devices into their packed reports, in order.

    Examples
    --------
    >>> import deniable as dn
    >>> source: Source = Calls(own_devices(dn.warner(epsilon=1)))
    >>> [len(device) for device in source.reports([("yes",), ("no", "no")])]
    [1, 2]
    """

    def reports(self, asked: Iterable[tuple[object, ...]]) -> Generator[tuple[bytes, ...], None, None]:
        """One tuple of packed reports for each tuple of values.

        Parameters
        ----------
        asked : iterable of tuples
            The values of each new device.
        """
        ...


def own_devices(survey: Survey, *, memoize: bool = True) -> Devices:
    """Devices that run this package's own client.

    Parameters
    ----------
    survey : Survey
        The survey that they answer.
    memoize : bool
        Whether they repeat their bytes for the same answer.

    Examples
    --------
    >>> import deniable as dn
    >>> devices = own_devices(dn.warner(epsilon=1))
    >>> first, second = devices(["yes", "yes"])
    >>> first == second
    True
    """

    def device(values: Sequence[object]) -> Sequence[bytes]:
        client = Client(survey, memoize=memoize)
        return [client.report(value).pack() for value in values]

    return device


class Calls:
    """A Python function as a source."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices

    def reports(self, asked: Iterable[tuple[object, ...]]) -> Generator[tuple[bytes, ...], None, None]:
        for values in asked:
            found = tuple(self._devices(values))
            if len(found) != len(values) or not all(isinstance(report, bytes) for report in found):
                raise AuditError(
                    f"devices must return packed reports, one for each of {len(values)} values, got "
                    f"{len(found)} of {', '.join(sorted({type(report).__name__ for report in found})) or 'nothing'}"
                )
            yield found


class Command:
    """A command as a source: one process, fed and read at the same time, so that neither waits for the other.

    Parameters
    ----------
    command : str or sequence of str
        The program and its arguments; text is split as a shell would, but no shell runs.

    Raises
    ------
    AuditError
        If it is empty.

    Examples
    --------
    >>> Command("node client.mjs survey.json").words
    ['node', 'client.mjs', 'survey.json']
    >>> list(Command("sed s/.*/01ff/").reports([("yes",), ("no",)]))     # a client that always sends two bytes
    [(b'\\x01\\xff',), (b'\\x01\\xff',)]
    """

    def __init__(self, command: str | Sequence[str]) -> None:
        self.words = shlex.split(command) if isinstance(command, str) else list(command)
        if not self.words:
            raise AuditError("command must name a program, got nothing")

    def reports(self, asked: Iterable[tuple[object, ...]]) -> Generator[tuple[bytes, ...], None, None]:
        """One tuple of packed reports for each tuple of values, as the process prints them.

        Parameters
        ----------
        asked : iterable of tuples
            The values of each new device.

        Raises
        ------
        AuditError
            If the command cannot be run, fails, or prints something else.
        """
        try:
            process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as problem:
            raise AuditError(f"command {self.words[0]!r} cannot be run: {(problem.strerror or '').lower()}") from None
        assert process.stdin is not None
        assert process.stdout is not None
        feeding = threading.Thread(target=self._feed, args=(process, asked), daemon=True)
        feeding.start()
        lines = 0
        try:
            for line in process.stdout:
                lines += 1
                yield tuple(_packed(part, lines) for part in line.rstrip(b"\r\n").split(b"\t"))
            if process.wait() != 0:
                raise AuditError(
                    f"command must end with exit code 0, got {process.returncode} after {lines} lines; "
                    "what it printed to standard error is above"
                )
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            feeding.join(5)

    @staticmethod
    def _feed(process: "subprocess.Popen[bytes]", asked: Iterable[tuple[object, ...]]) -> None:
        assert process.stdin is not None
        try:
            block: list[bytes] = []
            for values in asked:
                block.append(b"\t".join(map(line_of, values)))
                if len(block) == _BLOCK:
                    process.stdin.write(b"\n".join(block) + b"\n")
                    block.clear()
            if block:
                process.stdin.write(b"\n".join(block) + b"\n")
        except OSError:  # it has stopped reading; the main thread sees how it ends
            pass
        finally:
            with contextlib.suppress(OSError):
                process.stdin.close()


def line_of(value: object) -> bytes:
    """A value as a command is given it: text as it is, a number in digits.

    >>> line_of("été"), line_of(-7)
    (b'\\xc3\\xa9t\\xc3\\xa9', b'-7')
    """
    if isinstance(value, str) and not any(c in value for c in "\t\r\n"):
        return value.encode()
    if isinstance(value, int):
        return b"%d" % value
    raise AuditError("values for a command must be integers, or text without tabs and line ends; name others")


def _packed(text: bytes, line: int) -> bytes:
    """The bytes that base64 or hexadecimal text stands for."""
    try:
        # Packed reports begin with the byte 1: in hexadecimal that is 01, in base64 the first six bits are an A.
        return binascii.a2b_base64(text, strict_mode=True) if text[:1] == b"A" else bytes.fromhex(text.decode("ascii"))
    except ValueError:
        pass
    raise AuditError(f"line {line} must hold packed reports in base64 or hexadecimal, got {text[:40]!r}")
