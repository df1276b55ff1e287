"""`deniable regress`: what the library's fit says, as text and JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.cli import main


def test_it_prints_the_fit_of_the_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey = dn.design("forced", p="2/3", yes="1/6")
    survey.save(tmp_path / "survey.json")
    rows = {"said": ["no", "yes", "no", "yes"], "old": [0, 0, 1, 1], "people": [700, 300, 550, 450]}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    command = [
        "regress",
        str(tmp_path / "survey.json"),
        "said ~ old",
        str(tmp_path / "rows.parquet"),
        "--counts",
        "people",
    ]
    fit = dn.regress("said ~ old", rows, survey=survey, counts="people")
    assert main(command) == 0
    assert capsys.readouterr().out == fit.summary() + "\n"
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == fit.to_json()


Files = Callable[..., list[str]]


@pytest.fixture
def command(tmp_path: Path) -> Files:
    """The start of a command line for a survey, a formula and rows."""

    def made(survey: dn.Survey, formula: str, rows: dict[str, Any]) -> list[str]:
        survey.save(tmp_path / "survey.json")
        pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
        return ["regress", str(tmp_path / "survey.json"), formula, str(tmp_path / "rows.parquet")]

    return made


def test_a_randomised_covariate(command: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey, drinks = dn.warner(epsilon=3), dn.krr(["never", "often"], epsilon=4)
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 2000)
    smokes = (rng.random(2000) < 0.2 + 0.4 * truth).astype(int)
    rows = {
        "smokes": dn.privatize(survey, np.array(["no", "yes"])[smokes]).responses,
        "drinks": dn.privatize(drinks, np.array(["never", "often"])[truth]).responses,
    }
    drinks.save(tmp_path / "drinks.json")
    start = command(survey, "smokes ~ drinks", rows)
    fit = dn.regress("smokes ~ drinks", rows, survey=survey, randomized={"drinks": drinks})
    assert main([*start, "--randomized", f"drinks={tmp_path / 'drinks.json'}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == fit.to_json()
    assert main([*start, "--randomized", "drinks"]) == 2
    assert "--randomized must be COLUMN=FILE, got 'drinks'" in capsys.readouterr().err
    assert main([*start, "--randomized", f"age={tmp_path / 'drinks.json'}"]) == 2
    assert "randomized must name a covariate of the formula, got 'age'" in capsys.readouterr().err


def test_groups_with_dice_of_their_own_and_those_who_always_say_no(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    designs = {"1": dn.design("forced", p=0.7, yes=0.2), "2": dn.design("forced", p=0.7, yes=0.1)}
    rows = {"said": ["yes", "no"] * 2, "dice": [1, 1, 2, 2], "people": [3485, 6515, 2635, 7365]}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    surveys = []
    for value, design in designs.items():
        design.save(tmp_path / f"dice-{value}.json")
        surveys.append(f"{value}={tmp_path / f'dice-{value}.json'}")
    rest = ["said ~ 1", str(tmp_path / "rows.parquet"), "--counts", "people", "--group", "dice"]
    for options in ([], ["--noncompliance", "no"]):
        fit = dn.regress(
            "said ~ 1",
            rows,
            survey=designs,
            group="dice",
            counts="people",
            noncompliance=options[-1] if options else None,
        )
        assert main(["regress", *surveys, *rest, *options]) == 0
        assert capsys.readouterr().out == fit.summary() + "\n"
    assert "(always no)" in fit.summary()
    for given, told in (
        ([surveys[0], surveys[0]], "SURVEY with --group must name each value once, got one twice"),
        ([surveys[0][2:], surveys[1]], "SURVEY with --group must be VALUE=FILE, got"),
        ([surveys[0]], "survey must have two groups or more where it is a mapping, got 1"),
        ([surveys[0], "3" + surveys[1][1:]], "column 'dice' must hold groups that have a survey, got '2'"),
    ):
        assert main(["regress", *given, *rest]) == 2
        assert told in capsys.readouterr().err
    assert main(["regress", *surveys, *rest[:4]]) == 2
    assert "SURVEY must be one file without --group, got 2; name the column" in capsys.readouterr().err


BASE = {"said": ["no", "yes"] * 40, "x": [0, 1, 2, 3] * 20, "z": [0, 2, 4, 6] * 20, "w": [1.0] * 79 + [0.0]}
WARNER = dn.design("warner", p=0.7)


@pytest.mark.parametrize(
    ("formula", "rows", "options", "told"),
    [
        ("said ~ x + z", BASE, [], "covariates must not be collinear, got 'z', which follows from those before it"),
        ("said ~ old", BASE, [], "must name columns of the data, got 'old'"),
        ("said ~ x", {"said": ["no"], "x": [1]}, [], "people must be at least as many as coefficients, got 1 for 2"),
        ("said ~ x", BASE, ["--weights", "w"], "weights must be positive numbers, got 1 that are not"),
        ("said ~ x", {"said": ["no", None], "x": [1, 2]}, ["--missing", "raise"], "rows must have no missing values"),
        ("said ~ x", {"said": ["no", "maybe"], "x": [1, 2]}, [], "must hold 'no', 'yes', got others"),
        ("said ~ x", BASE, ["--noncompliance", "no"], "noncompliance must have two groups with different odds"),
        ("said ~ x", BASE, ["--base", "maybe"], "base must be one of the answers, got 'maybe'"),
        ("said ~ 1 +* x", BASE, [], "formula must be one that formulaic reads, got 'said ~ 1 +* x'"),
    ],
)
def test_bad_input_is_a_sentence(
    command: Files, formula: str, rows: Any, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command(WARNER, formula, rows), *options]) == 2
    assert told in capsys.readouterr().err


def test_reports_of_another_survey_are_a_sentence(command: Files, capsys: pytest.CaptureFixture[str]) -> None:
    reports = [report.pack() for report in dn.privatize(dn.warner(epsilon=2), ["no", "yes"])]
    assert main(command(dn.warner(epsilon=1), "y ~ 1", {"y": reports})) == 2
    assert "survey" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_a_sentence(
    command: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = command(WARNER, "said ~ x", BASE)
    assert main([*start[:3], str(tmp_path / "none.parquet")]) == 2
    assert "data must be a Parquet or CSV file or a table, got" in capsys.readouterr().err
    (tmp_path / "none.parquet").write_text("no table")
    for survey in (WARNER, dn.orr(symbols=3, epsilon=1, cells=2, cohorts=4)):  # cohorts are a column beside the reports
        survey.save(tmp_path / "survey.json")
        assert main([*start[:3], str(tmp_path / "none.parquet")]) == 2
        assert "data must be a Parquet or CSV file or a table, got" in capsys.readouterr().err
    assert main(["regress", str(tmp_path / "none.json"), *start[2:]]) == 2
    assert "none.json cannot be read: no such file" in capsys.readouterr().err


def test_numbers_that_do_not_pretend(command: Files, capsys: pytest.CaptureFixture[str]) -> None:
    """Perfect separation, and rows with missing values that were dropped."""
    rows = {"y": [0] * 5 + [1] * 5 + [None], "x": [0] * 5 + [1] * 5 + [1], "n": [1000] * 11}
    assert main([*command(dn.warner(epsilon=2), "y ~ x", rows), "--counts", "n"]) == 0
    out = capsys.readouterr().out
    assert "Some coefficients have no finite estimate: covariates separate the answers perfectly" in out
    assert "1,000 rows with a missing value were left out." in out
