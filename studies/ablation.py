"""What each safeguard of the default decoder is worth: `python -m studies.ablation` writes docs/results/ablation.md.

Each field of `decoders.settings.Settings` that guards against a prior that is wrong is switched off, one at a time, on
the cells of `studies.decoders` and 100 fresh ones. All variants decode the same tallies, so differences are paired.
A safeguard stays if it is worth 1 % of the mean loss, or 3 % of the loss in the cell where it matters most, or if the
promise needs it: never more than 3 % above the better of projection and weighted least squares with projection.
"""

import csv
import math
import os
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.cli.progress import Reporter
from deniable.decoders import Decoder, EmpiricalBayes, WeightedLeastSquares
from deniable.decoders.settings import Settings
from deniable.lab.streams import stream_of
from studies.decoders import (
    COHORTS,
    EVEN,
    NOISE,
    POPULATIONS,
    RESULTS,
    SMOOTH,
    SPARSE,
    SWEEP,
    Cell,
    decoded,
    noise,
    population,
    smooth,
    sweep,
)

__all__ = ["TABLES", "VARIANTS", "Outcome", "measure", "page", "read", "summary"]


def _crowded(count: int = 60) -> tuple[Cell, ...]:
    """Few symbols over few cohorts, with half to two and a half unknowns an equation: beliefs decide most there."""
    rng = stream_of(0, "few symbols, crowded")
    names = list(POPULATIONS | SPARSE | SMOOTH)
    found = []
    for place in range(count):
        symbols, epsilon = (
            int(rng.choice([5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 63])),
            float(rng.choice([0.5, 1, 2, 3, 4])),
        )
        cells = max(2, round(math.exp(epsilon) + 1))
        cohorts = max(1, math.ceil(symbols / (cells - 1) / float(rng.choice([0.55, 0.8, 1.0, 1.5, 2.5]))))
        mechanism, name = COHORTS[place % len(COHORTS)], names[int(rng.integers(len(names)))]
        found.append(
            Cell(mechanism, name, symbols, epsilon, int(10 ** rng.choice([3, 4, 5, 6, 7])), cells, cohorts, 24)
        )
    return tuple(found)


TABLES = {
    "sweep": SWEEP,
    "noise": NOISE,
    "smooth": EVEN,
    "crowded": _crowded(),
    "fresh": (*sweep(60, seed=1), *noise(20, seed=1), *smooth(20, seed=1)),
}
DEFAULT = "default"
VARIANTS = {
    DEFAULT: Settings(),
    "two to four symbols learn, too": Settings(max_projected_symbols=1),
    "no guard": Settings(min_evidence_ratio=2.0),
    "small promises taken at their word": Settings(min_saving=0.0),
    "the same over crowded cohorts": Settings(max_doubted_symbols=0),
    "crowded cohorts are like any other": Settings(crowded_from=math.inf),
    "no test for equal shares": Settings(uniform_margin=-math.inf),
    "full steps": Settings(belief_step=1.0),
    "one round": Settings(single_round_below=1.0),
    "six rounds where equations are short": Settings(underdetermined_rounds=6),
    "weights of the first round": Settings(weight_rounds=1),
    "cells of block designs not weighed": Settings(most_weighed_symbols=0),
}
_PLAIN: dict[str, Decoder | None] = {"projection": None, "weighted": WeightedLeastSquares()}
_TOLERANCE, _SURE = 0.03, 3.0  # of the promise: relative, and in standard errors


@dataclass(frozen=True)
class Outcome:
    """The l1 losses of one cell, a list for each decoder, and the seconds of processor time they took."""

    table: str
    cell: Cell
    losses: dict[str, list[float]]
    seconds: dict[str, float]

    def above(self, name: str, other: str) -> float:
        """By how much of its loss one decoder is surely above another."""
        mine, theirs = np.array(self.losses[name]), np.array(self.losses[other])
        more = mine - theirs
        error = float(more.std(ddof=1)) / math.sqrt(len(more))
        floor = 0.02 * float(np.mean(self.losses["projection"]))  # where an answer is exact nothing is relative to it
        return (float(more.mean()) - _SURE * error) / max(float(theirs.mean()), floor)

    def above_plain(self, name: str) -> float:
        return self.above(name, min(_PLAIN, key=lambda plain: float(np.mean(self.losses[plain]))))

    def relative(self, name: str) -> float:
        """The loss relative to projection's; what is nearly zero counts as a hundredth."""
        return max(float(np.mean(self.losses[name]) / np.mean(self.losses["projection"])), 0.01)


def measure(job: tuple[str, Cell]) -> Outcome:
    """Every variant, on the same tallies of one cell."""
    table, cell = job
    decoders = _PLAIN | {name: EmpiricalBayes(settings=settings) for name, settings in VARIANTS.items()}
    losses: dict[str, list[float]] = {name: [] for name in decoders}
    seconds = dict.fromkeys(decoders, 0.0)
    symbols = range(cell.symbols) if cell.open else None
    for repeat in range(cell.repeats):
        rng = stream_of(0, f"ablation, {table}", cell, repeat)
        p = population(cell, rng)
        tally = dn.simulate(cell.survey(repeat), p, cell.n, rng, symbols=symbols)
        for name, decoder in decoders.items():
            began = time.process_time()
            found = decoded(tally, symbols, decoder)
            seconds[name] += time.process_time() - began
            losses[name].append(float(np.abs(found - p).sum()))
    return Outcome(table, cell, losses, seconds)


def summary(outcomes: list[Outcome]) -> list[dict[str, object]]:
    """A row for each variant: means by table, what it costs where it matters most, and whether the promise holds."""
    rows: list[dict[str, object]] = []
    tables = list(dict.fromkeys(one.table for one in outcomes))
    base = math.log(_mean(one.relative(DEFAULT) for one in outcomes))
    for name in VARIANTS:
        mean = _mean(one.relative(name) for one in outcomes)
        worst = max(outcomes, key=lambda one: one.above(name, DEFAULT))
        plain = [one.above_plain(name) for one in outcomes]
        rows.append(
            {"variant": name, "mean": mean, "against_default": math.exp(math.log(mean) - base) - 1}
            | {table: _mean(one.relative(name) for one in outcomes if one.table == table) for table in tables}
            | {"worst": max(worst.above(name, DEFAULT), 0.0), "cell": _named(worst.cell)}
            | {"broken": sum(more > _TOLERANCE for more in plain), "highest": max(plain)}
            | {"seconds": sum(one.seconds[name] for one in outcomes)}
        )
    return rows


def _mean(values: Iterable[float]) -> float:
    return math.exp(float(np.mean([math.log(value) for value in values])))


def _named(cell: Cell) -> str:
    size = f", {cell.cells} x {cell.cohorts}" if cell.mechanism.startswith("O-") else ""
    return f"{cell.mechanism}{size}, {cell.population}, {cell.symbols} symbols, eps {cell.epsilon:g}, n {cell.n}"


def page(rows: list[dict[str, object]]) -> str:
    """The page, from the rows of `ablation.csv`."""
    first = rows[0]
    tables = [key for key in first if key in TABLES]
    head = ["switched off", "mean", *tables, "mean, change", "worst cell", "where", "promise broken", "CPU, s"]
    lines = [
        "# What each safeguard of the default decoder is worth",
        "",
        "Written by `python -m studies.ablation` from `ablation.csv`; the study's docstring says what is compared.",
        "Losses are geometric means over cells, relative to the projected estimate. *Worst cell* is by how much a",
        "variant is surely (three standard errors) above the default where it is most so. *Promise broken* counts the",
        "cells in which a variant is surely more than 3 % above the better of projection and weighted least squares.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
    ]
    for row in rows:
        numbers = [f"{float(str(row[key])):.3f}" for key in ("mean", *tables)]
        change, worst = (f"{100 * float(str(row[key])):+.1f} %" for key in ("against_default", "worst"))
        where = row["cell"] if float(str(row["worst"])) > 0.005 else ""
        last = [change, worst, where, row["broken"], f"{float(str(row['seconds'])):.0f}"]
        lines.append("| " + " | ".join(map(str, [row["variant"], *numbers, *last])) + " |")
    lines += [
        "",
        f"The default: {float(str(first['mean'])):.2f} of the paper's loss in the mean over all cells, "
        f"{float(str(first['sweep'])):.2f} over the sweep. It is surely above the better plain decoder by "
        f"{100 * max(float(str(first['highest'])), 0):.1f} % at most.",
        "",
    ]
    return "\n".join(lines)


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: f"{v:.5f}" if isinstance(v, float) else v for key, v in row.items()})


def read() -> list[dict[str, object]]:
    """The rows that a run wrote."""
    with (RESULTS / "ablation.csv").open(newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def main() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    jobs = [(table, cell) for table, cells in TABLES.items() for cell in cells]
    jobs.sort(key=lambda job: -job[1].symbols * job[1].cohorts * job[1].repeats)
    outcomes = []
    with Reporter() as report, ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for done, outcome in enumerate(pool.map(measure, jobs), 1):
            outcomes.append(outcome)
            report(f"{done} of {len(jobs)} cells", done, len(jobs))
    order = {job: place for place, job in enumerate((table, cell) for table in TABLES for cell in TABLES[table])}
    rows = summary(sorted(outcomes, key=lambda one: order[one.table, one.cell]))
    _write(RESULTS / "ablation.csv", rows)
    (RESULTS / "ablation.md").write_text(page(read()))


if __name__ == "__main__":
    main()
