"""The difference of two decoded tallies in the shapes that `deniable decode --minus` prints: a table, JSON, CSV."""

import csv
import math
import sys
from typing import Any

import numpy as np

from deniable.cli.result import between, finite
from deniable.cli.text import percent, shown, table
from deniable.decoders import Difference
from deniable.survey.alphabet import symbol_to_json

__all__ = ["Change"]

_FIELDS = ("before", "after", "raw", "standard_error", "low", "high")


class Change:
    """A difference with its error bars, and the `top` symbols to show, largest change first (all with None)."""

    def __init__(self, difference: Difference, *, level: float, simultaneous: bool, top: int | None) -> None:
        self._difference, self._level, self._simultaneous = difference, level, simultaneous
        before, after = difference.second.probabilities, difference.first.probabilities
        low, high = difference.intervals(level, simultaneous=simultaneous).T
        columns = (before, after, difference.raw, difference.standard_errors, low, high)
        self._numbers: list[list[float]] = np.stack(columns, axis=1).tolist()
        self._marks: list[bool] = difference.changed(level).tolist()
        self._order = np.argsort(-np.abs(difference.raw), kind="stable")[:top].tolist()
        self._rest: list[float] | None = None
        a, b, rest = difference.first.unallocated, difference.second.unallocated, difference.unallocated
        if a is not None and b is not None and rest is not None:
            self._rest = [b.value, a.value, rest.raw, rest.standard_error, *rest.interval(level)]

    def print_table(self) -> None:
        first, second = self._difference.first, self._difference.second
        print(f"{first.tally.survey}\nfrom {second.n:,} to {first.n:,} reports\n")
        symbols = self._difference.symbols
        rows = [_cells(shown(symbols[i]), self._numbers[i], "*" if self._marks[i] else "") for i in self._order]
        if self._rest is not None:
            rows.append(_cells("(unlisted)", self._rest, ""))
        heading = f"{100 * self._level:g} % interval" + (", all at once" if self._simultaneous else "")
        print(table(["symbol", "before", "after", "change", "s. e.", heading, ""], rows, "lrrrrrl"))
        if hidden := len(symbols) - len(self._order):
            print(f"... and {hidden} more; --top 0 shows all")
        print("\nChanges are those of the unbiased estimates; intervals are approximate.")
        if any(self._marks):
            print(f"* changed beyond doubt: all marks together are right with {100 * self._level:g} %.")
        print("This holds for two groups of people, or for reports drawn afresh; memoised ones vary less.")

    def to_json(self) -> dict[str, Any]:
        """The whole comparison as JSON values; what is infinite is null."""
        first, second = self._difference.first, self._difference.second
        return {
            "survey": first.tally.survey.digest,
            "before": {"survey": second.tally.survey.digest, "n": second.n},
            "after": {"survey": first.tally.survey.digest, "n": first.n},
            "level": self._level,
            "simultaneous": self._simultaneous,
            "intervals": "approximate",
            "changes": [
                {
                    "symbol": symbol_to_json(self._difference.symbols[i]),
                    **_fields(self._numbers[i]),
                    "changed": self._marks[i],
                }
                for i in self._order
            ],
            "unallocated": None if self._rest is None else _fields(self._rest),
        }

    def print_csv(self) -> None:
        """The same numbers as CSV; the row without a symbol is what no candidate explains."""
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["symbol", *_FIELDS, "changed"])
        for i in self._order:
            symbol = self._difference.symbols[i]
            name = symbol.hex() if isinstance(symbol, bytes) else symbol
            writer.writerow([name, *_fields(self._numbers[i]).values(), self._marks[i]])
        if self._rest is not None:
            writer.writerow([None, *_fields(self._rest).values(), None])


def _fields(numbers: list[float]) -> dict[str, float | None]:
    return dict(zip(_FIELDS, (finite(value) for value in numbers), strict=True))


def _cells(name: str, numbers: list[float], mark: str) -> list[str]:
    before, after, raw, error, low, high = numbers
    known = math.isfinite(error)
    change = f"{100 * raw:+.2f} %" if known else ""
    interval = between(max(low, -1.0), min(high, 1.0)) if known else ""
    return [name, percent(before), percent(after), change, percent(error), interval, mark]
