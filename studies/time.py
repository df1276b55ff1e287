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

from studies.time_alarms import alarms, delays, rates
from studies.time_cost import costs
from studies.time_coverage import coverage, merged
from studies.time_gain import gains, weeks
from studies.time_limits import limits
from studies.time_many import many
from studies.time_rows import COLUMNS, FILE, Row

TABLES: dict[str, tuple[Callable[..., Iterator[Row]], int]] = {
    "merged": (merged, 1000),
    "fresh": (partial(coverage, kind="fresh"), 400),
    "memoised": (partial(coverage, kind="memoised"), 400),
    "two stages": (partial(coverage, kind="two stages"), 400),
    "memoised, told": (partial(coverage, kind="memoised", told=True), 400),
    "two stages, told": (partial(coverage, kind="two stages", told=True), 400),
    "limits": (limits, 500),
    "gain": (gains, 24),
    "week": (weeks, 200),
    "many": (many, 24),
    "cost": (costs, 1),
    "alarms": (alarms, 1000),
    "rates": (rates, 1000),
    "delay": (delays, 200),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TABLES, nargs="+")
    parser.add_argument("--quick", action="store_true", help="a tenth of the repeats")
    options = parser.parse_args()
    for name, (study, repeats) in TABLES.items():
        if options.only is None or name in options.only:
            start = time.process_time()
            made = []
            for one in study(max(repeats // 10, 1) if options.quick else repeats, np.random.default_rng(2026)):
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
