"""docs/results/time.md and its charts from docs/results/time.csv: `python -m studies.time_page`."""

import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from statistics import NormalDist

from studies.time_charts import draw
from studies.time_rows import FILE

PAGE = FILE.with_suffix(".md")
Rows = list[dict[str, str]]

HISTORIES = 400  # of a row of coverage
KINDS = ("fresh", "memoised", "two stages")
TOLD = ("memoised, told", "two stages, told")
COVERED = ["bands", "as of", "difference", "average", "sum", "two windows"]
SMOOTH = ["tracked", "plain Kalman smoother", "best centred average"]
WEEKS = ["bands cover", "bands as of cover", "bands cover, weekends", "bands as of cover, weekends"]
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


def _outside(rows_of: Rows) -> str:
    """How many cells of the tables above are within 94 to 97 %, where the others are, and how many are by chance."""
    lines, normal = [], NormalDist()
    for name in COVERED:
        rows = [one for one in rows_of if one["measure"] == name]
        found, errors = ([100 * float(one[column]) for one in rows] for column in ("value", "error"))
        pairs = list(zip(found, errors, strict=True))
        below, above = ([value < 94 for value in found], [value > 97 for value in found])
        far = (
            sum(value + 2 * error < 94 for value, error in pairs),
            sum(value - 2 * error > 97 for value, error in pairs),
        )
        typical = sum(error for error in errors if error) / max(sum(error > 0 for error in errors), 1)
        chance = normal.cdf(-1 / typical), normal.cdf(-2 / typical)
        cells = [len(found) - sum(below) - sum(above), sum(below), far[0], sum(above), far[1]]
        expected = f"{len(found) * chance[0]:.0f} and {len(found) * chance[1]:.0f}"
        mean = sum(found) / len(found)
        lines.append([name, *map(str, cells), expected, f"{mean:.1f}", f"{min(found):.1f} to {max(found):.1f}"])
    head = [
        "rows of each kind", "94 to 97 %", "below", "by over 2 errors", "above", "by over 2 errors", "by chance",
        "mean", "least and most",
    ]  # fmt: skip
    return _table(head, lines)


def _far(rows_of: Rows) -> str:
    """How many cells but those of bands are outside of 94 to 97 % by more than two of their own errors."""
    rows = [one for one in rows_of if one["measure"] in COVERED[2:]]
    far = [abs(100 * float(one["value"]) - 95.5) > 1.5 + 200 * float(one["error"]) for one in rows]
    return f"{sum(far)} of {len(far)} {'is' if sum(far) == 1 else 'are'} outside by more than two errors"


def _unchanged(rows_of: Rows) -> str:
    """In how many of all histories no change was named."""
    found = [100 * float(one["value"]) for one in rows_of if one["measure"] == "no change"]
    mean, histories = sum(found) / len(found), HISTORIES * len(found)
    return f"{mean:.1f} ± {(mean * (100 - mean) / histories) ** 0.5:.1f} % of {histories:,} histories"


def _lives(of: dict[str, Rows]) -> str:
    """Where the rows outside are: bands and sums, by how devices live."""
    plain, told = ([one for kind in kinds for one in of[kind]] for kinds in (KINDS, TOLD))
    groups: tuple[tuple[str, str, Rows, Callable[[float, float], bool]], ...] = (
        ("bands", "nothing is shared: fresh, or half of the devices replaced", plain, lambda t, c: t >= 0.5),
        ("bands", "devices stay and answers change", plain, lambda t, c: t < 0.5 and c > 0),
        ("bands", "devices and answers stay, but for 0 or 5 %", plain, lambda t, c: t < 0.5 and c == 0),
        ("bands", "devices stay and answers change, which is told", told, lambda t, c: t < 0.5),
        ("sum", "answers change, which is not told", plain, lambda t, c: t < 0.5 and c > 0),
        ("sum", "answers change, which is told", told, lambda t, c: t < 0.5),
        ("sum", "all others", plain, lambda t, c: t >= 0.5 or c == 0),
    )
    lines = []
    for measure, about, rows, wanted in groups:
        found = [
            100 * float(one["value"])
            for one in rows
            if one["measure"] == measure and wanted(float(one["turnover"]), float(one["change"]))
        ]
        below, above = sum(value < 94 for value in found), sum(value > 97 for value in found)
        counts = len(found), len(found) - below - above, below, above
        lines.append([measure, about, *map(str, counts), f"{sum(found) / len(found):.1f}"])
    return _table(["what", "rows", "all", "94 to 97 %", "below", "above", "their mean"], lines)


def _limits(rows: Rows) -> str:
    names = [
        "bands", "bands of one who knows the speed", "their width, in that of still shares",
        "what they cover if nothing moves", "seen to move",
    ]  # fmt: skip
    lines = []
    for (speed,), measured in _by(rows, "case").items():
        cells = [_percent(measured.get(name)) for name in names]
        cells[2] = f"{float(measured[names[2]]['value']):.2f}"
        lines.append([speed, *cells])
    return _table(["step", *names], lines)


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
    plain, told = ([one for kind in kinds for one in of[kind]] for kinds in (KINDS, TOLD))
    gains, weeks = _by(of["gain"], "case", "windows").items(), _by(of["week"], "case").items()
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

Six answers, 2,000 devices, 20 windows, epsilon 2 (two stages: one report spends 1); {HISTORIES} histories a row.
Shares stay as they are. *Turnover* is the part of the devices that are replaced each window, *change* the part that
draw their answer anew. In the first three tables the turnover is given to the decoder and the change is not.
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

{_outside(plain)}

*By over 2 errors* are rows that are outside by more than two of their own errors. *By chance* is how many would be
below and above if each covered exactly 95 %, with errors as they are. No change was named in
{_unchanged(plain)}, all rows together.

### Turnover and change given

The same histories, where `dn.track` and `dn.decode` are given both (`turnover=0.05, change=0.1`, or
`participation="window:day:turnover=0.05:change=0.1"`): memoised reports,

{_coverage(of["memoised, told"])}

and two stages:

{_coverage(of["two stages, told"])}

{_outside(told)}

Of the differences, averages, sums and pairs of windows {_far(told)}.
No change was named in {_unchanged(told)}. As long as differences of few counts were
taken for normal, one was named in 8.1 ± .9 % of 1,000 histories of Hadamard's row with turnover 0 and change .05
(decision [0139](../decisions/0139-tails-of-few-devices.md)).

### What is outside, and why

{_lives(of)}

- *Differences of what cannot differ.* Where devices and answers stay as they are, two memoised windows are the same,
  and their difference is zero without error: 100 %. Where a second stage makes most of the noise, five degrees of
  freedom do not show how little two windows share, so that `dn.difference` keeps error bars near those of other people.
- *Sums and averages* allow for devices that all keep their answers, where the change is not given, because what windows
  share is known from below alone (shares that move look like devices that change). Give it, and they do not.
- *Bands where nothing moves* allow for shares that move slowly, which few windows cannot tell from those that stand
  still: the next table. Where devices stay, most of the noise is one draw for all windows, and
  little is left to be mistaken.
- *Below 94 %* are rows with errors of about half a point. Where devices and answers all stay, twenty
  memoised windows are one window of 2,000 reports: a history is six numbers.

### Still or slow: what twenty windows tell

Normal noise, other people in each window, six symbols, twenty windows; 500 histories of each speed. Every symbol is a
random walk with such a *step* in each window, in standard errors of one window. *Bands* are those of `dn.track`. The
next three columns are of somebody who knows the speed: what those bands cover, how wide they are, and what the same
bands cover where nothing moves. *Seen to move* is how often the best test at 5 % of this speed against stillness
finds it.

{_limits(of["limits"])}

Whoever wants 95 % where steps are .15 draws bands 1.4 times as wide as those of still shares, and they cover still
shares nearly always. Only a test could tell when to draw the narrow ones, and the best one, which even knows the speed,
misses such a walk in three of five histories. So what is won at one speed is lost at another. In 200 histories of each
movement, half of the prior weight on "nothing moves" gave still shares 96.8 % and walks with steps of .15, .3 and .6
only 91.7, 88.0 and 91.6 %; without the factor for walks it was 97.1 against 92.0, 89.6 and 91.9 % (decisions
[0110](../decisions/0110-one-movement-or-each-its-own.md), [0118](../decisions/0118-bands-of-still-shares.md)). Steps of
.22 and .3 are a little below 94 % themselves. Sixteen symbols, or more windows, tell more: see below.

## What tracking gains

Mean squared error of shares, in that of each window decoded alone (`dn.decode`). k-RR, 16 symbols, epsilon 2, 3,000
fresh reports a window; 24 histories a row, at twenty windows of each. The Kalman filter is a random walk for each
symbol, fitted by maximum likelihood; the moving average has the width that is best in hindsight, for each history.

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

### Weekends that differ

Seventy days of six answers, k-RR, epsilon 2, 2,000 fresh reports on working days, at dates; 200 histories a row.
Nothing differs but weekends, each share by so many standard errors of a working day, up and down in turn; *a third of
the reports* is on weekends. The last two columns are of Saturdays and Sundays alone.

{
        _table(
            ["weekends differ by", *SMOOTH, "tracked, as of", *WEEKS],
            [
                [*key, *map(_number, map(of_.get, [*SMOOTH, "tracked, as of"])), *map(_percent, map(of_.get, WEEKS))]
                for key, of_ in weeks
            ],
        )
    }

Days have a week among their models, however faint, so that bands are wider where a week is possible and not seen
(decision [0187](../decisions/0187-a-week-is-always-among-the-models.md)), and in some of them two days in a row differ
from the other five and nothing else does ([0195](../decisions/0195-weekends-are-one-number.md)): without these, bands
of rows two and three covered 90 and 96 %, and with a third of the reports 82 and 83 %, at up to three times the error.
**Weekends that differ by half an error or less are still covered too rarely.** They are smoothed to a part of what they
differ by, as steps of .15 are above: what covers them would be wide where nothing differs.

## Few symbols and many

OUE, epsilon 1, 10,000 fresh reports a window, 30 windows: the mean squared error of tracked shares in that of windows
decoded one by one (`dn.decode`), at five windows of each history. 24 histories a row; eight with 360 symbols, four with
1,000. Rows of 360 and 1,000 symbols are of code before the last steps of decision
[0110](../decisions/0110-one-movement-or-each-its-own.md); those of six and 36 symbols, made again, had .8 to 1.7 times
the error that they had, which is most where few shares are even.

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

The same where turnover and change are given, for the rows of coverage in which a change was named most often, and for
crowds of which few devices make all the difference; 20 windows:

{_alarms(of["rates"])}

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
