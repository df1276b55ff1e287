"""Windowed tallies from a stream of files: each row once, also when it is killed and started again."""

import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import deniable as dn
from deniable.engines import spark
from deniable.engines.spark import windows
from deniable.engines.spark.streaming import _add
from deniable.service import clock
from tests.spark.killed_stream import COLUMNS
from tests.surveys import SMALL

pytestmark = pytest.mark.slow

SURVEY = SMALL["orr-closed"]
START = datetime(2026, 11, 14, 22, 30, tzinfo=UTC)


def table_of(number: int, rows: int = 500) -> pa.Table:
    """Reports of about two days around midnight, some of them bad, some without a time."""
    rng = np.random.default_rng(number)
    times: list[datetime | None] = [START + timedelta(minutes=int(m)) for m in rng.integers(-1500, 1500, rows)]
    times[3] = None
    return pa.table(
        {
            "cohort": pa.array(rng.integers(0, 3, rows), pa.int32()),
            "response": pa.array(rng.integers(0, 3, rows), pa.int32()),
            "time": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


def expected(tables: list[pa.Table], kind: str = "day") -> dict[str, tuple[dn.Tally, dict[str, int]]]:
    """The same by the local count and the collector's clock."""
    table = pa.concat_tables(tables)
    names = [
        "undated" if t is None else clock.label(clock.window_of(kind, int(t.timestamp() // 3600)))
        for t in table["time"].to_pylist()
    ]
    found = {}
    for name in sorted(set(names)):
        piece = table.filter(pa.array([other == name for other in names])).select(["cohort", "response"])
        refused: dict[str, int] = {}
        tally = dn.count(SURVEY, piece, refused=refused)
        found[name] = (dn.Tally(SURVEY), {windows.NO_TIME: len(piece)}) if name == "undated" else (tally, refused)
    return found


class Place:
    """The folders of one stream, and the files that have come in, each put there whole."""

    def __init__(self, home: Path) -> None:
        self.home, self.incoming, self.folder = home, home / "incoming", home / "windows"
        self.checkpoint = str(home / "checkpoint")
        self.tables: list[pa.Table] = []
        self.incoming.mkdir()
        SURVEY.save(home / "survey.json")

    def put(self, table: pa.Table) -> None:
        pq.write_table(table, self.home / "part")
        (self.home / "part").rename(self.incoming / f"{len(self.tables):03d}.parquet")
        self.tables.append(table)

    def read(self, session: SparkSession) -> DataFrame:
        return session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(self.incoming))

    def run(self, session: SparkSession, *, survey: dn.Survey = SURVEY, window: str = "day") -> None:
        writer = spark.count_stream(
            survey, self.read(session), folder=self.folder, checkpoint=self.checkpoint, window=window
        )
        query = writer.trigger(availableNow=True).start()
        assert query is not None
        query.awaitTermination()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_killed_and_started_again(session: SparkSession, place: Place) -> None:
    for number in range(3):
        place.put(table_of(number))
    arguments = [str(place.home / "survey.json"), str(place.incoming), str(place.folder), place.checkpoint]
    command = [sys.executable, "-m", "tests.spark.killed_stream", *arguments]
    done = subprocess.run(
        command, start_new_session=True, capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    half = [window.name for window in sorted(place.folder.iterdir()) if (window / f"{1:012d}.tally").exists()]
    assert len(half) == 1, "one window of batch 1 was written, the others were not"
    assert spark.read_windows(place.folder) != expected(place.tables[:2])

    place.run(session)
    assert spark.read_windows(place.folder) == expected(place.tables)

    # Started once more: what comes now may be late, and is added to its old window.
    place.put(table_of(0))
    place.run(session)
    place.run(session)
    found = spark.read_windows(place.folder)
    assert found == expected(place.tables)
    assert sum(tally.n + sum(refused.values()) for tally, refused in found.values()) == 2000
    assert all(len(list((place.folder / name).glob("*.tally"))) <= 2 for name in found)


def test_the_time_of_a_file_is_the_window_of_its_rows(session: SparkSession, place: Place) -> None:
    place.put(table_of(0).select(["cohort", "response"]))
    arrived = F.col("_metadata.file_modification_time").alias("arrived")
    columns = session.readStream.schema("cohort int, response int").parquet(str(place.incoming))
    reports = columns.select("cohort", "response", arrived)
    writer = spark.count_stream(
        SURVEY, reports, folder=place.folder, checkpoint=place.checkpoint, time="arrived", window="hour"
    )
    query = writer.trigger(availableNow=True).start()
    assert query is not None
    query.awaitTermination()
    hour = int((place.incoming / "000.parquet").stat().st_mtime // 3600)
    refused: dict[str, int] = {}
    assert spark.read_windows(place.folder) == {
        clock.label(hour): (dn.count(SURVEY, place.tables[0], refused=refused), refused)
    }


def test_a_folder_belongs_to_one_survey_window_and_checkpoint(session: SparkSession, place: Place) -> None:
    place.put(table_of(0, 10))
    place.run(session)
    before = spark.read_windows(place.folder)
    for wrong, options in (
        ("survey", {"survey": dn.orr(symbols=5, epsilon=2, cells=3, cohorts=2, seed=bytes(16))}),
        ("window", {"window": "hour"}),
    ):
        place.put(table_of(1, 10))
        with pytest.raises(StreamingQueryException) as caught:
            place.run(session, **options)
        assert f"must be counted with the {wrong} it was begun with, " in str(caught.value)
        assert "; take another folder, with another checkpoint" in str(caught.value)
    shutil.rmtree(place.checkpoint)
    with pytest.raises(StreamingQueryException, match="must be counted with the checkpoint it was begun with, "):
        place.run(session)
    assert spark.read_windows(place.folder) == before


def test_what_is_no_stream_of_reports_is_refused(session: SparkSession, place: Place, tmp_path: Path) -> None:
    stream = place.read(session)

    def refused(sentence: str, reports: DataFrame = stream, **options: str) -> None:
        with pytest.raises(dn.EngineError) as caught:
            spark.count_stream(SURVEY, reports, folder="x", checkpoint="y", **options)
        assert sentence in str(caught.value)

    refused("window must be one of hour, day, week, got 'month'", window="month")
    refused("column 'when' must hold timestamps, got no such column; name the time of arrival with time=", time="when")
    refused("column 'cohort' must hold timestamps, got int", time="cohort")
    plain = session.createDataFrame([], COLUMNS)
    refused("reports must be a streaming DataFrame, got one that is not; use spark.count", plain)
    with pytest.raises(dn.WireError, match="report table must have the columns 'cohort' and 'response'"):
        spark.count_stream(SURVEY, stream.drop("cohort"), folder="x", checkpoint="y")
    with pytest.raises(dn.EngineError, match="must be a folder that count_stream has written, got none"):
        spark.read_windows(tmp_path)


def test_a_folder_that_is_ahead_of_its_checkpoint_is_refused(tmp_path: Path) -> None:
    found = (dn.Tally(SURVEY), {"no cohort": 1})
    for number in (0, 4, 7, 7):
        _add(tmp_path / "w", number, found)
    assert sorted(path.name for path in (tmp_path / "w").glob("*.json")) == ["000000000004.json", "000000000007.json"]
    with pytest.raises(dn.EngineError) as caught:
        _add(tmp_path / "w", 5, found)
    advice = "; the checkpoint is an old copy: count again with a new folder and a new checkpoint"
    assert "must not be ahead of its checkpoint, got batch 7 there and batch 5" + advice in str(caught.value)


@pytest.mark.parametrize("kind", clock.WINDOWS)
def test_windows_are_the_collectors(kind: str) -> None:
    hours = [0, 1, 23, 24, 95, 96, 97, 263, 264, 480_000, 498_431, 70_389_527]
    micros = pa.array([hour * 3_600_000_000 + 3_599_999_999 for hour in hours], pa.timestamp("us", "UTC"))
    table = pa.table({"time": micros, "hour": hours})
    found = {hour: start for start, piece in windows.by_window(table, kind) for hour in piece["hour"].to_pylist()}
    assert found == {hour: clock.window_of(kind, hour) for hour in hours}
    assert [windows.label(hour) for hour in hours] == [clock.label(hour) for hour in hours]


def test_times_that_no_calendar_has_are_no_times() -> None:
    micros = pa.array([-1, None, 70_389_528 * 3_600_000_000, -(2**63), 2**63 - 1, 0], pa.timestamp("us", "UTC"))
    found = [(start, len(piece)) for start, piece in windows.by_window(pa.table({"time": micros}), "week")]
    assert found == [(None, 5), (-72, 1)]
