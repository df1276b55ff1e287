"""The planned power is reached: by the intervals of cross-tables, and by the p-values of regressions."""

import numpy as np
import pytest

import deniable as dn
from deniable.planner import EffectPlan
from tests.statistical.harness import accept, binomial_p_value, generator, reject

POWER, REPEATS = 0.8, 400
LEAST, MOST = 0.77, 0.83  # the plan's formula is for normal errors: what a check may not tell from 80 %


def seen_differences(plan: EffectPlan, n: int, name: str) -> int:
    """In how many surveys of n people the interval of the difference is off zero."""
    rng, seen = generator(name), 0
    for _ in range(REPEATS):
        pair = {
            group: dn.simulate(plan.survey, [1 - p, p], n=n // 2, rng=rng)
            for group, p in (("first", plan.share), ("second", plan.share + plan.effect))
        }
        _, low, high = dn.crosstab(pair, decoder=dn.Inversion()).difference("second", "first", "yes")
        seen += not low <= 0 <= high
    return seen


def seen_coefficients(plan: EffectPlan, n: int, name: str) -> int:
    """In how many the p-value of a group's coefficient is below 5 %."""
    rng, seen = generator(name), 0
    base = np.log(plan.share / (1 - plan.share))
    for _ in range(REPEATS):
        rows: dict[str, list[int]] = {"said": [], "x": [], "people": []}
        for x in (0, 1):
            p = 1 / (1 + np.exp(-(base + plan.effect * (x - 0.5))))
            counts = dn.simulate(plan.survey, [1 - p, p], n=n // 2, rng=rng).counts[0]
            rows["said"] += [0, 1]
            rows["x"] += [x, x]
            rows["people"] += counts.tolist()
        fit = dn.regress("said ~ x", rows, survey=plan.survey, counts="people", starts=0)
        seen += fit.pvalues["x"] < 0.05
    return seen


def p_value(seen: int) -> float:
    return binomial_p_value(seen, REPEATS, min(max(seen / REPEATS, LEAST), MOST))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1, 3])
def test_planned_people_see_the_difference(epsilon: int) -> None:
    plan = dn.plan(effect=0.05, share=0.2, power=POWER, epsilon=epsilon)
    accept("effect-power", p_value(seen_differences(plan, plan.n, f"difference {epsilon}")))


@pytest.mark.slow
def test_planned_people_see_the_coefficient() -> None:
    plan = dn.plan(effect=0.5, share=0.3, covariate=[0, 1], power=POWER, epsilon=2)
    accept("effect-power", p_value(seen_coefficients(plan, plan.n, "coefficient")))


@pytest.mark.slow
def test_a_plan_that_forgets_the_noise_is_caught() -> None:
    plan = dn.plan(effect=0.05, share=0.2, power=POWER, epsilon=1)
    reject("effect-power", p_value(seen_differences(plan, plan.people_without_noise, "without noise")))
