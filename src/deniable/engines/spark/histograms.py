"""Count index reports in Java, by the histogram method of Spark's RDDs of numbers.

A row becomes one number: its cell, or a number past the cells for the reason why it is refused.
`DoubleRDDFunctions.histogram` counts these numbers in one array per task, and the driver adds up the arrays. There is
no hash table as in GROUP BY, no row is copied into an Arrow batch, and no Python worker runs.

A task returns one array for all of its rows. So, as in `counting`, the result contains each partition once, from one
attempt.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.survey import Survey, sql_refusals
from deniable.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["count_cells", "suits"]

# Cells of 8 bytes, at most: 8 MiB. Java holds the array of each running task, and the driver some of them. Python packs
# counts into fewer bytes.
_MOST = 1 << 20
_RESULTS = "spark.driver.maxResultSize"  # the setting that limits what all tasks return together, in bytes


def suits(survey: Survey) -> bool:
    """Whether this is a survey of index reports with few enough cells for an array per task in Java."""
    return not survey.report_format.response.bits and survey.cohorts * survey.columns <= _MOST


def count_cells(survey: Survey, dataframe: "DataFrame", names: list[str]) -> tuple[Tally, dict[str, int]] | None:
    """The tally and the refused rows by reason, or None where rows have to be counted in Python.

    That is so for surveys that do not suit, on Spark Connect, where the session gives no access to Java, and if the
    arrays of one task per core exceed the result size that the driver accepts.

    Claim: the reasons are those of `ReportFormat.rules`, and every number falls into the place of its own.
    Proof: tests/spark/test_count.py::test_counted_in_java_and_in_python
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    if not suits(survey) or getattr(dataframe, "_jdf", None) is None:
        return None
    cells = survey.cohorts * survey.columns
    tests = sql_refusals(survey.report_format, "spark", {name: name for name in names})
    places = cells + len(tests)
    try:
        jvm: Any = dataframe.sparkSession.sparkContext._jvm
        numbers = _numbers(dataframe.selectExpr(_place(survey, names, tests)), jvm, 8 * places)
        if numbers is None:
            return None
        edges = jvm.java.util.stream.IntStream.rangeClosed(0, places).asDoubleStream().toArray()
        data = jvm.java.nio.ByteBuffer.allocate(8 * places)
        data.asLongBuffer().put(jvm.org.apache.spark.rdd.DoubleRDDFunctions(numbers).histogram(edges, True))
        found = np.frombuffer(data.array(), ">i8").astype(np.int64)
    except Py4JJavaError:  # the rows could not be computed, which another way of counting them would not change
        raise
    except Py4JError:
        return None
    bad = zip((reason for _, reason in tests), found[cells:].tolist(), strict=True)
    refused = {reason: rows for reason, rows in bad if rows}
    return Tally(survey, found[:cells].reshape(survey.cohorts, survey.columns)), refused


def _place(survey: Survey, names: list[str], tests: list[tuple[str, str]]) -> str:
    """The SQL expression of a row's number.

    It lies in the middle of a bin, so that rounding cannot move it. It is a double throughout, so that nothing
    overflows.
    """
    cells = survey.cohorts * survey.columns
    cohort = "cohort" if "cohort" in names else "0"
    bad = " ".join(f"WHEN {test} THEN {cells + place}" for place, (test, _) in enumerate(tests))
    return f"CASE {bad} ELSE CAST({cohort} AS DOUBLE) * {survey.columns} + response END + 0.5D AS place"


def _numbers(places: "DataFrame", jvm: Any, size: int) -> Any:
    """The numbers as an RDD, in no more tasks than the driver takes results of this size from; or None."""
    context = places.sparkSession.sparkContext
    limit = context._jsc.sc().conf().getSizeAsBytes(_RESULTS, "1g") or 1 << 30
    most = limit // 2 // size
    if most < context.defaultParallelism:
        return None
    numbers = getattr(places._jdf, "as")(jvm.org.apache.spark.sql.Encoders.scalaDouble()).javaRDD()
    return (numbers.coalesce(most) if numbers.getNumPartitions() > most else numbers).rdd()
