"""Plans for a promise about the counts: kept by certificate, nearly used up, and refused in words."""

import pytest

import deniable as dn
from deniable.cli import main
from deniable.errors import DeniableError, PlanError
from deniable.planner.catalogue import families
from deniable.planner.crowded import _down
from deniable.planner.options import PlanLimits


@pytest.mark.slow
def test_the_promise_is_kept_and_used_up() -> None:
    plan = dn.plan(crowd_epsilon=0.5, n=10_000, symbols=4)
    kept = dn.crowd(plan.survey, n=10_000, delta=1e-6).epsilon
    assert 0.48 < kept <= 0.5 < plan.survey.epsilon
    assert plan.found == "error"
    others = {family.name for family in families(4, is_open=False, limits=PlanLimits()) if len(family)}
    assert {one.mechanism for one in plan.alternatives} | {plan.mechanism} == others
    losses = [one.needs or 0.0 for one in plan.alternatives]
    assert losses == sorted(losses)
    assert losses[0] > 0
    assert all("keeps the promise with epsilon" in one.why for one in plan.alternatives)


def test_a_crowd_that_is_too_small_leaves_the_epsilon_of_a_report() -> None:
    plan = dn.plan(crowd_epsilon=1.0, n=2, symbols=2, shape="uniform")
    assert plan.survey.epsilon == 1.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"crowd_epsilon": 0.5},
            "crowd_epsilon must be given with n alone, got no n; "
            "the plan finds the largest epsilon that keeps it, and the error",
        ),
        ({"crowd_epsilon": 0.5, "n": 100, "epsilon": 1}, "crowd_epsilon must be given with n alone, got epsilon;"),
        ({"crowd_epsilon": 0.5, "n": 100, "max_l1": 0.1}, "crowd_epsilon must be given with n alone, got max_l1;"),
        (
            {"crowd_epsilon": 0.5, "n": 100, "reports": 2},
            "crowd_epsilon must not be given with reports: what a crowd adds holds for one round",
        ),
        ({"crowd_epsilon": 0, "n": 100}, "crowd_epsilon must be above 0 and at most 12, got 0; 0.5 is usual"),
        ({"crowd_epsilon": 0.5, "n": 100, "delta": 1.0}, "delta must be above 0 and below 1, got 1.0; 1e-6 is usual"),
    ],
)
def test_what_is_asked_for_wrongly_is_refused(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(DeniableError) as caught:
        dn.plan(symbols=4, **arguments)  # type: ignore[arg-type]
    assert sentence in str(caught.value)


def test_limits_that_nothing_fits_are_refused() -> None:
    sentence = "no mechanism keeps crowd_epsilon within these limits; ask more people, or allow a larger one"
    with pytest.raises(PlanError, match=sentence):
        dn.plan(crowd_epsilon=0.5, n=100, symbols=4, max_bytes=1)


def test_digits_are_cut_not_rounded() -> None:
    assert [_down(x) for x in (1.23456, 11.9999, 0.0123456, 2.0)] == ["1.234", "11.99", "0.01234", "2.000"]


@pytest.mark.slow
def test_the_command_says_both_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--symbols", "2", "--n", "1000", "--crowd-epsilon", "0.5", "--shape", "uniform"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "For anyone who sees only the counts of 1,000 reports, epsilon is at most 0.4" in out
    assert "in the paper" not in out
