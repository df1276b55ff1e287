"""Parse untrusted form files: every field checked by name and type, as `survey.reading` does for surveys."""

from fractions import Fraction
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms import epsilon_text, parse_epsilon, read_fraction
from deniable.survey.alphabet import symbol_from_json
from deniable.survey.questions import MAX_QUESTIONS, FormPart, Question, part_alphabet
from deniable.survey.reading import read_alphabet, read_encoding, read_mechanism, record
from deniable.survey.survey import Survey

__all__ = ["FORMAT", "part_title", "read_parts"]

FORMAT = "deniable-form/1"  # the name and version of the JSON form (docs/reference/protocol.md)


def read_parts(value: object) -> dict[str, Any]:
    """What a `Form` is made of, from a JSON object that is already parsed, and the digest that stands there.

    >>> import deniable as dn, json
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2)
    >>> read_parts(json.loads(form.to_json()))["parts"] == form.parts
    True
    """
    fields = "format name spend epsilon drawn questions parts digest"
    lists = "questions parts public when"
    top = record("form", value, fields, "public when participation", integers="drawn", lists=lists)
    if top["format"] != FORMAT:
        raise SurveyError(f"format must be {FORMAT!r}, got {str(top['format'])[:40]!r}; this version reads no other")
    conditions = _conditions(top.get("when", []))
    if max(len(top["questions"]), len(top.get("public", []))) > MAX_QUESTIONS:
        raise SurveyError(f"a form must have 2 to {MAX_QUESTIONS} questions, got {len(top['questions'])}")
    questions = [_question(each, conditions) for each in top["questions"]]
    public = tuple(_question(each, conditions) for each in top.get("public", []))
    if conditions:
        raise SurveyError(f"conditions must be of questions that the form has, got {next(iter(conditions))[:64]!r}")
    by_name = {question.name: question for question in questions}
    if len(by_name) != len(questions):
        raise SurveyError("a form must have each question once, got one more than once")
    participation = top.get("participation", "once")
    parts = tuple(_part(each, by_name, participation) for each in top["parts"])
    return {
        "parts": parts,
        "spend": top["spend"],
        "epsilon_total": _budget(top["epsilon"]),
        "drawn": top["drawn"],
        "public": public,
        "name": top["name"],
        "participation": participation,
        "order": tuple(question.name for question in questions),
        "digest": top["digest"],
    }


def _budget(text: str) -> Fraction:
    exact = parse_total(text)
    if epsilon_text(exact) != text:
        raise SurveyError(f"epsilon must be spelled {epsilon_text(exact)!r} in a form, got {text[:40]!r}")
    return exact


def parse_total(value: object) -> Fraction:
    """The total of a form as an exact rational: a sum of up to 256 budgets may be more than one budget may."""
    if isinstance(value, str) and len(value) <= 200:
        try:
            exact = read_fraction(value)
        except (ValueError, OverflowError):
            exact = Fraction(0)
        if Fraction(64) < exact <= 64 * MAX_QUESTIONS:
            return exact
    return parse_epsilon(value)


def _conditions(given: list[Any]) -> dict[str, tuple[str, tuple[Any, ...]]]:
    found: dict[str, tuple[str, tuple[Any, ...]]] = {}
    for each in given:
        shaped = isinstance(each, list) and len(each) == 3 and isinstance(each[2], list)
        if not shaped or not all(isinstance(name, str) for name in each[:2]) or each[0] in found:
            raise SurveyError("conditions must be a question, a public question and its answers, one a question")
        found[each[0]] = (each[1], tuple(symbol_from_json(symbol) for symbol in each[2]))
    return found


def _question(value: object, conditions: dict[str, tuple[str, tuple[Any, ...]]]) -> Question:
    fields = record("question", value, "name title alphabet", "skip", integers="skip")
    if fields.get("skip", 1) != 1:
        raise SurveyError(
            f"question field 'skip' must be 1, got {fields['skip']}; leave it out where it must be answered"
        )
    when = conditions.pop(fields["name"], None)
    alphabet = read_alphabet(fields["alphabet"])
    return Question(fields["name"], alphabet, fields["title"], "skip" in fields, when)


def _part(value: object, questions: dict[str, Question], participation: str) -> FormPart:
    fields = record("part", value, "questions encoding mechanism", lists="questions")
    names = fields["questions"]
    if not 1 <= len(names) <= 2 or not all(isinstance(name, str) and name in questions for name in names):
        raise SurveyError("a part must have one or two of the form's questions, got something else")
    own = tuple(questions[name] for name in names)
    alphabet = part_alphabet(own)
    encoding = read_encoding(fields["encoding"], alphabet)
    mechanism = read_mechanism(fields["mechanism"], encoding)
    return FormPart(own, Survey(alphabet, encoding, mechanism, part_title(own), participation))


def part_title(questions: tuple[Question, ...]) -> str:
    """What people read above the answers of a part."""
    return " and ".join(question.title or question.name for question in questions)[:500]
