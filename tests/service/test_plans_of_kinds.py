"""Plans over HTTP for numbers, answers in an order and sensitive answers, and what the crowd adds to each."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.errors import PlanError
from deniable.service import planning
from deniable.service.planning import _at_most, _crowd, _plan, _reply
from deniable.service.sqlite import SQLiteStore
from tests.collector import Caller, run


def planned(**arguments: Any) -> tuple[dict[str, Any], dn.Survey]:
    """What the process that plans says, and its survey."""
    found = _plan(arguments)
    return found, dn.Survey.from_json(json.dumps(found["survey"]))


def test_a_number_is_planned_by_the_error_of_its_mean() -> None:
    found, survey = planned(n=1000, number=["0", "80"], step="0.5", outside="refuse", max_mean_error=6, name="hours")
    scale = survey.alphabet.bins
    assert scale is not None
    assert (scale.low, scale.high, scale.step, scale.outside) == ("0", "80", "0.5", "refuse")
    assert survey.name == "hours"
    expected = dn.plan(number=(0, 80), step="0.5", n=1000, max_mean_error=6)
    assert (found["epsilon"], survey.epsilon) == (expected.epsilon, expected.epsilon)
    assert found["errors"] == {"mean": {"bound": expected.mean_error}}
    assert found["mean_error"] <= 6
    assert found["crowd"]["epsilon"] == dn.crowd(survey, 1000).epsilon < survey.epsilon


def test_answers_in_an_order_are_planned_by_their_places() -> None:
    answers = ["never", "seldom", "often", "daily"]
    found, survey = planned(n=1000, ordered=answers, max_mean_error=0.2, name="how often")
    places = dn.plan(ordered=4, n=1000, max_mean_error=0.2)
    assert survey.symbols == tuple(answers)
    assert (survey.encoding, survey.mechanism) == (places.survey.encoding, places.survey.mechanism)
    assert found["mean_error"] == places.mean_error


def test_a_mean_that_cannot_be_had_comes_with_what_can() -> None:
    asked: dict[str, Any] = {"n": 50, "number": [0, 100], "step": 1, "max_mean_error": 1}
    with pytest.raises(dn.DeniableError, match="max_mean_error must be at least") as caught:
        _plan(asked)
    told = planning._instead(caught.value, asked)  # type: ignore[arg-type]
    ways = told["alternatives"]
    assert [(way["epsilon"], way["privacy"]) for way in ways] == [(2.0, "strong"), (4.0, "weak"), (2.0, "strong")]
    assert 1 < ways[1]["error"] < ways[0]["error"]
    assert (ways[2]["error"], ways[2]["n"] > 10_000) == (1, True)
    again, _ = planned(number=[0, 100], step=1, n=ways[2]["n"], epsilon=2)
    assert again["mean_error"] <= 1, "what is proposed is possible"
    wide: dict[str, Any] = {"n": 1000, "number": [0, 100], "bins": 10, "max_mean_error": 2}
    with pytest.raises(dn.DeniableError, match="half a bin") as caught:
        _plan(wide)
    told = planning._instead(caught.value, wide)  # type: ignore[arg-type]
    assert len(told["alternatives"]) == 2, "no number of people makes bins narrower"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"number": ["x", 1], "epsilon": 1}, "low must be a finite number, got 'x'"),
        ({"number": [5, 1], "epsilon": 1}, "low must be below high, got 5 and 1"),
        ({"number": [0, 10], "step": 3, "epsilon": 1}, "step must be above zero and divide the range from low to high"),
        ({"ordered": ["a"], "epsilon": 1}, "symbols must number from 2 to 16777216, got 1"),
    ],
)
def test_a_scale_that_is_none_is_refused_in_words(asked: dict[str, Any], said: str) -> None:
    status, body = _reply(json.dumps({"n": 100} | asked).encode())
    assert (status, said in json.loads(body)["detail"]) == (1, True), body


@pytest.mark.slow
def test_texts_that_nobody_listed_are_planned_by_the_share_that_is_found() -> None:
    found, survey = planned(n=1_000_000, discover=20, length=6, name="words")
    expected = dn.plan(n=1_000_000, discover=20, length=6, name="words")
    assert survey == expected.survey
    assert found["errors"]["share"]["bound"] == expected.share
    assert found["found"] == "epsilon"
    assert found["crowd"]["epsilon"] < expected.epsilon
    asked = {"n": 2000, "discover_above": 0.001, "length": 6}
    with pytest.raises(PlanError) as caught:
        _plan(asked)
    ways = planning._instead(caught.value, asked)["alternatives"]
    assert [(way["epsilon"], way["n"] > 2000) for way in ways] == [(2, False), (4, False), (2, True), (4, True)]
    assert ways[0]["error"] > ways[1]["error"] > 0.001
    assert (ways[2]["n"] > ways[3]["n"], ways[2]["error"], ways[3]["error"]) == (True, 0.001, 0.001)
    again, _ = planned(n=ways[3]["n"], epsilon=4, length=6)
    assert again["share"] <= 0.001, "what is proposed is possible"


def test_plans_of_kinds_over_http(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            symbols = ["none", "flu", "hiv", "hpv"]
            some = {"n": 1000, "symbols": symbols, "sensitive": ["hiv", "hpv"], "max_error": 0.05}
            for asked, kind in (
                (some, "sensitive"),
                ({"n": 500, "number": [18, 90], "bins": 36, "outside": "clamp", "max_mean_error": 8}, "krr"),
                ({"n": 500, "ordered": ["low", "high"], "epsilon": "1"}, "krr"),
            ):
                made = await call.admin("POST", "/v1/plan", asked)
                assert made.status == 200, made
                assert made.json()["survey"]["mechanism"]["kind"] == kind
                crowd = made.json()["crowd"]
                assert (crowd["n"], crowd["delta"]) == (asked["n"], 1e-6)
                assert (crowd["epsilon"] is None) == (kind == "sensitive")
                assert (await call.admin("POST", "/v1/surveys", {"survey": made.json()["survey"]})).status == 201
            for asked, said in (
                ({"n": 10, "epsilon": "1", "ordered": 5000}, "ordered must be at most 4096 here"),
                ({"n": 10, "epsilon": "1", "number": [1]}, "number must"),
                ({"n": 10, "epsilon": "1", "number": [0, 1], "bins": 5000}, "bins must"),
            ):
                refused = await call.admin("POST", "/v1/plan", asked)
                assert refused.status in (400, 422)
                assert said in refused.json()["detail"]

    run(story())


def test_where_reports_give_answers_away_no_crowd_helps_and_that_is_said() -> None:
    told = _crowd(dn.sensitive(["a", "b", "c"], sensitive=["a"], epsilon=1), 1000)
    assert told == {
        "n": 1000,
        "delta": 1e-6,
        "epsilon": None,
        "problem": "some reports can only come from certain answers, and what they show no crowd hides",
        "reason": "certain",
    }


def test_a_certificate_that_takes_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.crowds.upper_bound", lambda *_: time.sleep(600))
    monkeypatch.setattr(planning, "_CROWD_SECONDS", 0.05)
    told = _crowd(dn.warner(epsilon=1), 1000)
    assert told["epsilon"] is None
    assert told["problem"] == "the certificate takes longer than 0.05 seconds here; see dn.crowd"
    assert told["reason"] == "slow"
    with _at_most(600):
        pass
    time.sleep(0.06)  # no signal is left behind
