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
