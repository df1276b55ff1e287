"""docs/spark.md: its blocks run, on a real Spark."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.docs.blocks import ROOT, run

pytestmark = pytest.mark.slow


def test_the_page_runs_and_prints_what_it_says(session: SparkSession, tmp_path: Path) -> None:
    assert run(ROOT / "docs" / "spark.md", session=session, folder=tmp_path) == 4
