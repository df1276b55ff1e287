"""docs/results/loloha.md from docs/results/loloha.csv: `python -m studies.loloha_page`."""

import csv

from studies.loloha import FILE

_SPENT = "LOLOHA's first report"
PAGE = FILE.with_suffix(".md")
Rows = list[dict[str, str]]
Table = dict[tuple[str, str, str], dict[str, float]]

_HEAD = ["epsilon", "first report", "cells", "it spent", "LOLOHA", "LOLOHA, decoded", "ours, unbiased", "ours, decoded"]


def _by_setting(rows: Rows, population: str) -> Table:
    found: Table = {}
    for row in rows:
        if row["population"] == population and row["epsilon"]:
            found.setdefault((row["epsilon"], row["first"], row["cells"]), {})[row["measure"]] = float(row["value"])
    return found


def _seconds(rows: Rows, population: str) -> float:
    chosen = [row for row in rows if row["population"] == population and row["measure"] == "CPU seconds"]
    return float(chosen[0]["value"])


def _table(found: Table) -> str:
    head = [*_HEAD, "ratio", "`dn.track`", "ratio", "to decoded", "bands cover"]
    lines = ["| " + " | ".join(head) + " |", "|" + "--:|" * len(head)]
    for (epsilon, first, cells), of in found.items():
        errors = [of["LOLOHA"], of["LOLOHA, decoded"], of["unbiased"], of["decoded"]]
        row = [epsilon, first, cells, f"{of[_SPENT]:.3g}", *(f"{error:.2e}" for error in errors)]
        row += [f"{of['decoded'] / of['LOLOHA']:.3f}", f"{of['tracked']:.2e}", f"{of['tracked'] / of['LOLOHA']:.4f}"]
        row += [f"{of['tracked'] / of['decoded']:.2f}", f"{100 * of['bands cover']:.1f} %"]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def _worst(found: Table, measure: str, beside: str = "LOLOHA") -> float:
    return max(of[measure] / of[beside] for of in found.values())


def _covered(*tables: Table) -> str:
    found = [100 * of["bands cover"] for table in tables for of in table.values()]
    return f"{min(found):.1f} to {max(found):.1f} %"


def page(rows: Rows) -> str:
    """The page, from the rows of the table."""
    uniform, zipf = (_by_setting(rows, population) for population in ("uniform", "zipf"))
    return f"""# LOLOHA's published set-up

**At equal epsilons the mean squared error is at most {_worst(uniform, "decoded"):.2f} of LOLOHA's, decoding windows one
by one, and at most {_worst(uniform, "tracked"):.3f} with `dn.track`. Most of it is the decoder: where answers are
spread evenly, an unbiased estimate of 360 shares is mostly noise.**

10,000 people answer in 120 windows. There are 360 answers, drawn evenly, and before each window a quarter of the
people draw theirs anew. All reports of an answer spend `epsilon`, the first one .4, .5 or .6 of it, all reports of a
device at most `cells` times epsilon (Arcolezi, Pinzon, Palamidessi and Gambs, EDBT 2023). Every number is from
`python -m studies.loloha`, 20 repeats; [loloha.csv](loloha.csv) has them with their standard errors. Errors are
against the answers that were given in each window, averaged over windows and answers.

- *LOLOHA*: its own estimator, number of cells and second stage, written from its description. *It spent* is the
  epsilon of its first report. With more than two cells that is less than what was asked for, because its formula
  leaves out the paths through a third cell.
- *Ours*: `dn.orr` with the same epsilons and cells, in 64 to 1,024 cohorts, memoised by cell, with the exact chain.
  Devices are simulated one by one. *Unbiased* is least squares. It is larger than LOLOHA's, because few
  cohorts take the place of a hash function for each person: a cohort number of 6 to 10 bits is in every report, not a
  seed that names the person.
- *Decoded*: the default decoder's rule on each window, with the prior that the first window teaches.
  *LOLOHA, decoded* is the same rule after its estimator. `dn.track` uses all windows for each one; four repeats.
  *To decoded* is its error in that of single windows: at most {_worst(uniform, "tracked", "decoded"):.2f} here, and
  {_worst(zipf, "tracked", "decoded"):.2f} with uneven shares. It was up to 3.05: the noise that devices keep is one
  draw for all windows. Its mean square over the 360 shares varies by 10 to 18 % from history to history, because 1,024
  cohorts tell little of 360 answers, and what it has beyond its variance was taken for shares that differ. Over twelve
  histories (epsilon 1.5 and .6) the constant part of the noise has the variance that is stated: 1.35 ± .07 and 1.31
  e-4. Shares are told apart only beyond two such standard deviations now (decision
  [0110](../decisions/0110-one-movement-or-each-its-own.md)). What bounds this for few symbols does nothing here, where
  the deviation is below a tenth.
- *Bands cover*: how many of the {360 * 120:,} shares of a history lie in their 95 % bands:
  {_covered(uniform, zipf)}. With two cells a device that changes its answer has the same cell, and the same noise,
  every second time. Bands allow for it (decision [0062](../decisions/0062-noise-that-returns.md)). All windows of a
  history share that noise, so one history may be covered less or more as a whole.

{_table(uniform)}

All epsilons and 20 repeats, without `dn.track`, took {_seconds(rows, "uniform"):.0f} s of CPU.

## Answers that are not spread evenly

The same with shares of 1 / rank (Zipf), which is not part of the published set-up. There is more to be learnt from
each window, and less to be gained by a decoder: at most {_worst(zipf, "decoded"):.2f} for single windows and
{_worst(zipf, "tracked"):.2f} for `dn.track`.

{_table(zipf)}

How to plan such a survey: [](../how-to/ask-again-and-again.md). What is promised about many reports, and what is not:
[](../explanation/privacy-guarantee.md).
"""


def main() -> None:
    with FILE.open(newline="") as file:
        PAGE.write_text(page(list(csv.DictReader(file))), encoding="utf-8")


if __name__ == "__main__":
    main()
