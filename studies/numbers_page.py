"""docs/results/numbers.md from its tables: `python -m studies.numbers_page`."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from studies.numbers import BINS, COVERAGE, EPSILONS, ERRORS, FIGURES, POPULATIONS, CoverageRow, ErrorRow, read

PAGE = Path("docs/results/numbers.md")


def page(errors: Sequence[ErrorRow], coverage: Sequence[CoverageRow]) -> str:
    """The text of the page."""
    ratios = [row.ratio for row in errors]
    worst = max(errors, key=lambda row: row.worse_by)
    lines = [
        "# Numbers",
        "",
        "**Surveys of numbers against the square wave with EM and smoothing**, and how often intervals hold the truth. Made by",
        "`python -m studies.numbers` and `python -m studies.numbers_page`; the tables are `numbers.csv` and `numbers-coverage.csv`.",
        "",
        "## Errors",
        "",
        f"Both decoders see the same {errors[0].repeats} simulated tallies in each of {len(errors) // 2} cells: "
        f"{', '.join(f'{e:g}' for e in EPSILONS)} nats, {' and '.join(map(str, BINS))}",
        "bins, 10,000 to a million people. The baseline is EM on the histogram with (1, 2, 1) / 4 after each step, ended when the",
        "log-likelihood gains less than 1e-3 (`studies/square_wave.py`), on the same reports: the width is its own formula in both.",
        "",
        f"- **{100 * (1 - median(ratios)):.0f} % less error in the median** of {len(errors)} distances (Wasserstein and Kolmogorov).",
        f"- {sum(r < 1 for r in ratios)} of {len(errors)} are smaller. The worst against the baseline is {worst.worse_by:.1f} standard errors "
        "above it",
        f"  ({worst.population}, {worst.bins} bins, epsilon {worst.epsilon:g}, n = {worst.n:,}, {worst.distance}).",
        "",
        "| population | Wasserstein, ours / baseline | Kolmogorov, ours / baseline | worst, in standard errors |",
        "|---|---|---|---|",
    ]
    for name in POPULATIONS:
        rows = [row for row in errors if row.population == name]
        by = {d: median(row.ratio for row in rows if row.distance == d) for d in ("Wasserstein", "Kolmogorov")}
        lines.append(
            f"| {name} | {by['Wasserstein']:.2f} | {by['Kolmogorov']:.2f} | {max(r.worse_by for r in rows):+.1f} |"
        )
    lines += [
        "",
        "Medians over all epsilons, sizes and bins. Beta is Beta(5, 2); spiky has incomes of which four fifths are rounded; point is",
        "one bin. Smoothing cannot see a point, so the baseline spreads it: that is where the largest gains are.",
        "",
        "| epsilon | n | Wasserstein, ours / baseline | Kolmogorov, ours / baseline |",
        "|---|---|---|---|",
    ]
    for epsilon in EPSILONS:
        for n in sorted({row.n for row in errors}):
            rows = [row for row in errors if (row.epsilon, row.n) == (epsilon, n)]
            by = {d: median(row.ratio for row in rows if row.distance == d) for d in ("Wasserstein", "Kolmogorov")}
            lines.append(f"| {epsilon:g} | {n:,} | {by['Wasserstein']:.2f} | {by['Kolmogorov']:.2f} |")
    lines += ["", "## Coverage", ""]
    lines += [
        f"95 % intervals of {coverage[0].repeats:,} surveys in each of {len(coverage) // len(FIGURES)} cells, for numbers that are spread "
        "evenly over their bins",
        "(`binning=False`); 1,000 repeats are uncertain by 0.7 points.",
        "",
        "| figure | least | median | most | cells from 94 to 97 % | median width at epsilon 1, n = 100,000 |",
        "|---|---|---|---|---|---|",
    ]
    for figure in FIGURES:
        rows = [row for row in coverage if row.figure == figure]
        held = [row.covered for row in rows]
        widths = [row.width for row in rows if (row.epsilon, row.n) == (1.0, 10**5)]
        inside = sum(0.94 <= h <= 0.97 for h in held)
        lines.append(
            f"| {figure} | {100 * min(held):.1f} % | {100 * median(held):.1f} % | {100 * max(held):.1f} % | {inside} of "
            f"{len(held)} | {median(widths):.4f} of the scale |"
        )
    lines += [
        "",
        "Means and shares are linear, and their intervals cover what they say, up to the noise of the repeats; shares near 0 and 1",
        "cover more at small n, because they are cut there. **Quantiles cover more than they say.** A distribution function cannot be",
        "known at a point from a square wave: it is averaged over a few bins, and those are added to the interval, which then holds for",
        "every population. The plain inversion of the pointwise band covers 100 % as well, and is 0.85 of the scale wide",
        "where this one is 0.13 (Beta, 256 bins, epsilon 1, n = 10,000).",
        "",
        "With `binning=True`, the default, half a bin is added on each side of the mean, and intervals of quantiles end at",
        "edges of bins: then they hold wherever in their bins the numbers are.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(read(ERRORS, ErrorRow), read(COVERAGE, CoverageRow)), encoding="utf-8")
