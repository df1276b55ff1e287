"""A channel of any shape: a report names one column, drawn from a row of integer weights that the true cell chooses.

Its families are `WeightTable` (any matrix), `Grouped` (rows that follow from a few weights between groups of answers)
and `SensitiveDesign` (a block design for the answers that are hidden, a column of its own for each other answer).
"""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms.base import Carrier, Mechanism
from deniable.mechanisms.odds import at_most_exp, epsilon_text
from deniable.noise import Entropy

MAX_ENTRIES = 1 << 22  # weights of a table, at most: 32 MiB as 64-bit integers


class Channel(Mechanism):
    """One word in, one column out: `row(cell)` shares the 2**width words out among the columns, in their order.

    A family of channels states its rows; everything else follows from them. What it promises may differ from answer to
    answer: cells of one class are treated alike, and `promised` bounds how much likelier any report may be under a cell
    of one class than under one of another. Where it promises nothing a weight may be zero.

    Claim: Q(y|x) = row(x)[y] / 2**width, every word is used once, and the rows keep what is promised (`check_rows`).
    Proof: tests/exact/test_channel.py::test_law_of_the_bytes_is_the_published_channel

    Examples
    --------
    >>> class Noisy(Channel):
    ...     kind, cells, epsilon, width = "noisy", 2, Fraction(2), 3
    ...     def row(self, cell):
    ...         return (6, 1, 1) if cell == 0 else (1, 1, 6)
    ...     def thresholds(self):
    ...         return {}
    ...     def title(self, *, own_cells):
    ...         return "noisy"
    >>> Noisy().check_rows(), Noisy().row(0), Noisy().odds
    (None, (6, 1, 1), Fraction(6, 1))
    >>> Noisy().classes, Noisy().promised(0, 0), Noisy().edge(0, 2)
    ((0, 0), Fraction(2, 1), 7)
    """

    __slots__ = ()

    @abstractmethod
    def row(self, cell: int) -> Sequence[int]:
        """The weights of all columns for one true cell; they add up to 2**width.

        Parameters
        ----------
        cell : int
            The cell.
        """

    @property
    def classes(self) -> Sequence[int]:
        """The class of every cell, from 0: all cells are of one class unless a family says otherwise."""
        return (0,) * self.cells

    def promised(self, given: int, other: int) -> Fraction | None:
        """The bound on ln Q(y|x) / Q(y|x') for x of class `given` and x' of class `other`; None if there is none.

        Parameters
        ----------
        given, other : int
            Two classes; they may be the same.
        """
        return self.epsilon

    def edge(self, cell: int, column: int) -> int:
        """The sum of the weights before a column: the first word that can name it.

        Parameters
        ----------
        cell : int
            The true cell.
        column : int
            The column.
        """
        return sum(self.row(cell)[:column])

    def check_rows(self) -> None:
        """Refuse rows that are not channels, or that spend more than is promised."""
        rows = [self.row(cell) for cell in range(self.cells)]
        if any(len(row) != self.columns or min(row) < 0 or sum(row) != self.span for row in rows):
            raise SurveyError(
                f"every row of weights must be {self.columns} integers from 0 on that add up to 2**{self.width}"
            )
        for (given, other), ratio in self._worst().items():
            bound = self.promised(given, other)
            if bound is not None and (ratio is None or not at_most_exp(ratio, bound)):
                raise SurveyError(
                    f"weights of one column must have a ratio of at most e**{epsilon_text(bound)}, got more; "
                    "move them closer together, or use a larger epsilon"
                )

    def _worst(self) -> "dict[tuple[int, int], Fraction | None]":
        """The largest ratio of two weights of one column, by the classes of their cells; None where it is infinite."""
        members: dict[int, list[Sequence[int]]] = {}
        for cell, kind in enumerate(self.classes):
            members.setdefault(kind, []).append(self.row(cell))
        least = {kind: [min(column) for column in zip(*rows, strict=True)] for kind, rows in members.items()}
        most = {kind: [max(column) for column in zip(*rows, strict=True)] for kind, rows in members.items()}
        found = {(a, b): _largest(most[a], least[b]) for a in members for b in members if a != b}
        # The largest and the least weight of a class are of two cells, or of one if all are equal.
        return found | {(a, a): _largest(most[a], least[a]) for a, rows in members.items() if len(rows) > 1}

    @property
    def columns(self) -> int:
        return len(self.row(0))

    @property
    def outputs(self) -> int:
        return self.columns

    @property
    def odds(self) -> Fraction:
        """The largest ratio among those that are promised to be bounded."""
        found = (ratio for pair, ratio in self._worst().items() if self.promised(*pair) is not None)
        return max((ratio for ratio in found if ratio is not None), default=Fraction(1))

    def ratio(self, cells: Sequence[int], others: Sequence[int]) -> Fraction | None:
        return _largest(self.weights(cells), self.weights(others))

    def bound(self, cells: Sequence[int], others: Sequence[int]) -> Fraction | None:
        return self.promised(*(self.classes[cell] for cell in (*cells, *others)))

    def named_by(self, column: int) -> int | None:
        return None

    @property
    def telling(self) -> Sequence[int]:
        found: dict[int, list[int]] = {}
        for cell, kind in enumerate(self.classes):
            found.setdefault(kind, []).append(cell)
        return sorted(cell for members in found.values() for cell in members[:2]) if len(found) > 1 else ()

    def weights(self, cells: Sequence[int]) -> Sequence[int]:
        (truth,) = cells
        return self.row(truth)

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        ((truth,), word) = cells, entropy.word()
        # The last column whose edge is at or before the word: one of weight zero has the edge of the next.
        return bisect_right(range(self.columns), word, key=lambda column: self.edge(truth, column)) - 1

    def probability(self, response: int, cells: Sequence[int]) -> Fraction:
        return Fraction(self.weights(cells)[response], self.span)

    def columns_hit(self, response: int) -> Iterable[int]:
        return (response,)

    def check(self, encoding: Carrier) -> None:
        if not encoding.own_cells:
            raise SurveyError(f"a table of weights must have a cell for every symbol, got {encoding.kind!r} cells")


def _largest(above: Sequence[int], below: Sequence[int]) -> Fraction | None:
    """The largest ratio of two rows, column by column; None where it is infinite.

    >>> _largest((6, 1, 1), (1, 1, 6)), _largest((1, 0), (0, 1)), _largest((0, 1), (0, 1))
    (Fraction(6, 1), None, Fraction(1, 1))
    """
    pairs: set[Any] = {pair for pair in zip(above, below, strict=True) if pair[0]}  # rows have few different weights
    return None if any(not low for _, low in pairs) else max(Fraction(*pair) for pair in pairs)


def running(weights: Sequence[int]) -> tuple[int, ...]:
    """The edges of a row: the sum of the weights before each column.

    >>> running((6, 1, 1))
    (0, 6, 7)
    """
    return (0, *accumulate(weights[:-1]))


def checked_entries(cells: int, columns: int) -> None:
    """Refuse a table that is too large."""
    if cells * columns > MAX_ENTRIES:
        raise SurveyError(
            f"answers times columns must be at most {MAX_ENTRIES} in a table, got {cells} times {columns}; "
            "use fewer answers"
        )
