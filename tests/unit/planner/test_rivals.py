"""Which other mechanisms a plan simulates, and when one of them takes its place."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.planner.catalogue import families
from deniable.planner.measure import BUDGET
from deniable.planner.options import PlanLimits
from deniable.planner.others import alternatives
from deniable.planner.request import ask
from deniable.planner.rivals import best_rival, close_rivals, needs_less
from deniable.planner.search import Search


def searched(**given: Any) -> Search:
    request = ask(**{"shape": "uniform"} | given)
    return Search(request, families(request.size, is_open=request.is_open, limits=PlanLimits()))


def at(search: Search, name: str, epsilon: float) -> Any:
    """A point of the search at this mechanism."""
    family = next(family for family in search.families if family.name == name)
    option, n = search.best(family, epsilon, float(search.request.n or 0))[0], search.request.n
    return SimpleNamespace(option=option, epsilon=epsilon, spends=epsilon, n=n, place=np.log(epsilon))


def test_rivals_are_the_nearest_predictions_and_never_the_plan_itself() -> None:
    search = searched(n=61_004, symbols=9, max_error=0.00514)
    names = [family.name for family in close_rivals(search, at(search, "k-RR", 2.6))]
    assert names[0] == "O-RR"
    assert "k-RR" not in names
    assert len(names) <= 3


def test_what_is_surely_worse_or_takes_too_long_is_no_rival() -> None:
    few = searched(n=100_000, symbols=2, max_l1=0.02, shape="spike")
    assert close_rivals(few, at(few, "k-RR", 0.6)) == []
    many = searched(n=10**7, symbols=1000, max_l1=0.1)
    assert close_rivals(many, at(many, "SS", 2.0)) == []


@pytest.mark.parametrize(
    ("bounds", "chosen", "budgets"),
    [
        ({"SS": [1.2], "HR": [1.3]}, None, [BUDGET / 3] * 2),  # surely worse: measured once
        ({"SS": [0.8], "HR": [0.9]}, "SS", [BUDGET / 3] * 2),  # surely better
        ({"SS": [0.98, 0.97], "HR": [1.04]}, "SS", [BUDGET / 3] * 2 + [BUDGET]),  # uncertain: measured again
        ({"SS": [0.98, 1.01], "HR": [1.04]}, None, [BUDGET / 3] * 2 + [BUDGET]),  # and only lucky before
        ({}, None, []),
    ],
)
def test_rivals_are_measured_until_they_are_surely_worse_or_better(
    bounds: dict[str, list[float]], chosen: str | None, budgets: list[float]
) -> None:
    spent: list[float] = []

    def measure(family: Any, budget: float, turn: int) -> Any:
        spent.append(budget)
        return bounds[family.name][turn]

    rivals: Any = [SimpleNamespace(name=name) for name in bounds]
    found = best_rival(rivals, 1.0, measure, lambda point: (float(point), 0.05))  # type: ignore[arg-type]
    assert (found.name if found else None) == chosen
    assert spent == budgets


def test_a_change_of_mechanism_must_be_worth_three_per_cent() -> None:
    search = searched(n=61_004, symbols=9, max_error=0.00514)
    ours = at(search, "k-RR", 2.6)
    assert needs_less(ours, at(search, "O-RR", 2.5), 1)
    assert not needs_less(ours, at(search, "O-RR", 2.55), 1)
    assert not needs_less(ours, at(search, "O-RR", 2.5), 2), "twice as much in n"


def test_what_was_found_by_simulation_is_told_of_alternatives() -> None:
    search = searched(n=61_004, symbols=9, max_error=0.00514)
    point = at(search, "O-RR", 2.08)
    told = {one.mechanism: one for one in alternatives(search, point.option, 2.08, 61_004, {"k-RR": 2.71})}
    assert told["k-RR"].needs == 2.71
    assert "30 % more" in told["k-RR"].why
    predicted = {one.mechanism: one for one in alternatives(search, point.option, 2.08, 61_004)}
    assert predicted["k-RR"].needs < 2.2, "its prediction"  # type: ignore[operator]


def test_plans_without_a_target_have_no_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.planner.choices.close_rivals", lambda *given: pytest.fail("simulated"))
    assert dn.plan(n=10_000, symbols=9, epsilon=1, shape="uniform").found == "error"
    assert dn.plan(n=100_000, symbols=9, visible=0.02).metric == "visible"
