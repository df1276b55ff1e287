"""Numbers on the command line: a survey, its notice, a file of answers, mean and quartiles, a plan for a mean."""

import json
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(argv) == 0
    return capsys.readouterr().out


def test_from_a_survey_to_its_mean(capsys: pytest.CaptureFixture[str]) -> None:
    new = "survey new --mechanism number --low 18 --high 90 --bins 64 --epsilon 4 --name age --outside refuse"
    assert "wrote survey.json: <Survey 'age': SW, 64 symbols" in said(capsys, *new.split())
    survey = dn.Survey.load("survey.json")
    assert survey == dn.number(18, 90, 4, bins=64, outside="refuse", name="age")
    told = " ".join(said(capsys, "survey", "notice", "survey.json").split())
    assert "Numbers from 18 to 90 are sorted into 64 bins. Others are refused: nothing is sent for them." in told
    assert "of which each answer has" in said(capsys, "survey", "show", "survey.json")
    ages = [20 + i % 50 for i in range(4000)]
    Path("ages.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages) + "200\nold\n")
    out = said(
        capsys, *["privatize", "ages.csv", "--column", "age", "--survey", "survey.json", "-o", "reports.parquet"]
    )
    assert "2 rows of 4,002 left out" in out
    said(capsys, *["count", "reports.parquet", "--survey", "survey.json", "-o", "ages.tally"])
    out = said(capsys, *["decode", "ages.tally", "--chart", "ages.svg", "--top", "3"])
    for name in ("mean", "lower quartile", "median", "upper quartile"):
        assert name in out
    drawn = Path("ages.svg").read_text()
    assert drawn.startswith("<svg")
    assert ">age</text>" in drawn
    assert ">4,000 randomised reports, epsilon 4.00<" in drawn
    found = json.loads(said(capsys, "decode", "ages.tally", "--json"))["figures"]
    assert set(found) == {"mean", "lower quartile", "median", "upper quartile"}
    assert found["mean"]["low"] < 44.5 < found["mean"]["high"]
    assert "figures" not in said(capsys, "decode", "ages.tally", "--csv")


def test_answers_in_an_order_have_quartiles_and_a_mean_place(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, *["survey", "new", "--mechanism", "ordered", "--symbols", "never,seldom,often", "--epsilon", "3"])
    survey = dn.Survey.load("survey.json")
    dn.count(survey, dn.privatize(survey, ["seldom"] * 2000)).save("t.tally")
    out = said(capsys, "decode", "t.tally")
    assert "median          " in out
    assert "mean place  " in out
    assert "\nmean  " not in out
    assert "seldom to seldom" in out
    rows = [line.split()[0] for line in out.splitlines() if line.startswith(("never", "seldom", "often"))]
    assert rows == ["never", "seldom", "often"]  # as people read them, not by size
    said(capsys, "decode", "t.tally", "--chart", "t.json")
    own = dn.decode(dn.Tally.load("t.tally")).chart().to_dict()
    for chart in (json.loads(Path("t.json").read_text()), own):
        assert [bar["name"] for bar in next(iter(chart["datasets"].values()))] == ["never", "seldom", "often"]


def test_large_numbers_have_no_exponent(capsys: pytest.CaptureFixture[str]) -> None:
    survey = dn.number(0, 200_000, 4, step=1000)
    dn.count(survey, dn.privatize(survey, [42_000] * 4000)).save("t.tally")
    out = said(capsys, "decode", "t.tally")
    assert "42,000" in out
    assert "e+0" not in out
    assert "(42,000 to 42,000)" in repr(dn.decode(dn.Tally.load("t.tally")).quantile(0.5))


def test_a_plan_for_a_mean(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(
        capsys,
        *["plan", "--number", "18,90", "--step", "1", "--n", "1e5", "--max-mean-error", "1", "-o", "survey.json"],
    )
    assert "(found)" in out
    assert "error of the mean  below 1 in 90 % of surveys" in out
    assert dn.Survey.load("survey.json").title == "SW"
    assert (
        json.loads(said(capsys, *["plan", "--number", "0,1", "--n", "1e4", "--epsilon", "1", "--json"]))["found"]
        == "error"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--number 18 --n 1e5 --epsilon 1", "--number must be two numbers with a comma between them, got '18'"),
        ("--number 1,9 --n 1e5 --max-mean-error none", "--max-mean-error must be a number above 0, got 'none'"),
        ("--number 1,9 --n 1e5 --epsilon 1 --chart c.svg", "--chart must not be given with --number"),
        ("--number 1,9 --n 1e5 --epsilon 1 --max-l1 .1", "deniable: --max-l1 must not be given with number: a mean"),
        ("--symbols 9 --n 1e5 --max-mean-error 1", "must not be given with --max-mean-error: a mean is planned"),
    ],
)
def test_a_plan_that_is_none_has_a_sentence(capsys: pytest.CaptureFixture[str], options: str, sentence: str) -> None:
    assert main(["plan", *options.split()]) == 2
    assert sentence in capsys.readouterr().err
