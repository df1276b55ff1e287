"""Subset selection: name w of the k cells, a set that holds the true one more often than not.

Wang and others 2016; Ye and Barg 2018. It has the least squared error, at w near k / (1 + e**epsilon),
and it is k-ary randomised response at w = 1. It is the block design of all w-subsets, whose responses are too many to
count one by one: a tally keeps how often each cell was in the set, which is not sufficient but all that the estimate
needs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms.base import Carrier, HitOrMiss, check_size
from deniable.mechanisms.krr import KRR
from deniable.mechanisms.odds import other_weight, parse_epsilon
from deniable.noise import Entropy

_FEW_FOR_ONE = (
    8  # places for one that is drawn, up to which listing all of them is faster than keeping those that moved
)


class _Unmoved(dict[int, int]):
    """The numbers 0, 1, 2, ... without one of them, in their places but for those that have moved."""

    __slots__ = ("without",)

    def __init__(self, without: int) -> None:
        self.without = without

    def __missing__(self, place: int) -> int:
        return place + (place >= self.without)


@dataclass(frozen=True, slots=True, init=False)
class Subset(HitOrMiss):
    """One word decides whether the set holds the true cell (it does below `inside`); the others are drawn at random.

    The w other cells are always drawn, one after the other without replacement, and the last gives way to the true one
    where that is in the set, so the work does not depend on the answer. A drawn word is rejected, and another one
    drawn, with probability below cells / 2**64, whatever the answer is.

    Claim: a set y of w cells has probability inside / 2**width / C(k-1, w-1) if it holds the true cell x and
        (1 - inside / 2**width) / C(k-1, w) if not, and the ratio of the two is at most e**epsilon.
    Proof: tests/exact/test_subset.py::test_law_of_the_bytes_is_the_published_channel

    Parameters
    ----------
    cells : int
        The number of cells, at least 2.
    epsilon : float, str or Fraction
        The privacy budget, in nats.
    size : int
        How many cells a report names.
    width : int
        Bits of a random word; fewer than 64 for proofs by enumeration.

    Examples
    --------
    >>> m = Subset(cells=5, epsilon=1, size=2, width=8)
    >>> m.inside, m.odds
    (164, Fraction(123, 46))
    """

    kind: ClassVar[str] = "subset"
    again_fields: ClassVar[tuple[str, ...]] = ("report_keep",)
    cells: int
    epsilon: Fraction
    size: int
    width: int
    inside: int = field(repr=False)

    def __init__(self, cells: int, epsilon: object, size: int, width: int = 64) -> None:
        put = object.__setattr__
        put(self, "cells", check_size("cells", cells, 2, 1 << 16))
        put(self, "epsilon", parse_epsilon(epsilon))
        put(self, "size", check_size("size", size, 1, self.cells - 1))
        put(self, "width", check_size("width", width, 1, 64))
        # P(true cell is left out) = (k - w) / (w e**epsilon + k - w), rounded up.
        rest = self.cells - self.size
        put(self, "inside", (1 << self.width) - other_weight(self.epsilon, self.cells, self.width, self.size, rest))
        if self.odds < 1:
            raise SurveyError(
                f"size must leave room for {self.width}-bit words at epsilon {float(self.epsilon):g}, got {self.size} "
                f"of {self.cells} cells; use a larger epsilon"
            )
        self._check_resolution()

    @property
    def outputs(self) -> int:
        return 1 << self.cells

    @property
    def hits(self) -> int:
        return self.size

    @property
    def hit(self) -> Fraction:
        return Fraction(self.inside, 1 << self.width)

    @property
    def miss(self) -> Fraction:
        return (self.hit * (self.size - 1) + (1 - self.hit) * self.size) / (self.cells - 1)

    def pairs_of(self, hit: Fraction, miss: Fraction) -> tuple[Fraction, Fraction]:
        k, w = self.cells, self.size
        # Two given cells of k - 1 are both among the w - 1 (or w) that are drawn.
        neither = hit * (w - 1) * (w - 2) + (1 - hit) * w * (w - 1)
        return neither / max((k - 1) * (k - 2), 1), hit * Fraction(w - 1, k - 1)

    def odds_of(self, hit: Fraction, miss: Fraction) -> Fraction:
        return hit / (1 - hit) * Fraction(self.cells - self.size, self.size)

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,) = cells
        word = entropy.word()
        drawn = self._drawn(truth, entropy)
        if word < self.inside:
            drawn[-1] = truth
        return _bits(drawn)

    def _drawn(self, without: int, entropy: Entropy) -> list[int]:
        """w distinct cells other than `without`, which may be none of them: a shuffle that stops after w steps."""
        among = self.cells - (without < self.cells)
        # Which of the two it is depends on the survey alone; they hold the same numbers.
        few = among <= _FEW_FOR_ONE * self.size
        places = [*range(without), *range(without + 1, self.cells)] if few else _Unmoved(without)
        drawn = []
        for step, beyond in enumerate(entropy.falling_below(among, self.size)):
            place = step + beyond
            drawn.append(places[place])
            places[place] = places[step]  # the place of this step is not looked at again
        return drawn

    def allows(self, response: int) -> bool:
        return 0 <= response < self.outputs and response.bit_count() == self.size

    def probability_of(self, response: int, cells: Sequence[int], hit: Fraction, miss: Fraction) -> Fraction:
        (truth,) = cells
        if not self.allows(response):
            return Fraction(0)
        if response >> truth & 1:
            return hit / comb(self.cells - 1, self.size - 1)
        return (1 - hit) / comb(self.cells - 1, self.size)

    def thresholds(self) -> dict[str, int]:
        return {"inside": self.inside}

    @property
    def again_parts(self) -> int:
        return 1

    @property
    def blind(self) -> Fraction:
        return Fraction(self.size, self.cells)

    def again_thresholds(self, again: int) -> tuple[int, ...]:
        return ((1 << self.width) - again,)

    def randomize_again(self, response: int, again: int, entropy: Entropy) -> int:
        # The other set is drawn whether or not it is sent, so that the work does not depend on it.
        word = entropy.word()
        other = _bits(self._drawn(self.cells, entropy))
        return response if word < self.again_thresholds(again)[0] else other

    def title(self, *, own_cells: bool) -> str:
        return "SS"

    @property
    def words(self) -> str:
        return f"sets of {self.size}"

    def settings(self) -> dict[str, object]:
        return {"size": self.size}

    def rebudgeted(self, epsilon: Fraction, encoding: Carrier) -> HitOrMiss:
        # The best size follows the budget: near k / (e**epsilon + 1). Sets of one cell are k-ary randomised response.
        size = max(1, round(encoding.cells / (math.exp(epsilon) + 1)))
        return (
            KRR(encoding.cells, epsilon, self.width) if size == 1 else Subset(encoding.cells, epsilon, size, self.width)
        )

    def check(self, encoding: Carrier) -> None:
        if not encoding.own_cells:
            raise SurveyError(f"subset selection must have a cell for every symbol, got {encoding.kind!r} cells")


def _bits(cells: Sequence[int]) -> int:
    """The number with these bits, each of which is given once.

    >>> _bits([0, 3])
    9
    """
    return sum(map((1).__lshift__, cells))
