"""`deniable plan`: the table, JSON, the chart, the saved survey, and how it ends when it cannot be done."""

import json
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main

ASKED = ["plan", "--symbols", "8", "--n", "1e5", "--max-l1", "0.05"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def ended(capsys: pytest.CaptureFixture[str], status: int, *argv: str) -> str:
    assert main(argv) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.removeprefix("deniable: ").rstrip("\n")


@pytest.mark.slow
def test_the_table_says_what_was_found_what_lost_and_what_the_paper_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ASKED) == 0
    out = capsys.readouterr().out
    plan = dn.plan(symbols=8, n=100_000, max_l1=0.05)
    assert f"{plan.epsilon:g} (found)" in out
    for words in ("l1 loss", "largest error of a symbol", "smallest share that shows", "in 90 % of surveys"):
        assert words in out
    for one in (*plan.alternatives, *plan.paper.values()):
        assert one.mechanism in out
    assert plan.alternatives[0].why in out
    assert f"the worst of {len(plan.shapes)} shapes for this error" in out


@pytest.mark.slow
def test_json_is_the_plan_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == dn.plan(symbols=8, n=100_000, max_l1=0.05).to_json()


def test_the_survey_and_the_chart_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["plan", "--candidates", "a,b,c,d,e,f", "--n", "50000", "--epsilon", "1/2", "--name", "homepage"]
    argv += ["-o", "survey.json", "--chart", "plan.json"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "wrote survey.json" in out
    assert "wrote plan.json" in out
    survey = dn.Survey.load("survey.json")
    assert (survey.name, survey.epsilon, survey.alphabet.is_open) == ("homepage", 0.5, True)
    assert json.loads(Path("plan.json").read_text())["layer"]
    assert f"A device keeps one of {survey.cohorts} cohorts" in out
    refused = ended(capsys, 2, *argv)
    assert refused == "survey.json exists already; name another file, or replace it with --force"
    assert main([*argv, "--force"]) == 0
    capsys.readouterr()
    argv[argv.index("-o")] = "--save"  # its name until 0.1
    assert ended(capsys, 2, *argv) == refused


@pytest.mark.slow
def test_a_survey_that_asks_again_and_again_is_planned(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["plan", "--symbols", "6", "--n", "1e5", "--epsilon", "4", "--epsilon-report", "1/2", "-o", "again.json"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "\nepsilon                    4, of all reports of an answer together\n" in out
    assert "\nepsilon of one report      0.5\n" in out
    found = dn.plan(symbols=6, n=100_000, epsilon=4, epsilon_report="1/2")
    assert dn.Survey.load("again.json") == found.survey
    assert main([*argv[:-2], "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.to_json()
    said = ended(capsys, 2, "plan", "--symbols", "6", "--n", "1e5", "--max-l1", "0.1", "--epsilon-report", "1")
    assert said.startswith(
        "epsilon must be given with --epsilon-report, got n, --max-l1: it is the budget of all reports"
    )


def test_ways_to_ask_many_times_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["plan", "--symbols", "4", "--n", "1e4", "--epsilon", "4", "--reports", "30", "--shape", "zipf"]
    assert main([*argv, "--change", "0.1", "-o", "often.json"]) == 0
    out = capsys.readouterr().out
    found = dn.plan(symbols=4, n=10_000, epsilon=4, reports=30, shape="zipf", change=0.1)
    assert dn.Survey.load("often.json") == found.survey
    lines = [line for line in out.splitlines() if line.startswith(tuple(one.name for one in found.strategies))]
    assert [line.split("  ")[0] for line in lines] == [one.name for one in found.strategies]
    assert all(f"{one.error:.3g}" in line for one, line in zip(found.strategies, lines, strict=True))
    assert "  333, 1 time " in next(line for line in lines if line.startswith("sample people"))
    assert "All spend at most epsilon 4 in all, however often an answer changes." in out
    said = ended(capsys, 2, *argv, "--change", "often")
    assert "change must be a number, got str" in said


def test_shares_come_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("shares.txt").write_text("0.7\n0.2\n0.1\n")
    assert main(["plan", "--symbols", "a,b,c", "--n", "1e4", "--epsilon", "1", "--shape-file", "shares.txt"]) == 0
    assert "Answers are taken to be as given; " in capsys.readouterr().out


def test_what_must_show_depends_on_no_shape(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--symbols", "8", "--epsilon", "1", "--visible", "0.02"]) == 0
    assert "which matters for the losses alone" in capsys.readouterr().out


def test_a_plan_that_cannot_be_kept_ends_with_one_and_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    said = ended(capsys, 1, "plan", "--symbols", "8", "--n", "100", "--max-l1", "0.01")
    assert "for 100 people, even at epsilon 12, got 0.01; it takes about" in said


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--n", "1e5"], "symbols (a closed alphabet) or candidates"),
        (["--symbols", "4"], "two of n, epsilon and an error"),
        (["--symbols", "4", "--n", "100", "--max-l1", "x"], "--max-l1 must be a number, got str"),
        (["--symbols", "4", "--n", "100", "--epsilon", "x"], "epsilon must be a positive finite number"),
        (["--symbols", "4", "--shape", "zipf", "--shape-file", "x"], "--shape and --shape-file must not both be given"),
        (["--symbols", "4", "--shape-file", "nosuch"], "nosuch cannot be read: no such file or directory"),
        (["--symbols", "4", "--n", "100", "--epsilon", "1", "--chart", "x.doc"], "--chart must end in .svg"),
        (["--symbols", "a,,b", "--n", "100", "--epsilon", "1"], "--symbols must not hold empty symbols"),
    ],
)
def test_bad_arguments_end_with_one_sentence(
    capsys: pytest.CaptureFixture[str], argv: list[str], sentence: str
) -> None:
    if argv == ["--n", "1e5"]:
        argv = [*argv, "--epsilon", "1"]
    assert sentence in ended(capsys, 2, "plan", *argv)


def test_a_file_of_other_things_is_no_shape(capsys: pytest.CaptureFixture[str]) -> None:
    Path("shares.txt").write_text("many\nfew\n")
    said = ended(capsys, 2, "plan", "--symbols", "a,b", "--n", "100", "--epsilon", "1", "--shape-file", "shares.txt")
    assert said == "shares.txt must hold one share a line, got something else"


def test_a_plan_for_an_effect_is_the_library_s(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "--effect", "0.05", "--share", "0.2", "--power", "0.8", "--epsilon", "1"]
    plan = dn.plan(effect=0.05, share=0.2, power=0.8, epsilon=1)
    assert main([*command, "-o", str(tmp_path / "s.json"), "--chart", str(tmp_path / "power.svg")]) == 0
    out = capsys.readouterr().out
    assert "people                    13,744 (found)" in out
    assert "that `deniable crosstab` gives" in out
    assert dn.Survey.load(tmp_path / "s.json") == plan.survey
    assert (tmp_path / "power.svg").read_text().startswith("<svg")
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == plan.to_json() | {"curve": plan.curve()}


def test_a_design_and_a_covariate_are_planned_and_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dn.design("crosswise", p=0.25).save(tmp_path / "dice.json")
    command = ["plan", "--effect", "0.5", "--share", "0.2", "--power", "0.8", "--covariate", "0,1"]
    assert main([*command, "--survey", str(tmp_path / "dice.json")]) == 0
    assert "that `deniable regress` gives" in capsys.readouterr().out
    assert main([*command, "--survey", str(tmp_path / "dice.json"), "-o", "-"]) == 2
    assert "--output must not be given with --survey: that survey is there already" in capsys.readouterr().err
    assert main(["plan", "--effect", "0.5", "--covariate", "a,b"]) == 2
    assert "must be numbers with commas between them, got 'a,b'" in capsys.readouterr().err
