"""Answers in an order: each occupies its own cell and those of its neighbours, so a report is likely near the truth.

With d answers and a reach of w there are d + 2 w cells, and answer x occupies the cells x to x + 2 w. Under
`mechanisms.KRR` with 2 w + 1 true cells this is the square wave mechanism (Li, Wang, Lopuhaä-Zwakenberg, Li and Škorić,
SIGMOD 2020) on bins. It is no block design: how many cells two answers share depends on how near they are. Not to be
confused with the windows of time in which people answer (`survey.participation`).
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms import check_size
from deniable.survey.alphabet import Alphabet
from deniable.survey.blocks import MAX_CELLS
from deniable.survey.encodings import Encoding

__all__ = ["Neighbours", "best_reach"]


@dataclass(frozen=True, slots=True)
class Neighbours(Encoding):
    """Answer x of a closed alphabet occupies the cells x to x + 2 `reach`; one cohort.

    >>> encoding = Neighbours(symbols=4, reach=1)
    >>> encoding.cells, [encoding.encode(0, x) for x in range(4)]
    (6, [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5)])
    """

    kind: ClassVar[str] = "neighbours"
    title: ClassVar[str] = "SW"
    is_design: ClassVar[bool] = True
    is_ordered: ClassVar[bool] = True
    symbols: int
    reach: int
    cells: int = field(init=False)
    cohorts: int = field(default=1, init=False)
    hashes: int = field(init=False)
    _every: tuple[int, ...] = field(init=False, repr=False, compare=False)  # all cells: a part of it is copied faster

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", check_size("symbols", self.symbols, 2, MAX_CELLS))
        object.__setattr__(self, "reach", check_size("reach", self.reach, 0, MAX_CELLS // 2))
        object.__setattr__(self, "cells", check_size("cells", self.symbols + 2 * self.reach, 2, MAX_CELLS))
        object.__setattr__(self, "hashes", 2 * self.reach + 1)
        object.__setattr__(self, "_every", tuple(range(self.cells)))

    @property
    def occupied(self) -> int:
        return self.hashes

    @property
    def words(self) -> str:
        return f"{self.cells} cells"

    def rebudgeted(self, before: Fraction, epsilon: Fraction) -> "Neighbours":
        best = self.reach == best_reach(self.symbols, before)
        return Neighbours(self.symbols, best_reach(self.symbols, epsilon)) if best else self

    def encode(self, cohort: int, key: int) -> tuple[int, ...]:
        return self._every[key : key + self.hashes]

    def check(self, alphabet: Alphabet) -> None:
        if alphabet.is_open or len(alphabet) != self.symbols:
            raise SurveyError(
                f"neighbours of {self.symbols} symbols must have a closed alphabet of that many, in order"
            )

    def to_json(self) -> dict[str, object]:
        return {"kind": self.kind, "cells": self.cells, "reach": self.reach}


def best_reach(symbols: int, epsilon: Fraction) -> int:
    """The reach that tells most about an answer, for `symbols` answers in an order.

    The width that maximises the mutual information of answer and report is 2 b of the range, with
    b = (epsilon e - e + 1) / (2 e (e - 1 - epsilon)), e standing for e**epsilon (SIGMOD 2020). Variances of shares and
    means are smallest within a factor of two of it (docs/results/numbers.md). The words of `KRR` can be shared out
    evenly only if 2 w + 1 and d - 1 have no common divisor, so the nearest such reach is taken.

    >>> [best_reach(256, Fraction(e)) for e in (1, 2, 4)], best_reach(5, Fraction(3)), best_reach(2, Fraction(1))
    ([66, 33, 9], 0, 0)
    """
    if symbols == 2:  # of two answers each is the other's neighbour: sharing cells would only hide which it is
        return 0
    e = float(min(epsilon, Fraction(40)))
    # b tends to 1/2 where epsilon tends to zero; below 0.01 the differences would lose their digits.
    b = 0.5 if e < 0.01 else (e * math.exp(e) - math.exp(e) + 1) / (2 * math.exp(e) * (math.exp(e) - 1 - e))
    most = max((MAX_CELLS - symbols) // 2, 0)
    wanted = min(b * symbols, most)
    fitting = (w for w in range(min(symbols, most) + 1) if math.gcd(2 * w + 1, symbols - 1) == 1)
    return min(fitting, key=lambda w: abs(w - wanted))
