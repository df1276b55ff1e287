"""What the command line says of forms."""

from pathlib import Path

import duckdb
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
