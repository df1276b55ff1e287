"""The difference of two decoded tallies as the table that `deniable decode --minus` prints."""

import math

from deniable.cli.result import between
from deniable.cli.text import percent, shown, table
from deniable.decoders.rows import DifferenceRows

__all__ = ["Change"]


class Change(DifferenceRows):
    """The rows of a difference, for people."""

    def print_table(self) -> None:
        first, second = self.difference.first, self.difference.second
        print(f"{first.tally.survey}\nfrom {second.n:,} to {first.n:,} reports\n")
        rows = [_cells(shown(self.symbols[i]), self.numbers[i], "*" if self.marks[i] else "") for i in self.order]
        if self.rest is not None:
            rows.append(_cells("(unlisted)", self.rest, ""))
        heading = f"{100 * self.level:g} % interval" + (", all at once" if self.simultaneous else "")
        print(table(["symbol", "before", "after", "change", "s. e.", heading, ""], rows, "lrrrrrl"))
        if hidden := len(self.symbols) - len(self.order):
            print(f"... and {hidden} more; --top 0 shows all")
        print("\nChanges are those of the unbiased estimates; intervals are approximate.")
        if any(self.marks):
            print(f"* changed beyond doubt: all marks together are right with {100 * self.level:g} %.")
        print("This holds for two groups of people, or for reports drawn afresh; memoised ones vary less.")


def _cells(name: str, numbers: list[float], mark: str) -> list[str]:
    before, after, raw, error, low, high = numbers
    known = math.isfinite(error)
    change = f"{100 * raw:+.2f} %" if known else ""
    interval = between(max(low, -1.0), min(high, 1.0)) if known else ""
    return [name, percent(before), percent(after), change, percent(error), interval, mark]
