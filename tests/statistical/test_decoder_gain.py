"""Empirical Bayes beats projection where there is something to learn and does not lose elsewhere; mutants of it do."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import bdtr, ndtr

import deniable as dn
from deniable.decoders import empirical_bayes, shrinkage
from deniable.decoders.empirical_bayes import shrink
from deniable.decoders.prior import Observations
from deniable.decoders.simplex import project
from tests.statistical.harness import accept, generator, reject

pytestmark = pytest.mark.slow

Floats = npt.NDArray[np.float64]

TALLIES, DRAWS = 40, 100
CASES = {
    "SS": (dn.subset(symbols=64, epsilon=1), dn.lab.zipf(64, 1)),
    "HR, blocks": (dn.hadamard(symbols=64, epsilon=2, blocks=4), dn.lab.zipf(64, 1)),
    "O-RR": (dn.orr(symbols=64, epsilon=2, cells=8, cohorts=24, seed=bytes(16)), dn.lab.zipf(64, 1)),
    "O-RAPPOR": (dn.orappor(symbols=64, epsilon=3, cells=8, cohorts=24, hashes=1, seed=bytes(16)), dn.lab.zipf(64, 2)),
}
# A few shares, hardly larger than their noise, which many small ones would explain nearly as well.
NOISY = {
    "binomial, 128": (dn.lab.binomial(128, 0.3), 0.03),
    "sixteen of 128": (np.repeat([1 / 16, 0.0], [16, 112]), 0.03),
}


def no_better(name: str) -> float:
    """How likely so few wins are, if nine of ten tallies are won."""
    survey, p = CASES[name]
    rng, won = generator(f"gain {name}"), 0
    for _ in range(TALLIES):
        tally = dn.simulate(survey, p, 10**5, rng)
        ours, plain = (dn.decode(tally, constraint=c).probabilities for c in (None, dn.Projected()))
        won += np.abs(ours - p).sum() < np.abs(plain - p).sum()
    return float(bdtr(won, TALLIES, 0.9))


@pytest.mark.parametrize("name", CASES)
def test_it_beats_projection(name: str) -> None:
    accept("decoder-gain", no_better(name))


def test_without_learning_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: the projected estimate in its place, noise taken for signal, the posterior of somebody else."""

    def projected(seen: Observations, loss: str, **_: object) -> Floats:
        return project(seen.values)

    def too_sure(seen: Observations, loss: str, **_: object) -> Floats:
        return shrink(Observations(seen.values, seen.base / 100, seen.slope / 100), loss)

    def turned(seen: Observations, loss: str, **_: object) -> Floats:
        return shrink(Observations(np.roll(seen.values, 1), np.roll(seen.base, 1), seen.slope), loss)

    for mutant in (projected, too_sure, turned):
        with monkeypatch.context() as patch:
            patch.setattr(empirical_bayes, "shrink", mutant)
            reject("decoder-gain", no_better("SS"))


def never_above(name: str) -> float:
    """How likely such losses are, paired, if the default's is 4 % above the projected one's."""
    p, deviation = NOISY[name]
    rng, more = generator(f"never above {name}"), []
    for _ in range(DRAWS):
        error = rng.normal(0, deviation, len(p))
        seen = Observations(p + error - error.mean(), np.full(len(p), deviation**2), 0.0)
        ours, plain = (float(np.abs(found - p).sum()) for found in (shrink(seen), project(seen.values)))
        more.append(ours - 1.04 * plain)
    return float(ndtr(-np.mean(more) / np.std(more, ddof=1) * np.sqrt(DRAWS)))


@pytest.mark.parametrize("name", NOISY)
def test_it_is_not_above_projection_where_nothing_can_be_learned(name: str) -> None:
    accept("decoder-guard", never_above(name))


@pytest.mark.parametrize("name", NOISY)
def test_without_its_guard_it_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the average of the priors, whatever it means to one of them, and small promises at their word."""
    monkeypatch.setattr(shrinkage, "no_worse", lambda found, *_: found)
    monkeypatch.setattr(shrinkage, "shrink_towards", lambda plain, found, *_: found)
    reject("decoder-guard", never_above(name))
