"""One decoded estimate as `deniable decode` prints it: a table or a chart. JSON and CSV are `decoders.rows`."""

import math
from typing import TYPE_CHECKING

from deniable.charts import estimate_chart
from deniable.cli.text import bar, percent, shown, table
from deniable.decoders import EstimateRows, Rows, ScreenedEstimate

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Result", "between", "names_of"]

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
        largest = max(numbers[0] for numbers in self.numbers.values())
        rows = [self._row(i, largest) for i in self.order]
        if self.rest is not None:
            value, _, error, *interval = self.rest
            rows.append(_cells(self.rest_name, value, error, interval, "", largest))
        heading = f"{100 * self.level:g} % interval" + (", all at once" if self.simultaneous else "")
        print(table(["symbol", "estimate", "s. e.", heading, "", ""], rows, "lrrrll"))
        if hidden := len(self.symbols) - len(self.order):
            print(f"... and {hidden} more; --top 0 shows all")
        self._print_notes()
        for group in self.groups:
            names = ", ".join(shown(s) for s in group.symbols[:12]) + (", ..." if len(group.symbols) > 12 else "")
            known = math.isfinite(group.standard_error)
            total = f"{percent(group.probability)} ± {percent(group.standard_error)}" if known else "not determined"
            print(f"\nNo report can tell these {len(group.symbols)} apart: {names}\nTogether (unconstrained): {total}")

    def _print_notes(self) -> None:
        """What the marks and the intervals are worth, and whether the reports fit."""
        found = self.diagnostics
        if found is None:
            return
        level = f"{100 * self.level:g} %"
        print()
        if any(self.marks):
            print(f"* significantly above zero (family-wise, {level}): all marks together are right with {level}.")
        print(f"Intervals are {_KINDS[self.estimate.interval_kind]} {level}.")
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
        print(f"1 % planted reports could raise one symbol by up to {100 * found.influence:.3g} points of mass.")
        for alarm in found.alarms:
            print(f"\n{alarm}")
        if self.rest is not None and self.rest[3] > 0 and not isinstance(self.estimate, ScreenedEstimate):
            print("\nThese candidates do not account for all reports: name more of them to see what the rest is.")

    def _is_outside(self, i: int) -> bool:
        value, *_, low, high = self.numbers[i]
        return math.isfinite(low) and not max(low, 0.0) - 5e-5 <= value <= min(max(high, 0.0), 1.0) + 5e-5

    def _row(self, i: int, largest: float) -> list[str]:
        mark = "*" if self.marks[i] else ""
        value, _, error, *interval = self.numbers[i]
        return _cells(shown(self.symbols[i]), value, error, interval, mark, largest)

    def chart(self, *, most: int) -> "alt.LayerChart":
        """The `most` first bars as a chart, and what is unlisted below them."""
        names, places = names_of(self, most)
        numbers = [self.numbers[i] for i in places] + ([] if self.rest is None else [self.rest])
        values, intervals = [row[0] for row in numbers], [row[3:] for row in numbers]
        survey = self.estimate.tally.survey
        return estimate_chart(
            names, values, intervals, level=self.level, title=survey.name,
            subtitle=f"{self.estimate.n:,} randomised reports, epsilon {survey.epsilon_spent:.2f}",
        )  # fmt: skip


def names_of(rows: Rows, most: int) -> tuple[list[str], list[int]]:
    """Labels of the `most` first rows and of what is unlisted, and the places of the former."""
    places = rows.order[:most]
    names = [shown(rows.symbols[i]) for i in places]
    # A candidate of that name keeps it: bars need names of their own.
    rest = [] if rows.rest is None else [rows.rest_name if rows.rest_name not in names else "(no candidate)"]
    return names + rest, places


def _cells(name: str, value: float, error: float, interval: list[float], mark: str, largest: float) -> list[str]:
    known = math.isfinite(error)
    shown_error = percent(error) if known else "unknown" if math.isnan(error) else "not determined"
    return [name, percent(value), shown_error, between(*interval) if known else "", mark, bar(value, largest)]


def between(low: float, high: float, *, least: float = 0.0) -> str:
    """An interval as people read it, cut at 0 and 100 % (that of a change, at -100 %): 1.20 to 3.40 %."""
    low, high = (min(max(bound, least), 1.0) for bound in (low, high))
    return f"{100 * low:.2f} to {percent(high)}"
