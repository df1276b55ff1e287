"""What tracking costs: processor seconds by symbols and windows."""

import time
from collections.abc import Iterator

import numpy as np

import deniable as dn
from studies.time_rows import Row, row

SYMBOLS, WINDOWS, PEOPLE = (4096, 16_384), (100, 200, 400), 100_000


def costs(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """One history a row: fresh reports of OUE at epsilon 2, shares of 1 / rank that stand still."""
    for size in SYMBOLS:
        survey, law = dn.oue(size, epsilon=2.0), dn.lab.zipf(size, 1)
        for windows in WINDOWS:
            tallies = [dn.simulate(survey, law, PEOPLE, rng) for _ in range(windows)]
            found = []
            for _ in range(repeats):
                start = time.process_time()
                dn.track(tallies)
                found.append(time.process_time() - start)
            yield row("cost", "OUE", f"{size:,} symbols, seconds", found, windows=windows)
