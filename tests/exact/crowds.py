"""The exact law of a small mixed crowd: what anyone sees is how many reports of each kind there are."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from math import lcm

from deniable.mechanisms.odds import exp_bounds
from deniable.survey import Form, Survey
from tests.exact.forms import every_answer, published_form
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
    seen = [[of_cohort(survey, law, cohort) for law in each] for cohort in range(survey.cohorts)]
    return _divergence(each, seen, span, n, epsilon)


def form_divergence(form: Form, n: int, epsilon: float) -> Fraction:
    """The same of whole reports of a form: whoever looks knows which parts the person drew, and each cohort."""
    exact = [published_form(form, given) for given in every_answer(form)]
    span = lcm(*(p.denominator for law in exact for p in law.values()))
    each = [{wire: int(p * span) for wire, p in law.items()} for law in exact]
    shape, kinds = form.report_format, sorted({_kind(form, wire) for law in exact for wire in law})
    assert shape.optional == 0
    seen = []
    for kind in kinds:
        alone = [{wire: weight for wire, weight in law.items() if _kind(form, wire) == kind} for law in each]
        share = Fraction(sum(alone[0].values()), span)
        assert all(sum(law.values()) == share * span for law in alone), "a kind says nothing about answers"
        seen.append([{wire: int(weight / share) for wire, weight in law.items()} for law in alone])
    return _divergence(each, seen, span, n, epsilon)


def _kind(form: Form, wire: bytes) -> tuple[int, ...]:
    """The parts that a report says were answered, and the cohort in each."""
    shape = form.report_format
    mask = int.from_bytes(wire[9 : shape.payload_start], "little")
    payload = wire[shape.payload_start :]
    return (mask, *(slot.read(payload)[0] for slot in shape.slots))


def _divergence(each: list[Law], seen: list[list[Law]], span: int, n: int, epsilon: float) -> Fraction:
    """`seen` has the laws of the person's report for each cohort that it may be known to be in."""
    low, unit = exp_bounds(Fraction(epsilon), 96)[0], 1 << 96
    worst = 0
    for others in combinations_with_replacement(each, n - 1):
        around: Mixed = Counter({(): 1})
        for law in others:
            around = join(around, law)
        for own in seen:
            crowds = [join(around, law) for law in own]
            for one, other in permutations(crowds, 2):
                worst = max(worst, sum(max(0, weight * unit - low * other[kinds]) for kinds, weight in one.items()))
    return Fraction(worst, unit * span**n)
