"""A plan over a large alphabet, for each of the three questions, against five seconds."""

from collections.abc import Iterator

import deniable as dn
from benchmarks.measure import Line, timed

LIMIT = 5.0  # seconds
QUESTIONS = {
    "epsilon": {"n": 10**7, "max_l1": 0.3},
    "n": {"epsilon": 1.0, "max_l1": 0.3},
    "error": {"n": 10**7, "epsilon": 1.0},
}


def lines() -> Iterator[Line]:
    for alphabet in ("symbols", "candidates"):
        for found, question in QUESTIONS.items():
            spent = min(timed(lambda: dn.plan(**{alphabet: 4096}, **question)) for _ in range(2))  # type: ignore[arg-type]  # noqa: B023
            yield Line(f"plan, 4096 {alphabet}, {found} asked", "5 s", spent, LIMIT, 1)
