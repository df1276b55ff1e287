"""Results as the page asks for them, of three weeks of a free-text survey: at once, with all loaded, and again.

Against the library alone: the same tallies, decoded in a process that has loaded it; and a process that first loads it.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import deniable as dn
from benchmarks.measure import Line, timed
from deniable.cli.demo_store import Told, fill
from deniable.service.sqlite import SQLiteStore
from tests.collector import Server, serving

ROUNDS = 3


@contextmanager
def demo() -> Iterator[tuple[Server, Told]]:
    """A collector that has just started, and the free-text survey of `deniable serve --demo` in it."""
    with tempfile.TemporaryDirectory(prefix="deniable-bench-") as folder:
        home = Path(folder)
        with closing(SQLiteStore(home / "store")) as store:
            told = fill(store)[1]
        with serving(str(home / "store"), home) as server:
            yield server, told


def ask(server: Server, told: Told, what: str, *, level: float = 0.95) -> None:
    body = json.dumps({"level": level, "candidates": list(told.candidates)}).encode()
    answer = server.ask("POST", f"/v1/surveys/{told.survey.digest}/{what}", body)
    assert answer.status == 200, answer


def _alone() -> tuple[float, float, float]:
    """Seconds until a new process has decoded all of the demonstration, for that decode, and for one of each day."""
    with tempfile.TemporaryDirectory(prefix="deniable-bench-") as folder:
        with closing(SQLiteStore(Path(folder) / "store")) as store:
            told = fill(store)[1]
            entry = store.entry(told.survey.digest)
            assert entry is not None
            tally = store.tally(entry)
        path, listed = Path(folder) / "all.tally", list(told.candidates)
        tally.save(path)
        script = f"import deniable as dn; dn.decode(dn.Tally.load({str(path)!r}), candidates={listed!r}).intervals()"
        loaded = min(timed(lambda: subprocess.run([sys.executable, "-c", script], check=True)) for _ in range(ROUNDS))
    one = min(timed(lambda: dn.decode(tally, candidates=listed).intervals()) for _ in range(ROUNDS))
    return loaded, one, 21 * one


def lines() -> Iterator[Line]:
    cold, shares, first, again = [], [], [], []
    for _ in range(ROUNDS):
        with demo() as (server, told):
            cold.append(timed(lambda: ask(server, told, "estimate")))
        with demo() as (server, told):
            assert server.ask("GET", "/pages/vega.js").status == 200
            ask(server, told, "estimate", level=0.9)  # the process has loaded once it answers
            shares.append(timed(lambda: ask(server, told, "estimate")))
            first.append(timed(lambda: ask(server, told, "trend")))
            again.append(timed(lambda: ask(server, told, "trend")))
    loaded, one, windows = _alone()
    yield Line("results, asked for as soon as it runs", "a process that loads and decodes", min(cold), loaded, 2)
    yield Line("results, the shares", "that decode alone", min(shares), one, 3)
    yield Line("results, the trend of 21 days", "one such decode for each day", min(first), windows, 10)
    yield Line("results, the trend again", "the trend the first time", min(again), min(first), 0.5)
