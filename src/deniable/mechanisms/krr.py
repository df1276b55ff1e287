"""k-ary randomised response: keep the true cell with weight A, name each other cell with weight B.

Paper: section 4.1, `eq:rr`; with two cells it is Warner's response, `eq:warner_response`. Not to be confused with the
survey preset `deniable.krr`, which binds this channel to an alphabet.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism, check_size
from deniable.mechanisms.odds import other_weight, parse_epsilon
from deniable.noise import Entropy

__all__ = ["KRR"]


@dataclass(frozen=True, slots=True, init=False)
class KRR(Mechanism):
    """One word in, one cell out: `[0, A)` keeps the truth, then k - 1 blocks of B name the other cells.

    Paper: Eq. (4), `eq:rr`.
    Claim: Q(x|x) = A / 2**width, Q(y|x) = B / 2**width, every word is used once, and A / B <= e**epsilon.
    Proof: tests/exact/test_krr.py::test_law_of_the_bytes_is_the_published_channel

    >>> m = KRR(cells=10, epsilon=1)
    >>> m.keep, m.other
    (4279078617824395096, 1574185050653906280)
    >>> m.keep + 9 * m.other == 2**64
    True
    """

    kind: ClassVar[str] = "krr"
    cells: int
    epsilon: Fraction
    width: int
    keep: int = field(repr=False)
    other: int = field(repr=False)

    def __init__(self, cells: int, epsilon: object, width: int = 64) -> None:
        put = object.__setattr__
        put(self, "cells", check_size("cells", cells, 2, 1 << 24))
        put(self, "epsilon", parse_epsilon(epsilon))
        put(self, "width", check_size("width", width, 1, 64))
        put(self, "other", other_weight(self.epsilon, self.cells, self.width))
        put(self, "keep", (1 << self.width) - (self.cells - 1) * self.other)
        if self.keep < self.other:
            raise SurveyError(
                f"cells must leave room for {self.width}-bit words at epsilon {float(self.epsilon):g}, "
                f"got {self.cells}; use fewer cells or a larger epsilon"
            )
        self._check_resolution()

    @property
    def columns(self) -> int:
        return self.cells

    @property
    def outputs(self) -> int:
        return self.cells

    @property
    def hit(self) -> Fraction:
        return Fraction(self.keep, 1 << self.width)

    @property
    def miss(self) -> Fraction:
        return Fraction(self.other, 1 << self.width)

    @property
    def odds(self) -> Fraction:
        return Fraction(self.keep, self.other)

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,) = cells
        word = entropy.word()
        if word < self.keep:
            return truth
        # A + (k - 1) * B = 2**width, so the block number is below k - 1; blocks at or past the truth step over it.
        block = (word - self.keep) // self.other
        return block + (block >= truth)

    def probability(self, response: int, cells: Sequence[int]) -> Fraction:
        (truth,) = cells
        return self.hit if response == truth else self.miss

    def columns_hit(self, response: int) -> Iterable[int]:
        return (response,)

    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep, "other": self.other}
