"""Every decoder with every constraint on every survey it can read."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import Constraint, Decoder
from deniable.survey import Survey
from tests.surveys import LARGE, SEED, kinds, named, symbols_of

DECODERS = (
    dn.Inversion(),
    dn.LeastSquares(),
    dn.LeastSquares(per_cohort=False),
    dn.WeightedLeastSquares(),
    dn.Likelihood(),
    dn.EmpiricalBayes(),
    dn.EmpiricalBayes("l2"),
    dn.Screening(),
    dn.Contaminated(),
)
CONSTRAINTS = (dn.Unconstrained(), dn.Normalized(), dn.Projected())


def test_the_lists_are_complete() -> None:
    assert {type(d) for d in DECODERS} == kinds(Decoder)
    assert {type(c) for c in CONSTRAINTS} == kinds(Constraint)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@pytest.mark.parametrize("decoder", DECODERS, ids=repr)
@pytest.mark.parametrize("survey", LARGE.values(), ids=LARGE.keys())
def test_every_combination(survey: Survey, decoder: Decoder, constraint: Constraint) -> None:
    p = dn.lab.geometric(40, 8)
    tally = dn.simulate(survey, p, 10**7, np.random.default_rng(6), **named(survey, 40))
    candidates = symbols_of(survey, 40) if survey.symbols is None else None
    if isinstance(decoder, dn.Inversion) and survey.encoding.shared is None:
        with pytest.raises(dn.DecodeError, match="use LeastSquares"):
            dn.decode(tally, candidates=candidates, decoder=decoder, constraint=constraint)
        return
    if isinstance(decoder, dn.Screening) and survey.symbols is not None:
        with pytest.raises(dn.DecodeError, match="leave the decoder to decode"):
            dn.decode(tally, candidates=candidates, decoder=decoder, constraint=constraint)
        return
    estimate = dn.decode(tally, candidates=candidates, decoder=decoder, constraint=constraint)
    assert estimate.probabilities.shape == estimate.raw.shape == estimate.standard_errors.shape == (40,)
    assert (estimate.decoder, estimate.constraint, estimate.n) == (decoder, constraint, 10**7)
    if not isinstance(constraint, dn.Unconstrained) or isinstance(decoder, dn.Likelihood):
        assert estimate.probabilities.min() >= 0
        rest = estimate.unallocated.value if estimate.unallocated else 0.0
        assert rest >= 0
        assert estimate.probabilities.sum() + rest == pytest.approx(1, abs=1e-9)
    # Six standard errors on each of forty symbols: a false alarm is one in ten million.
    assert np.all(np.abs(estimate.raw - p) < 6 * estimate.standard_errors)
    assert (estimate.unallocated is None) == (survey.symbols is not None)
    if isinstance(decoder, dn.Screening):  # excluded candidates are in the rest, and in no covariance
        low, high = estimate.intervals(1 - 1e-9).T
        assert np.all((low <= p) & (p < high))
        return
    if estimate.unallocated:
        assert abs(estimate.unallocated.raw) < 6 * estimate.unallocated.standard_error
    low, high = estimate.intervals(1 - 1e-9).T
    assert np.all((low < p) & (p < high))
    covariance = estimate.covariance
    np.testing.assert_allclose(covariance, covariance.T)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), estimate.standard_errors, rtol=1e-6)


@pytest.mark.parametrize("size", [2, 3, 8, 17])
def test_closed_orr_with_one_cohort_decodes_as_krr(size: int) -> None:
    orr = dn.orr(symbols=size, epsilon=2, cells=size, cohorts=1, seed=SEED)
    krr = dn.krr(symbols=size, epsilon=2)
    counts = np.random.default_rng(size).multinomial(5000, dn.lab.zipf(size, 1))
    permuted = np.zeros((1, size), np.int64)
    permuted[0, [orr.encode(0, s)[0] for s in range(size)]] = counts
    for constraint in CONSTRAINTS:
        a = dn.decode(dn.Tally(orr, permuted), constraint=constraint)
        b = dn.decode(dn.Tally(krr, counts[None]), constraint=constraint)
        np.testing.assert_allclose(a.probabilities, b.probabilities, atol=1e-12)
        np.testing.assert_allclose(a.standard_errors, b.standard_errors, rtol=1e-3)  # 4 of 5000 are fitted


@pytest.mark.parametrize("size", [2, 3, 8, 17])
def test_closed_orappor_with_one_cohort_decodes_as_krappor(size: int) -> None:
    rappor = dn.orappor(symbols=size, epsilon=2, cells=size, cohorts=1, seed=SEED)
    plain = dn.krappor(symbols=size, epsilon=2)
    tally = dn.simulate(plain, dn.lab.zipf(size, 1), 5000, np.random.default_rng(size))
    permuted = np.zeros((1, size), np.int64)
    permuted[0, [rappor.encode(0, s)[0] for s in range(size)]] = tally.counts[0]
    for constraint in CONSTRAINTS:
        a = dn.decode(dn.Tally(rappor, permuted, tally.reports), constraint=constraint)
        b = dn.decode(tally, constraint=constraint)
        np.testing.assert_allclose(a.probabilities, b.probabilities, atol=1e-12)
        np.testing.assert_allclose(a.standard_errors, b.standard_errors, rtol=1e-3)  # 4 of 5000 are fitted
