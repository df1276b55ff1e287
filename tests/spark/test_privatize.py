"""Answers into reports on executors. Their law is that of `dn.privatize`; here it is the way there and back."""

import datetime
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import deniable as dn
from deniable.engines import spark

pytestmark = pytest.mark.slow

SECRET = "my secret answer"


def test_reports_are_written_and_counted_here_as_there(session: SparkSession, tmp_path: Path) -> None:
    """At epsilon 40 a lie is one in 10**17, so every answer can be seen in the tally."""
    survey = dn.orr(symbols=["ash", "birch", "cedar"], epsilon=40, cells=3, cohorts=4, seed=bytes(16))
    words = "element_at(array('ash', 'birch', 'cedar'), cast(id % 3 + 1 as int)) tree"
    people = session.range(0, 9000, 1, 3).selectExpr(words, "id")
    spark.privatize(survey, people, "tree", keep=["id"]).write.parquet(str(tmp_path / "reports"))
    written = session.read.parquet(str(tmp_path / "reports"))
    assert written.columns == ["id", "cohort", "response"]
    rows = written.toArrow()
    assert len(rows) == 9000
    for person, cohort, response in zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True):
        assert survey.encode(cohort, ("ash", "birch", "cedar")[person % 3]) == (response,)
    tally, refused = spark.count(survey, written)
    assert refused == {}
    assert tally == dn.count(survey, rows.select(["cohort", "response"]))


def test_a_column_of_numbers(session: SparkSession) -> None:
    """At epsilon 30 and a reach of 0 a report is the answer's bin, but for one in 10**12."""
    survey = dn.number(0, 4, 30, bins=4, reach=0)
    people = session.range(0, 800, 1, 2).selectExpr("cast(id % 5 as double) + 0.5 as hours")
    tally, refused = spark.count(survey, spark.privatize(survey, people, "hours"))
    assert refused == {}
    assert tally.counts.tolist() == [[160, 160, 160, 320]]


def test_answers_of_a_table_of_weights(session: SparkSession) -> None:
    """Harmless answers are named by themselves alone; at epsilon 40 a sensitive one is kept but for one in 10**16."""
    survey = dn.sensitive(["none", "flu", "hiv", "hpv"], sensitive=["hiv", "hpv"], epsilon=40)
    words = "element_at(array('none', 'flu', 'hiv', 'hpv'), cast(id % 4 + 1 as int)) illness"
    people = session.range(0, 800, 1, 2).selectExpr(words)
    tally, refused = spark.count(survey, spark.privatize(survey, people, "illness"))
    assert refused == {}
    assert dn.decode(tally).probabilities.round(6).tolist() == [0.25] * 4
    own = dn.channel([[0.999, 0.001], [0.001, 0.999]], epsilon=7, symbols=["no", "yes"])
    reports = spark.privatize(
        own, session.range(0, 4000, 1, 2).selectExpr("if(id < 1000, 'yes', 'no') answer"), "answer"
    )
    tally, refused = spark.count(own, reports)
    assert refused == {}
    # Chernoff: of 3,000 and 1,000 answers 40 or more are changed with probability below 1e-20.
    assert abs(int(tally.counts[0, 1]) - 1000) < 40


def test_every_partition_and_every_evaluation_has_noise_of_its_own(session: SparkSession) -> None:
    """128 bits, each wrong with probability 1/(1+e**(1/2)): two equal reports are one in 2**120 even for one answer.

    The second evaluation is why reports are written out once: it is a second report of every person.
    """
    survey = dn.krappor(symbols=128, epsilon=1)
    reports = spark.privatize(survey, session.range(0, 400, 1, 4).selectExpr("7 answer"), F.col("answer"))
    found = [bytes(row.response) for _ in range(2) for row in reports.collect()]
    assert len(found) == len(set(found)) == 800
    assert {len(response) for response in found} == {16}


def test_an_answer_that_cannot_be_encoded_fails_the_job_and_is_not_shown(session: SparkSession) -> None:
    survey = dn.krr(symbols=["a", "b"], epsilon=1)
    people = session.createDataFrame([("a",), (SECRET,)], "answer string").coalesce(1)
    with pytest.raises(PySparkException) as caught:
        spark.privatize(survey, people, "answer").collect()
    sentence = "column must hold only symbols that the survey can encode, got 1 row that it cannot"
    assert sentence in str(caught.value)
    assert SECRET not in str(caught.value)


def test_columns_beside_the_reports_keep_their_types(session: SparkSession) -> None:
    survey = dn.warner(epsilon=1)
    day = datetime.date(2026, 11, 15)
    people = session.createDataFrame([("yes", day, [1.5])], "answer string, `a day` date, more array<double>")
    row = spark.privatize(survey, people, "answer", keep=["a day", "more"]).first()
    assert row is not None
    assert (row["a day"], row["more"], row["cohort"]) == (day, [1.5], 0)
    with pytest.raises(
        dn.EngineError, match="keep must not name the columns of a report, got 'cohort'; rename it first"
    ):
        spark.privatize(survey, people, "answer", keep=["a day", "cohort"])
