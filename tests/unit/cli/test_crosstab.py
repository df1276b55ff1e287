"""`deniable crosstab`."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main

FORM = dn.form(
    smokes=dn.krr(["no", "yes"], epsilon=1),
    age=dn.krr(["young", "old"], epsilon=1),
    epsilon=3,
    relate=[("smokes", "age")],
)


@pytest.fixture
def form(tmp_path: Path) -> str:
    p = {("smokes", "age"): [[0.5, 0.2], [0.1, 0.2]]}
    dn.simulate(FORM, p, n=100_000, rng=np.random.default_rng(0)).save(tmp_path / "form.tally")
    return str(tmp_path / "form.tally")


@pytest.fixture
def groups(tmp_path: Path) -> list[str]:
    survey = dn.krr(["no", "yes"], epsilon=2, name="smokes")
    for name, counts in (("women", [700, 300]), ("men", [500, 500])):
        dn.Tally(survey, [counts]).save(tmp_path / f"{name}.tally")
    return [f"--group=women={tmp_path / 'women.tally'}", f"--group=men={tmp_path / 'men.tally'}"]


def test_a_related_pair(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crosstab", form, "--rows", "age", "--columns", "smokes"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["age", "\\", "smokes", "no", "yes"]
    assert "The answers are related: chi-square" in out


def test_groups(groups: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crosstab", *groups]) == 0
    out = capsys.readouterr().out
    assert "group \\ smokes" in out
    assert "women" in out


def test_json_and_csv_are_the_table(groups: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crosstab", *groups, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(cell["row"], cell["column"]) for cell in found["cells"]][:2] == [("women", "no"), ("women", "yes")]
    assert found["independence"]["p_value"] < 1e-6
    assert main(["crosstab", *groups, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert float(rows[0]["within_row"]) == pytest.approx(found["cells"][0]["within_row"])


def test_a_chart_is_written(groups: list[str], tmp_path: Path) -> None:
    assert main(["crosstab", *groups, "--chart", str(tmp_path / "c.svg")]) == 0
    assert "surely more" in (tmp_path / "c.svg").read_text()


def test_those_who_always_say_no_are_a_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two tallies a group, of two dice; the table is the library's. An answer that is a number is found by its text."""
    designs = {"a": dn.design("forced", p=0.7, yes=0.2), "b": dn.design("forced", p=0.7, yes=0.1)}
    yes = {"women": (3485, 2635), "men": (4430, 3530)}
    groups = {
        group: {
            dice: dn.Tally(designs[dice], [[10_000 - count, count]]) for dice, count in zip("ab", counts, strict=True)
        }
        for group, counts in yes.items()
    }
    command = ["crosstab", "--noncompliance", "no"]
    for group, tallies in groups.items():
        for dice, tally in tallies.items():
            tally.save(tmp_path / f"{group}-{dice}.tally")
            command += ["--group", f"{group}={tmp_path / f'{group}-{dice}.tally'}"]
    assert main(command) == 0
    assert "(always no)" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == dn.crosstab(groups, noncompliance="no").to_json()
    assert main([*command, *command[3:5]]) == 2
    assert "--group must name each tally once, got" in capsys.readouterr().err
    assert main([*command[:5], *command[7:]]) == 2
    assert "group 'women' must be a dict of two tallies or more" in capsys.readouterr().err


def test_an_answer_that_is_a_number_is_found_by_its_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["crosstab", "--noncompliance", "0"]
    for group, counts in (("x", [[60, 40], [70, 30]]), ("y", [[50, 50], [65, 35]])):
        for epsilon, each in zip((1, 4), counts, strict=True):
            path = tmp_path / f"{group}{epsilon}.tally"
            dn.Tally(dn.krr(2, epsilon=epsilon), [each]).save(path)
            command += ["--group", f"{group}={path}"]
    assert main(command) == 0
    assert "(always 0)" in capsys.readouterr().out


def test_a_form_has_no_two_dice(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crosstab", form, "--rows", "age", "--columns", "smokes", "--noncompliance", "no"]) == 2
    assert "--noncompliance must come with --group, got tally files of a form" in capsys.readouterr().err
    assert main(["crosstab", f"--group=a={form}", f"--group=b={form}", "--noncompliance", "no"]) == 2
    assert "must be a dict of two tallies or more" in capsys.readouterr().err


def write(tmp_path: Path, name: str, tally: dn.Tally) -> str:
    tally.save(tmp_path / f"{name}.tally")
    return f"--group={name}={tmp_path / name}.tally"


def test_groups_that_cannot_be_compared_are_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A group with no reports, an answer that nobody gave, answers of another question, and one group alone."""
    survey = dn.krr(["no", "yes"], epsilon=2)
    full = write(tmp_path, "full", dn.Tally(survey, [[70, 30]]))
    assert main(["crosstab", full, write(tmp_path, "none", dn.Tally(survey))]) == 2
    assert "group 'none' must have reports, got none; leave it out" in capsys.readouterr().err
    assert (
        main(["crosstab", full, write(tmp_path, "other", dn.Tally(dn.krr(["ja", "nein"], epsilon=2), [[7, 3]]))]) == 2
    )
    assert "groups must have the same answers in the same order, got others in 'other'" in capsys.readouterr().err
    assert main(["crosstab", full]) == 2
    assert "groups must be at least two, got 1; give a tally for each group" in capsys.readouterr().err
    assert main(["crosstab", full, write(tmp_path, "empty", dn.Tally(dn.krr(["no", "yes"], epsilon=8), [[9, 0]]))]) == 0
    assert "Independence cannot be tested: 1 of 4 kinds of reports are expected fewer than 5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "crosstab must be given tally files of a form or --group, got both or none"),
        (["--group", "women"], "--group must be NAME=TALLY, got 'women'"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crosstab", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_group_twice_is_refused(groups: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crosstab", groups[0], groups[0]]) == 2
    assert "must name each group once, got 'women' twice" in capsys.readouterr().err
