"""Limits: Clopper-Pearson by enumeration, the skewed ones against the laws they stand in for, and Holm's test."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import betaincinv, ndtr, ndtri
from scipy.stats import binom, chi2, poisson

import deniable as dn
from deniable.decoders.beta_law import ACCURACY, quantile
from deniable.decoders.limits import BinomialLimits, Collisions, SkewedLimits, check_level, holm


@pytest.mark.parametrize("n", [1, 7, 40])
def test_clopper_pearson_covers_by_enumeration(n: int) -> None:
    """Every count that can be, weighted by its probability: coverage and the size of the test, exactly."""
    base, slope = 0.2, 0.5
    hits = np.arange(n + 1.0)
    limits = BinomialLimits(hits, n, base, slope)
    for level in (0.9, 0.99):
        low, high = limits.between(1 - level).T
        for mass in np.linspace(0, 1, 41):
            law = binom.pmf(hits, n, base + slope * mass)
            assert law[(low <= mass + 1e-12) & (mass <= high + 1e-12)].sum() >= level - 1e-12
    law = binom.pmf(hits, n, base)
    for u in limits.above_zero():
        assert law[limits.above_zero() <= u + 1e-15].sum() <= u + 1e-12
    assert limits.exact


def coverage(low: Callable[[float], float], high: Callable[[float], float], n: int, p: float) -> float:
    """P(low(X) <= p <= high(X)) for X ~ Binomial(n, p) and limits that rise with X: where they cross p, by bisection.

    With so many reports the normal law with its first correction for skewness is the binomial one to 1e-12.
    """

    def below(count: float) -> float:
        z = (count + 0.5 - n * p) / np.sqrt(n * p * (1 - p))
        skewness = (1 - 2 * p) / np.sqrt(n * p * (1 - p))
        return float(ndtr(z) - skewness * (z**2 - 1) / 6 * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))

    def crossing(outside: Callable[[float], bool]) -> float:
        inner, outer = 0.0, 10.0  # standard deviations
        for _ in range(60):
            middle = (inner + outer) / 2
            inner, outer = (inner, middle) if outside(middle) else (middle, outer)
        return outer

    spread = np.sqrt(n * p * (1 - p))
    over = crossing(lambda z: low(np.floor(n * p + z * spread)) > p)
    under = crossing(lambda z: high(np.ceil(n * p - z * spread)) < p)
    return below(np.floor(n * p + over * spread) - 1) - below(np.ceil(n * p - under * spread))


@pytest.mark.parametrize("n", [10**12, 10**15, 10**17, 2**63 - 1])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.5])
def test_clopper_pearson_covers_at_any_n(n: int, p: float) -> None:
    def limit(side: int) -> Callable[[float], float]:
        return lambda hits: float(BinomialLimits(np.array([hits]), n, 0.0, 1.0).between(0.05)[0, side])

    assert 0.95 <= coverage(limit(0), limit(1), n, p) < 0.95 + 3e-5
    # And the test against a share of zero keeps its level.
    spread = np.sqrt(n * p * (1 - p))
    hits = n * p + spread * np.array([-ndtri(0.01), -50.0, 50.0])
    level, no, yes = BinomialLimits(hits, n, p, 1 - p).above_zero().tolist()
    assert level == pytest.approx(0.01, rel=1e-4)
    assert (no, yes) == (1.0, 0.0)


def test_limits_are_wider_than_their_quantiles_by_the_numerical_error() -> None:
    """Coverage cannot show this at any n: the error that it makes up for is a millionth of a standard deviation."""
    n = 10**9
    hits = np.array([3e8, 5e8])
    low, high = BinomialLimits(hits, n, 0.0, 1.0).between(0.05).T
    lower, spread = quantile(hits, n - hits + 1, 0.025)
    upper, _ = quantile(hits + 1, n - hits, 0.025, upper=True)
    np.testing.assert_allclose((lower - low) / spread, ACCURACY, rtol=1e-2)
    np.testing.assert_allclose((high - upper) / spread, ACCURACY, rtol=1e-2)


@pytest.mark.parametrize("n", [10**15, 10**17])
def test_plain_beta_quantiles_do_not_cover(n: int) -> None:
    """The mutant: what SciPy gives. NaN covers nothing."""
    short = []
    for p in (0.01, 0.3, 0.5):
        covered = coverage(
            lambda x: float(np.nan_to_num(betaincinv(x, n - x + 1, 0.025), nan=np.inf)),
            lambda x: float(np.nan_to_num(betaincinv(x + 1, n - x, 0.975), nan=-np.inf)),
            n,
            p,
        )
        short.append(not 0.95 <= covered < 0.95 + 3e-5)
    assert any(short)


def test_rare_hits_get_the_poisson_limit() -> None:
    """With hits of one kind and weight the far limit is Garwood's, for none, few and many."""
    hits = np.array([0.0, 1.0, 5.0, 40.0, 1e4])
    step = 0.01
    limits = SkewedLimits(hits * step, hits * step**2, hits * step**3, np.full(5, step))
    for alpha in (0.1, 0.01):
        high = limits.between(alpha)[:, 1]
        np.testing.assert_allclose(high, chi2.ppf(1 - alpha / 2, 2 * (hits + 1)) / 2 * step, rtol=1e-9)
    assert not limits.exact


def test_nominal_limits_of_a_count_are_jeffreys() -> None:
    """Quantiles of Gamma(hits + 1/2), and so they cover what they say on average, where Garwood's cover more."""
    hits, step = np.array([0.0, 1.0, 2.0, 10.0, 200.0]), 0.01
    exact = SkewedLimits(hits * step, hits * step**2, hits * step**3, np.full(5, step))
    low, high = exact.nominal().between(0.05).T
    assert high / step == pytest.approx(chi2.ppf(0.975, 2 * hits + 1) / 2)
    assert low / step == pytest.approx(np.where(hits > 0, chi2.ppf(0.025, 2 * hits + 1) / 2, 0.0))
    assert (high < exact.between(0.05)[:, 1]).all()
    mirrored = SkewedLimits(-exact.centre, exact.variance, -exact.third, exact.step).nominal().between(0.05)
    assert mirrored[1:] == pytest.approx(-np.stack([high, low], axis=-1)[1:])


def test_nominal_limits_cover_their_level_on_average_and_normal_ones_on_the_near_side_cover_more() -> None:
    """Counts of 2 to 12, on average over their means, by enumeration."""
    hits = np.arange(100.0)
    exact = SkewedLimits(hits, hits, hits, np.ones(100))
    means = np.linspace(2, 12, 401)
    law = poisson.pmf(hits[:, None], means)
    low, high = exact.nominal().between(0.05).T
    near = exact.between(0.05)[:, 0]

    def covered(low: Any) -> float:
        return float((law * ((low[:, None] <= means) & (means <= high[:, None]))).sum(axis=0).mean())

    assert 0.945 < covered(low) < 0.955
    assert covered(near) > 0.96


def test_without_skewness_the_limits_are_normal_and_mirrored_with_it() -> None:
    plain = SkewedLimits(np.array([0.3]), np.array([0.01]), np.array([0.0]), np.array([0.0]))
    np.testing.assert_allclose(plain.between(0.05), [[0.3 - 0.1959964, 0.3 + 0.1959964]], rtol=1e-6)
    right = SkewedLimits(np.array([0.3]), np.array([0.01]), np.array([5e-4]), np.array([0.05]))
    left = SkewedLimits(np.array([-0.3]), np.array([0.01]), np.array([-5e-4]), np.array([0.05]))
    np.testing.assert_allclose(right.between(0.05), -left.between(0.05)[:, ::-1])
    low, high = right.between(0.05)[0]
    assert high - 0.3 > 0.3 - low
    # The p-value is the level at which the lower limit is zero.
    for limits in (right, SkewedLimits(np.array([0.3]), np.array([0.01]), np.array([-5e-4]), np.array([0.05]))):
        p = float(limits.above_zero()[0])
        assert limits.between(2 * p)[0, 0] == pytest.approx(0, abs=1e-6)


def test_what_is_not_determined_has_no_limits() -> None:
    limits = SkewedLimits(np.array([0.3]), np.array([np.inf]), np.array([1e-4]), np.array([0.05]))
    assert limits.between(0.05).tolist() == [[-np.inf, np.inf]]
    assert limits.above_zero().tolist() == [1.0]


def met(unlisted: float, cohorts: int, cells: int, cohorts_seen: float | None = None) -> Collisions:
    """What unlisted answers do to one symbol, if all of its cohorts count alike."""
    moved, free = 1 / (cohorts * (1 - 1 / cells)), cohorts_seen or cohorts * (1 - 1 / cells)
    return Collisions(unlisted, np.array([moved]), np.array([moved / cells]), free, cohorts, 1 / cells)


def around(centre: float, collisions: Collisions, variance: float = 1e-6) -> SkewedLimits:
    return SkewedLimits(np.array([centre]), np.array([variance]), np.zeros(1), np.zeros(1), collisions)


def test_collisions_reach_as_far_as_they_happen() -> None:
    """Eight cohorts of 64 cells: one meeting in eight candidates; the lower limit must reach over one."""
    limits = around(0.4, met(0.25, 8, 64))
    one = 0.5 / 8
    assert one < 0.4 - limits.between(0.05)[0, 0] < 1.4 * one
    widths = [float(np.ptp(limits.between(alpha))) for alpha in (0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-6)]
    assert widths == sorted(widths)
    # The meetings that happen with probability alpha / 2 or less, by another road.
    for alpha in (0.2, 0.05, 1e-4):
        moved = 1 / (8 * 63 / 64)
        counted = 1.25 * moved * (binom.ppf(1 - alpha / 2, 8, 1 / 64) - 8 / 64)
        normal = moved / 64 * chi2.ppf(1 - alpha, 1)
        down, up = met(0.25, 8, 64).squares(np.array([alpha]))
        assert [float(down[0]), float(up[0])] == pytest.approx([max(counted**2, normal), normal], rel=1e-6)
    many = Collisions(1.0, np.array([1e-6]), np.array([1e-6]), 1e6, 10**6, 0.25)  # as good as normal
    down, up = many.squares(np.array([0.05]))
    assert float(down[0]) == pytest.approx(float(up[0]), rel=0.6)


def test_what_a_meeting_takes_from_the_residuals_is_given_back() -> None:
    """If the share were zero, all of the estimate would be somebody else's, and the residuals larger by that."""
    squares, limits = met(0.0, 3, 30).squares(np.array([0.05]))[0], around(0.3, met(0.0, 3, 30), 1e-4)
    apart = 0.3 - float(limits.between(0.05)[0, 0])
    moved, free = 1 / (3 * 29 / 30), 3 * 29 / 30
    assert apart**2 == pytest.approx(1.959964**2 * 1e-4 + float(squares[0]) * apart**2 / moved / free, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_with_one_cohort_a_candidate_is_not_told_from_an_unlisted_answer(alpha: float) -> None:
    """It has the candidate's cell once in thirty times: no level beyond that can be had, whatever the counts."""
    limits = around(0.5, met(0.0, 1, 30))
    low, high = limits.between(alpha)[0]
    assert low == 0.0
    assert high < 0.51
    assert limits.above_zero()[0] > 1 / 40
    assert around(0.5, met(0.0, 1, 100)).between(0.05)[0, 0] > 0.45  # one in a hundred is rarer than that level
    assert around(0.5, met(0.0, 16, 30)).above_zero()[0] < 1e-9


def test_holm_keeps_the_family() -> None:
    assert holm(np.array([]), 0.95).tolist() == []
    assert holm(np.array([0.01, 0.02, 0.9]), 0.95).tolist() == [True, True, False]
    # One by one: the first that stands protects the rest, however small theirs are allowed to be.
    assert holm(np.array([0.02, 0.03, 0.04]), 0.95).tolist() == [False, False, False]
    # All hypotheses true: the chance of any rejection is at most 5 %.
    p = np.random.default_rng(0).random((20_000, 10))
    wrong = np.mean([holm(row, 0.95).any() for row in p])
    assert wrong < 0.05 + 6 * np.sqrt(0.05 * 0.95 / 20_000)
    assert wrong > 0.04
    assert np.mean((p < 0.05).any(axis=1)) > 0.3  # without a correction


@pytest.mark.parametrize("level", [0, 1, 95, -1.0, float("nan"), True, "0.95"])
def test_levels_are_checked(level: Any) -> None:
    with pytest.raises(dn.DecodeError, match="level must be between 0 and 1, got"):
        check_level(level)
    estimate = dn.decode(dn.Tally(dn.krr(symbols=2, epsilon=1), [[6, 4]]))
    for ask in (estimate.intervals, estimate.significant, estimate.total([0]).interval):
        with pytest.raises(dn.DecodeError, match="level must be between 0 and 1, got"):
            ask(level)


def test_poisson_tails_of_the_skewed_law() -> None:
    """Rare hits by chance alone: the test for mass above zero rejects no more often than it says."""
    rate, step = 0.4, 0.01
    hits = np.arange(30.0)
    centre = (hits - rate) * step
    limits = SkewedLimits(centre, hits * step**2, hits * step**3, np.full(30, step))
    p, law = limits.above_zero(), poisson.pmf(hits, rate)
    for u in (0.1, 0.05, 0.01, 1e-3):
        assert law[p <= u].sum() <= u
