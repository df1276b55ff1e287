"""The page of the coverage study, written from its rows alone."""

from collections.abc import Callable, Iterable

import numpy as np

from studies.coverage import LEVELS, SIZES, Row

__all__ = ["page"]

SYMBOLS = ("symbols of no mass", "light symbols", "heavy symbols")
OTHERS = ("sums", "unlisted mass", "differences", "all symbols at once", "no false mark")

_HEAD = """# What the intervals cover

Every number here comes from `python -m studies.coverage`, which draws tallies from their exact law, decodes them and
asks whether the truth is inside; [a table](intervals.parquet) has all of it, each with its Monte Carlo error, and a
test computes some of it again. Cells of the grid: a survey, a population (spiky: .8, .15, .05 and then nothing; Zipf 1;
uniform), n from 100 to 10^6. O-RR kxC has k cells and C cohorts; hash functions are drawn anew twenty
times a cell, and for every tally where answers are missing.

Where a symbol's count is binomial the interval is Clopper-Pearson's, mapped: *exact*, at least nominal always, at every
n up to 2^63 - 1, where a tally ends ([how](../decisions/0026-limits-at-any-n.md); beyond 2^53 reports doubles no longer
hold every count, which is allowed for). Others
are *approximate*: from the covariance and the skewness of the unbiased estimate (`src/deniable/decoders/limits.py`).
None is computed from a constrained estimate.
"""


def page(rows: list[Row]) -> str:
    parts = [_HEAD, "## In one table\n", _summary(rows)]
    parts += ["## Symbols, at nominal 95 %\n", _BY_SIZE, _by_size(rows), "## Widths\n", _widths(rows)]
    return "\n".join(parts)


def _missing(row: Row) -> bool:
    return "missing" in row.case


def _pick(rows: Iterable[Row], test: Callable[[Row], bool], level: float) -> list[Row]:
    return [row for row in rows if row.level == level and test(row)]


def _summary(rows: list[Row]) -> str:
    groups: list[tuple[str, Callable[[Row], bool]]] = [
        ("symbols, exact", lambda r: r.what in SYMBOLS and r.kind == "exact"),
        ("symbols, approximate", lambda r: r.what in SYMBOLS and r.kind != "exact" and not _missing(r)),
        ("the same with normal intervals", lambda r: r.what in SYMBOLS and r.kind != "exact" and not _missing(r)),
        ("symbols, heavy answers missing", lambda r: r.what in SYMBOLS and _missing(r)),
    ]
    for what in OTHERS:
        groups.append((what, lambda r, what=what: r.what == what and not _missing(r)))  # type: ignore[misc]
        if what in ("unlisted mass", "differences", "all symbols at once", "no false mark"):
            groups.append((f"{what}, heavy answers missing", lambda r, w=what: r.what == w and _missing(r)))  # type: ignore[misc]
    lines = [
        "| intervals of | cells | mean at 90 | at 95 | at 99 | lowest at 90 | at 95 | at 99 | short |",
        "|---|" + "--:|" * 8,
    ]
    for name, test in groups:
        means, lows, short = [], [], 0
        for level in LEVELS:
            found = _pick(rows, test, level)
            covers = [row.normal if "normal" in name else row.coverage for row in found]
            means.append(f"{100 * np.mean(covers):.1f}")
            place = int(np.argmin([c if row.error < 0.02 else 1.0 for c, row in zip(covers, found, strict=True)]))
            lows.append(f"{100 * covers[place]:.1f} ± {100 * found[place].error:.1f}")
            short += sum(c + 3 * row.error < level - 0.01 for c, row in zip(covers, found, strict=True))
        lines.append(f"| {name} | {len(found)} | {' | '.join(means)} | {' | '.join(lows)} | {short} |")
    return "\n".join(lines) + (
        "\n\n*lowest* is over the cells whose Monte Carlo error is below two points. *short* counts the cells, over "
        "the three\nlevels, that are more than one point below nominal by more than three Monte Carlo errors. Sums are "
        "of every other\nsymbol; differences are of two independent tallies of one population and survey; *no false "
        "mark* is the family-wise test of\nsymbols that have no mass. With one cohort of 30 cells an unlisted answer "
        "may have any candidate's cells, so that lower\nlimits are zero and nothing is marked.\n"
    )


_BY_SIZE = """The lowest class of symbols (no mass, light, heavy) in the worst population, and in brackets what normal
intervals from the same standard errors cover there.
"""


def _by_size(rows: list[Row]) -> str:
    lines = ["| survey | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |", "|---|" + "--:|" * len(SIZES)]
    for case in dict.fromkeys(row.case for row in rows):
        cells = []
        for n in SIZES:
            found = _pick(rows, lambda r, c=case, n=n: r.case == c and r.n == n and r.what in SYMBOLS, 0.95)  # type: ignore[misc]
            if not found:
                cells.append("")
                continue
            low = min(found, key=lambda row: row.coverage)
            plain = min(row.normal for row in found)
            cells.append(f"{100 * low.coverage:.1f} ± {100 * low.error:.1f} ({100 * plain:.0f})")
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _widths(rows: list[Row]) -> str:
    found = [row for row in rows if row.level == 0.95 and row.what in SYMBOLS and not np.isnan(row.width)]
    lines = ["| width over that of the normal interval, 95 % | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |"]
    lines.append("|---|" + "--:|" * len(SIZES))
    kinds: tuple[tuple[str, Callable[[Row], bool]], ...] = (
        ("exact, symbols of no mass", lambda r: r.kind == "exact" and r.what == SYMBOLS[0]),
        ("exact, heavy symbols", lambda r: r.kind == "exact" and r.what == SYMBOLS[2]),
        ("approximate, symbols of no mass", lambda r: r.kind != "exact" and r.what == SYMBOLS[0] and not _missing(r)),
        ("approximate, heavy symbols", lambda r: r.kind != "exact" and r.what == SYMBOLS[2] and not _missing(r)),
    )
    for name, test in kinds:
        means = [[row.width for row in found if test(row) and row.n == n] for n in SIZES]
        lines.append(f"| {name} | {' | '.join(f'{np.mean(m):.3f}' if m else '' for m in means)} |")
    lines += ["", "Where few hits are expected the normal interval is too short, so a wider one is what is wanted.", ""]
    lines += ["| width against another way, 95 % | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |"]
    lines.append("|---|" + "--:|" * len(SIZES))
    for case, other in (
        ("O-RR 8x64, eps 2, 32 symbols, joint", "O-RR 8x64, eps 2, 32 symbols"),
        ("O-RR 8x1024, eps 2, 16 symbols, joint", "O-RR 8x1024, eps 2, 16 symbols"),
        ("O-RR 32x16, eps 4, 32 symbols, joint", "O-RR 32x16, eps 4, 32 symbols"),
        ("O-RR 8x64, eps 2, 32 symbols", "O-RR 8x64, eps 2, 32 symbols, complete"),
    ):
        cells = []
        for n in SIZES:
            pairs = []
            for a in found:
                same = [b for b in found if (b.case, b.population, b.n, b.what) == (other, a.population, n, a.what)]
                if a.case == case and a.n == n and same:
                    pairs.append(a.mean_width / same[0].mean_width)
            cells.append(f"{np.mean(pairs):.3f}" if pairs else "")
        against = "per cohort" if case.endswith("joint") else "complete=True"
        lines.append(f"| {case} over {against} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
