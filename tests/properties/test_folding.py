"""The fold of free text: stable, blind to case and to blanks, and the standard's case folding but where we say so."""

import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import deniable as dn
from deniable.survey.folding import _CASED, WHITE_SPACE, fold
from tests.properties.strategies import texts

RANGES = [tuple(int(end, 16) for end in part.split("-")) for part in _CASED.split()]
LETTERS = [chr(code) for ends in RANGES for code in range(ends[0], ends[-1] + 1)]
# Whole texts, rather than any code points: letters with case, white space, and the marks that make it hard.
hard = st.text(st.sampled_from([*LETTERS, *WHITE_SPACE, *"iI\u0307\u0345\u0301\u0323\u0130\u0131", "\U0001f98a"]))
blanks = st.text(st.sampled_from(WHITE_SPACE), min_size=1, max_size=3)

CHEROKEE = {*range(0x13A0, 0x13F6), *range(0x13F8, 0x13FE), *range(0xAB70, 0xABC0)}
# Where letters with case have come to be since Unicode 11, as far as any Python knows them.
LATER = {0x2C2F, 0x2C5F, 0x1C89, *range(0xA7BA, 0xA800), *range(0x10570, 0x105BD), *range(0x10D50, 0x10D86)}
LATER |= set(range(0x16EA0, 0x16EE0))
# Case mappings of text with loose marks are not what canonical equivalence wants: see U+0345 in the standard. And small
# letters whose capital came later, as that of U+0282 did, have no case in a fold that never changes.
PLAIN = [
    letter
    for letter in LETTERS
    if not unicodedata.category(letter).startswith("M") and LATER.isdisjoint(map(ord, letter.upper() + letter.title()))
]


def standard(text: str) -> str:
    """Canonical caseless matching with full case folding (C and F), as this Python's version of Unicode has it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


@given(st.one_of(texts, hard))
@example("\u0130\u0301")
@example("i\u0307\u0307\u0301")
@example("\u03b1\u0345\u0301\u0323")
def test_fold_is_idempotent_and_normalised(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert unicodedata.is_normalized("NFC", folded)
    for form in ("NFC", "NFD"):
        assert fold(unicodedata.normalize(form, text)) == folded


@given(st.text(st.sampled_from(PLAIN)), st.sampled_from([str.upper, str.lower, str.title, str.swapcase, str.casefold]))
def test_case_makes_no_difference(text: str, change: object) -> None:
    assert callable(change)
    assert fold(change(text)) == fold(text)


@given(st.lists(st.text(st.sampled_from(PLAIN), min_size=1), min_size=1, max_size=4), st.data())
def test_blanks_make_no_difference(words: list[str], data: st.DataObject) -> None:
    between = [data.draw(blanks) for _ in words[1:]]
    around = data.draw(blanks), data.draw(blanks)
    text = words[0] + "".join(blank + word for blank, word in zip(between, words[1:], strict=True))
    assert fold(around[0] + text + around[1]) == fold(" ".join(words))


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_has_a_shorter_way_to_the_same_text(text: str) -> None:
    assert fold(text + "\u00e9") == fold(text + "\u00c9")
    assert fold(text + " \u00e9") == " ".join([*fold(text).split(" "), "\u00e9"]).strip(" ")


def test_it_is_the_standards_case_folding_with_these_exceptions() -> None:
    """Every code point: the dotted and the dotless i, the direction of Cherokee, white space, and what came later."""
    differs = set()
    for code in range(0x110000):
        letter = chr(code)
        if not 0xD800 <= code < 0xE000 and letter not in WHITE_SPACE and fold(letter) != standard(letter):
            differs.add(code)
    assert differs - LATER == {0x130, 0x131} | CHEROKEE
    assert (fold("\u0130"), fold("\u0131"), fold("\u13a0"), fold("\uab70")) == ("i", "i", "\uab70", "\uab70")
    for code in differs & LATER:
        assert fold(chr(code)) == chr(code)


def test_white_space_is_pythons_and_two_that_nobody_sees() -> None:
    assert {chr(code) for code in range(0x110000) if chr(code).isspace()} | {"\u200b", "\ufeff"} == set(WHITE_SPACE)
    assert all(fold(blank) == "" for blank in WHITE_SPACE)


@pytest.mark.parametrize("lower", [str.lower, str.casefold, lambda text: text.upper().lower()])
def test_the_platforms_lower_case_would_not_do(lower: object) -> None:
    """The mutants: each gives another text somewhere, or is not stable, so the tests above can tell."""
    assert callable(lower)

    def platform(text: str) -> str:
        found = lower(unicodedata.normalize("NFC", text.strip()))
        assert isinstance(found, str)
        return found

    cases = ["\u0130zmir", "\u039f\u0394\u039f\u03a3", "\u2c2f", "a\u200b", "A  b", "\u1f88", "STRA\u1e9eE"]
    assert [text for text in cases if platform(text) != fold(text)] != []
    assert [text for text in cases if platform(platform(text)) != platform(text)] or platform("\u2c2f") != "\u2c2f"


@given(st.one_of(texts, hard))
def test_a_folded_survey_hashes_the_fold(text: str) -> None:
    shape: dict[str, Any] = {"epsilon": 1, "cells": 1 << 24, "cohorts": 2, "seed": bytes(16)}
    folded, exact = dn.orr(**shape), dn.orr(**shape, text="exact")
    assert folded.key(text) == exact.key(fold(text))
    assert folded.encode(1, text) == exact.encode(1, fold(text))
