"""Bit flips: the joint law of all bits, by walking 64-bit words and by playing every tuple of small words."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import pytest

import deniable as dn
import deniable.mechanisms.bitflip as room
from deniable.errors import SurveyError
from deniable.mechanisms import BitFlip
from deniable.mechanisms.odds import at_most_exp
from deniable.noise import Entropy
from deniable.survey import Alphabet, Direct, Survey
from tests.exact.laws import check_survey, law_of, published, worst_ratio
from tests.exact.scripted import law_of_bytes_by_enumeration
from tests.exact.walker import walk


def walked(mechanism: BitFlip, cells: tuple[int, ...]) -> dict[int, Fraction]:
    law = walk(lambda entropy: mechanism.randomize(cells, entropy), width=mechanism.width)
    assert law.draws == {mechanism.cells}
    return law.probabilities


@pytest.mark.parametrize("epsilon", ["0.01", "1/3", "1", "2.5", "10"])
@pytest.mark.parametrize("cells", [2, 3, 5])
def test_law_of_the_bytes_is_the_published_channel(cells: int, epsilon: str) -> None:
    check_survey(dn.krappor(symbols=cells, epsilon=epsilon), range(cells))


@pytest.mark.parametrize("epsilon", ["0.01", "1/3", "1", "2.5", "10"])
@pytest.mark.parametrize("cells", [2, 3, 5])
def test_law_of_the_bytes_of_optimized_flips(cells: int, epsilon: str) -> None:
    survey = dn.oue(symbols=cells, epsilon=epsilon)
    check_survey(survey, range(cells))
    worst = worst_ratio([law_of(survey, value).probabilities for value in range(cells)])
    assert worst == survey.mechanism.odds == (1 - survey.mechanism.miss) / survey.mechanism.miss
    assert survey.mechanism.hit == Fraction(1, 2)


@pytest.mark.parametrize("preset", [dn.krappor, dn.oue])
def test_law_of_two_byte_reports(preset: Callable[..., Survey]) -> None:
    check_survey(preset(symbols=9, epsilon=2), [0, 7, 8])


@pytest.mark.parametrize("optimized", [False, True])
@pytest.mark.parametrize(("width", "cells", "epsilon"), [(5, 3, "2"), (8, 2, "1"), (3, 4, "3")])
def test_every_tuple_of_small_words_through_the_real_client(
    width: int, cells: int, epsilon: str, optimized: bool
) -> None:
    """At three bits of 5-bit words: all 32**3 tuples, the joint law, and its worst ratio."""
    mechanism = BitFlip(cells, epsilon, 2, width, optimized=optimized)
    survey = Survey(Alphabet.closed(cells), Direct(cells), mechanism)
    laws = [law_of_bytes_by_enumeration(survey, value, cohort=0, count=cells) for value in range(cells)]
    assert laws == [published(survey, value) for value in range(cells)]
    assert laws == [law_of(survey, value).probabilities for value in range(cells)]
    worst = worst_ratio(laws)
    assert worst == survey.mechanism.odds
    assert at_most_exp(worst, survey.mechanism.epsilon)


def test_joint_ratio_of_three_five_bit_words() -> None:
    assert BitFlip(3, 2, 2, 5).odds == Fraction(23, 9) ** 2  # 6.53 <= e**2 = 7.39


@pytest.mark.parametrize(("cells", "hashes"), [(4, 1), (4, 2), (5, 2), (5, 3), (3, 3), (2, 5)])
def test_no_two_bloom_filters_are_further_apart_than_epsilon(cells: int, hashes: int) -> None:
    """Every set of 1 to h occupied cells, not only those that some hash function happens to reach."""
    mechanism = BitFlip(cells, 2, min(2 * hashes, cells))
    filters = [cell for size in range(1, hashes + 1) for cell in combinations(range(cells), size)]
    laws = [walked(mechanism, occupied) for occupied in filters]
    for occupied, law in zip(filters, laws, strict=True):
        assert law == {y: mechanism.probability(y, occupied) for y in range(mechanism.outputs)}
    worst = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in range(mechanism.outputs))
    assert worst == mechanism.odds
    assert at_most_exp(worst, mechanism.epsilon)


@pytest.mark.parametrize("optimized", [False, True])
def test_bits_are_independent_given_the_input(optimized: bool) -> None:
    mechanism = BitFlip(4, 1, optimized=optimized)
    law = walked(mechanism, (2,))
    for response, probability in law.items():
        product = Fraction(1)
        for bit in range(4):
            hit = mechanism.hit if bit == 2 else mechanism.miss
            product *= hit if response >> bit & 1 else 1 - hit
        assert probability == product


def test_a_cell_named_twice_is_one_cell() -> None:
    mechanism = BitFlip(3, 1)
    assert walked(mechanism, (1, 1)) == walked(mechanism, (1,))
    assert mechanism.probability(5, (1, 1)) == mechanism.probability(5, (1,))


def test_columns_are_the_bits_that_are_set() -> None:
    mechanism = BitFlip(5, 1)
    assert list(mechanism.columns_hit(0b10110)) == [1, 2, 4]
    law = walked(mechanism, (0, 3))
    for column in range(5):
        hit = sum((p for y, p in law.items() if column in mechanism.columns_hit(y)), Fraction(0))
        assert hit == (mechanism.hit if column in (0, 3) else mechanism.miss)


class Stingy(Entropy):
    """Gives one word too few, as the iterator of the reference library did."""

    def word(self) -> int:
        return 0

    def words(self, count: int) -> list[int]:
        return [0] * (count - 1)


def test_too_few_words_stop_the_client() -> None:
    with pytest.raises(RuntimeError, match=r"^entropy must give one word per bit, got 3 for 4 bits$"):
        BitFlip(4, 1).randomize((0,), Stingy())


def test_optimized_flips_are_for_one_cell_an_answer() -> None:
    """Two Bloom filters differ in more bits than the budget was divided for."""
    with pytest.raises(SurveyError) as caught:
        BitFlip(8, 1, 4, optimized=True)
    assert str(caught.value) == ("distance must be 2 for optimised bit flips, got 4; use even flips for Bloom filters")


def test_a_threshold_past_one_half_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of reach of any epsilon above zero; the guard is there in case the threshold itself is computed wrongly."""
    monkeypatch.setattr(room, "other_weight", lambda *_: 129)
    with pytest.raises(SurveyError) as caught:
        BitFlip(4, 1, 2, 8)
    assert str(caught.value) == (
        "epsilon must leave room for 8-bit words, got 1 over 2 bits; use a larger epsilon or fewer hashes"
    )
