"""Planted reports: gains against published formulas and against counting every report, and what the words say."""

from itertools import combinations, product
from math import exp

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import Planted
from deniable.decoders.goodness import NullLaw
from deniable.survey import Survey
from tests.surveys import LARGE, SMALL, named, symbols_of

K, R = 100, 5


def decoded(survey: Survey, p: np.ndarray, n: int = 100_000) -> dn.Estimate:
    size = len(p)
    tally = dn.simulate(survey, p, n, np.random.default_rng(1), **named(survey, size))
    given = symbols_of(survey, size) if survey.symbols is None else None
    return dn.decode(tally, candidates=given, constraint=dn.Projected())


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("beta", [0.01, 0.05])
def test_gains_of_cao_jia_and_gong(epsilon: float, beta: float) -> None:
    """k-RR: b (1 - f) + b (k - r) / (E - 1). OUE: b (2 r - f) + 2 b r / (E - 1). f: what the targets had."""
    e, targets = exp(epsilon), list(range(40, 40 + R))
    krr = decoded(dn.krr(symbols=K, epsilon=epsilon), dn.lab.zipf(K, 1))
    share = float(krr.raw[targets].sum())
    found = krr.planted(targets, share=beta)
    assert found.gain == pytest.approx(beta * (1 - share) + beta * (K - R) / (e - 1), rel=1e-9)
    oue = decoded(dn.oue(symbols=K, epsilon=epsilon), dn.lab.zipf(K, 1))
    share = float(oue.raw[targets].sum())
    assert oue.planted(targets, share=beta).gain == pytest.approx(
        beta * (2 * R - share) + 2 * beta * R / (e - 1), rel=1e-9
    )
    assert found.lie == pytest.approx(beta * (1 - float(krr.raw[targets].sum())))
    assert found.careful == pytest.approx(found.gain)  # a report of k-RR has nothing to hide behind


def test_local_hashing_of_one_symbol() -> None:
    """OLH: b (2 - f) + 2 b / (E - 1) where e + 1 cells are a whole number; the same in every cohort."""
    cells, epsilon = 4, np.log(3.0)
    survey = dn.orr(symbols=K, epsilon=float(epsilon), cells=cells, cohorts=1024, seed=bytes(16))
    estimate = decoded(survey, dn.lab.zipf(K, 1), 10**8)
    found = estimate.planted([40], share=0.01)
    formula = 0.01 * (2 - float(estimate.raw[40])) + 0.02 / (3 - 1)
    assert found.careful == pytest.approx(formula, rel=0.02)  # evenly spread over the cohorts, as its users are
    assert formula < found.gain < 1.4 * formula  # some cohorts are worth more than others


def test_influence_of_one_report() -> None:
    """The published table of (1 - q) / (p - q), in units of an honest report: 100 symbols, epsilon 1."""
    p = np.full(K, 1 / K)
    surveys = {
        58.6: dn.krr(symbols=K, epsilon=1),
        2.54: dn.krappor(symbols=K, epsilon=1),
        3.16: dn.oue(symbols=K, epsilon=1),
        2.16: dn.hadamard(symbols=K, epsilon=1, blocks=1),
        2.75: dn.projective(symbols=K, epsilon=1),
    }
    for published, survey in surveys.items():
        estimate = decoded(survey, p)
        # The table has what a report adds; the gain takes off what an honest one would have added.
        found = estimate.planted([3], share=0.01).gain / 0.01 + float(estimate.raw[3])
        assert found == pytest.approx(published, rel=0.25 if "rojective" in survey.title else 0.01), survey.title


def reports_of(survey: Survey) -> list[np.ndarray]:
    """Every report that a collector accepts, as the columns that it hits."""
    k, mechanism = survey.columns, survey.mechanism
    if mechanism.one_column:
        return list(np.eye(k))
    if mechanism.hits is not None:
        return [np.isin(np.arange(k), some).astype(float) for some in combinations(range(k), mechanism.hits)]
    return [np.array(bits, float) for bits in product((0, 1), repeat=k)]


ONE_COHORT = [name for name, survey in SMALL.items() if survey.cohorts == 1]


@pytest.mark.parametrize("name", ONE_COHORT)
def test_no_report_gains_more(name: str) -> None:
    """Enumerated: decode the tally with a hundredth of its reports replaced by each report that there is."""
    survey = SMALL[name]
    size = len(symbols_of(survey))
    n = 10**6
    tally = dn.simulate(survey, np.full(size, 1 / size), n, np.random.default_rng(4), **named(survey))
    estimate = dn.decode(tally, decoder=dn.LeastSquares(), constraint=dn.Unconstrained())
    design, (miss, r) = estimate.design, survey.mechanism.affine
    seen = tally.counts / n

    def raw(frequencies: np.ndarray) -> np.ndarray:
        return np.linalg.lstsq(design._patterns(0).T, ((frequencies - miss) / r).ravel(), rcond=None)[0]

    for targets in ([0], [size - 1], [0, size - 1]):
        before = raw(seen)[targets].sum()
        gains = [raw(0.99 * seen + 0.01 * report)[targets].sum() - before for report in reports_of(survey)]
        found = estimate.planted([estimate.symbols[i] for i in targets], share=0.01)
        assert found.gain == pytest.approx(max(gains), rel=1e-6, abs=1e-9)
        assert found.careful <= found.gain + 1e-9


@pytest.mark.parametrize("name", LARGE)
def test_every_mechanism_has_its_numbers(name: str) -> None:
    estimate = decoded(LARGE[name], dn.lab.zipf(40, 1), 20_000)
    some = [estimate.symbols[i] for i in (30, 31, 32)]
    before = 0.0
    for share in (0.01, 0.05, 0.1):
        one, three = estimate.planted(some[:1], share=share), estimate.planted(some, share=share)
        assert one.careful <= one.gain * (1 + 1e-9)
        assert one.gain <= estimate.planted(share=share).gain * (1 + 1e-9)
        assert one.lie < one.gain
        assert three.reports == round(share * 20_000)
        for chance in (one.noticed, one.careful_noticed, three.noticed, three.careful_noticed):
            assert 0 <= chance <= 1
        assert one.noticed >= before - 1e-3  # more planted reports are never seen less
        before = one.noticed
    assert estimate.diagnostics.influence == pytest.approx(estimate.planted(share=0.01).gain)
    assert estimate.diagnostics.noticed == pytest.approx(estimate.planted(share=0.01).noticed)


def test_krr_has_no_redundancy_but_shares_below_zero() -> None:
    """Uniform shares hide an attack; where most symbols have no share, all of those fall below zero."""
    survey = dn.krr(symbols=K, epsilon=1)
    flat, steep = decoded(survey, np.full(K, 1 / K)), decoded(survey, np.eye(K)[0])
    assert flat.diagnostics.fit is None
    assert flat.planted([5], share=0.01).noticed < 0.01
    assert steep.planted([5], share=0.05).noticed > 0.5
    planted = np.rint(0.95 * steep.tally.counts).astype(int)
    planted[0, 5] += 5_000
    alarms = dn.decode(dn.Tally(survey, planted)).diagnostics.alarms
    assert alarms[0].startswith("Shares are below zero by more than chance allows (chi-square ")


def test_words() -> None:
    loud = Planted(("a",), 0.005, 10_000, gain=0.016, lie=0.005, noticed=0.999, careful=0.0155, careful_noticed=0.02)
    assert loud.words == (
        "50 of 10,000 reports move one share by up to 1.6 points; a check would almost surely notice. Made to look "
        "ordinary they move it by 1.55; a check would notice with probability 0.02. As many lies move it by 0.5."
    )
    several = Planted((1, 2), 0.1, 1000, gain=0.3, lie=0.1, noticed=0.0, careful=0.3, careful_noticed=0.0)
    assert several.words == (
        "100 of 1,000 reports move 2 shares together by up to 30 points; no check would notice. As many lies move "
        "them by 10."
    )


def test_refusals() -> None:
    estimate = dn.decode(dn.Tally(dn.warner(epsilon=1), [[60, 40]]))
    with pytest.raises(dn.DecodeError) as caught:
        estimate.planted(share=1.5)
    assert str(caught.value) == ("share must be above 0 and below 1, got 1.5; 0.01 is one planted report in a hundred")
    with pytest.raises(dn.DecodeError, match=r"^symbols must hold at least one symbol, got none$"):
        estimate.planted([])
    with pytest.raises(dn.DecodeError, match=r"^symbols must be a collection of symbols, got one str$"):
        estimate.planted("yes")
    with pytest.raises(dn.DecodeError, match=r"^symbol must be one of the 2 that were decoded$"):
        estimate.planted(["maybe"])


def test_power_of_a_chi_square() -> None:
    """Against draws of a noncentral chi-square, and where a bound replaces it."""
    from scipy.stats import chi2, ncx2

    law = NullLaw(7)
    for away in (0.0, 5.0, 20.0, 60.0):
        assert law.power(away) == pytest.approx(ncx2.sf(chi2.isf(1e-3, 7), 7, away) if away else 1e-3, abs=1e-9)
    assert law.power(-1e-12) == pytest.approx(1e-3)
    assert law.power(2e4) == 1.0
    wide = NullLaw(7, excess=1000.0)
    assert wide.power(0.0) < 1e-3
    assert wide.power(1e5) == pytest.approx(1.0)
