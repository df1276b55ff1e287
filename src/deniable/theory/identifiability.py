"""When O-RR can be decoded at all: which strings hashing keeps apart, and whether the linear system has one solution.

Paper: supplement, "Conditions for Accurate Decoding under k-RR", for independent uniform hashes into k cells in C
cohorts and a list of S candidates. Permutations (closed alphabets) collide a little less. Telling strings apart is
necessary, not sufficient: four strings with the cells (0,0), (0,1), (1,0), (1,1) in two cohorts of two cells are all
different, and one direction of p is still invisible. Everything is computed from ln(k**C), which never overflows.
"""

import math

from deniable.errors import DeniableError
from deniable.theory.arguments import count_of


def recoverable_mass(symbols: int, cells: int, cohorts: int) -> float:
    """The expected share of probability on strings that no other candidate imitates: (1 - k**-C)**(S - 1).

    It is also the probability that a given string is distinguishable, whatever the population.

    Paper: supplement, conditions for accurate decoding.
    Claim: equals the mean over seeds of the mass outside `Design.twins`.
    Proof: tests/statistical/test_theory.py::test_real_hashes_keep_the_expected_strings_apart

    >>> round(recoverable_mass(256, 4, 8), 6), recoverable_mass(256, 4096, 1000)
    (0.996117, 1.0)
    """
    others = count_of("symbols", symbols, 1) - 1
    log_tuples = count_of("cohorts", cohorts, 1) * math.log(count_of("cells", cells, 2))
    return math.exp(others * math.log1p(-math.exp(-log_tuples)))


def distinguishable_strings(symbols: int, cells: int, cohorts: int) -> float:
    """The expected number of distinguishable strings among S candidates: S (1 - k**-C)**(S - 1).

    Paper: supplement, conditions for accurate decoding.
    Claim: equals the mean over seeds of the candidates outside `Design.twins`.
    Proof: tests/statistical/test_theory.py::test_real_hashes_keep_the_expected_strings_apart

    >>> distinguishable_strings(3, 2, 1)
    0.75
    """
    return symbols * recoverable_mass(symbols, cells, cohorts)


def cells_to_the_cohorts(symbols: int, mass: float) -> float:
    """The k**C from which on the expected recoverable mass is at least `mass`: 1 / (1 - mass**(1 / (S - 1))).

    Paper: supplement, conditions for accurate decoding.
    Claim: `recoverable_mass` with k**C just at this value is `mass`.
    Proof: tests/unit/theory/test_identifiability.py::test_threshold_is_where_the_mass_is_reached

    >>> round(cells_to_the_cohorts(256, 0.99))
    25373
    """
    others = count_of("symbols", symbols, 2) - 1
    if not 0 < mass < 1:
        raise DeniableError(f"mass must be between 0 and 1, both excluded, got {mass}; no finite k**C recovers it all")
    return -1 / math.expm1(math.log(mass) / others)


def cohorts_for_mass(symbols: int, cells: int, mass: float) -> int:
    """The fewest cohorts whose k**C reaches `cells_to_the_cohorts`.

    >>> cohorts_for_mass(256, 4, 0.99)
    8
    """
    log_needed = math.log(cells_to_the_cohorts(symbols, mass))
    # At an exact power of k rounding may leave the ratio just above an integer: forgive the last digits.
    return max(1, math.ceil(log_needed / math.log(count_of("cells", cells, 2)) - 1e-12))


def equations(cells: int, cohorts: int) -> int:
    """k C: how many equations the least-squares system has. The paper asks for S of them; `rank_bound` are independent.

    Paper: supplement, conditions for accurate decoding, "k C >= S".

    >>> equations(2, 2)
    4
    """
    return count_of("cells", cells, 2) * count_of("cohorts", cohorts, 1)


def rank_bound(cells: int, cohorts: int, *, hashes: int = 1) -> int:
    """The most candidates that can be estimated separately: C (k - 1) + 1, the largest rank of H.

    With one hash each cohort's k rows of H add up to the all-ones row, so C - 1 of the k C equations repeat what
    another cohort already says. Bloom filters (`hashes` above 1) fill a varying number of cells and have no such
    tie: there the bound is k C.

    Paper: supplement, "k C >= S", corrected.
    Claim: rank H <= C (k - 1) + 1, reached by the real hashes once there are enough candidates.
    Proof: tests/unit/theory/test_identifiability.py::test_rank_of_the_real_matrix_reaches_the_bound

    >>> rank_bound(2, 2), rank_bound(8, 64)
    (3, 449)
    """
    if count_of("hashes", hashes, 1) > 1:
        return equations(cells, cohorts)
    return count_of("cohorts", cohorts, 1) * (count_of("cells", cells, 2) - 1) + 1


def cohorts_for_rank(symbols: int, cells: int) -> int:
    """The fewest cohorts whose `rank_bound` reaches S: below that no amount of data determines p.

    >>> cohorts_for_rank(4, 2), rank_bound(2, 3)
    (3, 4)
    """
    return max(1, -(-(count_of("symbols", symbols, 1) - 1) // (count_of("cells", cells, 2) - 1)))
