"""`deniable regress`: what the library's fit says, as text and JSON."""

import json
from pathlib import Path

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


def test_an_unknown_column_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dn.warner(epsilon=1).save(tmp_path / "survey.json")
    pq.write_table(pa.table({"said": [0, 1]}), tmp_path / "rows.parquet")
    assert main(["regress", str(tmp_path / "survey.json"), "said ~ old", str(tmp_path / "rows.parquet")]) == 2
    assert "must name columns of the data, got 'old'" in capsys.readouterr().err
