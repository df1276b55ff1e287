"""How a ratio is measured: ours and the reference take turns, and the best of each counts."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

__all__ = ["Line", "compare", "shown", "timed"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: `ratio` = ours / reference must be at most `target`."""

    what: str
    reference: str
    ours: float
    theirs: float
    target: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def met(self) -> bool:
        return self.ratio <= self.target

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"ratio": self.ratio, "met": self.met}


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    work()
    return clock() - start


def compare(
    what: str,
    reference: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    target: float,
    *,
    rounds: int = 9,
    per: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Line:
    """Time both in turn, `rounds` times; `per` is how many items one call handles.

    `clock` is wall time; `time.process_time` suits work of one thread, which other work then disturbs less.
    """
    ours(), theirs()
    best_ours = best_theirs = float("inf")
    for _ in range(rounds):
        best_ours = min(best_ours, timed(ours, clock))
        best_theirs = min(best_theirs, timed(theirs, clock))
    return Line(what, reference, best_ours / per, best_theirs / per, target)


def shown(value: float, unit: str) -> str:
    """A value with its unit; seconds in the unit that suits them."""
    if unit != "s":
        return f"{value:.3g} {unit}".strip()
    for scale, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"
