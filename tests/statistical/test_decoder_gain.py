"""Empirical Bayes beats projection tally by tally where there is something to learn; mutants of it do not."""

import numpy as np
import pytest
from scipy.special import bdtr

import deniable as dn
from deniable.decoders import empirical_bayes
from deniable.decoders.prior import Observations, Posterior, posterior
from deniable.decoders.simplex import project
from tests.statistical.harness import accept, generator, reject

TALLIES = 40
CASES = {
    "SS": (dn.subset(symbols=64, epsilon=1), dn.lab.zipf(64, 1)),
    "HR, blocks": (dn.hadamard(symbols=64, epsilon=2, blocks=4), dn.lab.zipf(64, 1)),
    "O-RR": (dn.orr(symbols=64, epsilon=2, cells=8, cohorts=24, seed=bytes(16)), dn.lab.zipf(64, 1)),
    "O-RAPPOR": (dn.orappor(symbols=64, epsilon=3, cells=8, cohorts=24, hashes=1, seed=bytes(16)), dn.lab.zipf(64, 2)),
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

    def projected(seen: Observations, known: Posterior | None, loss: str, total: float) -> np.ndarray:
        return project(seen.values)

    def too_sure(seen: Observations) -> Posterior:
        return posterior(Observations(seen.values, seen.base / 100, seen.slope / 100))

    def turned(seen: Observations) -> Posterior:
        return posterior(Observations(np.roll(seen.values, 1), np.roll(seen.base, 1), seen.slope))

    with monkeypatch.context() as patch:
        patch.setattr(empirical_bayes, "_answer", projected)
        reject("decoder-gain", no_better("SS"))
    for mutant in (too_sure, turned):
        with monkeypatch.context() as patch:
            patch.setattr(empirical_bayes, "posterior", mutant)
            reject("decoder-gain", no_better("SS"))
