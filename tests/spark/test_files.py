"""Files on Spark, and the sentences where that is not possible."""

import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import deniable as dn
from deniable.cli import main
from deniable.engines import spark
from deniable.engines.local import count_files as count_here
from tests.spark.cluster import JAVA, environment
from tests.spark.test_count import local, reports_of
from tests.surveys import SMALL

pytestmark = pytest.mark.slow

SURVEY = SMALL["orr-closed"]
COUNT = "assert deniable.cli.main(['count', 'a.parquet', '--survey', 'survey.json', '-o', 't']) == 0"


def test_parquet_in_folders_and_patterns(session: SparkSession, tmp_path: Path) -> None:
    for kind in ("orr-closed", "subset"):
        survey, folder = SMALL[kind], tmp_path / kind
        table = reports_of(survey, 300)
        (folder / "day 1").mkdir(parents=True)
        pq.write_table(table.slice(0, 100), folder / "day 1" / "a.parquet")
        pq.write_table(table.slice(100), folder / "b.parquet", row_group_size=50)
        (folder / "_SUCCESS").touch()
        assert count_here(survey, [str(folder)]) == local(survey, table)
        paths = [str(folder)] if kind == "subset" else [str(folder / "b.parq*"), "file://" + str(folder / "day 1")]
        assert spark.count_files(survey, paths) == local(survey, table)


def test_parquet_that_privatize_gave(session: SparkSession, tmp_path: Path) -> None:
    """Unsigned columns of one, two and four bytes, and bits of a fixed size."""
    surveys = [dn.orr(epsilon=1, cells=k, cohorts=c, seed=bytes(16)) for k, c in ((8, 3), (300, 300), (70_000, 2))]
    for survey in [*surveys, dn.orappor(epsilon=1, cells=9, cohorts=2, seed=bytes(16))]:
        table = dn.privatize(survey, ["a", "b", "c"] * 50)
        file = tmp_path / f"{survey.digest}.parquet"
        pq.write_table(table.to_arrow(), file)
        assert spark.count_files(survey, [str(file)]) == (dn.count(survey, table), {})


def test_text_with_bad_rows(session: SparkSession, tmp_path: Path) -> None:
    plain, packed, lines = tmp_path / "a.csv", tmp_path / "b.tsv.gz", tmp_path / "c.jsonl"
    rows = [
        "note,response,cohort",
        "x,2,1",
        "x,two,1",
        "x,2.0,1",
        "x,,0",
        'x,"",0',
        "x,1",
        "x,1,0,0",
        '"a,b",0,0',
        "x,3,0",
    ]
    plain.write_text("\n".join(rows) + "\n")
    packed.write_bytes(gzip.compress(b"cohort\tresponse\n0\t2\n1\t-1\n7\t1\n"))
    lines.write_text(
        '{"cohort": 1, "response": 2}\n{"cohort": 1, "response": 2.5}\n{"cohort": 1}\nnonsense\n'
        '{"cohort": null, "response": 0}\n{"cohort": [1], "response": 0}\n{"cohort": "1", "response": 0}\n\n'
        '{"response": 1, "cohort": 0, "more": {}}\n'
    )
    paths = [str(plain), str(packed), str(lines)]
    tally, refused = spark.count_files(SURVEY, paths)
    assert (tally, refused) == count_here(SURVEY, paths)
    assert tally.counts.tolist() == [[1, 1, 1], [0, 0, 2]]
    assert refused == {
        "response not a whole number": 4,
        "no response": 2,
        "wrong number of fields": 2,
        "response out of range": 2,
        "cohort out of range": 1,
        "no JSON object": 1,
        "no cohort": 1,
        "cohort not a whole number": 2,
    }


def test_bits_as_hexadecimal_text(session: SparkSession, tmp_path: Path) -> None:
    survey = SMALL["krappor"]
    (tmp_path / "a.csv").write_text("response\n05\n07\n0g\n0505\nff\n")
    (tmp_path / "b.jsonl").write_text('{"response": "01"}\n')
    tally, refused = spark.count_files(survey, [str(tmp_path)])
    assert (tally, refused) == count_here(survey, [str(tmp_path)])
    assert tally.counts.tolist() == [[3, 1, 2]]
    assert refused == {
        "response not hexadecimal": 1,
        "response of another length": 1,
        "response that the mechanism cannot produce": 1,
    }


def test_a_first_line_that_is_no_object_is_a_refused_row(session: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('[}\n{"cohort": 1, "response": 2}\n')
    tally, refused = spark.count_files(SURVEY, [str(file)])
    assert (tally.n, refused) == (1, {"no JSON object": 1})


def test_files_that_spark_cannot_count(session: SparkSession, tmp_path: Path) -> None:
    def refused(sentence: str, *names: str, error: type[Exception] = dn.EngineError, **options: Any) -> None:
        with pytest.raises(error) as caught:
            spark.count_files(SURVEY, [str(tmp_path / name) for name in names], **options)
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)

    pq.write_table(reports_of(SURVEY, 100), tmp_path / "whole.parquet")
    (tmp_path / "half.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:300])
    (tmp_path / "words.csv").write_text("cohort,answer\n0,1\n")
    (tmp_path / "good.csv").write_text("cohort,response\n0,1\n")
    (tmp_path / "other.csv").write_text("response,cohort\n0,1\n")
    for name in ("a.arrow", "a.zip", "_hidden.csv", "a.csv.zst"):
        (tmp_path / name).touch()
    pq.write_table(dn.privatize(SMALL["krr"], ["a"]).to_arrow(), tmp_path / "foreign.parquet")
    data = dn.DataError
    refused("must be a whole Parquet file, got one that is cut off, damaged", "half.parquet", error=data)
    refused("report table must be for survey", "foreign.parquet", error=dn.WireError)
    refused("report table must have the columns 'cohort' and 'response'", "words.csv", error=dn.WireError)
    refused("Spark must read and count every file, and failed: ", "good.csv", "other.csv")
    refused("must be a file of Parquet, CSV or JSON lines for Spark, got Arrow IPC; count it here", "a.arrow")
    refused("format must be one of parquet, arrow, csv, jsonl, got 'orc'", "words.csv", format="orc", error=data)
    refused("must be packed with gzip or bzip2 for Spark, got zstd; unpack it first", "a.csv.zst")
    refused("must not start with a dot or an underscore: Spark would skip it; rename it", "_hidden.csv")
    refused("must be named once, got it twice; each row counts once", "whole.parquet", "wh*.parquet", error=data)
    refused("at least one file must be named, got none", error=data)
    refused("master must be that of the running session, local-cluster", "whole.parquet", master="local[7]")
    for path in ("s3a://bucket/reports", "hdfs:///a.arrow"):
        with pytest.raises(dn.DataError) as caught:
            spark.count_files(SURVEY, [path])
        sentence = "must end in .parquet, .csv or .jsonl, or its format must be one of these, for Spark"
        assert str(caught.value) == f"{path} {sentence}"
    with pytest.raises(dn.EngineError, match="got standard input; count it here"):
        spark.count_files(SURVEY, ["-"], format="csv")


def test_on_the_command_line(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(reports_of(SURVEY, 400), "reports.parquet")
    SURVEY.save("survey.json")
    count = ["count", "reports.parquet", "--survey", "survey.json", "-o"]
    assert main([*count, "spark.tally", "--engine", "spark"]) == 0
    assert main([*count, "here.tally"]) == 0
    assert dn.Tally.load("spark.tally") == dn.Tally.load("here.tally")
    assert "rows of 400 left out" in capsys.readouterr().out


def test_a_session_of_its_own_is_stopped_again(tmp_path: Path) -> None:
    """In a process without one: the count is right, and no session is left."""
    pq.write_table(reports_of(SURVEY, 50, bad=False), tmp_path / "a.parquet")
    SURVEY.save(tmp_path / "survey.json")
    code = """
import deniable as dn
from deniable.engines import spark
from pyspark.sql import SparkSession
found = spark.count_files(dn.Survey.load("survey.json"), ["a.parquet"], master="local[1]")
print(found, SparkSession.getActiveSession())
"""
    with environment() as names:
        quick = os.environ | names | {"SPARK_SUBMIT_OPTS": JAVA}
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=quick, capture_output=True, text=True)
    assert done.stdout.strip() == f"(<Tally of survey {SURVEY.digest[:8]}: 50 reports in 2 cohorts>, {{}}) None", (
        done.stderr
    )


def test_spark_that_does_not_start_says_why(tmp_path: Path) -> None:
    pq.write_table(reports_of(SURVEY, 50, bad=False), tmp_path / "a.parquet")
    SURVEY.save(tmp_path / "survey.json")
    command = ["count", "a.parquet", "--survey", "survey.json", "-o", "t", "--engine", "spark", "--master", "local[1]"]
    with environment() as names:
        broken = os.environ | names | {"JAVA_HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-m", "deniable", *command], cwd=tmp_path, env=broken, capture_output=True, text=True
        )
    assert done.returncode == 2
    assert "deniable: Spark must start, and did not: " in done.stderr
    assert "; it needs Java 17 or newer" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("code", ["import deniable.engines.spark", "deniable.cli.main(['--help'])", COUNT])
def test_the_core_never_imports_spark(code: str, tmp_path: Path) -> None:
    pq.write_table(reports_of(SURVEY, 50, bad=False), tmp_path / "a.parquet")
    SURVEY.save(tmp_path / "survey.json")
    script = f"import sys, deniable, deniable.cli\n{code}\nassert not any('pyspark' in name for name in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_pyspark_the_sentence_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(reports_of(SURVEY, 10), tmp_path / "a.parquet")
    for name in [name for name in sys.modules if name.split(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(dn.MissingExtra, match=r"pyspark must be installed to count on Spark, and is not; run pip"):
        spark.count_files(SURVEY, [str(tmp_path / "a.parquet")])


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.jsonl.gz"])
def test_text_of_two_bytes_a_letter_is_refused_before_spark_starts(tmp_path: Path, code: str, name: str) -> None:
    """Spark read it as UTF-8: no line was a report, and nothing said why."""
    file, text = tmp_path / name, '{"cohort": 1, "response": 2}\n' if "json" in name else "cohort,response\n1,2\n"
    data = text.encode(code)
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    got = code[:6].upper()
    with pytest.raises(dn.DataError, match=f"a.* must be UTF-8 text, got {got}; save it as UTF-8, or convert it with"):
        spark.count_files(SURVEY, [str(file)])
