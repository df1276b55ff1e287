"""`plan`: two of n, error and epsilon in, a survey out. Each kind of plan says which arguments are its own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy.typing as npt

from deniable.errors import DeniableError
from deniable.planner.choices import plan_in_crowd, plan_once, plan_repeated
from deniable.planner.effects import plan_effect
from deniable.planner.forms import plan_form
from deniable.planner.numbers import plan_mean
from deniable.planner.request import REQUEST, PlanProgress
from deniable.planner.text_plans import plan_texts
from deniable.survey import Form, Survey


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
    (8.0, [('memoise by cell', 0.25), ('memoise by answer', 0.45)])
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
    given: dict[str, Any] = locals() | {"progress": progress or (lambda stage, done, total, left: None)}
    stated = [name for name, one in signature(plan).parameters.items() if _differs(given[name], one.default)]
    kind = next(kind for kind in _KINDS if not kind.asked or set(kind.asked) & set(stated))
    for name in stated:
        if name not in kind.takes + _ALWAYS:
            _refuse(name, kind, next((one for one in kind.asked if one in stated), ""))
    return kind.run(**{name: given[name] for name in kind.takes})


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of plan: the arguments that ask for it, and what else it takes."""

    run: Callable[..., Any]
    asked: tuple[str, ...]
    also: tuple[str, ...]
    refusal: str = ""  # of any other argument
    needed: str = ""  # said of an argument that is its own, where another kind is planned

    @property
    def takes(self) -> tuple[str, ...]:
        return self.asked + self.also


_ALWAYS = ("name", "seed", "progress")  # no kind refuses them
# The first kind that is asked for is planned; the last one is where none is.
_KINDS = (
    _Kind(
        plan_effect,
        asked=("effect", "power"),
        also=("n", "epsilon", "symbols", "survey", "share", "alpha", "group", "covariate", "answer", "name"),
        refusal="{} must not be given with an effect or a power; plan one of them at a time",
        needed="an effect or a power, got neither",
    ),
    _Kind(
        plan_form,
        asked=("form",),
        also=("n", "epsilon", "max_error", "candidates", "confidence", "progress"),
        refusal="{} must not be given with a form, which has questions of its own",
    ),
    _Kind(
        plan_texts,
        asked=("discover", "discover_above", "length"),
        also=("n", "epsilon", "text", "confidence", "name", "seed"),
        refusal="{} must not be given with {asked}: a text is found or not, whatever it is",
    ),
    _Kind(
        plan_mean,
        asked=("number", "ordered", "max_mean_error"),
        also=("n", "epsilon", "bins", "step", "confidence", "name"),
        refusal="{} must not be given with {asked}: a mean is planned for a number or for ordered answers alone",
        needed="number or ordered, got neither",
    ),
    _Kind(
        plan_in_crowd,
        asked=("crowd_epsilon",),
        also=("delta", "reports", "progress", *REQUEST),
        needed="crowd_epsilon, got none",
    ),
    _Kind(plan_repeated, asked=("reports",), also=("change", "progress", *REQUEST), needed="reports, got none"),
    _Kind(plan_once, asked=(), also=("progress", *REQUEST)),
)


def _refuse(name: str, kind: _Kind, asked: str) -> None:
    if kind.refusal:
        raise DeniableError(kind.refusal.format("a form" if name == "form" else name, asked=asked))
    needed = next(one.needed for one in _KINDS if name in one.takes)
    raise DeniableError(f"{name} must be given with {needed}")


def _differs(value: object, default: object) -> bool:
    """Whether an argument was given; an array is never equal to a default."""
    return value is not default and not (isinstance(value, type(default)) and bool(value == default))
