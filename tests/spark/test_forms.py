"""Forms on Spark: the table of good and bad rows, its query, and answers randomised and counted there as here."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import deniable as dn
from deniable.engines import spark
from deniable.tally import FormTally
from tests.forms_good_and_bad import READ, form_arrow, form_counts, form_rows

pytestmark = pytest.mark.slow  # test_count.py touches Spark in every run


@pytest.mark.parametrize("name", ["related", "words of SQL", "conditions"])
def test_every_good_and_bad_row(session: SparkSession, name: str) -> None:
    form = READ[name]
    rows = form_rows(form)
    expected = form_counts(form, rows)
    frame = session.createDataFrame(form_arrow(form, rows)).repartition(3)
    assert spark.count(form, frame.withColumn("beside", frame[f"`{form.parts[0].name}`"].isNull())) == expected
    frame.createOrReplaceTempView("reports")
    refused: dict[str, int] = {}
    tally = dn.count(form, session.sql(form.sql(dialect="spark")).toArrow(), refused=refused)
    assert (tally, refused) == expected


def test_nothing_to_count(session: SparkSession) -> None:
    form = READ["related"]
    empty = session.createDataFrame(form_arrow(form, form_rows(form)[:5])).where("1 = 0")
    assert spark.count(form, empty) == (FormTally(form), {})


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"smokes": [1]}, "must have a struct column 'smokes, age' with cohort and response"),
        ({"smokes, age": [1], "likes": [2]}, "must have a struct column 'smokes, age' with cohort and response"),
        (
            {"smokes, age": [{"cohort": 0, "response": "x"}], "likes": [{"cohort": 0, "response": b"x"}]},
            "column smokes, age.response must hold binary of 2 bytes, got string",
        ),
    ],
)
def test_another_table_is_refused_before_anything_runs(
    session: SparkSession, table: dict[str, list[object]], sentence: str
) -> None:
    with pytest.raises(dn.WireError) as caught:
        spark.count(READ["related"], session.createDataFrame(pa.table(table)))
    assert sentence in str(caught.value)


def test_a_stream_of_forms_is_refused(session: SparkSession, tmp_path: Path) -> None:
    frame = session.readStream.format("rate").load()
    with pytest.raises(dn.SurveyError, match="got a form of several questions, which this does not take yet"):
        spark.count_stream(READ["related"], frame, folder=tmp_path, checkpoint=str(tmp_path))  # type: ignore[arg-type]


STRONG = dn.form(
    tree=dn.krr(["ash", "birch", "cedar"], epsilon=1),
    often=dn.krr(2, epsilon=1),
    likes=dn.oue(["x", "y"], epsilon=1),
    spend="each",
    epsilon=20,
    relate=[("tree", "often")],
    public={"country": ["NO", "SE"]},
    when={"likes": ("country", "NO")},
)


@pytest.mark.slow
def test_answers_are_randomised_and_counted_here_as_there(session: SparkSession, tmp_path: Path) -> None:
    """At epsilon 40 a pair is kept but for one in 10**16, so every answer can be seen in the tally."""
    tree = "element_at(array('ash', 'birch', 'cedar'), cast(id % 3 + 1 as int)) tree"
    country = "if(id % 5 = 0, 'NO', 'SE') country"
    people = session.range(0, 3000, 1, 3).selectExpr("id", tree, "id % 2 often", "'y' likes", country)
    spark.privatize(STRONG, people, keep=["id"]).write.parquet(str(tmp_path / "reports"))
    written = session.read.parquet(str(tmp_path / "reports"))
    assert written.columns == ["id", "tree, often", "likes"]
    tally, refused = spark.count(STRONG, written)
    assert (tally.n, refused) == (3000, {})
    assert tally["likes"].n == 600
    assert tally == dn.count(STRONG, written.drop("id").toArrow())
    estimate = dn.decode(tally).joint("tree", "often")
    assert estimate.raw.round(6).tolist() == [round(1 / 6, 6)] * 6
    files = [str(path) for path in (tmp_path / "reports").glob("*.parquet")]
    assert spark.count_files(STRONG, files) == (tally, {})
    (tmp_path / "reports.csv").write_text("a\n1\n")
    with pytest.raises(dn.DataError) as caught:
        spark.count_files(STRONG, [str(tmp_path / "reports.csv")])
    assert str(caught.value) == "files of forms must be Parquet files, got csv; read it into a table and count that"


def test_settings_that_do_not_fit_are_refused(session: SparkSession) -> None:
    people = session.createDataFrame(pa.table({"tree": ["ash"], "often": [1], "likes": ["x"], "country": ["NO"]}))
    refused: list[tuple[Callable[[], object], str]] = [
        (
            lambda: spark.privatize(STRONG, people, "tree"),
            "column must not be given for a form, which has a column a question",
        ),
        (
            lambda: spark.privatize(STRONG, people, keep=["likes"]),
            "keep must not name the columns of a report, got 'likes'; rename it first",
        ),
        (
            lambda: spark.privatize(dn.warner(epsilon=1), people),
            "column must be named for a survey: the one that holds the answers",
        ),
    ]
    for asked, sentence in refused:
        with pytest.raises(dn.EngineError) as caught:
            asked()
        assert str(caught.value) == sentence
    with pytest.raises(PySparkException) as failed:
        spark.privatize(STRONG, people.selectExpr("'oak' tree", "often", "likes", "country")).count()
    assert "oak" not in str(failed.value)


def test_the_file_of_another_form_is_refused(tmp_path: Path) -> None:
    table = form_arrow(READ["related"], form_rows(READ["related"])[:3])
    named = table.replace_schema_metadata({"deniable.survey": READ["split"].digest})
    pq.write_table(named, tmp_path / "reports.parquet")
    with pytest.raises(dn.WireError, match="report table must be for survey"):
        spark.count_files(READ["related"], [str(tmp_path / "reports.parquet")])
