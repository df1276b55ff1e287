"""Where a plan is not possible, what is proposed instead is."""

import pytest

import deniable as dn
from deniable.errors import PlanError
from deniable.planner.nearby import nearby
from deniable.survey.strength import SCALE, bound_of, strength


def proposals(**asked: object) -> list[tuple[str, float, float]]:
    with pytest.raises(PlanError) as refused:
        dn.plan(**asked)  # type: ignore[arg-type]
    found = nearby(refused.value, (bound_of("strong"), bound_of("weak")), **asked)
    return [(one.change, one.value, one.epsilon) for one in found]


@pytest.mark.parametrize("answers", [{"symbols": 2}, {"symbols": 3}, {"candidates": 20}], ids=str)
def test_what_is_proposed_can_be_planned(answers: dict[str, int]) -> None:
    asked = {"n": 150, "max_error": 0.05, **answers}
    told = proposals(**asked)
    assert [(change, epsilon) for change, _, epsilon in told] == [("max_error", 2), ("max_error", 4), ("n", 2)]
    assert told[0][1] > told[1][1] > 0.05
    for change, value, epsilon in told:
        assert f"{value:.2g}" == f"{value:g}" or value >= 100, "two digits are enough"
        made = dn.plan(**(asked | {change: int(value) if change == "n" else value}))  # type: ignore[arg-type]
        # Predicted with some room and rounded up; the plan, which is simulated, must have the word that was proposed.
        assert 0.4 * epsilon < made.epsilon, (change, value)
        assert strength(made.epsilon) in {word for most, word in SCALE if most <= epsilon}, (change, value)


def test_what_no_crowd_can_do_is_not_proposed() -> None:
    assert proposals(n=10, symbols=2, max_error=1e-9)[-1][0] == "max_error"
    assert [change for change, *_ in proposals(n=10, candidates=300, max_error=0.01)][-1] == "n"


def test_a_question_without_people_has_no_such_proposals() -> None:
    assert list(nearby(PlanError("no"), (2.0,), n=100, epsilon=1, symbols=3)) == []
