"""One tally, wherever the reports come from: every file format, every Arrow speaker and every database, to the last
count; and the same bad rows under the same reasons."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest

import deniable as dn
from deniable.engines import count_files
from deniable.survey import Survey
from tests.cluster import Cluster
from tests.good_and_bad import SURVEYS, with_bad_rows
from tests.reports import FORMATS, naive_counts, some_reports, write, write_rows
from tests.surveys import SMALL

every_survey = pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS.keys())


@every_survey
def test_every_format_gives_the_tally_of_the_columns(survey: Survey, tmp_path: Path) -> None:
    table = some_reports(survey)
    expected = dn.count(survey, table)
    assert (expected.counts.tolist(), expected.reports.tolist()) == naive_counts(survey, table)
    for suffix in FORMATS:
        path = write(table, tmp_path / f"reports.{suffix}")
        assert dn.count(survey, path) == expected, suffix
        if suffix in ("parquet", "arrow", "arrows"):
            assert count_files(None, path) == (expected, {}), "the file carries its survey"
    both = dn.Tally(survey)
    for _ in FORMATS:
        both += expected
    assert dn.count(survey, tmp_path) == both, "a folder is all of its files"
    assert dn.count(survey, [str(tmp_path / "*.csv"), tmp_path / "reports.arrow"]) == expected + expected


@every_survey
def test_bad_rows_are_the_same_in_every_format(survey: Survey, tmp_path: Path) -> None:
    table, expected, reasons = with_bad_rows(survey)
    for suffix in ("parquet", "arrow", "arrows", "csv", "jsonl"):
        assert count_files(survey, write_rows(table, tmp_path / f"rows.{suffix}")) == (expected, reasons), suffix


SPEAKERS: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "reader": lambda table: table.to_reader(max_chunksize=50),
    "batches": lambda table: iter(table.to_batches(max_chunksize=64)),
    "polars": pl.from_arrow,
    "pandas": lambda table: table.to_pandas(),
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
}


@pytest.mark.parametrize("speaker", SPEAKERS.values(), ids=SPEAKERS.keys())
@pytest.mark.parametrize("name", ["krr", "krappor", "orr-open", "orappor-closed", "subset"])
def test_whatever_speaks_arrow_goes_in_and_comes_out(name: str, speaker: Callable[[pa.Table], Any]) -> None:
    survey = SMALL[name]
    table = some_reports(survey)
    expected = dn.count(survey, table)
    assert dn.count(survey, speaker(table.to_arrow())) == expected
    assert dn.count(survey, pl.DataFrame(table)) == expected, "a report table speaks Arrow itself"
    assert dn.count(survey, pa.table(table)) == expected
    assert duckdb.connect().from_arrow(table).count("*").fetchall() == [(700,)]


@pytest.mark.parametrize("speaker", SPEAKERS.values(), ids=SPEAKERS.keys())
def test_answers_come_from_whatever_speaks_arrow(speaker: Callable[[pa.Table], Any]) -> None:
    survey = dn.krr(symbols=["a", "b", "é"], epsilon=40)  # at epsilon 40 nobody lies
    data = speaker(pa.table({"id": range(400), "answer": ["a", "e\u0301", "b", "a"] * 100}))
    if not hasattr(data, "__arrow_c_stream__"):
        sentence = "data must be files or a table that speaks Arrow where column= names a column, got"
        with pytest.raises(dn.AlphabetError, match=sentence):
            dn.privatize(survey, data, column="answer")
        return
    table = dn.privatize(survey, data, column="answer")
    assert dn.count(survey, table).counts.tolist() == [[200, 100, 100]]
    assert table.responses[:4].tolist() == [0, 2, 1, 0], "rows keep their order"


@pytest.mark.parametrize("name", ["orr-open", "orappor-closed"])
def test_files_that_other_tools_write(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Views, large offsets, other integers and quotes: what Polars, pandas and DuckDB make of the same reports."""
    monkeypatch.chdir(tmp_path)
    survey = SMALL[name]
    table = some_reports(survey)
    expected = dn.count(survey, table)
    polars = pl.DataFrame(table)
    polars.write_parquet("polars.parquet")
    polars.write_ipc("polars.arrow")
    polars.write_ipc_stream("polars.arrows")
    polars.write_ipc("packed.arrow", compression="zstd")
    duckdb.from_arrow(table.to_arrow()).write_parquet("duckdb.parquet")
    table.to_arrow().to_pandas().to_parquet("pandas.parquet")
    text = table.to_arrow().to_pandas()
    if not survey.mechanism.one_column:
        text["response"] = text["response"].map(bytes.hex)
    text.to_csv("pandas.csv.gz", quoting=1)
    text.to_json("pandas.jsonl", orient="records", lines=True)
    for path in sorted(tmp_path.iterdir()):
        assert count_files(survey, path) == (expected, {}), path.name


def test_answers_that_other_tools_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    survey = dn.krr(symbols=["a", "b,c", "é", 'say "x"\n'], epsilon=40)  # at epsilon 40 nobody lies
    answers = ["a", "b,c", "e\u0301", 'say "x"\n', None, "secret"] * 50
    polars = pl.DataFrame({"answer": answers, "id": range(300)})
    polars.write_parquet("polars.parquet")
    polars.write_ipc("polars.arrow")
    polars.with_columns(pl.col("answer").cast(pl.Categorical)).write_ipc("codes.arrow")
    polars.write_csv("polars.csv")
    polars.write_ndjson("polars.jsonl")
    polars.to_pandas().to_csv("pandas.csv", index=False)
    duckdb.from_arrow(polars.to_arrow()).write_parquet("duckdb.parquet")
    for path in sorted(tmp_path.iterdir()):
        refused: dict[str, int] = {}
        table = dn.privatize(survey, path, column="answer", refused=refused)
        assert dn.count(survey, table).counts.tolist() == [[50] * 4], path.name
        assert refused == {"no answer": 50, "answer not in the alphabet": 50}, path.name


@every_survey
def test_duckdb_counts_what_we_count(survey: Survey) -> None:
    table, expected, reasons = with_bad_rows(survey)
    database = duckdb.connect()
    database.register("reports", table)
    results = {
        "relation": database.sql(survey.sql()),
        "rows": database.sql(survey.sql()).fetchall(),
        "pandas": database.sql(survey.sql()).df(),
        "polars": database.sql(survey.sql()).pl(),
    }
    for name, result in results.items():
        found: dict[str, int] = {}
        assert dn.count(survey, result, refused=found) == expected, name
        assert found == reasons, name


def test_duckdb_counts_files_and_hostile_names(tmp_path: Path) -> None:
    survey = SMALL["orr-open"]
    table = some_reports(survey)
    write(table, tmp_path / "reports.parquet")
    result = duckdb.sql(survey.sql(table=str(tmp_path / "reports.parquet")))
    assert dn.count(survey, result) == dn.count(survey, table)
    hostile = 'x" FROM secrets; DROP TABLE reports; --'
    renamed = table.to_arrow().rename_columns([hostile, 'a"b'])
    database = duckdb.connect()
    database.register(hostile, renamed)
    query = survey.sql(table=hostile, cohort=hostile, response='a"b')
    assert dn.count(survey, database.sql(query)) == dn.count(survey, table)
    one = SMALL["krr"]
    database.register("schemaless", some_reports(one).to_arrow().select(["response"]))
    query = one.sql(table=("memory", "main", "reports"), cohort=None)
    database.execute("CREATE TABLE reports AS SELECT * FROM schemaless")
    assert dn.count(one, database.sql(query)).n == 700


@every_survey
def test_postgresql_counts_what_we_count(survey: Survey, cluster: Cluster) -> None:
    table, expected, reasons = with_bad_rows(survey)
    kind = "bigint" if survey.mechanism.one_column else "bytea"
    hostile = 'reports "of" the; day'
    with psycopg.connect(cluster.address()) as connection:
        connection.execute(f'CREATE TEMPORARY TABLE "reports ""of"" the; day" (cohort bigint, response {kind})')
        with connection.cursor() as cursor:
            cursor.executemany(
                'INSERT INTO "reports ""of"" the; day" VALUES (%s, %s)',
                list(zip(*(table.column(name).to_pylist() for name in ("cohort", "response")), strict=True)),
            )
            rows = cursor.execute(survey.sql(dialect="postgresql", table=hostile)).fetchall()
    refused: dict[str, int] = {}
    assert dn.count(survey, rows, refused=refused) == expected
    assert refused == reasons


def test_results_add_up_and_numbers_may_be_whole_floats() -> None:
    survey = SMALL["krr"]
    rows = pd.DataFrame(
        {"cohort": [0.0, None], "cell": [2.0, None], "reports": [5, 7], "reason": [None, "no response"]}
    )
    refused = {"no response": 1}
    assert dn.count(survey, rows, refused=refused).counts.tolist() == [[0, 0, 5, 0]]
    assert refused == {"no response": 8}
    assert dn.count(survey, [(0, 1, 3), (0, 1, 4, None), {"cell": 2, "reports": 1}]).counts.tolist() == [[0, 7, 1, 0]]
