"""Intervals of cross-tables cover, and the test of independence rejects as often as it says."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.relations import Crosstab
from studies.crosstabs import RELATED, form_of, group_tables, independent, measured, pair_tables
from tests.statistical.harness import accept, binomial_p_value, generator, reject

REPEATS, PEOPLE = 600, 3000
LEAST, MOST = 0.93, 0.975  # of the coverage of 95 % intervals: what a check may not tell from 95 %


def tables(name: str, related: bool) -> Iterator[Crosstab]:
    table = RELATED["2 x 2"] if related else independent(RELATED["2 x 2"])
    if name == "pair":
        return pair_tables(form_of(table, 2), table, PEOPLE, REPEATS, generator(f"crosstab {name} {related}"))
    rng = generator(f"crosstab {name} {related}")
    return group_tables(dn.krr(2, epsilon=2), dn.Inversion(), table, PEOPLE, REPEATS, rng)


def p_value(share: float) -> float:
    """Of a coverage anywhere from `LEAST` to `MOST`."""
    return binomial_p_value(round(share * REPEATS), REPEATS, min(max(share, LEAST), MOST))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pair", "groups"])
def test_intervals_cover(name: str) -> None:
    found = measured(tables(name, related=True), RELATED["2 x 2"])
    for what in ("difference", "ratio"):
        accept("crosstab-coverage", p_value(found[what]))
    # Means over the cells of a table, which are not independent: no p-value, but the same bounds.
    assert LEAST < found["cells"] < MOST
    assert LEAST < found["conditionals"] < MOST


@pytest.mark.slow
def test_limits_without_the_noise_of_the_reports_are_caught() -> None:
    """Those of a table whose answers were seen in the clear."""
    clear = (
        replace(found, covariance=plain(found.raw.ravel()), row_limits=None) for found in tables("pair", related=True)
    )
    reject("crosstab-coverage", p_value(measured(clear, RELATED["2 x 2"])["difference"]))


def plain(shares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray((np.diag(shares) - np.outer(shares, shares)) / PEOPLE)


def rare(fieller: bool) -> float:
    """Coverage of a share within a row, with three people of 500 behind the cell, and hardly any noise."""
    table = RELATED["2 x 2, rare"]
    rng = generator(f"crosstab rare {fieller}")
    goal, inside = table[0, 1] / table[0].sum(), 0
    for found in pair_tables(form_of(table, 8), table, 500, REPEATS, rng):
        used = replace(found, row_limits=None) if fieller else found
        low, high = used.conditional_intervals()[0, 1]
        inside += bool(low <= goal <= high)
    return inside / REPEATS


@pytest.mark.slow
def test_shares_with_few_people_behind_a_cell_are_covered() -> None:
    accept("crosstab-coverage", p_value(rare(fieller=False)))


@pytest.mark.slow
def test_limits_from_the_estimated_variance_alone_are_caught() -> None:
    """Fieller's: with no report behind the cell the estimated variance is nearly nothing."""
    reject("crosstab-coverage", p_value(rare(fieller=True)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pair", "groups"])
def test_independence_is_rejected_as_often_as_said(name: str) -> None:
    found = measured(tables(name, related=False), independent(RELATED["2 x 2"]))
    assert found["tested"] == 1
    accept("crosstab-size", binomial_p_value(round(found["rejected"] * REPEATS), REPEATS, 0.05))


@pytest.mark.slow
def test_a_test_that_takes_reports_for_answers_is_caught() -> None:
    """Pearson's test on what was estimated, as if nothing had been random."""
    table, rejected = independent(RELATED["2 x 2"]), 0
    for found in tables("groups", related=False):
        away = found.raw - np.outer(found.raw.sum(axis=1), found.raw.sum(axis=0))
        rejected += float(PEOPLE * (away**2 / table).sum()) > 3.841
    reject("crosstab-size", binomial_p_value(rejected, REPEATS, 0.05))
