"""Which decoder is best, and by how much: `python -m studies.decoders` writes docs/results/decoders.md.

Four parts. The reference table: closed O-RR with 256 symbols, 1024 cohorts and a million reports, five populations,
five epsilons. The sweep: every mechanism, populations, numbers of symbols and reports and epsilons over the whole
range, drawn at random by one seed. The noise: populations of few large shares with few reports, where shrinking is
most likely to do harm. The smooth: shares that are spread evenly and noise that is small, where nothing is to be
learned from the other symbols, and cohorts that share many cells. In all of them each tally is decoded by every
decoder, so differences are paired.
"""

import csv
import dataclasses
import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.cli.progress import Reporter
from deniable.decoders import Decoder, EmpiricalBayes, Projected, WeightedLeastSquares
from deniable.lab.streams import stream_of

__all__ = [
    "COHORTS",
    "DECODERS",
    "EVEN",
    "NOISE",
    "POPULATIONS",
    "REFERENCE",
    "SMOOTH",
    "SPARSE",
    "SWEEP",
    "SWEPT",
    "TABLES",
    "Cell",
    "Row",
    "again",
    "decoded",
    "measure",
    "noise",
    "population",
    "read",
    "smooth",
    "sweep",
]

RESULTS = Path(__file__).parents[1] / "docs" / "results"
Floats = npt.NDArray[np.float64]

POPULATIONS: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "geometric": lambda size, _: dn.lab.geometric(size, size / 5),
    "zipf 1": lambda size, _: dn.lab.zipf(size, 1),
    "zipf 2": lambda size, _: dn.lab.zipf(size, 2),
    "binomial .3": lambda size, _: dn.lab.binomial(size, 0.3),
    "dirichlet": lambda size, rng: dn.lab.dirichlet(size, rng),
    "uniform": lambda size, _: dn.lab.uniform(size),
    "point and tail": lambda size, _: np.append(0.5, np.full(size - 1, 0.5 / (size - 1))),
}
# A few symbols have nearly everything.
SPARSE: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "binomial .3": POPULATIONS["binomial .3"],
    "zipf 2": POPULATIONS["zipf 2"],
    "a tenth, equal": lambda size, _: _first(np.full(max(size // 10, 1), 1 / max(size // 10, 1)), size),
    "an eighth, zipf 1": lambda size, _: _first(dn.lab.zipf(max(size // 8, 2), 1), size),
}


# Hardly two shares are alike, and hardly one is zero.
SMOOTH: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "ramp": lambda size, _: _shares(np.arange(1.0, size + 1)),
    "two bumps": lambda size, _: _shares(_bump(size, 0.3, 0.1) + 0.6 * _bump(size, 0.7, 0.07) + 0.02),
    "random walk": lambda size, rng: _shares(np.exp(0.3 * rng.standard_normal(size).cumsum())),
}


def _shares(sizes: Floats) -> Floats:
    return np.asarray(sizes / sizes.sum())


def _bump(size: int, middle: float, width: float) -> Floats:
    return np.asarray(np.exp(-(((np.arange(size) / size - middle) / width) ** 2)))


def _first(shares: Floats, size: int) -> Floats:
    return np.append(shares, np.zeros(size - len(shares)))


# None is plain least squares, or inversion, and projection: the paper's decoder, to which the others are compared.
DECODERS: dict[str, Decoder] = {
    "weighted, projected": WeightedLeastSquares(),
    "likelihood": dn.Likelihood(),
    "empirical Bayes": EmpiricalBayes(),
    "empirical Bayes, l2": EmpiricalBayes("l2"),
    "empirical Bayes, ordered": EmpiricalBayes(ordered=True),
}


@dataclass(frozen=True)
class Cell:
    """One survey, population and number of reports; `repeats` tallies of it."""

    mechanism: str
    population: str
    symbols: int
    epsilon: float
    n: int
    cells: int
    cohorts: int
    repeats: int

    def survey(self, repeat: int) -> dn.Survey:
        seed = stream_of(0, "hash functions", self, repeat).bytes(16)
        symbols = None if self.open else self.symbols
        if self.mechanism.startswith("O-RR"):
            return dn.orr(symbols=symbols, epsilon=self.epsilon, cells=self.cells, cohorts=self.cohorts, seed=seed)
        if self.mechanism.startswith("O-RAPPOR"):
            hashes = 2 if self.open else 1
            return dn.orappor(
                symbols=symbols,
                epsilon=self.epsilon,
                cells=self.cells,
                cohorts=self.cohorts,
                hashes=hashes,
                seed=seed,
            )
        return dict(_DIRECT)[self.mechanism](symbols=self.symbols, epsilon=self.epsilon)

    @property
    def open(self) -> bool:
        return "open" in self.mechanism


_DIRECT = (
    ("k-RR", dn.krr),
    ("k-RAPPOR", dn.krappor),
    ("SS", dn.subset),
    ("OUE", dn.oue),
    ("HR", dn.hadamard),
    ("PGR", dn.projective),
)
COHORTS = ("O-RR", "O-RR (open)", "O-RAPPOR", "O-RAPPOR (open)")


def _reference() -> tuple[Cell, ...]:
    return tuple(
        Cell("O-RR", population, 256, epsilon, 10**6, min(round(math.exp(epsilon) + 1), 256), 1024, 20)
        for population in list(POPULATIONS)[:5]
        for epsilon in (0.5, 1, 2, 4, 6)
    )


def sweep(count: int = 210, seed: int = 0) -> tuple[Cell, ...]:
    """Cells drawn over the whole range; the sizes of O-RR and O-RAPPOR are the sensible ones, and some that are not."""
    rng = stream_of(seed, "sweep of decoders")
    mechanisms = [name for name, _ in _DIRECT] + list(COHORTS)
    found = []
    for place in range(count):
        mechanism = mechanisms[place % len(mechanisms)]
        population = list(POPULATIONS)[place // len(mechanisms) % len(POPULATIONS)]
        symbols = int(rng.choice([2, 4, 10, 16, 32, 64, 128, 256, 256, 512, 1024, 4096]))
        epsilon = float(rng.choice([0.25, 0.5, 1, 2, 3, 4, 6, 8]))
        n = int(10 ** rng.choice([3, 4, 5, 6, 7, 8]))
        cells = int(min(max(2, round(math.exp(epsilon) + 1) * rng.choice([0.5, 1, 2])), 256))
        cohorts = int(min(2 ** math.ceil(math.log2(max(2, symbols / cells * rng.choice([0.5, 1, 2, 8])))), 256))
        if mechanism in ("HR", "PGR"):
            symbols = min(symbols, 1024)
        if mechanism in COHORTS:
            symbols = min(symbols, 512)
        repeats = 12 if symbols <= 256 else 4
        found.append(Cell(mechanism, population, symbols, epsilon, n, cells, cohorts, repeats))
    return tuple(found)


def noise(count: int = 64, seed: int = 0) -> tuple[Cell, ...]:
    """Few large shares, few reports: most of what is estimated is noise."""
    rng = stream_of(seed, "noise for decoders")
    mechanisms = [name for name, _ in _DIRECT] + ["O-RR", "O-RR (open)"]
    found = []
    for place in range(count):
        mechanism = mechanisms[place % len(mechanisms)]
        population = list(SPARSE)[place // len(mechanisms) % len(SPARSE)]
        symbols = int(rng.choice([16, 32, 64, 128, 256, 512]))
        epsilon, n = float(rng.choice([0.25, 0.5, 1, 2, 3])), int(10 ** rng.choice([3, 4, 5]))
        cells = round(math.exp(epsilon) + 1)
        if mechanism in COHORTS:
            symbols = min(symbols, 256)
        found.append(Cell(mechanism, population, symbols, epsilon, n, cells, 128, 24))
    return tuple(found)


def smooth(count: int = 54, seed: int = 0) -> tuple[Cell, ...]:
    """Much is known about every symbol, and nothing of it from the others."""
    rng = stream_of(seed, "smooth populations for decoders")
    mechanisms = ["k-RR", "SS", "OUE", "HR", "O-RR", "O-RR (open)"]
    found = []
    for place in range(count):
        mechanism, population = mechanisms[place % len(mechanisms)], list(SMOOTH)[place // len(mechanisms) % 3]
        symbols, epsilon = int(rng.choice([30, 50, 100, 256])), float(rng.choice([1, 2, 3, 5]))
        n = int(10 ** rng.choice([5, 6, 7]))
        cells = max(2, round(float((math.exp(epsilon) + 1) * rng.choice([0.5, 1]))))
        cohorts = math.ceil(symbols / (cells - 1) / float(rng.choice([0.1, 0.3, 0.6])))
        found.append(Cell(mechanism, population, symbols, epsilon, n, cells, cohorts, 24))
    return tuple(found)


REFERENCE, SWEEP, NOISE, EVEN = _reference(), sweep(), noise(), smooth()
TABLES = {"reference": REFERENCE, "sweep": SWEEP, "noise": NOISE, "smooth": EVEN}
SWEPT = ("weighted, projected", "empirical Bayes")  # decoders of the other tables; all are in the reference table


@dataclass(frozen=True)
class Row:
    """The mean l1 loss of the paper's decoder in a cell, and of each other one relative to it, with its error.

    `error` is the standard error of the relative loss: of the mean of the paired differences over the paper's mean.
    """

    cell: Cell
    decoder: str
    paper: float
    relative: float
    error: float


def population(cell: Cell, rng: np.random.Generator) -> Floats:
    return (POPULATIONS | SPARSE | SMOOTH)[cell.population](cell.symbols, rng)


def measure(cell: Cell, draw: str = "decoders") -> list[Row]:
    """The decoders on the same tallies; another `draw` has other tallies."""
    symbols = range(cell.symbols) if cell.open else None
    names = DECODERS if cell in REFERENCE else SWEPT
    losses: dict[str, list[float]] = {name: [] for name in ("paper", *names)}
    for repeat in range(cell.repeats):
        rng = stream_of(0, draw, cell, repeat)
        p = population(cell, rng)
        tally = dn.simulate(cell.survey(repeat), p, cell.n, rng, symbols=symbols)
        for name in losses:
            found = decoded(tally, symbols, DECODERS.get(name))
            losses[name].append(float(np.abs(found - p).sum()))
    paper = np.array(losses.pop("paper"))
    rows = []
    for name, values in losses.items():
        more = np.array(values) - paper
        error = float(more.std(ddof=1)) / math.sqrt(len(more)) / float(paper.mean())
        rows.append(Row(cell, name, float(paper.mean()), float(np.mean(values) / paper.mean()), error))
    return rows


def decoded(tally: dn.Tally, symbols: Iterable[object] | None, decoder: Decoder | None) -> Floats:
    constraint = Projected() if decoder is None else None
    return dn.decode(
        tally, candidates=symbols, decoder=decoder, constraint=constraint, complete=symbols is not None
    ).probabilities


_FIELDS = ("mechanism", "population", "symbols", "epsilon", "n", "cells", "cohorts", "repeats")


def read(path: Path) -> list[Row]:
    """The rows of a table that a run wrote."""
    with path.open(newline="") as file:
        return [
            Row(
                Cell(
                    line["mechanism"],
                    line["population"],
                    int(line["symbols"]),
                    float(line["epsilon"]),
                    *(int(line[name]) for name in _FIELDS[4:]),
                ),
                line["decoder"],
                *(float(line[name]) for name in ("paper", "relative", "error")),
            )
            for line in csv.DictReader(file)
        ]


def _write(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_FIELDS, "decoder", "paper", "relative", "error"])
        for row in rows:
            numbers = (f"{row.paper:.6g}", f"{row.relative:.4f}", f"{row.error:.4f}")
            writer.writerow([*(getattr(row.cell, name) for name in _FIELDS), row.decoder, *numbers])


def _run(cells: tuple[Cell, ...], name: str) -> list[Row]:
    """All cells on two processes, one thread each; the largest first."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    found = {}
    order = sorted(cells, key=lambda cell: -cell.symbols * cell.cohorts * cell.repeats)
    with Reporter() as report, ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for done, (cell, rows) in enumerate(zip(order, pool.map(measure, order), strict=True), 1):
            found[cell] = rows
            report(f"{name}: {done} of {len(cells)}", done, len(cells))
    return [row for cell in cells for row in found[cell]]


def again(rows: Iterable[Row]) -> list[Row]:
    """Cells in which the default was above the others, on fresh tallies: of so many, some are so by accident."""
    from studies.decoders_page import above

    cells = [dataclasses.replace(row.cell, repeats=40) for row, _, _ in above(rows)]
    return [row for cell in cells for row in measure(cell, "again")]


def main() -> None:
    from studies.decoders_page import write_page

    for name, cells in TABLES.items():
        _write(RESULTS / f"decoders-{name}.csv", _run(cells, name))
    _write(
        RESULTS / "decoders-again.csv",
        again([row for name in TABLES for row in read(RESULTS / f"decoders-{name}.csv")]),
    )
    write_page(RESULTS)


if __name__ == "__main__":
    main()
