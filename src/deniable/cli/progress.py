"""What a command shows while it works: one line on standard error, drawn again in place and wiped at the end.

It is the only code that writes to a terminal in this way. Where standard error is not a terminal, nothing is written.
"""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO, TypeVar

from deniable.cli.text import duration, fit

T = TypeVar("T")

_WIDTH = 30  # characters of a full bar
_PAUSE = 0.1  # seconds between two drawings
_WIPE = "\r\x1b[K"  # back to the first column, and delete to the end of the line (ECMA-48)


class Reporter:
    """The progress of one piece of work, as a context manager.

    The line is drawn by a thread of its own, so that it stays current while the work is inside one long call.

    Parameters
    ----------
    what : str
        What is being done, for instance "decoding".
    after : float
        Seconds before the line appears; work that is done sooner shows nothing.
    stream : TextIO, optional
        Where to draw instead of standard error.

    Examples
    --------
    >>> with Reporter("decoding") as report:
    ...     report("decoding", 3.0, 60.0)
    ...     report("drawing")
    """

    def __init__(self, what: str = "", *, after: float = 0.0, stream: TextIO | None = None) -> None:
        self._out = sys.stderr if stream is None else stream
        self._after = after
        self._start = self._measured = time.monotonic()
        self._state = what, 0.0, 0.0
        self._over = threading.Event()
        self._drawer: threading.Thread | None = None

    def __call__(self, what: str, done: float = 0.0, total: float = 0.0, left: int = 0) -> None:
        """Say how far the work is.

        Parameters
        ----------
        what : str
            What is being done now.
        done, total : float
            In any unit. Without a total the line has the seconds that have passed instead of a bar.
        left : int
            Tasks that are left; not shown.
        """
        if total > 0 and not self._state[2]:
            self._measured = time.monotonic()  # the time left follows from the part that has a measure
        self._state = what, done, total

    def part(self, what: str) -> Callable[[float, float], None]:
        """The same for code that knows only how much is done, and of how much."""
        return lambda done, total: self(what, done, total)

    def each(self, items: Sequence[T]) -> Iterator[T]:
        """The items one by one, each of them an equal part of the work."""
        what = self._state[0]
        for done, item in enumerate(items):
            self(what, done, len(items))
            yield item

    def line(self, now: float) -> str:
        """The text of the line at the time `now` of `time.monotonic`."""
        what, done, total = self._state
        if total > 0:
            share = min(done / total, 1.0)
            filled = int(_WIDTH * share)
            left = f", about {duration((now - self._measured) * (1 / share - 1))} left" if 0 < share < 1 else ""
            told = f" [{'#' * filled}{'.' * (_WIDTH - filled)}] {int(100 * share)} %{left}"
        else:
            told = f" ... {duration(now - self._start)}"
        return fit(what, max(8, shutil.get_terminal_size().columns - 1 - len(told))) + told

    def __enter__(self) -> "Reporter":
        if self._out.isatty():
            self._drawer = threading.Thread(target=self._draw, daemon=True)
            self._drawer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawer is not None:
            self._over.set()
            self._drawer.join()

    def _draw(self) -> None:
        if self._over.wait(self._after):
            return
        while True:
            self._write(self.line(time.monotonic()))
            if self._over.wait(_PAUSE):
                self._write("")
                return

    def _write(self, text: str) -> None:
        self._out.write(_WIPE + text)
        self._out.flush()
