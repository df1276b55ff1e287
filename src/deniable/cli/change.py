"""The difference of two decoded tallies as `deniable decode --minus` prints it: a table or a chart."""

import math
from typing import TYPE_CHECKING

from deniable.charts import difference_chart
from deniable.cli.result import between, names_of
from deniable.cli.text import percent, shown, table
from deniable.decoders import DifferenceRows

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Change"]


class Change(DifferenceRows):
    """The rows of a difference, for people."""

    def print_table(self) -> None:
        first, second = self.difference.first, self.difference.second
        print(f"{first.tally.survey}\nfrom {second.n:,} to {first.n:,} reports\n")
        rows = [_cells(shown(self.symbols[i]), self.numbers[i], "*" if self.marks[i] else "") for i in self.order]
        if self.rest is not None:
            rows.append(_cells(self.rest_name, self.rest, ""))
        heading = f"{100 * self.level:g} % interval" + (", all at once" if self.simultaneous else "")
        print(table(["symbol", "before", "after", "change", "s. e.", heading, ""], rows, "lrrrrrl"))
        if hidden := len(self.symbols) - len(self.order):
            print(f"... and {hidden} more; --top 0 shows all")
        print("\nChanges are those of the unbiased estimates; intervals are approximate.")
        if any(self.marks):
            level = f"{100 * self.level:g} %"
            print(f"* changed significantly (family-wise, {level}): all marks together are right with {level}.")
        print("This holds for two groups of people, or for reports drawn afresh; memoised ones vary less.")

    def chart(self, *, most: int) -> "alt.LayerChart":
        """The `most` largest changes as a chart, and that of what is unlisted below them."""
        names, places = names_of(self, most)
        numbers = [self.numbers[i] for i in places] + ([] if self.rest is None else [self.rest])
        marks = [self.marks[i] for i in places] + ([] if self.rest is None else [False])
        first, second = self.difference.first, self.difference.second
        name, spent = first.tally.survey.name, first.tally.survey.epsilon_spent
        return difference_chart(
            names, [row[2] for row in numbers], [row[4:] for row in numbers], changed=marks, level=self.level,
            title=f"{name}: what changed" if name else "What changed",
            subtitle=f"from {second.n:,} to {first.n:,} randomised reports, epsilon {spent:.2f}",
        )  # fmt: skip


def _cells(name: str, numbers: list[float], mark: str) -> list[str]:
    before, after, raw, error, low, high = numbers
    known = math.isfinite(error)
    change = f"{100 * raw:+.2f} %" if known else ""
    interval = between(low, high, least=-1.0) if known else ""
    return [name, percent(before), percent(after), change, percent(error), interval, mark]
