"""Independent bit flips over k bits: the randomiser of RAPPOR, and of optimised unary encoding (OUE).

Paper: section 4.2. The paper flips each bit of a one-hot vector with probability 1 / (1 + e**(epsilon / 2)) because two
one-hot vectors differ in two bits. Two Bloom filters of h hashes differ in up to b = min(2h, k) bits, so each bit gets
epsilon / b; the paper is silent about this, and epsilon / 2 per bit at h > 1 would spend h times the budget.

OUE (Wang, Blocki, Li and Jha, USENIX Security 2017) flips the bits of a one-hot vector unevenly: the set bit is cleared
half of the time, so that it alone says nothing, and the whole budget goes to the many bits that are not set.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms.base import Carrier, HitOrMiss, check_size
from deniable.mechanisms.odds import other_weight, parse_epsilon
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True, init=False)
class BitFlip(HitOrMiss):
    """k words in, k bits out: an empty bit is set when its own fresh word is below `flip`, a set one is cleared when it
    is below `clear`; the two are the same integer unless the flips are `optimized`.

    Paper: section 4.2; delta = flip / 2**width.
    Claim: bits are independent given the input, and ((1 - delta) / delta)**distance <= e**epsilon; if optimized,
        clear = 2**width / 2 and (1 - delta) / delta <= e**epsilon, which is the whole ratio of two one-hot vectors.
    Proof: tests/exact/test_bitflip.py::test_law_of_the_bytes_is_the_published_channel

    Parameters
    ----------
    cells : int
        The number of cells, at least 2.
    epsilon : float, str or Fraction
        The privacy budget, in nats.
    distance : int
        In how many bits two answers can differ: 2, or min(2h, k) with h hash functions.
    width : int
        Bits of a random word; fewer than 64 for proofs by enumeration.
    optimized : bool
        Whether to flip unevenly, as OUE does.

    Examples
    --------
    >>> m = BitFlip(cells=3, epsilon=2, width=5)     # delta nearest above 1 / (1 + e)
    >>> m.flip, m.odds, m.outputs
    (9, Fraction(529, 81), 8)
    >>> m = BitFlip(cells=3, epsilon=2, width=5, optimized=True)
    >>> m.flip, m.clear, m.odds
    (4, 16, Fraction(7, 1))
    """

    kind: ClassVar[str] = "bitflip"
    again_fields: ClassVar[tuple[str, ...]] = ("report_flip",)
    cells: int
    epsilon: Fraction
    distance: int
    width: int
    optimized: bool
    flip: int = field(repr=False)
    clear: int = field(repr=False)

    def __init__(
        self, cells: int, epsilon: object, distance: int = 2, width: int = 64, *, optimized: bool = False
    ) -> None:
        put = object.__setattr__
        put(self, "cells", check_size("cells", cells, 2, 1 << 16))
        put(self, "epsilon", parse_epsilon(epsilon))
        put(self, "distance", check_size("distance", distance, 1, self.cells))
        put(self, "width", check_size("width", width, 1, 64))
        put(self, "optimized", bool(optimized))
        if self.optimized and self.distance != 2:
            raise SurveyError(
                f"distance must be 2 for optimised bit flips, got {self.distance}; use even flips for Bloom filters"
            )
        # A single bit is k-RR on two cells at epsilon / b, so its threshold is the same integer. Where the set bit is
        # cleared half of the time its ratios cancel, and the empty bits have all of epsilon.
        share = self.epsilon if self.optimized else self.epsilon / self.distance
        put(self, "flip", other_weight(share, 2, self.width))
        put(self, "clear", 1 << self.width - 1 if self.optimized else self.flip)
        if 2 * self.flip > 1 << self.width:
            raise SurveyError(
                f"epsilon must leave room for {self.width}-bit words, got {float(self.epsilon):g} over "
                f"{self.distance} bits; use a larger epsilon or fewer hashes"
            )
        self._check_resolution()

    @property
    def outputs(self) -> int:
        return 1 << self.cells

    @property
    def hit(self) -> Fraction:
        return 1 - Fraction(self.clear, 1 << self.width)

    @property
    def miss(self) -> Fraction:
        return Fraction(self.flip, 1 << self.width)

    def pairs_of(self, hit: Fraction, miss: Fraction) -> tuple[Fraction, Fraction]:
        return miss**2, hit * miss

    def odds_of(self, hit: Fraction, miss: Fraction) -> Fraction:
        if self.optimized:
            return hit / miss * ((1 - miss) / (1 - hit))
        return (hit / miss) ** self.distance

    def ratio_of(self, cells: Sequence[int], others: Sequence[int], hit: Fraction, miss: Fraction) -> Fraction:
        # Bits are independent, and each that only one of the two answers has contributes the larger of its two ratios.
        mine, theirs = (len(set(a) - set(b)) for a, b in ((cells, others), (others, cells)))
        return max(hit / miss, (1 - hit) / (1 - miss)) ** mine * max(miss / hit, (1 - miss) / (1 - hit)) ** theirs

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        truth = 0
        for cell in cells:
            truth |= 1 << cell
        return self._flipped(truth, (self.flip, self.clear), entropy)

    def _flipped(self, bits: int, thresholds: tuple[int, int], entropy: Entropy) -> int:
        """Each bit flipped where its own word is below a threshold: the first for an empty bit, else the second."""
        words = entropy.words(self.cells)
        if len(words) != self.cells:
            raise RuntimeError(f"entropy must give one word per bit, got {len(words)} for {self.cells} bits")
        flips = 0
        for position, word in enumerate(words):
            if word < thresholds[bits >> position & 1]:
                flips |= 1 << position
        return flips ^ bits

    def probability_of(self, response: int, cells: Sequence[int], hit: Fraction, miss: Fraction) -> Fraction:
        truth = 0
        for cell in cells:
            truth |= 1 << cell
        occupied, kept = truth.bit_count(), (response & truth).bit_count()
        risen = (response & ~truth).bit_count()
        of_truth = hit**kept * (1 - hit) ** (occupied - kept)
        return of_truth * miss**risen * (1 - miss) ** (self.cells - occupied - risen)

    def thresholds(self) -> dict[str, int]:
        return {"flip": self.flip, "clear": self.clear} if self.optimized else {"flip": self.flip}

    @property
    def again_parts(self) -> int:
        return 2

    def again_thresholds(self, again: int) -> tuple[int, ...]:
        return (again,)

    def randomize_again(self, response: int, again: int, entropy: Entropy) -> int:
        return self._flipped(response, (again, again), entropy)

    def title(self, *, own_cells: bool) -> str:
        if own_cells:
            return "OUE" if self.optimized else "k-RAPPOR"
        return "O-OUE" if self.optimized else "O-RAPPOR"

    def rebudgeted(self, epsilon: Fraction, encoding: Carrier) -> "BitFlip":
        differ = min(2 * encoding.hashes, encoding.cells)
        return BitFlip(encoding.cells, epsilon, differ, self.width, optimized=self.optimized)

    def check(self, encoding: Carrier) -> None:
        differ = min(2 * encoding.hashes, encoding.cells)
        if self.distance != differ:
            raise SurveyError(
                f"distance must be min(2 * hashes, cells) = {differ}, got {self.distance}; "
                "two answers can differ in that many bits"
            )
