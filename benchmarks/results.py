"""Results as the page asks for them, of three weeks of a free-text survey: at once, with all loaded, and again."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

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
    yield Line("results, asked for as soon as it runs", "1.5 s", min(cold), 1.5, 1)
    yield Line("results, the shares", ".3 s", min(shares), 0.3, 1)
    yield Line("results, the trend of 21 days", "2 s", min(first), 2, 1)
    yield Line("results, the trend again", ".2 s", min(again), 0.2, 1)
