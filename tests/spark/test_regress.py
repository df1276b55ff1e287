"""A regression on a Spark table: one group-by on the cluster, and the fit of the same rows in memory."""

from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

import deniable as dn

SURVEY = dn.warner(epsilon=2)
OPEN = dn.orr(epsilon=3, cells=4, cohorts=4, seed=bytes(16))


def rows(n: int = 600) -> dict[str, Any]:
    rng = np.random.default_rng(6)
    return {
        "smokes": rng.integers(0, 2, n).tolist(),
        "age": rng.integers(0, 3, n).tolist(),
        "region": rng.choice(["north", "south"], n).tolist(),
        "w": rng.choice([1.0, 2.5], n).tolist(),
        "people": rng.integers(1, 4, n).tolist(),
        "unit": (np.arange(n) % 30).tolist(),
        "word": rng.integers(0, 4, n).tolist(),
        "cohort": rng.integers(0, 4, n).tolist(),
    }


def spark_table(session: SparkSession, data: dict[str, Any]) -> Any:
    return session.createDataFrame(list(zip(*data.values(), strict=True)), list(data)).repartition(3)


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("smokes ~ age + C(region)", {}),
        ("smokes ~ age", {"counts": "people"}),
        ("smokes ~ age", {"weights": "w", "clusters": "unit"}),
        ("word ~ age", {"survey": OPEN, "candidates": ["a", "b"]}),
    ],
)
def test_the_fit_is_that_of_the_rows_in_memory(session: SparkSession, formula: str, options: dict[str, Any]) -> None:
    data = rows()
    near = dn.regress(formula, data, **{"survey": SURVEY} | options)
    far = dn.regress(formula, spark_table(session, data), **{"survey": SURVEY} | options)
    assert far.params.to_numpy() == pytest.approx(near.params.to_numpy(), abs=1e-7)
    assert far.bse.to_numpy() == pytest.approx(near.bse.to_numpy(), rel=1e-6)
    assert (far.nobs, far.dropped) == (near.nobs, near.dropped)


def test_what_leaves_the_cluster_are_counts_of_distinct_rows(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = rows()
    data["age"][:5] = [None] * 5
    table = spark_table(session, data)
    sent: list[int] = []
    fetch = type(table).toArrow

    def watched(frame: Any) -> Any:
        found = fetch(frame)
        sent.append(len(found))
        return found

    monkeypatch.setattr(type(table), "toArrow", watched)
    fit = dn.regress("smokes ~ age + C(region)", table, survey=SURVEY)
    distinct = len(set(zip(data["smokes"], data["age"], data["region"], strict=True)))
    assert sent == [distinct]
    assert (fit.nobs, fit.dropped) == (595, 5)


def test_an_unknown_column_is_a_sentence(session: SparkSession) -> None:
    with pytest.raises(dn.DataError, match="must name columns of the data, got 'old'; there are 'smokes', 'age'"):
        dn.regress("smokes ~ old", spark_table(session, rows(10)), survey=SURVEY)
