"""The cost of a simulated tally must not grow with the population."""

from collections.abc import Iterator

import numpy as np

import deniable as dn
from benchmarks.measure import Line, compare

REPEATS = 20


def lines() -> Iterator[Line]:
    survey = dn.orr(symbols=256, epsilon=2, cells=16, cohorts=64)
    p = dn.lab.geometric(256, 256 / 5)

    def draw(n: int) -> None:
        rng = np.random.default_rng(0)
        for _ in range(REPEATS):
            dn.simulate(survey, p, n, rng)

    yield compare("simulate, n = 10^8", "n = 10^5", lambda: draw(10**8), lambda: draw(10**5), 1.5, per=REPEATS)
