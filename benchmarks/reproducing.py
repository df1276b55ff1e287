"""The paper's experiments, against people who are simulated one by one."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

import deniable as dn
from benchmarks.measure import Line, timed
from deniable.columns.encode import cells_at, keys_of
from deniable.decoders import LeastSquares, Projected
from deniable.lab.regression import Cell, Point, RegressionTask, truth
from deniable.survey import Survey
from deniable.tally import Tally

CELL, EPSILON, SAMPLES = Cell("open", 256, 64, 256, 1), 2.0, 50
BATCH = 10**5


def one_by_one(survey: Survey, n: int) -> float:
    """One sample by a vectorised client: every person's symbol, cohort, hash and report is drawn, then counted."""
    p, rng = truth(CELL.symbols), np.random.default_rng(0)
    keys = keys_of(survey, range(CELL.symbols))
    counts, reports = np.zeros((CELL.C, CELL.k), np.int64), np.zeros(CELL.C, np.int64)
    for _ in range(n // BATCH):
        symbols = rng.choice(CELL.symbols, size=BATCH, p=p)
        cohorts = rng.integers(0, CELL.C, BATCH)
        true = cells_at(survey.encoding, cohorts, keys[symbols])[:, 0]
        reports += np.bincount(cohorts, minlength=CELL.C)
        counts += (_indices if survey.mechanism.one_column else _bits)(survey, cohorts, true, rng)
    tally = Tally(survey, counts, reports)
    decoder = LeastSquares(per_cohort=False)
    found = dn.decode(tally, candidates=range(CELL.symbols), decoder=decoder, constraint=Projected(), complete=True)
    return float(np.abs(found.probabilities - p).sum())


Ints = npt.NDArray[np.int64]


def _indices(survey: Survey, cohorts: Ints, true: npt.NDArray[np.int32], rng: np.random.Generator) -> Ints:
    other = rng.integers(0, CELL.k - 1, len(true))
    other += other >= true
    cells = np.where(rng.random(len(true)) < float(survey.mechanism.hit), true, other)
    return np.bincount(cohorts * CELL.k + cells, minlength=CELL.C * CELL.k).reshape(CELL.C, CELL.k)


def _bits(survey: Survey, cohorts: Ints, true: npt.NDArray[np.int32], rng: np.random.Generator) -> Ints:
    bits = rng.random((len(true), CELL.k), np.float32) < float(survey.mechanism.miss)
    people = np.arange(len(true))
    bits[people, true] = rng.random(len(true)) < float(survey.mechanism.hit)
    person, column = np.nonzero(bits)
    return np.bincount(cohorts[person] * CELL.k + column, minlength=CELL.C * CELL.k).reshape(CELL.C, CELL.k)


def lines() -> Iterator[Line]:
    surveys = (
        dn.orr(epsilon=EPSILON, cells=CELL.k, cohorts=CELL.C),
        dn.orappor(epsilon=EPSILON, cells=CELL.k, cohorts=CELL.C),
    )
    for n, target in ((10**6, 1 / 30), (10**7, 1 / 200)):
        task = RegressionTask(CELL, (Point("O-RR", n, EPSILON), Point("O-RAPPOR", n, EPSILON)), 0, SAMPLES)
        ours = min(timed(lambda: task.run(0)) for _ in range(3))  # noqa: B023
        theirs = SAMPLES * sum(timed(lambda: one_by_one(survey, n)) for survey in surveys)  # noqa: B023
        what = f"O-RR and O-RAPPOR, {SAMPLES} samples, n = 10^{len(str(n)) - 1}"
        yield Line(what, f"vectorised NumPy client, 1 of {SAMPLES} samples timed", ours, theirs, target)
