"""Every sentence that a form refuses with, and that nothing is lost or sent then."""

import hashlib
import json
import math
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deniable as dn
from deniable.audit import audit
from deniable.errors import DeniableError
from deniable.survey import NO_ANSWER, Form, form
from deniable.tally import FormTally

YES, CITY, TEXT = (
    dn.warner(epsilon=1),
    dn.krr(["o", "b"], epsilon=1),
    dn.orr(epsilon=1, cells=4, cohorts=4, seed=bytes(16)),
)
TWO = dn.form(smokes=YES, city=CITY, epsilon=2)
WEEKLY = dn.form(smokes=YES, city=CITY, epsilon=2, participation="window:week")
OPEN = dn.form(smokes=YES, city=TEXT, epsilon=2, skip=["city"])
PAIR = dn.form(smokes=YES, city=CITY, likes=YES, epsilon=2, relate=[("smokes", "city")])
COPY = dn.form(smokes=YES, city=CITY, epsilon=2, name="another")
COND = dn.form(smokes=YES, city=CITY, epsilon=2, public={"country": ["NO", "SE"]}, when={"city": ("country", "NO")})

MADE: dict[str, tuple[Callable[[], object], str]] = {
    "one question": (
        lambda: form(smokes=YES, epsilon=1),
        "a form must have 2 to 256 questions, got 1; one question is a survey of its own",
    ),
    "a thousand": (
        lambda: form({f"q{i}": YES for i in range(1000)}, epsilon=1),
        "a form must have 2 to 256 questions, got 1000",
    ),
    "no mapping": (
        lambda: form([YES, CITY], epsilon=1),  # type: ignore[arg-type]
        "questions must be surveys by name, got list; write smokes=dn.warner(...)",
    ),
    "repeated": (
        lambda: form({"smokes": YES}, smokes=YES, city=CITY, epsilon=1),
        "a form must have each question once, got 'smokes' more than once",
    ),
    "a name": (
        lambda: form({"do you": YES, "city": CITY}, epsilon=1),
        "a question's name must be a word of at most 64 letters, digits and underscores, got 'do you'; what "
        "people read "
        "is the name of its survey",
    ),
    "a name that is not normalised": (
        lambda: form({"e\u0301": YES, "city": CITY}, epsilon=1),
        "a question's name must be NFC-normalised, got 'e\u0301'",
    ),
    "no survey": (
        lambda: form(smokes="yes", city=CITY, epsilon=1),  # type: ignore[arg-type]
        "question 'smokes' must be a Survey, got str; make one with a preset such as dn.krr",
    ),
    "participation of a question": (
        lambda: form(smokes=dn.warner(epsilon=1, participation="event"), city=CITY, epsilon=1),
        "question 'smokes' must leave participation to the form, got 'event'; name it once, as participation= "
        "of the form",
    ),
    "a table at another budget": (
        lambda: dn.channel([[0.6, 0.4], [0.4, 0.6]], epsilon=1).mechanism.rebudgeted(Fraction(2), YES.encoding),
        "a 'table' mechanism must keep the budget that it was made for: its weights do not follow from one; "
        "use krr, "
        "subset or another mechanism that hides all answers alike",
    ),
    "spend": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, spend="all"),
        "spend must be 'split', 'sample' or 'each', got 'all'",
    ),
    "no epsilon": (
        lambda: form(smokes=YES, city=CITY),
        "epsilon must be given with spend='split': what all answers of a person spend together",
    ),
    "too small": (
        lambda: form(smokes=YES, city=dn.krr(1 << 20, epsilon=10), epsilon="0.00000001"),
        "epsilon must be large enough to be shared, got 1e-08; use spend='sample'",
    ),
    "draw": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, spend="sample", draw=3),
        "draw must be from 1 to the 2 parts of this form, got 3",
    ),
    "draw of all": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, draw=2),
        "draw must be left out unless spend='sample', got 2 with spend='split'",
    ),
    "relate nothing": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, relate=None),  # type: ignore[arg-type]
        "relate must be a list, got NoneType; leave it out where there is none",
    ),
    "relate numbers": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, relate=[3]),  # type: ignore[list-item]
        "relate must be a list of pairs of names, got something else; write [('smokes', 'age')]",
    ),
    "skip a number": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, skip=3),  # type: ignore[arg-type]
        "skip must be a list, got int; leave it out where there is none",
    ),
    "when a list": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, when=[("smokes", "x")]),  # type: ignore[arg-type]
        "when must be a mapping by the names of questions, got list",
    ),
    "public a list": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, public=["land"]),  # type: ignore[arg-type]
        "public must be a mapping by the names of questions, got list",
    ),
    "relate something": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, relate=["smokes"]),
        "relate must be a list of pairs of names, got something else; write [('smokes', 'age')]",
    ),
    "relate unknown": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, relate=[("smokes", "age")]),
        "relate must name questions of the form, got 'age', which it does not have",
    ),
    "relate itself": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, relate=[("smokes", "smokes")]),
        "relate must name each question once",
    ),
    "two pairs that share": (
        lambda: form(a=YES, b=YES, c=YES, epsilon=1, relate=[("a", "b"), ("b", "c")]),
        "related pairs must not share a question, got 'b' in two; each answer is sent once, so name the pair "
        "that matters "
        "more",
    ),
    "relate text": (
        lambda: form(smokes=YES, city=TEXT, epsilon=1, relate=[("smokes", "city")]),
        "related questions must have lists of answers, got 'smokes' and 'city'; one of them is answered with any text: "
        "make it closed with symbols=",
    ),
    "relate many": (
        lambda: form(a=dn.krr(100, epsilon=1), b=dn.krr(100, epsilon=1), epsilon=1, relate=[("a", "b")]),
        "related questions must have at most 4096 pairs of answers, got 100 times 100; use fewer answers, or "
        "wider bins",
    ),
    "relate with a condition": (
        lambda: form(a=YES, b=YES, epsilon=1, relate=[("a", "b")], public={"p": ["x", "y"]}, when={"a": ("p", "x")}),
        "related questions must be asked of everybody, got a, b with a condition",
    ),
    "skip one text": (
        lambda: form(smokes=YES, city=CITY, epsilon=1, skip="smokes"),
        "skip must be a list of names, got one text; write skip=['smokes']",
    ),
    "skip and no answer": (
        lambda: form(smokes=dn.krr(["yes", "no answer"], epsilon=1), city=CITY, epsilon=1, skip=["smokes"]),
        "question 'smokes' must not have the answer 'no answer' if it may be skipped: the form adds it",
    ),
    "a condition on a private answer": (
        lambda: form(smokes=YES, brand=CITY, epsilon=1, when={"brand": ("smokes", "yes")}),
        "question 'brand' must depend on a public answer, got 'smokes', which is private: whether 'brand' is "
        "answered would "
        "show what was answered there; ask it of everybody, or name a public question",
    ),
    "a condition on an answer that is none": (
        lambda: form(a=YES, b=CITY, epsilon=1, public={"p": ["x", "y"]}, when={"b": ("p", "z")}),
        "question 'b' must depend on answers that 'p' has, got another, or none",
    ),
    "conditions in a circle": (
        lambda: form(
            a=YES, b=CITY, epsilon=1, public={"p": ["x", "y"], "q": ["x", "y"]}, when={"p": ("q", "x"), "q": ("p", "x")}
        ),
        "conditions must not go in a circle, got 'p' in one",
    ),
    "a condition of nothing": (
        lambda: form(a=YES, b=CITY, epsilon=1, when={"c": ("p", "x")}),
        "when must name questions of the form, got 'c', which it does not have",
    ),
    "a condition in another shape": (
        lambda: form(a=YES, b=CITY, epsilon=1, when={"a": "p"}),  # type: ignore[dict-item]
        "when must give 'a' a public question and its answers, such as ('country', ['NO'])",
    ),
    "no such question": (
        lambda: TWO.part_of("age"),
        "question must be one of this form's, smokes, city, got 'age'",
    ),
    "something that takes one question": (
        lambda: audit(TWO, dn.Client),  # type: ignore[arg-type]
        "survey must be a Survey, got a form of several questions, which this does not take yet; use that of "
        "one question: "
        "form.part_of(name).survey",
    ),
    "a tally of something": (
        lambda: FormTally("form"),  # type: ignore[arg-type]
        "form must be a Form, got str; make one with dn.form",
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_what_cannot_be_a_form_is_refused_in_a_sentence(name: str) -> None:
    make, sentence = MADE[name]
    with pytest.raises(DeniableError) as caught:
        make()
    assert str(caught.value) == sentence


def changed(made: Form = TWO, **fields: Any) -> Callable[[], object]:
    def read() -> object:
        found = json.loads(made.to_json()) | fields
        return Form.from_fields({name: value for name, value in found.items() if value is not ...})

    return read


def part_with(**fields: Any) -> list[Any]:
    return [json.loads(TWO.to_json())["parts"][0] | fields, *json.loads(TWO.to_json())["parts"][1:]]


def question_with(**fields: Any) -> list[Any]:
    return [json.loads(TWO.to_json())["questions"][0] | fields, *json.loads(TWO.to_json())["questions"][1:]]


SMOKES = json.loads(TWO.to_json())["questions"][0]
READ: dict[str, tuple[Callable[[], object], str]] = {
    "format": (changed(format="deniable-form/9"), "format must be 'deniable-form/1', got 'deniable-form/9'; "
        "this version "
               "reads no other"),
    "digest": (changed(digest="00"), f"digest must be {TWO.digest[:8]}... for these fields, got 00...; the form "
        f"was altered "
               "after it was made"),
    "unknown": (changed(more="x"), "form must not have the field 'more'; this version does not know it"),
    "budget": (changed(epsilon="1"), "the parts that a device answers must spend at most epsilon 1, got 2 together"),
    "spelling": (changed(epsilon="2.0"), "epsilon must be spelled '2' in a form, got '2.0'"),
    "vast": (changed(epsilon="1e999999999"), "epsilon must be between 1e-9 and 64 with at most 256-bit parts, got "
        "'1e999999999'; a useful epsilon lies between 0.1 and 10"),
    "drawn": (changed(drawn=1), "draw must be from 1 to the 2 parts of this form, got 1"),
    "repeated": (changed(questions=[SMOKES, SMOKES]), "a form must have each question once, got one more than once"),
    "many": (changed(questions=[SMOKES] * 300), "a form must have 2 to 256 questions, got 300"),
    "skip": (changed(questions=question_with(skip=2)), "question field 'skip' must be 1, got 2; leave it out "
        "where it must "
             "be answered"),
    "condition": (changed(when=[["age", "country", ["NO"]]]), "conditions must be of questions that the form "
        "has, got 'age'"),
    "condition shape": (changed(when=[["age"]]), "conditions must be a question, a public question and its "
        "answers, one a "
                        "question"),
    "part": (changed(parts=part_with(questions=["age"])), "a part must have one or two of the form's questions, got "
             "something else"),
    "a question without a part": (changed(parts=json.loads(TWO.to_json())["parts"][:1]),
                                  "the order of a form must name each of its questions once"),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_is_no_file_of_a_form_is_refused_in_a_sentence(name: str) -> None:
    make, sentence = READ[name]
    with pytest.raises(DeniableError) as caught:
        make()
    assert str(caught.value) == sentence


ANSWERED: dict[str, tuple[Form, object, str]] = {
    "no mapping": (TWO, "yes", "answers must be given by the names of the questions, got str; write {'smokes': "
        "'yes', ...}"),
    "unknown": (TWO, {"smokes": "yes", "city": "o", "age": 4}, "answers must be to questions of this form, got one to "
                "another; nothing was sent"),
    "missing": (TWO, {"smokes": "yes"}, "city: it must be answered; a form says with skip= what may be left out"),
    "none": (TWO, {"smokes": "yes", "city": None}, "city: it must be answered; a form says with skip= what may "
        "be left out"),
    "no symbol": (TWO, {"smokes": "perhaps", "city": "o"}, "smokes: symbol is not in this survey's alphabet of "
        "2 symbols"),
    "no number": (
        dn.form(smokes=dn.warner(epsilon=1), age=dn.number(18, 90, 1), epsilon=2), {"smokes": "yes", "age": math.nan},
        "age: answer must be a number, got a missing one (NaN); leave people without one out",
    ),
    "no symbol of a pair": (
        dn.form(smokes=dn.warner(epsilon=1), city=dn.krr(["o", "b", "t"], epsilon=1), epsilon=2,
                relate=[("smokes", "city")]), {"smokes": "yes", "city": "x"},
        "city: symbol is not in this survey's alphabet of 3 symbols",
    ),
    "no public answer": (COND, {"smokes": "yes"}, "country: it must be answered, because city depends on it"),
    "no such public answer": (COND, {"smokes": "yes", "country": "XX"},
                              "country: it must be one of the public answers of this form"),
    "not asked": (COND, {"smokes": "yes", "city": "o", "country": "SE"}, "city: it must not be answered by this "
        "device, "
                  "which did not draw it, or to which it is not asked; client.questions has those that are"),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERED)
def test_answers_that_do_not_fit_are_refused_and_nothing_is_spent(name: str) -> None:
    made, answers, sentence = ANSWERED[name]
    client = dn.Client(made)
    for way in (client.report, client.queue):
        with pytest.raises(dn.AlphabetError) as caught:
            way(answers)
        assert str(caught.value) == sentence
    assert list(client.ledger.exact()) == [0, 0]
    assert client.outbox == ()


class Hostile:
    def __index__(self) -> int:
        raise RuntimeError("yes I do")


def test_a_value_whose_own_methods_fail_is_not_shown() -> None:
    with pytest.raises(dn.AlphabetError) as caught:
        dn.Client(TWO).report({"smokes": Hostile(), "city": "o"})
    assert str(caught.value) == (
        "answers must be text, numbers or bytes by the names of the questions, got some that cannot be read"
    )


COUNTED: dict[str, tuple[Callable[[], object], str]] = {
    "no report": (lambda: tally_of_anything().accumulate([3]), "a tally of a form must be given reports or packed "
        "bytes, got int"),
    "no iterable": (lambda: tally_of_anything().accumulate(3), "a tally of a form must be given reports or packed "
        "bytes, got int"),
    "a report of a survey": (lambda: FormTally(TWO).accumulate(dn.Client(YES).report("yes")),
                             f"report is for {YES.digest[:8]}, this tally is for form {TWO.digest[:8]}; merge "
                             f"what answers "
                             "one form"),
    "merge": (lambda: FormTally(TWO).merge(dn.Tally(YES)),  # type: ignore[arg-type]
              "a tally of a form must be added to a tally of a form, got Tally"),
    "add": (lambda: 3 + FormTally(TWO), "a tally of a form must be added to a tally of a form, got int"),
    "another form": (lambda: FormTally(TWO).merge(FormTally(PAIR)),
                     f"tally is for {PAIR.digest[:8]}, this tally is for form {TWO.digest[:8]}; merge what "
                     f"answers one form"),
    "counts": (lambda: FormTally(TWO).add([(np.array([[1, 0]]), np.array([1]))] * 2, 2),
               "answers must be those of 2 forms, 2 parts each, got [1, 1]"),
    "bytes": (lambda: FormTally.from_bytes(b"something else entirely"),
              "tally must start with 'deniable-form-tally/1', got b'something else entire'; this is not a tally "
              "of a form"),
    "a table": (lambda: dn.count(TWO, pa.table({"smokes": [1]})),
                "report table of a form must have a struct column 'smokes' with cohort and response"),
    "text": (lambda: dn.count(TWO, 3), "reports of a form must be a table or an iterable of them, got int"),
    "another file": (lambda: dn.count(TWO, "reports.csv"), "files of forms must be Parquet files, got "
        "'reports.csv'; read it "
                     "into a table and pass that"),
    "answers": (lambda: dn.privatize(TWO, ["yes"]), "answers to a form must be a table with a column for each "
        "question, got "
                "list"),
    "no column": (lambda: dn.privatize(TWO, {"smokes": ["yes"]}), "answers to a form must have a column for "
        "each question, "
                  "got none for 'city'"),
    "lengths": (lambda: dn.privatize(TWO, {"smokes": ["yes"], "city": ["o", "b"]}), "columns of a form must be "
        "of one length"),
    "no public column": (lambda: dn.privatize(COND, {"smokes": ["yes"], "city": ["o"]}),
                         "answers to a form must have a column for each question, got none for 'country'"),
    "no such public answer": (
        lambda: dn.privatize(COND, {"smokes": ["yes"], "city": ["o"], "country": ["XX"]}),
        "country: column must hold only symbols that the survey can encode, got 1 row that it cannot; name a catch-all "
        "symbol with other= or filter them",
    ),
    "no public answer": (
        lambda: dn.privatize(COND, {"smokes": ["yes"] * 3, "city": ["o"] * 3, "country": [None, "NO", None]}),
        "country: it must be answered, because city depends on it; got 2 rows without an answer",
    ),
    "a table in a column": (lambda: dn.privatize(TWO, {"smokes": ["yes"], "city": np.ones((1, 1))}),
                            "city: column must have one dimension, got 2"),
    "answers of several types": (
        lambda: dn.privatize(TWO, {"smokes": ["yes", "no"], "city": ["o", 7]}),
        "city: column must hold only symbols that the survey can encode, got 1 row that it cannot; name a catch-all "
        "symbol with other= or filter them",
    ),
    "a table of several types": (
        lambda: dn.privatize(TWO, pd.DataFrame({"smokes": ["yes", "no"], "city": ["o", 7]})),
        "answers to a form must be a table in which each column has one type, got one that Arrow cannot read; give the "
        "columns as a mapping by name",
    ),
    "options": (lambda: dn.privatize(TWO, {
        "smokes": ["yes"], "city": ["o"]}, column="x"),  # type: ignore[call-overload]
                "column, cohorts and refused must not be given for a form, which has a column a question"),
    "decode nothing": (lambda: dn.decode(FormTally(TWO)), "tally must hold an answer to every question, got "
        "none to 'smokes'"),
    "candidates": (lambda: dn.decode(counted(OPEN)), "candidates must be given for 'city': the answers to look for"),
    "candidates list": (lambda: dn.decode(counted(OPEN), candidates=["a"]),  # type: ignore[call-overload]

                        "candidates of a form must be given by the names of its questions, got list; write "
                        "candidates={'city': [...]}"),
    "candidates of a list": (lambda: dn.decode(counted(OPEN), candidates={"smokes": ["a"]}),
                             "candidates must be of questions that any text answers, got some for 'smokes'"),
    "not related": (lambda: dn.decode(counted(TWO)).joint("smokes", "city"),
                    "questions must be related in the form to be decoded together, got smokes and city"),
    "simulate a list": (lambda: dn.simulate(TWO, [0.5, 0.5], 10, np.random.default_rng(0)),  # type: ignore[call-overload]
                        "p of a form must be populations by the names of its questions; write {'smokes': [0.7, 0.3]}"),
    "simulate without": (lambda: dn.simulate(TWO, {"smokes": [0.5, 0.5]}, 10, np.random.default_rng(0)),
                         "p must have a population for 'city'"),
    "simulate a pair in another shape": (
        lambda: dn.simulate(PAIR, {("smokes", "city"): np.full((4, 1), 1 / 4)}, 10, np.random.default_rng(0)),
        "p of ('smokes', 'city') must have a row for each answer of 'smokes' and a column for each of 'city', got "
        "(4, 1) for (2, 2)",
    ),
    "simulate no population": (
        lambda: dn.simulate(TWO, {"smokes": [0.5, 0.5], "city": [0.5, 0.8]}, 10, np.random.default_rng(0)),
        "city: p must sum to one within 1e-9, got 1.3; divide it by its sum",
    ),
    "simulate conditions": (lambda: dn.simulate(COND, {}, 10, np.random.default_rng(0)),
                            "a form with conditions must be simulated a report at a time: who is asked is not "
                            "drawn here"),
}  # fmt: skip


def test_conditions_in_columns_are_those_of_a_client() -> None:
    """Texts in any form of Unicode; and who was not asked a public question has no answer to it."""
    asked = form(
        smokes=YES, city=CITY, epsilon=2, public={"where": ["Malmö", "Oslo"], "part": ["east", "west"]},
        when={"city": ("part", "east"), "part": ("where", "Malmö")},
    )  # fmt: skip
    rows = [("Malmo\u0308", "east"), ("Malmö", "west"), ("Oslo", None), ("Oslo", None)]
    given = {"smokes": ["yes"] * 4, "city": ["o", None, None, None]}
    table = dn.privatize(asked, given | {"where": [where for where, _ in rows], "part": [part for _, part in rows]})
    assert table.answered[:, 1].tolist() == [True, False, False, False]
    client = dn.Client(asked)
    for (where, part), answered in zip(rows, table.answered[:, 1], strict=True):
        answers = {"smokes": "yes", "where": where} | ({"part": part} if part else {})
        client.report(answers | ({"city": "o"} if answered else {}))
    with pytest.raises(dn.AlphabetError, match=r"^part: it must be answered, because city depends on it; got 1 row "):
        dn.privatize(asked, given | {"where": ["Malmö"] + ["Oslo"] * 3, "part": [None] * 4})


def test_texts_and_integers_can_be_in_one_column() -> None:
    """Arrow has no one type for them, and its message would show one. A lie has a chance of 1e-12 or less here."""
    mixed, sure = dn.krr(["x", 7], epsilon=30), dn.warner(epsilon=30)
    column = ["x", 7, None]
    listed = form(a=mixed, b=sure, epsilon=60, skip=["a"])
    assert dn.privatize(listed, {"a": column, "b": ["yes"] * 3}).slots[0][1].tolist() == [0, 1, 2]
    paired = form(a=mixed, b=sure, epsilon=36, relate=[("a", "b")])
    assert dn.privatize(paired, {"a": column[:2], "b": ["yes"] * 2}).slots[0][1].tolist() == [1, 3]
    text = form(a=dn.orr(epsilon=30, cells=64, cohorts=1), b=sure, epsilon=60, skip=["a"])
    integers = dn.privatize(text, {"a": [1, None, 2], "b": ["yes"] * 3}).slots[0][1].tolist()
    survey = text.parts[0].survey
    assert integers == [survey.encode(0, symbol)[0] for symbol in (1, NO_ANSWER, 2)]
    assert dn.privatize(text, {"a": np.array([1]), "b": ["yes"]}).slots[0][1].tolist() == integers[:1]


def tally_of_anything() -> Any:
    return FormTally(TWO)


def counted(made: Form) -> FormTally:
    tally = FormTally(made)
    tally.accumulate(dn.Client(made).report({"smokes": "yes", "city": "o"}) for _ in range(20))
    return tally


@pytest.mark.parametrize("name", COUNTED)
def test_what_cannot_be_counted_or_decoded_is_refused_in_a_sentence(name: str) -> None:
    make, sentence = COUNTED[name]
    with pytest.raises(DeniableError) as caught:
        make()
    assert str(caught.value) == sentence


def test_the_budget_goes_where_it_helps_and_adds_up() -> None:
    made = dn.form(a=dn.krr(2, epsilon=1), b=dn.krr(64, epsilon=1), c=dn.krr(2, epsilon=1), epsilon=3)
    own = [part.survey.mechanism.epsilon for part in made.parts]
    assert sum(own) == 3
    assert own[1] > own[0] == pytest.approx(own[2], abs=0.01)
    assert [p.survey.mechanism.epsilon for p in dn.form(a=YES, b=YES, c=YES, epsilon=1).parts] == [
        YES.mechanism.epsilon / 3
    ] * 3


def test_settings_that_were_best_are_chosen_again_and_others_stay() -> None:
    number, fixed = dn.number(0, 1, 4, bins=64), dn.number(0, 1, 4, bins=64, reach=5)
    made = dn.form(a=number, b=fixed, epsilon=2, spend="sample")
    assert made.part_of("a").survey.encoding == dn.number(0, 1, 2, bins=64).encoding
    assert made.part_of("b").survey.encoding.reach == 5  # type: ignore[attr-defined]


def test_a_form_shows_itself() -> None:
    assert "each device answers 1 of 2 parts, drawn before any answer is known; together they spend at most 2" in str(
        dn.form(smokes=YES, city=CITY, epsilon=2, spend="sample")
    )
    assert "<table" in TWO._repr_html_()
    assert "2 of 2 questions" in repr(dn.Client(TWO))
    tally = counted(PAIR_WITHOUT := dn.form(smokes=YES, city=CITY, epsilon=9, relate=[("smokes", "city")]))
    estimate = dn.decode(tally)
    assert set(json.loads(estimate.to_json())["questions"]) == {"smokes", "city"}
    assert estimate.to_arrow().num_rows == 4
    assert "forms" in estimate._repr_html_()
    assert "forms" in tally._repr_html_()
    assert estimate.chart().to_dict()["vconcat"]
    assert PAIR_WITHOUT.epsilon_worst == 36
    with pytest.raises(dn.UnknownSymbol, match="symbol must be one of the 2 that were decoded"):
        estimate["smokes"]["perhaps"]


GOOD = {"cohort": 0, "response": 1}
LAST: dict[str, tuple[Callable[[], object], str]] = {
    "counters": (
        lambda: form(a=dn.orr(epsilon=1, cells=128, cohorts=1 << 19), b=dn.orr(epsilon=1, cells=200, cohorts=1 << 19),
                     epsilon=2, spend="sample"),
        "a form must have at most 134217728 counters, got more; use fewer cohorts or cells",
    ),
    "parts that are answered otherwise": (
        lambda: Form(TWO.parts, "split", TWO.epsilon_total, 2, participation="event"),
        "parts of a form must be answered as the form is, got 'smokes' otherwise",
    ),
    "a row": (
        lambda: FormTally(TWO).add_slots(np.ones((1, 2), bool), [(np.array([0]), np.array([9]))] * 2),
        "reports must be ones that devices of this form can send, got smokes: response out of range",
    ),
    "a table of another form": (
        lambda: dn.count(TWO, dn.privatize(COPY, {"smokes": ["yes"], "city": ["o"]}).to_arrow()),
        f"report table must be for form {TWO.digest[:8]}, got",
    ),
    "a struct of something": (
        lambda: dn.count(TWO, pa.table({"smokes": [{"x": 1}], "city": [{"x": 1}]})),
        "report table of a form must have a struct column 'smokes' with cohort and response",
    ),
    "a struct without a value": (
        lambda: dn.count(TWO, pa.table({"smokes": [{"cohort": 0, "response": None}], "city": [GOOD]})),
        "reports must be ones that devices of this form can send, got smokes: no response",
    ),
    "a struct of text": (
        lambda: dn.count(TWO, pa.table({"smokes": [{"cohort": 0, "response": "x"}], "city": [GOOD]})),
        "column smokes.response must hold integers, got string",
    ),
    "a header": (
        lambda: FormTally.from_bytes(sealed(b"{}")),
        "tally must carry its form and its total: the header must have the fields 'form' and 'n', and none but "
        "'windows' "
        "beside them",
    ),
    "a total": (
        lambda: FormTally.from_bytes(sealed(json.dumps({"form": json.loads(TWO.to_json()), "n": "x"}).encode())),
        "tally must say how many forms it holds, got something else",
    ),
    "no numbers at all": (
        lambda: FormTally.from_bytes(sealed(json.dumps({"form": json.loads(TWO.to_json()), "n": "0"}).encode())),
        "tally counts must be a zlib stream",
    ),
    "too few numbers": (
        lambda: FormTally.from_bytes(
            sealed(json.dumps({"form": json.loads(TWO.to_json()), "n": "0"}).encode(), zlib.compress(b""))
        ),
        "tally counts must be 48 bytes for this form, got 0 or more",
    ),
    "windows of a form that is answered once": (
        lambda: FormTally.from_bytes(headed(TWO, [{}, {}])),
        "tally must name the windows of 0 parts, got something else",
    ),
    "windows of too few parts": (
        lambda: FormTally.from_bytes(headed(WEEKLY, [None])),
        "tally must name the windows of 2 parts, got something else",
    ),
    "windows that are no list": (
        lambda: FormTally.from_bytes(headed(WEEKLY, 5)),
        "tally must name the windows of 2 parts, got something else",
    ),
}  # fmt: skip


def headed(form: dn.Form, windows: object) -> bytes:
    """The file of an empty tally that names windows."""
    kept = FormTally(form).to_bytes()[:-32].split(b"\n", 2)
    header = json.loads(kept[1]) | {"windows": windows}
    return sealed(json.dumps(header).encode(), kept[2])


def sealed(line: bytes, numbers: bytes = b"no stream") -> bytes:
    body = b"deniable-form-tally/1\n" + line + b"\n" + numbers
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize("name", LAST)
def test_what_is_damaged_is_refused_in_a_sentence(name: str) -> None:
    make, sentence = LAST[name]
    with pytest.raises(DeniableError) as caught:
        make()
    assert str(caught.value).startswith(sentence)


def test_a_file_of_a_form_is_no_survey() -> None:
    with pytest.raises(DeniableError) as caught:
        dn.Survey.from_json(TWO.to_json())
    assert str(caught.value) == "survey must be of one question here, got a form of several; read it with dn.Form.load"
    with pytest.raises(DeniableError) as caught:
        dn.Form.from_json(YES.to_json())
    assert (
        str(caught.value) == "form must be of several questions here, got a survey of one; read it with dn.Survey.load"
    )


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "reports.parquet").write_bytes(b"not at all")
    with pytest.raises(dn.DataError) as caught:
        dn.count(TWO, tmp_path / "reports.parquet")
    assert str(caught.value).endswith("must be a Parquet file, got something else, or a damaged one")
