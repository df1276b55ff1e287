"""docs/results/numbers.md from its tables: `python -m studies.numbers_page`."""

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median

from studies.numbers import (
    BARE,
    BINS,
    COVERAGE,
    EPSILONS,
    ERRORS,
    FIGURES,
    POPULATIONS,
    SMOOTH,
    CoverageRow,
    ErrorRow,
    read,
)

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
    quantiles = [row for row in coverage if row.figure in (*FIGURES[1:4], *BARE)]
    return [
        "## Coverage",
        "",
        *_text(
            f"95 % intervals in {len({(r.population, r.bins, r.epsilon, r.n) for r in coverage})} cells, for numbers",
            "that are spread evenly over their bins (`binning=False`). Means and shares are linear in the counts, so",
            "they can be repeated 10,000 times, with a standard error of 0.2 points; 1,000 repeats have one of 0.7,",
            "which puts one of fourteen cells that cover 95 % below 94. Quantiles depend on the decoder's answer:",
            f"they are asked in {len({(r.population, r.bins, r.epsilon, r.n) for r in quantiles})} of the cells,",
            f"all with {' and '.join(str(b) for b in sorted({r.bins for r in quantiles}))} bins.",
            "Widths are in parts of the scale, or are shares, at epsilon 1 and n = 100,000.",
        ),
        *_table(["figure", "repeats", "least", "average", "most", "cells from 94 to 97 %", "median width"], rows),
        *_text(
            "Shares have unified intervals (Feldman and Cousins, 1998), which know that a share is between 0 and 1: at",
            "a share of zero, as a point mass has in two of the three ranges, intervals that are cut there would cover",
            "97.5 %.",
        ),
        *_text(
            "**Quantiles** are found by test inversion of a distribution function that is averaged over a few bins.",
            "Where the decoder's answer is smooth, that is all. Where it is rough anywhere, those bins are added on",
            "both sides, and the interval holds for every population. All cells of a population, with 1,000 repeats",
            "in each; on the right what the same intervals would cover with no bins added:",
        ),
        *_table(
            ["population", "least", "average", "cells below 94 %", "least, no bins added", "average, no bins added"],
            (_quantiles(name, [row for row in quantiles if row.population == name]) for name in POPULATIONS),
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


def _why(rows: Sequence[CoverageRow]) -> list[str]:
    smooth = [row.covered for row in rows if row.population in SMOOTH and row.figure in FIGURES[1:4]]
    rough = [row.covered for row in rows if row.population not in SMOOTH and row.figure in FIGURES[1:4]]
    bare = [row.covered for row in rows if row.population not in SMOOTH and row.figure in BARE]
    few = min(row.repeats for row in rows)
    noise = 100 * 3 * (0.95 * 0.05 / few) ** 0.5
    inside = sum(0.94 <= value <= 0.97 for value in smooth)
    return _text(
        f"So the three smooth populations cover {100 * min(smooth):.1f} to {100 * max(smooth):.1f} %, {inside} of",
        f"{len(smooth)} intervals 94 to 97 % (three standard errors of a cell are {noise:.1f} points); the widest",
        "coverage is at few reports, where the answer is not known to be smooth. **For spikes and a point more than",
        f"97 % cannot be helped**: they cover {100 * min(rough):.1f} % at least. Their distribution function jumps by",
        "a whole atom within a bin. An interval for its place misses only if the estimate of the function is wrong",
        "by the part of the jump that is above q on one side, or below q on the other, and either is many standard",
        "errors; nothing lies between. What could be taken away is the added bins, and without them the same",
        f"intervals cover {100 * min(bare):.1f} % in the worst cell: an average over bins says half a jump where the",
        "function has all of it, and which it is, reports of a square wave do not tell.",
    )


def _quantiles(name: str, rows: Sequence[CoverageRow]) -> list[str]:
    kept = [row.covered for row in rows if row.figure in FIGURES[1:4]]
    bare = [row.covered for row in rows if row.figure in BARE]
    below = f"{sum(value < 0.94 for value in kept)} of {len(kept)}"
    return [name, f"{100 * min(kept):.1f} %", f"{100 * fmean(kept):.1f} %", below] + [
        f"{100 * value:.1f} %" for value in (min(bare), fmean(bare))
    ]


if __name__ == "__main__":
    PAGE.write_text(page(read(ERRORS, ErrorRow), read(COVERAGE, CoverageRow)), encoding="utf-8")
