"""A channel of any shape: a report names one column, drawn from a row of integer weights that the true cell chooses."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate

from deniable.errors import SurveyError
from deniable.mechanisms.base import Carrier, Mechanism
from deniable.mechanisms.odds import epsilon_text, verify
from deniable.noise import Entropy


class Channel(Mechanism):
    """One word in, one column out: `row(cell)` shares the 2**width words out among the columns, in their order.

    A family of channels states its rows; everything else follows from them. Its constructor ends with `check_rows`.

    Claim: Q(y|x) = row(x)[y] / 2**width, every word is used once, and the rows keep epsilon (`check_rows`).
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

    def check_rows(self) -> None:
        """Refuse rows that are not channels, or that spend more than epsilon."""
        rows = [self.row(cell) for cell in range(self.cells)]
        if any(len(row) != self.columns or min(row) < 1 or sum(row) != self.span for row in rows):
            raise SurveyError(
                f"every row of weights must be {self.columns} positive integers that add up to 2**{self.width}"
            )
        if not verify(rows, self.epsilon):
            raise SurveyError(
                f"weights of one column must have a ratio of at most e**{epsilon_text(self.epsilon)}, got more; "
                "move them closer together, or use a larger epsilon"
            )

    @property
    def columns(self) -> int:
        return len(self.row(0))

    @property
    def outputs(self) -> int:
        return self.columns

    @property
    def odds(self) -> Fraction:
        columns = zip(*(self.row(cell) for cell in range(self.cells)), strict=True)
        return max(Fraction(max(column), min(column)) for column in columns)

    def weights(self, cells: Sequence[int]) -> Sequence[int]:
        (truth,) = cells
        return self.row(truth)

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        word = entropy.word()
        # Every edge is compared, so that the work does not depend on the answer.
        return sum(word >= edge for edge in list(accumulate(self.weights(cells)))[:-1])

    def probability(self, response: int, cells: Sequence[int]) -> Fraction:
        return Fraction(self.weights(cells)[response], self.span)

    def columns_hit(self, response: int) -> Iterable[int]:
        return (response,)

    def check(self, encoding: Carrier) -> None:
        if not encoding.own_cells:
            raise SurveyError(f"a table of weights must have a cell for every symbol, got {encoding.kind!r} cells")
