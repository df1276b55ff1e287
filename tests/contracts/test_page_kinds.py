"""Pages of numbers, answers in an order and tables of weights: what they say of a survey is what Python computes."""

import json
import re
from fractions import Fraction
from typing import Any

import pytest

import deniable as dn
from deniable.cli.words import at_most, notice, scale_sentence
from deniable.survey import ubd
from tests.contracts.test_pages import ask, chance

NEAR = {
    "number": dn.number(18, 90, 1, bins=64),
    "steps": dn.number(0, 80, 2, step="0.5", outside="refuse"),
    "again": dn.number(-1, 1, 3, bins=20, epsilon_report=1),
    "ordered": dn.ordered(["never", "seldom", "often", "daily"], 2),
    "sharp": dn.ordered(5, 6, reach=0),
}
TABLES = {
    "one": dn.sensitive(["hiv", "flu", "none"], sensitive=["hiv"], epsilon=1),
    "sensitive": dn.sensitive(["none", "flu", "hiv", "hpv"], sensitive=["hiv", "hpv"], epsilon=2),
    "design": ubd(40, sensitive=range(20), epsilon=1, order=3, dimension=4),
    "blocks": dn.blocks([["a", "b"], ["c", "d", "e"], ["f"]], epsilon=1),
    "budgets": dn.krr(["a", "b", "c"], epsilon={"a": 0.5, "b": 2, "c": 3}),
    "channel": dn.channel([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]], epsilon=1.8, symbols=["a", "b", "c"]),
}


def asked(module: str, name: str, survey: dn.Survey, *more: object) -> Any:
    fields = json.loads(survey.to_json())
    (n,) = ask((module, "numbers", [fields]))
    return n if name == "numbers" else ask((module, name, [n, *more]))[0]


@pytest.mark.parametrize("name", NEAR)
def test_the_odds_of_a_scale_are_the_surveys(name: str) -> None:
    survey = NEAR[name]
    n = asked("near.js", "numbers", survey)
    mechanism, size = survey.mechanism, len(survey.symbols or ())
    assert (n["answers"], n["cells"], n["mine"]) == (size, survey.cells, survey.hashes)
    for told, exact in (("hit", mechanism.hit), ("miss", mechanism.miss), ("odds", mechanism.odds)):
        assert n[told] == pytest.approx(float(exact), rel=1e-9)
    assert n["lifetime"] == pytest.approx(float(mechanism.permanent.odds), rel=1e-9)
    near = survey.hashes * mechanism.hit
    said = asked("near.js", "whatHappens", survey)
    assert re.findall(r"[\d.]+%", said) == [chance(near)]
    for place in (0, size - 1):
        truth = sorted(survey.encode(0, (survey.symbols or ())[place]))
        for cell in (truth[0], truth[-1], (truth[-1] + 1) % survey.cells):
            drawn = asked("near.js", "rolled", survey, truth, [cell])
            assert list(range(drawn["from"], drawn["to"])) == truth
            assert drawn["low"] == pytest.approx(float(mechanism.miss / mechanism.hit), rel=1e-9)
            assert [share for _, share in drawn["legend"]] == [chance(near), chance(1 - near)]
            assert ("away" in drawn["said"]) == (cell not in truth)


@pytest.mark.parametrize("name", ["number", "steps", "again"])
def test_what_becomes_of_a_number_is_said_as_in_the_notice(name: str) -> None:
    survey = NEAR[name]
    assert ask(("near.js", "scaleWords", [json.loads(survey.to_json())["alphabet"]])) == [scale_sentence(survey)]


@pytest.mark.parametrize("name", NEAR)
def test_a_place_stands_for_the_answers_that_have_it(name: str) -> None:
    survey = NEAR[name]
    symbols = survey.symbols or ()
    names = [str(symbol) for symbol in symbols]
    n = asked("near.js", "numbers", survey)
    for cell in (0, survey.cells // 2, survey.cells - 1):
        some = [label for label, symbol in zip(names, symbols, strict=True) if cell in survey.encode(0, symbol)]
        first, last = some[0], some[-1]
        if survey.alphabet.bins is not None:
            first, last = first.split(" to ")[0], last.split(" to ")[-1]
        expected = first if first == last else f"{first} to {last}"
        assert ask(("near.js", "likeliest", [n, cell, names])) == [expected]


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_promised_as_in_the_notice(name: str) -> None:
    survey = TABLES[name]
    n = asked("tables.js", "numbers", survey)
    assert n["odds"] == pytest.approx(float(survey.mechanism.odds), rel=1e-7)
    assert (n["cells"], n["answers"]) == (survey.columns, len(survey.symbols or ()))
    told = dict(notice(survey))["What that protects"]
    (promise, strong) = ask(("words.js", "guarantee", [n]), ("words.js", "deniability", [n]))
    assert f"at most {at_most(survey.mechanism.odds)} times" in promise
    assert n.get("certain", "a certain answer") in told
    hidden = {"blocks": "which answer of its group"}.get(name, n.get("deniable", "any answer"))
    assert hidden in told
    assert hidden in strong
    if name in ("one", "sensitive", "design"):
        assert "may be seen for what it is" in promise
        assert "is known not to have reported a sensitive one" in promise
        assert "that you chose a sensitive answer" in ask(("words.js", "headline", [n]))[0]
        own = Fraction(survey.mechanism.permanent.thresholds()["own"], survey.mechanism.span)
        assert f"as it is with probability {chance(own)}" in ask(("tables.js", "whatHappens", [n]))[0]
