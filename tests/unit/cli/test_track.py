"""`deniable track`: folders and files of tallies, what moved, and what is refused."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main
from tests.unit.cli.test_cli import refused

SURVEY = dn.krr(symbols=["a", "=b", "c"], epsilon=3, name="track")


@pytest.fixture
def month(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    for day in range(1, 15):
        if day != 5:
            law = [0.6, 0.3, 0.1] if day < 9 else [0.4, 0.5, 0.1]
            dn.simulate(SURVEY, law, n=3000, rng=rng).save(tmp_path / f"2026-11-{day:02}.tally")
    return tmp_path


def test_a_folder_is_tracked_and_changes_are_named(month: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["track", str(month)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("14 windows from 2026-11-01 to 2026-11-14, 39,000 reports\n1 of them without reports")
    assert "2026-11-09: a -" in told
    assert "2026-11-09: =b +" in told
    assert "2026-11-09: c" not in told
    assert "* changed: where nothing changes, nothing is named with 95 %" in told

    assert "Shares repeat" not in told
    assert told.endswith("the mean of those before it since a share last changed:\n  nothing unusual\n")


def test_the_last_day_is_held_against_its_weekday(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(5)
    for day in range(1, 30):  # the first is a Sunday, and so is the last
        law = [0.3, 0.6, 0.1] if day % 7 in (0, 1) else [0.6, 0.3, 0.1]
        law = [0.3, 0.4, 0.3] if day == 29 else law
        dn.simulate(SURVEY, law, n=3000, rng=rng).save(tmp_path / f"2026-11-{day:02}.tally")
    assert main(["track", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "Shares repeat every 7 windows; that is no change." in told
    last = told.partition("2026-11-29 against a normal window, the mean of those each 7 windows before it since")[2]
    assert [line.split()[0] for line in last.splitlines()[1:]] == ["=b", "c"]


def test_csv_has_a_row_for_each_window_and_symbol(month: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(file) for file in sorted(month.iterdir())]
    assert main(["track", *files[::-1], "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 14 * 3
    assert {row["symbol"] for row in rows} == {"a", "'=b", "c"}
    assert [row["reports"] for row in rows if row["window"] == "2026-11-05"] == ["0"] * 3
    assert sum(float(row["estimate"]) for row in rows[:3]) == pytest.approx(1)


def test_json_has_windows_and_changes(month: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["track", str(month), "--json", "--level", "0.9", "--participation", "window", "--turnover", "0.5"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told["level"] == 0.9
    assert 0.5 <= told["turnover"] <= 1
    assert len(told["windows"]) == 14
    assert {(change["symbol"], change["window"]) for change in told["changes"]} == {
        ("a", "2026-11-09"),
        ("=b", "2026-11-09"),
    }


def test_a_chart_of_the_largest(month: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["track", str(month), "--chart", str(month / "chart.svg"), "--top", "2"]) == 0
    assert (month / "chart.svg").read_text().startswith("<svg")
    assert f"wrote {month / 'chart.svg'}" in capsys.readouterr().out


def test_what_is_refused(month: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = month / "empty"
    empty.mkdir()
    assert "must hold tally files (*.tally), got none" in refused(capsys, "track", str(empty))
    one = str(month / "2026-11-01.tally")
    assert "windows must not overlap, got '2026-11-01' twice" in refused(capsys, "track", one, one)
    assert "tallies must be of at least two windows, got 1" in refused(capsys, "track", one)
    assert "--top must be at least 1, got 0" in refused(capsys, "track", str(month), "--top", "0")
    assert "must be a number from 0 to 1, got '2'" in refused(capsys, "track", str(month), "--turnover", "2")
