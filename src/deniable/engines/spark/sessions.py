"""A Spark session: the running one, or a new one that is stopped at the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deniable.errors import EngineError, require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["reason_of", "session_for"]


@contextmanager
def session_for(master: str | None) -> "Iterator[SparkSession]":
    """The running session, or a new one at `master` (where none is named: as Spark's own settings say)."""
    require("to count on Spark", "spark")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        here = running.conf.get("spark.master", None)
        if master not in (None, here):
            raise EngineError(f"master must be that of the running session, {here}, got {master}; stop it first")
        yield running
        return
    builder = SparkSession.builder.appName("deniable count").config("spark.ui.showConsoleProgress", "false")
    try:
        made = (builder if master is None else builder.master(master)).getOrCreate()
    except (PySparkException, OSError) as problem:
        raise EngineError(f"Spark must start, and did not: {reason_of(problem)}; it needs Java 17 or newer") from None
    try:
        yield made
    finally:
        made.stop()


def reason_of(problem: BaseException) -> str:
    """The first line of what Spark says, without the Java frames below it."""
    lines = [line.strip(" :") for line in str(problem).splitlines() if not line.startswith("An error occurred while")]
    return next((line for line in lines if line), type(problem).__name__)[:300].rstrip(".")
