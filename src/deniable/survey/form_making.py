"""`form`: several surveys made into one form, with one budget."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms import KRR, Chain, Mechanism, Registry, Sensitive, SensitiveDesign, Subset, parse_epsilon
from deniable.survey.alphabet import Alphabet, canonical_symbol
from deniable.survey.budget_shares import share_out
from deniable.survey.channels import sensitive_mechanism
from deniable.survey.encodings import Direct, Encoding
from deniable.survey.form import SPENDINGS, Form
from deniable.survey.form_reading import part_title
from deniable.survey.participation import check_participation
from deniable.survey.questions import MAX_QUESTIONS, FormPart, Question, check_name, part_alphabet
from deniable.survey.survey import Survey

__all__ = ["form"]


def form(
    questions: Mapping[str, Survey] | None = None,
    /,
    *,
    epsilon: object = None,
    spend: str = "split",
    draw: int = 1,
    relate: Iterable[Sequence[str]] = (),
    skip: Iterable[str] = (),
    public: Mapping[str, Iterable[object]] | None = None,
    when: Mapping[str, tuple[str, object]] | None = None,
    name: str = "",
    participation: str = "once",
    **named: Survey,
) -> Form:
    """Several questions in one form: one digest, one client, one report, and one budget for all answers of a person.

    A question is a survey: what `dn.warner`, `dn.number`, `dn.orr` and the other presets return. It says which answers
    exist and how they are randomised; where the form shares one budget, the epsilon that it was made with is replaced
    by its share, and settings that were the best at that epsilon are chosen again. A table of weights (`dn.channel`,
    budgets an answer) has no other budget: it keeps its own, and the rest is shared. Where a question promises more to
    some answers than to others (`dn.sensitive`, `dn.blocks`), so does the form: `Form.promise`.

    A question with two stages keeps them: one report spends the same share of the question's new epsilon as
    `epsilon_report` was of the epsilon that it was made with. For a related pair it is the smaller share of the two.
    `Form.epsilon_report` is what one report of the whole form spends.

    Parameters
    ----------
    questions : mapping, optional
        Questions whose names are not free as arguments, before those that are named.
    epsilon : float, str or Fraction, optional
        The budget of all answers of a person together, in nats. Needed for "split" and "sample"; with "each" the budget
        of every question, and without it each keeps the epsilon that it was made with.
    spend : str
        "split": everybody answers every question, and the budget is shared where it lowers errors most. "sample": each
        person answers `draw` of the questions, which the device draws before any answer is known and keeps. "each":
        everybody answers every question, each with a budget of its own; `epsilon` of the form is their sum.
    draw : int
        How many questions (a related pair is one) each person answers, with "sample". The budget is shared among them.
    relate : iterable of pairs
        Names of questions whose answers are wanted together: they are sent as one report over all pairs of answers.
    skip : iterable of str
        Names of questions that may be left out. "no answer" is then one of the answers.
    public : mapping, optional
        Questions whose answers are no secret, and their answers. They are not sent; conditions may depend on them.
    when : mapping, optional
        By the name of a question, the public question that it depends on, and the answers at which it is asked.
    name : str
        What people call the form: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    **named : Survey
        The questions, in order.

    Returns
    -------
    Form
        What clients, collector and analyst share.

    Raises
    ------
    SurveyError
        If a name is unknown or repeated, pairs share a question, a condition depends on a private answer, or there are
        fewer than 2 or more than 256 questions.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(smokes=dn.warner(epsilon=1), city=dn.krr(["Oslo", "Bergen", "Tromsø"], epsilon=1), epsilon=2)
    >>> print(form)
    smokes: W-RR, 2 answers, epsilon 0.908
    city: k-RR, 3 answers, epsilon 1.092
    each device answers every part; together they spend at most 2
    >>> len(dn.Client(form).report({"smokes": "yes", "city": "Oslo"}).pack())
    11
    """
    given = _checked(questions, named)
    if spend not in SPENDINGS:
        raise SurveyError(f"spend must be 'split', 'sample' or 'each', got {str(spend)[:40]!r}")
    if spend != "sample" and draw != 1:
        raise SurveyError(f"draw must be left out unless spend='sample', got {draw!r} with spend={spend!r}")
    for what, named_by in (("public", public), ("when", when)):
        if named_by is not None and not isinstance(named_by, Mapping):
            raise SurveyError(f"{what} must be a mapping by the names of questions, got {type(named_by).__name__}")
    participation = check_participation(participation)
    pairs, skipped = _pairs(relate, given), _names("skip", skip, given)
    conditions = _conditions(when, given, public or {})
    every = {
        name: Question(name, survey.alphabet, survey.name, name in skipped, conditions.get(name))
        for name, survey in given.items()
    }
    groups: list[tuple[Question, ...]] = []
    paired = {second for _, second in pairs}
    for own in given:
        if own not in paired:
            partner = next((second for first, second in pairs if first == own), None)
            groups.append((every[own],) if partner is None else (every[own], every[partner]))
    total, budgets = _budgets(groups, given, spend, epsilon, draw, participation)
    parts = tuple(_part(group, given, budget, participation) for group, budget in zip(groups, budgets, strict=True))
    told = tuple(
        Question(own, Alphabet.closed(answers), when=conditions.get(own)) for own, answers in (public or {}).items()
    )
    drawn = draw if spend == "sample" else len(parts)
    return Form(parts, spend, total, drawn, told, name, participation, tuple(given))


def _checked(questions: Mapping[str, Survey] | None, named: Mapping[str, Survey]) -> dict[str, Survey]:
    if questions is not None and not isinstance(questions, Mapping):
        raise SurveyError(
            f"questions must be surveys by name, got {type(questions).__name__}; write smokes=dn.warner(...)"
        )
    for own in set(questions or ()) & set(named):
        raise SurveyError(f"a form must have each question once, got {own!r} more than once")
    given = {**(questions or {}), **named}
    if not 2 <= len(given) <= MAX_QUESTIONS:
        step = "; one question is a survey of its own" if len(given) == 1 else ""
        raise SurveyError(f"a form must have 2 to {MAX_QUESTIONS} questions, got {len(given)}{step}")
    for own, survey in given.items():
        check_name(own)
        if not isinstance(survey, Survey):
            raise SurveyError(
                f"question {own!r} must be a Survey, got {type(survey).__name__}; make one with a preset such as dn.krr"
            )
        if survey.participation != "once":
            raise SurveyError(
                f"question {own!r} must leave participation to the form, got {survey.participation!r}; "
                "name it once, as participation= of the form"
            )
    return given


def _names(what: str, names: Iterable[str], given: Mapping[str, Survey]) -> set[str]:
    if isinstance(names, str):
        raise SurveyError(f"{what} must be a list of names, got one text; write {what}=[{names[:64]!r}]")
    found = _list_of(what, names)
    for own in found:
        if own not in given:
            raise SurveyError(f"{what} must name questions of the form, got {str(own)[:64]!r}, which it does not have")
    if len(set(found)) != len(found):
        raise SurveyError(f"{what} must name each question once")
    return set(found)


def _list_of(what: str, given: Iterable[Any]) -> list[Any]:
    if not isinstance(given, Iterable):
        raise SurveyError(f"{what} must be a list, got {type(given).__name__}; leave it out where there is none")
    return list(given)


def _pairs(relate: Iterable[Sequence[str]], given: Mapping[str, Survey]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    places = list(given)
    for pair in _list_of("relate", relate):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise SurveyError("relate must be a list of pairs of names, got something else; write [('smokes', 'age')]")
        _names("relate", pair, given)
        first, second = sorted(pair, key=places.index)
        taken = [own for own in (first, second) if any(own in other for other in found)]
        if taken:
            raise SurveyError(
                f"related pairs must not share a question, got {taken[0]!r} in two; each answer is sent once, so "
                "name the pair that matters more"
            )
        found.append((first, second))
    return found


def _conditions(
    when: Mapping[str, tuple[str, object]] | None, given: Mapping[str, Survey], public: Mapping[str, object]
) -> dict[str, tuple[str, tuple[Any, ...]]]:
    found = {}
    for own, condition in (when or {}).items():
        if own not in given and own not in public:
            raise SurveyError(f"when must name questions of the form, got {str(own)[:64]!r}, which it does not have")
        if not isinstance(condition, (tuple, list)) or len(condition) != 2 or not isinstance(condition[0], str):
            raise SurveyError(f"when must give {own!r} a public question and its answers, such as ('country', ['NO'])")
        depends, wanted = condition
        several = wanted if isinstance(wanted, (list, tuple)) else (wanted,)
        found[own] = (depends, tuple(canonical_symbol(value) for value in several))
    return found


def _budgets(
    groups: Sequence[tuple[Question, ...]],
    given: Mapping[str, Survey],
    spend: str,
    epsilon: object,
    draw: object,
    participation: str,
) -> tuple[Fraction, list[Fraction]]:
    """The total, and the budget of each part."""
    kept = {
        place: given[group[0].name].mechanism.epsilon
        for place, group in enumerate(groups)
        if len(group) == 1 and given[group[0].name].mechanism.keeps_budget
    }
    if spend == "each":
        own = None if epsilon is None else parse_epsilon(epsilon)
        # A pair has what its two questions have together.
        each = [sum((own or given[q.name].mechanism.epsilon for q in group), Fraction(0)) for group in groups]
        each = [kept.get(place, budget) for place, budget in enumerate(each)]
        return sum(each, Fraction(0)), each
    if epsilon is None:
        raise SurveyError(f"epsilon must be given with spend={spend!r}: what all answers of a person spend together")
    total = parse_epsilon(epsilon)
    if spend == "sample":
        if isinstance(draw, bool) or not isinstance(draw, int) or not 1 <= draw <= len(groups):
            raise SurveyError(f"draw must be from 1 to the {len(groups)} parts of this form, got {draw!r}")
        if kept and max(kept.values()) > total / draw:
            raise SurveyError(_too_little(groups, kept, draw * max(kept.values())))
        return total, [kept.get(place, total / draw) for place in range(len(groups))]
    rest, free = total - sum(kept.values()), [place for place in range(len(groups)) if place not in kept]
    if rest < 0 or (free and not rest):
        raise SurveyError(_too_little(groups, kept, sum(kept.values())))
    makers = [(lambda budget, group=groups[place]: _part(group, given, budget, participation).survey) for place in free]
    shares = dict(zip(free, share_out(rest, makers), strict=True)) if free else {}
    return total, [kept[place] if place in kept else shares[place] for place in range(len(groups))]


def _too_little(groups: Sequence[tuple[Question, ...]], kept: Mapping[int, Fraction], needed: Fraction | int) -> str:
    names = ", ".join(groups[place][0].name for place in kept)
    return (
        f"epsilon must be above {float(needed):g} for this form: {names} must keep the budgets that their tables were "
        "made for; use a larger epsilon, or tables at smaller ones"
    )


def _part(group: tuple[Question, ...], given: Mapping[str, Survey], epsilon: Fraction, participation: str) -> FormPart:
    """A part at a budget: the given survey, or over its answers and "no answer", or over pairs."""
    alphabet, title = part_alphabet(group), part_title(group)
    survey = given[group[0].name]
    mechanism, encoding = survey.mechanism, survey.encoding
    if len(group) == 1 and len(alphabet) == len(survey.alphabet):
        encoding = encoding.rebudgeted(mechanism.report_bound, epsilon * mechanism.report_bound / mechanism.epsilon)
        return FormPart(
            group, Survey(alphabet, encoding, _rebudgeted(mechanism, epsilon, encoding), title, participation)
        )
    direct = Direct(len(alphabet))
    if len(group) == 2 or not encoding.own_cells:
        # Of a pair one report spends the smaller share of the budget that either question left to it.
        stages = [given[question.name].mechanism for question in group]
        share = min(stage.report_bound / stage.epsilon for stage in stages)
        best = _best_subset(len(alphabet), epsilon, share * epsilon)
        return FormPart(group, Survey(alphabet, direct, best, title, participation))
    return FormPart(group, Survey(alphabet, direct, _rebudgeted(mechanism, epsilon, direct), title, participation))


def _rebudgeted(mechanism: Mechanism, epsilon: Fraction, encoding: Encoding) -> Mechanism:
    """The mechanism at its share of a budget: of sensitive answers the one that is best there."""
    if epsilon == mechanism.epsilon and encoding.cells == mechanism.cells:
        return mechanism
    return rebudgeted.of(mechanism)(mechanism, epsilon, encoding)


rebudgeted: Registry[Callable[[Any, Fraction, Encoding], Mechanism]] = Registry(
    "deniable.survey.form_making.rebudgeted", Mechanism, "mechanism at another budget"
)
rebudgeted.add(Mechanism)(lambda mechanism, epsilon, encoding: mechanism.rebudgeted(epsilon, encoding))


@rebudgeted.add(Sensitive, SensitiveDesign)
def _sensitive_rebudgeted(mechanism: Any, epsilon: Fraction, encoding: Encoding) -> Mechanism:
    hidden = (*mechanism.sensitive, *range(mechanism.cells, encoding.cells))  # "no answer" can be denied
    return sensitive_mechanism(encoding.cells, hidden, epsilon)


def _best_subset(cells: int, epsilon: Fraction, report: Fraction) -> Mechanism:
    """What has the least squared error in one report, of all that hide answers alike; sets of one cell are k-RR."""
    size = max(1, round(cells / (math.exp(report) + 1)))
    first = KRR(cells, epsilon) if size == 1 else Subset(cells, epsilon, size)
    return first if report == epsilon else Chain(first, report)
