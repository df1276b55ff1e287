"""Only some answers are hidden, by a block design: uRR for a sensitive set that is large (uBD, Yoon and others 2025).

Each sensitive answer has r of b columns, those of projective geometry response (`survey.Projective`), and names each of
them with the weight `keep` and the other columns of the design with `other`. Every answer that is not sensitive has a
column of its own, which nobody else ever names; it names each column of the design with `other` and its own with the
rest. The design of one column an answer is uRR (`grouped.Sensitive`).
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Protocol

from deniable.errors import SurveyError
from deniable.mechanisms.base import Carrier, check_size
from deniable.mechanisms.channel import Channel, checked_entries
from deniable.mechanisms.grouped_tables import Sensitive, checked_sensitive
from deniable.mechanisms.krr import KRR
from deniable.mechanisms.odds import parse_epsilon
from deniable.noise import Entropy


class CellRuns(Protocol):
    """Cells in periods of one length, with a run of occupied ones in each (`survey.Stripe`).

    Examples
    --------
    >>> from deniable.survey import Projective
    >>> runs = next(iter(Projective(5, order=2, dimension=3).stripes(0)))
    >>> runs.first, runs.below, runs.periods, runs.length, runs.run, runs.start(1)
    (3, 1, 2, 2, 1, 5)
    """

    @property
    def first(self) -> int:
        """The first cell."""

    @property
    def below(self) -> int:
        """How many cells before it are occupied."""

    @property
    def periods(self) -> int:
        """How many periods there are."""

    @property
    def length(self) -> int:
        """The cells of a period."""

    @property
    def run(self) -> int:
        """How many of them are occupied, side by side."""

    def start(self, period: int) -> int:
        """The first occupied cell of a period.

        Parameters
        ----------
        period : int
            Which one.
        """


class SetDesign(Protocol):
    """What is asked of a projective space (`survey.Projective`): a set of cells for every symbol.

    Examples
    --------
    >>> from deniable.survey import Projective
    >>> design = Projective(5, order=2, dimension=3)
    >>> design.symbols, design.cells, design.occupied, design.encode(0, 0), design.order, design.dimension
    (5, 7, 3, (1, 3, 5), 2, 3)
    >>> [runs.first for runs in design.stripes(0)]
    [3, 1, 0]
    """

    @property
    def symbols(self) -> int:
        """How many symbols it is for."""

    @property
    def cells(self) -> int:
        """How many cells there are."""

    @property
    def occupied(self) -> int:
        """How many of them every symbol has."""

    @property
    def order(self) -> int:
        """The size of its field."""

    @property
    def dimension(self) -> int:
        """The number of coordinates of its points."""

    def encode(self, cohort: int, key: int) -> tuple[int, ...]:
        """The cells of a symbol, sorted.

        Parameters
        ----------
        cohort, key : int
            The number 0, and that of the symbol.
        """

    def stripes(self, key: int) -> "Iterable[CellRuns]":
        """The same cells, as runs that repeat; the last ones first.

        Parameters
        ----------
        key : int
            The symbol.
        """


@dataclass(frozen=True, slots=True, init=False)
class SensitiveDesign(Channel):
    """A block design for the sensitive answers, and a column for each of the others.

    Claim: a report of a column of the design is at most e**epsilon times likelier under any answer than under any
        other; that of any other column comes from one answer alone.
    Proof: tests/exact/test_tables.py::test_law_of_the_bytes_is_the_table

    Parameters
    ----------
    cells : int
        The number of answers.
    epsilon : float, str or Fraction
        The privacy budget of the sensitive answers, in nats.
    sensitive : iterable of int
        Which of the answers are sensitive, from 0; not all.
    design : SetDesign
        With as many symbols as there are sensitive answers.
    width : int
        Bits of a random word; fewer than 64 for proofs by enumeration.

    Examples
    --------
    >>> from deniable.survey import Projective
    >>> m = SensitiveDesign(7, 1, sensitive=[0, 2, 3, 4, 6], design=Projective(5, order=2, dimension=3))
    >>> m.columns, [m.row(1)[y] == m.thresholds()["other"] for y in (0, 6, 7, 8)]
    (9, [True, True, False, False])
    """

    kind: ClassVar[str] = "sensitive-design"
    keeps_budget: ClassVar[bool] = False
    cells: int
    epsilon: Fraction
    width: int
    sensitive: tuple[int, ...]
    design: SetDesign
    channel: KRR = field(repr=False)

    def __init__(
        self, cells: int, epsilon: object, sensitive: Iterable[int], design: SetDesign, width: int = 64
    ) -> None:
        put = object.__setattr__
        put(self, "sensitive", checked_sensitive(cells, sensitive))
        put(self, "cells", cells)
        put(self, "epsilon", parse_epsilon(epsilon))
        put(self, "width", check_size("width", width, 1, 64))
        put(self, "design", design)
        if design.symbols != len(self.sensitive):
            raise SurveyError(
                f"a design must have a symbol for each of {len(self.sensitive)} sensitive answers, got {design.symbols}"
            )
        put(self, "channel", KRR(design.cells, self.epsilon, self.width, occupied=design.occupied))
        checked_entries(self.cells, self.columns)

    @property
    def columns(self) -> int:
        return self.design.cells + self.cells - len(self.sensitive)

    @property
    def classes(self) -> Sequence[int]:
        hidden = set(self.sensitive)
        return tuple(int(x not in hidden) for x in range(self.cells))

    def promised(self, given: int, other: int) -> Fraction | None:
        return self.epsilon if given == 0 else None

    @property
    def odds(self) -> Fraction:
        return self.channel.odds  # other answers have `other` throughout, as small a weight as there is

    def _place(self, cell: int) -> tuple[int, bool]:
        """The number of an answer among the sensitive ones, or among the others."""
        below = bisect_left(self.sensitive, cell)
        hidden = below < len(self.sensitive) and self.sensitive[below] == cell
        return (below if hidden else cell - below), hidden

    def named_by(self, column: int) -> int | None:
        seen = [cell for cell, hidden in enumerate(self.classes) if hidden == 1]
        return seen[column - self.design.cells] if column >= self.design.cells else None

    def row(self, cell: int) -> Sequence[int]:
        (place, hidden), b, other = self._place(cell), self.design.cells, self.channel.other
        row = [other] * b + [0] * (self.columns - b)
        if not hidden:
            row[b + place] = self.own
            return row
        for column in self.design.encode(0, place):
            row[column] = self.channel.keep
        return row

    @property
    def own(self) -> int:
        """The weight with which an answer that is not sensitive names its own column."""
        return self.span - self.design.cells * self.channel.other

    def edge(self, cell: int, column: int) -> int:
        return self._edges(cell)(column)

    def _edges(self, cell: int) -> Callable[[int], int]:
        """`edge` of one answer: its cells are worked out once."""
        (place, hidden), b, other, own = self._place(cell), self.design.cells, self.channel.other, self.own
        if not hidden:
            return lambda column: min(column, b) * other + (own if column > b + place else 0)
        mine, more = self.design.encode(0, place), self.channel.keep - other
        return lambda column: min(column, b) * other + bisect_left(mine, column) * more

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        # The last column whose edge is at or before a word, without listing the cells of an answer.
        ((truth,), word) = cells, entropy.word()
        (place, hidden), keep, other = self._place(truth), self.channel.keep, self.channel.other
        if not hidden:
            return word // other if word < self.design.cells * other else self.design.cells + place
        more = keep - other
        for stripe in self.design.stripes(place):  # the last one, which has most of the cells, first; word 0 is in one
            rest = word - stripe.first * other - stripe.below * more
            if rest >= 0:
                break
        run, length = stripe.run, stripe.length
        whole = length * other + run * more
        period = rest // whole
        start = stripe.start(period)
        # Counted from the first cell of the run.
        rest = rest - period * whole - (start - stripe.first - period * length) * other
        if rest < 0:
            return start + rest // other
        return start + (rest // keep if rest < run * keep else run + (rest - run * keep) // other)

    def thresholds(self) -> dict[str, int]:
        return self.channel.thresholds() | {"own": self.own}

    def settings(self) -> dict[str, object]:
        return {"sensitive": list(self.sensitive), "order": self.design.order, "dimension": self.design.dimension}

    def title(self, *, own_cells: bool) -> str:
        return "uBD"

    def rebudgeted(self, epsilon: Fraction, encoding: Carrier) -> Channel:
        hidden = (*self.sensitive, *range(self.cells, encoding.cells))
        if len(hidden) > self.design.symbols:  # a design is for a number of answers
            return Sensitive(encoding.cells, epsilon, hidden, self.width)
        return SensitiveDesign(encoding.cells, epsilon, hidden, self.design, self.width)

    @property
    def words(self) -> str:
        return f"{len(self.sensitive)} sensitive, {self.design.cells} cells for them"
