"""Every sentence that a survey refuses with, and the file it lives in; `tests/vectors/bad_surveys.json` has more."""

import json
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
import deniable.survey.reading as reading
from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip
from deniable.survey import Alphabet, Direct, Hashed, Permuted, Survey

SEED = bytes(range(16))


def refused(make: object, sentence: str) -> None:
    assert callable(make)
    with pytest.raises(SurveyError) as caught:
        make()
    assert str(caught.value) == sentence


def test_sizes_out_of_range() -> None:
    def orr(**sizes: object) -> dn.Survey:
        return dn.orr(**({"epsilon": 1, "cells": 8, "cohorts": 4} | sizes))  # type: ignore[arg-type]

    def orappor(**sizes: object) -> dn.Survey:
        return dn.orappor(**({"epsilon": 1, "cells": 8, "cohorts": 4} | sizes))  # type: ignore[arg-type]

    refused(lambda: orr(cells=1), "cells must be at least 2, got 1")
    refused(lambda: orr(cells=2**24 + 1), "cells must be at most 16777216, got 16777217")
    refused(lambda: orr(cells=8.0), "cells must be an integer, got float")
    refused(lambda: orr(cells="8"), "cells must be an integer, got str")
    refused(lambda: orr(cells=True), "cells must be an integer, got bool")
    refused(lambda: orr(cohorts=0), "cohorts must be at least 1, got 0")
    refused(lambda: orr(cohorts=2**20 + 1), "cohorts must be at most 1048576, got 1048577")
    refused(lambda: orappor(hashes=0), "hashes must be at least 1, got 0")
    refused(lambda: orappor(hashes=65), "hashes must be at most 64, got 65")
    refused(lambda: orappor(cells=2**16 + 1), "cells must be at most 65536, got 65537")
    refused(lambda: orr(seed=b"short"), "seed must be 8 to 64 bytes, got 5 bytes")
    refused(lambda: orr(seed=bytes(65)), "seed must be 8 to 64 bytes, got 65 bytes")
    refused(lambda: orr(seed="0123456789abcdef"), "seed must be 8 to 64 bytes, got str")
    refused(
        lambda: orr(cells=2**20, cohorts=2**10, epsilon=10),
        "cohorts times cells must be at most 134217728, got 1073741824; use fewer cohorts or cells",
    )
    refused(
        lambda: dn.warner(epsilon=1, symbols=["a", "b", "c"]),
        "symbols must be two for Warner's response, got 3; use krr for more",
    )
    refused(lambda: BitFlip(4, 1, 5), "distance must be at most 4, got 5")
    refused(lambda: BitFlip(4, 1, 2, 65), "width must be at most 64, got 65")
    refused(lambda: KRR(4, 1, 0), "width must be at least 1, got 0")


def test_sizes_from_numpy_are_plain_integers() -> None:
    survey = dn.orappor(epsilon=1, cells=np.int64(8), cohorts=np.int32(2), hashes=np.uint8(2), seed=SEED)  # type: ignore[arg-type]
    assert survey == dn.orappor(epsilon=1, cells=8, cohorts=2, hashes=2, seed=SEED)
    assert Survey.from_json(survey.to_json()) == survey


def test_parts_must_fit_together() -> None:
    alphabet, hashed = Alphabet.closed(4), Hashed(4, 2, 2, SEED)
    refused(
        lambda: Survey(alphabet, Direct(4), KRR(5, 1)), "mechanism and encoding must share their cells, got 5 and 4"
    )
    refused(
        lambda: Survey(alphabet, Direct(5), KRR(5, 1)),
        "a direct encoding of 5 cells must have a closed alphabet of that many symbols",
    )
    refused(
        lambda: Survey(alphabet, hashed, BitFlip(4, 1, 4)),
        "a hashed encoding must have an open alphabet; a closed one is permuted",
    )
    refused(
        lambda: Survey(Alphabet.open(), Permuted(4, 4, 2, 1, SEED), KRR(4, 1)),
        "a permuted encoding of 4 symbols must have a closed alphabet of that many",
    )
    refused(
        lambda: Survey(Alphabet.open(), hashed, KRR(4, 1)),
        "hashes must be 1 for k-ary randomised response, got 2; use orappor for Bloom filters",
    )
    refused(
        lambda: Survey(Alphabet.open(), hashed, BitFlip(4, 1, 2)),
        "distance must be min(2 * hashes, cells) = 4, got 2; two answers can differ in that many bits",
    )


def test_names() -> None:
    refused(
        lambda: dn.warner(epsilon=1, name="x" * 501), "name must be text of at most 500 characters, got 501 characters"
    )
    no_text = "name must be text of at most 500 characters, got int"
    refused(lambda: dn.warner(epsilon=1, name=5), no_text)  # type: ignore[arg-type]
    refused(
        lambda: dn.warner(epsilon=1, name="\ud800"), "name must be valid Unicode text, got one with a lone surrogate"
    )


@pytest.mark.parametrize("character", ["\x00", "\x07", "\n", "\t", "\x1b", "\x7f", "\x85", "\u2028"])
def test_a_new_name_has_no_control_characters_and_an_old_one_stays_readable(character: str) -> None:
    name = f"Do you{character} agree?"
    sentence = f"name must not have control characters or line breaks, got U+{ord(character):04X}; write it in one line"
    for make in (dn.warner, lambda **options: dn.orr(cells=4, cohorts=2, **options)):
        refused(lambda make=make: make(epsilon=1, name=name), sentence)
    refused(lambda: dn.plan(n=1000, symbols=2, epsilon=1, name=name), sentence)
    plain = dn.warner(epsilon=1)
    old = Survey(plain.alphabet, plain.encoding, plain.mechanism, name)
    assert Survey.from_json(old.to_json()).name == name


def test_cohort_out_of_range() -> None:
    survey = dn.orr(epsilon=1, cells=4, cohorts=3, seed=SEED)
    refused(lambda: survey.encode(3, "a"), "cohort must be from 0 to 2, got 3")
    refused(lambda: survey.encode(-1, "a"), "cohort must be from 0 to 2, got -1")


def test_text_that_is_not_a_survey(monkeypatch: pytest.MonkeyPatch) -> None:
    refused(lambda: Survey.from_json(None), "survey must be JSON text, got NoneType")  # type: ignore[arg-type]
    refused(lambda: Survey.from_json("3"), "survey must be an object, got int")
    good = dn.warner(epsilon=1).to_json()
    assert Survey.from_json(good.encode()) == Survey.from_json(good)
    for text in ("[" * 100_000, b"\xff", good.encode("utf-16"), good.encode("utf-8-sig"), "1" * 5000):
        with pytest.raises(SurveyError, match=r"^survey must be JSON text: "):
            Survey.from_json(text)
    monkeypatch.setattr(reading, "MAX_TEXT", 10)
    refused(lambda: Survey.from_json(good), f"survey text must be at most 10 characters, got {len(good)}")


def test_altered_survey_names_both_digests() -> None:
    survey = dn.warner(epsilon=1)
    fields = json.loads(survey.to_json()) | {"digest": "0123456789"}
    refused(
        lambda: Survey.from_json(json.dumps(fields)),
        f"digest must be {survey.digest[:8]}... for these fields, got 01234567...; "
        "the survey was altered after it was made",
    )


def test_wrong_threshold_names_the_right_one() -> None:
    fields = json.loads(dn.warner(epsilon=1).to_json())
    fields["mechanism"]["keep"] = "13485650502877570763"
    refused(
        lambda: Survey.from_json(json.dumps(fields)),
        "threshold 'keep' must be 13485650502877570762 for epsilon 1, got '13485650502877570763'; "
        "whoever wrote this survey computes another mechanism",
    )


def test_a_huge_exponent_is_refused_before_it_is_expanded() -> None:
    fields = json.loads(dn.warner(epsilon=1).to_json())
    fields["mechanism"]["epsilon"] = "1e999999999"
    with pytest.raises(SurveyError, match="epsilon must be between 1e-9 and 64"):
        Survey.from_json(json.dumps(fields))


def test_a_survey_of_small_words_cannot_be_read_back() -> None:
    survey = Survey(Alphabet.closed(4), Direct(4), KRR(4, 1, 8))
    refused(lambda: Survey.from_json(survey.to_json()), "width must be at least 64, got 8")


def test_file_goes_there_and_back_and_is_named_when_bad(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    survey = dn.krr(symbols=["caf\u00e9", 7, b"\xff"], epsilon="1/3", name="\U0001f98a")
    survey.save(path)
    assert Survey.load(path) == survey
    assert [entry.name for entry in tmp_path.iterdir()] == ["survey.json"]
    path.write_text("{}")
    refused(lambda: Survey.load(path), f"{path}: survey must have the field 'alphabet'")
    with pytest.raises(FileNotFoundError):
        Survey.load(tmp_path / "nowhere.json")


def test_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "survey.json"
    dn.warner(epsilon=1).save(path)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("deniable.survey.survey.os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        dn.warner(epsilon=2).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["survey.json"]


def test_a_set_has_no_order_to_agree_on() -> None:
    for symbols in ({"a", "b"}, frozenset("ab")):
        with pytest.raises(dn.SurveyError) as caught:
            dn.krr(symbols=symbols, epsilon=1)
        sentence = "symbols must have an order, got a set; every process would order it anew: use sorted()"
        assert sentence in str(caught.value)
