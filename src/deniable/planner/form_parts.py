"""What one part of a form needs: its error at a budget and a number of people, and the mechanism that errs least.

A list of answers, or text to look for, is planned as a survey of its own is: by all families of the catalogue, and the
losses of the default decoder over normal draws. A quantity has the error of its mean, in closed form. A related pair is
subset selection over the product, and has the errors of its two questions. A table keeps its budget.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from deniable.decoders import DEFAULT, worst_deviation
from deniable.errors import DeniableError, SurveyError
from deniable.lab import normal_draws
from deniable.mechanisms import KRR, Mechanism, Sensitive
from deniable.planner.catalogue import families, single_family
from deniable.planner.options import Option, PlanLimits
from deniable.planner.request import EPSILONS, PlanRequest, ask
from deniable.planner.search import Search
from deniable.planner.shapes import shapes_of
from deniable.planner.solve import Outside, crossing
from deniable.survey import Direct, Form, FormPart, Survey
from deniable.theory import drawn_estimates, mechanism_model

_DRAWS = 400  # normal draws of the pairs of a related part

# The best choice at a budget: a survey for each question, its name, its parameters, and the error of each question.
Choice = tuple[tuple[Survey, ...], str, str, tuple[float, ...]]


@dataclass(eq=False)
class PlannedPart:
    """A part of the form that is planned. `choice` and `needed` are asked for again and again, and remembered."""

    form: Form
    part: FormPart
    confidence: float
    candidates: int | None = None
    only: str | None = None  # the one family that may answer it
    _known: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(question.name for question in self.part.questions)

    @property
    def kept(self) -> Fraction | None:
        """The budget of a table, which has no other."""
        mechanism = self.part.survey.mechanism
        return mechanism.epsilon if mechanism.keeps_budget else None

    @property
    def is_mean(self) -> bool:
        """Whether its error is that of a mean: numbers in an order, which may not be skipped."""
        survey = self.part.survey
        numbers = survey.alphabet.bins is not None or all(isinstance(one, int) for one in survey.alphabet.symbols or ())
        return survey.encoding.is_ordered and numbers

    @property
    def unit(self) -> float:
        """What an error of 1 stands for: all of it, or the range of a quantity."""
        if not self.is_mean:
            return 1.0
        points = self._points
        return float(points[-1] - points[0])

    @property
    def _points(self) -> Any:
        alphabet = self.part.survey.alphabet
        return alphabet.bins.points if alphabet.bins is not None else alphabet.symbols

    def choice(self, budget: float, n: float) -> Choice:
        """The best that a budget and so many people give."""
        key = (budget, round(n, 6))
        if key not in self._known:
            self._known[key] = self._choice(budget, n)
        found: Choice = self._known[key]
        return found

    def surveys(self, budget: float, n: float) -> tuple[Survey, ...]:
        """The surveys of its questions, by their own titles."""
        made = zip(self.choice(budget, n)[0], self.part.questions, strict=True)
        return tuple(replace(survey, name=question.title) for survey, question in made)

    def remember(self, other: "PlannedPart") -> None:
        """Share what is known of another part that asks the same."""
        self._known = other._known

    def worst(self, budget: float, n: float, wanted: Mapping[str, float]) -> float:
        """The largest error, as a multiple of what is wanted of its question."""
        try:
            errors = self.choice(budget, n)[3]
        except SurveyError:
            return math.inf  # a budget that 64-bit words cannot realise
        return max(error / wanted[name] for error, name in zip(errors, self.names, strict=True))

    def needed(self, n: float, wanted: Mapping[str, float]) -> float:
        """The smallest budget that meets what is wanted; `Outside` if none does."""
        key = ("needed", round(n, 6), *(wanted[name] for name in self.names))
        if key not in self._known:
            self._known[key] = self._needed(n, wanted)
        found: float = self._known[key]
        return found

    def _needed(self, n: float, wanted: Mapping[str, float]) -> float:
        if self.kept is not None:
            missed = self.worst(float(self.kept), n, wanted)
            if missed > 1:
                raise Outside(missed, below=False)
            return float(self.kept)
        low, high = EPSILONS
        try:
            start: float = self._known.get(("last",), 1.0)  # the next question is often a near one
            found = crossing(lambda e: self.worst(e, n, wanted), 1.0, low=low, high=high, start=start)
            self._known["last",] = found
            return found
        except Outside as outside:
            if outside.below:
                return low
            raise

    def _choice(self, budget: float, n: float) -> Choice:
        if len(self.names) == 2:
            return self._pair(budget, n)
        if self.is_mean:
            return self._mean(budget, n)
        place = round(2 * math.log(budget)), round(math.log(n))
        before, self._search.active = self._known.get(("worst",), (None, self._search.active))
        option = self._search.first(budget, n)
        if option is None:
            return (), "", "", (math.inf,)
        if place != before:  # which populations are the worst changes slowly
            self._search.look_around(option, budget, n)
            self._known["worst",] = place, self._search.active
        template = self._template(option, budget)
        return (template,), self._title(option, budget, template), option.words, (self._search.loss(option, budget, n),)

    def _title(self, option: Option, budget: float, template: Survey) -> str:
        """What the mechanism is called: of two answers that may be left out, that of three."""
        question = self.part.questions[0]
        if not template.mechanism.two_valued or question.answers is question.alphabet:
            return template.title
        return option.survey(question.answers, _exact(budget), name="", seed=self._request.public_seed).title

    def ranked(self, budget: float, n: float) -> list[str]:
        """The names of all mechanisms that could answer it, the best first; one where there is no choice."""
        if len(self.names) == 2 or self.is_mean or self.kept is not None:
            return []
        return [option.family.name for option, _ in self._search.ranked(budget, n)]

    def with_only(self, family: str) -> "PlannedPart":
        """The same part, answered by one mechanism; what is known of it is shared by parts that ask the same."""
        return replace(self, only=family, _known=self._known.setdefault(("only", family), {}))

    @cached_property
    def _request(self) -> PlanRequest:
        question = self.part.questions[0]
        is_open = question.alphabet.is_open
        texts = None if self.candidates is None else self.candidates + question.skip  # "no answer" is one more
        listed = {"candidates": texts} if is_open else {"symbols": len(question.answers)}
        return ask(n=2, max_error=0.5, confidence=self.confidence, name=question.title or question.name, **listed)

    @cached_property
    def _search(self) -> Search:
        survey, skip, request = self.part.survey, self.part.questions[0].skip, self._request
        hidden = tuple(getattr(survey.mechanism, "sensitive", ()))
        if (survey.mechanism.two_valued or hidden) and not (hidden and skip):
            found = families(request.size, is_open=request.is_open, limits=PlanLimits(), hidden=hidden)
            if not request.is_open:  # a cohort would tell devices apart, for little
                found = [one for one in found if "cohorts" not in one.parameters]
            if skip and not request.is_open:  # of others the form makes subset selection; to texts it adds one more
                found = [one for one in found if set(one.parameters) <= {"size"}]
        else:
            found = single_family(survey.title, self._survey_at, self._mechanism_at, survey.columns)
        return Search(request, [one for one in found if self.only in (None, one.name)])

    def _mechanism_at(self, epsilon: float | Fraction) -> Mechanism:
        survey = self.part.survey
        return survey.mechanism if self.kept else survey.mechanism.rebudgeted(_exact(epsilon), survey.encoding)

    def _survey_at(self, *, symbols: Any, epsilon: Any, name: str, **settings: Any) -> Survey:
        """The survey as it is, at another budget; where it may be skipped, without the answer that the form adds."""
        mechanism, size = self._mechanism_at(epsilon), len(symbols)
        if size < mechanism.cells:
            mechanism = Sensitive(size, _exact(epsilon), [x for x in mechanism.sensitive if x < size])  # type: ignore[attr-defined]
        return Survey(self.part.questions[0].alphabet, Direct(size), mechanism, name)

    def _template(self, option: Option, budget: float) -> Survey:
        question = self.part.questions[0]
        return option.survey(question.alphabet, _exact(budget), name=question.title, seed=self._request.public_seed)

    def _mean(self, budget: float, n: float) -> Choice:
        survey = self.part.survey
        encoding = survey.encoding.rebudgeted(survey.mechanism.report_bound, _exact(budget))
        mechanism = survey.mechanism.permanent.rebudgeted(_exact(budget), encoding)
        made = replace(survey, encoding=encoding, mechanism=mechanism, participation="once")
        scale = survey.alphabet.bins
        reach = NormalDist().inv_cdf(0.5 + self.confidence / 2)
        error = reach * worst_deviation(made) / math.sqrt(n) + (0.0 if scale is None else scale.width / 2)
        return (made,), made.title, "", (error,)

    def _pair(self, budget: float, n: float) -> Choice:
        survey, sizes = self.part.survey, [len(question.answers) for question in self.part.questions]
        mechanism = survey.mechanism.permanent.rebudgeted(_exact(budget), survey.encoding)
        model, errors = mechanism_model(mechanism), [0.0, 0.0]
        normals = normal_draws(sizes[0] * sizes[1], max(20, min(_DRAWS, 200_000 // (sizes[0] * sizes[1]))), 0)
        for shape in ("uniform", "zipf", "spike"):
            sides = [shapes_of(shape, size)[0].p for size in sizes]
            p = np.outer(*sides).ravel()
            base, slope = float(model.variance(0.0, float(p @ p))) / n, float(model.slope) / n
            found = DEFAULT.surrogate(drawn_estimates(model, p, n, normals), base, slope, quick=True)
            cells = found.reshape(-1, *sizes)
            for place in (0, 1):
                missed = np.abs(cells.sum(axis=2 - place) - sides[place]).max(axis=1)
                errors[place] = max(errors[place], float(np.quantile(missed, self.confidence)))
        half = _exact(budget) / 2
        # Which answers exist: the form makes one of both.
        made = tuple(
            Survey(q.alphabet, Direct(len(q.alphabet)), KRR(len(q.alphabet), half), q.title)
            for q in self.part.questions
        )
        return made, mechanism.title(own_cells=True), f"{sizes[0]} x {sizes[1]} pairs", tuple(errors)


def _exact(budget: float | Fraction) -> Fraction:
    return budget if isinstance(budget, Fraction) else Fraction(f"{budget:.12g}")


def candidates_of(form: Form, given: Mapping[str, object] | None) -> dict[str, int]:
    """How many texts will be looked for, by the names of questions that any text answers."""
    found: dict[str, int] = {}
    for part in form.parts:
        if part.survey.alphabet.is_open:
            name = part.questions[0].name
            listed = (given or {}).get(name)
            size = listed if isinstance(listed, int) else len(list(listed)) if listed is not None else 0  # type: ignore[call-overload]
            if size < 2:
                raise DeniableError(f"candidates must say how many texts are looked for in {name!r}, two or more")
            found[name] = size
    return found
