"""Statistics of steps far out in the tails: what differs between windows of the same devices are a few counts."""

import numpy as np
import pytest
from scipy import stats

from deniable.tracking.changes import Tails, _light

HEAVY = Tails(np.zeros(1), np.full(1, 5.0), np.array([100.0, 0.0, 100.0, 400.0]))


@pytest.mark.parametrize("variance", [8.0, 20.0, 100.0])
def test_a_difference_of_two_counts_has_its_own_tail(variance: float) -> None:
    """Against the difference of two Poisson counts, down to one chance in a million million; half of a count itself."""
    counts = np.arange(1, int(7 * np.sqrt(variance)))
    law = stats.skellam(variance / 2, variance / 2)
    exact = law.sf(counts) + law.pmf(counts) / 2
    near = (exact < 0.2) & (exact > 1e-12)
    z = counts / np.sqrt(variance)
    found = stats.norm.sf(_light(z, np.full(len(z), 1 / variance)))
    assert near.sum() > 15
    assert found[near] == pytest.approx(exact[near], rel=0.25, abs=0)
    normal = stats.norm.sf(z)
    assert not np.allclose(normal[near], exact[near], rtol=0.25, atol=0)
    assert _light(-z, np.full(len(z), 1 / variance)) == pytest.approx(-_light(z, np.full(len(z), 1 / variance)))


def test_a_statistic_of_many_reports_stays_as_it_is() -> None:
    z = np.array([-6.0, -1e-9, 0.0, 1e-9, 0.5, 6.0])
    assert _light(z, np.full(6, 1e-9)) == pytest.approx(z, abs=1e-6)


def test_the_fewer_devices_are_replaced_the_heavier_is_the_tail() -> None:
    """Of neighbours with 100 reports each, 5 / 100 / 2 if all are others; fifty times so much if one in fifty is."""

    def excess(repeated: float, window: int) -> float:
        z, size = np.full((1, 4), 4.0), np.ones(4)
        return float(HEAVY.normal(z, np.zeros(1, np.intp), np.full((1, 4), repeated), size, size)[0, window])

    for repeated, alone in ((0.0, 0.025), (0.98, 1.25)):
        wanted = float(_light(np.array([4.0]), np.array([alone]))[0])
        assert excess(repeated, 1) == pytest.approx(wanted)  # a missing window has the reports of the last one
        assert excess(repeated, 3) == pytest.approx(wanted)  # the smaller of both windows counts
    assert excess(0.98, 3) < excess(0.0, 3) < 4


def test_a_mean_of_many_windows_has_little_of_the_skewness_of_one() -> None:
    skewed, z, rows = Tails(np.full(1, 3.0), np.zeros(1), np.full(3, 100.0)), np.full((1, 3), 3.0), np.zeros(1, np.intp)

    def score(before: float, after: float, repeated: float = 0.0) -> float:
        found = skewed.normal(z, rows, np.full((1, 3), repeated), np.full(3, before), np.full(3, after))
        return float(found[0, 2])

    assert score(10.0, 10.0) == pytest.approx(3.0)  # a difference of alike means is symmetric
    assert score(50.0, 1.0) < 2.7 < 3.3 < score(1.0, 50.0)
    assert score(50.0, 1.0, 0.99) == pytest.approx(3.0, abs=0.02)  # as noise goes, as much comes
