"""What a form gives at a budget: the ways to spend it that are compared, and the errors that are said."""

import pytest

import deniable as dn
from deniable.errors import DeniableError
from deniable.planner import offer_form
from deniable.planner.forms import Memory

ASKED = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(6, epsilon=1), age=dn.number(18, 90, 1, bins=16), epsilon=2)


def test_the_best_way_has_the_smallest_largest_error() -> None:
    memory: Memory = {}
    found = offer_form(ASKED, n=3000, memory=memory)
    needs = [one.needs for one in found.spendings]
    assert needs == sorted(needs, key=lambda value: value or 0)
    names = {one.name for one in found.spendings}
    assert names == {"split, shares of least variance", "sample 1 of 3", "sample 2 of 3"}
    parts = [question.error / (67.5 if question.name == "age" else 1) for question in found.questions]
    assert max(parts) == pytest.approx(needs[0])
    assert found.form.epsilon <= 2
    assert found.form.drawn == found.spendings[0].drawn
    assert [question.name for question in found.questions] == ["smokes", "likes", "age"]
    known = {key: len(part._known) for key, part in memory.items()}
    assert offer_form(ASKED, n=3000, memory=memory) == found
    assert {key: len(part._known) for key, part in memory.items()} == known, "nothing was worked out twice"


def test_errors_are_about_those_of_the_plan_that_searches() -> None:
    """The plan finds shares that give every question one error, so that its largest is a little smaller."""
    pair = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(4, epsilon=1), epsilon=2)
    offered, planned = offer_form(pair, n=20_000), dn.plan(pair, n=20_000, epsilon=2)
    least = planned.spendings[0].needs
    assert least is not None
    assert 0.95 * least < max(question.error for question in offered.questions) < 1.3 * least


def test_what_cannot_be_offered_is_said() -> None:
    drawn = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(6, epsilon=1), epsilon=2, spend="sample")
    with pytest.raises(
        DeniableError, match=r"^a form that is offered must have spend='split', got 'sample'; see plan$"
    ):
        offer_form(drawn, n=100)
    with pytest.raises(DeniableError, match=r"^epsilon must be from 0.001 to 12 a part, got 0.0005 in all$"):
        offer_form(dn.form(a=dn.warner(epsilon=1), b=dn.warner(epsilon=1), epsilon=0.0005), n=100)
