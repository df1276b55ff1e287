"""Each row's answer is looked up as the client looks it up: nothing wraps round, and nothing equal in Python merges."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.columns.stream import WordStream
from deniable.survey import Survey
from tests.surveys import SEED

KRR = dn.krr(symbols=4, epsilon=1)
PLAIN: dict[str, Survey] = {
    "krr": KRR,
    "krappor": dn.krappor(symbols=4, epsilon=1),
    "oue": dn.oue(symbols=4, epsilon=1),
    "subset": dn.subset(symbols=4, epsilon=1, size=2),
    "hadamard": dn.hadamard(symbols=4, epsilon=1),
    "projective": dn.projective(symbols=4, epsilon=1),
    "orr": dn.orr(symbols=4, epsilon=1, cells=2, cohorts=300, seed=SEED),
    "orappor": dn.orappor(symbols=4, epsilon=1, cells=3, cohorts=300, hashes=2, seed=SEED),
}


@pytest.fixture
def truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """k-RR keeps the true cell on the word 0, so that a response shows the answer."""
    monkeypatch.setattr(WordStream, "words", lambda self, count: np.zeros(count, np.uint64))
    monkeypatch.setattr(WordStream, "passing", lambda self, count: np.zeros(count, np.uint64))


@pytest.mark.parametrize("survey", PLAIN.values(), ids=PLAIN.keys())
@pytest.mark.parametrize("wrong", [[-1], [4], [-4], [5], [-1, 4], [2**40], [-(2**63)], [2**63 - 1]], ids=str)
@pytest.mark.parametrize("shape", [np.array, pa.array, list])
def test_integers_outside_the_alphabet_are_refused(survey: Survey, wrong: list[int], shape: Any) -> None:
    """A code of -1 would be the last symbol, and one of S the first symbol of the next cohort."""
    with pytest.raises(dn.AlphabetError, match=rf"got {len(wrong)} rows? that it cannot"):
        dn.privatize(survey, shape([0, *wrong, 3]))


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_minus_one_of_every_width_is_refused(kind: type[np.signedinteger[Any]]) -> None:
    for survey in PLAIN.values():
        with pytest.raises(dn.AlphabetError, match="got 2 rows that it cannot"):
            dn.privatize(survey, np.array([-1, 0, -1, 3], kind))


@pytest.mark.usefixtures("truth")
def test_integers_outside_the_alphabet_go_to_the_catch_all() -> None:
    survey = dn.krr(symbols=4, epsilon=1, other=1)  # still the symbols 0 .. 3 in order
    assert survey.symbols == (0, 1, 2, 3)
    column = np.array([-1, 0, 4, 3, -4, 2, 10**12])
    assert dn.privatize(survey, column).responses.tolist() == [1, 0, 1, 3, 1, 2, 1]
    assert dn.privatize(survey, column[:-1]).responses.tolist() == [1, 0, 1, 3, 1, 2]


@pytest.mark.usefixtures("truth")
def test_every_symbol_of_the_alphabet_is_itself() -> None:
    for kind in (np.int8, np.uint8, np.int64, np.uint64):
        assert dn.privatize(KRR, np.array([3, 0, 2, 1, 3], kind)).responses.tolist() == [3, 0, 2, 1, 3]


@pytest.mark.usefixtures("truth")
@pytest.mark.parametrize(
    "column", [[1, True, "x"], [True, 1, "x"], ["x", 0, False, 1.0, 1], [b"1", 1, "1", True], [2**70, True, 1]], ids=str
)
def test_mixed_answers_are_the_clients(column: list[object]) -> None:
    """True equals 1 as a key of a dictionary, and so does 1.0; neither is the symbol 1."""
    survey = dn.krr(symbols=[0, 1], epsilon=1, other="else")
    expected = [survey.encode(0, value)[0] for value in column]
    assert {1, 2} <= set(expected)
    assert dn.privatize(survey, column).responses.tolist() == expected


@pytest.mark.parametrize("column", [[1, True, 0, "0"], [True, 1, 0, "0"]], ids=str)
def test_true_is_not_one(column: list[object]) -> None:
    with pytest.raises(dn.AlphabetError, match="got 1 row that it cannot"):
        dn.privatize(dn.krr(symbols=[0, 1, "0"], epsilon=1), column)
