"""The exact covariance of least squares against simulation, and the standard errors that estimates carry."""

import numpy as np
import pytest

import deniable as dn
from deniable.survey import Survey
from deniable.theory.covariance import expected_inverse, least_squares_moments
from tests.statistical.harness import generator
from tests.surveys import LARGE, SEED, named, symbols_of

REPEATS = 800
PLAIN = dn.Projected()  # error bars are those of the unbiased estimate, whatever stands beside it
N = 20_000
COHORTS = {name: survey for name, survey in LARGE.items() if name.startswith("or")}


def draws(survey: Survey, name: str, per_cohort: bool) -> tuple[np.ndarray, np.ndarray]:
    p, rng = dn.lab.zipf(40, 1), generator(name)
    tallies = [dn.simulate(survey, p, N, rng, **named(survey, 40)) for _ in range(REPEATS)]
    candidates = symbols_of(survey, 40) if survey.symbols is None else None
    decoder = dn.LeastSquares(per_cohort=per_cohort)
    estimates = dn.decode_all(
        tallies, candidates=candidates, decoder=decoder, constraint=dn.Unconstrained(), complete=True
    )
    errors = np.stack([e.standard_errors for e in estimates[:20]])
    return np.stack([e.raw for e in estimates]), errors


def z_scores(sample: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> float:
    """The largest of |z| for the mean, and for the variance along each eigenvector of the claimed covariance."""
    values, vectors = np.linalg.eigh(covariance)
    real = values > 1e-9 * values[-1]
    along = (sample - mean) @ vectors[:, real] / np.sqrt(values[real])
    of_mean = np.abs(along.mean(axis=0)) * np.sqrt(len(sample))
    of_variance = np.abs((along**2).mean(axis=0) - 1) / np.sqrt(2 / len(sample))
    return float(max(of_mean.max(), of_variance.max()))


@pytest.mark.slow
@pytest.mark.parametrize("per_cohort", [True, False])
@pytest.mark.parametrize("name", COHORTS)
def test_covariance_matches_simulation(name: str, per_cohort: bool) -> None:
    survey = COHORTS[name]
    p = dn.lab.zipf(40, 1)
    sample, errors = draws(survey, f"{name}{per_cohort}", per_cohort)
    mean, covariance = least_squares_moments(survey, p, N, per_cohort=per_cohort, **named(survey, 40))
    assert z_scores(sample, mean, covariance) < 6
    # Mutants: an epsilon 10 % too large, a population shifted by one symbol, the noise of half the people.
    assert z_scores(sample, np.roll(mean, 1), covariance) > 6
    assert z_scores(sample, mean, covariance * 2) > 6
    np.testing.assert_allclose(errors.mean(axis=0), np.sqrt(np.diag(covariance)), rtol=0.05)


def test_the_joint_form_is_not_taken_for_the_other() -> None:
    """On a heavy symbol the two normalisations differ; each formula fits its own estimator only."""
    survey, p = COHORTS["orr-closed"], dn.lab.zipf(40, 3)
    rng = generator("heavy")
    tallies = [dn.simulate(survey, p, N, rng) for _ in range(REPEATS)]
    estimates = dn.decode_all(tallies, decoder=dn.LeastSquares(), constraint=dn.Unconstrained())
    sample = np.stack([e.raw for e in estimates])
    assert z_scores(sample, *least_squares_moments(survey, p, N)) < 6
    assert z_scores(sample, *least_squares_moments(survey, p, N, per_cohort=False)) > 6


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_intervals_cover(name: str) -> None:
    """Coverage of 95 % intervals over symbols and repeats: exact ones at least 95 %, normal ones close to it."""
    survey, p = LARGE[name], dn.lab.zipf(40, 1)
    rng, candidates = generator(f"cover {name}"), None
    if survey.symbols is None:
        candidates = symbols_of(survey, 40)
    covered = []
    for _ in range(100):
        estimate = dn.decode(
            dn.simulate(survey, p, N, rng, **named(survey, 40)), candidates=candidates, constraint=PLAIN
        )
        low, high = estimate.intervals(0.95).T
        covered.append((low <= p) & (p <= high))
    assert 0.93 < np.mean(covered) < 0.975
    assert np.mean([c.all() for c in covered]) < 0.8  # one symbol's level is not the level of all forty at once


@pytest.mark.slow
def test_covariance_of_bloom_filters_is_a_covariance() -> None:
    """h > 1 with little noise and few reports: no negative variance, no error of zero, and intervals that cover."""
    for epsilon, cells, cohorts, hashes in ((20, 6, 4, 4), (4, 8, 6, 3)):
        survey = dn.orappor(symbols=8, epsilon=epsilon, cells=cells, cohorts=cohorts, hashes=hashes, seed=SEED)
        p, rng, covered = dn.lab.zipf(8, 1), generator(f"bloom {epsilon}"), []
        for _ in range(200):
            estimate = dn.decode(dn.simulate(survey, p, 200, rng), constraint=dn.Unconstrained())
            known = np.isfinite(estimate.standard_errors)
            assert np.linalg.eigvalsh(estimate.covariance)[0] > -1e-9
            assert (estimate.standard_errors > 0).all()
            low, high = estimate.intervals(0.95).T
            covered.append(((low <= p) & (p <= high))[known].mean())
        assert np.mean(covered) > 0.91


@pytest.mark.parametrize("per_cohort", [True, False])
def test_standard_errors_hold_when_candidates_are_missing(per_cohort: bool) -> None:
    """One cell an answer: the spread of what was asked for does not depend on what was not."""
    survey, symbols = LARGE["orr-open"], symbols_of(LARGE["orr-open"], 40)
    p, rng, decoder = dn.lab.zipf(40, 1), generator(f"missing {per_cohort}"), dn.LeastSquares(per_cohort=per_cohort)
    tallies = [dn.simulate(survey, p, N, rng, symbols=symbols) for _ in range(REPEATS)]
    estimates = dn.decode_all(
        tallies, candidates=symbols[3:15], decoder=decoder, constraint=dn.Unconstrained(), complete=True
    )
    spread = np.stack([e.raw for e in estimates]).std(axis=0, ddof=1)
    errors = np.stack([e.standard_errors for e in estimates[:20]]).mean(axis=0)
    assert np.all(np.abs(spread / errors - 1) < 6 / np.sqrt(2 * REPEATS))
    assert not np.all(np.abs(spread / (errors * 1.2) - 1) < 6 / np.sqrt(2 * REPEATS))


@pytest.mark.slow
def test_simultaneous_intervals_cover_together() -> None:
    survey, p, rng = LARGE["orr-closed"], dn.lab.zipf(40, 1), generator("together")
    together = [
        bool(((low <= p) & (p <= high)).all())
        for low, high in (
            dn.decode(dn.simulate(survey, p, N, rng), constraint=PLAIN).intervals(0.95, simultaneous=True).T
            for _ in range(300)
        )
    ]
    assert np.mean(together) > 0.95 - 6 * np.sqrt(0.05 * 0.95 / 300)


def test_expected_inverse_is_exact() -> None:
    from scipy.stats import binom

    for n, cohorts in ((50, 7), (1000, 3), (10, 10)):
        k = np.arange(1, n + 1)
        mass = binom.pmf(k, n, 1 / cohorts)
        assert expected_inverse(n, cohorts) == pytest.approx((mass / k).sum() / mass.sum(), rel=1e-10)
    assert expected_inverse(10**9, 64) == pytest.approx(64e-9, rel=1e-6)
    # Where the sum hands over to the series, they agree; and the series takes no time.
    assert expected_inverse(64 * 10**6, 64) == pytest.approx(expected_inverse(64 * 10**6 + 1, 64), rel=1e-7)
    assert expected_inverse(10**15, 64) == pytest.approx(64e-15, rel=1e-12)


def test_moments_check_their_arguments() -> None:
    survey = COHORTS["orr-closed"]
    with pytest.raises(dn.DeniableError, match="p must have one entry for each of 40 symbols, got shape"):
        least_squares_moments(survey, [1.0], 10)
    with pytest.raises(dn.DeniableError, match="n must be at least 1, got 0"):
        least_squares_moments(survey, dn.lab.uniform(40), 0)
    with pytest.raises(dn.DecodeError, match=": empty cohorts have no closed form; use per_cohort=False"):
        least_squares_moments(survey, dn.lab.uniform(40), 127)
    assert least_squares_moments(survey, dn.lab.uniform(40), 1, per_cohort=False)[1].shape == (40, 40)
