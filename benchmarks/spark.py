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

ROWS, FILES, ROUNDS = 20_000_000, 4, 3
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

        ours(), theirs()
        rounds = [(spent(ours), spent(theirs)) for _ in range(ROUNDS)]
    reference = "groupBy().count(), 131,072 groups"
    for place, what in enumerate(("wall", "CPU")):
        best = [min(turn[side][place] for turn in rounds) / ROWS for side in (0, 1)]
        yield Line(f"count on Spark, {what} a row", reference, best[0], best[1], 1 / 3)
