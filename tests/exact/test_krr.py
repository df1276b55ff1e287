"""k-ary randomised response: the law of the bytes, by walking 64-bit words and by playing every small word."""

from fractions import Fraction

import pytest

import deniable as dn
from deniable.errors import SurveyError
from deniable.mechanisms import KRR
from deniable.survey import Alphabet, Direct, Survey
from tests.exact.laws import check_survey, law_of, published, worst_ratio
from tests.exact.scripted import ScriptedEntropy, law_by_enumeration, law_of_bytes_by_enumeration
from tests.exact.walker import walk

SMALL_WORDS = [(5, 2, "1"), (8, 3, "1"), (8, 5, "2"), (10, 7, "1/2"), (12, 16, "3"), (12, 2, "0.01"), (6, 4, "4")]


def small_survey(width: int, cells: int, epsilon: str) -> Survey:
    return Survey(Alphabet.closed(cells), Direct(cells), KRR(cells, epsilon, width))


@pytest.mark.parametrize("epsilon", ["0.01", "1/3", "1", "2.5", "10"])
@pytest.mark.parametrize("cells", [2, 3, 4, 9])
def test_law_of_the_bytes_is_the_published_channel(cells: int, epsilon: str) -> None:
    check_survey(dn.krr(symbols=cells, epsilon=epsilon), range(cells))


def test_law_of_two_byte_cells() -> None:
    check_survey(dn.krr(symbols=300, epsilon=2), [0, 1, 255, 256, 299])


@pytest.mark.parametrize(("width", "cells", "epsilon"), SMALL_WORDS)
def test_every_small_word_through_the_real_client(width: int, cells: int, epsilon: str) -> None:
    """No symbols here: each of the 2**width words is played, and the bytes are counted."""
    survey = small_survey(width, cells, epsilon)
    for value in range(cells):
        counted = law_of_bytes_by_enumeration(survey, value, cohort=0, count=1)
        assert counted == published(survey, value)
        assert counted == law_of(survey, value).probabilities


@pytest.mark.parametrize(("width", "cells", "epsilon"), SMALL_WORDS)
def test_each_word_names_one_cell_and_blocks_are_whole(width: int, cells: int, epsilon: str) -> None:
    mechanism = KRR(cells, epsilon, width)
    for truth in range(cells):
        answers = []
        for word in range(2**width):
            with ScriptedEntropy(width, [word]) as entropy:
                answers.append(mechanism.randomize((truth,), entropy))
        others = [cell for cell in range(cells) if cell != truth]
        expected = [truth] * mechanism.keep + [cell for cell in others for _ in range(mechanism.other)]
        assert answers == expected


def test_ratio_is_bounded() -> None:
    """The worst ratio over the walked laws is `odds`, no more and no less."""
    for cells, epsilon in ((2, "1"), (5, "0.2"), (8, "3")):
        survey = dn.krr(symbols=cells, epsilon=epsilon)
        laws = [law_of(survey, value).probabilities for value in range(cells)]
        assert worst_ratio(laws) == survey.mechanism.odds


@pytest.mark.parametrize(("cells", "epsilon", "width"), [(2, 1, 64), (7, "0.5", 64), (5, 2, 8)])
def test_stated_channel_is_the_walked_one(cells: int, epsilon: object, width: int) -> None:
    mechanism = KRR(cells, epsilon, width)
    for truth in range(cells):
        stated = {response: mechanism.probability(response, (truth,)) for response in range(mechanism.outputs)}
        assert sum(stated.values()) == 1
        walked = walk(lambda entropy, cell=truth: mechanism.randomize((cell,), entropy), width=width)  # type: ignore[misc]
        assert walked.probabilities == stated
        assert walked.draws == {1}
        for column in range(cells):
            hit = sum((p for y, p in stated.items() if column in mechanism.columns_hit(y)), Fraction(0))
            assert hit == (mechanism.hit if column == truth else mechanism.miss)


def test_walker_and_enumeration_agree_on_the_mechanism() -> None:
    mechanism = KRR(3, 1, 8)
    assert law_by_enumeration(8, 1, lambda entropy: mechanism.randomize((1,), entropy)) == {
        0: Fraction(55, 256),
        1: Fraction(146, 256),
        2: Fraction(55, 256),
    }


def test_truth_must_be_one_cell() -> None:
    with ScriptedEntropy(64, []) as entropy, pytest.raises(RuntimeError, match="an answer must occupy 1 cells, got 2"):
        KRR(3, 1).randomize((0, 1), entropy)


def test_cells_that_words_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(SurveyError) as caught:
        KRR(200, "0.01", 8)
    assert str(caught.value) == (
        "cells must leave room for 8-bit words at epsilon 0.01, got 200; use fewer cells or a larger epsilon"
    )
