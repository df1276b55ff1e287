"""What a form promises to one complete set of answers against another, and what its integers keep, exactly.

Parts are randomised apart from each other, so ratios multiply and budgets add up, over the parts that a device answers
and in which the two sets differ. What was drawn is independent of answers: the worst is the drawn set of parts with the
largest ones. A part may promise nothing to some answers, which may then be seen (`sensitive`, `blocks`); the answers to
the other parts are as hidden as before, so a promise is asked for by pairs of complete answers.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any

from deniable.mechanisms import Mechanism
from deniable.survey.questions import FormPart

__all__ = ["promise_of", "promises_all", "ratio_of"]

CompleteAnswers = Mapping[str, object]
BetweenCells = Callable[[tuple[int, ...], tuple[int, ...]], Fraction | None]  # between the cells of two answers


def promises_all(mechanism: Mechanism) -> bool:
    """Whether something is promised to every answer against every other.

    >>> import deniable as dn
    >>> surveys = dn.krr(3, epsilon=1), dn.blocks([[0, 1], [2, 3]], epsilon=1)
    >>> promises_all(surveys[0].mechanism), promises_all(surveys[1].mechanism)
    (True, False)
    """
    told = mechanism.telling
    return all(mechanism.bound((a,), (b,)) is not None for a in told for b in told if a != b)


def ratio_of(form: Any, given: CompleteAnswers, other: CompleteAnswers) -> Fraction | None:
    """`Form.ratio`; `form` is a Form, whose module imports this one."""
    found = _largest(form, given, other, lambda mechanism: mechanism.ratio)
    return None if found is None else reduce(mul, found, Fraction(1))


def promise_of(form: Any, given: CompleteAnswers, other: CompleteAnswers) -> Fraction | None:
    """`Form.promise`; `form` as above."""
    found = _largest(form, given, other, lambda mechanism: mechanism.bound)
    return None if found is None else sum(found, Fraction(0))


def _largest(
    form: Any, given: CompleteAnswers, other: CompleteAnswers, of: Callable[[Any], BetweenCells]
) -> list[Fraction] | None:
    """What the parts that differ keep, of as many as a device answers, the largest first; None if one keeps nothing."""
    every = (1 << len(form.parts)) - 1
    asked = form.asked(every, given)
    if asked != form.asked(every, other):
        return None  # which parts were answered is sent
    found = []
    for place, part in enumerate(form.parts):
        kept = of(part.survey.mechanism)
        for mine, theirs in _cells(part, given, other) if asked >> place & 1 else ():
            one = kept(mine, theirs)
            if one is None:
                return None
            found.append((one, place))
    worst = {place: one for one, place in sorted(found)}
    return sorted(worst.values(), reverse=True)[: form.drawn]


def _cells(
    part: FormPart, given: CompleteAnswers, other: CompleteAnswers
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The cells of both answers to a part, in each cohort in which they differ."""
    survey, symbols = part.survey, (part.symbol(given), part.symbol(other))
    keys = [survey.encoding.key(survey.alphabet, symbol) for symbol in symbols]
    for cohort in range(survey.cohorts):
        mine, theirs = (survey.encoding.encode(cohort, key) for key in keys)
        if set(mine) != set(theirs):
            yield mine, theirs
