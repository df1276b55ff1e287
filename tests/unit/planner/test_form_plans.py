"""Plans of forms: the smallest epsilon for what is wanted, how it is spent, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from deniable.errors import DeniableError, PlanError
from deniable.planner.form_parts import Choice, PlannedPart
from deniable.planner.forms import FormPlanner

TWO = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(6, epsilon=1), epsilon=1, name="two")
WANTED = {"smokes": 0.01, "likes": 0.02}
KINDS = dn.form(
    ill=dn.sensitive(["no", "flu", "hiv"], sensitive=["hiv"], epsilon=1),
    area=dn.blocks([["a", "b"], ["c", "d", "e"]], epsilon=1),
    mood=dn.channel([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]], epsilon=1.8),
    a=dn.warner(epsilon=1),
    b=dn.krr(3, epsilon=1),
    age=dn.number(18, 90, 1, bins=32),
    city=dn.olh(epsilon=1),
    epsilon=5,
    skip=["ill", "b"],
    relate=[("a", "b")],
)


@pytest.mark.slow
def test_what_is_wanted_is_met_by_the_cheapest_way() -> None:
    plan = dn.plan(TWO, n=100_000, max_error=WANTED)
    needs = [one.needs for one in plan.spendings]
    assert needs == sorted(needs, key=float)
    assert [one.name for one in plan.spendings] == ["sample 1 of 2", "split, best shares", "split, equal shares"]
    assert plan.epsilon == pytest.approx(needs[0])
    assert (plan.form.spend, plan.form.drawn, plan.form.name) == ("sample", 1, "two")
    for question in plan.questions:
        assert question.error <= question.wanted
        assert question.epsilon <= plan.epsilon
        assert all(epsilon >= plan.epsilon for _, epsilon in question.instead)
    assert dn.Form.from_json(plan.form.to_json()) == plan.form


@pytest.mark.slow
def test_each_of_the_three_is_found_from_the_other_two() -> None:
    plan = dn.plan(TWO, n=100_000, max_error=WANTED)
    people = dn.plan(TWO, epsilon=plan.epsilon, max_error=WANTED)
    assert people.found == "n"
    assert 0.97 < people.n / 100_000 < 1.03
    errors = dn.plan(TWO, n=100_000, epsilon=plan.epsilon)
    assert errors.found == "error"
    assert errors.questions[0].wanted == errors.questions[1].wanted
    assert errors.form.epsilon <= plan.epsilon


def test_best_shares_give_more_where_more_is_wanted() -> None:
    sharp = dn.form(a=dn.krr(4, epsilon=1), b=dn.krr(4, epsilon=1), epsilon=1)
    plan = dn.plan(sharp, n=10_000, max_error={"a": 0.02, "b": 0.2})
    assert plan.form.spend == "split"
    assert plan.questions[0].epsilon > 3 * plan.questions[1].epsilon
    assert plan.form.bounds[0] == plan.form.epsilon_total


@pytest.mark.slow
def test_every_kind_of_question_is_planned() -> None:
    plan = dn.plan(KINDS, n=1_000_000, max_error=0.03, candidates={"city": 20})
    assert [question.name for question in plan.questions] == list(KINDS.order)
    assert {q.name: q.mechanism for q in plan.questions if q.name in ("ill", "area", "mood", "age")} == {
        "ill": "uRR", "area": "k-RR in groups", "mood": "channel", "age": "SW"
    }  # fmt: skip
    assert plan.form.part_of("mood").survey.mechanism.epsilon == KINDS.part_of("mood").survey.mechanism.epsilon
    assert plan.form.part_of("a") is plan.form.part_of("b")
    assert [question.skip for question in plan.form.questions] == [question.skip for question in KINDS.questions]
    assert plan._repr_html_().startswith("<")


def test_a_question_needs_what_it_needs_beside_one_that_asks_the_same() -> None:
    """What is known of the first goes to the second with the populations that were the worst: it was planned for one
    that is easier to guess, at 0.57 times the budget."""
    asked = dn.form(a=dn.krr(40, epsilon=1), b=dn.krr(40, epsilon=1), epsilon=2)
    both, alone = (FormPlanner(asked, 0.9, {}) for _ in range(2))
    both.parts[0].needed(100_000, {"a": 0.03})
    found, wanted = both.parts[1].needed(100_000, {"b": 0.033}), alone.parts[1].needed(100_000, {"b": 0.033})
    assert found == pytest.approx(wanted, rel=0.02)  # the margin of a budget


def test_other_mechanisms_of_like_questions_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    right, looked = PlannedPart._choice, []

    def counted(part: PlannedPart, budget: float, n: float) -> Choice:
        looked.append(budget)
        return right(part, budget, n)

    monkeypatch.setattr(PlannedPart, "_choice", counted)
    plans = {}
    for count in (2, 3):
        looked.clear()
        plan = dn.plan(
            dn.form({f"q{i}": dn.krr(3, epsilon=1) for i in range(count)}, epsilon=1), n=20_000, max_error=0.05
        )
        plans[count] = len(looked)
        assert len({(one.mechanism, one.epsilon, one.error, one.instead) for one in plan.questions}) == 1
    assert plans[3] < 1.4 * plans[2]  # one way to spend more, not a question more


def test_conditions_and_names_are_kept() -> None:
    asked = dn.form(
        a=dn.warner(epsilon=1, name="A?"), b=dn.warner(epsilon=1), epsilon=1,
        public={"land": ["x", "y"]}, when={"b": ("land", "x")}, participation="window",
    )  # fmt: skip
    made = dn.plan(asked, n=10_000, max_error=0.05).form
    assert (made.public, made.participation, made.questions[0].title) == (asked.public, "window:day", "A?")
    assert made.questions[1].when == ("land", ("x",))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no form": (lambda: dn.plan({}, n=10),  # type: ignore[arg-type]
        "what is planned must be a form, got dict; make one with dn.form"),
    "one given": (
        lambda: dn.plan(TWO, n=10),
        "two of n, epsilon and max_error must be given for a form, got n; the third is what the plan finds",
    ),
    "another argument": (
        lambda: dn.plan(TWO, n=10, max_error=0.1, symbols=4),
        "symbols must not be given with a form, which has questions of its own",
    ),
    "an unknown question": (
        lambda: dn.plan(TWO, n=10, max_error=WANTED | {"x": 1}),
        "max_error must be of questions of this form, got 'x'",
    ),
    "a question left out": (
        lambda: dn.plan(TWO, n=10, max_error={"smokes": 1}),
        "max_error must be given for every question, got none for 'likes'",
    ),
    "no number": (lambda: dn.plan(TWO, n=10, max_error="x"),  # type: ignore[arg-type]
        "max_error must be numbers, got str"),
    "zero": (lambda: dn.plan(TWO, n=10, max_error=0), "max_error must be above 0, got 0"),
    "no candidates": (
        lambda: dn.plan(KINDS, n=10, max_error=0.1),
        "candidates must say how many texts are looked for in 'city', two or more",
    ),
    "two stages": (
        lambda: dn.plan(dn.form(a=dn.warner(epsilon=2, epsilon_report=1), b=dn.warner(epsilon=1), epsilon=2), n=10,
                        max_error=0.1),
        "questions of a planned form must have no second stage; add epsilon_report afterwards",
    ),
    "confidence": (
        lambda: dn.plan(TWO, n=10, max_error=0.1, confidence=0.3),
        "confidence must be from 0.5 to 0.99, got 0.3; it is a share of repeats",
    ),
    "a budget": (
        lambda: dn.plan(TWO, n=10, epsilon=100),
        "epsilon must be from 0.001 to 12 a part, got 100 in all",
    ),
    "no budget": (
        lambda: dn.plan(TWO, n=10, epsilon="two"),
        "epsilon must be a number, decimal text or a fraction, got 'two'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_planned_is_refused_in_a_sentence(name: str) -> None:
    make, sentence = REFUSED[name]
    with pytest.raises(DeniableError) as caught:
        make()
    assert str(caught.value) == sentence


@pytest.mark.slow
def test_what_no_budget_reaches_is_told() -> None:
    with pytest.raises(PlanError, match=r"max_error of 'smokes' must be at least 0.08\d+ with 100 people, got 0.001"):
        dn.plan(TWO, n=100, max_error=0.001)
    with pytest.raises(PlanError) as caught:
        dn.plan(TWO, epsilon=0.02, max_error=1e-6)
    assert str(caught.value) == ("epsilon must be larger for these questions, got 0.02; no number of people is enough")


@pytest.mark.slow
def test_the_command_line_plans_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TWO.save(tmp_path / "form.json")
    arguments = ["plan", "--form", str(tmp_path / "form.json"), "--n", "1e5", "--max-error", "smokes=0.01,likes=0.02"]
    assert main([*arguments, "-o", str(tmp_path / "planned.json")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "sample 1 of 2" in shown
    assert "epsilon of the form with others" in shown
    planned = dn.Form.load(tmp_path / "planned.json")
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["epsilon"] == planned.epsilon
    assert [one["name"] for one in told["questions"]] == ["smokes", "likes"]
    assert main([*arguments, "--symbols", "4"]) != 0
    assert "--symbols must not be given with --form" in capsys.readouterr().err
