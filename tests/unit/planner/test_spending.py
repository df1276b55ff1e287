"""Plans for many reports of a device: equal budgets, the least error first, and what is said of observers."""

from functools import cache
from math import isclose
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import Inversion, Unconstrained
from deniable.planner import Strategy
from deniable.planner.choices import _Repeated
from deniable.planner.spending import _alike
from deniable.simulation import simulate_many
from deniable.theory import linking_probability, naming_probability, permanent_share, returning_share

CASES: dict[str, dict[str, Any]] = {
    "few answers": {"n": 10_000, "symbols": 4, "epsilon": 4, "reports": 30},
    "a limit a report": {"n": 10_000, "symbols": 16, "epsilon": 8, "epsilon_report": 1, "reports": 90},
    "open": {"n": 50_000, "candidates": 100, "epsilon": "7/2", "reports": 12, "max_cohorts": 256},
    "two reports": {"n": 5_000, "symbols": ["no", "yes"], "epsilon": 1, "reports": 2},
    "largest error": {"n": 5_000, "symbols": 10, "epsilon": 6, "reports": 20, "metric": "max", "change": 0.1},
}


@cache
def planned(case: str) -> dn.Plan:
    found: dn.Plan = dn.plan(**CASES[case], shape="zipf")
    return found


LONG = ("open", "largest error", "a limit a report")


@pytest.mark.parametrize("case", [pytest.param(c, marks=pytest.mark.slow) if c in LONG else c for c in CASES])
def test_every_strategy_keeps_both_budgets_and_the_best_is_first(case: str) -> None:
    given, plan = CASES[case], planned(case)
    whole = float(dn.warner(epsilon=given["epsilon"]).epsilon)
    for one in plan.strategies:
        assert one.epsilon_worst <= whole * (1 + 1e-12)
        assert one.epsilon_report <= float(given.get("epsilon_report", whole))
        assert one.people * given["reports"] <= given["n"] * one.reports
        assert 1 / plan.size <= one.naming <= 1
    assert [one.error for one in plan.strategies] == sorted(one.error for one in plan.strategies)
    best, survey = plan.strategies[0], plan.survey
    assert (plan.n, plan.mechanism, plan.parameters) == (best.people, best.mechanism, best.parameters)
    every = 1 if best.reports == given["reports"] else survey.every
    assert survey.participation == ("window:day" if every == 1 else f"window:day:share=1/{every}")
    assert (-(-given["reports"] // every), given["n"] // every) == (best.reports, best.people)
    if best.name == "memoise by cell":
        assert isclose(survey.epsilon_worst, whole)
        assert best.linking == linking_probability(survey, plan.n)
        candidates = plan.size if survey.alphabet.is_open else None
        assert best.naming == naming_probability(survey, given["reports"], candidates=candidates)
    # What the strategy promised is what the plan of a window simulates, within what plans differ by.
    assert abs(plan.bound / best.error - 1) < 0.15
    assert plan.alternatives == ()
    assert [one["name"] for one in plan.to_json()["strategies"]] == [one.name for one in plan.strategies]


def test_all_four_are_there() -> None:
    names = {one.name for one in planned("few answers").strategies}
    assert names == {"sample people", "memoise by answer", "memoise by cell", "fresh noise"}


def test_strategies_are_shown_in_notebooks_and_frames() -> None:
    plan = planned("two reports")
    assert list(plan.to_pandas()["name"]) == [one.name for one in plan.strategies]
    shown = plan._repr_html_()
    assert all(one.name in shown for one in plan.strategies)
    assert "a window" in shown


def test_every_error_that_is_stated_is_that_of_simulated_surveys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of the ways that were not chosen, which were only predicted: up to 14 % too low.

    4,000 surveys each give the 90 % quantile of the loss to about 1 %. With that, and with the error that the plan has
    for its own simulations, each of four statements is six standard errors off once in 5e8 runs.
    """
    seen: dict[str, _Repeated] = {}
    told = _Repeated.strategy

    def spy(one: _Repeated) -> Strategy:
        found = told(one)
        seen[found.name] = one
        return found

    monkeypatch.setattr(_Repeated, "strategy", spy)
    plan, rng = planned.__wrapped__("few answers"), np.random.default_rng(4)
    mutants = 0
    for strategy in plan.strategies:
        point = seen[strategy.name].point
        tallies = simulate_many(4000, point.survey, point.shape.p, point.n, rng)
        shares = np.stack([one.probabilities for one in dn.decode_all(tallies)])
        losses = np.abs(shares - point.shape.p).sum(axis=1)
        low, true, high = np.quantile(losses, [0.9 - 0.0047, 0.9, 0.9 + 0.0047])
        stated = point.expected("l1", 0.9)
        error = np.hypot((high - low) / 2 / true, stated.bound_error / stated.bound)
        assert stated.bound == strategy.error
        assert abs(strategy.error / true - 1) < 6 * error
        mutants += bool(abs(point.predicted.quantile("l1", 0.9) / true - 1) > 6 * error)
    assert mutants  # what was stated before


def by_name(plan: dn.Plan) -> dict[str, Strategy]:
    return {one.name: one for one in plan.strategies}


@pytest.mark.slow
def test_people_are_split_and_not_the_budget() -> None:
    """Twenty windows at epsilon 1: 1 / 20 of the people at epsilon 1 have a variance 22 times below epsilon / 20."""
    found = by_name(dn.plan(n=10_000_000, symbols=20, epsilon=1, reports=20, shape="zipf", metric="l2"))
    sampled, split = found["sample people"], found["fresh noise"]
    assert (sampled.reports, sampled.people, sampled.linking) == (1, 500_000, None)
    assert 3 < split.error / sampled.error < 22**0.5 * 1.1


@pytest.mark.slow
def test_what_stays_the_same_does_not_average_out() -> None:
    means = []
    for change in (0.0, 0.05, 0.5, 1.0):
        one = by_name(dn.plan(n=10_000, symbols=4, epsilon=4, reports=30, change=change, shape="zipf"))[
            "memoise by answer"
        ]
        means.append(one.average / one.error)
    assert means[0] == 1.0  # no second stage, no change: 30 windows are as good as one
    assert means == sorted(means, reverse=True)
    # With four answers, one of four that are drawn anew is the one before, and its noise is repeated.
    survey = dn.krr(symbols=4, epsilon=1)
    returns = returning_share(survey, np.full(4, 0.25))
    assert abs(means[-1] / (1 / 30 + 29 / 30 * returns) ** 0.5 - 1) < 0.1


@pytest.mark.parametrize("twice", [False, True])
def test_the_variance_of_a_mean_is_that_of_devices_that_live(twice: bool) -> None:
    """The factor of `_average` against panels: 40 answers, ten windows, a tenth of the answers redrawn a window.

    Of 60 panels of 40 answers the variance has a relative standard error of sqrt(2 / 2400) = 3 %: six of them.
    """
    survey = dn.krr(symbols=40, epsilon=2, epsilon_report=1 if twice else None, participation="window")
    n, windows, change = 800, 10, 0.1
    p, rng = np.full(40, 1 / 40), np.random.default_rng(5)
    found, one = [], []
    for _ in range(60):
        tallies = dn.lab.panel(survey, np.tile(p, (windows, 1)), n, rng, change=change)
        each = dn.decode_all(tallies, decoder=Inversion(), constraint=Unconstrained())
        raw = np.stack([estimate.probabilities for estimate in each])
        found.append(raw.mean(axis=0))
        one.append(raw[0])
    shared = float(permanent_share(survey, p[:1])[0])
    factor = (1 - shared) / windows + shared * _alike(windows, change, returning_share(survey, p))
    assert abs(np.var(found) / np.var(one) / factor - 1) < 6 * 0.03 * 2**0.5


@pytest.mark.parametrize("given", [{"n": 5_000, "max_l1": 0.1}, {"epsilon": 2, "max_error": 0.1}])
def test_a_wanted_error_is_met_with_little_more_than_is_needed(given: dict[str, Any]) -> None:
    """The least n or epsilon: a tenth less epsilon, or a fifth fewer devices, miss the error."""
    plan = dn.plan(symbols=4, reports=30, shape="zipf", **given)
    (best, *_), found = plan.strategies, "n" if "n" not in given else "epsilon"
    assert (plan.found, plan.target) == (found, 0.1)
    assert plan.bound <= 0.1
    needed: dict[str, Any] = {
        "n": best.devices,
        "epsilon": given.get("epsilon", plan.epsilon * best.epsilon_worst / best.epsilon),
    }
    assert given.get("n", best.devices) == best.devices
    less = {"n": int(0.8 * best.devices)} if found == "n" else {"epsilon": 0.9 * best.epsilon_worst}
    metric = "l1" if "max_l1" in given else "max"
    assert dn.plan(symbols=4, reports=30, shape="zipf", metric=metric, **(needed | less)).bound > 0.1


def test_sampled_people_have_a_survey_that_does_it() -> None:
    """With few people a window and many answers, at epsilon that memoised answers share, sampling errs least."""
    plan = dn.plan(n=100_000, symbols=64, epsilon=2, reports=4, shape="zipf", max_cohorts=1)
    best = plan.strategies[0]
    assert best.name == "sample people"
    assert plan.survey.participation == f"window:day:share=1/{4 // best.reports}"
    assert plan.survey.epsilon * best.reports <= 2
    assert dn.Client(plan.survey).ledger.spent == 0


TWO = "two of n, epsilon and an error (max_l1, max_l2 or max_error) must be given with reports, got "


def test_what_cannot_be_planned_for() -> None:
    for given, told in (
        ({"n": 1000}, "n; "),
        ({"n": 1000, "epsilon": 1, "max_l1": 0.1}, "n, epsilon, max_l1; "),
        ({}, "none; "),
    ):
        with pytest.raises(dn.DeniableError) as caught:
            dn.plan(symbols=4, reports=30, **given)
        assert str(caught.value) == f"{TWO}{told}the third is what the plan finds"
    with pytest.raises(dn.DeniableError) as caught:
        dn.plan(symbols=4, reports=30, n=1000, visible=0.1)
    assert str(caught.value) == "visible must not be given with reports, which plan by max_l1, max_l2 or max_error"
    with pytest.raises(dn.PlanError) as refused:
        dn.plan(symbols=2, reports=2, n=2, max_l1=1e-6, shape="uniform")
    assert str(refused.value).startswith(
        "no strategy reaches an error of 1e-06 in each of 2 windows: the largest epsilon of a plan, 12, leaves "
    )
    assert str(refused.value).endswith("; allow more, or ask less often")


def test_errors() -> None:
    with pytest.raises(dn.DeniableError) as caught:
        dn.plan(n=1000, symbols=4, epsilon=1, max_l1=0.1, reports=30)
    assert str(caught.value) == TWO + "n, epsilon, max_l1; the third is what the plan finds"
    with pytest.raises(dn.DeniableError, match="reports must be at least 2, got 1"):
        dn.plan(n=1000, symbols=4, epsilon=1, reports=1)
    with pytest.raises(dn.DeniableError) as caught:
        dn.plan(n=1000, symbols=4, epsilon=1, reports=30, change=2)
    assert str(caught.value) == "change must be from 0 to 1, got 2; it is the share of devices that change a window"
    with pytest.raises(dn.DeniableError, match="change must be a number, got str"):
        dn.plan(n=1000, symbols=4, epsilon=1, reports=30, change="often")  # type: ignore[arg-type]
    with pytest.raises(dn.PlanError) as refused:
        dn.plan(n=10, symbols=4, epsilon="0.0015", reports=90_000)
    assert str(refused.value) == (
        "no strategy fits: 90000 reports of each device within epsilon 0.0015 in all, from 10 people; "
        "raise epsilon or n, or ask less often"
    )
