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

from deniable.charts import figure_text
from deniable.decoders import worst_deviation
from deniable.errors import DeniableError, PlanError
from deniable.mechanisms import parse_epsilon
from deniable.planner.request import EPSILONS, PEOPLE, checked_confidence
from deniable.planner.solve import least
from deniable.planner.told import ToldPlan
from deniable.survey import Alphabet, Survey
from deniable.survey import number as number_survey
from deniable.survey import ordered as ordered_survey
from deniable.theory import count_of

__all__ = ["NumberPlan", "plan_mean"]

_CLOSE = 1e-4  # relative accuracy of the epsilon that is found


@dataclass(frozen=True, slots=True)
class NumberPlan(ToldPlan):
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
    >>> plan.rows()[2], plan.note
    (('error of the mean', 'below 1 in 90 % of surveys'), 'That holds whatever the answers are.')
    """

    _named = ("n", "epsilon", "mean_error", "confidence", "found")
    survey: Survey
    n: int
    epsilon: float
    mean_error: float
    confidence: float
    found: str

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("people", self._marked("n", f"{self.n:,}")),
            ("epsilon", self._marked("epsilon", f"{self.epsilon:.4g}")),
            ("error of the mean", f"below {figure_text(self.mean_error)} in {100 * self.confidence:g} % of surveys"),
        ]

    @property
    def note(self) -> str:
        """What the rows do not say."""
        return "That holds whatever the answers are."


def plan_mean(
    *,
    number: object,
    ordered: Iterable[object] | int | None,
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
    if (number is None) == (ordered is None):
        raise DeniableError(
            "one of number and ordered must be given for the plan of a mean, got "
            + ("neither" if number is None else "both")
        )
    level = checked_confidence(confidence)
    make = _maker(number, ordered, bins, step, name)
    reach = NormalDist().inv_cdf(0.5 + level / 2)
    people = None if n is None else count_of("n", n, 2, int(PEOPLE[1]))
    if max_mean_error is None:
        assert people is not None
        survey = make(epsilon)
        error = _binning(survey) + reach * worst_deviation(survey) / math.sqrt(people)
        return NumberPlan(survey, people, survey.epsilon, error, level, "error")
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
        return NumberPlan(survey, max(needed, 2), survey.epsilon, target, level, "n")

    def error_at(budget: float) -> float:
        return reach * worst_deviation(make(f"{budget:.6g}")) / math.sqrt(people)

    if error_at(EPSILONS[1]) > room:
        raise PlanError(
            f"max_mean_error must be at least {error_at(EPSILONS[1]) + target - room:.3g} with {people:,} people, got "
            f"{target:g}; ask more people"
        )
    found = least(lambda budget: error_at(budget) <= room, *EPSILONS, _CLOSE)
    survey = make(f"{found:.6g}")
    return NumberPlan(survey, people, survey.epsilon, error_at(found) + target - room, level, "epsilon")


def _binning(survey: Survey) -> float:
    scale = survey.alphabet.bins
    return 0.0 if scale is None else scale.width / 2


def _maker(number: object, ordered: Any, bins: int | None, step: object, name: str) -> Any:
    """The survey at an epsilon."""
    if ordered is not None:
        alphabet = Alphabet.closed(ordered)
        if not all(isinstance(symbol, int) for symbol in alphabet):
            raise DeniableError("ordered must have whole numbers for a plan of their mean, got other answers")
        return lambda epsilon: ordered_survey(alphabet.symbols or (), epsilon, name=name)
    if not isinstance(number, (tuple, list)) or len(number) != 2:
        raise DeniableError("number must be the two ends of a scale, such as number=(18, 90)")
    low, high = number
    return lambda epsilon: number_survey(low, high, parse_epsilon(epsilon), bins=bins, step=step, name=name)
