"""A channel of any shape: the law of what leaves the device, and the rows that are refused."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest

from deniable.errors import SurveyError
from deniable.mechanisms import KRR, Chain, Channel
from deniable.noise import Entropy
from deniable.survey import Alphabet, Direct, Hashed, Survey
from tests.exact.laws import law_of
from tests.exact.scripted import ScriptedEntropy
from tests.toy.band import Band


def survey_of(mechanism: Channel) -> Survey:
    return Survey(Alphabet.closed(mechanism.cells), Direct(mechanism.cells), mechanism)


def check(mechanism: Channel) -> None:
    """The law of the last byte is the row of the true cell, and no ratio of two rows exceeds the odds."""
    survey, laws = survey_of(mechanism), []
    for value in range(mechanism.cells):
        law = {wire[-1]: chance for wire, chance in law_of(survey, value).probabilities.items()}
        assert law == {y: Fraction(w, 2**mechanism.width) for y, w in enumerate(mechanism.row(value))}
        assert law == {y: mechanism.probability(y, (value,)) for y in law}
        laws.append(law)
    worst = max(a[y] / b[y] for a in laws for b in laws for y in a)
    assert worst == mechanism.odds
    assert mechanism.epsilon_spent <= mechanism.epsilon


@pytest.mark.parametrize("epsilon", ["1.2", "2.5", "8"])
@pytest.mark.parametrize("cells", [4, 5, 7])
def test_law_of_the_bytes_is_the_published_channel(cells: int, epsilon: str) -> None:
    check(Band(cells, epsilon))


def test_every_small_word() -> None:
    mechanism = Band(5, 2, width=8)
    for value in range(5):
        seen = Counter(mechanism.randomize((value,), ScriptedEntropy(8, [word])) for word in range(256))
        assert [seen[y] for y in range(5)] == mechanism.row(value)


class OffByOne(Band):
    """A word on the edge between two columns counts for the wrong one."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        word, edge = entropy.word(), 0
        for column, weight in enumerate(self.weights(cells)):
            edge += weight
            if word <= edge:
                return column
        raise AssertionError


def test_the_check_finds_a_word_too_many() -> None:
    with pytest.raises(AssertionError):
        check(OffByOne(4, 2))


def test_weights_of_two_values_are_those_of_hit_and_miss() -> None:
    mechanism = KRR(7, 1, occupied=3)
    assert [Fraction(w, mechanism.span) for w in mechanism.weights((1, 2, 4))] == [
        mechanism.hit if cell in (1, 2, 4) else mechanism.miss for cell in range(7)
    ]
    assert mechanism.affine == (float(mechanism.miss), float(mechanism.hit - mechanism.miss))


class Loud(Band):
    def row(self, cell: int) -> Sequence[int]:
        others = [1] * self.cells
        others[cell] += (1 << self.width) - self.cells
        return others


class Short(Band):
    def row(self, cell: int) -> Sequence[int]:
        return list(Band.row(self, cell))[: cell + 3]


def test_rows_that_are_no_channel_are_refused() -> None:
    with pytest.raises(
        SurveyError, match=r"ratio of at most e\*\*2, got more; move them closer together, or use a larger epsilon"
    ):
        Loud(4, 2)
    with pytest.raises(SurveyError, match=r"must be 3 integers from 0 on that add up to 2\*\*64"):
        Short(4, 2)


def test_only_hit_or_miss_has_a_hit_and_a_miss() -> None:
    for name in ("hit", "miss", "pairs"):
        with pytest.raises(SurveyError, match="a 'band' mechanism must be asked for weights: it is not hit or miss"):
            getattr(Band(4, 2), name)
    assert Band(4, 2).affine == (0.0, 1.0)


def test_a_channel_has_no_second_stage() -> None:
    with pytest.raises(SurveyError, match="a chain must start with one stage of its own, got 'band'"):
        Chain(Band(4, 2), 1)


def test_a_table_of_weights_has_a_cell_for_every_symbol() -> None:
    with pytest.raises(SurveyError, match="a table of weights must have a cell for every symbol, got 'hashed' cells"):
        Survey(Alphabet.open(), Hashed(4, 2, 1, bytes(16)), Band(4, 2))
