"""docs/results/candidates.md from the two tables beside it; every number on the page is computed from them."""

from collections.abc import Iterable
from pathlib import Path

from scipy.special import betaincinv

from studies.beside import NAMES, Found
from studies.beside import read as read_beside
from studies.candidates import METHODS, RESULTS, Row, read

__all__ = ["page", "pooled", "write_page"]


def write_page(results: Path) -> None:
    """Write the page beside its table."""
    beside = read_beside(results / "beside.csv")
    (results / "candidates.md").write_text(page(read(results / "candidates.csv"), beside))


def pooled(rows: Iterable[Row], method: str, hits: str, of: str) -> tuple[int, int]:
    """Two counts of one method, added up over some cells."""
    mine = [row for row in rows if row.method == method]
    return sum(getattr(row, hits) for row in mine), sum(getattr(row, of) for row in mine)


def page(rows: list[Row], beside: list[Found]) -> str:
    tallies = sum(row.cell.repeats for row in rows if row.method == METHODS[0])
    ours, theirs = (pooled(rows, method, "false", "found") for method in METHODS)
    covered, other = (pooled(rows, method, "covered", "found") for method in METHODS)
    below = pooled(rows, METHODS[0], "below", "missed")
    longest = max((row for row in rows if row.method == METHODS[0]), key=lambda row: row.seconds)
    whole, part = ([row for row in rows if bool(row.cell.unlisted) == some] for some in (False, True))
    return f"""# What is found among a million candidates

`python -m studies.candidates` reruns this page. Zipf shares are planted among 10^5 or 10^6 names, and 50 more answers
(Zipf 1, together `unlisted`) are not on the list. O-RR has 256 cohorts of 64 cells (16,129 equations), O-RAPPOR 128
cohorts of 128 bits and two hashes. Both methods see the same tallies: `decode`, which screens such lists (`Screening`),
and the recipe of RAPPOR: a lasso until 500 candidates are in, least squares on those, Bonferroni over the list (with an
intercept, which the original lacks: `studies/lasso.py`). Found are those above zero with 95 % for all together.

* **False discoveries.** Of {ours[1]:,} found in {tallies} tallies {ours[0]} have no share at all; of the recipe's
  {theirs[1]:,}, {theirs[0]}. Both promise at most one tally in twenty with any. The recipe does not keep it: it chooses
  its 500 by their noise and then tests them as if it had not.
* **Recall.** Where the list is complete, {_true(whole, 0):,} that are there were found, by the recipe
  {_true(whole, 1):,}, which stops at 500. Where a tenth is unlisted, {_true(part, 0):,} against {_true(part, 1):,}:
  an unlisted answer is a spike in one cell of each cohort. Squares take spikes for noise in all cells; by the law that
  the residuals follow a cell beside them counts fully (`decoders/spikes.py`). Where the reports are noisier than the
  spikes (epsilon 1) nothing is gained by that, and least squares decides as before.
* **Intervals.** {_share(covered)} of the 95 % intervals of what was found hold the true share; the recipe's:
  {_share(other)}. Of those that are there and were not found, {_share(below)} are within their upper limit.
* **Time.** At most {longest.seconds:.0f} s of processor time a tally ({longest.cell.candidates:,} candidates).

{_table(rows)}
Recall is of all that are there, most of which are smaller than any test could see; `false` counts all tallies of a row;
l1 is the sum of |estimate - share| over the candidates, a tally; s is processor time, and varies with the machine. At
10^8 reports and epsilon 4 what is unlisted, and not the reports, limits what the recipe finds.

## Beside one heavy answer that is not listed

`python -m studies.beside` draws these: {len(NAMES):,} candidates, of which none or a few are there, one unlisted answer
with much of the mass, and light ones with the rest. Of {sum(row.setting.tallies for row in beside)} tallies
{sum(row.wrong for row in beside)} had a false discovery; one in twenty may. The test takes a candidate's cells for
drawn at random, so nothing has to be known about what is unlisted (`decoders/drawn.py`).

{_beside(beside)}
"""


def _true(rows: Iterable[Row], method: int) -> int:
    false, found = pooled(rows, METHODS[method], "false", "found")
    return found - false


def _share(counts: tuple[int, int]) -> str:
    return f"{100 * counts[0] / max(counts[1], 1):.1f} %"


def _beside(rows: list[Found]) -> str:
    head = ["cells x cohorts", "eps", "reports", "heavy", "light answers", "there", "tallies", "with a false one"]
    head += ["at most, 95 %", "found of those there", "covered", "s"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        case = row.setting
        most = float(betaincinv(row.wrong + 1, case.tallies - row.wrong, 0.95))
        there, covered = len(case.there) * case.tallies, f"{row.covered / max(row.found, 1):.3f}" if case.there else ""
        cells = [f"{case.cells} x {case.cohorts}", f"{case.epsilon:g}", f"{case.n:,}", f"{case.heavy:g}"]
        cells += [str(case.light), " ".join(f"{share:g}" for share in case.there) or "none", str(case.tallies)]
        cells += [str(row.wrong), f"{most:.3f}", f"{row.found} of {there}" if there else "", covered]
        lines.append("| " + " | ".join([*cells, f"{row.seconds:.1f}"]) + " |")
    return "\n".join(lines)


def _table(rows: list[Row]) -> str:
    head = ["mechanism", "candidates", "there", "unlisted", "eps", "reports"]
    for method in METHODS:
        head += [f"{method}: recall", "found", "false", "l1", "s"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    found = {(row.cell, row.method): row for row in rows}
    for cell in dict.fromkeys(row.cell for row in rows):
        cells = [cell.mechanism, f"10^{len(str(cell.candidates)) - 1}", f"{cell.present}, Zipf {cell.exponent:g}"]
        cells += [f"{cell.unlisted:g}", f"{cell.epsilon:g}", f"10^{len(str(cell.n)) - 1}"]
        for method in METHODS:
            row = found[cell, method]
            mean = row.found / cell.repeats
            cells += [f"{row.recall:.3f}", f"{mean:.0f}", str(row.false), f"{row.l1:.3f}", f"{row.seconds:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_page(RESULTS)
