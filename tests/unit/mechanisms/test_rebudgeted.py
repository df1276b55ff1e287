"""A mechanism with another budget, as forms need it: the same kind where that is the best; and its first stage."""

from fractions import Fraction

import pytest

import deniable as dn
from deniable.mechanisms import KRR, Sensitive, SensitiveDesign, Subset


@pytest.mark.parametrize(("epsilon", "size"), [("1/2", 3), ("1", 2)])
def test_sets_have_the_size_that_the_budget_asks_for(epsilon: str, size: int) -> None:
    survey = dn.subset(symbols=8, epsilon=1)
    assert isinstance(survey.mechanism, Subset)
    found = survey.mechanism.rebudgeted(Fraction(epsilon), survey.encoding)
    assert found == Subset(8, Fraction(epsilon), size)


def test_sets_of_one_cell_are_randomised_response() -> None:
    survey = dn.subset(symbols=8, epsilon=1)
    assert isinstance(survey.mechanism, Subset)
    assert survey.mechanism.rebudgeted(Fraction(3), survey.encoding) == KRR(8, Fraction(3))


def test_a_design_of_sensitive_answers_keeps_its_space_while_they_fit() -> None:
    survey = dn.sensitive(symbols=100, sensitive=range(50), epsilon=1)
    mechanism = survey.mechanism
    assert isinstance(mechanism, SensitiveDesign)
    found = mechanism.rebudgeted(Fraction(2), survey.encoding)
    assert isinstance(found, SensitiveDesign)
    assert (found.epsilon, found.sensitive, found.design) == (Fraction(2), mechanism.sensitive, mechanism.design)


def test_more_sensitive_answers_than_its_space_has_take_the_plain_channel() -> None:
    """A form adds "no answer", which is as sensitive as the others."""
    survey = dn.sensitive(symbols=100, sensitive=range(50), epsilon=1)
    more = dn.sensitive(symbols=500, sensitive=range(50), epsilon=1)
    assert isinstance(survey.mechanism, SensitiveDesign)
    found = survey.mechanism.rebudgeted(Fraction(2), more.encoding)
    assert isinstance(found, Sensitive)
    assert found.epsilon == 2


def test_what_has_one_stage_is_its_own_permanent_stage() -> None:
    mechanism = dn.krr(symbols=3, epsilon=1).mechanism
    assert mechanism.permanent is mechanism
