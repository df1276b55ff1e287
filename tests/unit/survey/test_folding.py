"""Free text of new surveys is folded: on devices, in columns, for candidates, in plans, and on the command line."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.cli import main
from deniable.columns.encode import keys_of
from deniable.columns.randomizing import privatize
from deniable.matrices import design_of
from deniable.survey import Alphabet

SEED = bytes(range(16))
SAME = ["ibuprofen", "Ibuprofen", " IBUPROFEN\t", "\u0130buprofen\u00a0", "ibuprofen\ufeff"]
# The truth is kept by all but 1e-12 of the reports.
SHAPE: dict[str, Any] = {"epsilon": 30, "cells": 16, "cohorts": 1, "seed": SEED}
OPEN: dict[str, Any] = {
    "orr": lambda **text: dn.orr(**SHAPE, **text),
    "olh": lambda **text: dn.olh(epsilon=2, seed=SEED, **text),
    "orappor": lambda **text: dn.orappor(**SHAPE, hashes=2, **text),
}


@pytest.mark.parametrize("preset", OPEN)
def test_new_open_surveys_are_folded_and_exact_ones_are_as_they_were(preset: str) -> None:
    folded, exact = OPEN[preset](), OPEN[preset](text="exact")
    assert folded == OPEN[preset](text="folded") != exact
    assert folded.digest != exact.digest
    assert '"alphabet":{"kind":"open","text":"folded"}' in folded.to_json()
    assert '"alphabet":{"kind":"open"}' in exact.to_json()
    for survey in (folded, exact):
        assert dn.Survey.from_json(survey.to_json()) == survey
    assert len({folded.key(value) for value in SAME}) == 1
    assert len({exact.key(value) for value in SAME}) == len(SAME)


def test_the_digest_of_an_exact_survey_is_what_it_was_before_text_could_be_folded() -> None:
    old = dn.orr(epsilon=2.0, cells=8, cohorts=64, name="homepage", seed=bytes(16), text="exact")
    assert old.digest.startswith("fa0a114c")


def test_numbers_and_bytes_are_not_folded_and_types_stay_apart() -> None:
    survey = dn.orr(**SHAPE)
    assert len({survey.key(value) for value in ("a", b"a", b"A", b" a", "1", 1, "-1", -1)}) == 8
    assert survey.key(np.int64(7)) == survey.key(7) != survey.key(" 7 ") == survey.key("7")


def test_nothing_but_blanks_is_an_answer_like_any_other() -> None:
    survey = dn.orr(**SHAPE)
    assert survey.key(" \t") == survey.key("") == survey.key("\u200b")
    assert dn.Client(survey).report("  ").pack() == dn.Report.unpack(survey, dn.Client(survey).report("").pack()).pack()


def test_a_lone_surrogate_is_refused_without_being_shown() -> None:
    with pytest.raises(dn.AlphabetError, match="symbol must be valid Unicode text, got one with a lone surrogate"):
        dn.orr(**SHAPE).key("A\ud800")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dn.orr(**SHAPE, text="loose"), "text must be 'folded' or 'exact', got 'loose'"),
        (lambda: dn.orr(**(SHAPE | {"text": True})), "text must be 'folded' or 'exact', got bool"),
        (
            lambda: dn.orr(**SHAPE, symbols=["a", "b"], text="folded"),
            "text must not be given with symbols, which are exact; leave one of the two out",
        ),
        (
            lambda: Alphabet(("a", "b"), text="folded"),
            "text must be 'exact' for a closed alphabet, got 'folded'; its symbols are chosen, not typed",
        ),
    ],
)
def test_what_text_may_be(make: Any, sentence: str) -> None:
    with pytest.raises(dn.SurveyError) as caught:
        make()
    assert str(caught.value) == sentence


def test_the_symbols_of_a_closed_survey_are_exact() -> None:
    survey = dn.krr(symbols=["Yes", "yes", " yes"], epsilon=1)
    assert [survey.key(value) for value in ("Yes", "yes", " yes")] == [0, 1, 2]
    with pytest.raises(dn.AlphabetError, match="symbol is not in this survey's alphabet of 3 symbols"):
        survey.key("YES")


@pytest.mark.parametrize("column", [SAME, np.array(SAME), pa.array(SAME), pa.array(SAME).dictionary_encode()])
def test_columns_are_folded(column: Any) -> None:
    survey = dn.orr(**SHAPE)
    (cell,) = survey.encode(0, "ibuprofen")
    table = privatize(survey, column)
    assert dn.count(survey, table).counts.tolist() == [[len(SAME) * (other == cell) for other in range(16)]]
    assert keys_of(survey, SAME).tolist() == [survey.key("ibuprofen")] * len(SAME)


def test_memoised_answers_that_fold_to_one_text_have_the_same_bytes() -> None:
    client = dn.Client(dn.orappor(epsilon=1, cells=64, cohorts=8, hashes=2, seed=SEED))
    assert len({client.report(value).pack() for value in SAME}) == 1


def test_candidates_are_folded_and_found_under_any_case() -> None:
    survey = dn.orr(epsilon=4, cells=8, cohorts=16, seed=SEED)
    tally = dn.count(survey, dn.privatize(survey, SAME * 1000))
    estimate = dn.decode(tally, candidates=["Ibuprofen", "Aspirin "])
    assert estimate.symbols == ("ibuprofen", "aspirin")
    assert estimate["IBUPROFEN"] == estimate["ibuprofen"] > 0.9
    with pytest.raises(dn.DecodeError, match="symbol must be one of the 2 that were decoded"):
        estimate["paracetamol"]
    simulated = dn.simulate(survey, [1.0], 5000, np.random.default_rng(0), symbols=[" Ibuprofen"])
    assert dn.decode(simulated, candidates=["ibuprofen", "aspirin"])["ibuprofen"] > 0.9
    assert design_of(survey, ["A", "b"]) is design_of(survey, ["a", " B"])


def test_the_candidates_of_an_exact_survey_are_exact() -> None:
    survey = dn.orr(epsilon=4, cells=8, cohorts=16, seed=SEED, text="exact")
    tally = dn.count(survey, dn.privatize(survey, ["Ibuprofen"] * 5000))
    estimate = dn.decode(tally, candidates=["Ibuprofen", "ibuprofen"])
    assert estimate["Ibuprofen"] > 0.9
    assert estimate["ibuprofen"] < 0.1


@pytest.mark.parametrize("size", [2, 30_000])  # decoded at once, and screened
def test_candidates_that_fold_to_one_text_are_merged_and_repeats_are_refused(size: int) -> None:
    survey = dn.orr(epsilon=4, cells=8, cohorts=16, seed=SEED)
    names = [f"site {i}" for i in range(size)]
    tally = dn.count(survey, dn.privatize(survey, ["aspirin"] * 2000))
    found = dn.decode(tally, candidates=["Aspirin", *names, "ASPIRIN ", "SITE 0"])
    assert found.symbols == ("aspirin", *names)
    assert found["aspirin"] > 0.9
    with pytest.raises(dn.DecodeError) as caught:
        dn.decode(tally, candidates=[*names, "Aspirin", "ASPIRIN ", "ASPIRIN "])
    assert str(caught.value) == "candidates must be distinct after NFC normalisation; remove the repeats"


def test_a_plan_for_open_answers_is_folded_and_so_are_its_candidates() -> None:
    question: dict[str, Any] = {"n": 100_000, "epsilon": 2, "seed": 1}
    plan = dn.plan(candidates=["Ash", "oak"], **question)
    assert plan.survey.alphabet == Alphabet.open(text="folded")
    assert dn.plan(candidates=["Ash", "oak", "ash "], **question).size == 2
    exact = dn.plan(candidates=["Ash", "oak", "ash "], text="exact", **question)
    assert (exact.size, exact.survey.alphabet.text) == (3, "exact")
    with pytest.raises(dn.DeniableError) as refused:
        dn.plan(candidates=["Ash", "ash"], **question)
    assert str(refused.value) == "candidates must be two answers or more, got one in several spellings"


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new = ["survey", "new", "--mechanism", "olh", "--epsilon", "1", "-o"]
    for name, options in {
        "folded.json": [],
        "also.json": ["--text", "folded"],
        "exact.json": ["--text", "exact"],
    }.items():
        assert main([*new, name, *options]) == 0
        assert dn.Survey.load(name).alphabet.text == ("exact" if name == "exact.json" else "folded")
    capsys.readouterr()
    folded = 'Capitals and blanks around words make no difference: " Yes" and "yes" are one answer.'
    exact = 'Text counts exactly as it is written: "Yes" and "yes" are two answers.'
    for name, sentence in {"folded.json": folded, "exact.json": exact}.items():
        for action in ("show", "notice"):
            assert main(["survey", action, name]) == 0
            assert sentence in " ".join(capsys.readouterr().out.split())
    assert main(["survey", "new", "--mechanism", "krr", "--symbols", "a,b", "--epsilon", "1", "--text", "exact"]) == 2
    assert "--text must not be given for krr, which has no use for it" in capsys.readouterr().err
    survey = dn.Survey.load("folded.json")
    dn.count(survey, dn.privatize(survey, ["tea"] * 50)).save("t.tally")
    assert main(["decode", "t.tally", "--candidates", "Tea,coffee,TEA,tea"]) == 0
    assert "deniable: 2 candidates merged: another spelling of one before it" in capsys.readouterr().err
    plan = ["plan", "--candidates", "Tea,coffee,TEA", "--n", "1000", "--epsilon", "2", "--metric", "max"]
    assert main([*plan, "--text", "exact", "-o", "planned.json"]) == 0
    assert dn.Survey.load("planned.json").alphabet.text == "exact"
    capsys.readouterr()
    assert main([*new, "x.json", "--text", "loose"]) == 2
    assert "--text must be one of folded, exact, got 'loose'" in capsys.readouterr().err
