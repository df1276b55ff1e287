"""The certificate of whole forms against the truth: all outcomes of small crowds, where one person's answers differ."""

import sys
from dataclasses import replace
from fractions import Fraction

import pytest

import deniable as dn
from deniable.crowds import crowd, variations
from deniable.crowds.blanket import Blanket
from deniable.crowds.variations import Variation, variation_of
from deniable.survey import Form
from tests.exact.crowds import form_divergence
from tests.surveys import SEED

YES, THREE = dn.warner(epsilon=1), dn.krr(3, epsilon=1)
FORMS: dict[str, tuple[Form, int]] = {
    "split": (dn.form(a=YES, b=YES, epsilon=2), 4),
    "split, three answers": (dn.form(a=YES, b=THREE, epsilon="1.5"), 3),
    "each": (dn.form(a=dn.warner(epsilon=1), b=dn.warner(epsilon="0.5"), spend="each"), 4),
    "sampled": (dn.form(a=YES, b=YES, epsilon=2, spend="sample"), 4),
    "two of three": (dn.form(a=YES, b=YES, c=YES, epsilon=2, spend="sample", draw=2), 2),
    "skipped": (dn.form(a=YES, b=YES, epsilon=2, skip=["b"]), 3),
    "a pair": (dn.form(a=YES, b=YES, c=YES, epsilon=2, relate=[("a", "b")]), 2),
    "cohorts": (
        dn.form(a=YES, b=dn.orr(symbols=3, epsilon=1, cells=3, cohorts=2, seed=SEED), epsilon=2, spend="sample"),
        2,
    ),
    "bits": (dn.form(a=YES, b=dn.krappor(["x", "y"], epsilon=1), epsilon=2), 2),
    "two stages": (dn.form(a=dn.warner(epsilon=2, epsilon_report=1), b=YES, epsilon=2), 3),
}
DELTAS = (0.2, 0.02)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", FORMS)
def test_the_certificate_is_never_below_the_truth(name: str, delta: float) -> None:
    form, n = FORMS[name]
    found = dn.crowd(form, n=n, delta=delta)
    assert found.lower == 0.0
    assert found.epsilon <= found.local
    assert form_divergence(form, n, found.epsilon) <= delta


def test_a_crowd_of_forms_hides_and_never_less_than_a_form_alone() -> None:
    form = FORMS["split"][0]
    few, many = dn.crowd(form, n=10), dn.crowd(form, n=100_000)
    assert few.local == many.local == form.epsilon_report >= few.epsilon > 10 * many.epsilon
    assert many.epsilon > dn.crowd(form.parts[0].survey, n=100_000).epsilon, "more questions give more away"


def is_sound(form: Form, n: int) -> bool:
    return all(form_divergence(form, n, dn.crowd(form, n=n, delta=d).epsilon) <= d for d in (0.3, 0.2, 0.1, 0.02))


def _one_part_alone(form: Form) -> Variation:
    return variation_of(form.parts[0].survey)


def _distance_of_one(form: Form) -> Variation:
    (blanket,) = variation_of(form).blankets
    (one,) = variation_of(form.parts[0].survey).blankets
    return Variation((Blanket.up_to(blanket.odds, one.own * (one.odds - 1) / 4),), ())


def _hides_more(form: Form) -> Variation:
    (blanket,) = variation_of(form).blankets
    return Variation((replace(blanket, each=Fraction(1, 2), rest=Fraction(0)),), ())


@pytest.mark.parametrize("mutant", [_one_part_alone, _distance_of_one, _hides_more])
def test_a_wrong_variation_is_caught(mutant: object, monkeypatch: pytest.MonkeyPatch) -> None:
    form, n = FORMS["split"]
    assert is_sound(form, n)
    monkeypatch.setattr(sys.modules[crowd.__module__], "variation_of", mutant)
    assert not is_sound(form, n)


def test_a_crowd_that_hides_among_other_parts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who drew another question does not hide an answer to this one."""
    form, n = FORMS["sampled"]
    monkeypatch.setattr(sys.modules[crowd.__module__], "places_of", lambda form: 1)
    assert not is_sound(form, n)


def test_what_no_crowd_hides_is_refused() -> None:
    seen = dn.form(ill=dn.sensitive(["no", "flu", "hiv"], sensitive=["hiv"], epsilon=1), b=YES, spend="each")
    with pytest.raises(dn.SurveyError, match="what its outputs give away, no crowd hides"):
        dn.crowd(seen, n=100)
    asked = dn.form(a=YES, b=YES, epsilon=2, public={"country": ["NO", "SE"]}, when={"b": ("country", "NO")})
    with pytest.raises(dn.SurveyError) as caught:
        dn.crowd(asked, n=100)
    assert str(caught.value) == (
        "a form must have no conditions for a crowd to be certified, got some: only people with the same public "
        "answers send the same parts; make a form of the questions that all of them are asked"
    )
    assert variations.places_of(FORMS["cohorts"][0]) == 4
