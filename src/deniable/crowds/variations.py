"""How different the reports of two answers can be, for each kind of mechanism: what a certificate starts from.

`blankets` cover every pair of answers: two crowds are never further apart than those of one of them. `attained` are
pairs of answers that really occur: what can be told from them bounds the truth from below.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations
from math import comb, prod

from deniable.crowds.blanket import Blanket
from deniable.crowds.divergence import Pair
from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, Channel, Mechanism, Registry, Subset
from deniable.survey import Agreement, Form, Survey

_COMPARED = 64  # answers of a design, or rows of a channel, that are compared with each other: the first ones
_EXACT = 4  # up to so many total variations each has a bound of its own; of more the largest, and one covers the rest
_HASHED = 6  # answers of a hashed survey, among which three are sought that differ in as many cohorts as possible
_COHORTS = 4096  # cohorts searched at most; in all others answers count as sharing a cell, so the lower bound holds


@dataclass(frozen=True, slots=True)
class Variation:
    """What any two answers' reports may differ by.

    Parameters
    ----------
    blankets : tuple of Blanket
        Every pair of answers is one of these.
    attained : tuple of Pair
        Pairs of answers, with what the others say, that occur.

    Examples
    --------
    >>> import deniable as dn
    >>> (blanket,) = variation_of(dn.krr(symbols=10, epsilon=1)).blankets
    >>> blanket.each == 1 / (blanket.odds + 9), blanket.rest == 8 * blanket.each
    (True, True)
    """

    blankets: tuple[Blanket, ...]
    attained: tuple[Pair, ...]

    @property
    def odds(self) -> Fraction:
        """The largest ratio of the chances of one report under two answers."""
        return max(blanket.odds for blanket in self.blankets)


variations = Registry[Callable[[Mechanism, Survey], Variation]](
    "deniable.crowds.variations.variations", Mechanism, "bound of the variation of two answers' reports"
)


def variation_of(survey: Agreement) -> Variation:
    """What two answers to a survey, or two complete sets of answers to a form, can differ by in one report.

    Parameters
    ----------
    survey : Survey or Form
        What is answered.

    Examples
    --------
    >>> import deniable as dn
    >>> [round(float(blanket.each), 9) for blanket in variation_of(dn.warner(epsilon=1)).blankets]
    [0.268941421]
    """
    if isinstance(survey, Form):
        return _of_form(survey)
    mechanism = survey.mechanism
    return variations.of(mechanism.permanent)(mechanism, survey)


def _of_form(form: Form) -> Variation:
    """A whole report is the product of its parts' reports: ratios multiply, and the total variation of two products is
    at most one less the product of what their factors have in common."""
    if any(part.when is not None for part in form.parts):
        raise SurveyError(
            "a form must have no conditions for a crowd to be certified, got some: only people with the same public "
            "answers send the same parts; make a form of the questions that all of them are asked"
        )
    parts = [variation_of(part.survey) for part in form.parts]
    odds = prod(sorted((part.odds for part in parts), reverse=True)[: form.drawn], start=Fraction(1))
    apart = sorted((max(b.own * (b.odds - 1) for b in part.blankets) for part in parts), reverse=True)
    distance = 1 - prod((1 - each for each in apart[: form.drawn]), start=Fraction(1))
    return Variation((Blanket.up_to(odds, min(distance, (odds - 1) / (odds + 1))),), ())


def places_of(survey: Agreement) -> int:
    """Among how many kinds of reports people are spread whatever they answer: cohorts, and the parts that are drawn.

    Whoever looks may know a person's, so that only reports of the same kind hide it.

    Parameters
    ----------
    survey : Survey or Form
        What is answered.

    Examples
    --------
    >>> import deniable as dn
    >>> places_of(dn.form({f"q{i}": dn.warner(epsilon=1) for i in range(4)}, epsilon=1, spend="sample", draw=2))
    6
    """
    if isinstance(survey, Survey):
        return survey.cohorts
    cohorts = sorted((part.survey.cohorts for part in survey.parts), reverse=True)
    return comb(len(survey.parts), survey.drawn) * prod(cohorts[: survey.drawn])


def _swapped(pair: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    return pair[1], pair[0]


@variations.add(Mechanism)
def _any(mechanism: Mechanism, survey: Survey) -> Variation:
    """Nothing is known but the ratio: no two laws are further apart than (odds - 1) / (odds + 1)."""
    return Variation((Blanket.up_to(mechanism.odds, (mechanism.odds - 1) / (mechanism.odds + 1)),), ())


@variations.add(KRR, Subset)
def _one_cell(mechanism: Mechanism, survey: Survey) -> Variation:
    """Reports that hold the first answer's cell and not the second's, or the other way round."""
    if survey.encoding.occupied != 1:
        return _designs(mechanism, survey)
    neither, either = mechanism.pairs
    mine, others = (mechanism.hit - either, mechanism.miss - either), mechanism.miss - neither
    # A third answer speaks for neither, where there is one; or the others give the second answer.
    arounds = {3: (others, others), 2: _swapped(mine)}
    attained = [
        Pair(mine, _swapped(mine), arounds[distinct], Fraction(count, survey.cohorts))
        for distinct, count in _told_apart(survey).items()
    ]
    # Where a report names one cell, those that are neither answer's are the least likely ones, whoever sends them.
    rest = Fraction(1) if mechanism.one_column else None
    return Variation((Blanket.of(mechanism.odds, mechanism.hit - mechanism.miss, rest=rest),), tuple(attained))


def _told_apart(survey: Survey) -> dict[int, int]:
    """How many cohorts tell answers apart, as {distinct answers: cohorts}, for the pair that is easiest to tell apart.

    3: an answer, a second one, and a third that everybody else gives, have three different cells. 2: an answer and a
    second one, which everybody else gives, have two.
    """
    if survey.encoding.own_cells:
        return {3: 1, 2: 1} if survey.cells > 2 else {2: 1}
    cohorts = [[each[0] for each in cells] for cells in _cells_by_cohort(survey)]
    keys = range(len(cohorts[0]))

    def most(distinct: int) -> int:
        chosen = combinations(keys, distinct)
        return max(sum(len({row[i] for i in some}) == distinct for row in cohorts) for some in chosen)

    return {distinct: most(distinct) for distinct in (3, 2) if len(keys) >= distinct}


def _cells_by_cohort(survey: Survey) -> list[list[tuple[int, ...]]]:
    """The cells of the first few answers, a row for each cohort."""
    known = survey.symbols
    answers = [f"answer {i}" for i in range(_HASHED)] if known is None else known[:_HASHED]
    keys = [survey.key(answer) for answer in answers]
    return [[survey.encoding.encode(c, key) for key in keys] for c in range(min(survey.cohorts, _COHORTS))]


def _designs(mechanism: Mechanism, survey: Survey) -> Variation:
    """Answers with several cells each: two of one block share as many as they all do, two of different blocks none."""
    encoding = survey.encoding
    occupied, shared = encoding.occupied, encoding.shared
    if occupied is None or shared is None:
        return _any(mechanism, survey)
    per_cell = mechanism.hit - mechanism.miss
    blankets = [Blanket.of(mechanism.odds, (occupied - shared) * per_cell, rest=None if shared else Fraction(1))]
    if getattr(encoding, "blocks", 1) > 1:
        blankets.append(Blanket.of(mechanism.odds, occupied * per_cell, rest=Fraction(1)))
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
    return Variation(tuple(blankets), tuple(Pair(mine, _swapped(mine), each) for each in rivals))


@variations.add(BitFlip)
def _bits(mechanism: Mechanism, survey: Survey) -> Variation:
    """Bits of a Bloom filter. Only the bits in which two answers differ tell them apart: what counts is how many of
    them are as the first answer has them, and how many as the second does."""
    hashes, cells = survey.encoding.hashes, survey.encoding.cells
    if hashes == 1:
        return _one_cell(mechanism, survey)
    if mechanism.hit + mechanism.miss != 1:
        return _any(mechanism, survey)
    blankets = []
    for differing in range(2, min(2 * hashes, cells) + 2, 2):  # an odd number tells as much as the next even one
        like = _like(mechanism, min(differing, cells), 0, min(differing, cells) // 2 + 1)
        blankets.append(Blanket.of(mechanism.odds, like[0] - like[1]))
    cohorts = [[frozenset(each) for each in row] for row in _cells_by_cohort(survey)]
    seen: Counter[tuple[int, int]] = Counter()
    for some in permutations(range(len(cohorts[0])), min(3, len(cohorts[0]))):
        found: Counter[tuple[int, int]] = Counter()
        for row in cohorts:
            first, second, other = row[some[0]], row[some[1]], row[some[-1]]
            apart = first ^ second
            found[len(apart), len(apart - (first ^ other))] += 1
        seen |= found  # the larger count of each
    attained = [
        Pair(
            mine,
            _swapped(mine),
            _like(mechanism, agreeing, differing - agreeing, level),
            Fraction(count, survey.cohorts),
        )
        for (differing, agreeing), count in seen.items()
        for level in range(differing // 2 + 1, differing + 1)
        for mine in [_like(mechanism, differing, 0, level)]
    ]
    return Variation(tuple(reversed(blankets)), tuple(attained))


def _like(mechanism: Mechanism, agreeing: int, against: int, level: int) -> tuple[Fraction, Fraction]:
    """P(at least `level` of the differing bits are reported as the first answer has them), and as the second has them.

    Before noise `agreeing` of these bits are as in the first answer, and `against` as in the second.
    """
    hit, total = mechanism.hit, agreeing + against
    law = [Fraction(0)] * (total + 1)
    for i in range(agreeing + 1):
        for j in range(against + 1):
            one = comb(agreeing, i) * hit**i * (1 - hit) ** (agreeing - i)
            law[i + j] += one * comb(against, j) * (1 - hit) ** j * hit ** (against - j)
    return sum(law[level:], Fraction(0)), sum(law[: total - level + 1], Fraction(0))


@variations.add(Channel)
def _rows(mechanism: Mechanism, survey: Survey) -> Variation:
    """Rows of weights: the two that are furthest apart."""
    rows = [mechanism.weights((cell,)) for cell in range(mechanism.cells)]
    columns = list(zip(*rows, strict=True))
    if any(min(column) == 0 < max(column) for column in columns):
        raise SurveyError(
            "a survey must hide every answer from every report for a crowd to add anything, got one with reports that "
            "some answers cannot lead to; what its outputs give away, no crowd hides"
        )
    span, few = mechanism.span, range(min(len(rows), _COMPARED))
    odds = max(Fraction(max(column), min(column)) for column in columns if max(column))
    found = sorted(
        (sum(max(a - b, 0) for a, b in zip(rows[i], rows[j], strict=True)), i, j) for i in few for j in range(i)
    )
    _, i, j = found[-1]
    distances = sorted({Fraction(apart, span) for apart, _, _ in found if apart}, reverse=True)
    if len(rows) > _COMPARED:  # what all rows have in common, no two of them differ in
        common = 1 - Fraction(sum(min(column) for column in columns), span)
        blankets = [Blanket.up_to(odds, min(common, (odds - 1) / (odds + 1)))]
    else:
        exact = distances if len(distances) <= _EXACT else distances[:1]
        blankets = [Blanket.of(odds, distance) for distance in exact]
        blankets += [Blanket.up_to(odds, distance) for distance in distances[len(exact) : len(exact) + 1]]
    above = [a > b for a, b in zip(rows[i], rows[j], strict=True)]
    below = [a < b for a, b in zip(rows[i], rows[j], strict=True)]

    def sides(row: int) -> tuple[Fraction, Fraction]:
        one, two = (sum(w for w, on in zip(rows[row], which, strict=True) if on) for which in (above, below))
        return Fraction(one, span), Fraction(two, span)

    attained = {Pair(sides(i), sides(j), sides(row)) for row in few if row != i}
    return Variation(tuple(blankets), tuple(attained))


def spread(pair: Pair, cohorts: int) -> Pair:
    """A pair of one cohort, among others who are in any of them.

    Parameters
    ----------
    pair : Pair
        The pair.
    cohorts : int
        Cohorts of the survey.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> spread(Pair((half, half), (half, half), (half, half)), 2).others
    (Fraction(1, 4), Fraction(1, 4))
    """
    return replace(pair, others=(pair.others[0] / cohorts, pair.others[1] / cohorts))
