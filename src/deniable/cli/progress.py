"""A progress bar on standard error, where someone is watching; nothing at all where nobody is."""

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, TypeVar

__all__ = ["busy", "progress"]

T = TypeVar("T")

_WIDTH, _PAUSE = 30, 0.1


def progress(items: Sequence[T], what: str, *, after: float = 0.0, stream: TextIO | None = None) -> Iterator[T]:
    """The items, one by one, with a bar that appears once `after` seconds have passed and is wiped at the end.

    >>> list(progress([1, 2, 3], "counting"))
    [1, 2, 3]
    """
    out = sys.stderr if stream is None else stream
    if not out.isatty():
        yield from items
        return
    start = last = time.monotonic()
    drawn = False
    try:
        for done, item in enumerate(items):
            now = time.monotonic()
            if now - start >= after and (not drawn or now - last >= _PAUSE):
                out.write(_line(what, done, len(items), now - start))
                out.flush()
                drawn, last = True, now
            yield item
    finally:
        if drawn:
            out.write("\r\x1b[K")
            out.flush()


@contextmanager
def busy(what: str, *, after: float = 2.0, stream: TextIO | None = None) -> Iterator[None]:
    """A block whose end cannot be foreseen: the seconds that have passed, shown once they are worth showing.

    >>> with busy("thinking"):
    ...     pass
    """
    out = sys.stderr if stream is None else stream
    if not out.isatty():
        yield
        return
    start, done = time.monotonic(), threading.Event()

    def watch() -> None:
        pause = after
        while not done.wait(pause):
            out.write(f"\r\x1b[K{what} ... {time.monotonic() - start:.0f} s")
            out.flush()
            pause = 0.5
        if time.monotonic() - start >= after:
            out.write("\r\x1b[K")
            out.flush()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _line(what: str, done: int, total: int, spent: float) -> str:
    filled = _WIDTH * done // total
    left = f", {spent / done * (total - done):.0f} s left" if done else ""
    return f"\r\x1b[K{what} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done} of {total}{left}"
