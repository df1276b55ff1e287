"""Forms: the exact joint law of the packed bytes, the total epsilon as a rational, and mutants of the client."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import deniable as dn
from deniable.cli.form_commands import form_notice
from deniable.client.form_client import FormClient
from deniable.errors import AlphabetError
from deniable.mechanisms import KRR, epsilon_text
from deniable.mechanisms.odds import at_most_exp
from deniable.noise import DerivedEntropy, Entropy
from deniable.reports import Report
from deniable.survey import Alphabet, Direct, Form, FormPart, Question, Survey
from tests.exact.forms import (
    MakeFormClient,
    every_answer,
    form_violations,
    law_of_form,
    published_form,
    real_client,
    real_laws,
)
from tests.exact.laws import worst_ratio
from tests.exact.scripted import ScriptedEntropy

SEED = bytes(range(16))
TWICE, THRICE = dn.warner(epsilon=2, epsilon_report=1), dn.krr(3, epsilon=2, epsilon_report="1/2")
HASHED = dn.orr(symbols=["p", "q", "r"], epsilon=2, epsilon_report=1, cells=2, cohorts=2, seed=bytes(range(16)))
SMOKES, CITY, LIKES = dn.warner(epsilon=1), dn.krr(["o", "b", "t"], epsilon=1), dn.krappor(["x", "y"], epsilon=1)
SEARCHED = dn.discovery(epsilon=1, length=2, levels=((1, 1), (2, 2)), cells=2, seed=SEED)

FORMS: dict[str, Form] = {
    "two, split": dn.form(smokes=SMOKES, city=CITY, epsilon=2),
    "two, sampled": dn.form(smokes=SMOKES, city=CITY, epsilon=2, spend="sample"),
    "two, each": dn.form(smokes=SMOKES, city=CITY, spend="each"),
    "two, each at one budget": dn.form(smokes=SMOKES, city=CITY, spend="each", epsilon="1/2"),
    "three, split": dn.form(smokes=SMOKES, city=CITY, likes=LIKES, epsilon="1.5"),
    "three, one sampled": dn.form(smokes=SMOKES, city=CITY, likes=LIKES, epsilon=1, spend="sample"),
    "three, two sampled": dn.form(smokes=SMOKES, city=CITY, likes=LIKES, epsilon=1, spend="sample", draw=2),
    "three, each": dn.form(smokes=SMOKES, city=CITY, likes=LIKES, spend="each"),
    "a pair of two": dn.form(smokes=SMOKES, city=CITY, epsilon=2, relate=[("smokes", "city")]),
    "a pair and one, split": dn.form(smokes=SMOKES, city=CITY, likes=LIKES, epsilon=2, relate=[("city", "smokes")]),
    "a pair and one, sampled": dn.form(
        smokes=SMOKES, likes=LIKES, city=CITY, epsilon=2, spend="sample", relate=[("smokes", "city")]
    ),
    "a pair and one, each": dn.form(smokes=SMOKES, likes=LIKES, city=CITY, spend="each", relate=[("smokes", "likes")]),
    "skipping": dn.form(smokes=SMOKES, city=CITY, epsilon=2, skip=["smokes", "city"]),
    "skipping in a pair": dn.form(smokes=SMOKES, likes=LIKES, epsilon=1, skip=["smokes"], relate=[("smokes", "likes")]),
    "cohorts": dn.form(smokes=SMOKES, text=dn.orr(epsilon=1, cells=3, cohorts=2, seed=SEED), epsilon=2, spend="sample"),
    "two hashed, with cohorts of their own": dn.form(
        text=dn.orr(epsilon=1, cells=2, cohorts=2, seed=SEED),
        word=dn.orr(epsilon=1, cells=3, cohorts=2, seed=SEED),
        epsilon=2,
    ),
    "found without a list, split": dn.form(word=SEARCHED, smokes=SMOKES, epsilon=2),
    "found without a list, sampled and skipped": dn.form(
        word=SEARCHED, smokes=SMOKES, epsilon=2, spend="sample", skip=["word"]
    ),
    "found without a list, each": dn.form(word=SEARCHED, smokes=SMOKES, spend="each"),
    "twice the same question": dn.form(a=SMOKES, b=SMOKES, epsilon=1),
    "two stages": dn.form(a=dn.warner(epsilon=2, epsilon_report=1), b=SMOKES, epsilon=2),
    "two stages, sampled": dn.form(
        a=dn.warner(epsilon=2, epsilon_report=1), b=dn.krr(3, epsilon=2, epsilon_report=1), epsilon=2, spend="sample"
    ),
    "two stages of a pair, split": dn.form(a=TWICE, b=THRICE, c=SMOKES, epsilon=4, relate=[("a", "b")]),
    "two stages of a pair, sampled": dn.form(
        a=TWICE, b=THRICE, c=SMOKES, epsilon=2, spend="sample", relate=[("a", "b")]
    ),
    "two stages of a pair, each": dn.form(a=TWICE, b=THRICE, spend="each", relate=[("a", "b")]),
    "two stages of a pair, each at one budget": dn.form(
        a=TWICE, b=SMOKES, spend="each", epsilon=1, relate=[("a", "b")]
    ),
    "two stages, skipped, split": dn.form(a=HASHED, b=SMOKES, epsilon=3, skip=["a"]),
    "two stages, skipped, sampled": dn.form(a=HASHED, b=TWICE, epsilon=2, spend="sample", skip=["a", "b"]),
    "two stages, skipped, each": dn.form(a=HASHED, b=SMOKES, spend="each", skip=["a"]),
}
# What one report of a part may spend, as a part of what all of them may.
REPORTS = {
    "two stages of a pair, split": ("1/4", "1"),
    "two stages of a pair, sampled": ("1/4", "1"),
    "two stages of a pair, each": ("1/4",),
    "two stages of a pair, each at one budget": ("1/2",),
    "two stages, skipped, split": ("1/2", "1"),
    "two stages, skipped, sampled": ("1/2", "1/2"),
    "two stages, skipped, each": ("1/2", "1"),
}


# Three parts of two stages each have so many outcomes that their law takes seconds.
LONG = {"two stages of a pair, split", "two stages of a pair, sampled"}


def by_length(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in names]


@pytest.mark.parametrize("name", by_length(FORMS))
def test_law_of_the_bytes_is_the_product_of_the_published_channels(name: str) -> None:
    form = FORMS[name]
    assert form_violations(form, every_answer(form)) == set()


@pytest.mark.parametrize("name", by_length(FORMS))
def test_the_total_epsilon_is_the_largest_over_all_pairs_of_answers(name: str) -> None:
    """As a rational: the worst ratio of two complete sets of answers is `odds`, no more and no less."""
    form = FORMS[name]
    worst = worst_ratio([law.probabilities for law in real_laws(form)])
    assert worst == form.odds
    assert at_most_exp(form.odds, form.bounds[1])
    assert form.bounds[1] <= form.bounds[0] <= form.epsilon_total
    assert form.epsilon_report <= form.epsilon_spent <= form.epsilon


@pytest.mark.parametrize("name", by_length(REPORTS))
def test_pairs_and_skipped_questions_keep_their_second_stage(name: str) -> None:
    """However the budget is used: what one report spends, and what all do, as rationals, by the bytes and in words."""
    form = FORMS[name]
    mechanisms = [part.survey.mechanism for part in form.parts]
    assert [each.report_bound / each.epsilon for each in mechanisms] == [Fraction(share) for share in REPORTS[name]]
    once = sorted((each.epsilon * Fraction(share) for each, share in zip(mechanisms, REPORTS[name], strict=True)))
    assert form.bounds[1] == sum(once[::-1][: form.drawn], Fraction(0))
    worst = worst_ratio([law.probabilities for law in real_laws(form)])
    assert worst is not None
    assert at_most_exp(worst, form.bounds[1])
    assert 0.99 * form.bounds[1] <= form.epsilon_report <= form.bounds[1]
    assert 0.99 * form.bounds[0] <= form.epsilon_spent <= form.bounds[0] <= form.epsilon_total
    said = f"; one report at most {epsilon_text(form.bounds[1])}"
    assert form.spending.endswith(said if form.bounds[1] < form.bounds[0] else f" {epsilon_text(form.epsilon_total)}")
    text = dict(form_notice(form))["What all answers together give away"]
    whole = f". All reports of the same answers together spend at most epsilon {epsilon_text(form.bounds[0])}. "
    assert (whole in text) is text.startswith("One report is at most ") is (form.bounds[1] < form.bounds[0])
    client = dn.Client(form)
    names = client.questions  # type: ignore[attr-defined]
    client.report({own: answer for own, answer in every_answer(form)[0].items() if own in names})
    (account,) = client.ledger.accounts
    assert (account.epsilon, account.epsilon_report) == form.bounds


class FirstStageAlone(FormClient):
    """Sends the permanent response, as forms did for pairs: one report then spends as much as all."""

    def _response(self, place: int, cohort: int, symbol: object) -> int:
        survey = self._form.parts[place].survey
        return survey.mechanism.permanent.randomize(survey.encode(cohort, symbol), self._entropy)


def test_a_client_that_leaves_out_the_second_stage_is_caught() -> None:
    form = FORMS["two stages of a pair, each"]
    make: MakeFormClient = lambda agreement, entropy: FirstStageAlone(agreement, memoize=False, entropy=entropy)  # noqa: E731
    laws = [law_of_form(form, each, make).probabilities for each in every_answer(form)]
    assert not at_most_exp(worst_ratio(laws) or Fraction(0), form.bounds[1])
    assert "law" in form_violations(form, every_answer(form), make)


@pytest.mark.parametrize(
    "name", ["two, sampled", "three, one sampled", "three, two sampled", "a pair and one, sampled"]
)
def test_every_set_of_parts_is_drawn_alike_whatever_the_answers(name: str) -> None:
    form = FORMS[name]
    for answers in every_answer(form):
        law = law_of_form(form, answers).probabilities
        shown: dict[int, Fraction] = {}
        for wire, chance in law.items():
            shown[wire[9]] = shown.get(wire[9], Fraction(0)) + chance
        assert len(set(shown.values())) == 1
        assert all(mask.bit_count() == form.drawn for mask in shown)


def test_every_small_word_through_the_real_client() -> None:
    """No symbols here: each pair of 5-bit words is played, and the bytes are counted."""
    surveys = [Survey(Alphabet.closed(k), Direct(k), KRR(k, "1", 5)) for k in (2, 3)]
    parts = tuple(FormPart((Question(n, s.alphabet),), s) for n, s in zip("ab", surveys, strict=True))
    form = Form(parts, "split", Fraction(2), 2)
    for answers in every_answer(form):
        seen: dict[bytes, Fraction] = {}
        for words in product(range(32), repeat=2):
            entropy = ScriptedEntropy(5, [0, 0])  # the cohorts
            client = real_client(form, entropy)
            entropy.load(words)
            wire = client.report(answers).pack()
            entropy.finish()
            seen[wire] = seen.get(wire, Fraction(0)) + Fraction(1, 32 * 32)
        assert seen == published_form(form, answers)


class DrawnByAnswer(FormClient):
    """Answers the sensitive question only where there is nothing to hide."""

    def _asked(self, given: Mapping[str, object]) -> int:
        return 1 if given.get("smokes") == "no" else 2

    def _checked(self, value: object) -> dict[str, object]:
        return {"smokes": "no", "city": "o"} | dict(value)  # type: ignore[call-overload,no-any-return]


class _Replayed(Entropy):
    """Gives the first word again and again."""

    def __init__(self, entropy: Entropy) -> None:
        self.width, self._entropy, self._first = entropy.width, entropy, -1

    def word(self) -> int:
        if isinstance(self._first, int) and self._first == -1:
            self._first = self._entropy.word()
        return self._first


class SharedWords(FormClient):
    """One stream of words for all questions, started again for each: their noise is the same."""

    __slots__ = ("_again",)

    def _packed(self, given: Mapping[str, object]) -> Report:
        self._again = _Replayed(self._entropy)
        return super()._packed(given)

    def _words(self, place: int, cohort: int, cells: tuple[int, ...]) -> Entropy:
        return self._again


class SkippedIsShorter(FormClient):
    """Sends nothing for a question that was skipped."""

    def _packed(self, given: Mapping[str, object]) -> Report:
        report = super()._packed(given)
        return report if "city" in given else Report(report.survey, report.cohort, report.payload[:-1])


class BudgetPerQuestion(FormClient):
    """Each question with all of the budget, where all share it."""

    def _response(self, place: int, cohort: int, symbol: object) -> int:
        survey = self._form.parts[place].survey
        whole = survey.mechanism.rebudgeted(self._form.epsilon_total, survey.encoding)
        return whole.randomize(survey.encode(cohort, symbol), self._entropy)


class NotDrawnInClear(FormClient):
    """Fills the slots of parts that were not drawn with the answer."""

    def _packed(self, given: Mapping[str, object]) -> Report:
        report = super()._packed(given)
        chosen, _ = self._form.drawn_parts(self._cohort)
        if chosen & 1:
            return report
        return Report(report.survey, report.cohort, b"\x01" + report.payload[1:])


MUTANTS: dict[str, tuple[str, type[FormClient], set[str]]] = {
    "a question drawn by its answer": ("two, sampled", DrawnByAnswer, {"drawn", "law", "support"}),
    "words shared between questions": ("twice the same question", SharedWords, {"law", "support"}),
    "a skipped question sent shorter": ("skipping", SkippedIsShorter, {"length", "law", "support"}),
    "the budget counted per question": ("two, split", BudgetPerQuestion, {"law", "ratio"}),
    "a slot that was not drawn filled": ("two, sampled", NotDrawnInClear, {"law"}),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name: str) -> None:
    form, client, broken = MUTANTS[name]
    make: MakeFormClient = lambda agreement, entropy: client(agreement, memoize=False, entropy=entropy)  # noqa: E731
    assert form_violations(FORMS[form], every_answer(FORMS[form]), make) >= broken


class OneLabelForAllParts(FormClient):
    """Permanent words by the cells alone: the same answer to two questions gives the same noise."""

    def _words(self, place: int, cohort: int, cells: tuple[int, ...]) -> Entropy:
        return super()._words(0, cohort, cells)


def labels_of(client: type[FormClient], monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The labels that permanent words are derived from, one a part."""
    found = []

    class Watched(DerivedEntropy):
        def __init__(self, secret: bytes, label: bytes) -> None:
            found.append(label)
            super().__init__(secret, label)

    monkeypatch.setattr("deniable.client.form_client.DerivedEntropy", Watched)
    client(FORMS["twice the same question"]).report({"a": "yes", "b": "yes"})
    return found


def test_permanent_words_of_two_questions_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(set(labels_of(FormClient, monkeypatch))) == 2


def test_permanent_words_by_cells_alone_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(set(labels_of(OneLabelForAllParts, monkeypatch))) == 1


def test_the_same_answers_give_the_same_bytes() -> None:
    form = FORMS["three, split"]
    client = dn.Client(form)
    answers = every_answer(form)
    first = [client.report(each).pack() for each in answers]
    assert [client.report(each).pack() for each in reversed(answers)] == first[::-1]


def test_a_public_answer_decides_what_is_asked_and_is_not_sent() -> None:
    form = dn.form(
        smokes=SMOKES, city=CITY, epsilon=2, public={"country": ["NO", "SE"]}, when={"city": ("country", "NO")}
    )
    assert form.report_format.length == 9 + 1 + 2
    laws = {
        country: [
            law_of(form, {"country": country, "smokes": smokes} | ({"city": "o"} if country == "NO" else {}))
            for smokes in ("no", "yes")
        ]
        for country in ("NO", "SE")
    }
    for country, answered in (("NO", 3), ("SE", 1)):
        assert {wire[9] for law in laws[country] for wire in law} == {answered}
        assert at_most_exp(worst_ratio(laws[country]) or Fraction(10**9), form.epsilon_total)


def law_of(form: Form, answers: Mapping[str, object]) -> dict[bytes, Fraction]:
    from tests.exact.walker import walk

    return walk(lambda entropy: real_client(form, entropy).report(answers).pack()).probabilities


def test_what_was_not_drawn_is_not_answered() -> None:
    form = FORMS["two, sampled"]
    client = dn.Client(form)
    (drawn,) = client.questions  # type: ignore[attr-defined]
    other = "city" if drawn == "smokes" else "smokes"
    with pytest.raises(AlphabetError) as caught:
        client.report({"smokes": "yes", "city": "o"})
    assert str(caught.value) == (
        f"{other}: it must not be answered by this device, which did not draw it, or to which it is not asked; "
        "client.questions has those that are"
    )
    assert list(client.ledger.exact()) == [0, 0]
