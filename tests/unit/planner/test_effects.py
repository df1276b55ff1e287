"""Plans for an effect: closed forms, each of the four found from the others, and a sentence where there is none."""

import json
import math
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.charts import power_chart
from deniable.planner.effect_sizes import (
    Coefficient,
    ShareDifference,
    covariate_values,
    people_for,
    power_of,
    report_law,
)

ASKED: dict[str, Any] = {"effect": 0.05, "share": 0.2, "power": 0.8}


def test_people_are_those_of_the_textbook_where_nothing_is_random() -> None:
    """Two groups of equal size: n = 2 (z + z')**2 (p q + p' q') / d**2."""
    plan = dn.plan(**ASKED, epsilon=12)
    z = 1.959964 + 0.841621
    expected = 2 * z**2 * (0.2 * 0.8 + 0.25 * 0.75) / 0.05**2
    assert plan.people_without_noise == math.ceil(expected)
    assert plan.n == pytest.approx(expected, rel=1e-3)
    assert plan.power >= 0.8


def test_warner_s_variance_is_in_the_plan() -> None:
    e = math.exp(1.0)
    keep = e / (1 + e)
    shares = (0.2, 0.25)
    variance = sum((r := keep * p + (1 - keep) * (1 - p)) * (1 - r) / (2 * keep - 1) ** 2 / 0.5 for p in shares)
    assert ShareDifference(0.2, 0.5, 1, 2).variance(dn.warner(epsilon=1), 0.05) == pytest.approx(variance)
    assert dn.plan(**ASKED, epsilon=1).n == math.ceil(people_for(0.05, variance, 0.8, 0.05))


def test_each_of_the_four_is_found_from_the_others() -> None:
    by_n = dn.plan(**ASKED, epsilon=1)
    by_epsilon = dn.plan(**ASKED, n=by_n.n)
    by_effect = dn.plan(share=0.2, power=0.8, epsilon=1, n=by_n.n)
    by_power = dn.plan(effect=0.05, share=0.2, epsilon=1, n=by_n.n)
    assert [one.found for one in (by_n, by_epsilon, by_effect, by_power)] == ["n", "epsilon", "effect", "power"]
    assert by_epsilon.epsilon == pytest.approx(1, abs=1e-3)
    assert by_effect.effect == pytest.approx(0.05, abs=1e-4)
    assert by_power.power == pytest.approx(0.8, abs=1e-3)


def test_a_coefficient_has_the_expected_information_of_the_channel() -> None:
    """By differences of the expected log-likelihood of a design, at another point of it."""
    survey, values, share, size = dn.design("forced", p="2/3", yes="1/6"), (-1.0, 0.0, 2.0), 0.3, 0.4
    away = np.asarray(values) - np.mean(values)
    law = report_law(survey)
    truth = np.array([math.log(share / (1 - share)), size])

    def chance(theta: Any) -> Any:
        pi = 1 / (1 + np.exp(-(theta[0] + theta[1] * away)))
        return (1 - pi)[:, None] * law[0] + pi[:, None] * law[1]

    h = 1e-4
    information = np.empty((2, 2))
    for a in range(2):
        for b in range(2):

            def value(i: float, j: float, a: int = a, b: int = b) -> float:
                theta = truth.copy()
                theta[a] += i * h
                theta[b] += j * h
                return float((chance(truth) * np.log(chance(theta))).sum() / len(away))

            information[a, b] = -(value(1, 1) - value(1, -1) - value(-1, 1) + value(-1, -1)) / (4 * h * h)
    expected = np.linalg.inv(information)[1, 1]
    assert Coefficient(share, values).variance(survey, size) == pytest.approx(expected, rel=1e-4)


def test_designs_that_are_run_by_hand_are_planned() -> None:
    survey = dn.design("crosswise", p=0.25)
    plan = dn.plan(**ASKED, survey=survey)
    assert plan.survey == survey
    assert plan.n > plan.people_without_noise
    assert {row["epsilon"] for row in plan.curve([100])} == {plan.epsilon, None}


def test_more_answers_get_the_survey_of_least_variance() -> None:
    plans = {epsilon: dn.plan(**ASKED, symbols=40, answer=0, epsilon=epsilon) for epsilon in ("1/2", 6)}
    assert {epsilon: plan.survey.title for epsilon, plan in plans.items()} == {"1/2": "SS", 6: "k-RR"}
    least = [
        ShareDifference(0.2, 0.5, 0, 40).variance(make(40, epsilon=1), 0.05) for make in (dn.krr, dn.oue, dn.subset)
    ]
    chosen = dn.plan(**ASKED, symbols=40, answer=0, epsilon=1)
    assert chosen.n == math.ceil(people_for(0.05, min(least), 0.8, 0.05))


def test_unequal_groups_need_more_people() -> None:
    even, uneven = (dn.plan(**ASKED, epsilon=1, group=part).n for part in (0.5, 0.1))
    assert 2.6 < uneven / even < 2.9  # 1 / (4 x .1 x .9)


def test_a_plan_says_and_draws_what_it_is() -> None:
    plan = dn.plan(**ASKED, epsilon=1)
    told = dict(plan.rows())
    assert told["people"] == "13,744 (found)"
    assert told["power"] == "80.0 %, of a two-sided test at 5 %"
    assert plan.to_json()["survey"] == plan.survey.to_json()
    assert "13,744" in plan._repr_html_()
    drawn = json.dumps(plan.chart().to_dict())
    assert all(f'"line": "{name}"' in drawn for name in ("epsilon 0.5", "epsilon 1", "epsilon 2", "no privacy"))
    rising = [row["power"] for row in plan.curve() if row["epsilon"] == 1.0]
    assert rising == sorted(rising)


def test_power_without_an_effect_is_the_level() -> None:
    assert power_of(0.0, 1.0, 100, 0.05) == pytest.approx(0.05)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"effect": 0.05, "share": 0.2}, "three of n, epsilon, effect, power must be given for the plan of an effect, got"),
    ({"power": 0.8}, "got power; the fourth is what the plan finds"),
    (
        {**ASKED, "share": None, "epsilon": 1},
        "share must be given for the plan of an effect, from 0 to below 1, got",
    ),
    ({**ASKED, "epsilon": 1, "alpha": 0.7}, "alpha must be above 0 and below 0.5, got 0.7"),
    ({**ASKED, "epsilon": 1, "power": 1.0}, "power must be above 0.5 and below 1, got 1.0"),
    ({**ASKED, "epsilon": 1, "effect": 0.9}, "effect must leave a share from 0 to 1 and not be 0, got 0.9 on 0.2"),
    ({**ASKED, "epsilon": 1, "effect": 0.0}, "effect must leave a share from 0 to 1 and not be 0, got 0 on 0.2"),
    (
        {**ASKED, "epsilon": 1, "max_l1": 0.1},
        "max_l1 must not be given with an effect or a power; plan one of them at a time",
    ),
    ({"share": 0.2, "n": 1000, "epsilon": 1}, "share must be given with an effect or a power, got neither"),
    ({**ASKED, "epsilon": 1, "survey": dn.warner(epsilon=1)}, "epsilon and symbols must not be given with a survey"),
    ({**ASKED, "survey": dn.olh(epsilon=1)}, "the plan of an effect must be for a list of answers, got free text"),
    (
        {**ASKED, "epsilon": 1, "answer": "maybe"},
        "answer must be one of the 2 answers of the survey; it is the one whose share differs",
    ),
    (
        {**ASKED, "epsilon": 1, "symbols": 3, "covariate": [0, 1]},
        "a coefficient must be planned for two answers, got 3; plan the difference of a share instead",
    ),
    (
        {**ASKED, "epsilon": 1, "share": 0, "covariate": [0, 1]},
        "share must be above 0 for the plan of a coefficient, got 0; its log odds are not finite",
    ),
    ({**ASKED, "epsilon": 1, "effect": 99, "covariate": [0, 1]}, "effect must be a coefficient from -16 to 16 and not"),
    ({**ASKED, "epsilon": 1, "covariate": [1, 1]}, "covariate must have two different finite values or more, got 1"),
    (
        {**ASKED, "epsilon": 1, "covariate": ["a"]},
        "covariate must be a list of numbers, its equally likely values, got others",
    ),
    (
        {**ASKED, "n": 500},
        "n must be at least 2,183 for this effect, at any epsilon up to 12, got 500; ask",
    ),
    ({"share": 0.2, "power": 0.8, "n": 20, "epsilon": "1/10"}, "effect must be possible, got none that 20 people show"),
    (
        {**ASKED, "epsilon": "1/1000", "effect": 1e-7},
        "effect 1e-07 must be larger: at epsilon 0.001 no crowd is enough",
    ),
]


@pytest.mark.parametrize(("given", "told"), REFUSED)
def test_what_cannot_be_planned_is_a_sentence(given: dict[str, Any], told: str) -> None:
    if "symbols" not in given and given.keys() <= {"share", "n", "epsilon"}:
        given = given | {"symbols": 2}
    with pytest.raises(dn.DeniableError) as problem:
        dn.plan(**given)
    assert told in str(problem.value)


def test_surveys_whose_reports_are_too_many_for_a_coefficient() -> None:
    with pytest.raises(dn.DeniableError, match="at most 4,096 different reports, got 8,192"):
        report_law(dn.orr(symbols=["no", "yes"], epsilon=1, cells=2, cohorts=4096))
    with pytest.raises(dn.DeniableError, match="must be planned for two answers, got another survey"):
        report_law(dn.krr(3, epsilon=1))
    assert covariate_values(range(3)) == (0.0, 1.0, 2.0)


def test_a_chart_of_power_needs_lines() -> None:
    with pytest.raises(dn.DeniableError, match="lines for one to three epsilons, got 0 in 0 rows"):
        power_chart([], {"n": 1, "power": 0.5})


WHOLE: list[tuple[Any, str]] = [
    (
        lambda: report_law(dn.krr(3, epsilon=1)),
        "a coefficient must be planned for two answers, got another survey; plan the difference of a share instead",
    ),
    (
        lambda: report_law(dn.orr(symbols=["no", "yes"], epsilon=1, cells=2, cohorts=4096)),
        "a coefficient must be planned for a survey of at most",
    ),
    (
        lambda: dn.plan(**ASKED, epsilon=1, survey=dn.warner(epsilon=1)),
        "epsilon and symbols must not be given with a survey, which has its own",
    ),
    (
        lambda: dn.plan(effect=0.05, power=0.8, epsilon=1),
        "; it is that of the answer in the first group, or where the covariate is at its mean",
    ),
    (
        lambda: dn.plan(**ASKED, survey=dn.olh(epsilon=1)),
        "the plan of an effect must be for a list of answers, got free text; name them as symbols",
    ),
    (lambda: dn.plan(**ASKED, epsilon=1, answer="x"), "answers of the survey; it is the one whose share differs"),
    (lambda: power_chart([], {}), "a chart of power must have lines for one to three epsilons, got"),
]


@pytest.mark.parametrize(("work", "told"), WHOLE)
def test_whole_sentences(work: Any, told: str) -> None:
    with pytest.raises(dn.DeniableError) as problem:
        work()
    assert told in str(problem.value)
