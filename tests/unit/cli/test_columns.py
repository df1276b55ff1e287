"""`deniable privatize`, `deniable count` and `deniable survey sql`: what they write and say, and how they refuse."""

import fcntl
import json
import os
import re
import resource
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

import deniable as dn
import deniable.cli.columns as door
from deniable.cli import main
from deniable.cli.progress import Reporter
from deniable.engines.local import FileProgress
from tests.unit.cli.test_text import Terminal

BROWSERS = ["chrome", "firefox", "safari"]


@pytest.fixture(autouse=True)
def _a_survey_and_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dn.krr(symbols=BROWSERS, epsilon=40).save("s.json")  # at epsilon 40 nobody lies
    rows = [f"{i},{BROWSERS[i % 3]}" for i in range(300)]
    Path("data.csv").write_text("\n".join(["id,browser", *rows, "300,lynx", "301,", "302,chrome,more"]) + "\n")


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    before = sorted(os.listdir())
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("deniable: ")
    assert captured.err.count("\n") == 1
    assert sorted(os.listdir()) == before, "nothing is left behind"
    return captured.err.removeprefix("deniable: ").rstrip("\n")


def privatize(*more: str) -> int:
    return main(["privatize", "data.csv", "--column", "browser", "--survey", "s.json", *more])


def test_from_a_column_to_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    assert privatize("-o", "reports.parquet") == 0
    survey = dn.Survey.load("s.json")
    assert capsys.readouterr().out == (
        f"wrote reports.parquet: 300 reports of {survey}\n\n3 rows of 303 left out:\n\n"
        "reason                      rows\n"
        "wrong number of fields         1\n"
        "no answer                      1\n"
        "answer not in the alphabet     1\n"
    )
    assert pq.read_schema("reports.parquet").names == ["cohort", "response"]
    assert main(["count", "reports.parquet", "-o", "day.tally"]) == 0
    assert capsys.readouterr().out == f"wrote day.tally: {dn.Tally.load('day.tally')}\n"
    assert dn.Tally.load("day.tally").counts.tolist() == [[100, 100, 100]]
    assert main(["decode", "day.tally", "--csv"]) == 0


@pytest.mark.parametrize("output", ["r.parquet", "r.arrow", "r.csv", "r.jsonl", "r.csv.gz", "r.jsonl.zst"])
def test_every_output_is_an_input(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert privatize("-o", output, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == 303
    assert told["reports"] == 300
    assert told["refused"] == {"answer not in the alphabet": 1, "no answer": 1, "wrong number of fields": 1}
    assert told["survey"] == dn.Survey.load("s.json").digest
    assert os.stat(output).st_mode & 0o777 == 0o644
    assert main(["count", output, "--survey", "s.json", "-o", "day.tally", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["refused"] == {}
    assert dn.Tally.load("day.tally").counts.tolist() == [[100, 100, 100]]


def test_strict_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["privatize", "data.csv", "--column", "browser", "--survey", "s.json", "-o", "r.csv", "--strict"]
    assert refused(capsys, *arguments) == (
        "rows must all hold an answer that the survey can encode, got 3 that do not "
        "(1 wrong number of fields, 1 no answer, 1 answer not in the alphabet)"
    )
    Path("r.csv").write_text("cohort,response\n0,1\n0,3\n5,1\n5,1\n")
    assert refused(capsys, "count", "r.csv", "--survey", "s.json", "-o", "day.tally", "--strict") == (
        "every row must be a report of the survey with --strict, got 3 rows that cannot be "
        "(2 cohort out of range, 1 response out of range); nothing was written"
    )
    assert main(["count", "r.csv", "--survey", "s.json", "-o", "day.tally"]) == 0
    assert "3 rows of 4 left out" in capsys.readouterr().out


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    start = ("privatize", "data.csv", "--survey", "s.json")
    assert (
        refused(capsys, *start, "--column", "x", "-o", "r.csv")
        == "data.csv must have one column 'x', got 'id', 'browser'"
    )
    assert "r.txt must end in .parquet, .arrow, .csv or .jsonl" in refused(
        capsys, *start, "--column", "browser", "-o", "r.txt"
    )
    assert refused(capsys, *start, "--column", "browser", "-o", "data.csv", "--force") == (
        "-o must not be a file that is read, got data.csv; name another"
    )
    assert refused(capsys, *start, "--column", "browser", "-o", "nowhere/r.csv") == (
        "nowhere/r.csv cannot be written: no such file or directory"
    )
    assert refused(capsys, "count", "nothing.csv", "-o", "t") == (
        "nothing.csv cannot be written or read: no such file or directory"
    )
    assert refused(capsys, "count", "data.csv", "-o", "t") == (
        "data.csv must carry its survey, got none in it; name the survey with --survey"
    )
    assert refused(capsys, "count", "data.csv", "--survey", "s.json", "-o", "t").startswith(
        "data.csv: report table must have the columns 'cohort' and 'response', got"
    )
    assert refused(capsys, "count", "data.csv", "-o", "t", "--master", "local") == (
        "--master must be given with --engine spark, got --engine local"
    )
    assert "--format must be one of parquet, arrow, csv, jsonl, got 'xls'" in refused(
        capsys, "count", "data.csv", "-o", "t", "--format", "xls"
    )


def test_a_file_in_another_encoding_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    Path("latin.csv").write_bytes("browser\nchrome\nfirefox \u00e9\n".encode("latin-1"))
    Path("wide.csv").write_bytes("cohort,response\n0,1\n".encode("utf-16"))
    assert refused(capsys, "privatize", "latin.csv", "--column", "browser", "--survey", "s.json", "-o", "r.csv") == (
        "latin.csv must be UTF-8 text, got bytes that are not, perhaps Latin-1 or Windows-1252; save it as UTF-8, or "
        "convert it with `iconv -f WINDOWS-1252 -t UTF-8`"
    )
    assert refused(capsys, "count", "wide.csv", "--survey", "s.json", "-o", "t") == (
        "wide.csv must be UTF-8 text, got UTF-16; save it as UTF-8, or convert it with `iconv -f UTF-16 -t UTF-8`"
    )


def test_spark_is_asked_only_where_it_is_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert refused(capsys, "count", "data.csv", "-o", "t", "--engine", "spark") == (
        "pyspark must be installed to run deniable count --engine spark, and is not; run pip install 'deniable[spark]'"
    )


def test_spark_is_given_the_survey_the_paths_and_the_master(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import types

    asked: list[Any] = []

    def count_files(survey: dn.Survey, paths: list[str], **options: Any) -> tuple[dn.Tally, dict[str, int]]:
        asked.append((survey, paths, options))
        return dn.count(survey, paths), {"no response": 2}

    engine = types.ModuleType("deniable.engines.spark")
    engine.count_files = count_files  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "deniable.engines.spark", engine)
    assert privatize("-o", "r.parquet") == 0
    assert main(["count", "r.parquet", "-o", "t", "--engine", "spark", "--master", "spark://here"]) == 0
    assert asked == [(dn.Survey.load("s.json"), ["r.parquet"], {"master": "spark://here", "format": None})]
    assert "2 rows of 302 left out" in capsys.readouterr().out


def test_standard_input_and_a_full_disk() -> None:
    """A limit on file sizes stands in for a full disk: the write fails, the sentence names the file, nothing stays."""
    command = [sys.executable, "-m", "deniable", "privatize", "-", "--format", "csv", "--column", "browser"]
    command += ["--survey", "s.json", "-o"]
    data = "browser\n" + "safari\n" * 100_000
    for output in ("r.parquet", "r.jsonl.gz"):
        done = subprocess.run(
            [*command, output],
            input=data,
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 10, 1 << 10)),
        )
        assert done.stderr == f"deniable: {output} cannot be written or read: file too large\n"
        assert done.returncode == 2
    assert sorted(os.listdir()) == ["data.csv", "s.json"]
    done = subprocess.run([*command, "r.csv"], input=data, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("wrote r.csv: 100,000 reports of ")
    assert done.stderr == ""


def test_a_pipe_that_nobody_writes_to_can_be_left() -> None:
    code = """
import sys
import deniable.engines.local, deniable.engines.text_files
from deniable.cli import main
print("ready", file=sys.stderr, flush=True)
sys.exit(main("count - --format csv --survey s.json -o t".split()))
"""
    reading, writing = os.pipe()
    os.write(writing, b"cohort,response\n")
    with subprocess.Popen([sys.executable, "-c", code], stdin=reading, stderr=subprocess.PIPE, text=True) as reader:
        assert reader.stderr is not None
        assert reader.stderr.readline() == "ready\n"
        while fcntl.ioctl(reading, termios.FIONREAD, bytes(4)) != bytes(4):  # until it has read the header, and waits
            time.sleep(0.02)
        reader.send_signal(signal.SIGINT)
        assert reader.communicate(timeout=300)[1] == "deniable: interrupted\n"
        assert reader.returncode == 130
    os.close(reading)
    os.close(writing)
    assert not Path("t").exists()


def test_what_was_read_is_shown_after_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Reporter] = []

    def kept(what: str, *, after: float) -> Reporter:
        assert after == 2.0
        made.append(Reporter(what, after=after, stream=Terminal()))
        return made[0]

    monkeypatch.setattr(door, "Reporter", kept)
    with door._watching("counting") as watch:
        watch(FileProgress(total=100, done=50, rows=1234))
        assert f"counting, 1,234 rows [{'#' * 15}{'.' * 15}] 50 %" in made[0].line(0.0)
        watch(FileProgress(total=0, rows=5678))
        assert re.fullmatch(r"counting, 5,678 rows \.\.\. \d+ s", made[0].line(made[0]._start + 9)), "no length"


def test_the_query_counts_the_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert privatize("-o", "r.parquet") == 0
    capsys.readouterr()
    assert main(["survey", "sql", "s.json", "--table", "r.parquet"]) == 0
    query = capsys.readouterr().out
    survey = dn.Survey.load("s.json")
    assert query == survey.sql(table="r.parquet")
    assert dn.count(survey, duckdb.sql(query)).counts.tolist() == [[100, 100, 100]]
    assert main(["survey", "sql", "s.json", "--table", "r.parquet", "--cohort", ""]) == 0
    assert capsys.readouterr().out == survey.sql(table="r.parquet", cohort=None)
    assert "--dialect must be one of duckdb, postgresql, bigquery, spark, got 'x'" in refused(
        capsys, "survey", "sql", "s.json", "--dialect", "x"
    )


def test_reports_in_another_encoding_are_no_bad_rows(capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.csv").write_bytes("cohort,response\n0,ä\n0,ü\n".encode("latin-1"))
    sentence = refused(capsys, "count", "r.csv", "--survey", "s.json", "-o", "t")
    assert sentence.startswith("r.csv must be UTF-8 text, got ")
