"""Least squares with weights: what they are, what they solve, and what they gain."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders.base import unbias
from deniable.decoders.least_squares import conjugate_gradients
from deniable.decoders.simplex import project
from deniable.decoders.weighted import cell_weights
from deniable.matrices import design_of


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
    design, u = design_of(survey), unbias(tally)
    once, twice = (
        dn.decode(tally, decoder=dn.WeightedLeastSquares(passes=n), constraint=dn.Unconstrained()) for n in (1, 2)
    )
    weights = cell_weights(tally, design, project(once.probabilities))
    left = design.adjoint(weights * (design.forward(twice.probabilities) - u))
    assert np.abs(left).max() < 1e-9 * np.abs(design.adjoint(weights)).max()
    iterated = conjugate_gradients(design, design.adjoint(weights * u), 1e-12, weights=weights)
    assert iterated is not None
    np.testing.assert_allclose(iterated, twice.probabilities, atol=1e-9)
    plain = dn.decode(tally, constraint=dn.Projected())
    np.testing.assert_array_equal(twice.raw, plain.raw)
    np.testing.assert_array_equal(twice.intervals(), plain.intervals())


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
    factored = dn.decode(tally, decoder=dn.WeightedLeastSquares()).probabilities
    monkeypatch.setattr(weighted, "_FACTOR_AT_MOST", 1)
    found = dn.decode(tally, decoder=dn.WeightedLeastSquares()).probabilities
    np.testing.assert_allclose(found, factored, atol=1e-9)


def test_heavy_cells_weigh_less_and_the_error_falls() -> None:
    survey = dn.orr(symbols=64, epsilon=4, cells=32, cohorts=64, seed=bytes(16))
    p, rng = dn.lab.zipf(64, 2), np.random.default_rng(4)
    tallies = [dn.simulate(survey, p, 10**6, rng) for _ in range(30)]
    weighted, plain = (
        np.mean([(e.probabilities - p) ** 2 for e in dn.decode_all(tallies, decoder=d, constraint=dn.Unconstrained())])
        for d in (dn.WeightedLeastSquares(), dn.LeastSquares())
    )
    assert weighted < 0.8 * plain


def test_missing_cohorts_and_open_alphabets() -> None:
    survey = dn.orr(epsilon=3, cells=8, cohorts=32, seed=bytes(16))
    tally = dn.simulate(survey, dn.lab.zipf(20, 1), 10**6, np.random.default_rng(5), symbols=range(20))
    counts, reports = tally.counts.copy(), tally.reports.copy()
    counts[3], reports[3] = 0, 0
    found = dn.decode(dn.Tally(survey, counts, reports), candidates=range(20), decoder=dn.WeightedLeastSquares())
    assert np.all(np.abs(found.probabilities - dn.lab.zipf(20, 1)) < 6 * found.standard_errors)
    assert found.unallocated is not None
    assert found.unallocated.value < 6 * found.unallocated.standard_error


def test_a_column_that_nobody_leads_to_has_an_ordinary_weight() -> None:
    survey = dn.sensitive(symbols=4, sensitive=[0], epsilon=1)
    tally = dn.Tally(survey, [[50, 30, 20, 0]])
    weights = cell_weights(tally, design_of(survey), np.array([0.5, 0.3, 0.2, 0.0]))
    assert np.isfinite(weights).all()
    assert (weights > 0).all()
