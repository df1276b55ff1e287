"""A stream that is killed, Java and all, in the middle of its second batch: after one window of it is on disk.

python -m tests.spark.killed_stream SURVEY INCOMING FOLDER CHECKPOINT
"""

import os
import signal
import sys
from pathlib import Path

import deniable as dn
from deniable.engines import spark
from deniable.engines.spark import streaming
from deniable.engines.spark.counting import Found
from tests.spark.cluster import spark_session

COLUMNS = "cohort int, response int, time timestamp"


def main(survey: str, incoming: str, folder: str, checkpoint: str) -> None:
    add = streaming._add

    def add_and_die(folder: Path, number: int, found: Found) -> None:
        add(folder, number, found)
        if number == 1:
            os.killpg(0, signal.SIGKILL)

    streaming._add = add_and_die
    with spark_session("local[1]") as session:
        reports = session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(incoming)
        writer = spark.count_stream(dn.Survey.load(survey), reports, folder=folder, checkpoint=checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
