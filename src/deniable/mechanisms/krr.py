"""k-ary randomised response: name one cell, each true one with weight A, each other one with weight B.

Paper: section 4.1, `eq:rr`; with two cells it is Warner's response, `eq:warner_response`. There one cell is true. In a
block design (`survey.blocks`) s of the b cells are, and the same words, thresholds and proof serve: this is the sampler
of k-RR, Hadamard response and projective geometry response alike. Not to be confused with the survey preset
`deniable.krr`, which binds this channel to an alphabet.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms.base import Carrier, HitOrMiss, check_size
from deniable.mechanisms.odds import other_weight, parse_epsilon
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True, init=False)
class KRR(HitOrMiss):
    """One word in, one cell out: s blocks of A words name the true cells, then b - s blocks of B the other cells.

    Paper: Eq. (4), `eq:rr`, for s = 1.
    Claim: Q(y|x) = A / 2**width for the s true cells y and B / 2**width for the others, every word is used once, and
        A / B <= e**epsilon.
    Proof: tests/exact/test_krr.py::test_law_of_the_bytes_is_the_published_channel

    Parameters
    ----------
    cells : int
        The number of cells, at least 2.
    epsilon : float, str or Fraction
        The privacy budget, in nats.
    width : int
        Bits of a random word; fewer than 64 for proofs by enumeration.
    occupied : int
        How many cells are true: 1, or s in a block design.

    Examples
    --------
    >>> m = KRR(cells=10, epsilon=1)
    >>> m.keep, m.other
    (4279078617824395096, 1574185050653906280)
    >>> m.keep + 9 * m.other == 2**64
    True
    >>> m = KRR(cells=7, epsilon=1, occupied=3)
    >>> 3 * m.keep + 4 * m.other == 2**64
    True
    """

    kind: ClassVar[str] = "krr"
    again_fields: ClassVar[tuple[str, ...]] = ("report_keep", "report_other")
    cells: int
    epsilon: Fraction
    width: int
    occupied: int
    keep: int = field(repr=False)
    other: int = field(repr=False)

    def __init__(self, cells: int, epsilon: object, width: int = 64, *, occupied: int = 1) -> None:
        put = object.__setattr__
        put(self, "cells", check_size("cells", cells, 2, 1 << 24))
        put(self, "epsilon", parse_epsilon(epsilon))
        put(self, "width", check_size("width", width, 1, 64))
        put(self, "occupied", check_size("occupied", occupied, 1, self.cells - 1))
        s, rest, span = self.occupied, self.cells - self.occupied, 1 << self.width
        common = gcd(s, rest)
        if span % common:
            raise SurveyError(
                f"occupied cells and cells must share no divisor but powers of two up to 2**{self.width}, got {s} of "
                f"{self.cells}; the words could not be shared out evenly"
            )
        # s A + (b - s) B = 2**width has integer solutions B in one class modulo s / gcd(s, b - s); the first one at or
        # past the least weight that keeps the promise loses less than s words of it.
        least, step = other_weight(self.epsilon, self.cells, self.width, s), s // common
        solution = span // common * pow(rest // common, -1, step)
        put(self, "other", least + (solution - least) % step)
        put(self, "keep", (span - rest * self.other) // s)
        if self.keep < self.other:
            raise SurveyError(
                f"cells must leave room for {self.width}-bit words at epsilon {float(self.epsilon):g}, "
                f"got {self.cells}; use fewer cells or a larger epsilon"
            )
        self._check_resolution()

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
    def affine(self) -> tuple[float, float]:
        # The same numbers without fractions, which take longer than the rest of a small simulation or decode.
        return self.other / (1 << self.width), (self.keep - self.other) / (1 << self.width)

    def pairs_of(self, hit: Fraction, miss: Fraction) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(0)

    def odds_of(self, hit: Fraction, miss: Fraction) -> Fraction:
        return hit / miss

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        if len(cells) != self.occupied:
            raise RuntimeError(f"an answer must occupy {self.occupied} cells, got {len(cells)}")
        word = entropy.word()
        inside = self.occupied * self.keep
        if word < inside:
            return cells[word // self.keep]
        # s A + (b - s) B = 2**width, so the block number is below b - s. It counts the cells that are not true: it
        # steps over each true cell that has at most that many others below it.
        block = (word - inside) // self.other
        if self.occupied == 1:
            return block + (block >= cells[0])
        return block + bisect_right(range(len(cells)), block, key=lambda place: cells[place] - place)

    def probability_of(self, response: int, cells: Sequence[int], hit: Fraction, miss: Fraction) -> Fraction:
        return hit if response in cells else miss

    def columns_hit(self, response: int) -> Iterable[int]:
        return (response,)

    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep, "other": self.other}

    @property
    def again_parts(self) -> int:
        return self.cells

    def again_thresholds(self, again: int) -> tuple[int, ...]:
        return (1 << self.width) - (self.cells - 1) * again, again

    def randomize_again(self, response: int, again: int, entropy: Entropy) -> int:
        word, (keep, other) = entropy.word(), self.again_thresholds(again)
        if word < keep:
            return response
        block = (word - keep) // other
        return block + (block >= response)

    def title(self, *, own_cells: bool) -> str:
        return "O-RR" if not own_cells else "W-RR" if self.cells == 2 else "k-RR"

    def rebudgeted(self, epsilon: Fraction, encoding: Carrier) -> "KRR":
        return KRR(encoding.cells, epsilon, self.width, occupied=encoding.occupied or 1)

    def check(self, encoding: Carrier) -> None:
        if encoding.occupied is None:
            raise SurveyError(
                f"hashes must be 1 for k-ary randomised response, got {encoding.hashes}; use orappor for Bloom filters"
            )
        if encoding.occupied != self.occupied:
            raise SurveyError(
                f"every answer must occupy as many cells as the mechanism expects, {self.occupied}, got "
                f"{encoding.occupied}"
            )
