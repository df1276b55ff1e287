"""`plan`: two of n, error and epsilon in, a survey out.

Three steps: closed forms rank every mechanism and setting (`catalogue`). Normal draws through the decoder predict where
the error is reached and by which option first (`search`). The survey itself is then simulated and decoded (`measure`):
epsilon or n is corrected until the simulated error plus its uncertainty meets the target. The nearest other mechanisms
are simulated there, too, and one of them is the plan where it needs less (`rivals`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil, exp, inf, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import DeniableError, PlanError
from deniable.lab import normal_draws
from deniable.mechanisms import parse_epsilon
from deniable.planner.catalogue import families
from deniable.planner.crowded import keep_promise
from deniable.planner.effects import check_alone, check_without, plan_effect
from deniable.planner.evaluation import Evaluation
from deniable.planner.forms import plan_form
from deniable.planner.measure import BUDGET, Effort, effort_for, measured
from deniable.planner.numbers import plan_mean
from deniable.planner.options import Family, Option
from deniable.planner.others import alternatives, curves, infeasible, nothing_fits, paper_needs
from deniable.planner.request import APART, EPSILONS, PEOPLE, PlanRequest, ask
from deniable.planner.result import Plan
from deniable.planner.rivals import best_rival, close_rivals, needs_less, worth
from deniable.planner.search import Search
from deniable.planner.solve import Outside, rounded_up
from deniable.planner.spending import Wanted
from deniable.planner.text_plans import plan_texts
from deniable.planner.visible import smallest_visible
from deniable.survey import Form, Survey
from deniable.theory import Losses

PlanProgress = Callable[[str, float, float, int], None]

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
_RELATIVE_TOLERANCE = 0.008  # stop simulating once the standard error is below this share of the bound


def plan(
    form: Form | None = None,
    /,
    *,
    n: int | None = None,
    epsilon: object = None,
    epsilon_report: object = None,
    max_l1: float | None = None,
    max_l2: float | None = None,
    max_error: float | Mapping[str, float] | None = None,
    visible: float | None = None,
    crowd_epsilon: float | None = None,
    delta: float = 1e-6,
    metric: str | None = None,
    symbols: Iterable[object] | int | None = None,
    candidates: Iterable[object] | Mapping[str, Any] | int | None = None,
    sensitive: Iterable[object] | None = None,
    other: object = None,
    text: str = "folded",
    reports: int | None = None,
    change: float = 0.0,
    shape: str | npt.ArrayLike = "worst",
    confidence: float = 0.9,
    max_bytes: int | None = None,
    max_cohorts: int | None = None,
    name: str = "",
    seed: int = 0,
    progress: PlanProgress | None = None,
    number: tuple[object, object] | None = None,
    ordered: Iterable[object] | int | None = None,
    bins: int | None = None,
    step: object = None,
    max_mean_error: float | None = None,
    effect: float | None = None,
    power: float | None = None,
    share: float | None = None,
    alpha: float = 0.05,
    group: float = 0.5,
    covariate: Sequence[float] | None = None,
    answer: object = None,
    survey: Survey | None = None,
    discover: int | None = None,
    discover_above: float | None = None,
    length: int | None = None,
) -> Any:
    """Find the third of n, epsilon and error from the other two, with the survey to run.

    The error is a quantile: a share `confidence` of surveys run with this plan have a smaller loss (`Plan.expected_l1`
    is the mean). Losses are those of the default decoder against the population, sampling error included, from one
    report of each of n people.

    With `reports`, devices are asked again and again. Then `epsilon` is the budget of all reports of a device together,
    however often its answer changes, and `epsilon_report` the most that one report may spend. Four strategies are
    compared (`Plan.strategies`): a share of the devices in each window, memoising by answer, memoising by cell (O-RR),
    and fresh noise with a split budget. The plan is for a window of the one that errs least, and its survey is the one
    to run in all of them. Where an error is wanted, the fewest devices, or the least epsilon, are found with which one
    of the four reaches it.

    With an effect or a power three of n, epsilon, effect and power are given, and the fourth is found: how many people
    a difference between two groups needs, or a coefficient of a regression. The plan is an `EffectPlan`, with a power
    curve. A `survey`, such as `dn.design("crosswise", p=0.25)`, stands for the epsilon.

    With a form, n and a wanted error a question, the smallest epsilon of all answers together is found, how to spend
    it, and the mechanism of each question. What the form spent before, and on what, does not matter.

    Parameters
    ----------
    form : Form, optional
        Several questions, instead of symbols or candidates. The plan is a `FormPlan`; of the other arguments n,
        epsilon, max_error, candidates, confidence and progress are used.
    n : int, optional
        People, one report from each, at least 2.
    epsilon : float, str or Fraction, optional
        The privacy budget of all reports of an answer together, in nats, from 0.001 to 12.
    epsilon_report : float, str or Fraction, optional
        The budget of one report, in nats, below `epsilon`, which then must be given too: each report is randomised
        again. Errors depend on this budget alone.
    max_l1, max_l2 : float, optional
        The error as the sum of absolute errors, or as the Euclidean norm.
    max_error : float or mapping, optional
        The error as the largest absolute error of any symbol. Of a form by the names of its questions, or one number
        for all; that of a quantity is the error of its mean, and one number for all a share of its range.
    visible : float, optional
        The error as the smallest visible share: a symbol of that share has a simultaneous 95 % interval above zero with
        probability 90 %.
    crowd_epsilon : float, optional
        Given with n alone: each mechanism gets the largest epsilon whose crowd keeps this promise (`dn.crowd`) about
        the counts of n honest people in one round, and the one of least error is planned.
    delta : float
        With which probability that promise may fail.
    metric : str, optional
        Which error is found where n and epsilon are given: "l1" (the default), "l2" or "max". Mechanism and worst
        population are chosen for it.
    symbols : iterable or int, optional
        A closed alphabet: its symbols, or how many.
    candidates : iterable, mapping or int, optional
        An open alphabet: the answers that will be looked for, or how many. Of a form by the names of its questions.
    sensitive : iterable, optional
        Those of `symbols` that need hiding, where the others may be seen: uRR and its block-design form are then
        compared with the mechanisms that hide every answer.
    other : symbol, optional
        The symbol of a closed alphabet that stands for all other answers.
    text : str
        How an open alphabet reads text: "folded" or "exact".
    reports : int, optional
        Windows in which devices are asked, at least 2. n is of all devices then, and the error that of a window.
    change : float
        The share of devices whose answer changes from one window to the next, for the error of the mean over all
        windows. 0, the default, is the worst case: memoised noise does not average out while answers stay the same.
    shape : str or array_like
        The population: one share a symbol, or a name: "uniform", "geometric" (mean S / 5), "zipf" (exponent 1),
        "binomial", "even" (over half of the symbols) or "spike" (half of everyone on one). A number may follow, as in
        "zipf:2". "worst" is the largest loss over a family: even over all S symbols, over S / 2, S / 4, ... 2 of them,
        geometric, Zipf 1 and 2, and the spike. Other populations can be worse than these.
    confidence : float
        The share of surveys, from 0.5 to 0.99, whose loss is at most the error.
    max_bytes, max_cohorts : int, optional
        Limits of a packed report, in bytes, and of the number of cohorts.
    name : str
        Name of the survey. Give every survey a name of its own: the public seed depends on it.
    seed : int
        With `name` and the size of the alphabet it decides the public seed, and every simulation: the same request has
        the same answer.
    progress : callable, optional
        Called with the name of the stage, the share that is done, 1.0 and 1.
    number : tuple of two numbers, optional
        A survey of a quantity (`dn.number`), by the ends of its scale, instead of symbols or candidates. The error is
        `max_mean_error`, and the plan is a `NumberPlan`.
    ordered : iterable or int, optional
        The same for whole numbers in an order (`dn.ordered`).
    bins, step : optional
        Of the scale, as `dn.number` takes them.
    max_mean_error : float, optional
        The error as that of the mean, for `number` and `ordered`, whatever the population.
    effect : float, optional
        How much larger the share of `answer` is in the second of two groups; with `covariate` a coefficient, in log
        odds for one unit of it.
    power : float, optional
        The probability that the effect is significant, above 0.5.
    share : float, optional
        The share of `answer` in the first group, or where the covariate is at its mean.
    alpha : float
        The level of the two-sided test.
    group : float
        The second group's part of all people.
    covariate : sequence of float, optional
        Equally likely values of a covariate: the effect is then its coefficient, for two answers.
    answer : symbol, optional
        The answer whose share differs; the last one without it.
    survey : Survey, optional
        The survey that is asked, instead of an epsilon and answers.
    discover : int, optional
        A survey of text that nobody listed (`dn.discovery`), instead of symbols or candidates: how many of the most
        frequent texts are to be found, where shares fall as one over the rank. The plan is a `TextPlan`. With n and
        epsilon and a `length`, the smallest share that is found is told.
    discover_above : float, optional
        The same as a share of people: any text that as many wrote is to be found.
    length : int, optional
        Of texts, in bytes: what is longer is cut. 32 where it is not given; the shorter, the fewer people are needed.

    Returns
    -------
    Plan
        The survey, what to expect of it, and the alternatives; or a `NumberPlan`, a `TextPlan`, an `EffectPlan` or a
        `FormPlan`.

    Raises
    ------
    PlanError
        If the error cannot be reached; the message says what it would take.
    DeniableError
        If not exactly two of n, epsilon and an error are given, or an argument is outside its range.

    Examples
    --------
    >>> found = plan(n=1_000_000, symbols=256, epsilon=2.0)
    >>> found.survey.epsilon, found.report_bytes < 50, 0 < found.expected_l1 < 0.2
    (2.0, True, True)
    >>> plan(n=10_000, symbols=4, epsilon=4, epsilon_report=1).survey
    <Survey: k-RR, 4 symbols, epsilon 4 and 1 a report, digest 6604e6b3>
    >>> plan(n=10_000, symbols=20, sensitive=[3, 4], epsilon=1).survey.title
    'uRR'
    >>> again = plan(n=10_000, symbols=16, epsilon=8, epsilon_report=1, reports=90, shape="zipf")
    >>> again.survey.epsilon_worst, [(one.name, round(one.error, 2)) for one in again.strategies][:2]
    (8.0, [('memoise by cell', 0.25), ('memoise by answer', 0.39)])
    >>> plan(n=1000, symbols=4, epsilon=2, metric="max").errors["max"].bound < 0.1
    True
    >>> plan(effect=0.05, share=0.2, power=0.8, epsilon=1).n
    13744
    >>> from deniable.errors import PlanError
    >>> try:
    ...     plan(n=1000, symbols=256, max_l1=0.05)
    ... except PlanError as problem:
    ...     print(str(problem).partition(";")[2].partition("about")[0])
     it takes
    """
    if effect is not None or power is not None:
        check_alone(
            {"a form": form, "candidates": candidates, "metric": metric, "other": other, "max_l1": max_l1}
            | {"max_l2": max_l2, "max_error": max_error, "visible": visible, "number": number, "ordered": ordered}
            | {"epsilon_report": epsilon_report, "reports": reports, "crowd_epsilon": crowd_epsilon}
            | {"max_mean_error": max_mean_error, "sensitive": sensitive, "max_bytes": max_bytes, "step": step}
            | {"max_cohorts": max_cohorts, "bins": bins, "discover": discover, "discover_above": discover_above}
            | {"length": length}
        )
        return plan_effect(
            n=n,
            epsilon=epsilon,
            effect=effect,
            power=power,
            share=share,
            alpha=alpha,
            group=group,
            covariate=covariate,
            answer=answer,
            symbols=symbols,
            survey=survey,
            name=name,
        )
    check_without({"share": share, "covariate": covariate, "answer": answer, "survey": survey})
    if form is not None:
        told_of = progress or (lambda stage, done, total, left: None)
        one_question: dict[str, object] = {"symbols": symbols, "number": number, "ordered": ordered, "reports": reports}
        one_question |= {"max_l1": max_l1, "max_l2": max_l2, "visible": visible, "epsilon_report": epsilon_report}
        one_question |= {"max_mean_error": max_mean_error, "crowd_epsilon": crowd_epsilon, "sensitive": sensitive}
        one_question |= {"discover": discover, "discover_above": discover_above, "length": length}
        for label, value in one_question.items():
            if value is not None:
                raise DeniableError(f"{label} must not be given with a form, which has questions of its own")
        return plan_form(
            form,
            n=n,
            epsilon=epsilon,
            max_error=max_error,
            candidates=candidates,  # type: ignore[arg-type]
            confidence=confidence,
            tell=lambda share: told_of("comparing ways to spend the budget", share, 1.0, 1),
        )
    if discover is not None or discover_above is not None or length is not None:
        apart: dict[str, object] = {"symbols": symbols, "candidates": candidates, "number": number, "ordered": ordered}
        apart |= {"max_l1": max_l1, "max_l2": max_l2, "max_error": max_error, "visible": visible, "metric": metric}
        apart |= {"max_mean_error": max_mean_error, "reports": reports, "epsilon_report": epsilon_report}
        apart |= {"crowd_epsilon": crowd_epsilon, "sensitive": sensitive, "other": other}
        for label, value in apart.items():
            if value is not None:
                raise DeniableError(f"{label} must not be given with discover: a text is found or not, whatever it is")
        return plan_texts(
            n=n, epsilon=epsilon, discover=discover, discover_above=discover_above, length=length,
            confidence=confidence, name=name, seed=seed, text=text,
        )  # fmt: skip
    if number is not None or ordered is not None or max_mean_error is not None:
        others: dict[str, object] = {"symbols": symbols, "candidates": candidates, "metric": metric, "other": other}
        others |= {"max_l1": max_l1, "max_l2": max_l2}
        others |= {"max_error": max_error, "visible": visible, "epsilon_report": epsilon_report, "reports": reports}
        others |= {"crowd_epsilon": crowd_epsilon}
        refused = [label for label, value in others.items() if value is not None]
        if refused or (number is None) == (ordered is None):
            raise DeniableError(
                "max_mean_error must be planned for number or ordered, one of the two, and nothing else, got "
                + (refused[0] if refused else "neither" if number is None else "both")
            )
        return plan_mean(
            number_=number,
            ordered_=ordered,
            n=n,
            epsilon=epsilon,
            max_mean_error=max_mean_error,
            bins=bins,
            step=step,
            confidence=confidence,
            name=name,
        )
    given: dict[str, Any] = {name: value for name, value in locals().items() if name not in (*APART, "form")}
    told = progress or (lambda stage, done, total, left: None)
    if crowd_epsilon is not None:
        if reports is not None:
            raise DeniableError("crowd_epsilon must not be given with reports: what a crowd adds holds for one round")
        told("asking what the crowd adds", 0.0, 1.0, 1)
        kept = keep_promise(given, crowd_epsilon, delta)
        planned = _Planner(ask(**{**given, "epsilon": kept.epsilon}), told, [kept.family]).run()
        return replace(planned, alternatives=kept.alternatives, paper={})
    if reports is None:
        return _Planner(ask(**given), told).run()
    return _repeated(Wanted.of(given, reports, change), told)


def _repeated(wanted: Wanted, told: PlanProgress) -> Plan:
    """The plan of a window, for devices that are asked again and again; a wanted error is met by simulation, too."""

    def tell(share: float) -> None:
        told("comparing", 0.3 * share, 1.0, 1)

    value = wanted.least(tell)
    for _ in range(_MOVES):
        found = wanted.at(value, tell)
        best = _Planner(found.chosen.request, told, found.chosen.families).run()
        if value is None or wanted.target is None or best.bound <= wanted.target:
            break
        short = best.bound / wanted.target
        value = rounded_up(1.005 * value * short ** (2 if wanted.found == "n" else 1), 3)
    return replace(
        best, found=wanted.found, target=wanted.target, strategies=found.strategies, alternatives=(), paper={}
    )


class _Planner:
    def __init__(self, request: PlanRequest, progress: PlanProgress, of: Sequence[Family] | None = None) -> None:
        self.request, self._progress = request, progress
        self.all = of or families(request.size, is_open=request.is_open, limits=request.limits, hidden=request.hidden)
        self.search = Search(request, self.all)
        self.placed: dict[str, float] = {}  # epsilon or n by mechanism, where it was found by simulation

    def run(self) -> Plan:
        request, search = self.request, self.search
        if not search.families:
            raise nothing_fits(request, self.all)
        self._tell("comparing mechanisms", 0.05)
        option, epsilon, n = self._predict()
        self._tell("simulating the best of them", 0.35)
        point = self._contested(self._finish(option, epsilon, n))
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
        self._progress(stage, share, 1.0, 1)

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
        self, family: Family, x: float, move: int, *, again: bool = True, budget: float = BUDGET
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
        effort = effort_for(survey, request.size, budget)
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
