"""The same count on partitions, whatever they hold and whatever happens to the tasks."""

import os
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext, TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import deniable as dn
from deniable.engines import spark
from deniable.engines.spark import counting, histograms, scans
from deniable.engines.spark.counting import _packed, _unpacked
from tests.good_and_bad import SURVEYS, with_bad_rows
from tests.surveys import SMALL

KINDS = ["krr", "subset", "orappor-open", "hadamard-blocks", "sensitive-design", "blocks", "channel", "number"]


def reports_of(survey: dn.Survey, rows: int, *, bad: bool = True) -> pa.Table:
    """Reports of some answers; with `bad`, some rows without a value and some out of range among them."""
    rng = np.random.default_rng(0)
    answers = rng.choice(survey.symbols or ("ash", "birch"), rows).tolist()
    table = dn.privatize(survey, answers).to_arrow().replace_schema_metadata(None)
    cohorts, responses = table["cohort"].to_pylist(), table["response"].to_pylist()
    if bad:
        wrong: list[Any] = [None, 999, -1] if survey.mechanism.one_column else [None, b"", b"\xff" * len(responses[0])]
        for place, value in enumerate(wrong):
            responses[7 + place] = value
        cohorts[3], cohorts[5], cohorts[8] = None, survey.cohorts, -7
    kind = pa.int32() if survey.mechanism.one_column else pa.binary()
    return pa.table({"cohort": pa.array(cohorts, pa.int32()), "response": pa.array(responses, kind)})


def local(survey: dn.Survey, table: pa.Table) -> tuple[dn.Tally, dict[str, int]]:
    refused: dict[str, int] = {}
    return dn.count(survey, table, refused=refused), refused


def nothing(*_: object) -> None:
    """In the place of `count_cells`: it does not suit, so Python counts."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_as_the_local_count(session: SparkSession, kind: str) -> None:
    survey = SMALL[kind]
    table = reports_of(survey, 2000)
    tally, refused = spark.count(survey, session.createDataFrame(table).repartition(3))
    assert (tally, refused) == local(survey, table)
    assert tally.n + sum(refused.values()) == 2000
    assert len(refused) >= 4


@pytest.mark.parametrize("kind", ["cohorts-257", "large-subset", "bits-9"])
def test_every_good_and_bad_row(session: SparkSession, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The table that every reader is held to (tests/contracts/test_readers.py): in Java, in Python and as a query."""
    survey = SURVEYS[kind]
    table, tally, refused = with_bad_rows(survey)
    frame = session.createDataFrame(table)
    assert spark.count(survey, frame) == (tally, refused)
    if histograms.suits(survey):
        monkeypatch.setattr(counting, "count_cells", nothing)
        assert spark.count(survey, frame) == (tally, refused)
    frame.createOrReplaceTempView("reports")
    found: dict[str, int] = {}
    assert dn.count(survey, session.sql(survey.sql(dialect="spark")).toArrow(), refused=found) == tally
    assert found == refused


@pytest.mark.parametrize("kind", ["krr", "orr-closed", "hadamard-blocks"])
def test_counted_in_java_and_in_python(session: SparkSession, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Numbers of every width, rows with two faults, and integers at both ends: the same reasons in both places."""
    survey = SMALL[kind]
    ends = [None, -(2**63), -1, 0, 1, survey.cohorts - 1, survey.cohorts, survey.columns, 2**53 + 1, 2**63 - 1]
    pairs = [(cohort, response) for cohort in ends for response in ends]
    table = pa.table({"cohort": [c for c, _ in pairs], "response": [r for _, r in pairs]})
    table = table.cast(pa.schema({"cohort": pa.int64(), "response": pa.int64()}))
    frame = session.createDataFrame(table)
    here = local(survey, table)
    assert histograms.count_cells(survey, frame, ["cohort", "response"]) == here
    assert set(here[1]) == {rule.reason for rule in survey.report_format.rules}
    if survey.cohorts == 1:
        alone = table.select(["response"])
        assert histograms.count_cells(survey, frame.select("response"), ["response"]) == local(survey, alone)
    monkeypatch.setattr(counting, "count_cells", nothing)
    assert spark.count(survey, frame) == here


@pytest.mark.parametrize(("cohorts", "partitions"), [(128, 70), (1 << 10, 5)])
def test_every_number_falls_into_its_own_place(session: SparkSession, cohorts: int, partitions: int) -> None:
    """Up to a million cells, the most that Java counts, from more partitions than the driver takes such arrays from.

    It takes 64 MB here: not 70 arrays of 2**17 cells, so partitions are joined.
    """
    survey = dn.orr(epsilon=1, cells=1 << 10, cohorts=cohorts, seed=bytes(16))
    frame = session.range(0, cohorts << 10, 1, partitions).selectExpr("id div 1024 cohort", "id % 1024 response")
    found = histograms.count_cells(survey, frame, ["cohort", "response"])
    assert found is not None
    assert (found[0].counts == 1).all()
    assert found[1] == {}


def test_what_java_does_not_count(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = session.range(10).selectExpr("0 cohort", "cast(id as int) response")
    names = ["cohort", "response"]
    large = dn.orr(epsilon=1, cells=1 << 10, cohorts=(1 << 10) + 1, seed=bytes(16))
    assert histograms.count_cells(large, frame, names) is None
    assert histograms.count_cells(SMALL["subset"], frame, names) is None
    assert histograms.count_cells(SMALL["orr-closed"], object(), names) is None  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(SparkContext, "defaultParallelism", 5)  # and the driver takes four arrays of this size
        full = dn.orr(epsilon=1, cells=1 << 10, cohorts=(1 << 10) - 1, seed=bytes(16))
        assert histograms.count_cells(full, frame, names) is None
    broken = frame.selectExpr("cohort", "cast(raise_error('a row that fails') as int) response")
    with pytest.raises(PySparkException, match="a row that fails"):
        spark.count(SMALL["orr-closed"], broken)

    def locked(*_: object) -> None:
        raise Py4JError("Method javaRDD([]) is not allowed here")

    monkeypatch.setattr(histograms, "_numbers", locked)
    tally, refused = spark.count(SMALL["orr-closed"], frame)
    assert (tally.n, refused) == (3, {"response out of range": 7})


@pytest.mark.parametrize("kind", ["orr-open", "subset"])
def test_the_query_for_spark_gives_the_same(session: SparkSession, kind: str) -> None:
    survey = SMALL[kind]
    table = reports_of(survey, 500)
    session.createDataFrame(table).createOrReplaceTempView("reports")
    refused: dict[str, int] = {}
    tally = dn.count(survey, session.sql(survey.sql(dialect="spark")).toArrow(), refused=refused)
    assert (tally, refused) == local(survey, table)


def test_skewed_and_empty_partitions(session: SparkSession) -> None:
    """One partition holds nearly everything, and more than half of the others hold nothing."""
    survey = SMALL["orr-closed"]
    table = reports_of(survey, 30_000)
    frame = session.createDataFrame(table)
    few = (
        session.range(0, 20, 1, 20).where("id < 9").selectExpr("cast(id % 3 as int) cohort", "cast(id as int) response")
    )
    mixed = frame.coalesce(1).union(few)
    assert mixed.rdd.getNumPartitions() == 21
    numbers = np.arange(9, dtype=np.int32)
    both = pa.concat_tables([table, pa.table({"cohort": numbers % 3, "response": numbers})])
    assert spark.count(survey, mixed) == local(survey, both)


def test_nothing_to_count(session: SparkSession) -> None:
    survey = SMALL["orr-closed"]
    assert spark.count(survey, session.range(0).selectExpr("0 cohort", "0 response")) == (dn.Tally(survey), {})


@pytest.mark.parametrize(
    ("kind", "columns", "sentence"),
    [
        ("orr-open", "cohort int, response double", "column 'response' must hold integers, got double"),
        ("orr-open", "cohort boolean, response int", "column 'cohort' must hold integers, got bool"),
        ("orr-open", "cohort int, response string", "column 'response' must hold integers, got string"),
        ("orr-open", "cohort int, answer int", "report table must have the columns 'cohort' and 'response', got"),
        ("orr-open", "response int", "report table must have the columns 'cohort' and 'response', got"),
        ("krappor", "cohort int, response int", "column 'response' must be binary of 1 bytes, got int32"),
    ],
)
def test_another_table_is_refused_before_anything_runs(
    session: SparkSession, kind: str, columns: str, sentence: str
) -> None:
    with pytest.raises(dn.WireError) as caught:
        spark.count(SMALL[kind], session.createDataFrame([], columns))
    assert sentence in str(caught.value)


def test_integers_of_every_width_and_one_cohort_without_a_column(session: SparkSession) -> None:
    survey = SMALL["krr"]
    for kind in ("tinyint", "bigint"):
        rows = session.range(100).selectExpr(f"cast(id % 5 as {kind}) response", "id other")
        tally, refused = spark.count(survey, rows)
        assert tally.counts.tolist() == [[20] * 4]
        assert refused == {"response out of range": 20}


@pytest.mark.slow
def test_parquet_that_workers_read_themselves(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same count whether Arrow or Spark reads a file; which of them does is seen in the plan."""
    survey = SMALL["orr-closed"]
    table = reports_of(survey, 3000).append_column("note", pa.array(["x"] * 3000))
    pq.write_table(table, tmp_path / "a b.parquet", row_group_size=100)
    pq.write_table(table.select(["response", "cohort"]).slice(0, 10), tmp_path / "b.parquet")
    everything = pa.concat_tables(
        [table.select(["cohort", "response"]), table.select(["cohort", "response"]).slice(0, 10)]
    )
    frame = session.read.schema("cohort int, response int, note string").parquet(str(tmp_path))
    names = ["cohort", "response"]
    monkeypatch.setattr(scans, "_PART", 6000)
    splits = scans.splits_of(frame, names)
    assert splits is not None
    assert len(splits) > 3
    with monkeypatch.context() as patch:
        patch.setattr(counting, "_WORTH", 2000)
        patch.setattr(counting, "count_cells", lambda *_: pytest.fail("large files are read in workers"))
        assert spark.count(survey, frame) == local(survey, everything)
        patch.undo()
        patch.setattr(counting, "_merged", lambda *_: pytest.fail("small files are counted in Java"))
        assert spark.count(survey, frame) == local(survey, everything)
    assert scans.splits_of(frame.select("note", "response", "cohort").drop("note"), names) is not None
    for other in (
        frame.where("note = 'x'"),
        frame.selectExpr("response as cohort", "cohort as response"),
        frame.limit(7),
        frame.union(frame),
        frame.distinct(),
        frame.sample(0.5, 1),
        session.read.json(session.sparkContext.emptyRDD(), "cohort int, response int"),
    ):
        assert scans.splits_of(other, names) is None
    assert spark.count(survey, frame.where("note = 'x'")) == local(survey, table)
    twice = session.read.parquet(*[str(tmp_path / "b.parquet")] * 2)
    assert spark.count(survey, twice)[0].n == 2 * local(survey, everything.slice(3000))[0].n
    days = tmp_path / "days"
    frame.selectExpr("cohort", "response", "response as day").write.partitionBy("day").parquet(str(days))
    assert scans.splits_of(session.read.parquet(str(days)), names) is not None
    assert spark.count(survey, session.read.parquet(str(days))) == local(survey, everything)
    assert scans.splits_of(session.read.parquet(str(days)).select("cohort", "day"), ["cohort", "day"]) is None
    shutil.rmtree(days)
    cached = frame.select(*names).cache()
    assert scans.splits_of(cached, names) is None
    cached.unpersist()
    # A file that lacks a column is left to Spark, which knows what its reader wants then.
    pq.write_table(table.select(["response"]), tmp_path / "c.parquet")
    frame = session.read.schema("cohort int, response int").parquet(str(tmp_path))
    assert scans.splits_of(frame, names) is not None
    monkeypatch.setattr(counting, "_WORTH", 0)
    _, refused = spark.count(survey, frame)
    assert refused["no cohort"] == 3000 + local(survey, everything)[1]["no cohort"]


def test_small_files_are_not_a_task_each(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / str(number)).write_bytes(bytes(10))
    small = [(str(tmp_path / str(number)), 0, 1) for number in range(100)]
    assert scans.tasks_of(small, 4) == 4
    assert scans.tasks_of(small[:3], 4) == 3
    os.truncate(tmp_path / "7", 10 * scans._PART)
    whole = [*small[:7], *((str(tmp_path / "7"), part, 10) for part in range(10)), *small[8:]]
    assert scans.tasks_of(whole, 4) == 10


def once(marker: str) -> bool:
    """Whether this is the first call with a marker, over all processes."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def failing(batches: Iterable[pa.RecordBatch], *, marker: str, fault: Callable[[], None]) -> Iterator[pa.RecordBatch]:
    """The rows as they are; but the first task that has read some of partition 1 meets a fault there."""
    context = TaskContext.get()
    assert context is not None
    for place, batch in enumerate(batches):
        yield batch
        if context.partitionId() == 1 and place == 1 and once(marker):
            fault()


def raise_an_error() -> None:
    raise RuntimeError("this task fails once")


def kill_the_executor() -> None:
    """SIGKILL for the Java process above this worker and the daemon that forked it."""
    daemon = os.getppid()
    status = Path(f"/proc/{daemon}/status").read_text()
    executor = int(next(line for line in status.splitlines() if line.startswith("PPid:")).split()[1])
    assert "CoarseGrainedExecutorBackend" in Path(f"/proc/{executor}/cmdline").read_text()
    os.kill(executor, signal.SIGKILL)
    signal.pause()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["Python", "Java"])
@pytest.mark.parametrize("fault", [raise_an_error, kill_the_executor])
def test_tasks_that_fail_or_die_with_their_executor_count_once(
    session: SparkSession, tmp_path: Path, fault: Callable[[], None], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where == "Python":
        monkeypatch.setattr(counting, "count_cells", nothing)
    survey = dn.orr(symbols=64, epsilon=1, cells=16, cohorts=32, seed=bytes(16))
    rows = 200_000
    frame = session.range(0, rows, 1, 4).selectExpr("cast(id % 33 as int) cohort", "cast(id % 17 as int) response")
    marker = str(tmp_path / "met")
    broken = frame.mapInArrow(partial(failing, marker=marker, fault=fault), "cohort int, response int")
    tally, refused = spark.count(survey, broken)
    assert os.path.exists(marker), "the fault was met"
    numbers = np.arange(rows)
    assert (tally, refused) == local(
        survey, pa.table({"cohort": (numbers % 33).astype(np.int32), "response": (numbers % 17).astype(np.int32)})
    )


@pytest.mark.slow
@pytest.mark.parametrize("preset", [dn.orr, dn.orappor])
def test_rows_that_differ_when_a_task_is_repeated_stay_whole(
    session: SparkSession, tmp_path: Path, preset: Callable[..., dn.Survey]
) -> None:
    """Counts of reports that were never written out: each attempt draws others, and the tally holds one draw each."""
    survey = preset(epsilon=2, cells=16, cohorts=8, seed=bytes(16))
    columns = "cohort int, response " + ("int" if survey.mechanism.one_column else "binary")
    people = session.range(0, 40_000, 1, 4).selectExpr("concat('page ', id % 9) answer")
    reports = spark.privatize(survey, people, "answer")
    broken = reports.mapInArrow(partial(failing, marker=str(tmp_path / "met"), fault=raise_an_error), columns)
    tally, refused = spark.count(survey, broken)
    assert tally.n == 40_000
    assert refused == {}


@pytest.mark.parametrize("most", [0, 255, 256, 2**16, 2**31, 2**62])
def test_partial_counts_travel_in_the_narrowest_integers(most: int) -> None:
    vector = np.array([0, most, 1], np.int64)
    packed = _packed(vector)
    assert len(packed) == 1 + 3 * np.min_scalar_type(most).itemsize
    assert _unpacked(bytearray(packed)).tolist() == vector.tolist()
