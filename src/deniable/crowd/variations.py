"""How different the reports of two answers can be, for each kind of mechanism: what a certificate starts from.

Two numbers bound every pair of answers: the largest ratio of their reports' chances (`Mechanism.odds`) and their total
variation. Two crowds are never further apart than those of the extreme pair that has both (Wang and others, *Privacy
Amplification via Shuffling: Unified, Simplified, and Tightened*, 2024); `Variation.extreme` is that pair. `attained`
are pairs that really occur: what can be told from them bounds the truth from below.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from deniable.crowd.divergence import Pair
from deniable.mechanisms import KRR, BitFlip, Channel, Mechanism, Registry, Subset
from deniable.survey import Survey
from deniable.survey.encodings import Encoding

_COMPARED = 64  # answers that are looked at for pairs that occur: the first ones


@dataclass(frozen=True, slots=True)
class Variation:
    """What any two answers' reports may differ by.

    Parameters
    ----------
    odds : Fraction
        The largest ratio of their chances.
    distance : Fraction
        The largest total variation between them, or a bound of it.
    attained : tuple of Pair
        Pairs of answers, with what the others say, that occur.

    Examples
    --------
    >>> import deniable as dn
    >>> variation = variation_of(dn.krr(symbols=10, epsilon=1))
    >>> variation.distance == variation.odds / (variation.odds + 9) - 1 / (variation.odds + 9)
    True
    >>> variation.extreme(1) == variation.attained[0]       # nothing is lost for k-RR of three answers or more
    True
    """

    odds: Fraction
    distance: Fraction
    attained: tuple[Pair, ...]

    def extreme(self, cohorts: int) -> Pair:
        """The pair that no other is further apart than: all else is given to whoever looks.

        Parameters
        ----------
        cohorts : int
            Cohorts of the survey: others hide the person only where they are in the same one.
        """
        alpha = self.distance / (self.odds - 1)
        return Pair((self.odds * alpha, alpha), (alpha, self.odds * alpha), (alpha / cohorts, alpha / cohorts))


Entry = Callable[[Mechanism, Encoding], tuple[Fraction, tuple[Pair, ...]]]

variations = Registry[Entry]("deniable.crowd.variations", Mechanism, "bound of the variation of two answers' reports")


def variation_of(survey: Survey) -> Variation:
    """What two answers to a survey can differ by in one report.

    Parameters
    ----------
    survey : Survey
        The survey.

    Examples
    --------
    >>> import deniable as dn
    >>> float(variation_of(dn.warner(epsilon=1)).distance)
    0.46211715726000973
    """
    mechanism = survey.mechanism
    distance, attained = variations.of(mechanism.permanent)(mechanism, survey.encoding)
    return Variation(mechanism.odds, distance, attained)


def _swapped(pair: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    return pair[1], pair[0]


@variations.add(KRR, Subset)
def _one_cell(mechanism: Mechanism, encoding: Encoding) -> tuple[Fraction, tuple[Pair, ...]]:
    """Reports that hold the first answer's cells and not the second's, or the other way round."""
    if encoding.occupied != 1:
        return _designs(mechanism, encoding)
    neither, either = mechanism.pairs
    mine, others = (mechanism.hit - either, mechanism.miss - either), mechanism.miss - neither
    # A third answer speaks for neither, where there is one; or the others give the second answer.
    arounds = [(others, others)] * (mechanism.cells > 2) + [_swapped(mine)]
    return mechanism.hit - mechanism.miss, tuple(Pair(mine, _swapped(mine), around) for around in arounds)


def _designs(mechanism: Mechanism, encoding: Encoding) -> tuple[Fraction, tuple[Pair, ...]]:
    """Answers with several cells each: they differ in at most as many as they have, or as there are others."""
    occupied, shared = encoding.occupied or 1, encoding.shared
    several = getattr(encoding, "blocks", 1) > 1
    differ = occupied - shared if shared is not None and not several else min(occupied, encoding.cells - occupied)
    count = min(_COMPARED, getattr(encoding, "symbols", encoding.cells))
    sets = [frozenset(encoding.encode(0, key)) for key in range(count)]
    first, second = max(((sets[0], each) for each in sets[1:]), key=lambda two: len(two[0] - two[1]))
    found = len(first - second)
    mine = (found * mechanism.hit, found * mechanism.miss)

    def around(cells: frozenset[int]) -> tuple[Fraction, Fraction]:
        hits = [len(side & cells) for side in (first - second, second - first)]
        one, two = (each * mechanism.hit + (found - each) * mechanism.miss for each in hits)
        return one, two

    rivals = {around(each) for each in sets if each != first}
    return differ * (mechanism.hit - mechanism.miss), tuple(Pair(mine, _swapped(mine), each) for each in rivals)


@variations.add(BitFlip)
def _bits(mechanism: Mechanism, encoding: Encoding) -> tuple[Fraction, tuple[Pair, ...]]:
    """Bits of a Bloom filter: those that two answers do not share are more often like the one or like the other."""
    if encoding.hashes == 1:
        return _one_cell(mechanism, encoding)
    hit, differ = mechanism.hit, min(2 * encoding.hashes, encoding.cells)

    def like(agreeing: int, against: int) -> tuple[Fraction, Fraction]:
        """P(most differing bits are the first answer's), P(most are the second's), with so many of them either way."""
        total = agreeing + against
        law = [Fraction(0)] * (total + 1)
        for i in range(agreeing + 1):
            for j in range(against + 1):
                law[i + j] += (
                    comb(agreeing, i)
                    * hit**i
                    * (1 - hit) ** (agreeing - i)
                    * comb(against, j)
                    * (1 - hit) ** j
                    * hit ** (against - j)
                )
        return sum(law[total // 2 + 1 :], Fraction(0)), sum(law[: (total + 1) // 2], Fraction(0))

    mine = like(differ, 0)
    arounds = [_swapped(mine)] + [like(differ // 2, differ - differ // 2)] * (encoding.cells > differ)
    return mine[0] - mine[1], tuple(Pair(mine, _swapped(mine), around) for around in arounds)


@variations.add(Channel)
def _rows(mechanism: Mechanism, encoding: Encoding) -> tuple[Fraction, tuple[Pair, ...]]:
    """Rows of weights: the two that are furthest apart."""
    span, cells = mechanism.span, range(mechanism.cells)
    rows = [mechanism.weights((cell,)) for cell in cells]
    apart, i, j = max(
        (sum(max(a - b, 0) for a, b in zip(rows[i], rows[j], strict=True)), i, j) for i in cells for j in range(i)
    )
    above = [a > b for a, b in zip(rows[i], rows[j], strict=True)]
    below = [a < b for a, b in zip(rows[i], rows[j], strict=True)]

    def sides(row: int) -> tuple[Fraction, Fraction]:
        one, two = (sum(w for w, on in zip(rows[row], which, strict=True) if on) for which in (above, below))
        return Fraction(one, span), Fraction(two, span)

    attained = {Pair(sides(i), sides(j), sides(row)) for row in cells if row != i}
    return Fraction(apart, span), tuple(attained)


def most_telling(pairs: tuple[Pair, ...]) -> Pair:
    """The pair whose reports stand out most from the others', by the squared differences over the others' shares.

    Parameters
    ----------
    pairs : tuple of Pair
        The pairs.

    Examples
    --------
    >>> import deniable as dn
    >>> pairs = variation_of(dn.hadamard(symbols=7, epsilon=1)).attained
    >>> most_telling(pairs) in pairs
    True
    """

    def information(pair: Pair) -> Fraction:
        triples = zip(pair.first, pair.second, pair.others, strict=True)
        return sum(((p - q) ** 2 / other for p, q, other in triples), Fraction(0))

    return max(pairs, key=information)
