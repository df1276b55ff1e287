"""The reference table: n times the expected squared l2 loss of every mechanism at the uniform population.

The numbers were computed from closed forms with the real e**epsilon, and printed with four digits. Here they come out
of surveys: their own integers, their own hit and miss. k-RR and k-RAPPOR equal the paper's propositions as well.
"""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.mechanisms import Subset
from deniable.survey import Hadamard, Projective, Survey

# k, epsilon: SS with its w
SETS: dict[tuple[int, str], tuple[str, int]] = {
    (10, "0.5"): ("127.2", 4),
    (10, "1"): ("30.00", 3),
    (10, "2"): ("5.922", 1),
    (100, "0.5"): ("1536", 38),
    (100, "1"): ("360.9", 27),
    (100, "2"): ("70.97", 12),
    (100, "3"): ("21.63", 5),
    (100, "5"): ("2.789", 1),
    (1000, "1"): ("3675", 269),
    (1000, "3"): ("220.1", 47),
    (1000, "5"): ("27.28", 7),
}

# k, epsilon: PGR with its order and dimension, HR with the number of blocks that its authors' rule gives
DESIGNS: dict[tuple[int, str], tuple[str, int, int, str]] = {
    (10, "0.5"): ("137.5", 3, 3, "166.6"),
    (10, "1"): ("32.00", 3, 3, "61.9"),
    (10, "2"): ("6.725", 11, 2, "13.7"),
    (100, "0.5"): ("1558", 3, 5, "1667"),
    (100, "1"): ("370.4", 3, 5, "597"),
    (100, "2"): ("73.66", 11, 3, "140"),
    (100, "3"): ("23.38", 17, 3, "46.8"),
    (100, "5"): ("2.812", 101, 2, "6.44"),
    (1000, "1"): ("3763", 3, 7, "5574"),
    (1000, "3"): ("222.8", 19, 4, "449"),
    (1000, "5"): ("29.18", 139, 3, "78.2"),
}

# k, epsilon: k-RR, SUE (k-RAPPOR), OUE, OLH
TABLE: dict[tuple[int, str], tuple[str, str, str, str]] = {
    (10, "0.5"): ("242.5", "160.1", "158.6", "160.9"),
    (10, "1"): ("41.86", "40.08", "38.73", "39.04"),
    (10, "2"): ("5.922", "10.11", "9.141", "9.076"),
    (100, "0.5"): ("23830", "1593", "1569", "1585"),
    (100, "1"): ("3469", "392.8", "370.3", "371.4"),
    (100, "2"): ("274.5", "93.06", "74.40", "74.38"),
    (100, "3"): ("38.54", "37.96", "24.05", "24.04"),
    (100, "5"): ("2.789", "10.73", "4.722", "4.719"),
    (1000, "1"): ("339500", "3919", "3685", "3694"),
    (1000, "3"): ("2848", "370.7", "222.6", "222.6"),
    (1000, "5"): ("60.52", "98.42", "29.32", "29.31"),
}
each_row = pytest.mark.parametrize(("k", "epsilon"), TABLE)


def is_printed(value: float, printed: str) -> bool:
    """Whether `value` rounds to the number as it is printed: to its last decimal place, or to four digits."""
    whole, _, decimals = printed.partition(".")
    place = -len(decimals) if decimals else max(len(whole) - 4, 0)
    return abs(value - float(printed)) <= 0.5000001 * 10.0**place


def risk(survey: Survey) -> float:
    """n times the risk; n is large so that nothing but rounding depends on it."""
    k, n = len(survey.alphabet), 10**6
    return n * dn.theory.l2_risk(survey, np.full(k, 1 / k), n)


@each_row
def test_kary_and_unary(k: int, epsilon: str) -> None:
    krr, sue, oue, _ = TABLE[k, epsilon]
    assert is_printed(risk(dn.krr(symbols=k, epsilon=epsilon)), krr)
    assert is_printed(risk(dn.krappor(symbols=k, epsilon=epsilon)), sue)
    assert is_printed(risk(dn.oue(symbols=k, epsilon=epsilon)), oue)


@each_row
def test_subset_selection(k: int, epsilon: str) -> None:
    """The preset's own size is the table's; where that is 1 it is k-RR; and nothing else in the table is better."""
    printed, size = SETS[k, epsilon]
    survey = dn.subset(symbols=k, epsilon=epsilon)
    assert (survey.mechanism.size if isinstance(survey.mechanism, Subset) else 1) == size
    assert (survey == dn.krr(symbols=k, epsilon=epsilon)) == (size == 1)
    assert is_printed(risk(survey), printed)
    for preset in (dn.krr, dn.krappor, dn.oue, dn.hadamard, dn.projective):
        assert risk(survey) <= risk(preset(symbols=k, epsilon=epsilon)) * (1 + 1e-9)


@pytest.mark.parametrize("k", [2, 3, 5, 20, 47])
def test_subset_size_is_the_best_of_all(k: int) -> None:
    for epsilon in ("0.1", "0.5", "1", "2", "4"):
        chosen = risk(dn.subset(symbols=k, epsilon=epsilon))
        for size in range(1, k):
            assert chosen <= risk(dn.subset(symbols=k, epsilon=epsilon, size=size)) * (1 + 1e-9)


@each_row
def test_projective_geometry(k: int, epsilon: str) -> None:
    """The preset's own choice of order and dimension is the table's."""
    printed, order, dimension, _ = DESIGNS[k, epsilon]
    survey = dn.projective(symbols=k, epsilon=epsilon)
    assert isinstance(survey.encoding, Projective)
    assert (survey.encoding.order, survey.encoding.dimension) == (order, dimension)
    assert is_printed(risk(survey), printed)


def authors_risk(survey: Survey) -> float:
    """n times the risk of the authors' a (C_x - Block_x / 2) if every symbol stood in a block that is full."""
    k, m = len(survey.alphabet), survey.mechanism
    assert isinstance(survey.encoding, Hadamard)
    size, hit, miss = survey.cells // survey.encoding.blocks, float(m.hit), float(m.miss)
    block = min(1.0, (size - 1) / k)
    scale = 4 / (size * (hit - miss))
    of_block = size * miss + size / 2 * (hit - miss) * block
    return k * ((scale / 2) ** 2 * of_block - 1 / k**2)


@each_row
def test_hadamard(k: int, epsilon: str) -> None:
    """The table has the authors' number of blocks, each of them full. Ours share the symbols out evenly, and where a
    block has one symbol the estimate leaves its second cell out, so the risk is never larger."""
    blocks = 2 ** math.floor(math.log2(min(math.exp(float(epsilon)), 2 * k)))
    survey = dn.hadamard(symbols=k, epsilon=epsilon, blocks=blocks)
    assert is_printed(authors_risk(survey), DESIGNS[k, epsilon][3])
    assert risk(survey) <= authors_risk(survey) * (1 + 1e-9)
    assert blocks > 1 or risk(survey) == pytest.approx(authors_risk(survey))
    best = dn.hadamard(symbols=k, epsilon=epsilon)
    assert risk(best) <= risk(survey) * (1 + 1e-12)


def test_one_block_beats_the_rule_at_epsilon_one() -> None:
    assert is_printed(risk(dn.hadamard(symbols=10, epsilon=1, blocks=1)), "46.7")
    assert is_printed(risk(dn.hadamard(symbols=100, epsilon=1, blocks=1)), "468")


@each_row
def test_local_hashing(k: int, epsilon: str) -> None:
    """OLH draws a fresh hash function for every report: the support of a symbol is hit with keep, others with 1 / g."""
    survey = dn.olh(epsilon=epsilon, seed=bytes(16))
    g = survey.cells
    assert g == round(math.exp(float(epsilon))) + 1
    value = dn.theory.support_l2(np.full(k, 1 / k), 1, hit=float(survey.mechanism.hit), miss=1 / g)
    assert is_printed(value, TABLE[k, epsilon][3])


@pytest.mark.parametrize(("k", "epsilon"), [(10, "0.5"), (10, "2"), (100, "1"), (100, "3")])
def test_orr_contains_local_hashing(k: int, epsilon: str) -> None:
    """As cohorts grow, least squares over O-RR's cohorts comes down to the risk of a hash function for every report."""
    olh = float(TABLE[k, epsilon][3])
    ratios = []
    for cohorts in (256, 2048):
        survey = dn.olh(epsilon=epsilon, cohorts=cohorts, seed=bytes(16))
        assert survey == dn.orr(epsilon=epsilon, cells=survey.cells, cohorts=cohorts, seed=bytes(16))
        n = 10**7
        risk = n * dn.theory.l2_risk(survey, np.full(k, 1 / k), n, symbols=range(k))
        excess = (k - 1) / (cohorts * (survey.cells - 1))
        assert risk / olh < 1.05 / (1 - excess)
        ratios.append(risk / olh)
    # Least squares knows which cells each symbol shares, so it may even be a little better than counting support.
    assert 0.85 < ratios[1] < 1.03
    assert ratios[1] < ratios[0] + 0.01


def test_uneven_flips_win_from_a_closed_form_on() -> None:
    """Privacy adds k s / (s - 1)**2 to k-RAPPOR's risk, s = e**(eps/2), and 4 k s**2 / (s**2 - 1)**2 + 1 to OUE's."""
    for epsilon in ("0.1", "1", "3", "6"):
        s = math.exp(float(epsilon) / 2)
        for k in (2, 3, 4, 5, 10, 22, 23, 100):
            even, uneven = risk(dn.krappor(symbols=k, epsilon=epsilon)), risk(dn.oue(symbols=k, epsilon=epsilon))
            assert (uneven <= even) == (k >= s + 2 + 1 / s)
