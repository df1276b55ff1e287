"""The difference of two decoded tallies as `deniable decode --minus` prints it: a table or a chart."""

import math

from deniable.charts import difference_chart, save_chart
from deniable.cli.files import writing
from deniable.cli.result import UNLISTED, between, names_of
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
            rows.append(_cells(UNLISTED, self.rest, ""))
        heading = f"{100 * self.level:g} % interval" + (", all at once" if self.simultaneous else "")
        print(table(["symbol", "before", "after", "change", "s. e.", heading, ""], rows, "lrrrrrl"))
        if hidden := len(self.symbols) - len(self.order):
            print(f"... and {hidden} more; --top 0 shows all")
        print("\nChanges are those of the unbiased estimates; intervals are approximate.")
        if any(self.marks):
            print(f"* changed beyond doubt: all marks together are right with {100 * self.level:g} %.")
        print("This holds for two groups of people, or for reports drawn afresh; memoised ones vary less.")

    def save_chart(self, path: str, *, most: int) -> None:
        """The `most` largest changes as a chart, and that of what is unlisted below them."""
        names, places = names_of(self, most)
        numbers = [self.numbers[i] for i in places] + ([] if self.rest is None else [self.rest])
        marks = [self.marks[i] for i in places] + ([] if self.rest is None else [False])
        name = self.difference.first.tally.survey.name
        chart = difference_chart(
            names, [row[2] for row in numbers], [row[4:] for row in numbers], changed=marks, level=self.level,
            title=f"{name}: what changed" if name else "What changed",
        )  # fmt: skip
        with writing(path):
            save_chart(chart, path)


def _cells(name: str, numbers: list[float], mark: str) -> list[str]:
    before, after, raw, error, low, high = numbers
    known = math.isfinite(error)
    change = f"{100 * raw:+.2f} %" if known else ""
    interval = between(max(low, -1.0), min(high, 1.0)) if known else ""
    return [name, percent(before), percent(after), change, percent(error), interval, mark]
