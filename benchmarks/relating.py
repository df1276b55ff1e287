"""Regressions on reports against a fit of the true answers, and against counting the distinct rows.

The other library is in an environment of its own (`benchmarks.peers.environments`), and fits in one process; it says
how long the fit took.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import deniable as dn
from benchmarks.measure import Line, compare, timed
from benchmarks.peers.environments import python_of
from benchmarks.peers.process import environment

ROWS, COVARIATES, ANSWERS = 10**5, 10, 4
COUNTED, LEVELS = 10**7, 10  # people, and the values of each of three covariates
TIMES_CLEAR, TIMES_COUNTING = 20.0, 3.0
ROUNDS = 3

_THEIRS = """
import sys, time
import numpy as np
import statsmodels.api as sm
given = np.load(sys.argv[1])
best = float("inf")
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    sm.MNLogit(given["y"], given["x"]).fit(disp=0)
    best = min(best, time.perf_counter() - start)
print(best)
"""


def lines() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    survey = dn.krr(ANSWERS, epsilon=2)
    yield _many_rows(survey, rng)
    yield _few_distinct(survey, rng)


def _many_rows(survey: dn.Survey, rng: np.random.Generator) -> Line:
    """Every row is distinct."""
    x = np.column_stack([np.ones(ROWS), rng.normal(size=(ROWS, COVARIATES))])
    coefficients = np.vstack([np.zeros(COVARIATES + 1), 0.3 * rng.normal(size=(ANSWERS - 1, COVARIATES + 1))])
    chance = np.exp(x @ coefficients.T)
    chance /= chance.sum(axis=1, keepdims=True)
    y = (rng.random(ROWS)[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    names = [f"x{place}" for place in range(1, COVARIATES + 1)]
    data: dict[str, Any] = {"y": dn.privatize(survey, y).responses}
    data |= {name: x[:, place] for place, name in enumerate(names, 1)}
    formula = "y ~ " + " + ".join(names)

    def ours() -> object:
        return dn.regress(formula, data, survey=survey)

    ours()
    mine = min(timed(ours) for _ in range(ROUNDS))
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "rows.npz", x=x, y=y)
        command = [str(python_of("statsmodels")), "-c", _THEIRS, str(Path(folder) / "rows.npz"), str(ROUNDS)]
        told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    what = f"regress, {ROWS:,} rows, {COVARIATES} covariates, {ANSWERS} answers"
    return Line(what, "statsmodels' MNLogit on the true answers", mine, float(told.stdout), TIMES_CLEAR)


def _few_distinct(survey: dn.Survey, rng: np.random.Generator) -> Line:
    """A thousand distinct rows of covariates."""
    table = pa.table(
        {"y": dn.privatize(survey, rng.integers(0, ANSWERS, COUNTED)).responses}
        | {name: rng.integers(0, LEVELS, COUNTED) for name in "abc"}
    )
    return compare(
        f"regress, {COUNTED:,} rows of {LEVELS**3:,} kinds",
        "counting them (Arrow)",
        lambda: dn.regress("y ~ a + b + c", table, survey=survey),
        lambda: table.group_by(["y", "a", "b", "c"]).aggregate([([], "count_all")]),
        TIMES_COUNTING,
        rounds=5,
    )
