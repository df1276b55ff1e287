"""What the command line says of forms."""

import csv
import io
import json
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.cli import main

SEEN = dn.form(
    ill=dn.sensitive(["no", "flu", "hiv"], sensitive=["hiv"], epsilon=1),
    area=dn.blocks([["a", "b"], ["c", "d"]], epsilon=1),
    smokes=dn.warner(epsilon=1),
    spend="each",
)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return " ".join(capsys.readouterr().out.split())


def test_what_may_be_seen_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    SEEN.save(tmp_path / "form.json")
    shown = told(capsys, "survey", "show", str(tmp_path / "form.json"))
    assert "together they spend at most 3; some answers to ill, area may be seen" in shown
    assert "but ill: Only some answers need hiding here: hiv." in shown
    notice = told(capsys, "survey", "notice", str(tmp_path / "form.json"))
    assert (
        "at most 21 times likelier than if all your answers were others, except for what may be seen of ill and area: "
        "see there. Every answer is randomised on its own, before it leaves your device, so what is seen of one says "
        "nothing about the others." in notice
    )
    assert notice.count("What can be seen") == notice.count("What is not protected") == 1, "once for all questions"
    assert "That is all" not in notice
    assert f"One report of {SEEN.report_format.length} bytes with what the dice gave for every question" in notice
    assert f"Form {SEEN.digest}." in notice
    assert all(part.survey.digest not in notice for part in SEEN.parts), "nobody else knows these"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return " ".join(capsys.readouterr().err.split())


def test_the_query_of_a_form_counts_what_privatize_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form, where = str(tmp_path / "form.json"), str(tmp_path / "reports.parquet")
    SEEN.save(form)
    answers = {"ill": ["no", "hiv"] * 50, "area": ["a", "d"] * 50, "smokes": ["no", "yes"] * 50}
    pq.write_table(pa.table(answers), tmp_path / "answers.parquet")
    assert "100 reports" in told(capsys, "privatize", str(tmp_path / "answers.parquet"), "--survey", form, "-o", where)
    assert main(["survey", "sql", form, "--table", where]) == 0
    query = capsys.readouterr().out
    assert query == SEEN.sql(table=where)
    assert dn.count(SEEN, duckdb.sql(query)) == dn.count(SEEN, where)
    for option in ("--cohort", "--response"):
        assert "--cohort and --response must not be given for a form, which has a column a part" in refused(
            capsys, "survey", "sql", form, option, "x"
        )


def test_the_crowd_of_a_form_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form = dn.form(smokes=dn.warner(epsilon=1), sport=dn.krr(3, epsilon=1), epsilon=2)
    form.save(tmp_path / "form.json")
    name, found = str(tmp_path / "form.json"), dn.crowd(form, 10_000)
    assert found.words in told(capsys, "survey", "show", name, "--n", "10000")
    assert f'"epsilon": {found.epsilon}' in told(capsys, "survey", "show", name, "--n", "10000", "--json")
    assert "Among all others" in told(capsys, "survey", "notice", name, "--n", "10000")
    sentence = "--reports must not be given for a form; ask for the survey of one question"
    assert sentence in refused(capsys, "survey", "show", name, "--reports", "3")


def test_what_can_be_seen_of_a_form_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form = dn.form(
        smokes=dn.warner(epsilon=1),
        town=dn.orr(epsilon=1, cells=4, cohorts=8, name="Which town?"),
        sport=dn.krr(3, epsilon=1),
        epsilon=2,
        spend="sample",
        draw=2,
        public={"land": ["NO", "SE"]},
        when={"sport": ("land", "NO")},
    )
    form.save(tmp_path / "form.json")
    assert (
        "That you took part, and when; which questions your device drew; which questions you were asked, and so what "
        "they depend on; your group number in Which town?, drawn at random once and kept; the address you sent from"
    ) in told(capsys, "survey", "notice", str(tmp_path / "form.json"))


def test_how_people_take_part_in_a_form_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = "window:day:turnover=0.1:change=0.3"
    form = dn.form(smokes=dn.warner(epsilon=1), sport=dn.krr(3, epsilon=1), epsilon=2, participation=how)
    assert (form.turnover, form.change) == (0.1, 0.3)
    form.save(tmp_path / "form.json")
    out = told(capsys, "survey", "show", str(tmp_path / "form.json"))
    assert "turnover 10 % of the devices are replaced each day" in out
    assert "change 30 % of those that stay draw their answer anew each day" in out


def test_what_a_form_cannot_determine_is_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nine candidates over two cohorts of two cells: most cannot be told apart."""
    text = dn.orr(epsilon=2, cells=2, cohorts=2, seed=bytes(16))
    form = dn.form(smokes=dn.warner(epsilon=1), text=text, epsilon=3)
    shares = {"smokes": [0.5, 0.5], "text": [0.5, 0.5]}
    symbols = {"text": ["u", "v"]}
    tally = dn.simulate(form, shares, n=20_000, rng=np.random.default_rng(3), symbols=symbols)
    tally.save(tmp_path / "a.tally")
    name = str(tmp_path / "a.tally")
    for more in ([], ["--minus", name]):
        out = told(capsys, "decode", name, *more, "--candidates", "u,v,w,z,q,r,s,t,k", "--json")
        assert "null" in out
        json.loads(out, parse_constant=pytest.fail)


PAIRED = dn.form(smokes=dn.warner(epsilon=1), sport=dn.krr(["=no", "yes"], epsilon=1), epsilon=9)


@pytest.fixture
def month(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    for day in range(1, 9):
        shares = {"smokes": [0.7, 0.3] if day < 5 else [0.5, 0.5], "sport": [0.4, 0.6]}
        dn.simulate(PAIRED, shares, n=20_000, rng=rng).save(tmp_path / f"2026-11-{day:02}.tally")
    return tmp_path


def test_tallies_of_a_form_are_tracked(month: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "track", str(month))
    assert out.startswith("8 windows from 2026-11-01 to 2026-11-08 question answer first window last window")
    assert "2026-11-05: smokes, yes +" in out
    assert "sport, yes" not in out
    assert "nothing is named with 95 %, all questions and windows together." in out
    found = json.loads(told(capsys, "track", str(month), "--json"))
    assert {(one["question"], one["window"]) for one in found["changes"]} == {("smokes", "2026-11-05")}
    assert len(found["estimates"]) == 8 * 4
    assert main(["track", str(month), "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["symbol"] for row in rows} == {"no", "yes", "'=no"}
    assert main(["track", str(month), "--chart", str(month / "week.svg")]) == 0
    assert (month / "week.svg").read_text().startswith("<svg")
    few = [str(month / f"2026-11-0{day}.tally") for day in (1, 2)]
    assert "No change is certain (all questions and windows together, 95 %)." in told(capsys, "track", *few)
    sentence = "--candidates must be for the one question that any text answers, got a form with 0"
    assert sentence in refused(capsys, "track", str(month), "--candidates", "a,b")


def test_two_tallies_of_a_form_are_compared(month: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["decode", str(month / "2026-11-08.tally"), "--minus", str(month / "2026-11-01.tally")]
    out = told(capsys, *asked)
    assert out.startswith("question answer change 95 % interval")
    assert out.count(" changed ") == 3
    assert "Where nothing changes, nothing is marked as changed with 95 %, all questions together." in out
    found = json.loads(told(capsys, *asked, "--json"))
    assert {row["symbol"] for row in found["changes"] if row["changed"]} == {"no", "yes"}
    assert main([*asked, "--csv", "--chart", str(month / "change.svg")]) == 0
    assert capsys.readouterr().out.startswith("question,symbol,difference,raw,standard_error,low,high,changed\n")
    assert (month / "change.svg").exists()
