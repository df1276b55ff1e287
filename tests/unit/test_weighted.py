"""Least squares with weights: what they are, what they solve, and what they gain."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders.least_squares import conjugate_gradients
from deniable.decoders.weighted import cell_weights
from deniable.design import design_of


def test_weights_are_one_over_the_variance_of_a_cell() -> None:
    survey = dn.orr(symbols=6, epsilon=1, cells=3, cohorts=4, seed=bytes(16))
    p = dn.lab.zipf(6, 1)
    tally = dn.simulate(survey, p, 10**5, np.random.default_rng(0))
    weights = cell_weights(tally, design_of(survey), p)
    m = float(survey.mechanism.miss) + float(survey.mechanism.hit - survey.mechanism.miss) * design_of(survey).forward(
        p
    )
    r = float(survey.mechanism.hit - survey.mechanism.miss)
    np.testing.assert_allclose(weights, tally.reports[:, None] * r**2 / m)
    bits = dn.orappor(symbols=6, epsilon=1, cells=3, cohorts=4, hashes=1, seed=bytes(16))
    tally = dn.simulate(bits, p, 10**5, np.random.default_rng(0))
    r = float(bits.mechanism.hit - bits.mechanism.miss)
    m = float(bits.mechanism.miss) + r * design_of(bits).forward(p)
    np.testing.assert_allclose(cell_weights(tally, design_of(bits), p), tally.reports[:, None] * r**2 / (m * (1 - m)))


def test_it_solves_the_weighted_equations() -> None:
    survey = dn.orr(symbols=20, epsilon=2, cells=4, cohorts=32, seed=bytes(16))
    tally = dn.simulate(survey, dn.lab.zipf(20, 1), 10**6, np.random.default_rng(1))
    estimate = dn.decode(tally, decoder=dn.WeightedLeastSquares(), constraint=dn.Unconstrained())
    from deniable.decoders.base import unbias

    design = design_of(survey)
    assert estimate.weights is not None
    left = design.adjoint(estimate.weights * (design.forward(estimate.raw) - unbias(tally)))
    assert np.abs(left).max() < 1e-9 * np.abs(design.adjoint(estimate.weights)).max()
    iterated = conjugate_gradients(
        design, design.adjoint(estimate.weights * unbias(tally)), 1e-12, weights=estimate.weights
    )
    assert iterated is not None
    np.testing.assert_allclose(iterated, estimate.raw, atol=1e-9)


@pytest.mark.parametrize("name", ["krr", "subset", "krappor", "oue"])
def test_one_cell_a_symbol_leaves_nothing_to_weigh(name: str) -> None:
    survey = getattr(dn, name)(symbols=12, epsilon=1)
    tally = dn.simulate(survey, dn.lab.zipf(12, 1), 10**5, np.random.default_rng(2))
    weighted, plain = (dn.decode(tally, decoder=d) for d in (dn.WeightedLeastSquares(), dn.Inversion()))
    np.testing.assert_array_equal(weighted.raw, plain.raw)
    np.testing.assert_array_equal(weighted.standard_errors, plain.standard_errors)


def test_large_systems_are_iterated(monkeypatch: pytest.MonkeyPatch) -> None:
    from deniable.decoders import weighted

    survey = dn.orr(symbols=60, epsilon=2, cells=8, cohorts=64, seed=bytes(16))
    tally = dn.simulate(survey, dn.lab.zipf(60, 1), 10**6, np.random.default_rng(3))
    factored = dn.decode(tally, decoder=dn.WeightedLeastSquares()).raw
    monkeypatch.setattr(weighted, "_FACTOR_AT_MOST", 1)
    np.testing.assert_allclose(dn.decode(tally, decoder=dn.WeightedLeastSquares()).raw, factored, atol=1e-9)


def test_error_bars_are_narrower_where_cells_are_heavy() -> None:
    survey = dn.orr(symbols=64, epsilon=4, cells=32, cohorts=64, seed=bytes(16))
    tally = dn.simulate(survey, dn.lab.zipf(64, 2), 10**6, np.random.default_rng(4))
    weighted, plain = (dn.decode(tally, decoder=d) for d in (dn.WeightedLeastSquares(), dn.LeastSquares()))
    assert np.median(weighted.standard_errors / plain.standard_errors) < 0.9


def test_missing_cohorts_and_open_alphabets() -> None:
    survey = dn.orr(epsilon=3, cells=8, cohorts=32, seed=bytes(16))
    tally = dn.simulate(survey, dn.lab.zipf(20, 1), 10**6, np.random.default_rng(5), symbols=range(20))
    counts, reports = tally.counts.copy(), tally.reports.copy()
    counts[3], reports[3] = 0, 0
    found = dn.decode(dn.Tally(survey, counts, reports), candidates=range(20), decoder=dn.WeightedLeastSquares())
    assert np.all(np.abs(found.raw - dn.lab.zipf(20, 1)) < 6 * found.standard_errors)
    assert found.unallocated is not None
    assert abs(found.unallocated.raw) < 6 * found.unallocated.standard_error
