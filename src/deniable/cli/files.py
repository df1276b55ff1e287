"""Files named on the command line: read, written, or refused in a sentence that names them."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from deniable.errors import DeniableError
from deniable.survey import Agreement, Survey, read_agreement, strict_json

if TYPE_CHECKING:
    from deniable.tally import Tally

_T = TypeVar("_T")


@contextmanager
def _touching(path: str, verb: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        # The name in the exception may be a temporary one; the reader knows the one they typed.
        reason = (problem.strerror or str(problem)).lower()
        raise DeniableError(f"{path} cannot be {verb}: {reason}") from None
    except UnicodeDecodeError:
        raise DeniableError(f"{path} must be UTF-8 text, got other bytes; save it as UTF-8") from None
    except ValueError as problem:
        if isinstance(problem, DeniableError):
            raise
        raise DeniableError(f"{path[:80]!r} cannot be {verb}: {problem}") from None


def writing(path: str) -> AbstractContextManager[None]:
    """A block that writes `path`; whatever the system refuses becomes a sentence."""
    return _touching(path, "written")


def load_survey(path: str) -> Survey:
    """The survey in a file, or in standard input for -."""
    with _touching(path, "read"):
        return Survey.load(path) if path != "-" else _from_input(Survey.from_json, "a survey")


def load_agreement(path: str) -> Agreement:
    """The survey or the form in a file, or in standard input for -."""

    def read(data: bytes) -> Agreement:
        return read_agreement(strict_json(data))

    with _touching(path, "read"):
        if path == "-":
            return _from_input(read, "a survey")
        try:
            return read(Path(path).read_bytes())
        except DeniableError as problem:
            raise DeniableError(f"{path}: {problem}") from None


def _from_input(read: Callable[[bytes], _T], what: str) -> _T:
    """What standard input holds; it can be read once."""
    data = sys.stdin.buffer.read()
    if not data:
        raise DeniableError(f"standard input must hold {what}, got nothing")
    try:
        return read(data)
    except DeniableError as problem:
        raise DeniableError(f"standard input: {problem}") from None


def load_tallies(paths: list[str]) -> "Tally":
    """The sum of the tallies in some files (- is standard input), which must all be of one survey."""
    from deniable.errors import TallyMismatch
    from deniable.tally import Tally

    total: Tally | None = None
    for path in paths:
        with _touching(path, "read"):
            found = Tally.load(path) if path != "-" else _from_input(Tally.from_bytes, "a tally")
        if total is None:
            total = found
            continue
        try:
            total += found
        except TallyMismatch as problem:
            raise DeniableError(f"{path}: {problem}") from None
    assert total is not None, "argparse asks for at least one"
    return total


def read_symbols(path: str) -> list[str]:
    """One symbol a line, UTF-8; empty lines do not count."""
    with _touching(path, "read"):
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
    # Only line feeds separate: str.splitlines would also split at U+2028 and other characters inside a symbol.
    found = [line.removesuffix("\r") for line in text.split("\n")]
    return [line for line in found if line]


def some_of(given: str | None, symbols: list[str] | int | None) -> list[Any] | None:
    """The answers that an option names, separated by commas: numbers where the answers are a count; None for none."""
    if given is None:
        return None
    parts = [part.strip() for part in given.split(",")]
    return [int(part) if isinstance(symbols, int) and part.isdecimal() else part for part in parts if part]


def one_of(given: str | None, symbols: Iterable[Any] | int | None) -> Any:
    """The answer that an option names: that with this text, be it a word or a number."""
    known = range(symbols) if isinstance(symbols, int) else symbols or ()
    return next((symbol for symbol in known if str(symbol) == given), given)


def symbols_from(args: argparse.Namespace, option: str) -> list[str] | int | None:
    """The symbols that `--option` (a,b,c or a count) or `--option-file` name, or None for neither."""
    given, file = getattr(args, option), getattr(args, f"{option}_file")
    if given is not None and file is not None:
        raise DeniableError(f"--{option} and --{option}-file must not both be given")
    if file is not None:
        return read_symbols(file)
    if given is None:
        return None
    if given.strip().isdecimal() and len(given) < 10:
        return int(given)
    parts = [part.strip() for part in given.split(",")]
    if not all(parts):
        raise DeniableError(f"--{option} must not hold empty symbols; to use commas in a symbol, use --{option}-file")
    return parts
