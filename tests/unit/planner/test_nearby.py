"""Where a plan is not possible, what is proposed instead is: the privacy exactly, the error about."""

import pytest

import deniable as dn
from deniable.errors import PlanError
from deniable.planner.nearby import Nearby, nearby
from deniable.survey.strength import bound_of, strength

pytestmark = pytest.mark.slow


def proposals(**asked: object) -> list[Nearby]:
    with pytest.raises(PlanError) as refused:
        dn.plan(**asked)  # type: ignore[arg-type]
    return list(nearby(refused.value, (bound_of("strong"), bound_of("weak")), **asked))


@pytest.mark.parametrize("people", [30, 150])
@pytest.mark.parametrize("size", [3, 8, 20, 50])
@pytest.mark.parametrize("kind", ["symbols", "candidates"])
def test_what_is_proposed_is_what_a_plan_then_has(kind: str, size: int, people: int) -> None:
    answers = {kind: size}
    told = proposals(n=people, max_error=0.05, **answers)
    *errors, crowd = told
    assert [one.epsilon for one in told] == [2, 4, 2][-len(told) :], "what says nothing is left out"
    assert all(one.n == people for one in errors)
    assert (crowd.error, crowd.n > people) == (0.05, True)
    for one in told:
        assert f"{one.error:.2g}" == f"{one.error:g}"
        made = dn.plan(n=one.n, epsilon=one.epsilon, metric="max", **answers)  # type: ignore[arg-type]
        assert strength(made.epsilon) == strength(one.epsilon), "exactly"
        # Predictions and plans differed by 13 % at most over 60 questions; numbers are rounded up to two digits.
        assert 0.8 < made.errors["max"].bound / one.error < 1.2, one


def test_fifty_candidates_and_150_people_have_the_privacy_that_is_proposed() -> None:
    """Weak was proposed as an error of 0.12, and the plan for that error had epsilon 4.9."""
    _, weak, _ = proposals(n=150, candidates=50, max_error=0.05)
    assert dn.plan(n=weak.n, epsilon=weak.epsilon, metric="max", candidates=50).epsilon == 4.0


def test_what_no_crowd_can_do_is_not_proposed() -> None:
    assert [one.n for one in proposals(n=10, symbols=2, max_error=1e-9)] == [10, 10]
    assert proposals(n=10, candidates=300, max_error=0.01)[-1].n > 10


def test_a_question_without_people_has_no_such_proposals() -> None:
    assert list(nearby(PlanError("no"), (2.0,), n=100, epsilon=1, symbols=3)) == []


def test_what_shows_is_proposed_too() -> None:
    assert [one.epsilon for one in proposals(n=100, candidates=20, visible=0.01)][-1] == 2.0
