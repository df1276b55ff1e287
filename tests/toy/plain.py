"""mechanisms/<name>.py: one cell of a list, the true one more often; k-RR once more, with nothing taken from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms import Carrier, HitOrMiss, parse_epsilon
from deniable.mechanisms.odds import other_weight
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True, init=False)
class Plain(HitOrMiss):
    """Each cell that is not true has the weight `other`, the true one the rest. It has no second stage."""

    kind: ClassVar[str] = "plain"
    cells: int
    epsilon: Fraction
    width: int
    other: int = field(repr=False)

    def __init__(self, cells: int, epsilon: object) -> None:
        put = object.__setattr__
        put(self, "cells", cells)
        put(self, "epsilon", parse_epsilon(epsilon))
        put(self, "width", 64)
        put(self, "other", other_weight(self.epsilon, cells, 64))

    @property
    def outputs(self) -> int:
        return self.cells

    @property
    def hit(self) -> Fraction:
        return 1 - (self.cells - 1) * self.miss

    @property
    def miss(self) -> Fraction:
        return Fraction(self.other, 2**64)

    def odds_of(self, hit: Fraction, miss: Fraction) -> Fraction:
        return hit / miss

    def pairs_of(self, hit: Fraction, miss: Fraction) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(0)

    def probability_of(self, response: int, cells: Sequence[int], hit: Fraction, miss: Fraction) -> Fraction:
        return hit if response in cells else miss

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        block = entropy.word() // self.other  # those past the others are the true cell's
        return cells[0] if block >= self.cells - 1 else block + (block >= cells[0])

    def columns_hit(self, response: int) -> Iterable[int]:
        return (response,)

    def thresholds(self) -> dict[str, int]:
        return {"other": self.other}

    def title(self, *, own_cells: bool) -> str:
        return "Plain"

    def check(self, encoding: Carrier) -> None:
        if not encoding.own_cells:
            raise SurveyError(f"a plain survey must have a cell for every symbol, got {encoding.kind!r} cells")
