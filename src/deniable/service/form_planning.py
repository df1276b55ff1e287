"""Plans of forms, in the process that plans: from the questions of the Ask page to a form, and what to expect of it.

Answers in an order are planned as places 0, 1, ..., whatever these are called, as a survey's are; the form that is made
has the answers themselves.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deniable.errors import PlanError, SurveyError

if TYPE_CHECKING:
    from deniable.survey import Alphabet, Form, Survey

_MOST_KEPT = 256  # questions whose figures are kept from one plan to the next
_memory: dict[Any, Any] = {}


def planned_form(arguments: dict[str, Any]) -> dict[str, Any]:
    """A plan of a form as JSON values, with the form."""
    from deniable.planner import offer_form, plan
    from deniable.survey import strict_json

    if len(_memory) > _MOST_KEPT:
        _memory.clear()
    asked, answers, candidates = _asked(arguments)
    n, epsilon, error = (arguments.get(name) for name in ("n", "epsilon", "max_error"))
    confidence = arguments.get("confidence", 0.9)
    if n is not None and (epsilon is None) != (error is None):
        found = offer_form(asked, n=n, max_error=error, candidates=candidates, confidence=confidence, memory=_memory)
    else:
        found = plan(asked, n=n, epsilon=epsilon, max_error=error, candidates=candidates, confidence=confidence)
    form = replace(found.form, parts=tuple(part.with_answers(answers) for part in found.form.parts))
    told = found.to_json()
    for question, own in zip(told["questions"], form.questions, strict=True):
        question |= {"title": own.title, "measure": _measure(form, own.name)}
    return told | {"form": strict_json(form.to_json()), "report_bytes": form.report_format.length}


def possible_forms(arguments: dict[str, Any]) -> dict[str, Any]:
    """What is possible where a wanted error is not: the error of the form with strong and with weak privacy."""
    from deniable.survey import bound_of, strength

    plans: list[dict[str, Any]] = []
    if arguments.get("max_error") is not None and arguments.get("n") is not None:
        for epsilon in (bound_of("strong"), bound_of("weak")):
            try:
                found = planned_form(arguments | {"max_error": None, "epsilon": epsilon})
            except PlanError:
                continue
            error = found["spendings"][0]["needs"]
            plans.append({"n": found["n"], "epsilon": epsilon, "privacy": strength(epsilon), "error": error})
    return {"least": None, "alternatives": plans}


def _asked(arguments: dict[str, Any]) -> tuple["Form", dict[str, "Alphabet"], dict[str, int]]:
    """The form to plan, the answers of its questions in an order, and how many texts are looked for in open ones."""
    from deniable.survey import Alphabet, form

    surveys: dict[str, Survey] = {}
    answers: dict[str, Alphabet] = {}
    for question in arguments["questions"]:
        name = question["name"]
        if name in surveys:
            raise SurveyError(f"a form must have each question once, got {name!r} more than once")
        if question.get("ordered") is not None:
            answers[name] = Alphabet.closed(question["ordered"])
        surveys[name] = _survey(question)
    skip = [question["name"] for question in arguments["questions"] if question.get("skip")]
    found = form(
        surveys,
        epsilon=arguments.get("epsilon") or len(surveys),
        relate=arguments.get("relate") or (),
        skip=skip,
        name=arguments.get("name") or "",
    )
    counts = {one["name"]: one["candidates"] for one in arguments["questions"] if one.get("candidates") is not None}
    return found, answers, counts


def _survey(question: dict[str, Any]) -> "Survey":
    """A question as a survey: which answers there are, and how close they are to each other."""
    from deniable.survey import krr, number, ordered, orr, sensitive

    title = question.get("title") or ""
    kinds = [one for one in ("symbols", "ordered", "number", "candidates") if question.get(one) is not None]
    if len(kinds) != 1:
        raise SurveyError(
            f"question {question['name']!r} must have one of symbols, ordered, number and candidates, got "
            f"{' and '.join(kinds) or 'none'}"
        )
    if kinds == ["ordered"]:
        return ordered(len(question["ordered"]), 1, name=title)
    if kinds == ["number"]:
        low, high = question["number"]
        bins, step, outside = (question.get(name) for name in ("bins", "step", "outside"))
        return number(low, high, 1, bins=bins, step=step, outside=outside or "clamp", name=title)
    if kinds == ["candidates"]:  # the plan chooses cells and cohorts
        return orr(epsilon=1, cells=4, cohorts=64, text=question.get("text") or "folded", name=title)
    if question.get("sensitive"):
        return sensitive(question["symbols"], sensitive=question["sensitive"], epsilon=1, name=title)
    return krr(question["symbols"], epsilon=1, name=title)


def _measure(form: "Form", name: str) -> str:
    """What the error of a question is of."""
    survey = form.part_of(name).survey
    if not survey.encoding.is_ordered:
        return "share"
    return "place" if survey.alphabet.bins is None else "mean"
