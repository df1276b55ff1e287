"""Counting on Spark against Spark's own GROUP BY: the same Parquet, the same session, 131,072 groups.

CPU time is that of the Java process and of the Python workers below it, per row; it is what a cluster bills.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import deniable as dn
from benchmarks.measure import Line, timed
from deniable.engines import spark
from tests.spark.cluster import processes, spark_session

# The large table first: what Java compiles for it serves the small one, in ours and in Spark's.
SIZES, FILES, ROUNDS = (40_000_000, 10_000_000), 4, 3
COHORTS, CELLS = 256, 512
SURVEY = dn.orr(epsilon=2, cells=CELLS, cohorts=COHORTS, seed=bytes(16))
REFERENCE = "groupBy().count(), 131,072 groups"


def write(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir()
    for file in range(FILES):
        columns = {
            "cohort": rng.integers(0, COHORTS, rows // FILES).astype(np.uint16),
            "response": rng.integers(0, CELLS, rows // FILES).astype(np.uint16),
        }
        pq.write_table(pa.table(columns), folder / f"{file}.parquet", compression="zstd")


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds; Spark's own processes are long-lived, so what they used before is taken off."""
    before = processes()
    wall = timed(work)
    after = processes()
    return wall, sum(cpu - before.get(name, 0.0) for name, cpu in after.items())


def lines() -> Iterator[Line]:
    with (
        tempfile.TemporaryDirectory(prefix="deniable-bench-") as folder,
        spark_session("local[2]", tuned=False) as session,
    ):
        for rows in SIZES:
            write(Path(folder) / str(rows), rows)
            yield from measured(session, f"{folder}/{rows}", rows)


def measured(session: SparkSession, folder: str, rows: int) -> Iterator[Line]:
    reports = session.read.parquet(folder)
    # The same rows, where Spark has something to do with them first.
    filtered = reports.where("response >= 0")

    def ours() -> None:
        assert spark.count(SURVEY, reports)[0].n == rows

    def of_a_query() -> None:
        assert spark.count(SURVEY, filtered)[0].n == rows

    def theirs() -> None:
        assert reports.groupBy("cohort", "response").count().toArrow().num_rows == COHORTS * CELLS

    turns = (ours, of_a_query, theirs)
    for work in turns:
        work()
    rounds = [[spent(work) for work in turns] for _ in range(ROUNDS)]
    wall, cpu = ([min(turn[side][place] for turn in rounds) / rows for side in range(3)] for place in (0, 1))
    size = f"{rows // 1_000_000} million rows"
    yield Line(f"Spark, {size} of Parquet, CPU", REFERENCE, cpu[0], cpu[2], 1 / 3)
    yield Line("the same, wall", REFERENCE, wall[0], wall[2], 1 / 3)
    yield Line(f"Spark, {size} of a query, CPU", REFERENCE, cpu[1], cpu[2], 1 / 3)
    yield Line("the same, wall", REFERENCE, wall[1], wall[2], 1 / 3)
