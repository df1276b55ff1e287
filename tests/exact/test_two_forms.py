"""Two reports of one form by one device: their exact joint law, what both spend together, and mutants."""

from fractions import Fraction
from itertools import combinations, product
from math import prod

import pytest

import deniable as dn
from deniable.client.form_client import FormClient
from deniable.mechanisms.odds import at_most_exp
from deniable.noise import Entropy
from deniable.survey import Form
from tests.exact.forms import Answers, asked_of, every_answer
from tests.exact.laws import worst_ratio
from tests.exact.test_chain import Memoising, joint
from tests.exact.test_client import oracle_on
from tests.exact.walker import walk

TWICE = dn.warner(epsilon=2, epsilon_report=1)
HASHED = dn.orr(symbols=["p", "q"], epsilon=2, epsilon_report=1, cells=2, cohorts=2, seed=bytes(range(16)))
FORMS: dict[str, Form] = {
    "split": dn.form(a=TWICE, b=TWICE, epsilon=3),
    "sampled": dn.form(a=TWICE, b=TWICE, c=TWICE, epsilon=2, spend="sample"),
    "each": dn.form(a=TWICE, b=HASHED, spend="each"),
    "a pair": dn.form(a=TWICE, b=TWICE, epsilon=3, relate=[("a", "b")]),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def two_reports(
    form: Form,
    answers: tuple[Answers, Answers],
    monkeypatch: pytest.MonkeyPatch,
    kind: type[FormClient] = FormClient,
) -> dict[bytes, Fraction]:
    """The law of the bytes of two reports, walked through the memoising client of a form on ideal permanent words."""

    def run(entropy: Entropy) -> bytes:
        monkeypatch.setattr("deniable.client.form_client.DerivedEntropy", oracle_on(entropy))
        client = kind(form, entropy=Memoising(entropy))
        return b"".join(client.report(asked_of(client, each)).payload for each in answers) + bytes([_drawn(client)])

    return walk(run).probabilities


def _drawn(client: FormClient) -> int:
    """The parts that a device answers: its reports say so, and both say the same."""
    return sum(1 << place for place, name in enumerate("abc") if name in client.questions)


def stated(form: Form, first: Answers, then: Answers) -> dict[bytes, Fraction]:
    """What the law must be: parts drawn once for both reports, and one permanent response of a part for each answer."""
    places = range(len(form.parts))
    slots = []
    for part in form.parts:
        survey, one, other = part.survey, part.symbol(first), part.symbol(then)
        if one == other:
            both = joint(survey, one, 2)
        else:  # answers of other cells have permanent words of their own
            assert survey.cohorts == 1
            alone = joint(survey, one, 1), joint(survey, other, 1)
            both = {a + b: p * q for (a, p), (b, q) in product(*(law.items() for law in alone))}
        half = len(next(iter(both))) // 2
        slots.append({(sent[9:half], sent[half + 9 :]): chance for sent, chance in both.items()})
    found: dict[bytes, Fraction] = {}
    sets = list(combinations(places, form.drawn))
    for chosen in sets:
        empty = [{(bytes(len(next(iter(slot))[0])),) * 2: Fraction(1)} for slot in slots]
        rows = [slots[place] if place in chosen else empty[place] for place in places]
        asked = {question.name for place in chosen for question in form.parts[place].questions}
        shown = bytes([sum(1 << place for place, name in enumerate("abc") if name in asked)])
        for combined in product(*(row.items() for row in rows)):
            chance = Fraction(1, len(sets))
            for _, each in combined:
                chance *= each
            wire = b"".join(pair[which] for which in (0, 1) for pair, _ in combined) + shown
            found[wire] = found.get(wire, Fraction(0)) + chance
    return found


@each_form
def test_two_reports_of_a_form_keep_the_promise_of_all_reports(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    """The joint law of two reports of the same answers is the stated one: they spend more than one, less than all."""
    laws = [stated(form, answers, answers) for answers in every_answer(form)]
    for answers, law in zip(every_answer(form), laws, strict=True):
        assert two_reports(form, (answers, answers), monkeypatch) == law
    worst = worst_ratio(laws)
    assert worst is not None
    permanent = sorted((part.survey.mechanism.permanent.odds for part in form.parts), reverse=True)
    assert form.odds < worst <= prod(permanent[: form.drawn])
    assert at_most_exp(worst, form.bounds[0])
    assert not at_most_exp(worst, form.bounds[1])


def test_an_answer_that_changed_has_noise_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    form = FORMS["split"]
    for first, then in product(every_answer(form), repeat=2):
        assert two_reports(form, (first, then), monkeypatch) == stated(form, first, then)


class RedrawnAtEveryReport(FormClient):
    """A fresh permanent response for each report: many reports then say more and more."""

    def _words(self, place: int, cohort: int, cells: tuple[int, ...]) -> Entropy:
        return self._entropy


class OneResponseForAllAnswers(FormClient):
    """Permanent words by the part alone, not by the cells: two answers that differ share their noise."""

    def _words(self, place: int, cohort: int, cells: tuple[int, ...]) -> Entropy:
        return super()._words(place, cohort, ())


def test_noise_that_is_redrawn_at_every_report_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    form = FORMS["split"]
    answers = [(each, each) for each in every_answer(form)]
    laws = [two_reports(form, each, monkeypatch, RedrawnAtEveryReport) for each in answers]
    assert worst_ratio(laws) == form.odds**2
    assert laws[0] != stated(form, *answers[0])


def test_noise_that_two_answers_share_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    form = FORMS["split"]
    no, *_, yes = every_answer(form)
    assert two_reports(form, (no, yes), monkeypatch, OneResponseForAllAnswers) != stated(form, no, yes)
