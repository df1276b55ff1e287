"""What a form gives at a budget and a number of people: the errors of each way to spend it, and the best of them.

Not to be confused with a plan at a budget (`plan_form`), which looks for shares of it that give every question the same
error, in a minute or so. Here the shares are those of `dn.form`, so that each part is looked at once a way: a page asks
while somebody types.
"""

import math
from collections.abc import Iterator, Mapping

from deniable.errors import DeniableError, SurveyError
from deniable.planner.form_parts import candidates_of
from deniable.planner.forms import (
    FormPlan,
    FormPlanner,
    Memory,
    PlannedQuestion,
    Spending,
    Way,
    check_budget,
    plan_form,
)
from deniable.planner.request import EPSILONS, PEOPLE
from deniable.survey import Form
from deniable.theory import count_of

__all__ = ["offer_form"]


def offer_form(
    asked: Form,
    *,
    n: object,
    max_error: object = None,
    candidates: Mapping[str, object] | None = None,
    confidence: float = 0.9,
    memory: Memory | None = None,
) -> FormPlan:
    """The form that errs least at the budget of one that is split, and how much that is.

    Errors of shares are compared with errors of means as parts of their range. `needs` of a spending is the largest.

    Parameters
    ----------
    asked : Form
        With spend="split", at the budget that may be spent.
    n : int
        People, one report from each.
    max_error : float or mapping, optional
        What errors must stay below. Then it is the plan for these errors, whatever budget `asked` has.
    candidates : mapping, optional
        By the names of open questions, how many texts will be looked for.
    confidence : float
        The share of surveys in which a question's error is below its bound.
    memory : dict, optional
        What earlier plans worked out.

    Examples
    --------
    >>> import deniable as dn
    >>> asked = dn.form(smokes=dn.warner(epsilon=1), age=dn.number(18, 90, 1, bins=16), epsilon=2)
    >>> found = offer_form(asked, n=10_000)
    >>> found.form.epsilon, found.found, [question.name for question in found.questions]
    (2.0, 'error', ['smokes', 'age'])
    >>> found.spendings[0].needs <= found.spendings[1].needs
    True
    """
    if asked.spend != "split":
        raise DeniableError(f"a form that is offered must have spend='split', got {asked.spend!r}; see plan")
    if max_error is not None:
        return plan_form(
            asked, n=n, epsilon=None, max_error=max_error, candidates=candidates, confidence=confidence, memory=memory
        )
    people, total = count_of("n", n, 2, int(PEOPLE[1])), float(asked.epsilon_total)
    check_budget(asked, total)
    planner = FormPlanner(asked, confidence, candidates_of(asked, candidates), memory=memory)
    found = []
    for place, (way, budgets) in enumerate(_ways(planner, total)):
        error = _worst(planner, way, people, budgets)
        found.append((error, place, way, budgets))
    found.sort(key=lambda one: one[:2])
    least, _, best, budgets = found[0]
    assert not math.isinf(least)  # each kind of answer has a mechanism at any budget in the range
    listed = {}
    for part, budget in zip(planner.parts, budgets, strict=True):
        _, title, words, errors = part.choice(budget, people * best.drawn / len(budgets))
        for name, error in zip(part.names, errors, strict=True):
            listed[name] = PlannedQuestion(name, title, words, budget, error, least * part.unit, ())
    made = planner.made(best, people, budgets)
    told = tuple(Spending(way.name, way.drawn, None if math.isinf(error) else error) for error, _, way, _ in found)
    return FormPlan(made, people, confidence, "error", tuple(listed[one.name] for one in made.questions), told)


def _ways(planner: FormPlanner, total: float) -> Iterator[tuple[Way, list[float]]]:
    """Each way to spend a budget, with that of every part."""
    count = len(planner.parts)
    shares = [float(part.survey.mechanism.epsilon) for part in planner.form.parts]
    yield Way("split, shares of least variance", count, False), shares
    drawn = 1
    while drawn < count:
        if EPSILONS[0] <= total / drawn <= EPSILONS[1]:
            yield Way(f"sample {drawn} of {count}", drawn, True), [total / drawn] * count
        drawn *= 2


def _worst(planner: FormPlanner, way: Way, people: int, budgets: list[float]) -> float:
    """The largest error of a question, as a part of its range."""
    each = people * way.drawn / len(budgets)
    errors = []
    for part, budget in zip(planner.parts, budgets, strict=True):
        try:
            errors += [error / part.unit for error in part.choice(budget, each)[3]]
        except SurveyError:  # a budget that 64-bit words cannot realise
            return math.inf
    return max(errors)
