"""Plans keep their word: what they promise for nine surveys of ten holds in 87 % or more, and costs what it must.

A modest random set of targets; `planner_study` is the larger one. The mutants are a planner that aims at the middle of
the loss instead of its 90th percentile, one that spends a third more epsilon than it has to, and one that simulates no
mechanism but the one that was predicted to be the best.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc, ndtri

import deniable as dn
from deniable.planner.measure import _RESIDUAL, LossSample
from tests.statistical.harness import accept, generator, reject
from tests.statistical.planner_study import Target, losses, targets, undercut

pytestmark = pytest.mark.slow

PROMISED = 0.87
REPEATS = 200


@pytest.fixture(scope="module")
def asked() -> list[Target]:
    return list(targets(6, generator("planner-honesty"), largest=60))


def p_value(asked: list[Target], confidence: float, check: str) -> float:
    """How likely so few successes are, if surveys met their targets with probability 0.87."""
    rng = generator(check)
    met = 0
    for target in asked:
        plan = dn.plan(n=target.n, **target.question, confidence=confidence)
        found = losses(plan.survey, target, target.n, REPEATS, rng)
        met += int((found <= target.value).sum())
    return float(bdtr(met, REPEATS * len(asked), PROMISED))


def test_targets_are_met_as_often_as_promised(asked: list[Target]) -> None:
    accept("planner-honesty", p_value(asked, 0.9, "planner-honesty/real"))


def test_a_planner_that_aims_at_the_middle_is_told(asked: list[Target]) -> None:
    reject("planner-honesty", p_value(asked, 0.5, "planner-honesty/mutant"))


# Errors of the first three targets as they were when the test was written. A random target is the error of some plan,
# so it moves with the planner, and the comparison of two planners would be one of two questions.
ERRORS = (0.0108, 0.0202, 0.131)
# Over nine equal shares the loss hardly falls with epsilon. This was planned at 2.61 and is met at 2.
LEVEL = Target(9, 61_004, "max", 0.00514, dn.lab.uniform(9), "uniform", is_open=False)


def questions(asked: list[Target]) -> list[Target]:
    """Of 11, 2, 9 and 9 symbols: from five on the default learns from the others."""
    return [*(replace(drawn, value=error) for drawn, error in zip(asked[:3], ERRORS, strict=True)), LEVEL]


@pytest.mark.parametrize("place", range(4))
def test_brute_force_saves_less_than_fifteen_percent(asked: list[Target], place: int) -> None:
    target, rng = questions(asked)[place], generator(f"planner-honesty/brute/{place}")
    epsilon = dn.plan(n=target.n, **target.question).epsilon
    assert not undercut(target, epsilon / 1.15, rng)
    assert undercut(target, 1.33 * epsilon / 1.15, rng), "a plan that spends a third more is told"


def test_a_planner_that_simulates_one_mechanism_alone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the mechanism that is predicted to be the best is the plan, without rivals."""
    monkeypatch.setattr("deniable.planner.rivals._MOST", 0)
    epsilon = dn.plan(n=LEVEL.n, **LEVEL.question).epsilon
    assert undercut(LEVEL, epsilon / 1.15, generator("planner-honesty/alone"))


def misses(pairs: int, check: str) -> int:
    """How often a bound from a few decoded surveys is off by more than twice its standard error, of 4000 made-up ones.

    Real losses are lognormal, and the quick decoder foretells them up to a residual of six tenths of their spread, as
    it was seen to do for Zipf populations over cohorts.
    """
    rng, spread, found = generator(check), 0.105, 0
    truth = np.exp(spread * ndtri(0.905))
    for _ in range(4000):
        quick = spread * 0.8 * rng.standard_normal(138)
        chosen = np.sort(quick)[(np.linspace(0.05, 0.97, pairs) * 137).astype(int)]
        real = chosen + 0.6 * spread * rng.standard_normal(pairs)
        rows = [np.exp(np.broadcast_to(values, (3, len(values)))) for values in (quick, chosen, real)]
        _, _, bound, error = LossSample(rows[0], rows[1], rows[2], _RESIDUAL).expected("l2", 0.905)
        found += abs(bound - truth) > 2 * error
    return found


@pytest.mark.parametrize("pairs", [6, 9])
def test_a_few_simulated_surveys_tell_no_more_than_they_know(pairs: int) -> None:
    """A normal error exceeds two standard errors in 4.6 % of cases; 5 % are allowed."""
    accept("planner-few-surveys", float(bdtrc(misses(pairs, f"planner-few-surveys/{pairs}") - 1, 4000, 0.05)))


@pytest.mark.parametrize("pairs", [6, 9])
def test_what_a_large_sample_would_tell_is_told(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: standard errors as before, which believed nine surveys as if they were many."""
    for name, value in {"_SMALL_SAMPLE": 0.0, "_PRIOR_PAIRS": 3.0, "_NARROWEST": 0.0, "_RESIDUAL": 0.3}.items():
        monkeypatch.setattr(f"deniable.planner.measure.{name}", value)
    monkeypatch.setitem(globals(), "_RESIDUAL", 0.3)
    reject("planner-few-surveys", float(bdtrc(misses(pairs, f"planner-few-surveys/mutant/{pairs}") - 1, 4000, 0.05)))


# Was met in 78 % of surveys: with some seeds of the plan, the few surveys that it decodes were lucky ones.
UNLUCKY = Target(90, 800_000, "l2", 0.02, dn.lab.zipf(90, 1.5), "zipf:1.5", is_open=True)


def share_met(seed: int, confidence: float) -> float:
    """The share of 200 surveys that meet the target, with a plan of this seed."""
    plan = dn.plan(
        n=UNLUCKY.n,
        candidates=UNLUCKY.size,
        max_l2=UNLUCKY.value,
        shape=UNLUCKY.shape,
        seed=seed,
        confidence=confidence,
    )
    found = losses(plan.survey, UNLUCKY, UNLUCKY.n, REPEATS, generator(f"planner-seeds/{seed}/{confidence}"))
    return float((found <= UNLUCKY.value).mean())


@pytest.mark.parametrize("seed", [0, 1])
def test_no_seed_of_a_plan_is_an_unlucky_one(seed: int) -> None:
    """A plan that is met in 92.5 % of surveys (docs/decisions/0012) is met in fewer than 84 % of 200 once in 10,000
    draws, and these are always the same; one that is met in 78 % passes in 3 %."""
    assert float(bdtr(167, REPEATS, 0.925)) < 1e-4
    assert share_met(seed, 0.9) >= 0.84


def test_an_unlucky_seed_is_told() -> None:
    """Mutant: a plan that aims at the middle."""
    assert share_met(0, 0.5) < 0.84
