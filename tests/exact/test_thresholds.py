"""The integers that define each channel keep their promise: checked with an exponential computed a second way."""

import math
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, Mechanism, Subset, parse_epsilon, verify
from deniable.mechanisms.odds import at_most_exp, exp_bounds, log_floor, nearest_exp, other_weight


@cache
def taylor(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals below and above e**epsilon: the partial sum, and the sum plus its last term (SCIENCE 1.3)."""
    total = term = Fraction(1)
    i = 0
    while term >= Fraction(1, 2**160) or i <= 2 * epsilon:
        i += 1
        term *= epsilon / i
        total += term
    return total, total + term


def check_promise(mechanism: Mechanism) -> None:
    """Integer inequalities only; `weight` counts the words of one block, `share` is the epsilon of one word."""
    span, epsilon = 2**mechanism.width, mechanism.epsilon
    if isinstance(mechanism, KRR):
        keep, weight, share = mechanism.keep, mechanism.other, epsilon
        if mechanism.occupied > 1:
            return check_design(mechanism)
        blocks = mechanism.cells - 1
    else:
        assert isinstance(mechanism, BitFlip)
        keep, weight, blocks = span - mechanism.flip, mechanism.flip, 1
        low, _ = taylor(epsilon)
        if mechanism.optimized:
            share = epsilon
            one, zero = span - mechanism.clear, mechanism.flip
            assert 2 * mechanism.clear == span
            assert one * (span - zero) * low.denominator <= (span - one) * zero * low.numerator
        else:
            share, b = epsilon / mechanism.distance, mechanism.distance
            assert mechanism.clear == mechanism.flip
            assert (keep**b) * low.denominator <= (weight**b) * low.numerator
    assert keep + blocks * weight == span
    assert keep >= weight >= 1
    low, high = taylor(share)
    assert keep * low.denominator <= weight * low.numerator
    # And the noise is not larger than it must be: one word fewer in each block would break the promise.
    assert weight == 1 or (span - blocks * (weight - 1)) * high.denominator > (weight - 1) * high.numerator
    assert at_most_exp(mechanism.odds, epsilon)
    spent = mechanism.epsilon_spent
    assert Fraction(spent) <= epsilon
    assert spent <= float(epsilon)
    assert math.isclose(spent, math.log(mechanism.odds), rel_tol=1e-12, abs_tol=1e-15)


def check_design(mechanism: KRR) -> None:
    """s blocks of `keep` and b - s of `other` words are all words; and the least such `other` that is private."""
    span, s, rest = 2**mechanism.width, mechanism.occupied, mechanism.cells - mechanism.occupied
    assert s * mechanism.keep + rest * mechanism.other == span
    assert mechanism.keep >= mechanism.other >= 1
    low, high = taylor(mechanism.epsilon)
    assert mechanism.keep * low.denominator <= mechanism.other * low.numerator
    below = mechanism.other - s // math.gcd(s, rest)  # the next smaller one that shares the words out
    assert (span - rest * below) % s == 0
    assert below < 1 or (span - rest * below) // s * high.denominator > below * high.numerator
    assert at_most_exp(mechanism.odds, mechanism.epsilon)
    assert Fraction(mechanism.epsilon_spent) <= mechanism.epsilon


def check_subset(mechanism: Subset) -> None:
    """SCIENCE 1.3: T (k - w) <= e**epsilon (M - T) w, and one word more inside would break it."""
    span, w, rest = 2**mechanism.width, mechanism.size, mechanism.cells - mechanism.size
    low, high = taylor(mechanism.epsilon)
    inside = mechanism.inside
    assert 1 <= inside < span
    assert inside * rest * low.denominator <= (span - inside) * w * low.numerator
    more = inside + 1
    assert more * rest * high.denominator > (span - more) * w * high.numerator
    assert at_most_exp(mechanism.odds, mechanism.epsilon)
    assert Fraction(mechanism.epsilon_spent) <= mechanism.epsilon


GRID = [Fraction(text) for text in ("0.01", "0.1", "1/3", "0.5", "0.6931", "1", "1.1", "2", "3", "5", "10", "20")]


# Hadamard matrices in one and in several blocks, projective planes and spaces.
DESIGNS = [
    (4, 2),
    (256, 128),
    (65536, 32768),
    (24, 4),
    (4096, 16),
    (7, 3),
    (13, 4),
    (133, 12),
    (7240, 381),
    (65521, 251),
]


@pytest.mark.parametrize("epsilon", GRID, ids=str)
def test_thresholds_keep_the_promise(epsilon: Fraction) -> None:
    for cells in (2, 3, 4, 7, 16, 256, 4097, 65536):
        check_promise(KRR(cells, epsilon))
    for cells, hashes in ((2, 1), (8, 1), (8, 2), (8, 3), (128, 2), (5, 4), (4096, 8)):
        check_promise(BitFlip(cells, epsilon, min(2 * hashes, cells)))
        check_promise(BitFlip(cells, epsilon, optimized=True))
    for cells, size in ((2, 1), (5, 2), (10, 4), (100, 38), (256, 69), (1000, 269), (65536, 17626)):
        check_subset(Subset(cells, epsilon, size))
    for cells, occupied in DESIGNS:
        check_promise(KRR(cells, epsilon, occupied=occupied))


@given(
    epsilon=st.one_of(
        st.decimals("0.001", "12", places=3).map(Fraction),
        st.fractions("1/97", 8, max_denominator=97),
        st.floats(0.001, 12).map(parse_epsilon),
    ),
    cells=st.integers(2, 5000),
    hashes=st.integers(1, 6),
)
def test_thresholds_keep_the_promise_at_any_epsilon(epsilon: Fraction, cells: int, hashes: int) -> None:
    check_promise(KRR(cells, epsilon))
    check_promise(BitFlip(cells, epsilon, min(2 * hashes, cells)))
    check_promise(BitFlip(cells, epsilon, optimized=True))


@pytest.mark.parametrize("width", [5, 8, 10, 12])
def test_thresholds_keep_the_promise_in_small_words(width: int) -> None:
    for epsilon in GRID:
        for cells in (2, 3, 5, 7):
            try:
                check_promise(KRR(cells, epsilon, width))
            except SurveyError as refusal:
                assert "must leave room" in str(refusal)  # noqa: PT017
            check_promise(BitFlip(cells, epsilon, 2, width))
        for cells, occupied in ((4, 2), (8, 2), (7, 3)):
            try:
                check_promise(KRR(cells, epsilon, width, occupied=occupied))
            except SurveyError as refusal:
                assert "must leave room" in str(refusal)  # noqa: PT017
            check_promise(BitFlip(cells, epsilon, 2, width, optimized=True))


VECTORS = [
    ("1", 2, 13485650502877570762, 4961093570831980854, "4.0e-20"),
    ("1", 10, 4279078617824395096, 1574185050653906280, "2.2e-18"),
    ("0.1", 2, 9684156715447991831, 8762587358261559785, "1.6e-19"),
    ("3", 256, 1346900180028530566, 67058211347768710, "8.6e-17"),
    ("5", 4096, 645173934398352466, 4347147775167570, "6.2e-15"),
    ("2", 1000000, 136303155768796, 18446626217180, "1.4e-9"),
    ("40", 2, 18446744073709551537, 79, "8.0e-3"),
]


@pytest.mark.parametrize(("epsilon", "cells", "keep", "other", "lost"), VECTORS)
def test_vectors_of_the_science_notes(epsilon: str, cells: int, keep: int, other: int, lost: str) -> None:
    mechanism = KRR(cells, epsilon)
    assert (mechanism.keep, mechanism.other) == (keep, other)
    check_promise(mechanism)
    with localcontext() as context:
        context.prec = 60
        gap = Decimal(epsilon) - (Decimal(keep) / Decimal(other)).ln()
        # One digit after the point, as the notes print it.
        assert f"{gap:.1e}" == lost


@pytest.mark.parametrize(
    ("width", "cells", "epsilon", "keep", "other"),
    [(8, 3, "1", 146, 55), (8, 5, "2", 164, 23), (10, 7, "1/2", 220, 134), (12, 16, "3", 2341, 117)],
)
def test_small_words_of_the_science_notes(width: int, cells: int, epsilon: str, keep: int, other: int) -> None:
    mechanism = KRR(cells, epsilon, width)
    assert (mechanism.keep, mechanism.other) == (keep, other)


@pytest.mark.parametrize("epsilon", GRID, ids=str)
def test_bit_flips_are_symmetric_unary_encoding(epsilon: Fraction) -> None:
    """SCIENCE 1.3: T0 = ceil(M / (e**(epsilon/2) + 1)), T1 = M - T0, T1 * (M - T0) <= e**epsilon * (M - T1) * T0."""
    span = 2**64
    flip = BitFlip(16, epsilon).flip
    low, high = taylor(epsilon / 2)
    assert math.ceil(span / (low + 1)) == math.ceil(span / (high + 1)) == flip
    whole, _ = taylor(epsilon)
    one = span - flip
    assert one * (span - flip) * whole.denominator <= (span - one) * flip * whole.numerator


@given(st.fractions(0, 20, max_denominator=1000), st.integers(0, 300))
def test_exponential_is_bracketed(x: Fraction, bits: int) -> None:
    low, high = exp_bounds(x, bits)
    below, above = taylor(x)
    assert low <= above * 2**bits
    assert below * 2**bits <= high
    assert high - low <= 40 * (20 + bits) * max(1, math.ceil(above))


@given(st.fractions("1/1000", 10, max_denominator=1000), st.integers(1, 150))
def test_comparison_with_the_exponential_is_exact(epsilon: Fraction, bits: int) -> None:
    low, high = taylor(epsilon)
    step = Fraction(1, 2**bits)
    assert at_most_exp(low, epsilon)
    assert not at_most_exp(high, epsilon)
    assert at_most_exp(low - step, epsilon)
    assert not at_most_exp(high + step, epsilon)


def test_epsilon_zero_means_no_difference() -> None:
    assert at_most_exp(Fraction(1), Fraction(0))
    assert not at_most_exp(Fraction(2**64 + 1, 2**64), Fraction(0))


def test_spent_is_never_rounded_above_the_ceiling() -> None:
    tenth = Fraction(1, 10)
    odds = KRR(2, tenth).odds
    assert log_floor(odds, tenth) == math.nextafter(0.1, 0)
    assert other_weight(tenth, 2, 64) == KRR(2, "0.1").other


def test_spent_would_show_a_broken_promise() -> None:
    """A channel that spends more than it should must say so, at once, and not hide behind what was asked for."""
    assert log_floor(Fraction(8), Fraction(1)) == pytest.approx(math.log(8), rel=1e-15)


def test_verify_accepts_what_is_private_and_nothing_else() -> None:
    for mechanism in (KRR(2, 1), KRR(5, "0.3"), KRR(7, 3)):
        k = mechanism.cells
        rows = [[mechanism.keep if x == y else mechanism.other for y in range(k)] for x in range(k)]
        assert verify(rows, mechanism.epsilon)
        rows[0][0], rows[0][1] = rows[0][0] + mechanism.other // 10**9, rows[0][1] - mechanism.other // 10**9
        assert not verify(rows, mechanism.epsilon)
    assert verify([[5, 0, 3], [4, 0, 4]], 1)
    assert not verify([[5, 1, 2], [4, 0, 4]], 1)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "channel rows must have equal lengths and equal, positive sums"),
        ([[1, 2], [1, 1]], "channel rows must have equal lengths and equal, positive sums"),
        ([[1, 1], [2]], "channel rows must have equal lengths and equal, positive sums"),
        ([[0, 0], [0, 0]], "channel rows must have equal lengths and equal, positive sums"),
        ([[3, -1], [1, 1]], "channel weights must not be negative"),
    ],
)
def test_verify_refuses_what_is_not_a_channel(rows: list[list[int]], sentence: str) -> None:
    with pytest.raises(SurveyError, match=f"^{sentence}$"):
        verify(rows, 1)


def near_log(number: Fraction, digits: int) -> Fraction:
    """ln(number) cut after so many digits: e to its power is nearer to `number` than the first bounds can tell."""
    with localcontext() as context:
        context.prec = digits + 10
        exact = (Decimal(number.numerator) / number.denominator).ln()
        return Fraction(exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_FLOOR))


@pytest.mark.parametrize("digits", [30, 60, 120])
def test_what_is_nearer_than_the_first_bounds_is_decided_with_more_bits(digits: int) -> None:
    epsilon = near_log(Fraction(5, 2), digits)  # e**epsilon is just below 5/2
    step = Fraction(1, 10**digits)
    assert (nearest_exp(epsilon), nearest_exp(epsilon + step)) == (2, 3)
    assert (at_most_exp(Fraction(5, 2), epsilon), at_most_exp(Fraction(5, 2), epsilon + step)) == (False, True)
    # Two cells and an 8-bit word: 64 of 256 is the least weight from e**epsilon = 3 on, 65 just below.
    epsilon = near_log(Fraction(3), digits)
    assert (other_weight(epsilon, 2, 8), other_weight(epsilon + step, 2, 8)) == (65, 64)
