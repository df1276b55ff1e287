"""The largest epsilon of a report whose crowd keeps a promise, for each mechanism, and the best of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, floor, log, log10
from typing import Any

from deniable.crowds import MAX_PEOPLE, checked_delta, keeps, predicted
from deniable.errors import DeniableError, PlanError
from deniable.planner.catalogue import families
from deniable.planner.options import Family
from deniable.planner.request import EPSILONS, PlanRequest, ask
from deniable.planner.result import Alternative
from deniable.planner.search import Search
from deniable.survey import Survey

_STEPS = 24  # halvings of the range of log epsilon: to a millionth of it
_BACK = 0.995  # factor on an epsilon that was predicted to keep the promise and does not
_TRIES = 40  # such factors, at most


@dataclass(frozen=True, slots=True)
class Kept:
    """The best mechanism, its epsilon as text, and what the others lose."""

    family: Family
    epsilon: str
    alternatives: tuple[Alternative, ...]


def keep_promise(given: Mapping[str, Any], crowd_epsilon: object, delta: float) -> Kept:
    """Which mechanism has the least error, each at the largest epsilon whose crowd of n keeps the promise.

    Parameters
    ----------
    given : mapping
        The other arguments of `plan`.
    crowd_epsilon : float
        What whoever sees only the counts may learn, at most.
    delta : float
        With which probability that may fail.
    """
    errors = [name for name in ("max_l1", "max_l2", "max_error", "visible") if given[name] is not None]
    extra = [name for name in ("epsilon", "epsilon_report") if given[name] is not None] + errors
    if given["n"] is None or extra:
        raise DeniableError(
            f"crowd_epsilon must be given with n alone, got {' and '.join(extra) or 'no n'}; "
            "the plan finds the largest epsilon that keeps it, and the error"
        )
    if isinstance(crowd_epsilon, bool) or not isinstance(crowd_epsilon, (int, float)) or not 0 < crowd_epsilon <= 12:
        raise DeniableError(f"crowd_epsilon must be above 0 and at most 12, got {crowd_epsilon!r}; 0.5 is usual")
    promise, delta = float(crowd_epsilon), checked_delta(delta)
    request = ask(**{**given, "epsilon": EPSILONS[1]})
    search = Search(request, families(request.size, is_open=request.is_open, limits=request.limits))
    n = float(request.n or 0)
    kept = [(epsilon, family) for family in search.families if (epsilon := _largest(search, family, promise, delta))]
    if not kept:
        raise PlanError("no mechanism keeps crowd_epsilon within these limits; ask more people, or allow a larger one")
    options = [(epsilon, search.best(family, float(epsilon), n)[0]) for epsilon, family in kept]
    while True:
        found = [(search.loss(option, float(epsilon), n), epsilon, option) for epsilon, option in options]
        (best, spent, first), *rest = sorted(found, key=lambda each: each[0])
        if not search.look_around(first, float(spent), n):  # losses are those of the worst populations there
            break
    others = tuple(
        Alternative(
            option.family.name,
            option.words,
            loss,
            option.report_bytes,
            f"keeps the promise with epsilon {epsilon}, error {loss / best:.2f} times that of the plan",
        )
        for loss, epsilon, option in rest
    )
    return Kept(first.family, spent, others)


def _survey(search: Search, family: Family, epsilon: str) -> Survey:
    request: PlanRequest = search.request
    option, _ = search.best(family, float(epsilon), float(request.n or 0))
    return option.survey(request.alphabet, epsilon, name=request.name, seed=request.public_seed)


def _down(epsilon: float) -> str:
    """Four digits, rounded down."""
    places = max(3 - floor(log10(epsilon)), 0)
    return f"{floor(epsilon * 10**places * (1 + 1e-12)) / 10**places:.{places}f}"


def _largest(search: Search, family: Family, promise: float, delta: float) -> str | None:
    """About the largest epsilon at which a family's best setting keeps the promise; it is certified to keep it."""
    n = min(search.request.n or 0, MAX_PEOPLE)
    low, high = log(min(max(promise, EPSILONS[0]), EPSILONS[1])), log(EPSILONS[1])  # no crowd tells more than a report
    for _ in range(_STEPS):
        middle = (low + high) / 2
        near = predicted(_survey(search, family, _down(exp(middle))), n, delta) <= promise
        low, high = (middle, high) if near else (low, middle)
    epsilon = exp(low)
    for _ in range(_TRIES):
        text = _down(max(epsilon, min(promise, EPSILONS[1])))
        survey = _survey(search, family, text)
        if survey.mechanism.epsilon_report <= promise or keeps(survey, n, promise, delta):
            return text
        epsilon *= _BACK
    return None
