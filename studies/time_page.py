"""docs/results/time.md and its charts from docs/results/time.csv: `python -m studies.time_page`."""

import csv
import sys
from collections.abc import Iterable, Sequence

from studies.time_charts import draw
from studies.time_rows import FILE

PAGE = FILE.with_suffix(".md")
Rows = list[dict[str, str]]

KINDS = ("fresh", "memoised", "two stages")
COVERED = ["bands", "as of", "difference", "average", "sum", "two windows"]
SMOOTH = ["tracked", "plain Kalman smoother", "best centred average"]
FILTERED = ["tracked, as of", "plain Kalman filter", "best trailing average"]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _by(rows: Rows, *keys: str) -> dict[tuple[str, ...], dict[str, dict[str, str]]]:
    """Rows by some columns, and then by what was measured."""
    found: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for one in rows:
        found.setdefault(tuple(one[key] for key in keys), {})[one["measure"]] = one
    return found


def _percent(one: dict[str, str] | None) -> str:
    return "" if one is None else f"{100 * float(one['value']):.1f} ± {100 * float(one['error']):.1f}"


def _number(one: dict[str, str] | None) -> str:
    return "" if one is None else f"{float(one['value']):.3g}"


def _coverage(rows: Rows) -> str:
    """One table of one kind of reports."""
    lines = []
    for (case, turnover, change), measured in _by(rows, "case", "turnover", "change").items():
        cells = [_percent(measured.get(name)) for name in COVERED]
        for place, name in ((0, "bands"), (1, "as of")):
            worst, best = (f"{100 * float(measured[f'{name}, {what}']['value']):.0f}" for what in ("worst", "best"))
            cells[place] += f" ({worst} to {best})"
        lines.append([case, turnover, change, *cells, _percent(measured["no change"])])
    return _table(["mechanism", "turnover", "change", *COVERED, "no change"], lines)


def _outside(of: dict[str, Rows]) -> str:
    """How many cells of the tables above are within 94 to 97 %, and where the others are."""
    lines = []
    for name in COVERED:
        rows = [one for kind in KINDS for one in of[kind] if one["measure"] == name]
        found, errors = ([100 * float(one[column]) for one in rows] for column in ("value", "error"))
        below = [value + 2 * error < 94 for value, error in zip(found, errors, strict=True) if value < 94]
        high, mean = sum(value > 97 for value in found), sum(found) / len(found)
        cells = [len(found) - len(below) - high, len(below), sum(below), high]
        lines.append([name, *map(str, cells), f"{mean:.1f}", f"{min(found):.1f} to {max(found):.1f}"])
    head = ["rows of each kind", "94 to 97 %", "below", "by over 2 errors", "above", "their mean", "least and most"]
    return _table(head, lines)


def _many(rows: Rows) -> str:
    lines = []
    for (case,), measured in _by(rows, "case").items():
        ratios = [
            f"{float(one['value']):.3g} ± {float(one['error']):.1g}"
            for one in (measured["tracked"], measured["tracked, as of"])
        ]
        lines.append([*case.split(", "), *ratios, _percent(measured["bands cover"])])
    return _table(["shares", "symbols", "movement", "tracked", "tracked, as of", "bands cover"], lines)


def _cost(rows: Rows) -> str:
    by_symbols: dict[str, dict[str, str]] = {}
    for one in rows:
        by_symbols.setdefault(one["measure"].split(" symbols")[0], {})[one["windows"]] = f"{float(one['value']):.1f}"
    windows = list(dict.fromkeys(one["windows"] for one in rows))
    lines = [[symbols, *(found[count] for count in windows)] for symbols, found in by_symbols.items()]
    return _table(["symbols", *(f"{count} windows" for count in windows)], lines)


def _alarms(rows: Rows) -> str:
    lines = [
        [
            one["case"],
            one["turnover"],
            one["change"],
            one["measure"],
            f"{float(one['value']):.3g} ± {float(one['error']):.2g}",
        ]
        for one in rows
    ]
    return _table(["devices", "turnover", "change", "what", "measured"], lines)


def page(rows: Rows) -> str:
    """The page, from the rows of the table."""
    of = {name: [one for one in rows if one["table"] == name] for name in {one["table"] for one in rows}}
    merged = [
        [windows, *(_percent(measured.get(name)) for name in ("windows remembered", "as if all people were others"))]
        for (windows,), measured in _by(of["merged"], "windows").items()
    ]
    gains = _by(of["gain"], "case", "windows").items()
    return f"""# Windows over time

Every number here comes from `python -m studies.time`, which lets devices live, answer, change their minds and be
replaced (`dn.lab.panel`), and tracks what they send. [time.csv](time.csv) has all of it, and
`python -m studies.time_page` makes this page. How to use it: [](../how-to/track-over-time.md).

![A share that swings and jumps: windows alone scatter, the tracked line follows](time_history.svg)

## Days of the same devices, added up

k-RR, epsilon 2, six answers, 1,000 devices that memoise and report every day: what 95 % intervals of
`dn.decode(sum(days))` cover, in 1,000 histories a row. The second column is what they would cover if every report
were another person's.

{_table(["days", "windows remembered", "as if all people were others"], merged)}

![Coverage by the number of days: it stays at 95 %, or falls to 16 %](time_merged.svg)

## What 95 % intervals cover

Six answers, 2,000 devices, 20 windows, epsilon 2 (two stages: one report spends 1); 100 histories a row. Shares stay
as they are. *Turnover* is the part of the devices that are replaced each window, *change* the part that draw their
answer anew; the turnover is given to the decoder, the change is not.
*Bands* are of smoothed windows and *as of* of the same windows as they were known when they ended, averaged over
windows and symbols; in brackets the windows that were covered least and most often. *Difference* and *average* are
`tracked.difference` and `tracked.average`, *sum* is `dn.decode(sum(windows))`, *two windows* is `dn.difference` of
the last and the first, *no change* is how often no change was named at 95 %. A history is one number, so ± is its
Monte Carlo error.

### Fresh reports

{_coverage(of["fresh"])}

### Memoised reports

{_coverage(of["memoised"])}

### Two stages

{_coverage(of["two stages"])}

{_outside(of)}

What is outside, and why:

- *Differences of what cannot differ.* Where devices and answers stay as they are, two memoised windows are the same,
  and their difference is zero without error: 100 %. Where a second stage makes most of the noise, five degrees of
  freedom do not show how little two windows share, so that `dn.difference` keeps error bars near those of other people.
- *Bands where nothing moves.* Twenty windows of six answers do not show that nothing moves slowly, and bands allow for
  it. What is won there is lost where shares do move. Measured on normal noise, six symbols, twenty windows, 200
  histories of each movement: bands of still shares cover 97.9 %, those of random walks with steps of .15, .3 and .6
  standard errors a window 94.1, 94.2 and 95.7 %. With half of the prior weight on "nothing moves" it was 96.8 against
  91.7, 88.0 and 91.6 %, without the factor for walks 97.1 against 92.0, 89.6 and 91.9 %. Before models were shared by
  all symbols it was 98.7 against 95.0, 92.1 and 93.1 % (decision
  [0110](../decisions/0110-one-movement-or-each-its-own.md)).
- *Sums and averages* allow for devices that all keep their answers, because what windows share is known from below
  alone (shares that move look like devices that change). Where devices change, that is too much.
- *Below 94 %* are rows with errors of about one point. Where devices and answers all stay, twenty
  memoised windows are one window of 2,000 reports: a history is six numbers.

## What tracking gains

Mean squared error of shares, in that of each window decoded alone (`dn.decode`). k-RR, 16 symbols, epsilon 2, 3,000
fresh reports a window; 24 histories a row, at twenty windows of each. The Kalman filter is a random walk for each
symbol, fitted by maximum likelihood; the moving average has the width that is best in hindsight, for each history.
Rows of 100 and 400 windows, and the next table, were measured before the allowance for one draw of noise was bounded
for few symbols (decision [0110](../decisions/0110-one-movement-or-each-its-own.md)). Twenty windows had 4 % more error
so where shares jump, and 9 % less where they stand still.

{
        _table(
            ["movement", "windows", *SMOOTH, "bands cover"],
            [
                [*key, *(_number(of_.get(name)) for name in SMOOTH), _percent(of_.get("bands cover"))]
                for key, of_ in gains
            ],
        )
    }

The same without a look ahead: each window as it is known when it ends.

{
        _table(
            ["movement", "windows", *FILTERED, "bands as of cover"],
            [
                [*key, *(_number(of_.get(name)) for name in FILTERED), _percent(of_.get("bands as of cover"))]
                for key, of_ in gains
            ],
        )
    }

![Mean squared errors by movement and number of windows](time_gain.svg)

## Few symbols and many

OUE, epsilon 1, 10,000 fresh reports a window, 30 windows: the mean squared error of tracked shares in that of windows
decoded one by one (`dn.decode`), at five windows of each history. 24 histories a row; eight with 360 symbols, four with
1,000.

{_many(of["many"])}

## What it costs

Processor seconds of `dn.track`, one history of fresh reports a number: twice the windows or four times the symbols
take about so many times longer.

{_cost(of["cost"])}

## False alarms, and how soon a jump is noticed

1,000 histories a row: six answers, k-RR, epsilon 2, 2,000 devices, 30 windows in which no share changes. *Change* is
the part of the devices that draw their answer anew in each window. Where devices and answers all stay there is no noise
between windows, and so no false alarm.

{_alarms(of["alarms"])}

A jump after ten windows, 200 histories a row, with one false alarm in 1,000 windows allowed; 20 windows is where a
history ends. Sizes are in standard errors of one window.

{_alarms(of["delay"])}

## The published setting of LOLOHA

10,000 people, 120 windows, 360 answers, a quarter of them drawn anew each window: [its own page](loloha.md).
"""


def main() -> int:
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    draw(rows)
    PAGE.write_text(page(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
