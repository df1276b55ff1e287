"""Surveys that discover text: their levels, and what they refuse."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.columns import keys_of
from deniable.decoders.whole_texts import LevelFit
from deniable.survey import Prefixes
from deniable.survey.prefixes import default_levels

SEED = bytes(16)


def made(**settings: Any) -> dn.Survey:
    plain: dict[str, Any] = {"epsilon": 2, "length": 4, "levels": [(2, 2), (4, 3)], "seed": SEED}
    return dn.discovery(**(plain | settings))


@pytest.mark.parametrize("length", [1, 2, 3, 6, 7, 8, 9, 32, 255])
@pytest.mark.parametrize("cohorts", [131, 1024])
def test_default_levels_rise_to_the_length_and_share_all_cohorts(length: int, cohorts: int) -> None:
    levels = default_levels(length, cohorts)
    assert levels[-1][0] == length
    assert sum(share for _, share in levels) == cohorts
    assert all(share >= 1 for _, share in levels)
    encoding = Prefixes(4, levels, "cut", SEED)  # which checks that they rise
    # An extension of two bytes is the most that a search can try out.
    lengths = [0, *(length for length, _ in encoding.levels)]
    assert max(after - before for before, after in pairwise(lengths)) <= 2


@pytest.mark.parametrize(("epsilon", "cohorts"), [(0.5, 5461), (1, 4096), (2, 2048), (3, 1024), (6, 1024)])
def test_few_cells_have_more_cohorts(epsilon: float, cohorts: int) -> None:
    assert dn.discovery(epsilon=epsilon, length=6, seed=SEED).cohorts == cohorts


@pytest.mark.parametrize(("cells", "cohorts"), [(4, 64), (4, 256), (16, 64)])
def test_texts_that_share_a_cell_are_noise_by_cells_and_cohorts(cells: int, cohorts: int) -> None:
    """As `default_cohorts` says: 2,000 texts that nobody wrote, beside one that all did, and hardly other noise."""
    survey = dn.discovery(epsilon=1, length=6, levels=[(6, cohorts)], cells=cells, seed=SEED)
    tally = dn.simulate(survey, [1.0], 10**10, np.random.default_rng(0), symbols=["heavy"])
    level = LevelFit(tally, [])
    shares = level.shares(level.designed([b"%d\xff" % i for i in range(2000)]))
    assert np.sqrt(np.mean(shares**2)) == pytest.approx(((cells - 1) * cohorts) ** -0.5, rel=0.06)


def test_it_is_read_back() -> None:
    survey = made(overlong="refuse", text="exact", name="what?")
    assert dn.Survey.from_json(survey.to_json()) == survey
    assert survey.alphabet.text == "exact"
    assert (survey.cells, survey.cohorts) == (8, 5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": 0}, "length must be at least 1, got 0"),
        ({"length": 256}, "length must be at most 255, got 256"),
        ({"length": 5}, "levels must end at length, 5 bytes, got 4; name both alike"),
        ({"levels": []}, "levels must be a list of pairs, bytes and cohorts, such as [[2, 64], [4, 192]]"),
        ({"levels": [(4, 2), (2, 2)]}, "levels must rise in length, got [4, 2]; a level extends the one before"),
        ({"levels": None, "length": 9, "cohorts": 6}, "cohorts must be at least 7, got 6"),
        ({"overlong": "keep"}, "overlong must be 'cut' or 'refuse', got 'keep'"),
        ({"seed": b""}, "seed must be 8 to 64 bytes, got 0 bytes"),
        ({"cells": 1}, "cells must be at least 2, got 1"),
    ],
)
def test_what_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(dn.SurveyError) as caught:
        made(**settings)
    assert str(caught.value) == message


def test_a_closed_alphabet_is_refused() -> None:
    krr = dn.krr(symbols=["a", "b"], epsilon=1)
    with pytest.raises(
        dn.SurveyError, match="an encoding of prefixes must have an open alphabet; a closed one has noth"
    ):
        dn.Survey(krr.alphabet, made().encoding, made().mechanism)


@pytest.mark.parametrize(
    ("survey", "value", "message"),
    [
        (
            made(),
            b"\xff\xfe",
            "symbol must be text in a survey that discovers text, got bytes; decode bytes as UTF-8, ",
        ),
        (made(), 7, "symbol must be text in a survey that discovers text, got int; decode bytes as UTF-8, and write "),
        (made(), "a\ud800", "symbol must be valid Unicode text, got one with a lone surrogate; decode the text proper"),
        (made(overlong="refuse"), "secret", "symbol must be at most 4 bytes long in this survey, got a longer one"),
        (made(overlong="refuse"), "\u00e9\u00e9a", "symbol must be at most 4 bytes long in this survey, got a longer"),
        # Twice as long once it is normalised: NFC takes this letter apart.
        (
            made(overlong="refuse"),
            "\u0958",
            "symbol must be at most 4 bytes long in this survey, got a longer one; shorten it: bytes are counted in "
            "UTF-8, after normalisation",
        ),
    ],
)
def test_answers_that_are_refused_are_not_shown(survey: dn.Survey, value: object, message: str) -> None:
    for ask in (survey.key, dn.Client(survey).report):
        with pytest.raises(dn.AlphabetError) as caught:
            ask(value)
        assert str(caught.value).startswith(message)
        assert "secret" not in repr(caught.value)


def test_nul_bytes_end_marks_and_other_scripts_are_ordinary_text() -> None:
    survey = made(text="exact")
    texts = ["a\x00", "a", "a\u00ff", "\u05e9\u05dc", "e\u0301", "\u202eab"]
    assert len({survey.key(text) for text in texts}) == len(texts)
    # NFC first, so that the length is that of the composed text; and a level may cut a character in two.
    assert survey.key("e\u0301") == "\u00e9".encode() + b"\xff"
    assert survey.key("e\u0301" * 3) == "\u00e9\u00e9".encode()
    assert survey.key("aaa\u00e9") == b"aaa\xc3"


def test_only_a_level_has_the_cells_of_the_whole() -> None:
    encoding = made().encoding
    assert isinstance(encoding, Prefixes)
    keys = [made().key(text) for text in ("", "a", "abc", "abcde")]
    for level, start in enumerate(encoding.starts):
        part = encoding.only(level)
        for cohort in range(part.cohorts):
            assert [part.encode(cohort, key) for key in keys] == [encoding.encode(start + cohort, key) for key in keys]


def test_words_of_keys_have_a_column_a_level() -> None:
    assert keys_of(made(), ["a", "ab", "abc"]).shape == (3, 2)
    # "ab" and "abd" begin alike, but the first of them ended.
    words = keys_of(made(), ["ab", "abc", "abd"])[:, 0].tolist()
    assert words[0] != words[1] == words[2]
