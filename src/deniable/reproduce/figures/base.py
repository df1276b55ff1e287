"""What a figure is, and the look that all of them share.

A figure is a value: it says which tables it reads, which rows of them it shows (`data`, the numbers of its CSV file)
and how those rows are drawn (`plot`). Nothing reaches the picture that is not in the rows.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
Rows = list[Row]
Tables = Mapping[str, Sequence[Mapping[str, Any]]]
Chart = Any  # any of Altair's charts: layered, concatenated or faceted

INK, QUIET = "#222222", "#6B6B6B"
EPSILON = "\N{GREEK SMALL LETTER EPSILON}"
_FONT = "Liberation Sans, Arial, Helvetica, Noto Sans, DejaVu Sans, sans-serif"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the paper, or one of ours (`label` is then "ours").

    `caption` says what is seen, `notes` what the paper leaves open and what we chose, and `counts` how often it was
    measured, which only the rows know.
    """

    name: str
    label: str
    title: str
    caption: str
    notes: str
    tables: tuple[str, ...]
    data: Callable[[Tables], Rows]
    plot: Callable[[Rows], Chart]

    def draw(self, tables: Tables) -> Chart:
        """The chart of the rows that the tables hold; a table that is missing counts as empty."""
        rows = self.data(tables)
        return finish(self.plot(rows) if rows else nothing(), self.title)

    def counts(self, tables: Tables) -> str:
        """One sentence: how many marks, and how many samples are behind each.

        >>> from deniable.reproduce.figures import FIGURES
        >>> FIGURES["geometric_ground_truth"].counts({"population": [{"symbol": 0, "probability": 1.0}]})
        'Rows plotted: 1.'
        """
        rows = self.data(tables)
        parts = [f"Rows plotted: {len(rows):,}."]
        for column, words in (
            ("evaluations", "Evaluations behind each"),
            ("samples", "Samples behind each"),
            ("selection_samples", "Other samples that chose the parameters"),
        ):
            found = sorted({row[column] for row in rows if row.get(column)})
            if found:
                many = f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"
                parts.append(f"{words}: {many}.")
        return " ".join(parts)


def finite(*values: object) -> bool:
    """Whether all are numbers that can be drawn; a cell that was not computed holds None or NaN.

    >>> finite(1, 2.5), finite(1.0, None), finite(float("nan"))
    (True, False, False)
    """
    return all(isinstance(value, (int, float)) and math.isfinite(value) for value in values)


def users(n: int) -> str:
    """A number of users, as a heading.

    >>> users(30000)
    '30,000 users'
    """
    return f"{n:,} users"


def unique(values: Iterable[Any]) -> list[Any]:
    """The different values, in order of appearance."""
    return list(dict.fromkeys(values))


def inline(rows: Rows) -> Chart:
    """Rows as a chart's data. Altair copies a chart at every step, and lists in it one by one, but not tuples.

    Checking thousands of rows against a schema takes longer than drawing them, so that is left to the whole chart.
    """
    import altair as alt
    from altair.utils.schemapi import debug_mode

    values: Any = tuple(rows)
    with debug_mode(False):
        return alt.InlineData(values=values)


def nothing() -> Chart:
    """What is drawn where a run has computed none of a figure's rows."""
    import altair as alt

    words = alt.Chart(inline([{}])).mark_text(color=QUIET, fontSize=14)
    return words.encode(text=alt.value("No numbers for this figure in this run.")).properties(width=420, height=60)


def finish(chart: Chart, described: str) -> Chart:
    """Light, quiet, readable in print: the same fonts, greys and paddings in every figure."""
    return chart.properties(description=described).configure(
        background="white",
        font=_FONT,
        padding=10,
        axis={"labelFontSize": 12, "labelColor": INK, "titleFontSize": 13, "titleFontWeight": "normal"}
        | {
            "titleColor": INK,
            "titlePadding": 8,
            "gridColor": "#E8E8E8",
            "domainColor": "#9A9A9A",
            "tickColor": "#9A9A9A",
        },
        view={"stroke": None},
        header={"labelFontSize": 12, "labelColor": INK, "titleFontSize": 13, "titleColor": INK},
        legend={"labelFontSize": 12, "labelColor": INK, "titleFontSize": 12, "titleFontWeight": "normal"}
        | {"titleColor": INK, "titleLimit": 400},
        title={"anchor": "start", "fontSize": 14, "fontWeight": "bold", "color": INK, "offset": 8}
        | {"subtitleFontSize": 12, "subtitleColor": QUIET, "subtitlePadding": 4},
    )
