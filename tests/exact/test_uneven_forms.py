"""Forms whose questions hide some answers and not others: what the whole promises, exactly, and mutants of it."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import permutations

import pytest

import deniable as dn
from deniable.client.form_client import FormClient
from deniable.mechanisms import Sensitive
from deniable.mechanisms.odds import at_most_exp
from deniable.noise import Entropy
from deniable.survey import Form, Question, ubd
from tests.exact.forms import MakeFormClient, every_answer, law_of_form, published_form, real_client
from tests.exact.tables import TABLES, promise_of, stated

SMOKES = dn.warner(epsilon=1)
ILL = dn.sensitive(["no", "flu", "hiv"], sensitive=["hiv"], epsilon=1)
CITY = dn.blocks([["o", "b"], ["p", "l"]], epsilon=1)
TABLE = dn.channel([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]], epsilon="1.8")
BUDGETS = dn.krr(["x", "y", "z"], epsilon={"x": "0.5", "y": 2, "z": 2})
DESIGN = ubd(6, sensitive=range(4), epsilon=1, order=2, dimension=3)

FORMS: dict[str, Form] = {
    "sensitive, split": dn.form(ill=ILL, smokes=SMOKES, epsilon=2),
    "sensitive, sampled": dn.form(ill=ILL, smokes=SMOKES, epsilon=2, spend="sample"),
    "sensitive, each": dn.form(ill=ILL, smokes=SMOKES, spend="each"),
    "sensitive and skipped": dn.form(ill=ILL, smokes=SMOKES, epsilon=2, skip=["ill", "smokes"]),
    "sensitive twice": dn.form(ill=ILL, other=ILL, epsilon=2),
    "sensitive by design": dn.form(ill=DESIGN, smokes=SMOKES, spend="each"),
    "groups, split": dn.form(city=CITY, smokes=SMOKES, epsilon=2),
    "groups and sensitive, one of three": dn.form(city=CITY, ill=ILL, smokes=SMOKES, epsilon=1, spend="sample"),
    "groups and sensitive, two of three": dn.form(city=CITY, ill=ILL, smokes=SMOKES, epsilon=2, spend="sample", draw=2),
    "a table keeps its budget": dn.form(mood=TABLE, smokes=SMOKES, epsilon=3),
    "a table, sampled": dn.form(mood=TABLE, smokes=SMOKES, epsilon=2, spend="sample"),
    "budgets an answer": dn.form(mood=BUDGETS, smokes=SMOKES, epsilon=3),
    "a pair of a sensitive question": dn.form(ill=ILL, smokes=SMOKES, epsilon=2, relate=[("ill", "smokes")]),
    "all kinds": dn.form(ill=ILL, mood=TABLE, city=CITY, spend="each"),
}


def stated_promise(form: Form, given: Mapping[str, object], other: Mapping[str, object]) -> Fraction | None:
    """What a form promises, from the JSON of its parts alone: the sum of the largest, as many as are drawn."""
    spent = []
    for part in form.parts:
        survey, pair = part.survey, (part.symbol(given), part.symbol(other))
        if pair[0] == pair[1]:
            continue
        if stated(survey)["kind"] in TABLES:
            one = promise_of(survey)(*(survey.alphabet.index(symbol) for symbol in pair))
        else:
            one = Fraction(stated(survey)["epsilon"])
        if one is None:
            return None
        spent.append(one)
    return sum(sorted(spent, reverse=True)[: form.drawn], Fraction(0))


def largest(above: Mapping[bytes, Fraction], below: Mapping[bytes, Fraction]) -> Fraction | None:
    """The largest ratio of two laws, None if it is infinite."""
    if any(wire not in below for wire in above):
        return None
    return max(chance / below[wire] for wire, chance in above.items())


def broken(form: Form, make: MakeFormClient = real_client) -> set[str]:
    """Which promises a client breaks, over all pairs of complete answers."""
    answers = every_answer(form)
    laws = [law_of_form(form, each, make).probabilities for each in answers]
    found = set()
    if len({len(wire) for law in laws for wire in law}) != 1:
        found.add("length")
    if any(law != published_form(form, each) for law, each in zip(laws, answers, strict=True)):
        found.add("law")
    for (given, mine), (other, theirs) in permutations(zip(answers, laws, strict=True), 2):
        promised, ratio = stated_promise(form, given, other), largest(mine, theirs)
        if promised is not None and (ratio is None or not at_most_exp(ratio, promised)):
            found.add("promise")
    return found


@pytest.mark.parametrize("name", FORMS)
def test_law_and_promises_of_every_pair_of_complete_answers(name: str) -> None:
    assert broken(FORMS[name]) == set()


@pytest.mark.parametrize("name", FORMS)
def test_the_promise_is_stated_and_the_ratio_exact_for_every_pair(name: str) -> None:
    form = FORMS[name]
    answers = every_answer(form)
    laws = [law_of_form(form, each).probabilities for each in answers]
    worst = Fraction(1)
    for (given, mine), (other, theirs) in permutations(zip(answers, laws, strict=True), 2):
        promised, ratio = form.promise(given, other), form.ratio(given, other)
        assert promised == stated_promise(form, given, other)
        assert ratio == largest(mine, theirs)
        if promised is not None:
            assert ratio is not None
            assert promised <= form.epsilon_total
            worst = max(worst, ratio)
    assert worst == form.odds
    assert form.epsilon_report <= form.epsilon_spent <= form.epsilon


def test_which_parts_may_be_seen() -> None:
    assert {name: form.uneven for name, form in FORMS.items() if form.uneven} == {
        "sensitive, split": ("ill",),
        "sensitive, sampled": ("ill",),
        "sensitive, each": ("ill",),
        "sensitive and skipped": ("ill",),
        "sensitive twice": ("ill", "other"),
        "sensitive by design": ("ill",),
        "groups, split": ("city",),
        "groups and sensitive, one of three": ("city", "ill"),
        "groups and sensitive, two of three": ("city", "ill"),
        "all kinds": ("ill", "city"),
    }


def test_tables_keep_their_budgets_and_the_rest_is_shared() -> None:
    budgets = {p.name: p.survey.mechanism.epsilon for p in FORMS["a table keeps its budget"].parts}
    assert budgets == {"mood": Fraction("1.8"), "smokes": Fraction("1.2")}
    assert [p.survey.mechanism.epsilon for p in FORMS["a table, sampled"].parts] == [Fraction("1.8"), 2]


def test_public_answers_that_differ_are_seen() -> None:
    form = dn.form(ill=ILL, smokes=SMOKES, epsilon=2, public={"land": ["a", "b"]}, when={"ill": ("land", "a")})
    here, there = {"land": "a", "ill": "hiv", "smokes": "no"}, {"land": "b", "smokes": "no"}
    assert form.promise(here, there) is None
    assert form.promise(here, here | {"smokes": "yes"}) == form.part_of("smokes").survey.mechanism.epsilon
    assert form.promise(there, there | {"smokes": "yes"}) == form.part_of("smokes").survey.mechanism.epsilon


class NotHiddenWhereSeen(FormClient):
    """Whoever gives a harmless answer is seen anyway, it thinks: and sends the others as they are."""

    def _response(self, place: int, cohort: int, symbol: object) -> int:
        if place == 0:
            self._seen = symbol in ("no", "flu")
        if place and self._seen:
            return int(self._form.parts[place].survey.key(symbol))
        return super()._response(place, cohort, symbol)


class HarmlessNeverNoisy(FormClient):
    """Harmless answers name themselves alone: then naming a sensitive one means it."""

    def _response(self, place: int, cohort: int, symbol: object) -> int:
        survey = self._form.parts[place].survey
        key = survey.key(symbol)
        if isinstance(survey.mechanism, Sensitive) and key not in survey.mechanism.sensitive:
            return len(survey.mechanism.sensitive) + [*"nf"].index(str(symbol)[0])
        return super()._response(place, cohort, symbol)


class WholeBudgetForTheSensitive(FormClient):
    """The sensitive question with all of the budget, where it has a share."""

    def _response(self, place: int, cohort: int, symbol: object) -> int:
        survey = self._form.parts[place].survey
        whole = survey.mechanism.rebudgeted(self._form.epsilon_total, survey.encoding)
        return whole.randomize(survey.encode(cohort, symbol), self._entropy)


class SkippedIsHarmless(FormClient):
    """Leaving a question out is an answer that is seen."""

    def _response(self, place: int, cohort: int, symbol: object) -> int:
        mechanism = self._form.parts[place].survey.mechanism
        if place == 0 and symbol == "no answer":
            return mechanism.columns - 1
        return super()._response(place, cohort, symbol)


class GroupByAnswer(FormClient):
    """Which question is answered depends on the group."""

    def _words(self, place: int, cohort: int, cells: tuple[int, ...]) -> Entropy:
        if place == 0 and cells == (0,):
            self._entropy.word()
        return super()._words(place, cohort, cells)

    def _response(self, place: int, cohort: int, symbol: object) -> int:
        found = super()._response(place, cohort, symbol)
        return 0 if place == 0 and symbol == "o" else found


MUTANTS: dict[str, tuple[str, type[FormClient]]] = {
    "others in clear where one is seen": ("sensitive, each", NotHiddenWhereSeen),
    "harmless answers without noise": ("sensitive, each", HarmlessNeverNoisy),
    "the budget counted per question": ("sensitive, split", WholeBudgetForTheSensitive),
    "a skipped question is seen": ("sensitive and skipped", SkippedIsHarmless),
    "no noise within a group": ("groups, split", GroupByAnswer),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_break_the_promise(name: str) -> None:
    form, client = MUTANTS[name]
    make: MakeFormClient = lambda agreement, entropy: client(agreement, memoize=False, entropy=entropy)  # noqa: E731
    assert broken(FORMS[form], make) >= {"law", "promise"}


def test_no_answer_is_among_the_sensitive_ones() -> None:
    part = FORMS["sensitive and skipped"].parts[0]
    assert isinstance(part.questions[0], Question)
    assert stated(part.survey)["sensitive"] == [2, 3]


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "groups that may be skipped": (
        lambda: dn.form(city=CITY, smokes=SMOKES, epsilon=2, skip=["city"]),
        "an answer must have a group, got 1 without one; which group it is is seen, so put 'no answer' into one, "
        "instead of a question that may be skipped",
    ),
    "a table that may be skipped": (
        lambda: dn.form(mood=TABLE, smokes=SMOKES, epsilon=3, skip=["mood"]),
        "a 'table' mechanism must keep the 3 answers that it was made for, got 4; make 'no answer' one of them, "
        "instead of a question that may be skipped",
    ),
    "a table that takes all": (
        lambda: dn.form(mood=TABLE, smokes=SMOKES, epsilon="1.8"),
        "epsilon must be above 1.8 for this form: mood must keep the budgets that their tables were made for; use a "
        "larger epsilon, or tables at smaller ones",
    ),
    "a table that takes more than its share of a sample": (
        lambda: dn.form(mood=TABLE, smokes=SMOKES, epsilon=3, spend="sample", draw=2),
        "epsilon must be above 3.6 for this form: mood must keep the budgets that their tables were made for; use a "
        "larger epsilon, or tables at smaller ones",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_promised_is_refused_in_a_sentence(name: str) -> None:
    make, sentence = REFUSED[name]
    with pytest.raises(dn.SurveyError) as caught:
        make()
    assert str(caught.value) == sentence
