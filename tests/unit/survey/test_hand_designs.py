"""Designs that people run by hand: what they refuse, how answers are read, and that they survive a file."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deniable as dn
from deniable.cli.words import notice
from deniable.mechanisms import HandRun


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"kind": "warner", "p": 0.7, "symbols": ["a", "b", "c"]},
            "symbols of a named design must be two answers, got",
        ),
        ({"kind": [[1, 0], [0, 1]], "p": 0.5}, "must not be given beside a matrix, which has every probability"),
        ({"kind": "nope"}, "or a matrix, got"),
        ({"kind": "warner"}, "p must be given for the design 'warner', which takes p"),
        ({"kind": "warner", "p": 0.7, "u": 0.5}, "u must not be given for the design 'warner'"),
        ({"kind": "warner", "p": 1.5}, "must be a probability from 0 to 1, got"),
        ({"kind": "warner", "p": float("nan")}, "must be a probability from 0 to 1, got"),
        ({"kind": "warner", "p": True}, "must be a probability from 0 to 1, got"),
        ({"kind": "warner", "p": "1e999999999"}, "must be a probability from 0 to 1, got"),
        ({"kind": "warner", "p": "often"}, "must be a probability from 0 to 1, got"),
        ({"kind": 7}, "design must be a name or rows of probabilities, one row an answer, got"),
        ({"kind": [[0.5, 0.5]]}, "matrix must have a row for each of two answers or more, got"),
        (
            {"kind": [[0.5, 0.5], [0.1, 0.9]], "symbols": ["a", "b", "c"]},
            "matrix must have a row for each of 3 answers",
        ),
        (
            {"kind": "warner", "p": 0.7, "answers": "yes"},
            "answers must be a list of what people say, one a column, got",
        ),
        ({"kind": "warner", "p": 0.7, "answers": ["a", "a"]}, "different names, one a column of the matrix, got"),
        ({"kind": "warner", "p": 0.7, "answers": [0.5, 1.5]}, "answers must be text or whole numbers, got"),
        (
            {"kind": "warner", "p": 0.5},
            "a design must tell its 2 answers apart by what people say, got one that tells 1",
        ),
        ({"kind": "warner", "p": 1}, "a design must leave some answers deniable, got one in which whatever is said"),
        ({"kind": "forced", "p": 0.9, "yes": 0.3}, "p and yes must add up to at most 1 in a forced response, got 1.2"),
    ],
)
def test_a_contradictory_design_is_a_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises(dn.SurveyError) as problem:
        dn.design(**given)
    assert words in str(problem.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "warner"}, "for the design"),
        (
            {"kind": "forced", "p": 0.9, "yes": 0.3},
            "; p is the chance to answer truthfully, yes that of being told to say yes",
        ),
        (
            {"kind": "warner", "p": 0.7, "answers": "yes"},
            "answers must be a list of what people say, one a column, got one text",
        ),
        (
            {"kind": "warner", "p": 0},
            "a design must leave some answers deniable, got one in which whatever is said gives every answer away; "
            "ask openly, or give every answer a little of what the others say",
        ),
        (
            {"kind": "warner", "p": 0.5},
            ": its rows are mixtures of each other; use another probability, or more things to say",
        ),
    ],
)
def test_every_part_of_a_sentence_is_there(given: dict[str, Any], words: str) -> None:
    with pytest.raises(dn.SurveyError) as problem:
        dn.design(**given)
    assert words in str(problem.value)


COLUMNS: list[Any] = [
    ["no", "yes", "yes"],
    np.array(["no", "yes", "yes"]),
    pd.Series(["no", "yes", "yes"], dtype="category"),
    pa.array(["no", "yes", "yes"]),
    [0, 1, 1],
    np.array([False, True, True]),
    {"no": 1, "yes": 2},
    pd.Series([0.0, 1.0, 1.0]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: type(column).__name__)
def test_what_people_said_is_counted_however_it_is_spelled(column: Any) -> None:
    assert dn.count(dn.design("warner", p=0.7), column).counts.tolist() == [[1, 2]]


def test_the_data_may_have_names_of_their_own() -> None:
    survey = dn.design("crosswise", p=0.25, answers=(2, 1))
    assert dn.count(survey, [1, 1, 2]).counts.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["no", "maybe"], "answers must be 'no', 'yes', got 1 others; name what the data have with answers="),
        (["no", None], "1 no answer"),
        ({"maybe": 1}, "counts must be of 'no', 'yes', got 'maybe'"),
        ({"no": -1}, "counts must be whole numbers from 0 on, got -1"),
    ],
)
def test_other_answers_are_a_sentence(column: Any, words: str) -> None:
    with pytest.raises(dn.WireError) as problem:
        dn.count(dn.design("warner", p=0.7), column)
    assert words in str(problem.value)
    step = "others; name what the data have with answers=, or pass refused={} to leave them out"
    assert step in str(problem.value) or "others" not in words


def test_other_answers_may_be_left_out_and_counted() -> None:
    refused: dict[str, int] = {}
    assert dn.count(dn.design("warner", p=0.7), ["no", "maybe", None], refused=refused).n == 1
    assert refused == {"no answer": 1, "not one of the answers": 1}


def test_a_design_survives_its_file_and_its_epsilon_cannot_be_changed() -> None:
    survey = dn.design("mangat", p=0.6, name="Ever cheated?")
    text = survey.to_json()
    assert dn.Survey.from_json(text) == survey
    with pytest.raises(dn.SurveyError):
        dn.Survey.from_json(text.replace('"epsilon":"0.916291"', '"epsilon":"0.5"'))


def test_its_notice_speaks_of_no_device_and_says_who_cannot_deny() -> None:
    told = " ".join(text for _, text in notice(dn.design("mangat", p=0.6)))
    assert "Whoever would truthfully answer no has no deniability" in told
    assert "device" not in told
    assert "epsilon inf" in told


EVERY = {
    "warner": dn.design("warner", p=0.7),
    "forced": dn.design("forced", p="2/3", yes="1/6"),
    "unrelated": dn.design("unrelated", p=0.7, u=0.4),
    "crosswise": dn.design("crosswise", p=0.25),
    "mangat": dn.design("mangat", p=0.6),
    "matrix": dn.design([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]], symbols=["a", "b", "c"]),
    "more to say": dn.design([[0.6, 0.2, 0.1, 0.1], [0.1, 0.2, 0.1, 0.6]], answers=["p", "q", "r", "s"]),
}


@pytest.mark.parametrize("name", EVERY)
def test_a_design_can_be_decoded_regressed_planned_and_told(name: str) -> None:
    """Counts that are exactly what the table gives: decoding and regression return the shares."""
    survey = EVERY[name]
    said, symbols = survey.mechanism.said, survey.symbols or ()
    truth = np.array([0.7, 0.3]) if len(symbols) == 2 else np.array([0.5, 0.2, 0.3])
    law = [[float(survey.mechanism.probability(y, (cell,))) for y in range(len(said))] for cell in range(len(truth))]
    counts = np.round(10**6 * truth @ np.array(law)).astype(int)
    tally = dn.count(survey, dict(zip(said, counts.tolist(), strict=True)))
    assert dn.decode(tally).raw == pytest.approx(truth, abs=1e-5)
    fit = dn.regress("said ~ 1", {"said": list(said), "n": counts}, survey=survey, counts="n")
    assert fit.shares()["share"].to_numpy() == pytest.approx(truth, abs=1e-5)
    plan = dn.plan(effect=0.1, share=0.3, power=0.8, survey=survey)
    assert plan.n > plan.people_without_noise > 0
    assert dn.plan(effect=0.1, share=0.3, n=plan.n, survey=survey).power == pytest.approx(0.8, abs=0.01)
    told = " ".join(text for _, text in notice(survey))
    assert all(f"says {word} with probability" in told or f"{word} with probability" in told for word in said)
    spent = [survey.privacy().between(a, b) for a in symbols for b in symbols if a != b]
    exact = [
        max(np.log(p / q) if q else np.inf for p, q in zip(law[a], law[b], strict=True) if p)
        for a in range(len(truth))
        for b in range(len(truth))
        if a != b
    ]
    assert spent == pytest.approx(exact, abs=1e-9)


def test_names_are_one_a_column() -> None:
    with pytest.raises(dn.SurveyError, match="must be 2 different names"):
        HandRun([[192, 64], [64, 192]], ["no"], width=8)
