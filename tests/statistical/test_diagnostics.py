"""The null law of the tests that an estimate carries, and what they see."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders.goodness import NullLaw
from deniable.survey import Survey
from tests.statistical.harness import accept, binomial_p_value, generator, reject
from tests.surveys import SEED

pytestmark = pytest.mark.slow

REPEATS, SIZE = 600, 16
PLAIN = dn.Projected()  # what is tested belongs to the unbiased estimate, whatever stands beside it
P = dn.lab.zipf(SIZE, 1.5)
NAMES = tuple(range(SIZE))
SURVEYS: dict[str, tuple[Survey, int]] = {
    "orr": (dn.orr(epsilon=2, cells=8, cohorts=16, seed=SEED), 20_000),
    "orr-closed-few": (dn.orr(symbols=SIZE, epsilon=2, cells=8, cohorts=16, seed=SEED), 1000),
    "orappor": (dn.orappor(epsilon=3, cells=16, cohorts=8, hashes=1, seed=SEED), 20_000),
    "bloom": (dn.orappor(epsilon=6, cells=24, cohorts=4, hashes=2, seed=SEED), 20_000),
    "hadamard": (dn.hadamard(symbols=SIZE, epsilon=2, blocks=3), 2000),
    "krappor": (dn.krappor(symbols=SIZE, epsilon=2), 2000),
}


def estimates(survey: Survey, n: int, rng: np.random.Generator, repeats: int) -> list[dn.Estimate]:
    open_ = survey.symbols is None
    tallies = [dn.simulate(survey, P, n, rng, symbols=NAMES if open_ else None) for _ in range(repeats)]
    return dn.decode_all(tallies, candidates=NAMES if open_ else None, constraint=PLAIN)


def uniform(p_values: list[float]) -> float:
    """Exact binomial tails of ten bins."""
    counts = np.histogram(p_values, bins=10, range=(0, 1))[0]
    return binomial_p_value(counts, len(p_values), 0.1)


@pytest.mark.parametrize("name", SURVEYS)
def test_p_values_of_the_fit_are_uniform(name: str) -> None:
    survey, n = SURVEYS[name]
    found = [e.diagnostics.fit for e in estimates(survey, n, generator(f"fit {name}"), REPEATS)]
    assert all(fit is not None for fit in found)
    tests = [fit for fit in found if fit is not None]
    accept("chi-square-fit", uniform([fit.p_value for fit in tests]))
    # The mutant forgets that the masses were fitted: one degree of freedom a symbol too many.
    reject("chi-square-fit", uniform([NullLaw(fit.degrees + SIZE - 1).test(fit.statistic).p_value for fit in tests]))


@pytest.mark.parametrize("n", [200, 20_000])
def test_p_values_of_the_cohort_sizes_are_uniform(n: int) -> None:
    survey = dn.orr(epsilon=2, cells=2, cohorts=64, seed=SEED)
    found = [e.diagnostics.cohorts for e in estimates(survey, n, generator(f"sizes {n}"), REPEATS)]
    sizes = [size for size in found if size is not None]
    assert len(sizes) == REPEATS
    accept("chi-square-cohorts", uniform([size.p_value for size in sizes]))
    reject("chi-square-cohorts", uniform([NullLaw(size.degrees + 8).test(size.statistic).p_value for size in sizes]))


def test_what_is_wrong_is_seen() -> None:
    """Missing candidates, skewed cohorts, planted reports: an alarm nearly always, and none without them."""
    survey, rng = SURVEYS["orr"][0], generator("power")
    tallies = [dn.simulate(survey, P, 20_000, rng, symbols=NAMES) for _ in range(20)]
    fine = dn.decode_all(tallies, candidates=NAMES, constraint=PLAIN)
    assert sum(bool(e.diagnostics.alarms) for e in fine) <= 1
    missing = dn.decode_all(tallies, candidates=NAMES[1:], constraint=PLAIN)  # 43 % of the answers are not listed
    assert all("do not fit these candidates" in e.diagnostics.alarms[0] for e in missing)
    skewed = []
    for tally in tallies:
        counts = tally.counts.copy()
        counts[:4] //= 2
        skewed.append(dn.Tally(survey, counts))
    sizes = [e.diagnostics.cohorts for e in dn.decode_all(skewed, candidates=NAMES, constraint=PLAIN)]
    assert all(size is not None and size.p_value < 1e-3 for size in sizes)
    planted = []
    for tally in tallies:
        counts = tally.counts.copy()
        counts[:, 3] += 60  # 5 % that name one cell, whatever the cohort: no symbol looks like that
        planted.append(dn.Tally(survey, counts))
    fits = [e.diagnostics.fit for e in dn.decode_all(planted, candidates=NAMES, constraint=PLAIN)]
    assert all(fit is not None and fit.p_value < 1e-3 for fit in fits)
