"""What the intervals of cross-tables cover, and how often the test of independence rejects what is independent.

    python -m studies.crosstabs            # writes docs/results/crosstabs.csv: ten minutes of processor time
    python -m studies.crosstabs --repeats 200
    python -m studies.crosstabs --summary  # the table of docs/results/relations.md, from the file

Each row of the table is one setting: a mechanism, a population, a number of people. A coverage of 95 % in 1,000 tables
has a standard error of .7 percentage points.
"""

import argparse
import csv
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.relations import Crosstab

PAGE = Path(__file__).parent.parent / "docs" / "results" / "crosstabs.csv"
LEVEL = 0.95  # of the intervals
SIZE = 0.05  # of the test
HASHES = bytes(range(16))  # the seed of hash functions
BOUNDS = (0.94, 0.965)  # in which coverage should be
PEOPLE = (500, 5_000, 100_000)
NAMES = "what", "mechanism", "table", "people", "truth"  # columns that name a row

Floats = npt.NDArray[np.float64]

# Populations, one row a group or an answer to the first question; shares of all people.
RELATED = {
    "2 x 2": np.array([[0.5, 0.1], [0.2, 0.2]]),
    "2 x 2, rare": np.array([[0.594, 0.006], [0.396, 0.004]]),
    "3 x 4": np.array([[0.2, 0.1, 0.05, 0.02], [0.1, 0.1, 0.1, 0.03], [0.05, 0.05, 0.1, 0.1]]),
}


def independent(table: Floats) -> Floats:
    """The table with the same rows and columns in which they have nothing to do with each other."""
    return np.outer(table.sum(axis=1), table.sum(axis=0))


def surveys(size: int) -> Iterator[tuple[str, dn.Survey, Any]]:
    """Eight mechanisms for `size` answers, each with its quickest decoder.

    Intervals belong to the unbiased estimate, which is the same for all decoders.
    """
    yield "k-RR, epsilon 1", dn.krr(size, epsilon=1), dn.Inversion()
    yield "k-RR, epsilon 4", dn.krr(size, epsilon=4), dn.Inversion()
    yield "k-RR, epsilon 8", dn.krr(size, epsilon=8), dn.Inversion()
    yield "k-RAPPOR, epsilon 2", dn.krappor(size, epsilon=2), dn.Inversion()
    yield "OUE, epsilon 2", dn.oue(size, epsilon=2), dn.Inversion()
    yield "Hadamard, epsilon 2", dn.hadamard(size, epsilon=2), dn.Inversion()
    yield "O-RR, epsilon 2", dn.orr(symbols=size, epsilon=2, cells=2, cohorts=32, seed=HASHES), dn.LeastSquares()
    yield "ordered, epsilon 2", dn.ordered(size, epsilon=2), dn.LeastSquares()


def form_of(table: Floats, epsilon: float) -> dn.Form:
    """A form whose two questions are related."""
    first, second = (dn.krr(size, epsilon=1) for size in table.shape)
    return dn.form(a=first, b=second, epsilon=epsilon, relate=[("a", "b")])


def group_tables(
    survey: dn.Survey, decoder: Any, table: Floats, n: int, repeats: int, rng: np.random.Generator
) -> Iterator[Crosstab]:
    """Cross-tables of groups; how large the groups are is chance, too."""
    inner = table / table.sum(axis=1, keepdims=True)
    for _ in range(repeats):
        sizes = rng.multinomial(n, table.sum(axis=1))
        found = {
            g: dn.simulate(survey, p, n=int(m), rng=rng) for g, (p, m) in enumerate(zip(inner, sizes, strict=True))
        }
        yield dn.crosstab(found, decoder=decoder)


def pair_tables(form: dn.Form, table: Floats, n: int, repeats: int, rng: np.random.Generator) -> Iterator[Crosstab]:
    """Cross-tables of a related pair."""
    for _ in range(repeats):
        yield dn.crosstab(dn.simulate(form, {("a", "b"): table}, n=n, rng=rng), "a", "b", decoder=dn.Inversion())


def measured(tables: Iterator[Crosstab], truth: Floats) -> dict[str, float]:
    """Shares of tables whose intervals cover, in the mean over cells, and that the test rejects."""
    inner = truth / truth.sum(axis=1, keepdims=True)
    apart, times = inner[0, -1] - inner[1, -1], inner[0, -1] / inner[1, -1]
    cells, shares, differences, ratios, rejected, tested = [], [], [], [], [], []
    for found in tables:
        cells.append(_inside(found.intervals(LEVEL), truth).mean())
        shares.append(_inside(found.conditional_intervals(LEVEL), inner).mean())
        first, second, last = found.rows.symbols[0], found.rows.symbols[1], found.columns.symbols[-1]
        differences.append(_inside(found.difference(first, second, last)[1:], apart))
        ratios.append(_inside(found.ratio(first, second, last)[1:], times))
        tested.append(not found.independence.why_not)
        if tested[-1]:
            rejected.append(found.independence.pvalue < SIZE)
    return {
        "cells": float(np.mean(cells)),
        "conditionals": float(np.mean(shares)),
        "difference": float(np.mean(differences)),
        "ratio": float(np.mean(ratios)),
        "tested": float(np.mean(tested)),
        "rejected": float(np.mean(rejected)) if rejected else float("nan"),
    }


def _inside(limits: Floats, value: Floats | float) -> npt.NDArray[np.bool_]:
    return np.asarray((limits[..., 0] - 1e-12 <= value) & (value <= limits[..., 1] + 1e-12))


def _generator(seed: int, *named: object) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(repr(named).encode())])


def settings() -> Iterator[tuple[dict[str, object], Callable[[int, np.random.Generator], Iterator[Crosstab]], Floats]]:
    """What names a row of the file, how to draw its tables, and the truth."""
    for name, related in RELATED.items():
        for kind, table in (("related", related), ("independent", independent(related))):
            for n in PEOPLE:
                own = {"table": name, "people": n, "truth": kind}
                for label, survey, decoder in surveys(table.shape[1]):
                    yield (
                        {"what": "groups", "mechanism": label, **own},
                        partial(group_tables, survey, decoder, table, n),
                        table,
                    )
                for epsilon in (2, 5):
                    row = {"what": "pair", "mechanism": f"pair, epsilon {epsilon}", **own}
                    yield row, partial(pair_tables, form_of(table, epsilon), table, n), table


def summary(rows: list[dict[str, str]]) -> Iterator[str]:
    """Rows of the page's table: how many settings are outside the bounds, and by more than chance gives."""
    repeats = np.array([int(row["repeats"]) for row in rows])
    for name in ("cells", "conditionals", "difference", "ratio"):
        found = np.array([float(row[name]) for row in rows])
        below, above = (3 * np.sqrt(bound * (1 - bound) / repeats) for bound in BOUNDS)
        values = [f"{100 * value:.1f} %" for value in (found.mean(), found.min(), found.max())]
        counts = [
            (found < BOUNDS[0]).sum(),
            (found < BOUNDS[0] - below).sum(),
            (found > BOUNDS[1]).sum(),
            (found > BOUNDS[1] + above).sum(),
        ]
        yield "| " + " | ".join([name, *values, *map(str, counts)]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=23)
    parser.add_argument("--output", type=Path, default=PAGE)
    parser.add_argument("--missing", action="store_true", help="only rows that the file has with fewer repeats, or not")
    parser.add_argument("--summary", action="store_true", help="only print the table of the page")
    given = parser.parse_args()
    if given.summary:
        with given.output.open(newline="") as file:
            print(*summary(list(csv.DictReader(file))), sep="\n")
        return
    rows: dict[tuple[str, ...], dict[str, object]] = {}
    if given.missing and given.output.exists():
        with given.output.open(newline="") as file:
            rows = {tuple(row[name] for name in NAMES): dict(row) for row in csv.DictReader(file)}
    every = list(settings())
    for named, draw, truth in every:
        key = tuple(str(named[name]) for name in NAMES)
        if key in rows and int(str(rows[key]["repeats"])) >= given.repeats:
            continue
        rng = _generator(given.seed, *(named[name] for name in ("mechanism", "people", "table", "truth")))
        found = {name: round(value, 4) for name, value in measured(draw(given.repeats, rng), truth).items()}
        rows[key] = {**named, **found, "repeats": given.repeats}
        print(*rows[key].values(), flush=True)
        order = [tuple(str(other[name]) for name in NAMES) for other, _, _ in every]
        with given.output.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[key]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[place] for place in order if place in rows)


if __name__ == "__main__":
    main()
