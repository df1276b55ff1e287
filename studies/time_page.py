"""docs/results/time.md from docs/results/time.csv: `python -m studies.time_page`."""

import csv
import sys
from collections.abc import Iterable

from studies.time_rows import FILE

PAGE = FILE.with_suffix(".md")
Rows = list[dict[str, str]]


def _percent(one: dict[str, str]) -> str:
    return f"{100 * float(one['value']):.1f} ± {100 * float(one['error']):.1f}"


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _pivot(rows: Rows, keys: tuple[str, ...], measures: list[str], shown: str = "percent") -> list[list[str]]:
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for one in rows:
        text = _percent(one) if shown == "percent" else f"{float(one['value']):.3g}"
        if one["measure"] == "worst window":
            text = f"{100 * float(one['value']):.1f}"
        found.setdefault(tuple(one[key] for key in keys), {})[one["measure"]] = text
    return [[*key, *(values.get(measure, "") for measure in measures)] for key, values in found.items()]


def page(rows: Rows) -> str:
    """The page, from the rows of the table."""
    names = ("coverage", "gain", "alarms", "delay", "loloha")
    by = {name: [one for one in rows if one["table"] == name] for name in names}
    alarms = [
        [one["case"], one["turnover"], one["measure"], f"{float(one['value']):.3g} ± {float(one['error']):.2g}"]
        for one in [*by["alarms"], *by["delay"]]
    ]
    measures = ["bands", "worst window", "as of", "difference", "average", "no change"]
    gain = [
        "tracked", "plain Kalman smoother", "best centred average",
        "tracked, as of", "plain Kalman filter", "best trailing average",
    ]  # fmt: skip
    loloha = ["mean squared error, tracked", "mean squared error, each window alone, unbiased"]
    return f"""# Windows over time

Every number here comes from `python -m studies.time`, which lets devices live, answer, change their minds and
be replaced
(`dn.lab.panel`), and tracks what they send; [time.csv](time.csv) has all of it. How to use it:
[](../how-to/track-over-time.md).

## What 95 % intervals cover

Ten histories a row: six answers, 2,000 devices, 20 windows, epsilon 2 (two stages: one report spends 1).
*Turnover* is the part of
the devices that are
replaced each window, *change* the part that draw their answer anew. *Bands* are of smoothed windows, averaged
over windows and
symbols, *worst window* is the window that was covered least often, *as of* are the same windows as they were
known when they
ended, *no change* is how often no change was named. A repeat is one number, so ± is its Monte Carlo error.

{_table(["reports", "turnover", "change", *measures], _pivot(by["coverage"], ("case", "turnover", "change"), measures))}

## What tracking gains

Mean squared error of shares, in that of each window decoded alone (`dn.decode`). k-RR, 16 symbols, epsilon 2,
3,000 fresh reports a
window. The Kalman filter is a random walk for each symbol, fitted by maximum likelihood; the moving average has
the width that is
best in hindsight.

{_table(["movement", "windows", *gain], _pivot(by["gain"], ("case", "windows"), gain, "number"))}

## False alarms, and how soon a jump is noticed

Sixty histories a row: six answers, k-RR, epsilon 2, 2,000 devices, 30 windows in which nothing changes; and a
jump after ten of them,
with one false
alarm in 1,000 windows allowed.

{_table(["devices", "turnover", "measure", "value"], alarms)}

## The published setting of LOLOHA

10,000 devices, 120 windows, 360 answers, each answer drawn anew with probability .25 a window; O-RR in two
stages, memoised by cell,
as LOLOHA is, at equal epsilons. The second column decodes each window alone without bias, as LOLOHA does, with
the exact chain of
the two stages; the published chain spends less than it was asked to, and errs more. Errors are against the
distribution that
answers are drawn from.

{_table(["setting", "tracked", "each window alone"], _pivot(by["loloha"], ("case",), loloha, "number"))}
"""


def main() -> int:
    with FILE.open(newline="") as file:
        PAGE.write_text(page(list(csv.DictReader(file))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
