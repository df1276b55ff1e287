"""LOLOHA's published set-up, at equal epsilons: its own estimator against O-RR that is memoised by cell.

10,000 people answer in 120 windows; there are 360 answers, uniform at first, and before each window a quarter of the
people draw theirs anew. Lifetime epsilon of an answer .5 to 5; the first report spends .4, .5 or .6 of it (Arcolezi,
Pinzon, Palamidessi and Gambs, EDBT 2023). Errors are against the answers that were given in each window.

LOLOHA is written here from its description: a hash function for every person into g cells, permanent k-RR of a cell,
and k-RR again for every report, with their g and their epsilon of the second stage. Counts of support are drawn from
their exact law in each window, which is what its mean squared error depends on. Ours has the same g, so that all three
epsilons are equal (an answer, the first report, and g times epsilon in all), and devices that are simulated one by
one: cohorts, permanent responses a cell, second stages.

`python -m studies.loloha` writes docs/results/loloha.csv, `python -m studies.loloha_page` makes the page of it.
"""

import csv
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import exp, log, sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.columns import cell_table, keys_of
from deniable.decoders import DEFAULT, LeastSquares, Unconstrained

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Answers = npt.NDArray[np.int32]

FILE = Path(__file__).parents[1] / "docs" / "results" / "loloha.csv"
PEOPLE, WINDOWS, SYMBOLS, CHANGE, REPEATS = 10_000, 120, 360, 0.25, 20  # the published set-up; ours has 20 repeats
TRACKED = 4  # repeats of `track`
JOBS = int(os.environ.get("JOBS", "2"))  # processes
EPSILONS = tuple(0.5 * step for step in range(1, 11))  # nats, of all reports of an answer
FIRST = (0.4, 0.5, 0.6)  # of it, spent by the first report
COHORTS_TIMES_CELLS = 1000  # C (g - 1) at least: least squares needs several times the 360 answers
POPULATIONS = ("uniform", "zipf")  # as published, and shares of 1 / rank
COLUMNS = ("population", "epsilon", "first", "cells", "cohorts", "measure", "value", "error")


@dataclass(frozen=True)
class Loloha:
    """Their parameters: hit and miss of the two stages, and the number of cells, as published."""

    permanent: float
    first: float
    cells: int

    @classmethod
    def of(cls, permanent: float, first: float) -> "Loloha":
        a, b = exp(permanent), exp(first)
        root = sqrt(a**4 - 14 * a**2 + 12 * a * b * (1 - a * b) + 12 * a**3 * b + 1)
        return cls(permanent, first, 1 + max(1, round((1 - a**2 + root) / (6 * (a - b)))))

    @property
    def stages(self) -> tuple[float, float, float, float]:
        """p1, q1, p2, q2: k-RR at epsilon, and at the epsilon that they give the second stage."""
        g, a, b = self.cells, exp(self.permanent), exp(self.first)
        again = (a * b - 1) / (a - b)
        return a / (a + g - 1), 1 / (a + g - 1), again / (again + g - 1), 1 / (again + g - 1)

    @property
    def spends(self) -> float:
        """The epsilon that its first report really spends: with more than two cells less than was asked for."""
        p1, q1, p2, q2 = self.stages
        g = self.cells
        return log((p1 * p2 + (g - 1) * q1 * q2) / (p1 * q2 + q1 * p2 + (g - 2) * q1 * q2))

    def estimates(self, counts: Ints, rng: np.random.Generator) -> Floats:
        """Their estimates in every window, from counts of true answers: support is hit with p, and else with 1 / g."""
        p1, _, p2, q2 = self.stages
        n = counts.sum(axis=1, keepdims=True)
        hit = p1 * (p2 - q2) + q2
        support = rng.binomial(counts, hit) + rng.binomial(n - counts, 1 / self.cells)
        return np.asarray((support / n - (p2 - q2) / self.cells - q2) / ((p1 - 1 / self.cells) * (p2 - q2)))


def survey_of(their: Loloha) -> dn.Survey:
    """O-RR with the same epsilons and cells."""
    cohorts = 1 << int(np.ceil(np.log2(COHORTS_TIMES_CELLS / (their.cells - 1))))
    return dn.orr(
        symbols=SYMBOLS, epsilon=f"{their.permanent:.6f}", epsilon_report=f"{their.first:.6f}", cells=their.cells,
        cohorts=cohorts, seed=bytes(16), participation="window",
    )  # fmt: skip


def answers_of(population: str, rng: np.random.Generator) -> Answers:
    """What everybody answers in every window, (windows, people)."""
    if population == "uniform":
        found = rng.integers(0, SYMBOLS, (WINDOWS, PEOPLE), dtype=np.int32)
    else:
        found = rng.choice(SYMBOLS, (WINDOWS, PEOPLE), p=dn.lab.zipf(SYMBOLS, 1)).astype(np.int32)
    for window in range(1, WINDOWS):
        found[window] = np.where(rng.random(PEOPLE) < CHANGE, found[window], found[window - 1])
    return found


@cache
def _table(survey: dn.Survey) -> npt.NDArray[np.int8]:
    """The cell of every answer in every cohort."""
    assert survey.symbols is not None
    return cell_table(survey.encoding, keys_of(survey, survey.symbols))[:, 0].astype(np.int8)


def tallies_of(survey: dn.Survey, answers: Answers, rng: np.random.Generator) -> list[dn.Tally]:
    """What devices that memoise by cell send: one permanent response a cell, and each report randomised again."""
    k, people = survey.cells, np.arange(PEOPLE, dtype=np.int32)
    cohorts = rng.integers(0, survey.cohorts, PEOPLE, dtype=np.int32)
    table = _table(survey)
    first, both = survey.mechanism.permanent, survey.mechanism
    slope = float((both.hit - both.miss) / (first.hit - first.miss))
    kept = rng.random((PEOPLE, k), dtype=np.float32) < float(first.hit - first.miss)
    permanent = np.where(kept, np.arange(k, dtype=np.int8), rng.integers(0, k, (PEOPLE, k), dtype=np.int8))
    cells = table.ravel()[cohorts * SYMBOLS + answers]
    sent = permanent.ravel()[people * k + cells]
    # The second stage: with chance 1 - slope any cell. Only those reports are drawn anew.
    anew = np.flatnonzero(rng.random(sent.size, dtype=np.float32) >= slope)
    sent.ravel()[anew] = rng.integers(0, k, anew.size, dtype=np.int8)
    place = (np.arange(WINDOWS, dtype=np.int32)[:, None] * survey.cohorts + cohorts) * k + sent
    size = WINDOWS * survey.cohorts * k
    counts = np.bincount(place.ravel(), minlength=size).reshape(WINDOWS, survey.cohorts, k)
    return [dn.Tally(survey, window) for window in counts]


def decoded(raw: Floats) -> Floats:
    """The default decoder's rule for all windows at once, with the prior that the first of them teaches."""
    noise = float(((raw - raw.mean(axis=1, keepdims=True)) ** 2).mean())
    return DEFAULT.surrogate(raw, noise, 0.0)


def errors_of(their: Loloha, survey: dn.Survey, answers: Answers, rng: np.random.Generator) -> dict[str, float]:
    """Mean squared errors of one history, over windows and answers."""
    counts = np.stack([np.bincount(window, minlength=SYMBOLS) for window in answers])
    truth = counts / PEOPLE
    tallies = tallies_of(survey, answers, rng)
    plain = dn.decode_all(tallies, decoder=LeastSquares(), constraint=Unconstrained())
    raw = np.stack([estimate.probabilities for estimate in plain])
    theirs = their.estimates(counts, rng)
    found = {"LOLOHA": theirs, "LOLOHA, decoded": decoded(theirs), "unbiased": raw, "decoded": decoded(raw)}
    return {name: float(((values - truth) ** 2).mean()) for name, values in found.items()}


def tracked_error(survey: dn.Survey, answers: Answers, rng: np.random.Generator) -> tuple[float, float]:
    """The same of `dn.track`, and what its 95 % bands cover."""
    truth = np.stack([np.bincount(window, minlength=SYMBOLS) for window in answers]) / PEOPLE
    found = dn.track(tallies_of(survey, answers, rng), participation="window", turnover=0.0)
    error = float(((np.stack([window.probabilities for window in found]) - truth) ** 2).mean())
    reach = 1.959964 * np.sqrt(found.moving.smoothed_variance)
    return error, float((np.abs(found.moving.smoothed - truth.T) <= reach).mean())


SETTINGS = [Loloha.of(epsilon, share * epsilon) for epsilon in EPSILONS for share in FIRST]


def shape_of(population: str, their: Loloha, survey: dn.Survey) -> dict[str, object]:
    named = {"population": population, "epsilon": their.permanent, "first": f"{their.first:g}"}
    return {**named, "cells": survey.cells, "cohorts": survey.cohorts}


def measured(population: str, repeats: int) -> list[dict[str, object]]:
    """All rows of a population but those of `track`, and the CPU time of them."""
    surveys = [survey_of(their) for their in SETTINGS]
    start, errors = time.process_time(), [dict[str, list[float]]() for _ in SETTINGS]
    histories = [answers_of(population, np.random.default_rng([19, repeat])) for repeat in range(repeats)]
    for place, (their, survey) in enumerate(zip(SETTINGS, surveys, strict=True)):
        for repeat, answers in enumerate(histories):
            rng = np.random.default_rng([20, place, repeat])
            for name, value in errors_of(their, survey, answers, rng).items():
                errors[place].setdefault(name, []).append(value)
    spent = time.process_time() - start
    rows: list[dict[str, object]] = [{"population": population, "measure": "CPU seconds", "value": f"{spent:.3g}"}]
    for place, (their, survey) in enumerate(zip(SETTINGS, surveys, strict=True)):
        shape = shape_of(population, their, survey)
        for name, values in errors[place].items():
            error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
            rows.append(shape | {"measure": name, "value": f"{np.mean(values):.4g}", "error": f"{error:.2g}"})
        rows.append(shape | {"measure": "LOLOHA's first report", "value": f"{their.spends:.4g}"})
    return rows


def tracked(population: str, place: int) -> list[dict[str, object]]:
    """The rows of `track` of one setting."""
    survey, found = survey_of(SETTINGS[place]), []
    for repeat in range(TRACKED):
        rng = np.random.default_rng([21, place, repeat])
        found.append(tracked_error(survey, answers_of(population, rng), rng))
    rows, shape = [], shape_of(population, SETTINGS[place], survey)
    for name, values in zip(("tracked", "bands cover"), np.array(found).T, strict=True):
        error = float(np.std(values, ddof=1) / np.sqrt(TRACKED))
        rows.append(shape | {"measure": name, "value": f"{values.mean():.4g}", "error": f"{error:.2g}"})
    return rows


def main(arguments: list[str]) -> None:
    """All rows, or with --tracked those of `track` in place of the ones that are there; --quick shows two repeats."""
    repeats = 2 if "--quick" in arguments else REPEATS
    kept: list[dict[str, object]] = []
    with ProcessPoolExecutor(JOBS) as pool:
        tasks = [(population, place) for population in POPULATIONS for place in range(len(SETTINGS))]
        rows = [row for some in pool.map(tracked, *zip(*tasks, strict=True)) for row in some]
        if "--tracked" in arguments:
            with FILE.open(newline="") as file:
                kept = [dict(row) for row in csv.DictReader(file) if row["measure"] not in ("tracked", "bands cover")]
        else:
            rows += [row for some in pool.map(measured, POPULATIONS, [repeats] * 2) for row in some]
    if "--quick" in arguments:
        print(*rows, sep="\n")
        return
    with FILE.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n", restval="")
        table.writeheader()
        table.writerows([*kept, *rows])


if __name__ == "__main__":
    main(sys.argv[1:])
