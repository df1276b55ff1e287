"""Epsilon at the door: what is accepted, as which exact number, and the sentences of what is not."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, epsilon_text, parse_epsilon, read_fraction


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (0.1, "1/10"),
        (1, "1"),
        (2.5, "5/2"),
        (1e-9, "1/1000000000"),
        (64, "64"),
        (np.float64(0.1), "1/10"),
        (np.float32(0.1), "1/10"),
        (np.int32(2), "2"),
        (np.uint8(2), "2"),
        ("0.1", "1/10"),
        (" 0.1 ", "1/10"),
        ("1e-1", "1/10"),
        ("1E+1", "10"),
        ("1/3", "1/3"),
        (Fraction(1, 3), "1/3"),
        (Fraction(0.1), Fraction(0.1)),
        (Decimal("0.1"), "1/10"),
        (Decimal("1E+1"), "10"),
    ],
    ids=repr,
)
def test_accepted(given: object, exact: str | Fraction) -> None:
    assert parse_epsilon(given) == Fraction(exact)
    assert dn.krappor(symbols=3, epsilon=given if given != 1e-9 else 1).mechanism.epsilon > 0


RULE = "epsilon must be a positive finite number, decimal text or a fraction, got "


@pytest.mark.parametrize(
    "value",
    [
        *(True, np.bool_(True), float("nan"), float("inf"), Decimal("sNaN"), -1, -0.5, "-1", "one", "", "1/0", "0x1"),
        *(None, 1j, [1.0], np.array([1.0, 2.0]), "1e\u0661", "\u0661", "1" * 401),
    ],
    ids=repr,
)
def test_refused(value: object) -> None:
    with pytest.raises(SurveyError) as caught:
        parse_epsilon(value)
    assert str(caught.value) == f"{RULE}{str(value)[:40]!r}"


@pytest.mark.parametrize("value", [0, 0.0, "0", "0.000", Fraction(0), Decimal(0), np.int64(0)], ids=repr)
def test_zero_is_refused_with_the_reason(value: object) -> None:
    with pytest.raises(SurveyError) as caught:
        dn.warner(epsilon=value)
    assert str(caught.value) == f"{RULE}{str(value)!r}; a survey with epsilon 0 carries no information"


@pytest.mark.parametrize(
    "value",
    [
        *("1e999999999", "1e-999999999", Decimal("1e999999999"), 1e300, 1e-300, 64.5, "0.0000000009", 10**30),
        *(Fraction(2**256 + 1, 2**256), "0." + "3" * 300),
    ],
    ids=lambda value: str(value)[:20],
)
def test_out_of_range_is_refused_before_it_is_expanded(value: object) -> None:
    """10**999999999 as an integer has 400 MB, and its power series would never end: there is no need for a clock."""
    with pytest.raises(SurveyError) as caught:
        parse_epsilon(value)
    assert str(caught.value) == (
        f"epsilon must be between 1e-9 and 64 with at most 256-bit parts, got {str(value)[:40]!r}; "
        "a useful epsilon lies between 0.1 and 10"
    )


@pytest.mark.parametrize("value", [10**5000, Fraction(1, 10**5000)], ids=["integer", "fraction"])
def test_numbers_too_long_to_print_are_refused(value: object) -> None:
    with pytest.raises(SurveyError, match="256-bit parts, got 'a number of thousands of digits'; a useful"):
        parse_epsilon(value)


def test_epsilon_that_words_cannot_realise() -> None:
    with pytest.raises(SurveyError) as caught:
        dn.warner(epsilon=64)
    assert str(caught.value) == (
        "epsilon must be realisable in 64-bit words, got 64 for 2 cells, which would spend only 44.36; "
        "use a smaller epsilon"
    )
    with pytest.raises(SurveyError) as caught:
        dn.krr(symbols=2**16, epsilon="1e-9")
    assert str(caught.value) == (
        "epsilon must be realisable in 64-bit words, got 1e-09 for 65536 cells, which would spend only 9.313e-10; "
        "use a larger epsilon or fewer cells"
    )
    with pytest.raises(SurveyError, match=r"^cells must leave room for 64-bit words at epsilon 1e-09, got 16777215; "):
        KRR(2**24 - 1, "1e-9")


def test_advice_can_be_followed() -> None:
    assert 39.9 < dn.warner(epsilon=40).epsilon_spent <= 40
    assert BitFlip(2, 64, 2).epsilon_spent <= 64


@pytest.mark.parametrize("value", [0.1, 0.3, "1/3", "0.7", 1, 2.2, np.float32(0.1)], ids=repr)
def test_spent_is_at_most_what_was_asked(value: object) -> None:
    for survey in (dn.warner(epsilon=value), dn.krappor(symbols=5, epsilon=value)):
        assert survey.epsilon_spent <= survey.epsilon
        assert Fraction(survey.epsilon_spent) <= survey.mechanism.epsilon
        assert survey.epsilon_spent >= survey.epsilon * (1 - 1e-12)


@given(st.fractions("1/1000", 64, max_denominator=10**9) | st.floats(1e-9, 64).map(Fraction))
def test_spelling_goes_there_and_back(epsilon: Fraction) -> None:
    text = epsilon_text(epsilon)
    assert parse_epsilon(text) == epsilon
    assert epsilon_text(parse_epsilon(text)) == text
    assert set(text) <= set("0123456789./")


def test_float_is_taken_as_it_is_written() -> None:
    assert dn.warner(epsilon=0.1) == dn.warner(epsilon="0.1") == dn.warner(epsilon=Fraction(1, 10))
    assert dn.warner(epsilon=1) == dn.warner(epsilon=1.0) == dn.warner(epsilon=np.float32(1))


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        ("", ValueError, "Invalid literal for Fraction"),
        ("0x10", ValueError, "text must spell a number"),
        ("9" * 401, ValueError, "text must spell a number"),
        ("1/0", ValueError, "text must spell a finite number"),
        ("1e999999999", OverflowError, "the exponent must have at most two digits"),
        ("1e-100", OverflowError, "the exponent must have at most two digits"),
    ],
)
def test_text_of_a_file_is_read_as_a_number_only_where_that_is_cheap(
    text: str, kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        read_fraction(text)
    assert read_fraction(" -1.5e-10 ") == Fraction(-3, 2 * 10**10)
