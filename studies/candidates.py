"""What is found among very many candidates: `python -m studies.candidates` writes docs/results/candidates.md.

Populations are planted: `present` Zipf shares among `candidates` names, and 50 more answers that are not on the list.
Each tally is decoded by `decode`, which screens, and by the recipe of RAPPOR (`studies.lasso`), so both see the same.
"""

import csv
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.cli.progress import Reporter
from deniable.columns.encode import keys_of
from deniable.decoders import ScreenedEstimate
from deniable.lab.streams import stream_of
from deniable.matrices import StreamedDesign
from deniable.survey import Hashed
from studies.lasso import recipe

__all__ = ["CELLS", "METHODS", "Cell", "Row", "measure", "read"]

RESULTS = Path(__file__).parents[1] / "docs" / "results"
METHODS = ("screening", "lasso")
Floats = npt.NDArray[np.float64]

_UNLISTED = 50


@dataclass(frozen=True)
class Cell:
    """One survey and population; `repeats` tallies of it, each with other hash functions and other names present."""

    mechanism: str  # O-RR with 256 cohorts of 64 cells, O-RAPPOR with 128 of 128 bits and two hashes
    candidates: int
    present: int
    exponent: float
    unlisted: float
    epsilon: float
    n: int
    repeats: int

    def survey(self, repeat: int) -> dn.Survey:
        seed = stream_of(0, "hash functions", self, repeat).bytes(16)
        if self.mechanism == "O-RR":
            return dn.orr(epsilon=self.epsilon, cells=64, cohorts=256, seed=seed)
        return dn.orappor(epsilon=self.epsilon, cells=128, cohorts=128, hashes=2, seed=seed)


def _cells() -> tuple[Cell, ...]:
    found = []
    for unlisted in (0.0, 0.1):
        for epsilon in (1.0, 2.0, 4.0):
            for n in (10**6, 10**8):
                found.append(Cell("O-RR", 10**5, 300, 1.0, unlisted, epsilon, n, 3))
    found += [Cell("O-RAPPOR", 10**5, 300, 1.0, unlisted, 4.0, 10**7, 2) for unlisted in (0.0, 0.1)]
    found += [Cell("O-RR", 10**5, 1000, 1.5, 0.1, epsilon, 10**7, 2) for epsilon in (1.0, 4.0)]
    found += [Cell("O-RR", 10**6, 1000, 1.0, 0.0, 4.0, n, 1) for n in (10**6, 10**8)]
    found += [Cell("O-RR", 10**6, 100, 1.0, 0.1, 2.0, n, 3) for n in (10**6, 10**8)]
    return tuple(found)


CELLS = _cells()


@dataclass(frozen=True)
class Row:
    """What a method found in a cell: totals over its repeats, and means a tally."""

    cell: Cell
    method: str
    found: int
    false: int  # of the found: those whose share is zero
    covered: int  # of the found: those whose 95 % interval holds the share
    missed: int  # present, not found
    below: int  # of the missed: those whose upper limit holds the share (the recipe has none)
    l1: float  # sum over all candidates of |estimate - share|, a tally
    seconds: float  # of processor time, a tally

    @property
    def recall(self) -> float:
        return (self.found - self.false) / (self.found - self.false + self.missed)


def measure(cell: Cell) -> list[Row]:
    """Both methods on the same tallies."""
    sums = {method: np.zeros(7) for method in METHODS}
    names = [f"https://site-{i}.example/" for i in range(cell.candidates)]
    for repeat in range(cell.repeats):
        rng = stream_of(0, "candidates", cell, repeat)
        survey, places = cell.survey(repeat), rng.choice(cell.candidates, cell.present, replace=False)
        truth = np.zeros(cell.candidates)
        truth[places] = (1 - cell.unlisted) * dn.lab.zipf(cell.present, cell.exponent)
        shares = np.concatenate([truth[places], cell.unlisted * dn.lab.zipf(_UNLISTED, 1.0)])
        answered = [names[i] for i in places] + [f"unlisted {i}" for i in range(_UNLISTED)]
        tally = dn.simulate(survey, shares / shares.sum(), cell.n, rng, symbols=answered)
        sums["screening"] += _screened(tally, names, truth)
        sums["lasso"] += _lasso(tally, names, truth)
    rows = []
    for method, (found, false, covered, missed, below, l1, seconds) in sums.items():
        counts = (int(found), int(false), int(covered), int(missed), int(below))
        rows.append(Row(cell, method, *counts, float(l1) / cell.repeats, float(seconds) / cell.repeats))
    return rows


def _screened(tally: dn.Tally, names: list[str], truth: Floats) -> Floats:
    began = time.process_time()
    estimate = dn.decode(tally, candidates=names)
    spent = time.process_time() - began
    assert isinstance(estimate, ScreenedEstimate)
    low, high = estimate.intervals().T
    return _sums(estimate.kept, estimate.probabilities, low, high, truth, spent)


def _lasso(tally: dn.Tally, names: list[str], truth: Floats) -> Floats:
    began = time.process_time()
    encoding = tally.survey.encoding
    assert isinstance(encoding, Hashed)
    found = recipe(tally, StreamedDesign(encoding, keys_of(tally.survey, names)))
    values, low, high = (np.zeros(len(names)) for _ in range(3))
    values[found.places] = found.values
    low[found.places], high[found.places] = found.values - found.reach, found.values + found.reach
    return _sums(found.places, values, low, high, truth, time.process_time() - began)


def _sums(
    found: npt.NDArray[np.intp], values: Floats, low: Floats, high: Floats, truth: Floats, spent: float
) -> Floats:
    missed = np.setdiff1d(np.flatnonzero(truth), found)
    inside = (low <= truth) & (truth <= high)
    false = (truth[found] == 0).sum()
    loss = np.abs(values - truth).sum()
    return np.array([len(found), false, inside[found].sum(), len(missed), inside[missed].sum(), loss, spent])


_SETTING = ("mechanism", "candidates", "present", "exponent", "unlisted", "epsilon", "n", "repeats")
_COUNTS = ("found", "false", "covered", "missed", "below")


def read(path: Path) -> list[Row]:
    """The rows of a table that a run wrote."""
    with path.open(newline="") as file:
        return [_row(line) for line in csv.DictReader(file)]


def _row(line: dict[str, str]) -> Row:
    exponent, unlisted, epsilon, l1, seconds = (
        float(line[name]) for name in ("exponent", "unlisted", "epsilon", "l1", "seconds")
    )
    candidates, present, n, repeats = (int(line[name]) for name in ("candidates", "present", "n", "repeats"))
    found, false, covered, missed, below = (int(line[name]) for name in _COUNTS)
    cell = Cell(line["mechanism"], candidates, present, exponent, unlisted, epsilon, n, repeats)
    return Row(cell, line["method"], found, false, covered, missed, below, l1, seconds)


def _write(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_SETTING, "method", *_COUNTS, "l1", "seconds"])
        for row in rows:
            setting = [getattr(row.cell, name) for name in _SETTING]
            counts = [getattr(row, name) for name in _COUNTS]
            writer.writerow([*setting, row.method, *counts, f"{row.l1:.5f}", f"{row.seconds:.2f}"])


def main() -> None:
    from studies.candidates_page import write_page

    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    rows = []
    with Reporter("candidates") as report:
        for cell in report.each(CELLS):
            rows += measure(cell)
            _write(RESULTS / "candidates.csv", rows)
    write_page(RESULTS)


if __name__ == "__main__":
    main()
