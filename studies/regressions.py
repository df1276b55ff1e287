"""What intervals of regressions on reports cover, and how precise they are against theory: docs/results/relations.md.

    python -m studies.regressions [minutes]

Populations are drawn row by row: two covariates (a number of 5 values, a group), a logit. Reports are drawn from the
channel, so that a repeat costs what its distinct rows cost.
"""

import csv
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from deniable.survey import Survey

SEED = bytes(range(16))
TRUTH = {2: np.array([[-1.0, 0.5, 0.6]]), 3: np.array([[-0.5, 0.4, 0.5], [-1.0, -0.3, 0.8]])}  # coefficients an answer
SURVEYS: dict[str, tuple[Survey, tuple[Any, ...]]] = {
    "Warner": (dn.warner(epsilon=2), ("no", "yes")),
    "forced response": (dn.design("forced", p="2/3", yes="1/6"), ("no", "yes")),
    "crosswise": (dn.design("crosswise", p=0.25), ("no", "yes")),
    "k-RR, 3 answers": (dn.krr(symbols=3, epsilon=3), (0, 1, 2)),
    "subsets, 3 answers": (dn.subset(symbols=3, epsilon=3, size=1), (0, 1, 2)),
    "OUE, 3 answers": (dn.oue(symbols=3, epsilon=3), (0, 1, 2)),
    "O-RR, 2 candidates": (dn.orr(epsilon=3, cells=4, cohorts=8, seed=SEED), ("no", "yes")),
}
PEOPLE = (500, 5_000, 100_000)
HERE = Path(__file__).parents[1] / "docs" / "results" / "regressions.csv"


def one(survey: Survey, symbols: tuple[Any, ...], n: int, rng: np.random.Generator) -> tuple[list[bool], list[float]]:
    """Whether each interval covers, and the ratio of its error to the standard error."""
    truth = TRUTH[len(symbols)]
    x, g = rng.integers(-2, 3, n), rng.integers(0, 2, n)
    eta = np.column_stack([np.zeros(n), truth[:, 0] + np.outer(x, truth[:, 1]) + np.outer(g, truth[:, 2])])
    chance = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    y = (rng.random(n)[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    table = dn.privatize(survey, [symbols[place] for place in y] if n < 1000 else np.array(symbols)[y])
    data: dict[str, Any] = {"x": x, "g": g}
    if survey.report_format.response.bits:
        data["y"] = [row.tobytes() for row in table.responses]
    elif survey.mechanism.said:
        data["y"] = table.responses.astype(np.int64)
    else:
        data["y"], data["y_cohort"] = table.responses, table.cohorts
    asked: dict[str, Any] = {} if survey.symbols is not None else {"candidates": symbols}
    fit = dn.regress("y ~ x + g", data, survey=survey, **asked)
    bounds = fit.conf_int().to_numpy()
    flat, errors = np.ravel(np.asarray(fit.params).T), np.ravel(np.asarray(fit.bse).T)
    goal = truth.ravel()
    covered = (bounds[:, 0] <= goal) & (goal <= bounds[:, 1])
    return covered.tolist(), ((flat - goal) / errors).tolist()


def main(minutes: float) -> None:
    rng = np.random.default_rng(23)
    rows = []
    each = 60 * minutes / (len(SURVEYS) * len(PEOPLE))
    for name, (survey, symbols) in SURVEYS.items():
        for n in PEOPLE:
            covered: list[list[bool]] = []
            ratios: list[list[float]] = []
            start = time.perf_counter()
            while len(covered) < 1000 and time.perf_counter() - start < each:
                a, b = one(survey, symbols, n, rng)
                covered.append(a)
                ratios.append(b)
            spread = float(np.std(np.asarray(ratios)[:, 1]))
            share = float(np.mean(covered))
            rows.append(
                [
                    name,
                    n,
                    len(covered),
                    round(100 * share, 2),
                    round(100 * float(np.mean(covered, axis=0).min()), 2),
                    round(spread, 3),
                ]
            )
            print(*rows[-1], sep="\t", flush=True)
    with HERE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["survey", "people", "repeats", "coverage", "least_coefficient", "spread_of_z"])
        writer.writerows(rows)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
