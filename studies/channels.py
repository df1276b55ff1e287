"""Answers that need different amounts of privacy: `python -m studies.channels` writes docs/results/channels.md.

Two questions. What does hiding only some answers save (uRR and its block-design form against mechanisms that hide all
of them, and against what the planner chooses)? And what does a budget for each answer save against one budget for all,
the smallest or each larger one? Losses are those of the default decoder on simulated surveys.
"""

import argparse
import math
import time
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from deniable.lab import zipf
from deniable.survey import Survey, budgets_table, sensitive_designs, ubd, urr

HERE = Path(__file__).parents[1] / "docs" / "results"
PEOPLE = 100_000  # of every simulated survey
SIZES = (10, 100, 1000)  # answers
SHARES = (0.01, 0.1, 0.5)  # of the answers that are sensitive
EPSILONS = (0.5, 1.0, 2.0)
REPEATS = {10: 40, 100: 20, 1000: 4}  # simulated surveys of each size


def losses(survey: Survey, p: np.ndarray, repeats: int, seed: int, part: slice = slice(None)) -> tuple[float, float]:
    """Mean and standard error of the l1 loss over some of the answers."""
    found = []
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        estimate = dn.decode(dn.simulate(survey, p, PEOPLE, rng))
        found.append(np.abs(estimate.probabilities - p)[part].sum())
    return float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(repeats))


def best_design(size: int, hidden: int, epsilon: float) -> Survey | None:
    """The block-design form of least expected squared error, even where uRR is better."""
    from deniable.survey.channels import sensitive_cost

    designs = list(sensitive_designs(hidden))
    if not designs:
        return None
    best = min(designs, key=lambda d: sensitive_cost(size, hidden, d.cells, d.occupied, d.shared, math.exp(epsilon)))
    return ubd(size, sensitive=range(hidden), epsilon=epsilon, order=best.order, dimension=best.dimension)


def sensitive_rows(sizes: Iterable[int]) -> list[list[str]]:
    rows = []
    for size in sizes:
        # Zipf, shuffled, so that common and rare answers are sensitive.
        p = np.random.default_rng(size).permutation(zipf(size, 1))
        for epsilon in EPSILONS:
            hiding = [
                dn.krr(symbols=size, epsilon=epsilon),
                dn.subset(symbols=size, epsilon=epsilon),
                dn.plan(n=PEOPLE, symbols=size, epsilon=epsilon).survey,
            ]
            others = [told(losses(survey, p, REPEATS[size], 1)) for survey in hiding]
            for hidden in sorted({max(1, round(share * size)) for share in SHARES}):
                marked: dict[str, Any] = {"sensitive": range(hidden), "epsilon": epsilon}
                forms = [urr(size, **marked), best_design(size, hidden, epsilon)]
                made = dn.sensitive(size, **marked).title
                planned = dn.plan(n=PEOPLE, symbols=size, **marked).survey.title
                found = ["" if form is None else told(losses(form, p, REPEATS[size], 1)) for form in forms]
                rows.append([str(size), str(hidden), f"{epsilon:g}", *found, *others, made, planned])
                print(" | ".join(rows[-1]), flush=True)
    return rows


CASES = (
    # answers of each budget, and the budgets
    ((1, 7), (0.5, 2.0)),
    ((4, 4), (0.5, 2.0)),
    ((2, 2, 4), (0.5, 1.0, 2.0)),
    ((4, 28), (0.5, 1.0)),
    ((4, 28), (1.0, 3.0)),
    ((16, 16), (1.0, 2.0)),
    ((8, 24, 32), (0.5, 1.0, 2.0)),
    ((32, 32), (1.0, 4.0)),
    ((4, 4, 4, 4), (0.5, 1.0, 2.0, 3.0)),
    ((3, 3, 3, 3, 3), (0.2, 0.5, 1.0, 2.0, 3.0)),
    ((1, 2, 3, 4, 5, 6), (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)),
    ((8, 8, 8, 8, 8, 8, 8, 8), (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)),
)


def budget_rows(cases: Iterable[tuple[tuple[int, ...], tuple[float, ...]]] = CASES) -> list[list[str]]:
    rows = []
    for sizes, budgets in cases:
        size = sum(sizes)
        each = [Fraction(str(budget)) for count, budget in zip(sizes, budgets, strict=True) for _ in range(count)]
        started = time.process_time()
        _, found = budgets_table(each, [1 / size] * size)
        seconds = time.process_time() - started
        survey = dn.krr(symbols=size, epsilon=dict(enumerate(each)))
        p = np.random.default_rng(size).permutation(zipf(size, 1))
        repeats = 40 if size < 64 else 20
        l1 = losses(survey, p, repeats, 2)
        plain = [losses(dn.krr(symbols=size, epsilon=budget), p, repeats, 2) for budget in budgets]
        rows.append(
            [
                ", ".join(f"{count} at {budget:g}" for count, budget in zip(sizes, budgets, strict=True)),
                f"{found.cost / found.uniform:.3f}",
                f"{100 * (found.cost / found.least - 1):.3f} %",
                told(l1),
                ", ".join(f"{told(loss)} ({budget:g})" for loss, budget in zip(plain, budgets, strict=True)),
                f"{seconds:.1f} s",
            ]
        )
        print(" | ".join(rows[-1]), flush=True)
    return rows


def told(loss: tuple[float, float] | None) -> str:
    return "" if loss is None else f"{loss[0]:.3f} ± {loss[1]:.3f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines) + "\n"


PAGE = """# Answers that need different amounts of privacy

Written by `python -m studies.channels`. Numbers and answers in an order have a page of their own,
`docs/results/numbers.md`.

All surveys have {people:,} people, whose answers are Zipf with exponent 1, in random order. Losses are l1 distances to
the population, by the default decoder; ± is one standard error over {repeats} simulated surveys of 10, 100 and 1,000
answers.

Both tables are of the code since decision 0106. All budgets, and the rows of 10 answers, were made again with the code
of decision 0120: every figure but the seconds is the same.

## Sensitive answers

Only the sensitive answers are hidden by uRR and uBD, all of them by the others. *uBD* is the block-design form of least
expected squared error. *planner* is what `dn.plan` chooses to hide everything. The last two columns are what
`dn.sensitive` makes, and what `dn.plan(sensitive=...)` chooses among all.

{sensitive}
{said}

## Budgets per answer

`dn.krr(symbols, epsilon={{...}})` at the uniform population: its expected squared error over that of k-ary randomised
response at the smallest budget; how far it is, at most, above the least that any table with these budgets can have
whose columns raise one answer at most (a proof, by the gradient); and l1 losses on the Zipf population beside those of
k-ary randomised response with one budget for all, which stands in parentheses. Larger ones than the smallest do not
keep what is promised to the answers of smaller budgets.

{budgets}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    given = parser.parse_args()
    sensitive = sensitive_rows(given.sizes)
    budgets = budget_rows()
    head = ["answers", "sensitive", "epsilon", "uRR", "uBD", "k-RR", "SS", "planner", "made", "planned"]
    gains = [float(row[3].split()[0]) / min(float(row[place].split()[0]) for place in (5, 6, 7)) for row in sensitive]
    best = [min(float(row[p].split()[0]) for p in (3, 4) if row[p]) for row in sensitive]
    over = [b / min(float(row[p].split()[0]) for p in (5, 6, 7)) for b, row in zip(best, sensitive, strict=True)]
    said = (
        f"The better of the two forms has {min(over):.2f} to {max(over):.2f} times the loss of the best mechanism that "
        f"hides everything,\n{np.median(over):.2f} times in the median; uRR alone {min(gains):.2f} to "
        f"{max(gains):.2f} times."
    )
    page = PAGE.format(
        people=PEOPLE,
        repeats=", ".join(str(REPEATS[size]) for size in SIZES),
        sensitive=table(head, sensitive),
        said=said,
        budgets=table(["answers", "squared error", "above the least", "l1", "l1 with one budget", "found in"], budgets),
    )
    (HERE / "channels.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
