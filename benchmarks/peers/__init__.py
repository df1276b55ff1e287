"""The same work done by other people's libraries, each in its own environment, in the same run as ours."""

import sys
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.measure import Line
from benchmarks.peers.comparing import compared
from benchmarks.peers.environments import OURS, PEERS, Unavailable, python_of
from benchmarks.peers.figures import Cell, Figure, write

FIGURES = Path("out/peers.csv")

__all__ = ["FIGURES", "lines", "measured"]


def measured(names: Collection[str] | None = None) -> Iterator[Figure]:
    """Every figure of the comparison, or of some tables; a library that cannot be installed has one that says why."""
    from benchmarks.peers.audits import audits
    from benchmarks.peers.measuring import TABLES
    from benchmarks.peers.process import Library

    python_of(OURS)
    with ExitStack() as stack:
        libraries = []
        for name in PEERS:
            try:
                libraries.append(stack.enter_context(Library(name)))
            except Unavailable as problem:
                print(problem, flush=True)
                yield Figure(Cell("missing"), name, None, note=str(problem))
        every = TABLES | {"audit": audits}
        for table in [work for name, work in every.items() if names is None or name in names]:
            start = time.perf_counter()
            yield from table(libraries)
            print(f"peers: {table.__name__} took {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def lines() -> Iterator[Line]:
    """Per table, mechanism and peer the comparison that we win by least; all figures go to a file for the page."""
    figures = list(measured())
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    write(FIGURES, figures)
    worst: dict[tuple[str, str, str, str], Line] = {}
    for pair in compared(figures):
        key = pair.cell.table, pair.ours, pair.cell.mechanism, pair.peer
        line = Line(pair.title, pair.peer, pair.mine, pair.theirs, pair.target, pair.unit)
        if key not in worst or line.ratio / line.target > worst[key].ratio / worst[key].target:
            worst[key] = line
    yield from worst.values()
