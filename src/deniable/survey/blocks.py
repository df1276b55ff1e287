"""Block designs as encodings: each answer occupies a fixed number of cells, and any two share a fixed number.

Every answer x has a set S_x of s out of b cells; two sets of one block have l cells in common, sets of different blocks
none. A report names one cell, those of S_x more often than the others (`mechanisms.KRR`), so a report is log2(b) bits
and the number of reports in S_x estimates p_x. k-ary randomised response is s = 1, l = 0 (`Direct`). Such designs are
optimal, and only they are (Park, Nam and Lee 2023; Gentle 2025), when s / b is near 1 / (e**epsilon + 1).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms import check_size
from deniable.survey.alphabet import Alphabet
from deniable.survey.encodings import BlockEncoding

__all__ = ["Hadamard", "Projective", "is_prime"]

MAX_CELLS = 1 << 16  # cells, symbols or order of a block design, at most: a cell number has two bytes


def _check_alphabet(encoding: "Hadamard | Projective", alphabet: Alphabet) -> None:
    if alphabet.is_open or len(alphabet) != encoding.symbols:
        raise SurveyError(
            f"a block design of {encoding.symbols} symbols must have a closed alphabet of that many; "
            "use olh for open answers"
        )


@dataclass(frozen=True, slots=True)
class Hadamard(BlockEncoding):
    """Rows of a Hadamard matrix: symbol x stands in block x mod B, in row x div B + 1 of its matrix of 2**m rows.

    Its cells are the columns y of that block where the row is +1: where `row & y` has an even number of bits. Row 0,
    which is +1 throughout, is left out. Acharya, Sun and Zhang, AISTATS 2019.

    >>> Hadamard(symbols=3).encode(0, 0), Hadamard(symbols=3).encode(0, 2)
    ((0, 2), (0, 3))
    >>> Hadamard(symbols=5, blocks=2).cells, Hadamard(symbols=5, blocks=2).encode(0, 3)
    (8, (4, 5))
    """

    kind: ClassVar[str] = "hadamard"
    title: ClassVar[str] = "HR"
    is_design: ClassVar[bool] = True
    symbols: int
    blocks: int = 1
    cells: int = field(init=False)
    cohorts: int = field(default=1, init=False)
    hashes: int = field(init=False)

    def __post_init__(self) -> None:
        check_size("symbols", self.symbols, 2, MAX_CELLS)
        check_size("blocks", self.blocks, 1, 2 * self.symbols)
        size = 1 << (-(-self.symbols // self.blocks)).bit_length()  # the least power of two above the rows in use
        object.__setattr__(self, "cells", check_size("cells", self.blocks * size, 2, MAX_CELLS))
        object.__setattr__(self, "hashes", size // 2)

    @property
    def shared(self) -> int:
        return self.hashes // 2

    @property
    def words(self) -> str:
        return f"{self.cells} cells in {self.blocks} block" + "s" * (self.blocks > 1)

    def encode(self, cohort: int, key: int) -> tuple[int, ...]:
        row, block = key // self.blocks + 1, key % self.blocks
        size = 2 * self.hashes
        return tuple(block * size + y for y in range(size) if (row & y).bit_count() % 2 == 0)

    def check(self, alphabet: Alphabet) -> None:
        _check_alphabet(self, alphabet)

    def to_json(self) -> dict[str, object]:
        return {"kind": self.kind, "cells": self.cells, "blocks": self.blocks}


@dataclass(slots=True)  # not frozen: one is made for each report, and freezing it would cost more than the rest
class Stripe:
    """Cells from `first` on in periods of one length, each of which has one run of cells that a symbol occupies.

    >>> stripe = Stripe(first=3, below=1, periods=2, length=2, run=1, order=2, lead=0, inverse=1, digits=[1])
    >>> [stripe.start(period) for period in range(2)]
    [3, 6]
    """

    first: int
    below: int  # how many cells before `first` the symbol occupies
    periods: int
    length: int
    run: int
    order: int = 1
    lead: int = 0
    inverse: int = 0
    digits: Sequence[int] = ()  # of the symbol's point, last first, that meet the digits of a period's number

    def start(self, period: int) -> int:
        """The first cell of the run of a period: the digit there makes the product with the symbol's point zero."""
        dot, rest, order = self.lead, period, self.order
        for digit in self.digits:
            dot += rest % order * digit
            rest //= order
        return self.first + period * self.length + -dot * self.inverse % order * self.run

    def starts(self) -> list[int]:
        """The same for every period.

        >>> Stripe(first=3, below=1, periods=2, length=2, run=1, order=2, lead=0, inverse=1, digits=[1]).starts()
        [3, 6]
        """
        order, products = self.order, [self.lead]
        for digit in self.digits:  # each counts slower than those before it
            products = [product + times * digit for times in range(order) for product in products]
        offsets = [-product * self.inverse % order * self.run for product in range(order)]
        periods = range(self.first, self.first + self.periods * self.length, self.length)
        return [first + offsets[product % order] for first, product in zip(periods, products, strict=True)]


@dataclass(frozen=True, slots=True)
class Projective(BlockEncoding):
    """Hyperplanes of the projective space of dimension t - 1 over the integers mod a prime r.

    Points are vectors of t digits below r whose first digit that is not zero is 1, numbered in the order of the
    numbers that the digits spell; there are (r**t - 1) / (r - 1). Symbol x occupies the points that are orthogonal to
    point x: (r**(t-1) - 1) / (r - 1) of them, and two symbols share (r**(t-2) - 1) / (r - 1). Points past the alphabet
    are symbols that nobody has. Feldman, Nelson, Nguyen and Talwar, ICML 2022.

    >>> plane = Projective(symbols=7, order=2, dimension=3)                 # the Fano plane
    >>> [plane.encode(0, x) for x in range(3)]
    [(1, 3, 5), (0, 3, 4), (2, 3, 6)]
    """

    kind: ClassVar[str] = "projective"
    title: ClassVar[str] = "PGR"
    is_design: ClassVar[bool] = True
    symbols: int
    order: int
    dimension: int
    cells: int = field(init=False)
    cohorts: int = field(default=1, init=False)
    blocks: int = field(default=1, init=False)
    hashes: int = field(init=False)

    def __post_init__(self) -> None:
        check_size("symbols", self.symbols, 2, MAX_CELLS)
        check_size("order", self.order, 2, MAX_CELLS)
        check_size("dimension", self.dimension, 2, 16)
        if not is_prime(self.order):
            raise SurveyError(f"order must be a prime, got {self.order}")
        object.__setattr__(self, "cells", check_size("cells", self._points(self.dimension), 2, MAX_CELLS))
        object.__setattr__(self, "hashes", self._points(self.dimension - 1))
        if self.symbols > self.cells:
            raise SurveyError(
                f"symbols must be at most {self.cells}, the points of dimension {self.dimension} over {self.order}, "
                f"got {self.symbols}; use a larger order or dimension"
            )

    def _points(self, dimension: int) -> int:
        return int((self.order**dimension - 1) // (self.order - 1))

    @property
    def shared(self) -> int:
        return self._points(self.dimension - 2)

    def point(self, number: int) -> tuple[int, ...]:
        """The digits of point `number`, first digit first.

        >>> [Projective(symbols=4, order=3, dimension=2).point(i) for i in range(4)]
        [(0, 1), (1, 0), (1, 1), (1, 2)]
        """
        return tuple(reversed(self._digits(number)))

    def _digits(self, number: int) -> list[int]:
        """The digits of a point, last digit first."""
        r = self.order
        points = r ** (self.dimension - 1)
        while number < (points - 1) // (r - 1):  # its leading 1 is followed by fewer digits
            points //= r
        value, found = number - (points - 1) // (r - 1) + points, []
        for _ in range(self.dimension):
            value, digit = divmod(value, r)
            found.append(digit)
        return found

    def encode(self, cohort: int, key: int) -> tuple[int, ...]:
        cells: list[int] = []
        for stripe in reversed(list(self.stripes(key))):
            runs = stripe.starts()
            cells += runs if stripe.run == 1 else [cell for start in runs for cell in range(start, start + stripe.run)]
        return tuple(cells)

    def stripes(self, key: int) -> "Iterator[Stripe]":
        """The cells of a symbol without listing them: as many stripes as there are digits, the last one first.

        Parameters
        ----------
        key : int
            The symbol.

        Examples
        --------
        >>> for stripe in Projective(symbols=7, order=2, dimension=3).stripes(2):
        ...     print(stripe.first, stripe.below, stripe.periods, stripe.length, stripe.run)
        3 1 2 2 1
        1 0 1 2 1
        0 0 1 1 0
        """
        r, x = self.order, self._digits(key)
        after = 0  # zeros after the last digit that counts
        while not x[after]:
            after += 1
        run, inverse = r**after, pow(x[after], -1, r)
        points = r ** (self.dimension - 1)  # whose leading 1 is followed by `m` digits
        for m in range(self.dimension - 1, -1, -1):
            first = (points - 1) // (r - 1)
            if m > after:
                # Every choice of the digits before the last one that counts determines that one; those after it are
                # free. So cells come in order: a later digit never decides an earlier one.
                periods, below = points // (r * run), (points // r - 1) // (r - 1)
                yield Stripe(first, below, periods, r * run, run, r, x[m], inverse, x[after + 1 : m])
            else:
                yield Stripe(first, first, 1, points, 0 if x[m] else points)
            points //= r

    def check(self, alphabet: Alphabet) -> None:
        _check_alphabet(self, alphabet)

    def to_json(self) -> dict[str, object]:
        return {"kind": self.kind, "cells": self.cells, "order": self.order, "dimension": self.dimension}


def is_prime(number: int) -> bool:
    """Whether `number` is a prime.

    >>> [n for n in range(20) if is_prime(n)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
