"""The exact law of a small mixed crowd: what anyone sees is how many reports of each kind there are."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from math import lcm

from deniable.mechanisms.odds import exp_bounds
from deniable.survey import Survey
from tests.exact.laws import published
from tests.surveys import symbols_of

Law = dict[bytes, int]
Mixed = Counter[tuple[bytes, ...]]


def laws(survey: Survey, answers: int) -> tuple[list[Law], int]:
    """The published law of one report for each of the first answers, as integers over one span."""
    exact = [published(survey, value) for value in symbols_of(survey, answers)[:answers]]
    span = lcm(*(p.denominator for law in exact for p in law.values()))
    return [{report: int(p * span) for report, p in law.items() if p} for law in exact], span


def join(mixed: Mixed, law: Law) -> Mixed:
    """One more report among them; their order is lost."""
    joined: Mixed = Counter()
    for reports, weight in mixed.items():
        for report, more in law.items():
            joined[tuple(sorted((*reports, report)))] += weight * more
    return joined


def of_cohort(survey: Survey, law: Law, cohort: int) -> Law:
    """The same, of a person who is known to be in one cohort: the bytes between the digest and the response name it."""
    size = len(next(iter(law))) - 9 - survey.mechanism.payload_bytes
    return {
        report: weight * survey.cohorts
        for report, weight in law.items()
        if int.from_bytes(report[9 : 9 + size], "little") == cohort
    }


def divergence(survey: Survey, n: int, epsilon: float, *, answers: int) -> Fraction:
    """The largest delta of crowds of n that differ in one answer, whatever the others answer: by enumeration.

    Whoever looks knows the person's cohort.
    """
    each, span = laws(survey, answers)
    low, unit = exp_bounds(Fraction(epsilon), 96)[0], 1 << 96
    worst = 0
    for others in combinations_with_replacement(each, n - 1):
        around: Mixed = Counter({(): 1})
        for law in others:
            around = join(around, law)
        for cohort in range(survey.cohorts):
            crowds = [join(around, of_cohort(survey, law, cohort)) for law in each]
            for one, other in permutations(crowds, 2):
                worst = max(worst, sum(max(0, weight * unit - low * other[seen]) for seen, weight in one.items()))
    return Fraction(worst, unit * span**n)
