"""Plans, large and ordinary, against five seconds: of the clock, or of the processor where other work shares it."""

import time
from collections.abc import Iterator
from typing import Any

import deniable as dn
from benchmarks.measure import Line, timed

LIMIT = 5.0  # seconds
LARGE = {
    "epsilon": {"n": 10**7, "max_l1": 0.3},
    "n": {"epsilon": 1.0, "max_l1": 0.3},
    "error": {"n": 10**7, "epsilon": 1.0},
}
OTHERS: list[dict[str, Any]] = [
    {"n": 10**6, "symbols": 2, "max_error": 0.01},
    {"n": 10**6, "candidates": 25, "epsilon": 6},
    {"epsilon": 3.2, "candidates": 256, "max_l2": 0.0018, "shape": "uniform"},
    {"n": 10**7, "symbols": 700, "max_l2": 0.01, "shape": "zipf:2"},
    {"n": 10**8, "candidates": 1024, "max_error": 0.005},
    {"epsilon": 0.33, "symbols": 2048, "max_l2": 0.057},
    {"epsilon": 1, "symbols": 4096, "visible": 0.002},
    {"n": 10**8, "symbols": 4096, "max_l1": 0.2},
    {"n": 10**8, "candidates": 4096, "max_l1": 0.2},
    {"epsilon": 7, "candidates": 4096, "max_l2": 3e-4, "shape": "zipf:2"},
]


def lines() -> Iterator[Line]:
    for alphabet in ("symbols", "candidates"):
        for found, question in LARGE.items():
            spent = min(timed(lambda: dn.plan(**{alphabet: 4096}, **question)) for _ in range(2))  # type: ignore[arg-type]  # noqa: B023
            yield Line(f"plan, 4096 {alphabet}, {found} asked", "5 s", spent, LIMIT, 1)
    slowest, which = max((timed(lambda: dn.plan(**one), time.process_time), str(one)) for one in OTHERS)  # noqa: B023
    yield Line("the slowest of ten other plans", f"5 s of the processor: {which}", slowest, LIMIT, 1)
