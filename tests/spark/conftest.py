"""One Spark for the tests that need it."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.cluster import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark leaves its sockets to the garbage collector, which is no failure of ours."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(autouse=True)
def _sockets_are_collected_here() -> Iterator[None]:
    """Not in a test of something else."""
    yield
    gc.collect()


@pytest.fixture(scope="package")
def session() -> "Iterator[SparkSession]":
    """A Spark of our own, for this folder only. Without Java these tests fail: skipping would hide the whole engine."""
    with spark_session() as made:
        yield made
