"""The law of drawn cells: against the binomial law, against all that can be drawn, and where p-values must be safe."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom, norm

from deniable.decoders.drawn import DrawnReach, drawn_z, judged, log_tail


@pytest.mark.parametrize(("cohorts", "cells", "draws"), [(40, 32, 1), (96, 48, 1), (3, 30, 1), (1, 30, 1), (12, 16, 2)])
def test_meetings_with_one_answer_are_binomial(cohorts: int, cells: int, draws: int) -> None:
    table = np.zeros((cohorts, cells))
    table[:, 5] = 0.25
    law = binom(cohorts * draws, 1 / cells)
    for meetings in range(1, cohorts * draws + 1):
        if law.sf(meetings - 1) > 1e-11:
            found = np.exp(log_tail(table, 0.25 * meetings, draws))
            assert law.sf(meetings - 1) * 0.94 < found < law.sf(meetings - 1) * 1.01
    for tail in (0.3, 0.05, 0.001):
        up, down = DrawnReach.of(table[None], draws).reach(np.array([tail]))
        mean = cohorts * draws / cells
        assert -1e-6 < up[0] / 0.25 + mean - law.isf(tail) < 0.4
        assert -1e-6 < law.ppf(tail) - (mean - down[0] / 0.25) < 0.4


def all_sums(table: np.ndarray) -> np.ndarray:
    return np.array([sum(row) for row in itertools.product(*table)])


def test_p_values_are_never_too_small() -> None:
    """Every way to draw four cells of six, whatever is in them: a p-value is at most u in a share u of them at most."""
    rng = np.random.default_rng(3)
    tables = [rng.normal(size=(4, 6)), rng.random((4, 6)) ** 9, np.eye(4, 6) + 0.01 * rng.normal(size=(4, 6))]
    for table in tables:
        sums = all_sums(table)
        p = np.array([np.exp(judged(table, float(x), 1, 0.01)[0]) for x in sums])
        for u in np.unique(p[p < 1]):
            assert (p <= u).mean() <= u + 1e-9
        assert p.min() < 0.02  # and they are no idle bound


def test_sums_need_as_much_as_is_exceeded_that_rarely() -> None:
    table = np.random.default_rng(1).normal(size=(64, 32))
    spread = float(np.sqrt(table.var(axis=1).sum()))
    for chance in (1e-3, 1e-6):
        needed = judged(table, 4 * spread, 1, chance)[1]
        assert (needed - table.mean(axis=1).sum()) / spread == pytest.approx(norm.isf(chance), rel=0.03)


def test_scores_far_out_are_those_of_the_law() -> None:
    table = np.zeros((64, 32))
    table[:, 0] = 1.0
    meetings = np.array([0.0, 2.0, 8.0, 12.0, 20.0])
    law = norm.isf(binom(64, 1 / 32).sf(meetings - 0.5))
    z = drawn_z(table, meetings)
    assert z[2:] == pytest.approx(law[2:], rel=0.06)
    assert (np.diff(z) > 0).all()
    assert drawn_z(table, meetings)[4] < (20 - 2) / np.sqrt(2) / 1.3  # a normal law would have it at 12.9


def test_a_table_without_spread_says_nothing() -> None:
    table = np.full((5, 4), 0.25)
    assert judged(table, 1.25, 1, 1e-3) == (0.0, np.inf)
    up, down = DrawnReach.of(table[None]).reach(np.array([0.01]))
    assert abs(up[0]) < 1e-9
    assert abs(down[0]) < 1e-9
    assert (drawn_z(table, np.array([1.25])) == 0).all()


def test_each_table_has_its_own_law() -> None:
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(7, 3, 20)) * np.arange(1, 8)[:, None, None]
    together = DrawnReach.of(tables)
    tail = np.full(7, 0.02)
    alone = [DrawnReach.of(table[None]).reach(tail[:1])[0][0] for table in tables]
    np.testing.assert_allclose(together.reach(tail)[0], alone)
    np.testing.assert_allclose(together.part(np.array([2, 4])).reach(tail[:2])[0], [alone[2], alone[4]])
