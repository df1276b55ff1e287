"""Cells with unlisted answers in them: the law of the residuals, and the shares that are estimated by it."""

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.decoders import ScreenedEstimate
from deniable.decoders.limits import SkewedLimits
from deniable.decoders.robust import RobustFit
from deniable.decoders.selection import JudgedLimits, SelectedLimits
from deniable.decoders.spikes import CellLevels, SpikeLaw, width_of

SEED = bytes(range(16))
NAMES = tuple(range(5000))
Floats = npt.NDArray[np.float64]


def residuals(spikes: float, place: float = 30.0, cohorts: int = 64) -> Floats:
    """Normal noise of variance one, and in some of the cells a spike."""
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(cohorts, 64))
    return np.asarray(noise + np.where(rng.random(noise.shape) < spikes, place, 0.0))


def test_scores_and_information_are_derivatives() -> None:
    variances = np.linspace(0.8, 3.0, 4096).reshape(64, 64)
    x = residuals(0.0) * np.sqrt(variances) + (residuals(0.2) - residuals(0.0))
    cells = CellLevels.of(variances)
    law, rows = SpikeLaw.of(x, cells), cells.rows
    inside = np.abs(x) < 2.0
    step = 0.25
    slope = (law.log_density(x - step, rows) - law.log_density(x + step, rows)) / (2 * step)
    assert np.abs(slope - law.scores(x, rows))[inside].max() < 0.05
    bend = (law.scores(x + step, rows) - law.scores(x - step, rows)) / (2 * step)
    assert np.abs(bend - law.information(x, rows))[inside].max() < 0.05
    # What a cell tells is the mean square of its score, and on average how fast that grows.
    assert law.expected(rows).mean() == pytest.approx(law.information(x, rows).mean(), rel=0.1)
    assert 0.7 < (law.scores(x, rows) ** 2).mean() / law.information(x, rows).mean() < 1.1


def test_a_cell_under_a_spike_hardly_counts() -> None:
    x = residuals(0.3)
    cells = CellLevels.of(np.ones(x.shape))
    law = SpikeLaw.of(x, cells)
    assert law.information(x, cells.rows).mean() > 100 / x.var()
    assert width_of(x) < 3 < x.std()
    clean = residuals(0.0)
    plain = SpikeLaw.of(clean, cells).information(clean, cells.rows).mean()
    assert 0.8 < plain < 1.1  # without spikes nothing is gained over the mean square


def test_each_half_of_the_cohorts_is_judged_by_the_other() -> None:
    x = residuals(0.0)
    x[::2, :8] += 30.0
    cells = CellLevels.of(np.ones(x.shape))
    law = SpikeLaw.of(x, cells)
    there = np.full(x.shape, 30.0)
    known = law.log_density(there, cells.rows)
    assert known[1::2].min() > known[::2].max() + 3


def test_detail_beyond_the_blur_is_not_told_apart() -> None:
    x = residuals(0.3)
    cells = CellLevels.of(np.ones(x.shape))
    blurred = SpikeLaw.of(x, cells, blur=40.0)
    assert blurred.information(x, cells.rows).mean() < 2 / x.var()


def test_levels_of_variance_are_few() -> None:
    wide = CellLevels.of(np.geomspace(1e-9, 1.0, 4096).reshape(64, 64))
    assert len(wide.levels) <= 64
    assert CellLevels.of(np.full((2, 2), 0.5)).levels == pytest.approx([0.5])
    assert wide.rows.max() < 2 * len(wide.levels)


def spiked(
    shares: Floats, unlisted: Floats, *, cohorts: int = 64, cells: int = 64, empty: int = 0, epsilon: float = 4.0
) -> ScreenedEstimate:
    survey = dn.orr(epsilon=epsilon, cells=cells, cohorts=cohorts, seed=SEED)
    p = np.concatenate([shares, unlisted])
    names = [*NAMES[: len(shares)], *(f"unlisted {i}" for i in range(len(unlisted)))]
    tally = dn.simulate(survey, p / p.sum(), 10**7, np.random.default_rng(2), symbols=names)
    counts, reports = tally.counts.copy(), tally.reports.copy()
    counts[:empty], reports[:empty] = 0, 0
    found = dn.decode(dn.Tally(survey, counts, reports), candidates=NAMES, decoder=dn.Screening())
    assert isinstance(found, ScreenedEstimate)
    return found


def by_least_squares(found: ScreenedEstimate) -> bool:
    """Whether least squares had the last word: its limits know about unlisted answers, the others about spikes."""
    return found.found.limits.plain.collisions is not None


@pytest.mark.parametrize("empty", [0, 9])
def test_shares_are_far_nearer_than_by_least_squares(empty: int) -> None:
    shares = np.array([0.1, 0.05, 0.01])
    found = spiked(shares, np.append(0.2, np.full(800, 0.64 / 800)), cohorts=73, empty=empty)
    assert not by_least_squares(found)
    assert set(range(3)) == set(found.kept.tolist())
    errors = found.standard_errors[:3]
    assert (np.abs(found.raw[:3] - shares) < 5 * errors).all()
    assert found.joint is not None
    assert (errors < found.joint.standard_errors[:3] / 4).all()
    low, high = found.intervals(1 - 1e-6)[:3].T
    assert ((low < shares) & (shares < high)).all()
    rest = found.unallocated
    assert rest is not None
    assert abs(rest.raw - 0.84) < 6 * rest.standard_error
    assert found.probabilities.sum() + rest.value == pytest.approx(1)


@pytest.mark.slow
def test_candidates_hidden_by_unlisted_answers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By least squares a few heavy ones stand out; beside the spikes all of them do."""
    shares, unlisted = 0.6 * dn.lab.zipf(30, 1), 0.4 * dn.lab.zipf(8, 1)
    found = spiked(shares, unlisted)
    assert set(range(30)) <= set(found.kept.tolist())
    monkeypatch.setattr(RobustFit, "suits", lambda tally: False)
    plain = spiked(shares, unlisted)
    assert by_least_squares(plain)
    assert len(plain.kept) < 15
    assert np.abs(found.probabilities[:30] - shares).sum() < np.abs(plain.probabilities[:30] - shares).sum() / 5


def test_where_nothing_is_gained_it_is_left_to_least_squares() -> None:
    found = spiked(dn.lab.zipf(10, 1), np.zeros(0), epsilon=1.0)
    assert by_least_squares(found)
    assert set(found.kept.tolist()) == set(range(10))


@pytest.mark.parametrize(
    ("cohorts", "cells", "n", "suits"),
    [(64, 16, 10**6, True), (23, 64, 10**6, False), (64, 15, 10**6, False), (64, 64, 65_535, False)],
)
def test_a_law_needs_cohorts_cells_and_reports(cohorts: int, cells: int, n: int, suits: bool) -> None:
    survey = dn.orr(epsilon=4, cells=cells, cohorts=cohorts, seed=SEED)
    tally = dn.simulate(survey, [1.0], n, np.random.default_rng(0), symbols=["a"])
    assert RobustFit.suits(tally) == suits


def test_p_values_are_those_of_the_test() -> None:
    one, none = np.ones(3), np.zeros(3)
    plain = SkewedLimits(np.array([2.0, 6.0, -1.0]), one, none, none)
    judged = JudgedLimits(plain, np.array([0.2, 1e-8, 1.0]), np.array([5.0, 5.3, np.inf]))
    assert judged.above_zero().tolist() == [0.2, 1e-8, 1.0]
    assert not judged.exact
    np.testing.assert_array_equal(judged.between(0.05), plain.between(0.05))
    assert SelectedLimits(judged).above_zero()[1] == 1e-8
    # Just beyond what it takes to be kept the lower limit is far below the plain one.
    assert SelectedLimits(judged).between(0.05)[1, 0] < plain.between(0.05)[1, 0] - 1
