"""Conditions for accurate decoding: closed forms against exact counting, huge sizes, and the rank of the real H."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable import theory
from deniable.matrices import Design, design_of


def dense(design: Design) -> npt.NDArray[np.float64]:
    """H itself, k C x S."""
    matrix = np.zeros((design.cohorts, design.cells + 1, design.symbols))
    for cohort, rows in enumerate(design.table):
        for row in rows:
            matrix[cohort, row, np.arange(design.symbols)] = 1
    return matrix[:, : design.cells].reshape(-1, design.symbols)


@pytest.mark.parametrize(("symbols", "tuples"), [(1, 4), (2, 4), (3, 4), (4, 3), (5, 3)])
def test_distinguishable_strings_by_counting_every_hash(symbols: int, tuples: int) -> None:
    alone = sum(sum(h.count(x) == 1 for x in h) for h in product(range(tuples), repeat=symbols))
    expected = Fraction(alone, tuples**symbols)
    assert theory.distinguishable_strings(symbols, tuples, 1) == pytest.approx(float(expected), rel=1e-14)
    assert theory.recoverable_mass(symbols, tuples, 1) == pytest.approx(float(expected / symbols), rel=1e-14)


def test_only_k_to_the_c_counts() -> None:
    assert theory.recoverable_mass(300, 2, 12) == pytest.approx(theory.recoverable_mass(300, 64, 2), rel=1e-13)
    assert theory.recoverable_mass(300, 2, 12) == pytest.approx(theory.recoverable_mass(300, 4096, 1), rel=1e-13)


def test_huge_sizes_neither_overflow_nor_lose_their_digits() -> None:
    assert theory.recoverable_mass(10**6, 2**24, 2**20) == 1.0
    # k**C = 2**100: the lost mass is (S - 1) / 2**100, far below the last digit of 1.
    assert theory.distinguishable_strings(2**40, 2, 100) == pytest.approx(2.0**40, rel=1e-15)
    # 10**8 strings on 10**6 tuples: practically none stays alone; -ln(1 - 1e-6) = 1.00000050000033...e-6.
    assert theory.recoverable_mass(10**8, 10, 6) == pytest.approx(
        math.exp(-(10**8 - 1) * 1.0000005000003333e-6), rel=1e-9
    )


@pytest.mark.parametrize("symbols", [2, 3, 256, 4096, 10**9])
@pytest.mark.parametrize("mass", [0.01, 0.5, 0.9, 0.999999])
def test_threshold_is_where_the_mass_is_reached(symbols: int, mass: float) -> None:
    tuples = theory.cells_to_the_cohorts(symbols, mass)
    assert (symbols - 1) * math.log1p(-1 / tuples) == pytest.approx(math.log(mass), rel=1e-9)
    for cells in (2, 10, 4096):
        fewest = theory.cohorts_for_mass(symbols, cells, mass)
        assert theory.recoverable_mass(symbols, cells, fewest) >= mass * (1 - 1e-12)
        assert fewest == 1 or theory.recoverable_mass(symbols, cells, fewest - 1) < mass * (1 + 1e-12)


def test_threshold_by_hand() -> None:
    # Two strings: P = 1 - 1/K, so K = 1 / (1 - P).
    assert theory.cells_to_the_cohorts(2, 0.75) == pytest.approx(4, rel=1e-14)
    assert theory.cohorts_for_mass(2, 2, 0.75) == 2
    assert theory.cohorts_for_mass(2, 4, 0.75) == 1


@pytest.mark.parametrize(("cells", "cohorts"), [(2, 1), (2, 2), (2, 7), (3, 5), (4, 4), (8, 3), (16, 2)])
def test_rank_of_the_real_matrix_reaches_the_bound(cells: int, cohorts: int) -> None:
    bound = theory.rank_bound(cells, cohorts)
    assert bound == cohorts * (cells - 1) + 1
    names = [f"candidate {i}" for i in range(8 * bound + 40)]
    survey = dn.orr(epsilon=1, cells=cells, cohorts=cohorts, seed=bytes(16))
    matrix = dense(design_of(survey, names))
    rank = np.linalg.matrix_rank(matrix)
    assert rank == bound
    assert cohorts == 1 or rank < theory.equations(cells, cohorts)
    # The reason: every cohort's rows add up to the same all-ones row.
    assert (matrix.reshape(cohorts, cells, -1).sum(axis=1) == 1).all()


@pytest.mark.parametrize(("cells", "cohorts"), [(2, 3), (3, 4), (8, 2)])
def test_permutations_share_the_bound(cells: int, cohorts: int) -> None:
    survey = dn.orr(symbols=20 * cells, epsilon=1, cells=cells, cohorts=cohorts, seed=bytes(16))
    assert np.linalg.matrix_rank(dense(design_of(survey))) == theory.rank_bound(cells, cohorts)


def test_bloom_filters_are_not_tied_by_row_sums() -> None:
    survey = dn.orappor(epsilon=1, cells=6, cohorts=3, hashes=2, seed=bytes(16))
    rank = np.linalg.matrix_rank(dense(design_of(survey, [f"candidate {i}" for i in range(400)])))
    assert rank == theory.rank_bound(6, 3, hashes=2) == theory.equations(6, 3) == 18


def test_fewest_cohorts_for_a_unique_solution() -> None:
    for symbols in (1, 2, 3, 10, 256, 4096):
        for cells in (2, 3, 16, 5000):
            fewest = theory.cohorts_for_rank(symbols, cells)
            assert theory.rank_bound(cells, fewest) >= symbols
            assert fewest == 1 or theory.rank_bound(cells, fewest - 1) < symbols


def test_permutations_keep_at_least_as_much_apart() -> None:
    size, cells, cohorts = 64, 4, 4
    alone = []
    for seed in range(40):
        survey = dn.orr(symbols=size, epsilon=1, cells=cells, cohorts=cohorts, seed=seed.to_bytes(16, "big"))
        alone.append(size - sum(len(group) for group in design_of(survey).twins))
    # 40 seeds, each between 0 and 64 with a spread below 8: the mean is off by less than 8 at six standard errors.
    assert np.mean(alone) > theory.distinguishable_strings(size, cells, cohorts) - 8
