"""A private Spark for the tests: a master and two workers in the driver's JVM, and a process for each executor."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["JAVA", "MISSING", "environment", "processes", "spark_session"]

MISSING = (
    "Java must be installed for these tests: apt-get install default-jre-headless (`make test` does so where it may)"
)
ROOT = Path(__file__).parents[2]
# Short lives: no second compiler, no threads for garbage.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"


@contextmanager
def environment() -> Iterator[dict[str, str]]:
    """What a Spark of our own needs in the environment: a home whose `work` folder is gone afterwards."""
    import pyspark

    installed = Path(pyspark.__file__).parent
    with tempfile.TemporaryDirectory(prefix="deniable-spark-") as folder:
        home = Path(folder)
        for name in ("bin", "jars", "python"):
            (home / name).symlink_to(installed / name)
        yield {
            "SPARK_HOME": folder,
            "SPARK_LOCAL_DIRS": str(home / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "OPENBLAS_NUM_THREADS": "1",
        }


@contextmanager
def spark_session(master: str = "local-cluster[2,1,1024]", *, tuned: bool = True) -> Iterator["SparkSession"]:
    """A session with executors in processes of their own, which a test may kill; `tuned` for a short life."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise RuntimeError(MISSING)
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": JAVA if tuned else "",
        "spark.executor.extraJavaOptions": JAVA if tuned else "",
        "spark.driver.memory": "1g" if tuned else "4g",
        "spark.executor.memory": "1024m",
        "spark.driver.maxResultSize": "64m" if tuned else "1g",  # little, so that a test meets it
        "spark.task.maxFailures": "3",
        "spark.sql.session.timeZone": "Asia/Kathmandu",  # windows are in UTC, whatever a session shows
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": tempfile.gettempdir(),
    }
    with environment() as names:
        before = dict(os.environ)
        os.environ.update(names)
        try:
            builder = SparkSession.builder.master(master)
            for name, value in settings.items():
                builder = builder.config(name, value)
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("OFF")  # tasks are made to fail here
            try:
                yield session
            finally:
                _end(session)
        finally:
            os.environ.clear()
            os.environ.update(before)


def _end(session: "SparkSession") -> None:
    """Stop it, Java too: that has this home in its environment, which is gone for whoever would be next."""
    from pyspark import SparkContext

    session.stop()
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.communicate()  # it ends when its standard input does
    SparkContext._gateway = SparkContext._jvm = None


def processes() -> dict[int, float]:
    """CPU seconds of every process below this one, and of their children that have ended."""
    parents: dict[int, tuple[int, float]] = {}
    tick = os.sysconf("SC_CLK_TCK")
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        parents[int(stat.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / tick
    found: dict[int, float] = {}
    fresh = {os.getpid()}
    while fresh := {name for name, (parent, _) in parents.items() if parent in fresh}:
        found |= {name: parents[name][1] for name in fresh}
    return found
