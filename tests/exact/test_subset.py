"""Subset selection: the law of the sets, by walking 64-bit words and by playing every tuple of small words."""

from collections import Counter
from fractions import Fraction
from itertools import product
from random import Random

import pytest

import deniable as dn
from deniable.errors import SurveyError
from deniable.mechanisms import KRR, Subset, subset
from deniable.mechanisms.odds import at_most_exp
from deniable.survey import Alphabet, Direct, Survey
from tests.exact.laws import check_survey, law_of, published, worst_ratio
from tests.exact.scripted import RanDry, ScriptedEntropy
from tests.exact.walker import walk


def walked(mechanism: Subset, truth: int) -> dict[int, Fraction]:
    return walk(lambda entropy: mechanism.randomize((truth,), entropy), width=mechanism.width).probabilities


@pytest.mark.parametrize("epsilon", ["0.01", "1/3", "1", "2.5", "10"])
@pytest.mark.parametrize(("cells", "size"), [(3, 2), (4, 2), (4, 3), (5, 2), (6, 3)])
def test_law_of_the_bytes_is_the_published_channel(cells: int, size: int, epsilon: str) -> None:
    survey = dn.subset(symbols=cells, epsilon=epsilon, size=size)
    check_survey(survey, range(cells))
    worst = worst_ratio([law_of(survey, value).probabilities for value in range(cells)])
    assert worst == survey.mechanism.odds


def test_law_of_two_byte_reports() -> None:
    check_survey(dn.subset(symbols=9, epsilon=2, size=2), [0, 7, 8])


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("cells", [2, 3, 5])
def test_one_cell_is_krr(cells: int, epsilon: str) -> None:
    """At w = 1 the set is one cell: the same channel up to k - 1 words that k-RR rounds away and this does not."""
    sets, krr = Subset(cells, epsilon, 1), KRR(cells, epsilon)
    for truth in range(cells):
        for response, chance in walked(sets, truth).items():
            stated = krr.probability(response.bit_length() - 1, (truth,))
            assert response.bit_count() == 1
            assert abs(chance - stated) < Fraction(cells, 2**64)
    assert dn.subset(symbols=cells, epsilon=epsilon, size=1) == dn.krr(symbols=cells, epsilon=epsilon)


@pytest.mark.parametrize(
    ("width", "cells", "size", "epsilon"), [(8, 3, 1, "1"), (5, 3, 2, "2"), (7, 5, 1, "1/2"), (6, 5, 2, "1")]
)
def test_every_tuple_of_small_words(width: int, cells: int, size: int, epsilon: str) -> None:
    """Where a bound does not divide 2**width some words are rejected; the law given that none is, is the channel."""
    mechanism = Subset(cells, epsilon, size, width)
    survey = Survey(Alphabet.closed(cells), Direct(cells), mechanism)
    laws = []
    for truth in (0, cells - 1):
        seen: Counter[int] = Counter()
        for words in product(range(1 << width), repeat=size + 1):
            try:
                with ScriptedEntropy(width, words) as entropy:
                    seen[mechanism.randomize((truth,), entropy)] += 1
            except RanDry:
                pass
        total = sum(seen.values())
        law = {response: Fraction(times, total) for response, times in seen.items()}
        assert law == walked(mechanism, truth)
        assert set(published(survey, truth).values()) == set(law.values())
        laws.append(law)
    worst = max(max(a[y] / b[y], b[y] / a[y]) for a, b in [laws] for y in laws[0])
    assert worst == mechanism.odds
    assert at_most_exp(worst, mechanism.epsilon)


@pytest.mark.parametrize(("cells", "size"), [(2, 1), (5, 2), (6, 5), (40, 3), (300, 299), (5000, 40)])
def test_listed_and_kept_places_give_the_same_sets(monkeypatch: pytest.MonkeyPatch, cells: int, size: int) -> None:
    """Long lists with few draws keep only the places that moved: the same bytes from the same words."""
    random, mechanism = Random(cells), Subset(cells, 1, size)
    for _ in range(50):
        words, truth, found = [random.getrandbits(64) for _ in range(size + 1)], random.randrange(cells), []
        for few in (0, 1 << 20):
            monkeypatch.setattr(subset, "_FEW_FOR_ONE", few)
            with ScriptedEntropy(64, words) as entropy:
                found.append(mechanism.randomize((truth,), entropy))
        # A shuffle by the book.
        others = [cell for cell in range(cells) if cell != truth]
        for step in range(size):
            place = step + words[step + 1] % (cells - 1 - step)
            others[step], others[place] = others[place], others[step]
        drawn = [*others[: size - 1], truth if words[0] < mechanism.inside else others[size - 1]]
        assert found == [sum(1 << cell for cell in drawn)] * 2


@pytest.mark.parametrize(("cells", "size"), [(2, 1), (3, 2), (5, 2), (5, 4), (6, 3)])
def test_stated_channel_is_the_walked_one(cells: int, size: int) -> None:
    mechanism = Subset(cells, 1, size)
    for truth in range(cells):
        law = walked(mechanism, truth)
        stated = {y: mechanism.probability(y, (truth,)) for y in range(mechanism.outputs)}
        assert {y: p for y, p in stated.items() if p} == law
        assert {y for y in range(mechanism.outputs) if mechanism.allows(y)} == set(law)
        assert all(len(list(mechanism.columns_hit(y))) == mechanism.hits for y in law)

        def together(*columns: int) -> Fraction:
            return sum((p for y, p in law.items() if all(y >> c & 1 for c in columns)), Fraction(0))  # noqa: B023

        neither, one = mechanism.pairs
        for i in range(cells):
            assert together(i) == (mechanism.hit if i == truth else mechanism.miss)
            for j in range(i):
                assert together(i, j) == (one if truth in (i, j) else neither)


def test_work_does_not_depend_on_the_answer_or_on_the_branch() -> None:
    mechanism = Subset(6, 1, 3)
    for truth in range(6):
        for first in (0, mechanism.inside - 1, mechanism.inside, 2**64 - 1):
            with ScriptedEntropy(64, [first, 1, 2, 3]) as entropy:
                mechanism.randomize((truth,), entropy)


def test_a_set_that_small_words_cannot_favour_is_refused() -> None:
    with pytest.raises(SurveyError) as caught:
        Subset(200, "0.001", 99, 5)
    assert str(caught.value) == (
        "size must leave room for 5-bit words at epsilon 0.001, got 99 of 200 cells; use a larger epsilon"
    )
    for size, sentence in ((0, "size must be at least 1, got 0"), (5, "size must be at most 4, got 5")):
        with pytest.raises(SurveyError, match=sentence):
            dn.subset(symbols=5, epsilon=1, size=size)
