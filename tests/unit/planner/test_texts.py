"""Plans for texts that nobody listed: the third of people, epsilon and share, their levels, and what is refused."""

import json

import pytest

import deniable as dn
from deniable.cli import main
from deniable.errors import DeniableError, PlanError
from tests.unit.cli.test_cli import refused


def test_the_third_follows_from_the_two_others() -> None:
    by_epsilon = dn.plan(n=300_000, discover_above=0.01, length=6)
    assert by_epsilon.found == "epsilon"
    by_people = dn.plan(epsilon=by_epsilon.epsilon, discover_above=0.01, length=6)
    assert by_people.found == "n"
    assert by_people.n == pytest.approx(300_000, rel=0.01)
    by_share = dn.plan(n=300_000, epsilon=by_epsilon.epsilon, length=6)
    assert by_share.found == "share"
    assert by_share.share == pytest.approx(0.01, rel=0.01)
    assert dn.plan(n=300_000, discover_above=0.02, length=6).epsilon < by_epsilon.epsilon
    assert dn.plan(n=300_000, discover_above=0.01, length=12).epsilon > by_epsilon.epsilon


def test_a_number_of_texts_is_the_share_of_the_last_of_them_by_zipf() -> None:
    plan = dn.plan(epsilon=3, discover=20, length=6, name="queries")
    assert plan.share == pytest.approx(1 / 20 / 12.09, rel=0.001)
    assert plan.texts == 20
    assert plan.to_json()["texts"] == 20
    assert plan.survey.name == "queries"
    assert plan.words.startswith(
        "the 20 most frequent of 100,000 texts by Zipf's law: texts of at least 0.414 % of people"
    )
    assert "finds" in plan._repr_html_()
    assert plan.survey == dn.plan(epsilon=3, discover=20, length=6, name="queries").survey
    assert plan.survey != dn.plan(epsilon=3, discover=20, length=6, name="queries", seed=1).survey


def test_text_is_read_as_the_plan_is_asked() -> None:
    assert dn.plan(n=10**6, epsilon=3, length=6, text="exact").survey.alphabet.text == "exact"
    assert dn.plan(n=10**6, epsilon=3, length=6).survey.alphabet.text == "folded"


def test_levels_have_people_by_what_they_must_tell_apart() -> None:
    levels = dict(dn.plan(n=10**6, epsilon=3, length=6).survey.encoding.levels)
    assert sum(levels.values()) == 1024
    assert levels[2] < levels[3] == levels[4] == levels[5] < levels[6]
    assert sum(dict(dn.plan(n=10_000, epsilon=3, length=6).survey.encoding.levels).values()) == 256
    assert dn.plan(n=10**6, epsilon=1, length=6).survey.cohorts == 4096  # with four cells each
    assert dn.plan(n=10**5, epsilon=1, length=6).survey.cohorts == 1000  # of a hundred people each
    assert dn.plan(n=10**6, discover=20).survey.encoding.length == 32
    assert len(dn.plan(n=10**6, epsilon=3, length=2).survey.encoding.levels) == 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"discover": 20},
            "two of n, epsilon and discover (or discover_above) must be given, got 1 of them; the third",
        ),
        (
            {"discover": 20, "n": 10**6, "epsilon": 1},
            "two of n, epsilon and discover (or discover_above) must be given, got 3 of them; the third is what",
        ),
        (
            {"discover": 20, "discover_above": 0.1, "n": 10**6},
            "discover and discover_above must not both be given: either how many texts, or how frequent",
        ),
        ({"discover_above": 0.7, "n": 10**6}, "discover_above must be a share above 0 and up to 0.5, got 0.7"),
        ({"discover_above": True, "n": 10**6}, "discover_above must be a share above 0 and up to 0.5, got True"),
        (
            {"discover": 20, "n": 10**6, "symbols": 4},
            "symbols must not be given with discover: a text is found or not, whatever it is",
        ),
        (
            {"discover": 20, "n": 10**6, "confidence": 0.1},
            "confidence must be from 0.5 to 0.99, got 0.1; it is a share",
        ),
    ],
)
def test_requests_that_say_too_much_or_too_little_are_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(DeniableError) as met:
        dn.plan(**given)  # type: ignore[arg-type]
    assert str(met.value).startswith(sentence)


def test_what_no_survey_can_do_is_said() -> None:
    with pytest.raises(PlanError, match=r"^discover_above must be at least 0\.\d+ with 1,000 people, got 0") as met:
        dn.plan(n=1000, discover_above=0.0001, length=6)
    assert str(met.value).endswith("; ask more people, or tell fewer bytes apart (length)")
    with pytest.raises(PlanError, match=r"^discover_above 1e-09 must be larger: at epsilon 0\.1 no crowd is enough$"):
        dn.plan(epsilon=0.1, discover_above=1e-9)
    form = dn.form(a=dn.krr(2, epsilon=1), b=dn.krr(2, epsilon=1), epsilon=1)
    with pytest.raises(DeniableError, match=r"^discover must not be given with a form, which has questions of"):
        dn.plan(form, n=1000, discover=20)


def test_the_command_prints_and_writes_the_plan(
    capsys: pytest.CaptureFixture[str], tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert main(["plan", "--discover", "20", "--n", "1e6", "--length", "6", "-o", "words.json"]) == 0
    printed = capsys.readouterr().out
    assert "the 20 most frequent of 100,000 texts by Zipf's law" in printed
    assert "cohorts of bytes" in printed
    assert dn.Survey.load("words.json").encoding.finds_text
    assert main(["plan", "--discover-above", "0.01", "--epsilon", "4", "--length", "6", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["found"] == "n"
    for asked in (
        ["--discover", "20", "--n", "1e6"],
        ["--discover-above", "0.01", "--n", "1e6"],
        ["--length", "6", "--n", "1e6", "--epsilon", "1"],
        ["--number", "18,90", "--n", "1e6", "--epsilon", "1"],
    ):
        told = refused(capsys, "plan", *asked, "--chart", "plan.svg")
        assert told == f"--chart must not be given with {asked[0]}: there is one line to it, the square root of n"
