"""Plans for an effect: how many people, which epsilon, which power, or how small a difference or coefficient."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableError, PlanError
from deniable.planner.effect_sizes import Coefficient, Effect, ShareDifference, covariate_values, people_for, power_of
from deniable.planner.request import EPSILONS, PEOPLE
from deniable.planner.solve import least
from deniable.planner.told import ToldPlan
from deniable.survey import Alphabet, Survey, krr, oue, subset, warner
from deniable.theory import count_of

if TYPE_CHECKING:
    import altair as alt

CLOSE = 1e-5  # relative accuracy of an epsilon or an effect that is found
POINTS = 41  # people at which a power curve is drawn
SPAN = 30.0  # how many times fewer and more people than planned it shows
_BY = ("n", "epsilon", "effect", "power")


@dataclass(frozen=True, slots=True)
class EffectPlan(ToldPlan):
    """A survey that shows an effect with a wanted probability.

    Parameters
    ----------
    survey : Survey
        Ready to use.
    n : int
        People in all, one report from each.
    epsilon : float
        The privacy budget, in nats; of a design run by hand that bounds all finite ratios.
    effect : float
        The difference of two shares, or the coefficient, in log odds for one unit of the covariate.
    power : float
        The probability that its two-sided test is significant.
    alpha : float
        The level of that test.
    share : float
        Of the answer in the first group, or where the covariate is at its mean.
    found : str
        Which of "n", "epsilon", "effect" and "power" was found.
    what : str
        "difference" or "coefficient".
    people_without_noise : int
        How many people true answers would need for the same.
    measured : Effect
        The variance of the effect, for a survey.
    at_epsilon : callable, optional
        The survey of another epsilon; None where a survey was given.

    Examples
    --------
    >>> import deniable as dn
    >>> plan = dn.plan(effect=0.05, share=0.2, power=0.8, epsilon=2)
    >>> plan.found, plan.n, plan.people_without_noise
    ('n', 4456, 2182)
    >>> plan.rows()[0], plan.to_json()["found"], plan.chart() == plan.plot()
    (('people', '4,456 (found)'), 'n', True)
    >>> [row["epsilon"] for row in plan.curve([1000, 5000])][:2], round(plan.curve([5000])[1]["power"], 2)
    ([1.0, 1.0], 0.84)
    """

    _named = ("n", "epsilon", "effect", "power", "alpha", "share", "found", "what", "people_without_noise")
    survey: Survey
    n: int
    epsilon: float
    effect: float
    power: float
    alpha: float
    share: float
    found: str
    what: str
    people_without_noise: int
    measured: Effect = field(repr=False)
    at_epsilon: Callable[[float], Survey] | None = field(repr=False)

    def curve(self, people: Sequence[int] | None = None) -> list[dict[str, Any]]:
        """The power at some numbers of people: with half the budget, as planned, with twice of it, and without noise.

        Parameters
        ----------
        people : sequence of int, optional
            In all groups together; without it from a thirtieth of the plan's to thirty times as many.

        Returns
        -------
        list of dict
            Rows with epsilon (None without noise), n and power.
        """
        if people is None:
            people = [max(2, round(self.n * SPAN ** (2 * place / (POINTS - 1) - 1))) for place in range(POINTS)]
        rows = []
        for epsilon, survey in self._surveys():
            variance = self.measured.variance(survey, self.effect)
            rows += [
                {"epsilon": epsilon, "n": int(n), "power": power_of(self.effect, variance, n, self.alpha)}
                for n in dict.fromkeys(people)
            ]
        return rows

    def _surveys(self) -> Iterator[tuple[float | None, Survey | None]]:
        if self.at_epsilon is not None and self.epsilon / 2 >= EPSILONS[0]:
            yield self.epsilon / 2, self.at_epsilon(self.epsilon / 2)
        yield self.epsilon, self.survey
        if self.at_epsilon is not None and self.epsilon * 2 <= EPSILONS[1]:
            yield self.epsilon * 2, self.at_epsilon(self.epsilon * 2)
        yield None, None

    def chart(self) -> "alt.LayerChart":
        """Power against people, a line for each budget. Needs `charts`."""
        from deniable.charts import power_chart

        return power_chart(self.curve(), {"n": self.n, "power": self.power}, title=f"Power to see {self._told}")

    plot = chart  # the name that other libraries use

    @property
    def _told(self) -> str:
        if self.what == "coefficient":
            return f"a coefficient of {self.effect:.3g}"
        return f"a difference of {100 * self.effect:.3g} points"

    def rows(self) -> list[tuple[str, str]]:
        base = "in the first group" if self.what == "difference" else "at the covariate's mean"
        power = f"{100 * self.power:.1f} %, of a two-sided test at {100 * self.alpha:g} %"
        return [
            ("people", self._marked("n", f"{self.n:,}")),
            ("epsilon", self._marked("epsilon", f"{self.epsilon:.4g}")),
            (self.what, self._marked("effect", f"{self.effect:.4g}")),
            ("share " + base, f"{self.share:.4g}"),
            (
                "power",
                self._marked("power", power),
            ),
            ("people without noise", f"{self.people_without_noise:,}"),
        ]

    @property
    def note(self) -> str:
        """What the rows do not say."""
        by = "deniable crosstab" if self.what == "difference" else "deniable regress"
        return f"The power is that of the interval or the p-value that `{by}` gives."


def plan_effect(
    *,
    n: object,
    epsilon: object,
    effect: float | None,
    power: float | None,
    share: float | None,
    alpha: float,
    group: float,
    covariate: Sequence[float] | None,
    answer: object,
    symbols: Iterable[object] | int | None,
    survey: Survey | None,
    name: str,
) -> EffectPlan:
    """The fourth of n, epsilon, effect and power, from the other three; see `plan`."""
    given: dict[str, object] = {"n": n, "epsilon": epsilon, "effect": effect, "power": power}
    if survey is not None:
        if epsilon is not None or symbols is not None:
            raise DeniableError("epsilon and symbols must not be given with a survey, which has its own")
        given["epsilon"] = Survey.check(survey).epsilon
    missing = [label for label, value in given.items() if value is None]
    if len(missing) != 1:
        raise DeniableError(
            f"three of {', '.join(_BY)} must be given for the plan of an effect, got "
            f"{', '.join(label for label in _BY if label not in missing) or 'none'}; the fourth is what the plan finds"
        )
    for label, value, low, high in (("alpha", alpha, 0, 0.5), ("group", group, 0, 1), ("power", power, 0.5, 1)):
        if value is not None and not low < float(value) < high:
            raise DeniableError(f"{label} must be above {low} and below {high}, got {value}")
    if share is None or not 0 <= share < 1:
        raise DeniableError(
            f"share must be given for the plan of an effect, from 0 to below 1, got {share}; it is that of the answer "
            "in the first group, or where the covariate is at its mean"
        )
    people = None if n is None else count_of("n", n, 2, int(PEOPLE[1]))
    alphabet = Alphabet.closed(symbols if symbols is not None else ("no", "yes")) if survey is None else survey.alphabet
    answers = alphabet.symbols
    if answers is None:
        raise DeniableError("the plan of an effect must be for a list of answers, got free text; name them as symbols")
    size, what = _effect(answers, answer, share, group, covariate)
    make = None if survey is not None else _maker(answers, size, effect, name)
    found = _Search(size, make, survey, alpha)
    wanted = None if effect is None else float(effect)
    if wanted is not None:
        _check_effect(wanted, share, size, what)
    if missing == ["n"]:
        assert wanted is not None
        assert power is not None
        one = found.survey_at(epsilon)
        people = max(2, math.ceil(people_for(wanted, size.variance(one, wanted), power, alpha)))
        if people > PEOPLE[1]:
            raise PlanError(f"effect {wanted:g} must be larger: at epsilon {one.epsilon:g} no crowd is enough")
    elif missing == ["effect"]:
        assert power is not None
        assert people is not None
        one = found.survey_at(epsilon)
        wanted = found.effect(one, people, power)
    elif missing == ["epsilon"]:
        assert wanted is not None
        assert power is not None
        assert people is not None
        one = found.cheapest(wanted, people, power)
    else:
        one = found.survey_at(epsilon)
    assert wanted is not None
    assert people is not None
    reached = power_of(wanted, size.variance(one, wanted), people, alpha)
    clear = people_for(wanted, size.variance(None, wanted), max(reached if power is None else power, 0.5), alpha)
    return EffectPlan(
        one, people, one.epsilon, wanted, reached, alpha, share, missing[0], what, max(2, math.ceil(clear)), size, make
    )


def _effect(
    answers: Sequence[Any], answer: object, share: float, group: float, covariate: Sequence[float] | None
) -> tuple[Effect, str]:
    place = len(answers) - 1
    if answer is not None:
        if answer not in answers:
            raise DeniableError(
                f"answer must be one of the {len(answers)} answers of the survey; it is the one whose share differs"
            )
        place = list(answers).index(answer)
    if covariate is None:
        return ShareDifference(share, group, place, len(answers)), "difference"
    if len(answers) != 2:
        raise DeniableError(
            f"a coefficient must be planned for two answers, got {len(answers)}; plan the difference of a share instead"
        )
    if not share:
        raise DeniableError("share must be above 0 for the plan of a coefficient, got 0; its log odds are not finite")
    return Coefficient(share if place == 1 else 1 - share, covariate_values(covariate)), "coefficient"


def _check_effect(wanted: float, share: float, size: Effect, what: str) -> None:
    if what == "difference" and not (0 <= share + wanted <= 1 and wanted):
        raise DeniableError(f"effect must leave a share from 0 to 1 and not be 0, got {wanted:g} on {share:g}")
    if what == "coefficient" and not 0 < abs(wanted) <= size.largest:
        raise DeniableError(
            f"effect must be a coefficient from -{size.largest:.3g} to {size.largest:.3g} and not 0, got {wanted:g}"
        )


def _maker(answers: Sequence[Any], size: Effect, effect: float | None, name: str) -> Callable[[Any], Survey]:
    """The survey at an epsilon: Warner's for two answers, which nothing beats; else the one of least variance."""
    if len(answers) == 2:
        return lambda epsilon: warner(epsilon=epsilon, symbols=answers, name=name)

    def best(epsilon: Any) -> Survey:
        every = [make(answers, epsilon=epsilon, name=name) for make in (krr, subset, oue)]
        return min(every, key=lambda one: size.variance(one, 0.0 if effect is None else effect))

    return best


@dataclass(frozen=True, slots=True)
class _Search:
    size: Effect
    make: Callable[[Any], Survey] | None
    survey: Survey | None
    alpha: float

    def survey_at(self, epsilon: object) -> Survey:
        if self.survey is not None:
            return self.survey
        assert self.make is not None
        return self.make(epsilon)

    def effect(self, survey: Survey, n: int, power: float) -> float:
        """The smallest effect above zero that is seen."""

        def seen(effect: float) -> bool:
            return power_of(effect, self.size.variance(survey, effect), n, self.alpha) >= power

        high = self.size.largest
        if not seen(high * (1 - CLOSE)):
            raise PlanError(
                f"effect must be possible, got none that {n:,} people show at epsilon {survey.epsilon:g} with power "
                f"{power:g}; ask more people"
            )
        return least(seen, high * 1e-9, high, CLOSE)

    def cheapest(self, effect: float, n: int, power: float) -> Survey:
        """The survey of least epsilon that shows an effect."""
        assert self.make is not None

        def needed(epsilon: float) -> float:
            assert self.make is not None
            variance = self.size.variance(self.make(f"{epsilon:.6g}"), effect)
            return people_for(effect, variance, power, self.alpha)

        weakest = EPSILONS[1]
        if needed(weakest) > n:
            raise PlanError(
                f"n must be at least {math.ceil(needed(weakest)):,} for this effect, at any epsilon up to {weakest:g}, "
                f"got {n:,}; ask more people"
            )
        return self.make(f"{least(lambda epsilon: needed(epsilon) <= n, *EPSILONS, CLOSE):.6g}")
