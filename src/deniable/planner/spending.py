"""Plans for devices that are asked again and again: which way of spending one budget over many reports errs least.

Four strategies are compared at an equal budget in all (however often answers change) and an equal budget of a report:

* sample people: each device reports in one window of w, which it draws itself, with fresh noise: r = T / w reports;
* memoise by answer: one permanent response an answer, at epsilon / min(T, answers) each;
* memoise by cell: O-RR with few cells, one permanent response a cell, at epsilon / min(T, cells) each;
* fresh noise: all T reports, at epsilon / T each.

Settings of a strategy (w, the number of cells, the mechanism) are ranked by closed forms, its error is predicted by
`theory.expected_loss`. For a wanted error the least n, or epsilon, is found at which any strategy reaches it. There
each is simulated (`choices`): predictions alone were up to 24 % too low (decision 0185). What memoised
strategies do not cover, and the other two do, is when an answer changed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf, isfinite
from typing import Any

import numpy as np

from deniable.errors import DeniableError, PlanError
from deniable.mechanisms import parse_epsilon
from deniable.planner.catalogue import families
from deniable.planner.options import Family, Option, PlanLimits
from deniable.planner.request import EPSILONS, ERRORS, PlanRequest, ask
from deniable.planner.result import Strategy
from deniable.planner.search import Search
from deniable.planner.solve import Outside, crossing, rounded_up
from deniable.survey import Survey
from deniable.theory import count_of, linking_probability, naming_probability, permanent_share, returning_share

MOST_WINDOWS = 99_999  # windows to one turn of a device (`survey.participation`)
MOST_REPORTS = 100_000  # reports of a device in a plan: eleven years of hours
_DEVICES = (2.0, 1e12)  # devices among which a plan looks for the fewest
_TOLERANCE = 0.01  # in log n or log epsilon, of what a wanted error needs
_NAMES = ("sample people", "memoise by answer", "memoise by cell", "fresh noise")


@dataclass(frozen=True)
class Setting:
    """A strategy with its numbers: the request of one window that it makes, and the mechanisms that may answer it."""

    name: str
    devices: int  # in all
    reports: int  # of each device, in all
    times: int  # windows
    change: float  # the part of the devices that draw their answer anew in each window
    request: PlanRequest
    families: Sequence[Family]
    memoized: bool

    def noise(self) -> float:
        """The noise of the best mechanism, in closed form."""
        ranked = Search(self.request, self.families).ranked(self.request.spends, float(self.request.n or 1))
        return ranked[0][1] / float(self.request.n or 1) ** 0.5 if ranked else inf

    def predicted(self) -> float:
        """The error of a window by normal draws, in milliseconds."""
        search, n = Search(self.request, self.families), float(self.request.n or 0)
        option = search.chosen(self.request.spends, n)
        assert option is not None, "its noise is finite"
        search.look_around(option, self.request.spends, n)
        return search.loss(option, self.request.spends, n)

    def averaged(self, survey: Survey) -> float:
        """The variance of the mean of all windows in that of one: the error is that of so many people more."""
        if not self.memoized:
            return 1 / self.times
        shares = np.full(self.request.size, 1 / self.request.size)
        shared, returns = float(permanent_share(survey, shares[:1])[0]), returning_share(survey, shares)
        return (1 - shared) / self.times + shared * _alike(self.times, self.change, returns)

    def strategy(self, survey: Survey, option: Option, *, error: float, average: float) -> Strategy:
        """What is stated of it, with the mechanism and the errors that were found."""
        people, each = self.request.n or 0, self.reports
        candidates = self.request.size if self.request.is_open else None
        return Strategy(
            name=self.name,
            mechanism=survey.title,
            parameters=option.words,
            devices=self.devices,
            people=people,
            reports=each,
            epsilon=survey.epsilon if self.memoized else each * survey.epsilon,
            epsilon_report=float(survey.mechanism.report_bound),
            epsilon_worst=_worst(survey.epsilon_worst, each * float(survey.mechanism.report_bound), self.memoized),
            error=error,
            average=average,
            naming=naming_probability(survey, each, candidates=candidates, memoized=self.memoized),
            linking=None if each == 1 else linking_probability(survey, people, memoized=self.memoized),
            hides_changes=not self.memoized,
            report_bytes=option.report_bytes,
        )


@dataclass(frozen=True)
class Wanted:
    """A plan for many reports as it is asked for: what is given, and which of n, epsilon and the error is found."""

    given: dict[str, Any]  # without the wanted error, whose name is `metric`
    reports: object
    change: object
    found: str
    target: float | None

    @classmethod
    def of(cls, given: dict[str, Any], reports: object, change: object) -> "Wanted":
        errors = [name for name in ERRORS if given.get(name) is not None]
        stated = [name for name in ("n", "epsilon") if given[name] is not None] + errors
        if len(stated) != 2 or len(errors) > 1:
            raise DeniableError(
                "two of n, epsilon and an error (max_l1, max_l2 or max_error) must be given with reports, "
                f"got {', '.join(stated) or 'none'}; the third is what the plan finds"
            )
        if not errors:
            return cls(given, reports, change, "error", None)
        metric, _ = ERRORS[errors[0]]
        if metric == "visible":
            raise DeniableError("visible must not be given with reports, which plan by max_l1, max_l2 or max_error")
        # The arguments are checked as those of a plan for one report; a limit of one report is no limit of that.
        target = ask(**given | {"epsilon_report": None}).target
        found = "n" if given["n"] is None else "epsilon"
        return cls({**given, errors[0]: None, "metric": metric}, reports, change, found, target)

    def at(self, value: float | None, tell: Callable[[float], None]) -> list[Setting]:
        """The best setting of each strategy, with this n or epsilon where that is to be found."""
        named = {} if value is None else {self.found: ceil(value) if self.found == "n" else f"{value:.9g}"}
        return settings_of(self.given | named, reports=self.reports, change=self.change, tell=tell)

    def least(self) -> float | None:
        """The least n or epsilon with which a strategy is expected to reach the target; None where none is wanted."""
        if self.target is None:
            return None

        def error(value: float) -> float:
            try:
                return min(setting.predicted() for setting in self.at(value, lambda _: None))
            except PlanError:
                return inf

        low, high = _DEVICES if self.found == "n" else EPSILONS
        start, power = (1e5, 0.5) if self.found == "n" else (4.0, 1.0)
        try:
            return rounded_up(
                crossing(error, self.target, low=low, high=high, start=start, power=power, tolerance=_TOLERANCE), 3
            )
        except Outside as outside:
            if outside.below:
                return low
            raise PlanError(
                f"no strategy reaches an error of {self.target:g} in each of {self.reports} windows: the largest "
                f"{self.found} of a plan, {high:g}, leaves {outside.value:.3g}; allow more, or ask less often"
            ) from None


def settings_of(
    given: dict[str, Any], *, reports: object, change: object, tell: Callable[[float], None]
) -> list[Setting]:
    """The best setting of every strategy for the arguments of a plan; strategies that are not possible are left out."""
    times = count_of("reports", reports, 2, MOST_REPORTS)
    rate = _rate(change)
    whole = parse_epsilon(given["epsilon"])
    limit = None if given["epsilon_report"] is None else parse_epsilon(given["epsilon_report"], "epsilon_report")
    probe = ask(**given | {"epsilon": "1", "epsilon_report": None})  # the budget is that of no single report
    found: list[Setting] = []
    for place, name in enumerate(_NAMES):
        noises = [(setting.noise(), setting) for setting in _settings(name, probe, whole, limit, times, rate)]
        least, best = min(noises, key=lambda pair: pair[0], default=(inf, None))
        if best is not None and isfinite(least):
            found.append(best)
        tell((place + 1) / len(_NAMES))
    if not found:
        raise PlanError(
            f"no strategy fits: {times} reports of each device within epsilon {float(whole):g} in all, from "
            f"{given['n']} people; raise epsilon or n, or ask less often"
        )
    return found


def _rate(change: object) -> float:
    try:
        rate = float(change)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise DeniableError(f"change must be a number, got {type(change).__name__}") from None
    if not 0 <= rate <= 1:
        raise DeniableError(
            f"change must be from 0 to 1, got {rate:g}; it is the share of devices that change a window"
        )
    return rate


def _settings(
    name: str, probe: PlanRequest, whole: Fraction, limit: Fraction | None, times: int, rate: float
) -> list[Setting]:
    """The settings of a strategy that are within the budget."""
    every = families(probe.size, is_open=probe.is_open, limits=probe.limits)
    hashed = [family for family in every if family.name == "O-RR"]
    others = [family for family in every if family.name != "O-RR"]
    answers = times if probe.is_open else min(times, probe.size)
    least, most = (Fraction(bound) for bound in EPSILONS)
    made: list[Setting | None] = []

    def setting(every: int, permanent: Fraction, of: Sequence[Family], memoized: bool) -> Setting | None:
        each = -(-times // every)
        if not memoized:
            permanent /= each
        one = min(permanent if limit is None else min(permanent, limit), most)
        again = memoized and one < permanent
        people = (probe.n or 0) // every
        kept = [family.within(PlanLimits(again=again)) for family in of]
        if one < least or people < 2 or not any(map(len, kept)):
            return None
        request = replace(
            probe,
            n=people,
            epsilon=one,
            lifetime=permanent if again else None,
            limits=replace(probe.limits, again=again),
            participation="window:day" if every == 1 else f"window:day:share=1/{every}",
        )
        kept = [family for family in kept if len(family)]
        return Setting(name, probe.n or 0, each, times, rate, request, kept, memoized)

    if name == "sample people":
        counts = {1 << i for i in range(times.bit_length())} | ({int(whole / limit)} if limit else set())
        turns = {-(-times // r) for r in counts if 1 <= r < times}
        made = [setting(w, whole, every, False) for w in sorted(turns) if w <= MOST_WINDOWS]
    elif name == "fresh noise":
        made = [setting(1, whole, every, False)]
    elif name == "memoise by answer":
        made = [setting(1, whole / answers, others, True)]
    else:
        for family in hashed:
            cells = family.parameters["cells"]
            for g in (int(g) for g in np.unique(cells) if g < answers):
                made.append(setting(1, whole / g, [only(family, cells == g)], True))
    return [one for one in made if one is not None]


def only(family: Family, keep: Any) -> Family:
    """The family with these settings alone."""
    kept = {name: values[keep] for name, values in family.parameters.items()}
    return replace(family, parameters=kept, report_bytes=family.report_bytes[keep])


def _worst(by_response: float, one_by_one: float, memoized: bool) -> float:
    return min(by_response, one_by_one) if memoized else one_by_one


def _alike(times: int, change: float, returns: float) -> float:
    """The mean, over all pairs of windows, of the part of their permanent noise that two windows share.

    Windows s and t share that of devices which kept their answer, (1 - change)**|s - t| of them, and of the others as
    much as an answer that is drawn anew repeats by chance.
    """
    steps = np.arange(1, times)
    kept = (1 - change) ** steps
    return (times + 2 * float(((times - steps) * (kept + (1 - kept) * returns)).sum())) / times**2
