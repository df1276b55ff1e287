"""Counting on Spark against Spark's own GROUP BY: the same Parquet, the same session, 131,072 groups.

CPU time is that of the Java process and of the Python workers below it, per row; it is what a cluster bills.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import deniable as dn
from benchmarks.measure import Line, timed
from deniable.engines import spark
from tests.spark.cluster import processes, spark_session

ROWS, FILES, ROUNDS = 40_000_000, 4, 2
COHORTS, CELLS = 256, 512
SURVEY = dn.orr(epsilon=2, cells=CELLS, cohorts=COHORTS, seed=bytes(16))


def write(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for file in range(FILES):
        columns = {
            "cohort": rng.integers(0, COHORTS, ROWS // FILES).astype(np.uint16),
            "response": rng.integers(0, CELLS, ROWS // FILES).astype(np.uint16),
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
        write(Path(folder))
        session.conf.set("spark.sql.shuffle.partitions", "2")
        reports = session.read.parquet(folder)

        def ours() -> None:
            tally, refused = spark.count(SURVEY, reports)
            assert (tally.n, refused) == (ROWS, {})

        def theirs() -> None:
            groups = reports.groupBy("cohort", "response").count().toArrow()
            assert groups.num_rows == COHORTS * CELLS

        # The same rows, where Spark has something to do with them first.
        filtered = reports.where("response >= 0")

        def through_spark() -> None:
            assert spark.count(SURVEY, filtered)[0].n == ROWS

        turns = (ours, through_spark, theirs)
        for work in turns:
            work()
        rounds = [[spent(work) for work in turns] for _ in range(ROUNDS)]
    wall, cpu = ([min(turn[side][place] for turn in rounds) / ROWS for side in range(3)] for place in (0, 1))
    reference = "groupBy().count(), 131,072 groups"
    yield Line("count on Spark, Parquet, CPU a row", reference, cpu[0], cpu[2], 1 / 3)
    yield Line("the same, wall", reference, wall[0], wall[2], 1 / 3)
    yield Line("count on Spark, rows of a query, CPU", reference, cpu[1], cpu[2], 1)
    yield Line("the same, wall", reference, wall[1], wall[2], 1)
