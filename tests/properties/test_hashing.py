"""Hashing and permutations over random keys: bijections, rectangles that fit, and cells of even size."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.survey.hashing import feistel_sides, mix64, permute, stream
from tests.properties.strategies import seeds, words64


@given(words64, st.integers(2, 700))
def test_permutation_is_a_bijection(key: int, size: int) -> None:
    assert sorted(permute(key, size, x) for x in range(size)) == list(range(size))


@settings(max_examples=30)
@given(seeds, st.integers(2, 300), st.integers(2, 40), st.integers(0, 7))
def test_closed_cells_differ_in_size_by_at_most_one(seed: bytes, size: int, cells: int, cohort: int) -> None:
    survey = dn.orr(symbols=size, epsilon=1, cells=cells, cohorts=8, seed=seed)
    filled = Counter(survey.encode(cohort, symbol)[0] for symbol in range(size))
    sizes = [filled[cell] for cell in range(cells)]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(2, 2**24))
def test_rectangle_of_the_permutation_hardly_exceeds_it(size: int) -> None:
    a, b = feistel_sides(size)
    assert a >= b >= 1
    assert 0 <= a * b - size < a


@given(st.lists(words64, min_size=2, max_size=50, unique=True), words64)
def test_mixing_is_injective(words: list[int], key: int) -> None:
    assert len({mix64(word) for word in words}) == len(words)
    assert all(stream(key, word) == mix64((key + (word + 1) * 0x9E3779B97F4A7C15) % 2**64) for word in words)
