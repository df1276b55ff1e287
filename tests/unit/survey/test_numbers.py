"""Scales of numbers: which bin a number is in, and a sentence for each thing that is no scale or no number."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

import deniable as dn
from deniable.survey import Scale, scale_of
from deniable.survey.scale import decimal_text


def test_edges_belong_to_the_bin_that_they_begin() -> None:
    scale = scale_of(0, 1, bins=100)
    for place in range(100):
        edge = float(f"{place / 100:.2f}")
        assert scale.bin(edge) == place
        assert scale.bin(math.nextafter(edge, -1)) == max(place - 1, 0)
        assert scale.bin(Decimal(f"{place / 100:.2f}")) == scale.bin(Fraction(place, 100)) == place
    assert scale.bin(1) == scale.bin(1.0) == scale.bin(np.float32(1)) == scale.bin(np.int64(7)) == 99


def test_numbers_of_a_step_are_rounded_upwards_from_half_way() -> None:
    scale = scale_of(18, 90, step=1)
    assert (scale.bins, scale.names[0], scale.names[-1], scale.width) == (73, "18", "90", 0.0)
    assert [scale.bin(x) for x in (18, 18.49, 18.5, 41, 90, 17, 200)] == [0, 0, 1, 23, 72, 0, 72]


def test_a_number_outside_is_clamped_or_refused() -> None:
    assert scale_of(0, 10, bins=5).bin(-1e300) == 0
    with pytest.raises(dn.AlphabetError) as caught:
        scale_of(0, 10, bins=5, outside="refuse").bin(10.000001)
    assert str(caught.value) == "answer must be from 0 to 10 in this survey, got a number outside"
    assert scale_of(0, 10, bins=5, outside="refuse").bin(10) == 4


NO_NUMBER = {
    "missing": (None, "answer must be a number, got none; leave people without one out"),
    "nan": (math.nan, "answer must be a number, got a missing one (NaN); leave people without one out"),
    "infinite": (-math.inf, "answer must be a finite number, got one that is not"),
    "huge": (10**400, "answer must be a finite number, got one that is not"),
    "text": ("41", "answer must be a number, got text; read it with float() first"),
    "bytes": (b"41", "answer must be a number, got bytes; read it with float() first"),
    "truth": (True, "answer must be a number, got bool"),
    "list": ([41], "answer must be a number, got list"),
}


@pytest.mark.parametrize("case", NO_NUMBER)
def test_what_is_no_number_is_refused_by_the_client_with_a_sentence(case: str) -> None:
    value, sentence = NO_NUMBER[case]
    survey = dn.number(18, 90, 1, bins=64)
    with pytest.raises(dn.AlphabetError) as caught:
        dn.Client(survey).report(value)
    assert str(caught.value) == sentence
    with pytest.raises(dn.AlphabetError):
        survey.key(value)


def test_a_bin_may_be_named_instead() -> None:
    survey = dn.number(0, 100, 1, bins=4)
    assert survey.symbols == ("0 to 25", "25 to 50", "50 to 75", "75 to 100")
    assert survey.key("25 to 50") == survey.key(30.5) == 1
    assert survey.alphabet.canonical(99) == "75 to 100"


BAD: list[tuple[dict[str, object], str]] = [
    ({"low": 5, "high": 5}, "low must be below high, got 5 and 5"),
    ({"low": 9, "high": "-1"}, "low must be below high, got 9 and -1"),
    ({"low": "a", "high": 5}, "low must be a finite number, got 'a'"),
    ({"low": math.inf, "high": 5}, "low must be a finite number, got 'inf'"),
    ({"low": math.nan, "high": 5}, "low must be a finite number, got 'nan'"),
    ({"low": None, "high": 5}, "low must be a number, got NoneType"),
    ({"low": True, "high": 5}, "low must be a number, got bool"),
    ({"low": np.float32("nan"), "high": 5}, "low must be a finite number, got 'nan'"),
    (
        {"low": "-1e999999999", "high": 5},
        "low must be below 10**15 in size and have at most 10 decimal places, got '-1e999999999'; use another unit, "
        "such as thousands",
    ),
    (
        {"low": 0, "high": 10, "step": 1, "reach": 2},
        "reach must be one for which 2 reach + 1 and 10, the answers less one, have no common divisor, got 2; the "
        "words could not be shared out evenly",
    ),
    ({"low": 0, "high": 5, "bins": 1}, "bins must be at least 2, got 1"),
    ({"low": 0, "high": 5, "bins": 2.5}, "bins must be an integer, got float"),
    ({"low": 0, "high": 5, "bins": 70_000}, "bins must be at most 65536, got 70000"),
    ({"low": 0, "high": 5, "outside": "drop"}, "outside must be 'clamp' or 'refuse', got 'drop'"),
    (
        {"low": 0, "high": 5, "bins": 5, "step": 1},
        "bins must not be given with a step, which decides how many there are; leave one of them out",
    ),
    (
        {"low": 0, "high": 5, "step": 2},
        "step must be above zero and divide the range from low to high, got 2 for 0 to 5; move high by less than a "
        "step",
    ),
    (
        {"low": 0, "high": 5, "step": 0},
        "step must be above zero and divide the range from low to high, got 0 for 0 to 5; move high by less than a "
        "step",
    ),
    (
        {"low": 0, "high": 1e15},
        "high must be below 10**15 in size and have at most 10 decimal places, got '1000000000000000.0'; use another "
        "unit, such as thousands",
    ),
    (
        {"low": 999_999_999_999_998, "high": 999_999_999_999_999, "bins": 64},
        "bins must be wide enough to hold a number each, got 64; use fewer",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), BAD)
def test_a_scale_that_is_none_is_refused_with_a_sentence(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(dn.SurveyError) as caught:
        dn.number(epsilon=1, **given)  # type: ignore[arg-type]
    assert str(caught.value) == sentence


def test_numbers_of_numpy_make_the_same_survey() -> None:
    nine, one = cast(Any, np.int64(9)), cast(Any, np.int64(1))
    assert dn.number(np.float32(0.1), np.int8(100), np.float32(1), bins=nine) == dn.number(0.1, 100, 1, bins=9)
    whole = dn.number(0, np.int8(100), 1, step=np.int8(1), reach=one)
    assert whole == dn.number(0, 100, 1, step=1, reach=1)
    assert dn.Survey.from_json(whole.to_json()) == whole


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "9" * 100_000])
def test_a_number_that_would_fill_the_memory_is_refused_at_once(text: str) -> None:
    told = json.loads(dn.number(0, 10, 1, bins=4).to_json())
    told["alphabet"]["low"] = text
    with pytest.raises(dn.SurveyError, match="low must be"):
        dn.Survey.from_json(json.dumps(told))


def test_a_number_has_one_spelling() -> None:
    assert [decimal_text("low", v) for v in ("018.50", "-0", 1e-7, Decimal("1E+3"))] == [
        "18.5",
        "0",
        "0.0000001",
        "1000",
    ]
    with pytest.raises(dn.SurveyError, match="low must be spelled '18' in a survey"):
        Scale("18.0", "90", 4)


def test_surveys_of_numbers_are_read_as_they_are_written() -> None:
    for survey in (
        dn.number(0, 1, 1),
        dn.number("-2.5", 40, "1/2", step="0.25", outside="refuse", name="degrees"),
        dn.ordered(["a", "b", "c"], 2, participation="window:week"),
    ):
        assert dn.Survey.from_json(survey.to_json()) == survey
