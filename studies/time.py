"""Windows over time, measured: what intervals cover, what tracking gains, how often it raises a false alarm.

`python -m studies.time [--only TABLE] [--quick]` writes docs/results/time.csv; `python -m studies.time_page` makes the
page of it.
"""

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import deniable as dn
from studies.time_alarms import alarms, delays
from studies.time_coverage import coverage, merged
from studies.time_gain import gains
from studies.time_rows import COLUMNS, FILE, SEED, Row, row


def loloha(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """The published setting of LOLOHA: 10,000 devices, 120 windows, 360 answers, a quarter drawn anew each time."""
    windows, n, size = 120, 10_000, 360
    truth = np.full((windows, size), 1 / size)
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0):
        for part in (0.4, 0.5, 0.6):
            first = round(part * epsilon, 6)
            cells = max(2, round(float(np.exp(first))) + 1)
            survey = dn.orr(symbols=size, epsilon=epsilon, epsilon_report=first, cells=cells, cohorts=512, seed=SEED)
            ours, alone = [], []
            for _ in range(repeats):
                tallies = dn.lab.panel(survey, truth, n, rng, change=0.25)
                tracked = dn.track(tallies, turnover=0.0, participation="window")
                ours.append(float(((np.stack([w.probabilities for w in tracked]) - truth) ** 2).mean()))
                # A window alone, unbiased, as LOLOHA decodes it, but with the exact chain of the two stages: the
                # published one spends less than it was asked to, and so errs more.
                alone.append(float(((tracked.series.values.T - truth) ** 2).mean()))
            case = f"epsilon {epsilon:g}, first report {part:g} of it"
            yield row("loloha", case, "mean squared error, tracked", ours)
            yield row("loloha", case, "mean squared error, each window alone, unbiased", alone)


TABLES: dict[str, tuple[Callable[..., Iterator[Row]], int]] = {
    "merged": (merged, 1000),
    "fresh": (partial(coverage, kind="fresh"), 200),
    "memoised": (partial(coverage, kind="memoised"), 150),
    "two stages": (partial(coverage, kind="two stages"), 150),
    "gain": (gains, 12),
    "alarms": (alarms, 1000),
    "delay": (delays, 60),
    "loloha": (loloha, 1),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--quick", action="store_true", help="a tenth of the repeats")
    options = parser.parse_args()
    for name, (study, repeats) in TABLES.items():
        if options.only in (None, name):
            start = time.process_time()
            made = []
            for one in study(max(repeats // 10, 2) if options.quick else repeats, np.random.default_rng(2026)):
                made.append(one)
                print(*(one[column] for column in COLUMNS), sep="  ", flush=True)
            print(f"{name}: {time.process_time() - start:.0f} s of processor time", file=sys.stderr)
            _replace(name, made)
    return 0


def _replace(table: str, made: list[Row]) -> None:
    """Write the rows of one table in place of those that were there."""
    kept: list[Row] = []
    if FILE.exists():
        with FILE.open(newline="") as file:
            kept = [one for one in csv.DictReader(file) if one["table"] in TABLES and one["table"] != table]
    order = list(TABLES)
    rows = sorted([*kept, *made], key=lambda one: order.index(one["table"]))
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
