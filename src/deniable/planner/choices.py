"""Plans for one answer a person, from a list or among candidates: the best mechanism and setting.

Three steps: closed forms rank every mechanism and setting (`catalogue`). Normal draws through the decoder predict where
the error is reached and by which option first (`search`). The survey itself is then simulated and decoded (`measure`):
epsilon or n is corrected until the simulated error plus its uncertainty meets the target. The nearest other mechanisms
are simulated there, too, and one of them is the plan where it needs less (`rivals`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, inf, log, sqrt
from typing import Any

import numpy as np

from deniable.errors import DeniableError, PlanError
from deniable.lab import normal_draws
from deniable.mechanisms import parse_epsilon
from deniable.planner.catalogue import families
from deniable.planner.crowded import keep_promise
from deniable.planner.evaluation import Evaluation
from deniable.planner.measure import BUDGET, Effort, effort_for, measured
from deniable.planner.options import Family, Option
from deniable.planner.others import alternatives, curves, infeasible, nothing_fits, paper_needs
from deniable.planner.request import EPSILONS, PEOPLE, PlanProgress, PlanRequest, ask
from deniable.planner.result import Plan, Strategy
from deniable.planner.rivals import best_rival, close_rivals, needs_less, worth
from deniable.planner.search import Search
from deniable.planner.solve import Outside, rounded_up
from deniable.planner.spending import Setting, Wanted, only
from deniable.planner.visible import smallest_visible
from deniable.theory import Losses

_MOVES = 4  # measurements at most, each at the epsilon or n at which the last one predicts the target
_MARGIN = {"epsilon": 1.1, "n": 1.21}  # largest factor on the answer for the uncertainty of a measurement
_UNSEEN = 0.96  # of a simulated epsilon (its square, of n): a plan is not placed lower without being simulated there
_RIVALS = 2  # populations, at most, that are simulated beside the one that was predicted to be the worst
_STEPS = 30  # steps of 1 % each, at most, until a share is visible with a whole number of people
_STANDARD_ERRORS = 1.6  # margin to the target, in standard errors of the simulation (docs/decisions/0012-planner.md)
_NEAR = 0.06  # a step in log epsilon up to which a measurement is not repeated, because its correction still holds
# Work of one repeat, in numbers touched (`measure.effort_for`): above _SLOW a near step is not measured again, above
# _ONCE no step is, and up to _CONFIRMED the answer itself is simulated once more. A number takes about 50 ns.
_SLOW, _ONCE, _CONFIRMED = 900_000, 6_000_000, 3_000_000
# Numbers touched by all measurements, and at least by the last one. The last one, at the answer, gets the rest.
_TOTAL_BUDGET, _LEAST_BUDGET = 24_000_000, 4_000_000
_COMPARED_BUDGET = 2 * BUDGET  # of each strategy for many reports: a standard error of about 2 % of its error
_RELATIVE_TOLERANCE = 0.008  # stop simulating once the standard error is below this share of the bound


def plan_once(*, progress: PlanProgress, **request: Any) -> Plan:
    """One report from each person; see `plan`."""
    return _Planner(ask(**request), progress).run()


def plan_in_crowd(*, crowd_epsilon: object, delta: float, progress: PlanProgress, **request: Any) -> Plan:
    """The largest epsilon whose crowd keeps a promise; see `plan`."""
    if request.pop("reports") is not None:
        raise DeniableError("crowd_epsilon must not be given with reports: what a crowd adds holds for one round")
    progress("asking what the crowd adds", 0.0, 1.0, 1)
    kept = keep_promise(request, crowd_epsilon, delta)
    planned = _Planner(ask(**{**request, "epsilon": kept.epsilon}), progress, [kept.family]).run()
    return replace(planned, alternatives=kept.alternatives, paper={})


def plan_repeated(*, reports: object, change: object, progress: PlanProgress, **request: Any) -> Plan:
    """The plan of a window, for devices that are asked again and again; a wanted error is met by simulation, too."""
    wanted = Wanted.of(request, reports, change)

    def tell(share: float) -> None:
        progress("comparing", 0.3 * share, 1.0, 1)

    value = wanted.least()
    for _ in range(_MOVES):
        found = [_Repeated.of(setting, progress) for setting in wanted.at(value, tell)]
        found.sort(key=lambda one: one.error)
        short = found[0].error / (wanted.target or inf)
        if value is None or short <= 1:
            break
        value = rounded_up(1.005 * value * short ** (2 if wanted.found == "n" else 1), 3)
    best = found[0].planner.told(found[0].point)
    strategies = tuple(one.strategy() for one in found)
    return replace(best, found=wanted.found, target=wanted.target, strategies=strategies, alternatives=(), paper={})


@dataclass(frozen=True)
class _Repeated:
    """A strategy for many reports, and the plan of one window of it as far as it was simulated."""

    setting: Setting
    planner: "_Planner"
    point: Evaluation

    @classmethod
    def of(cls, setting: Setting, progress: PlanProgress) -> "_Repeated":
        planner = _Planner(setting.request, progress, setting.families, budget=_COMPARED_BUDGET)
        return cls(setting, planner, planner.placed_at())

    @property
    def error(self) -> float:
        request = self.setting.request
        return self.point.expected(request.metric, request.level).bound

    def strategy(self) -> Strategy:
        """What is stated of it, with the error of the mean of all windows: as exact as one window of more people."""
        setting, point, option = self.setting, self.point, self.point.option
        average, more = self, setting.averaged(point.survey)
        if more < 1:
            same = only(option.family, np.arange(len(option.family)) == option.place)
            request = replace(setting.request, n=round(point.n / more))
            average = _Repeated.of(replace(setting, request=request, families=[same]), self.planner.progress)
        return setting.strategy(point.survey, option, error=self.error, average=average.error)


class _Planner:
    def __init__(
        self,
        request: PlanRequest,
        progress: PlanProgress,
        of: Sequence[Family] | None = None,
        *,
        budget: float = BUDGET,
    ) -> None:
        self.request, self.progress, self._budget = request, progress, budget
        self.all = of or families(request.size, is_open=request.is_open, limits=request.limits, hidden=request.hidden)
        self.search = Search(request, self.all)
        self.placed: dict[str, float] = {}  # epsilon or n by mechanism, where it was found by simulation

    def run(self) -> Plan:
        return self.told(self.placed_at())

    def placed_at(self) -> Evaluation:
        """The best mechanism where it meets the target, simulated."""
        if not self.search.families:
            raise nothing_fits(self.request, self.all)
        self._tell("comparing mechanisms", 0.05)
        option, epsilon, n = self._predict()
        self._tell("simulating the best of them", 0.35)
        return self._contested(self._finish(option, epsilon, n))

    def told(self, point: Evaluation) -> Plan:
        """The plan there, with what other mechanisms need."""
        request, search = self.request, self.search
        self._tell("asking what the others need", 0.75)
        search.look_around(point.option, point.spends, point.n)  # alternatives are predictions, too
        lost = alternatives(search, point.option, point.spends, point.n, self.placed)
        paper = paper_needs(request, search, point.spends, point.n)
        self._tell("done", 1.0)
        collision = 0.0 if request.metric == "visible" else point.shape.classes.collision
        model = point.option.model(point.spends, point.n)
        shows = smallest_visible(model, point.n, request.size, collision=collision)
        return Plan(
            survey=point.survey,
            n=point.n,
            found=request.found,
            metric=request.metric,
            target=request.target,
            confidence=request.confidence,
            shape=point.shape.name,
            shapes=tuple(shape.name for shape in request.shapes),
            parameters=point.option.words,
            errors={name: point.expected(name, request.confidence) for name in Losses.METRICS},
            smallest_visible=shows,
            report_bytes=point.option.report_bytes,
            decoder=point.decoder,
            repeats=point.repeats,
            alternatives=tuple(lost),
            paper={one.mechanism: one for one in paper},
            size=request.size,
            _lines=lambda: curves(search, point.option, point.spends, point.n),
        )

    def _tell(self, stage: str, share: float) -> None:
        self.progress(stage, share, 1.0, 1)

    def _predict(self) -> tuple[Option, float, float]:
        """The option and where it reaches the target, by normal draws; the active shapes are the worst ones there."""
        request, search = self.request, self.search
        epsilon = request.spends if request.epsilon is not None else self._guess()
        n = float(request.n) if request.n is not None else self._guess()
        option = search.chosen(epsilon, n)
        if option is not None:
            search.look_around(option, epsilon, n)
        elif request.found == "error":
            raise nothing_fits(request, self.all)
        for _ in range(_MOVES):
            if request.target is not None:
                try:
                    found = search.solve(search.first, request.target, start=self._x(epsilon, n))
                except Outside as outside:
                    if not outside.below:
                        raise infeasible(request, search, outside.value) from None
                    found = (EPSILONS if request.found == "epsilon" else PEOPLE)[0]
                epsilon, n = (found, n) if request.found == "epsilon" else (epsilon, found)
            option = search.chosen(epsilon, n)
            assert option is not None, "the target was met here"
            if not search.look_around(option, epsilon, n):
                break
        assert option is not None
        return option, epsilon, n

    def _x(self, epsilon: float, n: float) -> float:
        """The unknown: n or epsilon."""
        return n if self.request.found == "n" else epsilon

    def _guess(self) -> float:
        """Starting value: where the unconstrained estimate would reach the target, in closed form."""
        request, search = self.request, self.search
        assert request.target is not None
        factor = {"l1": 0.8, "l2": 1.0, "max": 1.0, "visible": 1.0}[request.metric]
        level = request.target / factor
        best: list[float] = []
        for family in search.families:
            people, epsilon = float(request.n or 1e6), 1.0 if request.epsilon is None else request.spends
            found = search.same_noise(family, level, epsilon=epsilon, n=people)
            if found is not None:
                best.append(found)
        limits = (0.02, 8.0) if request.found == "epsilon" else (100.0, 1e12)
        return float(np.clip(min(best, default=limits[1]), *limits))

    def _finish(self, option: Option, epsilon: float, n: float) -> Evaluation:
        """Move along the chosen family until simulation confirms the target.

        Simulated surveys correct the prediction. The answer is where the corrected curve, plus the uncertainty of the
        correction, meets the target. That margin is at most the factor `_MARGIN`.
        """
        request = self.request
        family, wanted = option.family, request.target
        x = self._x(epsilon, n)
        if wanted is not None:
            x = self._solved(family, wanted, x)
        point = self._measure(family, x, 0)
        if wanted is None:
            return point
        if request.metric == "visible":
            # With few people the smallest visible share is not monotone in n, because counts are whole numbers.
            for _ in range(_STEPS):
                if self.search.loss(point.option, point.spends, point.n) <= wanted:
                    break
                x = 1.01 * self._x(point.spends, point.n) + (request.found == "n")
                point = self._measure(family, x, 0)
            return point
        for move in range(1, _MOVES + 1):
            goal, kept = self._goal(family, point)
            if kept:
                return self._confirmed(family, point)
            near = abs(log(goal / self._x(point.spends, float(point.n)))) < _NEAR * self._power
            each = effort_for(point.survey, request.size).each
            again = move < _MOVES and each < _ONCE and not (near and (move > 1 or each > _SLOW))
            if not again:
                goal = self._not_far_below(goal, point)
            point = self._measure(family, goal, move, again=again).after(point)
            if not again:
                return self._confirmed(family, point)
        return point

    def _contested(self, point: Evaluation) -> Evaluation:
        """The point, or that of a rival that was simulated, too, and needs less."""
        request, search, kept = self.request, self.search, self.search.active
        if request.target is None or request.metric == "visible" or not point.repeats:
            return point
        x = self._x(point.spends, float(point.n))

        def bound(one: Evaluation) -> tuple[float, float]:
            expected = one.expected(request.metric, request.level)
            return expected.bound, expected.bound_error

        def measure(family: Family, budget: float, turn: int) -> Evaluation:
            search.active = kept
            return self._measure(family, x, _MOVES + 1 + turn, budget=budget)

        least = bound(point)[0] * worth(self._slope(point.option.family, x), self._power)
        rival = best_rival(close_rivals(search, point), least, measure, bound)
        if rival is not None:
            try:
                other = self._finish(search.best(rival, point.spends, point.n)[0], point.spends, float(point.n))
            except PlanError:  # it looked better than it is
                other = point
            self.placed |= {one.option.family.name: exp(one.place) for one in (point, other)}
            if needs_less(point, other, self._power):
                return other
        search.active = kept
        return point

    @property
    def _power(self) -> int:
        """The loss falls about as 1 / epsilon and as 1 / sqrt(n): steps in log n are twice those in log epsilon."""
        return 1 if self.request.found == "epsilon" else 2

    def _goal(self, family: Family, point: Evaluation) -> tuple[float, bool]:
        """Where the corrected loss plus its margin meets the target, as epsilon or n; and whether `point` is there."""
        request = self.request
        assert request.target is not None
        expected = point.expected(request.metric, request.level)
        guess = point.predicted.quantile(request.metric, request.level)
        here = self._x(point.spends, float(point.n))
        least = self._solved(family, request.target * guess / expected.bound, here, off=expected.bound / guess)
        if least <= (EPSILONS if request.found == "epsilon" else PEOPLE)[0] >= here:
            return here, True  # the least epsilon or n of the range meets the target
        # The margin for the uncertainty, converted to epsilon or n by the slope of the curve.
        slope = self._slope(family, least)
        margin = exp(min(_STANDARD_ERRORS * expected.bound_error / expected.bound / slope, 10.0)) if slope > 0 else inf
        goal = least * min(margin, _MARGIN[request.found])
        # Accepting less than half of the margin would select measurements that are too small by chance.
        return goal, 0.997**self._power * sqrt(least * goal) <= here <= 1.012**self._power * goal

    def _confirmed(self, family: Family, point: Evaluation) -> Evaluation:
        """The same point simulated once more with a larger budget, or a neighbour if that measurement asks for it."""
        request = self.request
        expected = point.expected(request.metric, request.level)
        each = effort_for(point.survey, request.size).each
        if each > _CONFIRMED or expected.bound_error < _RELATIVE_TOLERANCE * expected.bound:
            return point
        here = self._x(point.spends, float(point.n))
        left = max(_TOTAL_BUDGET - BUDGET * len(point.samples), _LEAST_BUDGET)
        point = self._measure(family, here, _MOVES, budget=left).after(point)
        goal, kept = self._goal(family, point)
        if kept:
            return point
        return self._measure(family, self._not_far_below(goal, point), _MOVES, again=False).after(point)

    def _not_far_below(self, goal: float, point: Evaluation) -> float:
        """The goal of a step that is not simulated: at most a little below what was.

        The curve of one population says nothing about another that is worse further down: at epsilon 1.82 a plan for 40
        symbols had .074 where it promised .048, because the last step began at 2.31.
        """
        return max(goal, _UNSEEN**self._power * self._x(point.spends, float(point.n)))

    def _slope(self, family: Family, x: float) -> float:
        """Minus the slope of the log predicted loss in log epsilon or log n."""
        pick, request = self.search.of(family), self.request
        values = []
        for place in (x, 1.08 * x):
            where = (place, float(request.n or 0)) if request.found == "epsilon" else (request.spends, place)
            values.append(self.search.loss(pick(*where), *where))
        return log(values[0] / values[1]) / log(1.08)

    def _solved(self, family: Family, goal: float, start: float, *, off: float = 1.0) -> float:
        """Where the family's predicted loss is the goal, as epsilon or n; `off` is the real over the predicted loss."""
        request, search = self.request, self.search
        try:
            return search.solve(search.of(family), goal, start=start)
        except Outside as outside:
            if not outside.below:
                raise infeasible(request, search, outside.value * off) from None
            return (EPSILONS if request.found == "epsilon" else PEOPLE)[0]

    def _measure(
        self, family: Family, x: float, move: int, *, again: bool = True, budget: float | None = None
    ) -> Evaluation:
        """Simulate the family's best survey at x (an epsilon or an n), rounded up to three digits.

        Without `again` nothing is simulated: earlier measurements nearby are used.
        """
        request, search = self.request, self.search
        spent = rounded_up(x, 3) if request.found == "epsilon" else request.epsilon
        spends = float(parse_epsilon(spent))
        people = request.n if request.n is not None else int(rounded_up(ceil(x), 3))
        option = search.of(family)(spends, people)
        survey = request.survey_of(option, spent)
        if again:
            search.look_around(option, spends, people)  # another population may be the worst one here
        shape = search.worst(option, spends, people)
        predicted = search.losses(option, spends, people, shape)
        point = Evaluation(
            option, spent, people, survey, shape, predicted, "default", log(self._x(spends, float(people)))
        )
        effort = effort_for(survey, request.size, budget or self._budget)
        if not again or effort.repeats == 0:
            return point
        point = self._simulated(point, effort, move)
        if request.metric == "visible":
            return point
        # If another population is predicted to be worse than what was simulated, it is simulated too.
        for rival in search.by_loss(option, spends, people, besides=shape)[:_RIVALS]:
            predicted = search.losses(option, spends, people, rival)
            least = point.expected(request.metric, request.level).bound
            if predicted.quantile(request.metric, request.level) <= least:
                break
            other = self._simulated(replace(point, shape=rival, predicted=predicted, samples=()), effort, move)
            if other.expected(request.metric, request.level).bound > least:
                point = other
        search.active = [point.shape]
        return point

    def _simulated(self, point: Evaluation, effort: Effort, move: int) -> Evaluation:
        """The point, with the losses of simulated surveys of its population."""
        request, shape = self.request, point.shape
        people = point.n

        def tick(share: float) -> None:
            self._tell("simulating the best of them", 0.35 + 0.1 * (min(move, 3) + share))

        sample, decoder = measured(
            point.survey,
            shape,
            people,
            effort,
            point.option.model(point.spends, people, shape.classes),
            metric="l1" if request.metric == "visible" else request.metric,
            normals=lambda rows: normal_draws(request.size, rows, request.seed),
            place=(request.seed, "measure", point.survey.digest, people, shape.name, move),
            candidates=request.candidates,
            tick=tick,
        )
        return replace(point, samples=((sample, point.predicted, point.place),), decoder=decoder)
