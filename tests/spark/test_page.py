"""The pages on Spark: their blocks run, on a real one."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.docs.blocks import ROOT, run

pytestmark = pytest.mark.slow


def test_the_page_runs_and_prints_what_it_says(session: SparkSession, tmp_path: Path) -> None:
    assert run(ROOT / "docs" / "how-to" / "spark.md", session=session, folder=tmp_path) == 4


def test_the_tutorial_runs_with_fewer_rows(session: SparkSession, tmp_path: Path) -> None:
    page = ROOT / "docs" / "tutorials" / "spark-billion.md"
    assert run(page, session=session, folder=tmp_path, rows=20_000) == 4
