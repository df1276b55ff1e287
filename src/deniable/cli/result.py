"""One decoded estimate in the shapes that `deniable decode` prints: a table, JSON, CSV, a chart."""

import csv
import math
import sys
from dataclasses import asdict
from typing import Any

import numpy as np

from deniable.charts import estimate_chart, save_chart
from deniable.cli.files import writing
from deniable.cli.text import bar, percent, shown, table
from deniable.decoders import Diagnostics, Estimate, Group
from deniable.survey.alphabet import symbol_to_json

__all__ = ["Result", "between", "finite"]

_FIELDS = ("probability", "raw", "standard_error", "low", "high")
_UNLISTED = "(unlisted)"


class Result:
    """An estimate with its error bars, and the `top` symbols to show, largest first (all with None).

    Without `errors` there were too many candidates to compute them: they are NaN. They are infinite where the reports
    do not determine a symbol.
    """

    def __init__(
        self, estimate: Estimate, *, level: float, simultaneous: bool, top: int | None, errors: bool = True
    ) -> None:
        self._estimate, self._level, self._simultaneous = estimate, level, simultaneous
        self._probabilities, self._raw = estimate.probabilities.tolist(), estimate.raw.tolist()
        self._order = np.argsort(-estimate.probabilities, kind="stable")[:top].tolist()
        unknown = [math.nan] * len(self._raw)
        self._errors: list[float] = unknown
        self._intervals: list[list[float]] = [[math.nan, math.nan] for _ in unknown]
        self._marks: list[bool | None] = [None] * len(unknown)
        self._diagnostics: Diagnostics | None = None
        self._rest = None if estimate.rest is None else [*estimate.rest, math.nan, math.nan, math.nan]
        if errors:
            self._errors = estimate.standard_errors.tolist()
            self._intervals = estimate.intervals(level, simultaneous=simultaneous).tolist()
            self._marks = estimate.significant(level).tolist()
            self._diagnostics = estimate.diagnostics
            if rest := estimate.unallocated:
                self._rest = [rest.value, rest.raw, rest.standard_error, *rest.interval(level)]

    def print_table(self) -> None:
        estimate = self._estimate
        strategy = f"{type(estimate.decoder).__name__}, {type(estimate.constraint).__name__}"
        print(f"{estimate.tally.survey}\n{estimate.n:,} reports, decoded by {strategy}\n")
        largest = max(self._probabilities)
        rows = [self._row(i, largest) for i in self._order]
        if self._rest is not None:
            value, _, error, *interval = self._rest
            rows.append(_cells(_UNLISTED, value, error, interval, "", largest))
        heading = f"{100 * self._level:g} % interval" + (", all at once" if self._simultaneous else "")
        print(table(["symbol", "estimate", "s. e.", heading, "", ""], rows, "lrrrll"))
        if hidden := len(self._probabilities) - len(self._order):
            print(f"... and {hidden} more; --top 0 shows all")
        self._print_notes()
        for group in self._groups:
            names = ", ".join(shown(s) for s in group.symbols[:12]) + (", ..." if len(group.symbols) > 12 else "")
            known = math.isfinite(group.standard_error)
            total = f"{percent(group.probability)} ± {percent(group.standard_error)}" if known else "not determined"
            print(f"\nNo report can tell these {len(group.symbols)} apart: {names}\nTogether (unconstrained): {total}")

    def _print_notes(self) -> None:
        """What the marks and the intervals are worth, and whether the reports fit."""
        found = self._diagnostics
        if found is None:
            return
        level = f"{100 * self._level:g} %"
        print()
        if any(self._marks):
            print(f"* above zero beyond doubt: all marks together are right with {level}.")
        exact = self._estimate.interval_kind == "exact"
        print(f"Intervals are {'exact: at least ' + level if exact else 'approximate: close to ' + level}.")
        if found.fit is not None and not found.alarms:
            print(f"The reports fit: {found.fit}.")
        print(f"1 % planted reports could raise one symbol by up to {100 * found.influence:.3g} points of mass.")
        for alarm in found.alarms:
            print(f"\n{alarm}")
        if self._rest is not None and self._rest[3] > 0:
            print("\nThese candidates do not account for all reports: name more of them to see what the rest is.")

    def _row(self, i: int, largest: float) -> list[str]:
        mark = "*" if self._marks[i] else ""
        name = shown(self._estimate.symbols[i])
        return _cells(name, self._probabilities[i], self._errors[i], self._intervals[i], mark, largest)

    @property
    def _groups(self) -> tuple[Group, ...]:
        return () if any(math.isnan(error) for error in self._errors) else self._estimate.groups

    def to_json(self) -> dict[str, Any]:
        """The whole result as JSON values; what is infinite or unknown is null."""
        estimate, survey = self._estimate, self._estimate.tally.survey
        return {
            "survey": survey.digest,
            "name": survey.name,
            "mechanism": survey.title,
            "epsilon_spent": survey.epsilon_spent,
            "n": estimate.n,
            "decoder": type(estimate.decoder).__name__,
            "constraint": type(estimate.constraint).__name__,
            "level": self._level,
            "simultaneous": self._simultaneous,
            "intervals": None if self._diagnostics is None else estimate.interval_kind,
            "estimates": [
                {
                    "symbol": symbol_to_json(estimate.symbols[i]),
                    **dict(zip(_FIELDS, self._numbers(i), strict=True)),
                    "significant": self._marks[i],
                }
                for i in self._order
            ],
            "unallocated": None
            if self._rest is None
            else dict(zip(_FIELDS, (finite(value) for value in self._rest), strict=True)),
            "groups": [
                {
                    "symbols": [symbol_to_json(s) for s in group.symbols],
                    "probability": group.probability,
                    "standard_error": finite(group.standard_error),
                }
                for group in self._groups
            ],
            "diagnostics": self._diagnostics_json(),
        }

    def _diagnostics_json(self) -> dict[str, Any] | None:
        found = self._diagnostics
        if found is None:
            return None
        return {
            "rank": found.rank,
            "condition": finite(found.condition),
            "fit": None if found.fit is None else asdict(found.fit),
            "cohorts": None if found.cohorts is None else asdict(found.cohorts),
            "influence": found.influence,
            "alarms": list(found.alarms),
        }

    def _numbers(self, i: int) -> list[float | None]:
        bounds = (self._errors[i], *self._intervals[i])
        return [self._probabilities[i], self._raw[i], *(finite(value) for value in bounds)]

    def print_csv(self) -> None:
        """The same numbers as CSV; what is infinite or unknown is empty, bytes are hexadecimal."""
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["symbol", *_FIELDS, "significant"])
        for i in self._order:
            symbol = self._estimate.symbols[i]
            name = symbol.hex() if isinstance(symbol, bytes) else symbol
            writer.writerow([name, *self._numbers(i), self._marks[i]])
        if self._rest is not None:
            writer.writerow([None, *(finite(value) for value in self._rest), None])

    def save_chart(self, path: str, *, most: int) -> None:
        """The `most` first bars as a chart, and what is unlisted below them."""
        order = self._order[:most]
        names = [shown(self._estimate.symbols[i]) for i in order]
        values = [self._probabilities[i] for i in order]
        intervals = [self._intervals[i] for i in order]
        if self._rest is not None:
            # A candidate of that name keeps it: bars need names of their own.
            names.append(_UNLISTED if _UNLISTED not in names else "(no candidate)")
            values.append(self._rest[0])
            intervals.append(self._rest[3:])
        title = self._estimate.tally.survey.name or None
        chart = estimate_chart(names, values, intervals, level=self._level, title=title)
        with writing(path):
            save_chart(chart, path)


def _cells(name: str, value: float, error: float, interval: list[float], mark: str, largest: float) -> list[str]:
    low, high = (min(max(bound, 0.0), 1.0) for bound in interval)
    known = math.isfinite(error)
    shown_error = percent(error) if known else "unknown" if math.isnan(error) else "not determined"
    return [name, percent(value), shown_error, between(low, high) if known else "", mark, bar(value, largest)]


def between(low: float, high: float) -> str:
    """An interval of shares as text: 1.20 to 3.40 %."""
    return f"{100 * low:.2f} to {percent(high)}"


def finite(value: float) -> float | None:
    """The value, or None where there is none: JSON and CSV have no infinity."""
    return value if math.isfinite(value) else None
