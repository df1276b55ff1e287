"""`deniable discover`: the texts that people wrote, searches that give up and go on, and what is refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main
from tests.unit.cli.test_cli import refused

ANIMALS = {"lynx": 0.5, "elk": 0.3, "otter": 0.2}
NARROW = ["--alphabet", "eklnortxy"]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    survey = dn.discovery(epsilon=4, length=6, cohorts=128, seed=bytes(16), name="animals")
    rng = np.random.default_rng(0)
    dn.simulate(survey, list(ANIMALS.values()), 50_000, rng, symbols=list(ANIMALS)).save("day.tally")


def test_the_table_has_what_people_wrote_and_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "day.tally", *NARROW]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("symbol"))
    assert [line.split()[0] for line in lines[first + 1 : first + 5]] == ["lynx", "elk", "otter", "(all"]
    passed = "3 texts were found and passed the test: with 95 % nothing is among them that nobody wrote."
    tested = lines[lines.index(passed) + 1]
    assert re.fullmatch(
        r"[\d,]+ texts were tested\. What fewer than about \d\.\d\d % wrote cannot be told from chance; long ones may "
        r"need more\.", tested
    )  # fmt: skip
    assert "Only texts of these characters were looked for: 'eklnortxy'." in lines
    assert "(all others) is all else that people wrote, whether or not the search has seen it." in lines


def test_json_and_charts_are_those_of_decode(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "day.tally", *NARROW, "--json", "--chart", "day.svg"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["symbol"] for row in found["estimates"]] == [*ANIMALS]
    assert found["intervals"] == "conditional"
    assert Path("day.svg").read_text().startswith("<svg")


def test_nothing_that_is_found_is_a_table_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "day.tally", *NARROW, "--prefix", "kk"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"\nNothing was found: [\d,]+ texts were tested, and nobody can tell from chance what", told)
    assert "More reports, shorter texts, or fewer characters to search (--alphabet, --prefix) show more." in told
    assert "people wrote all" not in told
    assert "Intervals are" not in told  # there are none
    assert "could be planted" not in told  # to raise a text that was found


def test_a_search_that_gives_up_is_kept_and_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    limited = ["discover", "day.tally", *NARROW, "--most", "200", "--state", "day.search"]
    assert main(limited) == 2
    told = capsys.readouterr().err
    assert "deniable: the search is kept in day.search; run this again with a higher limit" in told
    assert "deniable: a search must end within its limits, got to level 1 of 5 with 200 candidates; resume it" in told
    assert json.loads(Path("day.search").read_text())["levels"] == 1
    assert main(["discover", "day.tally", *NARROW, "--state", "day.search", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("lynx,")
    assert not Path("day.search").exists()


def test_bad_input_is_refused_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    Path("day.search").write_text("[]")
    kept = refused(capsys, "discover", "day.tally", "--state", "day.search")
    assert kept == "day.search must be a search that was kept; delete it to start again"
    counted = refused(capsys, "discover", "day.tally", "--candidates", "7")
    assert counted == "candidates must be texts, got a count; name them, or a file of them"
    dn.Tally(dn.warner(epsilon=1), [[6, 4]]).save("other.tally")
    assert refused(capsys, "discover", "other.tally") == (
        "tally must be of a survey that discovers text (dn.discovery), got one of direct answers; decode it, with a "
        "list of candidates if it is open"
    )
