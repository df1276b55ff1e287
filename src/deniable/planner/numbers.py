"""Plans for the mean of a quantity: how many people, how much privacy, or what error, for surveys of numbers.

The mean has a closed form. A report's weight in the unbiased estimate has the mean x and a second moment s(x) for an
answer x, so n times the variance is the average of s over the population less the square of its mean: sampling error
included. No population has more than one of two answers, which is found among all pairs.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from deniable.decoders import worst_deviation
from deniable.errors import DeniableError, PlanError
from deniable.mechanisms import parse_epsilon
from deniable.planner.request import EPSILONS, PEOPLE
from deniable.survey import Alphabet, Survey, facts, number, ordered
from deniable.theory import count_of

__all__ = ["NumberPlan", "plan_mean"]

_CLOSE = 1e-4  # relative accuracy of the epsilon that is found


@dataclass(frozen=True, slots=True)
class NumberPlan:
    """A survey of a quantity whose mean is as accurate as was asked for.

    Parameters
    ----------
    survey : Survey
        Ready to use.
    n : int
        People, one report from each.
    epsilon : float
        The privacy budget, in nats.
    mean_error : float
        What the error of the mean stays below, in a share `confidence` of surveys, whatever the population. Half a bin
        is included where numbers are in bins.
    confidence : float
        That share.
    found : str
        Which of "n", "epsilon" and "error" was found.

    Examples
    --------
    >>> import deniable as dn
    >>> plan = dn.plan(number=(18, 90), n=100_000, max_mean_error=1.0)
    >>> plan.found, plan.epsilon < 1.2, plan.mean_error <= 1.0, plan.to_json()["n"]
    ('epsilon', True, True, 100000)
    """

    survey: Survey
    n: int
    epsilon: float
    mean_error: float
    confidence: float
    found: str

    def to_json(self) -> dict[str, Any]:
        """The plan as a JSON object."""
        named = ("n", "epsilon", "mean_error", "confidence", "found")
        return {name: getattr(self, name) for name in named} | {"survey": self.survey.to_json()}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows: list[tuple[str, object]] = [
            ("survey", repr(self.survey)),
            ("people", f"{self.n:,}"),
            ("epsilon", f"{self.epsilon:.4g}"),
            ("error of the mean", f"below {self.mean_error:.4g} in {100 * self.confidence:g} % of surveys"),
        ]
        return facts("Plan", rows)


def plan_mean(
    *,
    number_: object,
    ordered_: Iterable[object] | int | None,
    n: object,
    epsilon: object,
    max_mean_error: object,
    bins: int | None = None,
    step: object = None,
    confidence: float = 0.9,
    name: str = "",
) -> NumberPlan:
    """The third of n, epsilon and the error of the mean, from the other two; see `plan`."""
    given = [
        label
        for label, value in (("n", n), ("epsilon", epsilon), ("max_mean_error", max_mean_error))
        if value is not None
    ]
    if len(given) != 2:
        raise DeniableError(
            f"two of n, epsilon and max_mean_error must be given, got {', '.join(given) or 'none'}; the third is what "
            "the plan finds"
        )
    if not 0.5 <= float(confidence) <= 0.99:
        raise DeniableError(f"confidence must be from 0.5 to 0.99, got {confidence:g}; it is a share of repeats")
    make = _maker(number_, ordered_, bins, step, name)
    reach = NormalDist().inv_cdf(0.5 + float(confidence) / 2)
    people = None if n is None else count_of("n", n, 2, int(PEOPLE[1]))
    if max_mean_error is None:
        assert people is not None
        survey = make(epsilon)
        error = _binning(survey) + reach * worst_deviation(survey) / math.sqrt(people)
        return NumberPlan(survey, people, survey.epsilon, error, float(confidence), "error")
    target = float(max_mean_error)  # type: ignore[arg-type]
    room = target - _binning(make(1))
    if not room > 0:
        raise PlanError(
            f"max_mean_error must be above half a bin, {_binning(make(1)):g}, got {target:g}; use more bins, or a step"
        )
    if people is None:
        survey = make(epsilon)
        needed = math.ceil((reach * worst_deviation(survey) / room) ** 2)
        if needed > PEOPLE[1]:
            raise PlanError(
                f"max_mean_error {target:g} must be larger: at epsilon {survey.epsilon:g} no crowd is enough"
            )
        return NumberPlan(survey, max(needed, 2), survey.epsilon, target, float(confidence), "n")

    def error_at(budget: float) -> float:
        return reach * worst_deviation(make(f"{budget:.6g}")) / math.sqrt(people)

    low, high = EPSILONS
    if error_at(high) > room:
        raise PlanError(
            f"max_mean_error must be at least {error_at(high) + target - room:.3g} with {people:,} people, got "
            f"{target:g}; ask more people"
        )
    while high / low > 1 + _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if error_at(middle) > room else (low, middle)
    survey = make(f"{high:.6g}")
    return NumberPlan(survey, people, survey.epsilon, error_at(high) + target - room, float(confidence), "epsilon")


def _binning(survey: Survey) -> float:
    scale = survey.alphabet.bins
    return 0.0 if scale is None else scale.width / 2


def _maker(number_: object, ordered_: Any, bins: int | None, step: object, name: str) -> Any:
    """The survey at an epsilon."""
    if ordered_ is not None:
        alphabet = Alphabet.closed(ordered_)
        if not all(isinstance(symbol, int) for symbol in alphabet):
            raise DeniableError("ordered must have whole numbers for a plan of their mean, got other answers")
        return lambda epsilon: ordered(alphabet.symbols or (), epsilon, name=name)
    if not isinstance(number_, (tuple, list)) or len(number_) != 2:
        raise DeniableError("number must be the two ends of a scale, such as number=(18, 90)")
    low, high = number_
    return lambda epsilon: number(low, high, parse_epsilon(epsilon), bins=bins, step=step, name=name)
