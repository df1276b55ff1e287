"""Symbols and alphabets: one canonical form, types kept apart, and no message that shows an answer."""

import enum
import traceback

import numpy as np
import pytest

import deniable as dn
from deniable.errors import AlphabetError, DeniableError, SurveyError
from deniable.survey import Alphabet
from deniable.survey.alphabet import canonical_symbol, symbol_bytes, symbol_from_json, symbol_to_json

SECRET = "i-am-the-secret"
LONE = "symbol must be valid Unicode text, got one with a lone surrogate; decode the text properly first"


class Colour(str, enum.Enum):  # noqa: UP042 - a StrEnum prints its text, this one its name
    RED = "red"
    GREEN = "gr\u00fcn"


class Size(enum.IntEnum):
    LARGE = 3


class Text(str):
    def __str__(self) -> str:
        return "something else"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("abc", "abc"),
        ("cafe\u0301", "caf\u00e9"),
        ("\u212b", "\u00c5"),
        ("\U0001f98a", "\U0001f98a"),
        (np.str_("abc"), "abc"),
        (Colour.RED, "red"),
        (Colour.GREEN, "gr\u00fcn"),
        (Text("abc"), "abc"),
        (7, 7),
        (np.int64(-7), -7),
        (np.uint8(7), 7),
        (Size.LARGE, 3),
        (10**80 - 1, 10**80 - 1),
        (b"\x00", b"\x00"),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"ab"), b"ab"),
        (np.bytes_(b"ab"), b"ab"),
    ],
)
def test_canonical_form(given: object, expected: object) -> None:
    found = canonical_symbol(given)
    assert found == expected
    assert type(found) in (str, int, bytes)
    assert type(found) is type(expected)


def test_types_are_kept_apart() -> None:
    survey = dn.krr(symbols=[1, "1", b"1"], epsilon=1)
    assert [survey.encode(0, s) for s in (1, "1", b"1")] == [(0,), (1,), (2,)]
    assert len({symbol_bytes(s) for s in (1, "1", b"1", "i1", b"i1", "s1", -1)}) == 7


def test_values_that_are_equal_in_python_are_not_one_symbol() -> None:
    plain, catching = dn.krr(symbols=[0, 1], epsilon=1), dn.krr(symbols=[0, 1], epsilon=1, other="else")
    for impostor in (True, 1.0, np.float64(1), np.bool_(True), None):
        with pytest.raises(AlphabetError, match="symbol must be text, an integer or bytes, got "):
            plain.encode(0, impostor)
        assert catching.encode(0, impostor) == (2,)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (f"{SECRET}\ud800", LONE),
        ([SECRET], "symbol must be text, an integer or bytes, got list"),
        (1.5, "symbol must be text, an integer or bytes, got float"),
        (None, "symbol must be text, an integer or bytes, got NoneType"),
        (True, "symbol must be text, an integer or bytes, got bool"),
        (10**80, "symbol must be an integer of at most 80 digits, got a longer one; use text"),
        (-(10**5000), "symbol must be an integer of at most 80 digits, got a longer one; use text"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("kind", ["open", "closed"])
def test_what_cannot_be_a_symbol(kind: str, value: object, sentence: str) -> None:
    survey = dn.orr(epsilon=1, cells=4, cohorts=2, symbols=4 if kind == "closed" else None)
    with pytest.raises(AlphabetError) as caught:
        dn.Client(survey).report(value)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("value", [SECRET, f"{SECRET}\ud800", SECRET.encode(), 86420135797531, 10**90 + 86420135797531])
@pytest.mark.parametrize("memoize", [True, False])
def test_no_error_shows_the_answer(value: object, memoize: bool) -> None:
    """Neither the sentence, nor what Python chains to it, nor the printed traceback, nor the client afterwards."""
    client = dn.Client(dn.krr(symbols=["a", "b"], epsilon=1), memoize=memoize)
    with pytest.raises(AlphabetError) as caught:
        client.report(value)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert not getattr(error, "__notes__", [])
    assert vars(error) == {}
    shown = [str(error), repr(error), repr(client), *traceback.format_exception(error, chain=True)]
    for text in shown:
        assert "secret" not in text
        assert "86420135797531" not in text


def test_answer_outside_a_closed_alphabet() -> None:
    survey = dn.krappor(symbols=["a", "b", "c"], epsilon=1)
    with pytest.raises(AlphabetError) as caught:
        survey.encode(0, SECRET)
    assert str(caught.value) == "symbol is not in this survey's alphabet of 3 symbols"
    assert isinstance(caught.value, DeniableError)


def test_catch_all_takes_the_rest() -> None:
    alphabet = Alphabet.closed(["a", "b"], other="else")
    assert [alphabet.index(s) for s in ("a", "b", "else", "zebra", 5, b"a")] == [0, 1, 2, 2, 2, 2]
    assert Alphabet.closed(["a", "else", "b"], other="else").symbols == ("a", "else", "b")
    assert list(alphabet) == ["a", "b", "else"]


def test_text_is_found_in_either_normal_form() -> None:
    survey = dn.krr(symbols=["cafe\u0301", "tea"], epsilon=1)
    assert survey.symbols == ("caf\u00e9", "tea")
    assert survey.encode(0, "caf\u00e9") == survey.encode(0, "cafe\u0301") == (0,)


@pytest.mark.parametrize(
    ("symbols", "sentence"),
    [
        ("abc", "symbols must be a collection of symbols, got one str"),
        (b"abc", "symbols must be a collection of symbols, got one bytes"),
        (True, "symbols must be a collection or a count, got bool"),
        (2.0, "symbols must be a collection or a count, got float"),
        (None, "symbols must be a collection or a count, got NoneType"),
        (1, "symbols must number from 2 to 16777216, got 1"),
        (2**24 + 1, "symbols must number from 2 to 16777216, got 16777217"),
        (["a"], "symbols must number from 2 to 16777216, got 1"),
        (["a", "b", "a"], "symbols must be distinct after NFC normalisation, got 'a' more than once"),
        (["\u00e9", "e\u0301"], "symbols must be distinct after NFC normalisation, got '\u00e9' more than once"),
    ],
    ids=str,
)
def test_bad_alphabets(symbols: object, sentence: str) -> None:
    with pytest.raises(SurveyError) as caught:
        Alphabet.closed(symbols)  # type: ignore[arg-type]
    assert str(caught.value) == sentence


def test_catch_all_must_make_sense() -> None:
    with pytest.raises(SurveyError, match=r"^other must be one of the symbols$"):
        Alphabet(("a", "b"), "c")
    sentence = "other must not be set for an open alphabet: every symbol is already accepted"
    with pytest.raises(SurveyError, match=f"^{sentence}$"):
        dn.orr(epsilon=1, cells=4, cohorts=2, other="else")


def test_json_form_goes_there_and_back() -> None:
    for symbol in ("", "caf\u00e9", 0, -5, 2**53 - 1, 2**53, -(2**53), 10**80 - 1, -(10**80) + 1, b"", b"\xff"):
        assert symbol_from_json(symbol_to_json(symbol)) == symbol
    with pytest.raises(SurveyError, match=r"^symbols must be text, integers or tagged bytes: symbol must be text, an "):
        symbol_from_json({"int": "9" * 1000})
    with pytest.raises(SurveyError) as caught:
        symbol_from_json("e\u0301")
    assert str(caught.value) == (
        "symbols must be in canonical form: NFC text, plain integers, lower-case hexadecimal bytes"
    )


def test_counts_from_numpy_are_counts() -> None:
    assert dn.krr(symbols=np.int64(4), epsilon=1) == dn.krr(symbols=4, epsilon=1)  # type: ignore[arg-type]
    assert dn.krr(symbols=np.arange(4), epsilon=1) == dn.krr(symbols=4, epsilon=1)
