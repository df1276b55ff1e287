"""What runs inside a library's own environment: asked by lines of JSON, it times that library and answers by lines.

python -m benchmarks.peers.worker LIBRARY                                     answers requests
python -m benchmarks.peers.worker LIBRARY audit MECHANISM SYMBOLS EPSILON HEAD SIZE    a client for `deniable audit`

It imports nothing but the standard library and that one peer. Times are CPU seconds of this process.
"""

import importlib
import json
import random
import sys
from collections.abc import Callable
from functools import lru_cache
from time import process_time
from typing import Any

POOL = 0.3  # CPU seconds for the reports that an aggregation is timed on
ANSWERS = 1000
NAMING = ("GRR", "SUE", "OUE", "SS")  # mechanisms whose reports name cells of the alphabet itself


def _none(reports: Any, decoder: str) -> list[float]:
    raise NotImplementedError


class Worker:
    def __init__(self, library: str) -> None:
        self.peer = importlib.import_module(f"benchmarks.peers.of_{library.replace('-', '_')}")

    @lru_cache(maxsize=8)  # noqa: B019
    def made(self, mechanism: str, symbols: int, epsilon: float) -> tuple[Callable[[int], Any], Any, list[int]]:
        """Encoder, estimator and some answers; warmed up, since some compile on their first call."""
        encode, estimate = self.peer.make(mechanism, symbols, epsilon)
        if estimate is None:
            estimate = _none
        draw = random.Random(1)
        answers = [draw.randrange(symbols) for _ in range(ANSWERS)]
        for value in answers[:3]:
            encode(value)
        return encode, estimate, answers

    def encode(self, mechanism: str, symbols: int, epsilon: float, seconds: float) -> dict[str, Any]:
        """Seconds a report, over about `seconds` of them."""
        encode, _, answers = self.made(mechanism, symbols, epsilon)
        done, spent = 0, 0.0
        block = 8
        while spent < seconds:
            people = (answers * (-(-block // ANSWERS)))[:block]
            start = process_time()
            for value in people:
                encode(value)
            took = process_time() - start
            done, spent = done + block, spent + took
            block = block * 4 if took < seconds / 8 else block
        return {"seconds": spent / done, "n": done}

    @lru_cache(maxsize=2)  # noqa: B019
    def pool(self, mechanism: str, symbols: int, epsilon: float) -> list[Any]:
        encode, _, answers = self.made(mechanism, symbols, epsilon)
        found: list[Any] = []
        start = process_time()
        while process_time() - start < POOL or len(found) < 100:
            found.extend(encode(value) for value in answers[:100])
        return found

    def estimate(
        self, mechanism: str, symbols: int, epsilon: float, sizes: list[int], decoder: str, limit: float
    ) -> dict[str, Any]:
        """Seconds to take in and estimate from so many reports, for as many of `sizes` as seem to take under `limit`.

        The reports are a pool, repeated: taking in the same report again costs the same, and 10**6 would not fit.
        """
        _, estimate, _ = self.made(mechanism, symbols, epsilon)
        pool = self.pool(mechanism, symbols, epsilon)
        found: list[tuple[int, float]] = []
        for size in sizes:
            if found and found[-1][1] * size / found[-1][0] > limit:
                break
            reports = (pool * (-(-size // len(pool))))[:size]
            start = process_time()
            estimate(reports, decoder)
            found.append((size, process_time() - start))
        return {"found": found}

    def accuracy(self, mechanism: str, symbols: int, epsilon: float, answers: list[int]) -> dict[str, Any]:
        """What each of its decoders says of these people, and how often each cell was named, where reports do that."""
        encode, estimate, _ = self.made(mechanism, symbols, epsilon)
        if estimate is _none:
            raise NotImplementedError
        reports = [encode(value) for value in answers]
        counts = None
        if mechanism in NAMING:
            counts = [0] * symbols
            for report in reports:
                for cell in self.peer.cells(mechanism, report):
                    counts[cell] += 1
        return {"counts": counts, "said": {name: estimate(reports, name) for name in self.peer.DECODERS}}

    def whole(self, mechanism: str, symbols: int, epsilon: float, n: int, decoder: str) -> dict[str, Any]:
        """Seconds from `n` answers to the estimate."""
        encode, estimate, answers = self.made(mechanism, symbols, epsilon)
        people = (answers * (-(-n // ANSWERS)))[:n]
        start = process_time()
        estimate([encode(value) for value in people], decoder)
        return {"seconds": process_time() - start, "n": n}

    def texts(self, **asked: Any) -> dict[str, Any]:
        """What it finds among texts that nobody listed."""
        found: dict[str, Any] = importlib.import_module("benchmarks.peers.searching").found(**asked)
        return found

    def audit(self, mechanism: str, symbols: int, epsilon: float, head: str, size: int) -> None:
        """Answer `deniable audit`: a value a line in, a packed report a line out.

        "first of MECHANISM" sends the first cell that a report lists and no more. What is made from a private report
        is as private, so if this is not then neither is the report.
        """
        first = mechanism.startswith("first of ") or mechanism == "GRR"
        mechanism = mechanism.removeprefix("first of ")
        encode, _, _ = self.made(mechanism, symbols, epsilon)
        for line in sys.stdin:
            cells = self.peer.cells(mechanism, encode(int(line)))
            payload = cells[0] if first else sum(1 << cell for cell in cells)
            print(head + payload.to_bytes(size, "little").hex())


def main(library: str, *audit: str) -> None:
    worker = Worker(library)
    if audit:
        _, mechanism, symbols, epsilon, head, size = audit
        return worker.audit(mechanism, int(symbols), float(epsilon), head, int(size))
    answers, sys.stdout = sys.stdout, sys.stderr  # a library that prints must not break the lines
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            answer = getattr(worker, ask.pop("do"))(**ask)
        except NotImplementedError:
            answer = {"absent": "not offered"}
        except Exception as problem:  # whatever a library raises is its answer
            answer = {"failed": f"{type(problem).__name__}: {problem}"[:200]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
