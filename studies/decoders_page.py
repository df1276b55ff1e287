"""docs/results/decoders.md from the tables beside it; every number on the page is computed from them."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from studies.decoders import DECODERS, REFERENCE, SWEPT, TABLES, Row, read

__all__ = ["above", "page", "write_page"]

# An independent implementation's relative losses on the reference table: the best decoder it had that knows nothing
# about the population, and one that knows the multiset of its probabilities. Each to about .01.
_ELSEWHERE = {
    "geometric": ((0.91, 0.92, 0.91, 0.91, 1.00), (0.90, 0.91, 0.92, 0.92, 0.97)),
    "zipf 1": ((0.68, 0.70, 0.77, 0.87, 1.00), (0.64, 0.65, 0.69, 0.80, 0.79)),
    "zipf 2": ((0.83, 0.87, 0.86, 0.85, 1.00), (0.72, 0.74, 0.73, 0.70, 0.64)),
    "binomial .3": ((0.89, 0.88, 0.87, 0.80, 0.98), (0.78, 0.75, 0.67, 0.56, 0.35)),
    "dirichlet": ((0.81, 0.90, 0.96, 0.97, 1.00), (0.80, 0.89, 0.94, 0.94, 0.89)),
}
_OURS = "empirical Bayes"
_TRUE_ERROR = 0.01  # of the numbers from elsewhere


def write_page(results: Path) -> None:
    """Write the page beside its tables."""
    text = page(*(read(results / f"decoders-{name}.csv") for name in (*TABLES, "again")))
    (results / "decoders.md").write_text(text)


def above(rows: Iterable[Row]) -> list[tuple[Row, float, float]]:
    """Where the default is surely more than 3 % above the better of the paper's decoder and the weighted one.

    That is by three standard errors: each with how far above it is, and its standard error.
    """
    found = []
    cells: dict[object, dict[str, Row]] = {}
    for row in rows:
        cells.setdefault(row.cell, {})[row.decoder] = row
    for named in cells.values():
        ours, weighted = named[_OURS], named["weighted, projected"]
        bar = min(1.0, weighted.relative)
        error = float(np.hypot(ours.error, weighted.error if bar < 1 else 0.0))
        if ours.relative - bar - 3 * error > 0.03:
            found.append((ours, ours.relative - bar, error))
    return sorted(found, key=lambda item: -item[1])


def page(reference: list[Row], sweep: list[Row], noise: list[Row], smooth: list[Row], again: list[Row]) -> str:
    ours = [row for row in sweep if row.decoder == _OURS]
    sparse = [row for row in noise if row.decoder == _OURS]
    even = [row for row in smooth if row.decoder == _OURS]
    worse = above([*sweep, *noise, *smooth])
    worst, worst_even = (max(rows, key=lambda row: row.relative) for rows in (sparse, even))
    middle = np.exp(np.mean([np.log(max(row.relative, 1e-3)) for row in ours]))
    low, high = np.quantile([row.relative for row in ours], [0.1, 0.9])
    head = f"""# Which decoder is best

`python -m studies.decoders` reruns this page. Loss is l1 to the population; every number but the first is relative to
the paper's decoder (least squares or inversion, then projection) on the same tallies.

## The reference table

Closed O-RR, 256 symbols, 1024 cohorts, k = round(e^eps + 1) cells (at most 256), a million reports,
{REFERENCE[0].repeats} tallies a cell. The last two columns are another implementation's, each to about .01: the best of
its decoders in that cell, and one that is told the multiset of the true probabilities. A star marks where ours is above
the former by more than three standard errors of both.

"""
    body = _reference_table(reference)
    return (
        head
        + body
        + f"""
## The sweep

{len(ours)} cells over ten mechanisms, seven populations, 2 to 4096 symbols (512 over cohorts, 1024 for HR and
PGR), 10^3 to 10^8 reports, epsilon .25 to 8, drawn by one seed; candidates of open alphabets are complete and said to
be. The default's loss is {middle:.2f} of the paper's in the geometric mean, {low:.2f} to {high:.2f} in the middle 80 %
of cells.

{_grouped(sweep, "mechanism", lambda row: row.cell.mechanism)}
{_grouped(sweep, "population", lambda row: row.cell.population)}
{_grouped(sweep, "symbols", lambda row: row.cell.symbols)}
{_grouped(sweep, "epsilon", lambda row: row.cell.epsilon)}
{_grouped(sweep, "reports", lambda row: row.cell.n)}
## The noise

{len(sparse)} cells where shrinking is most likely to do harm: a few symbols have nearly everything, and reports are few
(10^3 to 10^5), so that many small shares would explain the estimates nearly as well. {sparse[0].cell.repeats} tallies a
cell. The largest loss of the default is {worst.relative:.3f} ± {worst.error:.3f} of the paper's; without its guard
(decision 0010) such cells are up to a third above.

{_grouped(noise, "population", lambda row: row.cell.population)}
## The smooth

{len(even)} cells where there is nothing to learn: shares are spread evenly and noise is small (10^5 to 10^7 reports,
30 to 256 symbols), and over cohorts symbols share many cells: .1 to .6 unknowns an equation. {even[0].cell.repeats}
tallies a cell. The largest loss of the default is {worst_even.relative:.3f} ± {worst_even.error:.3f} of the paper's.

{_grouped(smooth, "population", lambda row: row.cell.population)}
{_grouped(smooth, "mechanism", lambda row: row.cell.mechanism)}
## Where the default is not the best

It should never be more than 3 % above the better of the paper's decoder and weighted least squares with projection, by
three standard errors. {_worse(worse, again, len(ours) + len(sparse) + len(even))}"""
    )


def _reference_table(rows: list[Row]) -> str:
    lines = ["| population | eps | paper's | " + " | ".join(DECODERS) + " | best elsewhere | oracle |"]
    lines.append("|---" * (len(DECODERS) + 5) + "|")
    found = {(row.cell, row.decoder): row for row in rows}
    for place, cell in enumerate(REFERENCE):
        named = [found[cell, name] for name in DECODERS]
        best, oracle = (values[place % 5] for values in _ELSEWHERE[cell.population])
        ours = found[cell, _OURS]
        star = " *" if ours.relative - best > 3 * np.hypot(ours.error, _TRUE_ERROR) else ""
        cells = [f"{row.relative:.3f} ± {row.error:.3f}" + (star if row is ours else "") for row in named]
        mine = f"| {cell.population} | {cell.epsilon:g} | {named[0].paper:.4f} | "
        lines.append(mine + " | ".join(cells) + f" | {best:.2f} | {oracle:.2f} |")
    return "\n".join(lines) + "\n"


def _grouped(rows: list[Row], title: str, key: Callable[[Row], object]) -> str:
    groups: dict[object, dict[str, list[float]]] = {}
    for row in rows:
        groups.setdefault(key(row), {}).setdefault(row.decoder, []).append(max(row.relative, 1e-3))
    lines = [f"| {title} | cells | " + " | ".join(SWEPT) + " |", "|---" * (len(SWEPT) + 2) + "|"]
    for group in sorted(groups, key=lambda g: (isinstance(g, str), g)):
        named = groups[group]
        means = [f"{np.exp(np.mean(np.log(named[name]))):.2f}" for name in SWEPT]
        shown = (
            f"10^{len(str(group)) - 1}" if title == "reports" else f"{group:g}" if title == "epsilon" else str(group)
        )
        lines.append(f"| {shown} | {len(named[_OURS])} | " + " | ".join(means) + " |")
    return "\n".join(lines) + "\n"


def _worse(worse: list[tuple[Row, float, float]], again: list[Row], cells: int) -> str:
    if not worse:
        return f"It is in none of the {cells} cells of all three.\n"
    return f"""It is in {len(worse)} of the
{cells} cells of all three. Of so many some are so by accident, so each was measured again, on 40 fresh tallies: it is
in {len(above(again))} of them.

{_worse_table(worse, again)}"""


def _worse_table(worse: list[tuple[Row, float, float]], again: list[Row]) -> str:
    titles = ["mechanism", "population", "symbols", "eps", "reports", "k, C", "paper's loss", "above by", "again: ours"]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    fresh = [row for row in again if row.decoder == _OURS]
    for (row, more, error), second in zip(worse, fresh, strict=True):
        cell = row.cell
        shape = f"{cell.cells}, {cell.cohorts}" if cell.mechanism.startswith("O-") else ""
        lines.append(
            f"| {cell.mechanism} | {cell.population} | {cell.symbols} | {cell.epsilon:g} | {cell.n:,} | {shape} | "
            f"{row.paper:.3f} | {100 * more:.1f} % ± {100 * error:.1f} | {second.relative:.3f} ± {second.error:.3f} |"
        )
    return "\n".join(lines) + "\n"
