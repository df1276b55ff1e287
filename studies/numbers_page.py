"""docs/results/numbers.md from its tables: `python -m studies.numbers_page`."""

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median

from studies.number_cells import BINS, EPSILONS, PEOPLE, POPULATIONS, SMOOTH
from studies.numbers import ASKED, BARE, COVERAGE, ERRORS, FIGURES, LINEAR, CoverageRow, ErrorRow, read

PAGE = Path("docs/results/numbers.md")
DISTANCES = ("Wasserstein", "Kolmogorov")


def _text(*sentences: str) -> list[str]:
    return [*textwrap.wrap(" ".join(sentences), 135, break_long_words=False), ""]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(r) + " |" for r in rows), ""]


def _ratios(rows: Sequence[ErrorRow]) -> list[str]:
    return [f"{median(row.ratio for row in rows if row.distance == distance):.2f}" for distance in DISTANCES]


def page(errors: Sequence[ErrorRow], coverage: Sequence[CoverageRow]) -> str:
    """The text of the page."""
    return "\n".join([*_errors(errors), *_coverage(coverage)]).rstrip() + "\n"


def _errors(errors: Sequence[ErrorRow]) -> list[str]:
    ratios, worst = [row.ratio for row in errors], max(errors, key=lambda row: row.worse_by)
    sides = [f"{distance}, ours / baseline" for distance in DISTANCES]
    return [
        "# Numbers",
        "",
        *_text(
            "**Surveys of numbers against the square wave with EM and smoothing**, and how often intervals hold the",
            "truth. Made by `python -m studies.numbers` and `python -m studies.numbers_page`; the tables are",
            "`numbers.csv` and `numbers-coverage.csv`.",
        ),
        "## Errors",
        "",
        *_text(
            f"Both decoders see the same {errors[0].repeats} simulated tallies in each of {len(errors) // 2} cells:",
            f"{', '.join(f'{e:g}' for e in EPSILONS)} nats, {' and '.join(map(str, BINS))} bins, 10,000 to a million",
            "people. The baseline is EM on the histogram with (1, 2, 1) / 4 after each step, ended when the",
            "log-likelihood gains less than 1e-3 (`studies/square_wave.py`), on the same reports: the width of the",
            "wave is the published formula in both.",
        ),
        *_text(
            f"**{100 * (1 - median(ratios)):.0f} % less error in the median** of {len(errors)} distances, of which",
            f"{sum(r < 1 for r in ratios)} are smaller than the baseline's. The worst is {worst.worse_by:.1f} standard",
            f"errors above it ({worst.population}, {worst.bins} bins, epsilon {worst.epsilon:g}, n = {worst.n:,},",
            f"{worst.distance}). Here are medians over all epsilons, sizes and bins, and the worst of each population:",
        ),
        *_table(
            ["population", *sides, "worst, in standard errors"],
            (
                [name, *_ratios(rows), f"{max(row.worse_by for row in rows):+.1f}"]
                for name in POPULATIONS
                for rows in [[row for row in errors if row.population == name]]
            ),
        ),
        *_text(
            "Beta is Beta(5, 2); spiky has incomes of which four fifths are rounded; point is one bin. Smoothing",
            "cannot see a point, so the baseline spreads it: that is where the largest gains are.",
        ),
        *_table(
            ["epsilon", "n", *sides],
            (
                [f"{epsilon:g}", f"{n:,}", *_ratios([r for r in errors if (r.epsilon, r.n) == (epsilon, n)])]
                for epsilon in EPSILONS
                for n in sorted({row.n for row in errors})
            ),
        ),
    ]


def _coverage(coverage: Sequence[CoverageRow]) -> list[str]:
    rows = []
    for figure in FIGURES:
        mine = [row for row in coverage if row.figure == figure]
        held = [row.covered for row in mine]
        width = median(row.width for row in mine if (row.epsilon, row.n) == (1.0, 10**5))
        shown = [f"{100 * value:.1f} %" for value in (min(held), fmean(held), max(held))]
        inside = f"{sum(0.94 <= h <= 0.97 for h in held)} of {len(held)}"
        rows.append([figure, f"{min(r.repeats for r in mine):,}", *shown, inside, f"{width:.3g}"])
    quantiles = [row for row in coverage if row.figure in (*ASKED, *BARE)]
    outside = [row for row in coverage if row.figure in LINEAR and not 0.94 <= row.covered <= 0.97]
    return [
        "## Coverage",
        "",
        *_text(
            f"95 % intervals in {len({(r.population, r.bins, r.epsilon, r.n) for r in coverage})} cells, for numbers",
            "that are spread evenly over their bins (`binning=False`). Means and shares are linear in the counts, so",
            "they can be repeated 10,000 times, with a standard error of 0.2 points. Quantiles depend on the decoder's",
            "answer, which costs 10 to 80 ms a survey, so they have fewer repeats. Widths are in parts of the scale,",
            "or are shares, at epsilon 1 and n = 100,000.",
        ),
        *_table(["figure", "repeats", "least", "average", "most", "cells from 94 to 97 %", "median width"], rows),
        *_text(
            "Shares have unified intervals (Feldman and Cousins, 1998), which know that a share is between 0 and 1: at",
            "a share of zero, as a point mass has in two of the three ranges, intervals that are cut there would cover",
            "97.5 %.",
            f"Means and shares are outside of 94 to 97 % in {len(outside)} of",
            f"{sum(row.figure in LINEAR for row in coverage)} cells:",
            "; ".join(
                f"{r.figure} of {r.population}, {r.bins:,} bins, epsilon {r.epsilon:g}, n = {r.n:,},"
                f" {100 * r.covered:.1f} % of {r.repeats:,}"
                for r in outside
            )
            + ".",
            "That is no chance: 50,000 more surveys gave 97.3 % in both, with a standard error of 0.1. The edge at a",
            "quarter of the scale is known there from four cells, with eight reports in each, and limits of such",
            "counts cover a little more than their level; normal limits cover 94.1 %.",
        ),
        "### Quantiles",
        "",
        *_text(
            "They are found by test inversion of a distribution function that is averaged over a few bins, with",
            "triangular weights. How many depends on the interval itself. Where the decoder's answer is smooth over so",
            "many bins, that is all. Where it is rough anywhere, as many bins are added on both sides, and the",
            "interval holds for every population (`deniable.decoders.quantiles`). Quartiles and median of all cells;",
            "*surely* means by more than two standard errors of the cell. On the right is what the same intervals",
            "would cover with no bins added:",
        ),
        *_table(
            [
                *("population", "repeats", "intervals", "94 to 97 %", "above 97 %", "surely", "below 94 %", "surely"),
                *("least", "average", "least, no bins added"),
            ],
            (_quantiles(name, [row for row in quantiles if row.population == name]) for name in POPULATIONS),
        ),
        *_text("Averages over the three smooth populations, both numbers of bins, quartiles and median:"),
        *_table(
            ["epsilon", *(f"n = {n:,}" for n in PEOPLE)],
            ([f"{epsilon:g}", *(_average(quantiles, epsilon, n) for n in PEOPLE)] for epsilon in EPSILONS),
        ),
        *_why(quantiles),
        *_text(
            "With fewer reports than four for each cell, the counts do not say what variance they have: at 300 reports",
            "and 1,024 bins intervals of shares by the counts alone covered 60 to 97 %. There the variance is taken to",
            "be at least that at the uniform population, and 2,000 surveys of 100, 300, 1,000 and 3,000 people at",
            "epsilon 0.5 to 4 covered 95 to 100 % of three shares (`tests/statistical/test_numbers.py` has one case).",
        ),
        *_text(
            "With `binning=True`, the default, half a bin is added on each side of the mean, and intervals of",
            "quantiles end at edges of bins: then they hold wherever in their bins the numbers are.",
        ),
    ]


def _average(rows: Sequence[CoverageRow], epsilon: float, n: int) -> str:
    mine = [r for r in rows if r.population in SMOOTH and r.figure in ASKED[:3] and (r.epsilon, r.n) == (epsilon, n)]
    held, done = sum(r.covered * r.repeats for r in mine), sum(r.repeats for r in mine)
    return f"{100 * held / done:.1f} %"


def _why(rows: Sequence[CoverageRow]) -> list[str]:
    bare = [row.covered for row in rows if row.population not in SMOOTH and row.figure in BARE]
    foot = [row for row in rows if row.population == "spiky" and row.figure == ASKED[3]]
    worst = min(foot, key=lambda row: row.covered)
    return [
        *_text(
            "**What limits the smooth populations** is their answer at few reports: there it is at times taken for a",
            "rough one, so bins are added. And with noise over a whole eighth of the scale, the largest average, an",
            "estimate crosses q more than once, so its first and last crossing are farther apart than one test asks.",
        ),
        *_text(
            "**For spikes and a point more than 97 % cannot be helped.** Their distribution function jumps by a whole",
            "atom within a bin. An interval for its place misses only if the estimate of the function is wrong by the",
            "part of the jump that is above q on one side, or below q on the other, and either is many standard",
            "errors; nothing lies between. What could be taken away is the added bins, and without them the same",
            f"intervals cover {100 * min(bare):.1f} % in the worst cell: an average over bins says half a jump where",
            "the function has all of it, and which it is, reports of a square wave do not tell.",
        ),
        *_text(
            "**What is not held**: few reports cannot tell atoms from a smooth density at all. The first decile of the",
            f"spiky population, at the foot of a large atom, is covered in {100 * worst.covered:.0f} % of the surveys",
            f"with {worst.bins:,} bins, epsilon {worst.epsilon:g} and n = {worst.n:,}, and in more than 94 % in",
            f"{sum(row.covered > 0.94 for row in foot)} of {len(foot)} cells. Where answers are known to be rounded,",
            "give the survey a `step`.",
        ),
    ]


def _quantiles(name: str, rows: Sequence[CoverageRow]) -> list[str]:
    kept = [row for row in rows if row.figure in ASKED[:3]]
    held, bare = [row.covered for row in kept], [row.covered for row in rows if row.figure in BARE]
    error = {id(row): 2 * (row.covered * (1 - row.covered) / row.repeats) ** 0.5 for row in kept}
    few, most = min(row.repeats for row in kept), max(row.repeats for row in kept)
    return [
        name,
        f"{few:,}" if few == most else f"{few:,} to {most:,}",
        f"{len(kept)}",
        f"{sum(0.94 <= value <= 0.97 for value in held)}",
        f"{sum(value > 0.97 for value in held)}",
        f"{sum(row.covered - error[id(row)] > 0.97 for row in kept)}",
        f"{sum(value < 0.94 for value in held)}",
        f"{sum(row.covered + error[id(row)] < 0.94 for row in kept)}",
        f"{100 * min(held):.1f} %",
        f"{100 * fmean(held):.1f} %",
        f"{100 * min(bare):.1f} %",
    ]


if __name__ == "__main__":
    PAGE.write_text(page(read(ERRORS, ErrorRow), read(COVERAGE, CoverageRow)), encoding="utf-8")
