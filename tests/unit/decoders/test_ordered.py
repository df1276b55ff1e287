"""Shares in a natural order: exact linear algebra, evidence that compares, and what is not in order stays as it is."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm
from scipy.stats import t as student

import deniable as dn
from deniable.decoders.empirical_bayes import shrink
from deniable.decoders.ordered import _FREEDOM, _peaked, _Walk, smoothed
from deniable.decoders.prior import Observations, learned
from deniable.decoders.simplex import project

Floats = npt.NDArray[np.float64]


def noisy(p: Floats, deviation: float, seed: int = 0) -> Observations:
    error = np.random.default_rng(seed).normal(0, deviation, len(p))
    return Observations(p + error - error.mean(), np.full(len(p), deviation**2), 0.0)


def l1(found: Floats, p: Floats) -> float:
    return float(np.abs(found - p).sum())


@pytest.mark.parametrize("size", [3, 4, 12])
def test_bands_are_the_dense_matrices(size: int) -> None:
    rng = np.random.default_rng(size)
    values, variances, held = rng.normal(size=size), rng.uniform(0.5, 2, size), rng.uniform(0.1, 3, size - 2)
    walk = _Walk(values, variances, held)
    turns = np.diff(np.eye(size), 2, axis=0)
    inverse = np.linalg.inv(turns.T @ np.diag(held) @ turns + np.diag(1 / variances))
    np.testing.assert_allclose(walk.means, inverse @ (values / variances), rtol=1e-10)
    np.testing.assert_allclose(walk.uncertainty, np.diag(turns @ inverse @ turns.T), rtol=1e-10)
    np.testing.assert_allclose(walk.diagonal, np.diag(inverse), rtol=1e-10)


def test_evidence_is_the_density_of_the_estimates() -> None:
    """Under a normal law for level and slope, which is wide, less what that width itself costs."""
    rng, size, wide = np.random.default_rng(1), 9, 1e6
    values, variances, held = rng.normal(size=size), rng.uniform(0.5, 2, size), rng.uniform(0.1, 3, size - 2)
    turns = np.diff(np.eye(size), 2, axis=0)
    free = np.linalg.svd(turns)[2][-2:]
    spread = np.linalg.inv(turns.T @ np.diag(held) @ turns + free.T @ free / wide)
    density = multivariate_normal(np.zeros(size), spread + np.diag(variances)).logpdf(values)
    at_itself = norm(0, np.sqrt(variances)).logpdf(0).sum()
    walk = _Walk(values, variances, held)
    assert walk.evidence - walk.free == pytest.approx(density - at_itself + np.log(wide), abs=1e-4)


def test_the_bound_is_below_the_evidence_of_students_law_and_near_it() -> None:
    """Three symbols have one innovation, so the exact evidence is one integral."""
    values, variances, scale = np.array([0.1, 0.9, 0.2]), np.full(3, 0.04), 0.05
    found = _peaked(values, variances, np.ones(1), scale)
    innovation, noise = values[0] - 2 * values[1] + values[2], np.sqrt(6 * 0.04)
    law = student(_FREEDOM, scale=np.sqrt(scale))
    exact = np.log(quad(lambda d: norm(d, noise).pdf(innovation) * law.pdf(d), -8, 8, points=[innovation, 0])[0])
    # With normal innovations the integral is known; what is left are the units, the same for every law.
    units = [
        _Walk(values, variances, np.array([held])).evidence - norm(0, np.sqrt(noise**2 + 1 / held)).logpdf(innovation)
        for held in (0.1, 1.0, 50.0)
    ]
    np.testing.assert_allclose(units, units[0], atol=1e-9)
    assert exact + units[0] - 1 < found.evidence <= exact + units[0] + 1e-9


@pytest.mark.parametrize("name", ["geometric", "binomial", "ages"])
def test_neighbours_help_a_lot(name: str) -> None:
    ages = np.exp(-0.5 * ((np.arange(90) - 34) / 11) ** 2) + 0.4 * np.exp(-0.5 * ((np.arange(90) - 65) / 6) ** 2)
    p = {"geometric": dn.lab.geometric(256, 51), "binomial": dn.lab.binomial(256, 0.3), "ages": ages / ages.sum()}[name]
    seen = noisy(p, 0.3 * p.max())
    assert l1(shrink(seen, ordered=True), p) < 0.65 * l1(shrink(seen), p)


@pytest.mark.parametrize("name", ["zipf 2", "one peak"])
def test_a_peak_is_not_smoothed_away(name: str) -> None:
    p = dn.lab.zipf(200, 2) if name == "zipf 2" else np.full(200, 0.6 / 199)
    p[0] += 1 - p.sum()
    p = np.roll(p, 80)
    seen = noisy(p, 0.002)
    found = shrink(seen, ordered=True)
    assert found[80] == pytest.approx(p[80], abs=0.01)
    assert l1(found, p) < 1.02 * l1(shrink(seen), p)


def test_an_order_that_means_nothing_changes_nothing() -> None:
    p = np.random.default_rng(2).permutation(dn.lab.zipf(128, 1))
    for deviation in (0.003, 0.001):
        seen = noisy(p, deviation)
        assert smoothed(seen.values, seen.base).evidence < learned(seen).evidence - 3
        assert l1(shrink(seen, ordered=True), shrink(seen)) < 0.05 * l1(project(seen.values), p)


def test_it_is_a_decoder_for_every_design() -> None:
    p = dn.lab.binomial(100, 0.4)
    for survey in (
        dn.subset(symbols=100, epsilon=1),
        dn.krr(symbols=100, epsilon=3),
        dn.orr(symbols=100, epsilon=2, cells=8, cohorts=64, seed=bytes(16)),
        dn.orr(epsilon=2, cells=8, cohorts=64, seed=bytes(16)),
    ):
        symbols = range(100) if survey.alphabet.symbols is None else None
        tally = dn.simulate(survey, p, 10**5, np.random.default_rng(3), symbols=symbols)
        plain, ordered = (
            dn.decode(tally, candidates=symbols, decoder=dn.EmpiricalBayes(ordered=o)) for o in (False, True)
        )
        assert ordered.probabilities.min() >= 0
        left = 0.0 if ordered.unallocated is None else ordered.unallocated.value
        assert ordered.probabilities.sum() + left == pytest.approx(1, abs=1e-9)
        assert l1(ordered.probabilities, p) < 0.8 * l1(plain.probabilities, p)
        np.testing.assert_array_equal(ordered.intervals(), plain.intervals())
