"""Designs that people run by hand, with dice, cards or a second question: a table whose columns are what is said.

Unlike `WeightTable` it is given no epsilon to keep: what it spends follows from its probabilities, and may be infinite
for some pairs of answers, as in Mangat's design, where a "no" is always true.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms.base import check_size
from deniable.mechanisms.channel import Channel, checked_entries, running
from deniable.mechanisms.odds import at_most_exp
from deniable.mechanisms.weight_table import fixed_rows, whole_weights
from deniable.noise import Entropy

MAX_ANSWERS = 256  # answers and columns of a design, each, at most
DIGITS = 10**6  # what one in the last place of a design's epsilon is: a millionth of a nat
DEPENDENT = 1e-9  # a pivot below this share of the largest one: the rows do not tell the answers apart


@dataclass(frozen=True, slots=True, init=False)
class HandRun(Channel):
    """Rows of integers that add up to 2**width each, and the names of the columns: what people say.

    Claim: Q(y|x) = rows[x][y] / 2**width; `ratio` is exact for every pair, and None where it is infinite; `epsilon` is
        the smallest millionth of a nat that bounds all finite ones.
    Proof: tests/exact/test_hand_run.py::test_law_of_the_bytes_is_the_table

    Parameters
    ----------
    rows : sequence of sequences of int
        The weights of all columns, a row for each answer.
    names : sequence of str or int
        What is said, a name a column.
    width : int
        Bits of a random word; fewer than 64 for proofs by enumeration.

    Examples
    --------
    >>> m = HandRun([[192, 64], [0, 256]], ["no", "yes"], width=8)   # Mangat's design: a no is always true
    >>> m.said, m.row(0), m.ratio((0,), (1,)), m.ratio((1,), (0,)), m.epsilon
    (('no', 'yes'), (192, 64), None, Fraction(4, 1), Fraction(277259, 200000))
    """

    kind: ClassVar[str] = "design"
    cells: int
    epsilon: Fraction
    width: int
    names: tuple[str | int, ...]
    rows: tuple[tuple[int, ...], ...] = field(repr=False, hash=False)
    edges: tuple[tuple[int, ...], ...] = field(repr=False, compare=False)

    def __init__(self, rows: Iterable[Iterable[int]], names: Iterable[str | int], width: int = 64) -> None:
        put = object.__setattr__
        put(self, "rows", tuple(tuple(row) for row in rows))
        put(self, "names", tuple(names))
        put(self, "cells", check_size("answers", len(self.rows), 2, MAX_ANSWERS))
        put(self, "width", check_size("width", width, 1, 64))
        check_size("columns", len(self.rows[0]), 2, MAX_ANSWERS)
        checked_entries(self.cells, len(self.rows[0]))
        _check_names(self.names, len(self.rows[0]))
        self.check_rows()
        _check_independent(self.rows, self.span)
        put(self, "epsilon", _least_epsilon(self.odds))
        put(self, "edges", tuple(map(running, self.rows)))

    @property
    def said(self) -> tuple[str | int, ...]:
        return self.names

    @property
    def classes(self) -> Sequence[int]:
        return range(self.cells)  # what is promised differs from pair to pair

    def promised(self, given: int, other: int) -> Fraction | None:
        # While rows are checked there is no epsilon yet: they are the design's own, and cannot break it.
        if self.ratio((given,), (other,)) is None:
            return None
        return getattr(self, "epsilon", Fraction(64))

    def row(self, cell: int) -> Sequence[int]:
        return self.rows[cell]

    def edge(self, cell: int, column: int) -> int:
        return self.edges[cell][column]

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,) = cells
        return bisect_right(self.edges[truth], entropy.word()) - 1

    def thresholds(self) -> dict[str, int]:
        return {}

    def settings(self) -> dict[str, object]:
        return {"said": list(self.names), "rows": [[str(weight) for weight in row] for row in self.rows]}

    def title(self, *, own_cells: bool) -> str:
        return "design run by hand"

    @property
    def words(self) -> str:
        return f"{self.columns} things to say" + (", some of which give an answer away" if self._reveals else "")

    @property
    def _reveals(self) -> bool:
        cells = range(self.cells)
        return any(self.ratio((a,), (b,)) is None for a in cells for b in cells)


def design_rows(matrix: Iterable[Iterable[object]], names: Sequence[object] = ()) -> list[list[int]]:
    """The integers of a matrix of probabilities: each within 2**-64 of its entry, and zero where that is zero.

    Parameters
    ----------
    matrix : iterable of iterables of numbers
        A row of probabilities for each answer.
    names : sequence
        The answers, for messages.

    Examples
    --------
    >>> [[weight / 2**64 for weight in row] for row in design_rows([[0.75, 0.25], [0, 1]])]
    [[0.75, 0.25], [0.0, 1.0]]
    """
    return [whole_weights(row) for row in fixed_rows(matrix, names)]


def _check_names(names: Sequence[object], columns: int) -> None:
    if len(names) != columns or len({str(name) for name in names}) != columns:
        raise SurveyError(f"answers must be {columns} different names, one a column of the matrix, got {len(names)}")
    for name in names:
        if type(name) not in (str, int):
            raise SurveyError(f"answers must be text or whole numbers, got {type(name).__name__}")


def _least_epsilon(odds: Fraction) -> Fraction:
    """The least multiple of a millionth of a nat that the finite ratios keep."""
    if odds == 1:
        raise SurveyError(
            "a design must leave some answers deniable, got one in which whatever is said gives every answer away; "
            "ask openly, or give every answer a little of what the others say"
        )
    found = math.ceil(math.log(odds) * DIGITS)
    while not at_most_exp(odds, Fraction(found, DIGITS)):
        found += 1
    return Fraction(found, DIGITS)


def _check_independent(rows: Sequence[Sequence[int]], span: int) -> None:
    """Refuse a design from which no shares can be estimated: Gauss elimination with complete pivoting."""
    left = [[weight / span for weight in row] for row in rows]
    first = 0.0
    for rank in range(len(rows)):
        value, x, y = max(
            ((abs(left[x][y]), x, y) for x in range(rank, len(rows)) for y in range(rank, len(rows[0]))),
            default=(0.0, rank, rank),
        )
        first = first or value
        if value <= DEPENDENT * first:
            raise SurveyError(
                f"a design must tell its {len(rows)} answers apart by what people say, got one that tells {rank}: "
                "its rows are mixtures of each other; use another probability, or more things to say"
            )
        left[rank], left[x] = left[x], left[rank]
        for row in left:
            row[rank], row[y] = row[y], row[rank]
        for row in left[rank + 1 :]:
            part = row[rank] / left[rank][rank]
            for y in range(rank, len(row)):
                row[y] -= part * left[rank][y]
