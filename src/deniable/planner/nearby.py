"""Feasible plans near an infeasible request: the error that its n allows, or the n that its error needs.

Each proposal has an exact epsilon and an approximate error. Errors are predicted by normal draws over all populations
of the request, without simulation, which is fast. For up to 64 answers, where few people and the choice of hash
functions matter, they are planned instead (tests/unit/planner/test_nearby.py compares both).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deniable.errors import PlanError
from deniable.planner.catalogue import families
from deniable.planner.planning import plan
from deniable.planner.request import PlanRequest, ask
from deniable.planner.search import Search
from deniable.planner.solve import Outside, rounded_up

_LARGEST = 0.5  # proposals with a larger error are left out: it is of no use
_PLANNED = 64  # answers up to which errors are planned, because predictions were off by a factor of up to 1.9


@dataclass(frozen=True, slots=True)
class Nearby:
    """A feasible plan: n people at exactly this epsilon have at most about this `error` in nine of ten surveys."""

    n: int
    epsilon: float
    error: float


def nearby(problem: PlanError, epsilons: Sequence[float], **arguments: Any) -> Iterator[Nearby]:
    """Plans near a request with n and an error that `plan` refused.

    For each epsilon the smallest error that n allows, then the n that the error needs at the first of the epsilons.
    Numbers that are found have two digits, rounded up. Infeasible ones are left out.

    Parameters
    ----------
    problem : PlanError
        Raised by `plan` for this request.
    epsilons : sequence of float
        Budgets to propose, in nats.
    **arguments
        The arguments of `plan`: n, an error and an alphabet.

    Yields
    ------
    Nearby
        One feasible plan at a time.

    Examples
    --------
    >>> arguments = {"n": 150, "symbols": 3, "max_error": 0.05}
    >>> try:
    ...     plan(**arguments)
    ... except PlanError as problem:
    ...     print(*nearby(problem, (2.0, 4.0), **arguments), sep="\\n")
    Nearby(n=150, epsilon=2.0, error=0.12)
    Nearby(n=150, epsilon=4.0, error=0.087)
    Nearby(n=830, epsilon=2.0, error=0.05)
    """
    request = ask(**arguments)
    if request.found != "epsilon" or problem.least is None:
        return
    assert request.n is not None
    assert request.target is not None
    for epsilon in epsilons:
        error = _planned(arguments, epsilon) if request.size <= _PLANNED else None
        error = _predicted(request, epsilon) if error is None else error
        if error < _LARGEST:
            yield Nearby(request.n, epsilon, rounded_up(error, 2))
    people = _people(request, epsilons[0])
    if people is not None:
        error = (
            _planned(arguments | {"n": int(rounded_up(people, 2))}, epsilons[0]) if request.size <= _PLANNED else None
        )
        if error is not None:  # half of the correction that 1 / sqrt(n) asks for, in logarithms
            people = max(people * error / request.target, float(request.n))
        yield Nearby(int(rounded_up(people, 2)), epsilons[0], request.target)


def _search(request: PlanRequest) -> Search:
    """A search over all populations: choosing the worst one by a few draws is too rough for a single prediction."""
    every = families(request.size, is_open=request.is_open, limits=request.limits, hidden=request.hidden)
    return Search(request, every, active=list(request.shapes))


def _planned(arguments: dict[str, Any], epsilon: float) -> float | None:
    """The error of the plan itself; None for the smallest visible share, which a plan does not find."""
    metrics = {"max_l1": "l1", "max_l2": "l2", "max_error": "max"}
    asked = {name: value for name, value in arguments.items() if name not in metrics}
    metric = next((metrics[name] for name in arguments if name in metrics and arguments[name] is not None), None)
    return None if metric is None else plan(**asked, epsilon=epsilon, metric=metric).bound


def _predicted(request: PlanRequest, epsilon: float) -> float:
    assert request.n is not None
    search = _search(replace(request, epsilon=epsilon))
    option = search.first(epsilon, request.n)
    return 1.0 if option is None else search.loss(option, epsilon, request.n)


def _people(request: PlanRequest, epsilon: float) -> float | None:
    assert request.n is not None
    assert request.target is not None
    search = _search(replace(request, n=None, epsilon=epsilon))
    try:
        return search.solve(search.first, request.target, start=10.0 * request.n)
    except Outside as outside:
        return float(request.n) if outside.below else None
