"""What is possible instead of a plan that is not: the error that these people allow, the people that this error takes.

Predicted by normal draws over all populations of the question, without simulation, so that it takes a moment: a plan
for what is proposed here exists, and has about the epsilon that is named (tests/unit/test_planner_nearby.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from math import ceil, floor, log10
from typing import Any

from deniable.errors import PlanError
from deniable.planner.catalogue import families
from deniable.planner.planning import plan
from deniable.planner.question import Question, ask
from deniable.planner.search import Search
from deniable.planner.solve import Outside

__all__ = ["Nearby", "nearby"]

# Proposals are predicted at this share of their epsilon, for what prediction and simulation may differ by: more for the
# errors of few people under an open alphabet, which hang on how its hash functions fall (0.9 missed by 15 % there,
# and by 2 % with three answers).
_ROOM, _ROOM_OPEN = 0.85, 0.75
_ABOVE = 1.15  # times the smallest error there is, at least: nearer to it epsilon grows without bound
_LARGEST = 0.5  # an error that says nothing


@dataclass(frozen=True, slots=True)
class Nearby:
    """A change that makes a plan possible: this `value` for the argument `change` gives about this epsilon."""

    change: str
    value: float
    epsilon: float


def nearby(problem: PlanError, epsilons: Sequence[float], **arguments: Any) -> Iterator[Nearby]:
    """Changes to a question with n and an error that `plan` refused.

    For each epsilon the smallest error that these people allow, then the people that the error takes at the first of
    the epsilons. Numbers have two digits, rounded up. What cannot be had is left out.

    >>> arguments = {"n": 150, "symbols": 3, "max_error": 0.05}
    >>> try:
    ...     plan(**arguments)
    ... except PlanError as problem:
    ...     print([(one.change, one.epsilon) for one in nearby(problem, (2.0, 4.0), **arguments)])
    [('max_error', 2.0), ('max_error', 4.0), ('n', 2.0)]
    """
    given = {name: one.default for name, one in signature(plan).parameters.items()} | arguments
    del given["progress"]
    errors = {name: given.pop(name) for name in ("max_l1", "max_l2", "max_error", "visible")}
    question = ask(errors=errors, **given)
    if question.found != "epsilon" or problem.least is None:
        return
    for epsilon in epsilons:
        room = _ROOM_OPEN if question.is_open else _ROOM
        error = max(_error(question, epsilon * room), problem.least * _ABOVE)
        if error < _LARGEST:
            yield Nearby(question.argument, _up(error), epsilon)
    people = _people(question, epsilons[0] * _ROOM)
    if people is not None:
        yield Nearby("n", _up(people), epsilons[0])


def _search(question: Question) -> Search:
    """With every population active: the few draws that usually choose among them are too rough for a single look."""
    every = families(question.size, is_open=question.is_open, limits=question.limits)
    return Search(question, every, active=list(question.shapes))


def _error(question: Question, epsilon: float) -> float:
    assert question.n is not None
    search = _search(replace(question, epsilon=epsilon))
    option = search.first(epsilon, question.n)
    return 1.0 if option is None else search.loss(option, epsilon, question.n)


def _people(question: Question, epsilon: float) -> float | None:
    assert question.n is not None
    assert question.target is not None
    search = _search(replace(question, n=None, epsilon=epsilon))
    try:
        return search.solve(search.first, question.target, start=10.0 * question.n)
    except Outside as outside:
        return float(question.n) if outside.below else None


def _up(value: float) -> float:
    """Rounded up to two digits.

    >>> _up(0.1203), _up(1234.0)
    (0.13, 1300.0)
    """
    scale = 1 - floor(log10(value))
    return float(f"{ceil(round(value * 10.0**scale, 6)) / 10.0**scale:.2g}")
