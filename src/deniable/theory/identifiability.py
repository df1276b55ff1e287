"""When O-RR can be decoded: which strings have different cells, and whether the linear system has one solution.

Paper: supplement, "Conditions for Accurate Decoding under k-RR", for independent uniform hashes into k cells in C
cohorts and a list of S candidates. Permutations (closed alphabets) collide a little less. Telling strings apart is
necessary, not sufficient: four strings with the cells (0,0), (0,1), (1,0), (1,1) in two cohorts of two cells are all
different, and one direction of p is still not determined. Everything is computed from ln(k**C), which never overflows.
"""

import math

from deniable.errors import DeniableError
from deniable.theory.arguments import count_of


def recoverable_mass(symbols: int, cells: int, cohorts: int) -> float:
    """The expected share of probability on distinguishable strings: (1 - k**-C)**(S - 1).

    A string is distinguishable if no other candidate has the same cell in every cohort. The value is also the
    probability that a given string is distinguishable, whatever the population.

    Paper: supplement, conditions for accurate decoding.
    Claim: equals the mean over seeds of the mass outside `Design.twins`.
    Proof: tests/statistical/test_theory.py::test_real_hashes_keep_the_expected_strings_apart

    Parameters
    ----------
    symbols : int
        S: strings in the list of candidates.
    cells : int
        k: cells of each cohort, at least 2.
    cohorts : int
        C: cohorts, at least 1.

    Returns
    -------
    float
        A share from 0 to 1.

    Raises
    ------
    DeniableError
        If an argument is outside its range.

    Examples
    --------
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

    Parameters
    ----------
    symbols, cells, cohorts
        As for `recoverable_mass`.

    Returns
    -------
    float
        A number from 0 to S.

    Raises
    ------
    DeniableError
        If an argument is outside its range.

    Examples
    --------
    >>> distinguishable_strings(3, 2, 1)
    0.75
    """
    return symbols * recoverable_mass(symbols, cells, cohorts)


def cells_to_the_cohorts(symbols: int, mass: float) -> float:
    """The k**C from which on the expected recoverable mass is at least `mass`: 1 / (1 - mass**(1 / (S - 1))).

    Paper: supplement, conditions for accurate decoding.
    Claim: `recoverable_mass` with k**C just at this value is `mass`.
    Proof: tests/unit/theory/test_identifiability.py::test_threshold_is_where_the_mass_is_reached

    Parameters
    ----------
    symbols : int
        S: strings in the list of candidates.
    mass : float
        The expected share of probability on distinguishable strings, between 0 and 1.

    Returns
    -------
    float
        The least k**C.

    Raises
    ------
    DeniableError
        If an argument is outside its range.

    Examples
    --------
    >>> round(cells_to_the_cohorts(256, 0.99))
    25373
    """
    others = count_of("symbols", symbols, 2) - 1
    if not 0 < mass < 1:
        raise DeniableError(f"mass must be between 0 and 1, both excluded, got {mass}; no finite k**C recovers it all")
    return -1 / math.expm1(math.log(mass) / others)


def cohorts_for_mass(symbols: int, cells: int, mass: float) -> int:
    """The fewest cohorts whose k**C reaches `cells_to_the_cohorts`.

    Parameters
    ----------
    symbols : int
        S: strings in the list of candidates.
    cells : int
        k: cells of each cohort, at least 2.
    mass : float
        The expected share of probability on distinguishable strings, between 0 and 1.

    Returns
    -------
    int
        The least C, at least 1.

    Raises
    ------
    DeniableError
        If an argument is outside its range.

    Examples
    --------
    >>> cohorts_for_mass(256, 4, 0.99)
    8
    """
    log_needed = math.log(cells_to_the_cohorts(symbols, mass))
    # At an exact power of k rounding may leave the ratio just above an integer: forgive the last digits.
    return max(1, math.ceil(log_needed / math.log(count_of("cells", cells, 2)) - 1e-12))


def equations(cells: int, cohorts: int) -> int:
    """k C: the equations of the least-squares system. The paper asks for S of them; only `rank_bound` are independent.

    Paper: supplement, conditions for accurate decoding, "k C >= S".

    Parameters
    ----------
    cells : int
        k: cells of each cohort, at least 2.
    cohorts : int
        C: cohorts, at least 1.

    Returns
    -------
    int
        k C.

    Raises
    ------
    DeniableError
        If an argument is outside its range.

    Examples
    --------
    >>> equations(2, 2)
    4
    """
    return count_of("cells", cells, 2) * count_of("cohorts", cohorts, 1)


def rank_bound(cells: int, cohorts: int, *, hashes: int = 1) -> int:
    """The most candidates that can be estimated separately: C (k - 1) + 1, the largest rank of H.

    With one hash each cohort's k rows of H add up to the all-ones row, so C - 1 of the k C equations depend on the
    others. Bloom filters (`hashes` above 1) fill a varying number of cells and have no such dependency: there the bound
    is k C.

    Paper: supplement, "k C >= S", corrected.
    Claim: rank H <= C (k - 1) + 1, reached by the real hashes once there are enough candidates.
    Proof: tests/unit/theory/test_identifiability.py::test_rank_of_the_real_matrix_reaches_the_bound

    Parameters
    ----------
    cells : int
        k: cells of each cohort, at least 2.
    cohorts : int
        C: cohorts, at least 1.
    hashes : int
        Hash functions of each cohort, at least 1.

    Returns
    -------
    int
        The largest possible rank of H.

    Raises
    ------
    DeniableError
        If an argument is outside its range.

    Examples
    --------
    >>> rank_bound(2, 2), rank_bound(8, 64)
    (3, 449)
    """
    if count_of("hashes", hashes, 1) > 1:
        return equations(cells, cohorts)
    return count_of("cohorts", cohorts, 1) * (count_of("cells", cells, 2) - 1) + 1


def cohorts_for_rank(symbols: int, cells: int) -> int:
    """The fewest cohorts whose `rank_bound` reaches S: below that no amount of data determines p.

    Parameters
    ----------
    symbols : int
        S: strings in the list of candidates.
    cells : int
        k: cells of each cohort, at least 2.

    Returns
    -------
    int
        The least C, at least 1.

    Raises
    ------
    DeniableError
        If an argument is outside its range.

    Examples
    --------
    >>> cohorts_for_rank(4, 2), rank_bound(2, 3)
    (3, 4)
    """
    return max(1, -(-(count_of("symbols", symbols, 1) - 1) // (count_of("cells", cells, 2) - 1)))
