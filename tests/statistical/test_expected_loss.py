"""`expected_loss` against simulated surveys of every preset, and of parameters that are no survey yet.

Everything is compared at six standard errors: by chance one comparison in 5e8 fails, and there are about 4,000.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.planner.catalogue import families
from deniable.planner.options import Option, PlanLimits
from deniable.survey import Survey
from deniable.theory import expected_loss, mechanism_model
from tests.statistical.harness import generator
from tests.surveys import LARGE, SIZE, symbols_of

Floats = npt.NDArray[np.float64]

REPEATS, N, MOST = 400, 20_000, 6.0
P = dn.lab.zipf(SIZE, 1)
SURVEYS = {"warner": dn.warner(epsilon=1), **LARGE}
QUICK = ("krr", "oue", "orr-closed")
EVERY = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SURVEYS]


def candidates(survey: Survey) -> tuple[object, ...] | None:
    """The symbols that p is about, where the alphabet is open."""
    return symbols_of(survey, SIZE) if survey.symbols is None else None


def population(survey: Survey) -> Floats:
    return P if survey.symbols is None or len(survey.symbols) == SIZE else np.array([0.3, 0.7])


@lru_cache(maxsize=2)
def simulated(name: str) -> tuple[Floats, Floats]:
    """Unbiased estimates of many surveys, and the same projected."""
    survey, rng = SURVEYS[name], generator(f"expected loss {name}")
    p = population(survey)
    tallies = [dn.simulate(survey, p, N, rng, symbols=candidates(survey)) for _ in range(REPEATS)]
    found = dn.decode_all(
        tallies, candidates=candidates(survey), constraint=dn.Projected(), complete=survey.symbols is None
    )
    return np.stack([one.raw for one in found]), np.stack([one.probabilities for one in found])


def worst_z(sample: Floats, mean: Floats, covariance: Floats) -> float:
    """The largest |z| of the mean, and of the variance along each eigenvector of the claimed covariance."""
    values, vectors = np.linalg.eigh(covariance)
    real = values > 1e-9 * values[-1]
    along = (sample - mean) @ vectors[:, real] / np.sqrt(values[real])
    of_mean = np.abs(along.mean(axis=0)) * np.sqrt(len(sample))
    of_variance = np.abs((along**2).mean(axis=0) - 1) / np.sqrt(2 / len(sample))
    return float(max(of_mean.max(), of_variance.max()))


def z_of(losses: Floats, claimed: float) -> float:
    return float(abs(losses.mean() - claimed) / (losses.std(ddof=1) / np.sqrt(len(losses))))


@pytest.mark.parametrize("name", EVERY)
def test_covariance_is_that_of_simulated_surveys(name: str) -> None:
    survey, (raw, _) = SURVEYS[name], simulated(name)
    p = population(survey)
    expected = expected_loss(survey, p, N, symbols=candidates(survey))
    assert np.diag(expected.covariance) == pytest.approx(expected.variances, rel=1e-9)
    assert worst_z(raw, p + expected.bias, expected.covariance) < MOST
    squares = ((raw - p) ** 2).sum(axis=1)
    assert z_of(squares, expected.squared_l2) < MOST
    # Mutants: the noise of a third of the people, and a population in another order.
    fewer = expected_loss(survey, p, N // 3, symbols=candidates(survey))
    assert worst_z(raw, p + expected.bias, fewer.covariance) > MOST
    assert z_of(squares, fewer.squared_l2) > MOST
    assert worst_z(raw, np.roll(p, 1) + expected.bias, expected.covariance) > MOST


@pytest.mark.parametrize("name", EVERY)
def test_the_loss_of_a_decoder_is_that_of_simulated_surveys(name: str) -> None:
    """The projected estimate, from normal draws; their own error is as large as that of the simulation."""
    survey, (_, projected) = SURVEYS[name], simulated(name)
    p = population(survey)
    normals = generator(f"expected loss draws {name}").standard_normal((4 * REPEATS, len(p) + 1))
    losses = np.abs(projected - p).sum(axis=1)
    claimed = expected_loss(survey, p, N, dn.Inversion(), normals=normals, symbols=candidates(survey)).l1
    assert z_of(losses, claimed) < MOST * np.sqrt(1.25)
    fewer = expected_loss(survey, p, N // 3, dn.Inversion(), normals=normals, symbols=candidates(survey)).l1
    assert z_of(losses, fewer) > MOST * np.sqrt(1.25), "mutant: the noise of a third of the people"


@pytest.mark.parametrize("name", ["krr", "krappor", "oue", "subset"])
def test_a_mechanism_that_exists_has_the_model_of_its_parameters(name: str) -> None:
    """From its integers, from its epsilon alone, and from the exact covariance: the same numbers."""
    survey = LARGE[name]
    model = mechanism_model(survey.mechanism)
    assert model.at(P) / N == pytest.approx(expected_loss(survey, P, N).variances, rel=1e-9)
    title = {"krr": "k-RR", "krappor": "k-RAPPOR", "oue": "OUE", "subset": "SS"}[name]
    (family,) = [f for f in families(SIZE, is_open=False, limits=PlanLimits()) if f.name == title]
    places = np.flatnonzero(family.parameters["size"] == survey.mechanism.hits) if name == "subset" else [0]
    option = Option(family, int(places[0])).model(survey.epsilon, N)
    assert (option.base, option.slope, option.curve) == pytest.approx((model.base, model.slope, model.curve), rel=1e-6)
    assert option.support == pytest.approx(model.support, rel=1e-6)
    assert (option.unseen is None) == (model.unseen is None)


def test_the_model_of_krr_has_its_covariance() -> None:
    """Where errors add up to zero the covariance is the multinomial's, exactly; without the sum it is not."""
    survey = LARGE["krr"]
    exact, model = expected_loss(survey, P, N).covariance, mechanism_model(survey.mechanism)
    scale = float(np.abs(exact).max())
    assert np.abs(expected_loss(model, P, N).covariance - exact).max() < 1e-6 * scale
    free = replace(model, unseen=None)
    assert np.abs(expected_loss(free, P, N).covariance - exact).max() > 1e-3 * scale


def test_fixed_draws_stand_in_for_random_ones() -> None:
    """Their mean loss is that of 10,000 random rows; that of twice the people is not."""
    survey = LARGE["subset"]
    decoder, rng = dn.Inversion(), generator("draws of an expected loss")
    fixed = expected_loss(survey, P, N, decoder).decoded
    drawn = expected_loss(survey, P, N, decoder, normals=rng.standard_normal((10_000, SIZE + 1))).decoded
    more = expected_loss(survey, P, 2 * N, decoder).decoded
    assert fixed is not None
    assert drawn is not None
    assert more is not None
    for metric, (few, many, less) in enumerate(zip(fixed.rows, drawn.rows, more.rows, strict=True)):
        error = np.hypot(few.std(ddof=1) / np.sqrt(len(few)), many.std(ddof=1) / np.sqrt(len(many)))
        assert abs(few.mean() - many.mean()) < MOST * error, metric
        assert abs(less.mean() - many.mean()) > MOST * error, metric
