"""Plans, large and ordinary, against the plain way to see whether a survey does: simulate and decode it often enough.

Whoever has a survey in hand and wants to know whether nine in ten of its tallies meet a target simulates at least a
hundred. A plan, which looks through all mechanisms and sizes, may take as long. In CPU time.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import deniable as dn
from benchmarks.measure import Line, timed

REPEATS, TIMED = 100, 4  # of which so many are timed
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


def repeated(found: dn.Plan, question: dict[str, Any]) -> float:
    """Seconds of the processor that `REPEATS` simulated and decoded tallies of the planned survey take."""
    size = question.get("symbols") or question["candidates"]
    p, names, rng = dn.lab.geometric(size, size / 5), range(size), np.random.default_rng(0)
    listed = {"candidates": names} if found.survey.alphabet.is_open else {}
    shown = {"symbols": names} if found.survey.alphabet.is_open else {}

    def once() -> None:
        dn.decode(dn.simulate(found.survey, p, found.n, rng, **shown), **listed)  # type: ignore[call-overload]

    return min(timed(once, time.process_time) for _ in range(TIMED)) * REPEATS


def planned(question: dict[str, Any]) -> tuple[float, float]:
    plans: list[dn.Plan] = []
    spent = timed(lambda: plans.append(dn.plan(**question)), time.process_time)
    return spent, repeated(plans[0], question)


def lines() -> Iterator[Line]:
    reference = f"{REPEATS} tallies of that survey, simulated and decoded"
    for alphabet in ("symbols", "candidates"):
        for found, question in LARGE.items():
            yield Line(f"plan, 4096 {alphabet}, {found} asked", reference, *planned({alphabet: 4096, **question}), 1)
    others = [(planned(one), one) for one in OTHERS]
    for size, target in (
        ("small", 50),
        ("large", 2),
    ):  # a small survey is decoded in less time than it takes to name it
        some = [
            pair
            for pair, one in others
            if (max(one.get("symbols", 0), one.get("candidates", 0)) < 256) == (size == "small")
        ]
        yield Line(
            f"the slowest of {len(some)} {size} plans",
            reference,
            *max(some, key=lambda pair: pair[0] / pair[1]),
            target,
        )
