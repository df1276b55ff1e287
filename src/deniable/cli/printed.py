"""Estimates, and the difference of two, as `deniable decode` prints them: a table or a chart.

JSON and CSV are those of `decoders.ResultRows`.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from deniable.charts import density_chart, difference_chart, estimate_chart
from deniable.cli.text import bar, percent, shown, table
from deniable.decoders import (
    DifferenceRows,
    DiscoveredEstimate,
    EstimateRows,
    ResultRows,
    ScreenedEstimate,
    chance_in_words,
    density_of,
    figures_of,
)

if TYPE_CHECKING:
    import altair as alt

    from deniable.decoders import Diagnostics

_KINDS = {
    "exact": "exact: at least",
    "approximate": "approximate: close to",
    "conditional": "conditional, given that a symbol was kept or not: close to",
}


class Result(EstimateRows):
    """The rows of an estimate, for people."""

    def print_table(self) -> None:
        estimate = self.estimate
        strategy = f"{type(estimate.decoder).__name__}, {type(estimate.constraint).__name__}"
        print(f"{estimate.tally.survey}\n{estimate.n:,} reports, decoded by {strategy}\n")
        largest = max((numbers[0] for numbers in self.numbers.values()), default=0.0)
        _print_rows(self, ["estimate", "s. e.", _heading(self), "", ""], lambda row, mark: _cells(row, mark, largest))
        self._print_notes()
        for group in self.groups:
            names = ", ".join(shown(s) for s in group.symbols[:12]) + (", ..." if len(group.symbols) > 12 else "")
            known = math.isfinite(group.standard_error)
            total = f"{percent(group.probability)} ± {percent(group.standard_error)}" if known else "not determined"
            print(f"\nNo report can tell these {len(group.symbols)} apart: {names}\nTogether (unconstrained): {total}")

    def _print_notes(self) -> None:
        """What the marks and the intervals mean, and whether the reports fit the model."""
        found = self.diagnostics
        if found is None:
            return
        level = f"{100 * self.level:g} %"
        print()
        if any(self.marks):
            print(f"* significantly above zero (family-wise, {level}): all marks together are right with {level}.")
        if isinstance(self.estimate, DiscoveredEstimate):
            self._print_search(self.estimate, level)
        if self.symbols:
            print(f"Intervals are {_KINDS[self.estimate.interval_kind]} {level}.")
        if self.estimate.shared_noise:
            print(self.estimate.shared_noise)
        if outside := sum(self._is_outside(i) for i in self.order):
            lie = "share lies outside its" if outside == 1 else "shares lie outside their"
            print(f"{outside} {lie} interval: shares are shrunk; error bars belong to the unbiased estimates (--json).")
        if isinstance(self.estimate, ScreenedEstimate):
            kept, size = len(self.estimate.kept), len(self.symbols)
            print(f"Of {size:,} candidates {kept:,} were kept; the others are zero, with what they could still have.")
            print(
                f"{self.rest_name} is all that the kept ones do not explain: answers that are not on the list, and\n"
                "candidates that were not found; how much of it is whose is not known."
            )
        if found.fit is not None and not found.alarms:
            print(f"The reports fit: {found.fit}.")
        if self.symbols:
            self._print_planted(found)
        for alarm in found.alarms:
            print(f"\n{alarm}")
        if (
            self.rest is not None
            and self.rest[3] > 0
            and not isinstance(self.estimate, (ScreenedEstimate, DiscoveredEstimate))
        ):
            print("\nThese candidates do not account for all reports: name more of them to see what the rest is.")

    def _print_planted(self, found: "Diagnostics") -> None:
        """What planted reports could do."""
        planted = f"{round(0.01 * self.estimate.n):,} of {self.estimate.n:,} reports"
        noticed = chance_in_words(found.noticed)
        print(f"{planted} could be planted to raise one symbol by up to {100 * found.influence:.3g} points; {noticed}.")
        if found.careful_noticed < found.noticed - 0.005:
            noticed = chance_in_words(found.careful_noticed)
            print(f"Made to look ordinary they could raise it by {100 * found.careful:.3g} points; {noticed}.")

    def _print_search(self, found: DiscoveredEstimate, level: str) -> None:
        """What a search looked at, and what it cannot have seen."""
        tested, size, least = f"{found.tested.size:,} texts were tested", len(found.symbols), percent(found.smallest)
        if size:
            passed = f"{size:,} texts were found and passed" if size > 1 else "1 text was found and passed"
            print(f"{passed} the test: with {level} nothing is among them that nobody wrote.")
            print(f"{tested}. What fewer than about {least} wrote cannot be told from chance; long ones may need more.")
        else:
            print(f"Nothing was found: {tested}, and nobody can tell from chance what fewer than about {least} wrote.")
            print("More reports, shorter texts, or fewer characters to search (--alphabet, --prefix) show more.")
        print(f"{self.rest_name} is all else that people wrote, whether or not the search has seen it.")
        if found.characters is not None:
            print(f"Only texts of these characters were looked for: {found.characters!r:.80}.")

    def _is_outside(self, i: int) -> bool:
        value, *_, low, high = self.numbers[i]
        return math.isfinite(low) and not max(low, 0.0) - 5e-5 <= value <= min(max(high, 0.0), 1.0) + 5e-5

    def chart(self, *, most: int) -> "alt.LayerChart":
        """The `most` first bars as a chart, and what is unlisted below them; of numbers the density."""
        survey = self.estimate.tally.survey
        source = f"{self.estimate.n:,} randomised reports, epsilon {survey.epsilon_spent:.2f}"
        if (density := density_of(self.estimate, self.level)) is not None:
            figures = figures_of(self.estimate, self.level)
            return density_chart(
                density.edges, self.estimate.probabilities.tolist(), density.bands, level=self.level,
                figures={name: figures[name] for name in ("mean", "median")}, title=survey.name, subtitle=source,
            )  # fmt: skip
        names, numbers, _ = _bars(self, most)
        values, intervals = [row[0] for row in numbers], [row[3:] for row in numbers]
        return estimate_chart(names, values, intervals, level=self.level, title=survey.name, subtitle=source)


class PrintedDifference(DifferenceRows):
    """The rows of a difference, for people."""

    def print_table(self) -> None:
        first, second = self.difference.first, self.difference.second
        print(f"{first.tally.survey}\nfrom {second.n:,} to {first.n:,} reports\n")
        _print_rows(self, ["before", "after", "change", "s. e.", _heading(self), ""], _changed_cells)
        print("\nChanges are those of the unbiased estimates; intervals are approximate.")
        if any(self.marks):
            level = f"{100 * self.level:g} %"
            print(f"* changed significantly (family-wise, {level}): all marks together are right with {level}.")
        apart = "This holds for two groups of people, or for reports drawn afresh; memoised ones vary less."
        print(self.difference.shared_noise or apart)

    def chart(self, *, most: int) -> "alt.LayerChart":
        """The `most` largest changes as a chart, and that of what is unlisted below them."""
        names, numbers, marks = _bars(self, most)
        first, second = self.difference.first, self.difference.second
        name, spent = first.tally.survey.name, first.tally.survey.epsilon_spent
        return difference_chart(
            names, [row[2] for row in numbers], [row[4:] for row in numbers], changed=marks, level=self.level,
            title=f"{name}: what changed" if name else "What changed",
            subtitle=f"from {second.n:,} to {first.n:,} randomised reports, epsilon {spent:.2f}",
        )  # fmt: skip


def _heading(rows: EstimateRows | DifferenceRows) -> str:
    return f"{100 * rows.level:g} % interval" + (", all at once" if rows.simultaneous else "")


def _print_rows(rows: ResultRows, header: list[str], cells: Callable[[list[float], str], list[str]]) -> None:
    """The table: a name, and what `cells` makes of the numbers and the mark of a row; last, what is unlisted."""
    places = _in_reading_order(rows, rows.order)
    lines = [[shown(rows.symbols[i]), *cells(rows.numbers[i], "*" if rows.marks[i] else "")] for i in places]
    if rows.rest is not None:
        lines.append([rows.rest_name, *cells(rows.rest, "")])
    align = "l" + "".join("r" if heading else "l" for heading in header)
    print(table(["symbol", *header], lines, align))
    if hidden := len(rows.symbols) - len(rows.order):
        print(f"... and {hidden} more; --top 0 shows all")


def _in_reading_order(rows: ResultRows, places: list[int]) -> list[int]:
    """The rows of answers in an order (1 to 5 stars, ages) in that order, others as they are: by size."""
    return sorted(places) if rows.in_an_order else places


def _bars(rows: ResultRows, most: int) -> tuple[list[str], list[list[float]], list[bool]]:
    """Names, numbers and marks of the `most` first rows and of what is unlisted."""
    places = _in_reading_order(rows, rows.order[:most])
    names, numbers = [shown(rows.symbols[i]) for i in places], [rows.numbers[i] for i in places]
    marks = [bool(rows.marks[i]) for i in places]
    if rows.rest is None:
        return names, numbers, marks
    # A candidate of that name keeps it: bars need names of their own.
    rest = rows.rest_name if rows.rest_name not in names else "(no candidate)"
    return [*names, rest], [*numbers, rows.rest], [*marks, False]


def _cells(numbers: list[float], mark: str, largest: float) -> list[str]:
    value, _, error, *interval = numbers
    known = math.isfinite(error)
    shown_error = percent(error) if known else "unknown" if math.isnan(error) else "not determined"
    return [percent(value), shown_error, _between(*interval) if known else "", mark, bar(value, largest)]


def _changed_cells(numbers: list[float], mark: str) -> list[str]:
    before, after, raw, error, low, high = numbers
    known = math.isfinite(error)
    change = f"{100 * raw:+.2f} %" if known else ""
    interval = _between(low, high, least=-1.0) if known else ""
    return [percent(before), percent(after), change, percent(error), interval, mark]


def _between(low: float, high: float, *, least: float = 0.0) -> str:
    """An interval as people read it, cut at 0 and 100 % (that of a change, at -100 %): 1.20 to 3.40 %."""
    low, high = (min(max(bound, least), 1.0) for bound in (low, high))
    return f"{100 * low:.2f} to {percent(high)}"
