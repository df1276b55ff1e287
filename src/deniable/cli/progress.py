"""A progress bar on standard error, where someone is watching; nothing at all where nobody is."""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO, TypeVar

from deniable.cli.text import duration, fit

__all__ = ["Stages", "busy", "progress"]

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
def busy(what: str, *, after: float = 2.0, stream: TextIO | None = None) -> Iterator[Callable[[int, int], None]]:
    """A block whose end cannot be foreseen: the seconds that have passed, shown once they are worth showing.

    A part of the block that knows how far it is says so (done, total), and that is shown as a bar.

    >>> with busy("thinking") as tell:
    ...     tell(1, 2)
    """
    out = sys.stderr if stream is None else stream
    known: list[tuple[int, int]] = []

    def tell(made: int, total: int) -> None:
        known[:] = [(made, total)]

    if not out.isatty():
        yield tell
        return
    start, done = time.monotonic(), threading.Event()

    def watch() -> None:
        pause = after
        while not done.wait(pause):
            bar = "".join(f" [{_bar(made, total)}] {made:,} of {total:,}" for made, total in known)
            out.write(f"\r\x1b[K{what}{bar} ... {time.monotonic() - start:.0f} s")
            out.flush()
            pause = 0.5
        if time.monotonic() - start >= after:
            out.write("\r\x1b[K")
            out.flush()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield tell
    finally:
        done.set()
        watcher.join()


class Stages:
    """One bar for work in stages whose costs are known only roughly; wiped at the end of its block.

    >>> with Stages() as bar:
    ...     bar("simulating", 3.0, 60.0, 19)
    ...     bar.say("drawing")
    """

    def __init__(self, *, stream: TextIO | None = None) -> None:
        self._out = sys.stderr if stream is None else stream
        self._watched = self._out.isatty()
        self._start: float | None = None

    def __call__(self, stage: str, done: float, total: float, left: int) -> None:
        """Show how far `stage` has come; the time left follows from how long the part that is done has taken."""
        now = time.monotonic()
        self._start = now if self._start is None else self._start
        share = min(done / total, 1.0) if total > 0 else 1.0
        filled = int(_WIDTH * share)
        time_left = f", about {duration((now - self._start) * (1 / share - 1))} left" if 0 < share < 1 else ""
        measured = f" [{'#' * filled}{'.' * (_WIDTH - filled)}] {int(100 * share)} %{time_left}"
        self.say(fit(stage, max(8, shutil.get_terminal_size().columns - 1 - len(measured))) + measured)

    def say(self, what: str) -> None:
        """Show what is going on, where there is nothing to measure."""
        if self._watched:
            self._out.write("\r\x1b[K" + fit(what, shutil.get_terminal_size().columns - 1))
            self._out.flush()

    def __enter__(self) -> "Stages":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.say("")


def _line(what: str, done: int, total: int, spent: float) -> str:
    left = f", {spent / done * (total - done):.0f} s left" if done else ""
    return f"\r\x1b[K{what} [{_bar(done, total)}] {done} of {total}{left}"


def _bar(done: int, total: int) -> str:
    filled = _WIDTH * done // total
    return "#" * filled + "." * (_WIDTH - filled)
