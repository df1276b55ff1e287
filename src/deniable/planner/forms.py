"""Plans of forms: for n people and a wanted error a question, the smallest epsilon, how to spend it, and on what.

Ways to spend one budget are compared: everybody answers everything, with the shares that meet every wanted error just
so, or with equal ones; or each person answers m of the d parts, at epsilon / m each. Of each part the least budget that
meets its error follows from `form_parts`; the sum of these, or d or m times the largest, is what a way costs.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from deniable.errors import DeniableError, PlanError
from deniable.mechanisms import read_fraction
from deniable.planner.form_parts import PlannedPart, candidates_of
from deniable.planner.request import EPSILONS, PEOPLE, PlanProgress, checked_confidence
from deniable.planner.solve import Outside, crossing, rounded_up
from deniable.survey import Form, Survey, html_table
from deniable.survey import form as form_of
from deniable.theory import count_of

__all__ = ["FormPlan", "FormPlanner", "Memory", "PlannedQuestion", "Spending", "Way", "check_budget", "plan_form"]

_MARGIN = 1.02  # of a budget: predictions are within about this of simulated surveys
_DIGITS = 4  # of a budget, rounded up
_RIVALS = 3  # other mechanisms of a question that are told
Memory = dict[Any, PlannedPart]  # parts by what they ask, with what is known of them


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """What a plan has for one question.

    Parameters
    ----------
    name : str
        The question.
    mechanism, parameters : str
        What answers it, in words.
    epsilon : float
        The budget of its part, in nats.
    error : float
        What its error stays below in a share `confidence` of surveys: that of its worst share, or of its mean.
    wanted : float
        What was asked for.
    instead : tuple of pairs
        Other mechanisms, and the epsilon of the whole form with each.

    Examples
    --------
    >>> PlannedQuestion("a", "W-RR", "", 1.0, 0.01, 0.01, ()).mechanism
    'W-RR'
    """

    name: str
    mechanism: str
    parameters: str
    epsilon: float
    error: float
    wanted: float
    instead: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Spending:
    """One way to spend a budget.

    Parameters
    ----------
    name : str
        In words.
    drawn : int
        How many parts each person answers.
    needs : float, optional
        The epsilon, the people or the error that it takes; None if it cannot meet what is wanted.

    Examples
    --------
    >>> Spending("sample 1", 1, 2.5).needs
    2.5
    """

    name: str
    drawn: int
    needs: float | None


@dataclass(frozen=True, slots=True)
class FormPlan:
    """A form that is as accurate as was asked for, and what other ways to ask it cost.

    Parameters
    ----------
    form : Form
        Ready to use.
    n : int
        People, one report from each.
    confidence : float
        The share of surveys in which a question's error is below its bound; each question by itself.
    found : str
        Which of "n", "epsilon" and "error" was found.
    questions : tuple of PlannedQuestion
        In the order of the form.
    spendings : tuple of Spending
        Ways to spend the budget, the best first.

    Examples
    --------
    >>> import deniable as dn
    >>> asked = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(6, epsilon=1), age=dn.number(18, 90, 1, bins=16),
    ...                 epsilon=1)
    >>> plan = dn.plan(asked, n=100_000, max_error={"smokes": 0.01, "likes": 0.02, "age": 4})
    >>> plan.form.spend, plan.found, [question.mechanism for question in plan.questions]
    ('sample', 'epsilon', ['W-RR', 'SS', 'SW'])
    >>> all(question.error <= question.wanted for question in plan.questions)
    True
    >>> print(plan.table())
    sample 1 of 3: epsilon 1.082
    split, best shares: epsilon 1.426
    sample 2 of 3: epsilon 1.546
    split, equal shares: epsilon 1.907
    >>> plan.rows()[1][:2], plan.to_json()["questions"][0]["mechanism"]
    (('likes', 'SS, sets of 2'), 'W-RR')
    """

    form: Form
    n: int
    confidence: float
    found: str
    questions: tuple[PlannedQuestion, ...]
    spendings: tuple[Spending, ...]

    @property
    def epsilon(self) -> float:
        """The budget of all answers of a person together, in nats."""
        return self.form.epsilon

    def table(self) -> str:
        """What each way to spend the budget costs, a line each."""
        unit = {"epsilon": "epsilon", "n": "people", "error": "error"}[self.found]
        return "\n".join(f"{one.name}: " + (f"{unit} {one.needs:,.4g}" if one.needs else "-") for one in self.spendings)

    def to_json(self) -> dict[str, Any]:
        """The plan as a JSON object."""
        fields = {"n": self.n, "epsilon": self.epsilon, "confidence": self.confidence, "found": self.found}
        listed = [
            {name: getattr(one, name) for name in ("name", "mechanism", "parameters", "epsilon", "error", "wanted")}
            | {"instead": [{"mechanism": name, "epsilon": needs} for name, needs in one.instead]}
            for one in self.questions
        ]
        ways = [{"name": one.name, "drawn": one.drawn, "needs": one.needs} for one in self.spendings]
        return fields | {"form": self.form.to_json(), "questions": listed, "spendings": ways}

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """For people: question, mechanism, epsilon, error, and what others would cost."""
        return [
            (
                one.name,
                one.mechanism + (f", {one.parameters}" if one.parameters else ""),
                f"{one.epsilon:.4g}",
                f"{one.error:.3g}",
                ", ".join(f"{name} {needs:.3g}" for name, needs in one.instead),
            )
            for one in self.questions
        ]

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        head = ["question", "mechanism", "epsilon", "error", "epsilon of the form with others"]
        note = f"{self.n:,} people, epsilon {self.epsilon:g}. {self.form.spending}"
        return html_table("Plan", head, self.rows(), note=note)


def plan_form(
    form: object,
    *,
    n: object,
    epsilon: object,
    max_error: object,
    candidates: Mapping[str, object] | None = None,
    confidence: float = 0.9,
    progress: PlanProgress | None = None,
    memory: Memory | None = None,
) -> FormPlan:
    """The third of n, epsilon and errors from the other two, for a form; see `plan`. What is worked out of a question
    is kept in `memory` for the next plan."""
    if not isinstance(form, Form):
        raise DeniableError(f"what is planned must be a form, got {type(form).__name__}; make one with dn.form")
    given = [name for name, value in (("n", n), ("epsilon", epsilon), ("max_error", max_error)) if value is not None]
    if len(given) != 2:
        raise DeniableError(
            f"two of n, epsilon and max_error must be given for a form, got {', '.join(given) or 'none'}; the third is "
            "what the plan finds"
        )
    level = checked_confidence(confidence)
    if any(part.survey.mechanism.twice for part in form.parts):
        raise DeniableError("questions of a planned form must have no second stage; add epsilon_report afterwards")
    planner = FormPlanner(form, level, candidates_of(form, candidates), progress, memory)
    people = None if n is None else count_of("n", n, 2, int(PEOPLE[1]))
    budget = None
    if epsilon is not None:
        try:
            budget = float(read_fraction(str(epsilon)))
        except (ValueError, OverflowError):
            raise DeniableError(
                f"epsilon must be a number, decimal text or a fraction, got {str(epsilon)[:40]!r}"
            ) from None
        check_budget(form, budget)
    return planner.run(people, budget, None if max_error is None else _wanted(planner, max_error))


def check_budget(asked: Form, budget: float) -> None:
    """Refuse a budget that the parts of a form cannot have."""
    if not EPSILONS[0] <= budget <= EPSILONS[1] * len(asked.parts):
        raise DeniableError(f"epsilon must be from {EPSILONS[0]:g} to {EPSILONS[1]:g} a part, got {budget:g} in all")


def _wanted(planner: "FormPlanner", given: object) -> dict[str, float]:
    """The wanted error of every question: one number for all (of a quantity, a share of its range), or by name."""
    names = [name for part in planner.parts for name in part.names]
    if not isinstance(given, Mapping):
        given = {name: _positive(given) * part.unit for part in planner.parts for name in part.names}
    for name in given:
        if name not in names:
            raise DeniableError(f"max_error must be of questions of this form, got {str(name)[:64]!r}")
    for name in names:
        if name not in given:
            raise DeniableError(f"max_error must be given for every question, got none for {name!r}")
    return {name: _positive(given[name]) for name in names}


def _positive(value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise DeniableError(f"max_error must be numbers, got {type(value).__name__}") from None
    if not 0 < number < math.inf:
        raise DeniableError(f"max_error must be above 0, got {number:g}")
    return number


@dataclass(frozen=True)
class Way:
    """Everybody answers everything, with shares of the budget or equal ones; or some parts, which are drawn."""

    name: str
    drawn: int
    equal: bool


class FormPlanner:
    """A form while it is planned: its parts, and what is known of each."""

    def __init__(
        self,
        asked: Form,
        confidence: float,
        candidates: dict[str, int],
        progress: PlanProgress | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.form, self.confidence, self._progress = asked, confidence, progress
        self.parts = [
            PlannedPart(asked, part, confidence, candidates.get(part.questions[0].name)) for part in asked.parts
        ]
        alike: Memory = {} if memory is None else memory  # parts that ask alike are worked out once
        for part in self.parts:
            part.remember(alike.setdefault((_question_key(part), confidence), part))

    def ways(self) -> Iterator[Way]:
        count = len(self.parts)
        yield Way("split, best shares", count, False)
        yield Way("split, equal shares", count, True)
        drawn = 1
        while drawn < count:
            yield Way(f"sample {drawn} of {count}", drawn, True)
            drawn *= 2

    def budgets(self, way: Way, n: float, wanted: Mapping[str, float]) -> list[float]:
        """The budget of each part; `Outside` if a part cannot meet its error."""
        people = n * way.drawn / len(self.parts)
        needed = [_budget_of(part, people, wanted) for part in self.parts]
        if not way.equal:
            return needed
        return [float(part.kept) if part.kept else max(needed) for part in self.parts]

    def total(self, way: Way, n: float, wanted: Mapping[str, float]) -> float:
        try:
            found = sorted(self.budgets(way, n, wanted), reverse=True)
        except Outside:
            return math.inf
        return way.drawn * found[0] if way.drawn < len(found) else sum(found)

    def run(self, people: int | None, epsilon: float | None, wanted: dict[str, float] | None) -> FormPlan:
        found: list[tuple[float, Way]] = []
        ways = list(self.ways())
        for place, way in enumerate(ways):
            if self._progress is not None:
                self._progress("comparing ways to spend the budget", place / len(ways), 1.0, 1)
            found.append((self._needs(way, people, epsilon, wanted), way))
        found.sort(key=lambda pair: pair[0])
        needs, best = found[0]
        if math.isinf(needs):
            raise self._refusal(people, epsilon, wanted)
        unknown = "epsilon" if epsilon is None else "n" if people is None else "error"
        people = math.ceil(needs) if people is None else people
        wanted = self._common(needs) if wanted is None else wanted
        budgets = self.budgets(best, people, wanted)
        made = self.made(best, people, budgets)
        listed = self._questions(best, people, wanted, budgets)
        ordered = {one.name: one for one in listed}
        told = tuple(Spending(way.name, way.drawn, None if math.isinf(value) else value) for value, way in found)
        return FormPlan(made, people, self.confidence, unknown, tuple(ordered[q.name] for q in made.questions), told)

    def _common(self, error: float) -> dict[str, float]:
        """One error for all questions; of a quantity, that share of its range."""
        return {name: error * part.unit for part in self.parts for name in part.names}

    def _needs(self, way: Way, people: int | None, epsilon: float | None, wanted: dict[str, float] | None) -> float:
        """The one of the three that was not given, with one way to spend the budget."""
        if epsilon is None:
            assert people is not None
            assert wanted is not None
            return self.total(way, people, wanted)
        if people is None:
            assert wanted is not None
            return _least(lambda n: self.total(way, n, wanted) / epsilon, 2.0, float(PEOPLE[1]), 0.5)
        return _least(lambda error: self.total(way, people, self._common(error)) / epsilon, 1e-6, 1.0, 1.0)

    def made(self, way: Way, n: int, budgets: Sequence[float]) -> Form:
        """The form that spends so much on each part."""
        people = n * way.drawn / len(self.parts)
        surveys: dict[str, Survey] = {}
        for part, budget in zip(self.parts, budgets, strict=True):
            surveys |= dict(zip(part.names, part.surveys(budget, people), strict=True))
        asked = self.form
        made = form_of(
            {name: surveys[name] for name in asked.order},
            spend="each",
            relate=[part.names for part in self.parts if len(part.names) == 2],
            skip=[question.name for question in asked.questions if question.skip],
            public={question.name: question.alphabet.symbols or () for question in asked.public},
            when={q.name: q.when for q in (*asked.questions, *asked.public) if q.when is not None},
            name=asked.name,
            participation=asked.participation,
        )
        if way.drawn == len(self.parts):
            return replace(made, spend="split")
        total = way.drawn * max(Fraction(str(budget)) for budget in budgets)
        return replace(made, spend="sample", drawn=way.drawn, epsilon_total=total)

    def _questions(
        self, way: Way, n: int, wanted: Mapping[str, float], budgets: list[float]
    ) -> Iterator[PlannedQuestion]:
        people, total = n * way.drawn / len(self.parts), self.total(way, n, wanted)
        for place, (part, budget) in enumerate(zip(self.parts, budgets, strict=True)):
            _, title, words, errors = part.choice(budget, people)
            instead = []
            for other in part.ranked(budget, people)[1 : 1 + _RIVALS]:
                try:
                    needed = _budget_of(part.with_only(other), people, wanted)
                except Outside:
                    continue
                whole = total - budget + needed if not way.equal else way.drawn * max(needed, *budgets)
                instead.append((other, max(whole, total) if way.equal else whole))
            for name, error in zip(part.names, errors, strict=True):
                yield PlannedQuestion(name, title, words, budgets[place], error, wanted[name], tuple(instead))

    def _refusal(self, people: int | None, epsilon: float | None, wanted: dict[str, float] | None) -> PlanError:
        assert wanted is not None  # an error of 1 is always kept
        if people is None:
            return PlanError(
                f"epsilon must be larger for these questions, got {epsilon:g}; no number of people is enough"
            )
        refused = []
        for part in self.parts:
            try:
                part.needed(people, wanted)
            except Outside as outside:
                refused.append((part, outside.value))
        part, times = refused[0]  # to ask everybody everything is a way, so that some part is out of reach even alone
        name = min(part.names, key=lambda own: wanted[own])
        return PlanError(
            f"max_error of {name!r} must be at least {times * wanted[name]:.3g} with {people:,} people, got "
            f"{wanted[name]:g}; ask more people"
        )


def _question_key(part: PlannedPart) -> Any:
    """Equal for parts that ask alike, and so need the same."""
    survey = part.part.survey
    own = tuple((question.alphabet, question.skip) for question in part.part.questions)
    return own, survey.encoding, None if survey.mechanism.two_valued else survey.mechanism, part.candidates


def _budget_of(part: PlannedPart, n: float, wanted: Mapping[str, float]) -> float:
    """The budget that a part needs, with a margin for the prediction, rounded up."""
    budget = part.needed(n, wanted)
    if part.kept is not None or budget <= EPSILONS[0]:
        return budget
    return min(rounded_up(budget * _MARGIN, _DIGITS), EPSILONS[1])


def _least(share: Callable[[float], float], low: float, high: float, power: float) -> float:
    """The least value at which a falling share of the budget is at most 1; infinite if there is none."""
    try:
        return crossing(share, 1.0, low=low, high=high, start=math.sqrt(low * high), power=power)
    except Outside as outside:
        return low if outside.below else math.inf
