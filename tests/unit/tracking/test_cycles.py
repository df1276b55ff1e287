"""Cycles that are no sine: weekends that differ from other days, in any part of the week, and what is none."""

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.tracking.cycles import cycle_of

Floats = npt.NDArray[np.float64]

DAYS = np.arange(70)
SHIFTS = np.array([-1.0, -0.6, 0.2, 0.2, 0.6, 0.6])[:, None]


def found(values: Floats, calendar: int | None = None) -> tuple[float | None, int]:
    return cycle_of(values, np.ones_like(values), np.ones(values.shape[1], np.bool_), calendar)


@pytest.mark.parametrize("shape", [(0, 0, 0, 0, 0, 1, 1), (0, 1, 0, 0, 1, 0, 0), (1, 0, 1, 0, 1, 0, 0)])
def test_a_week_is_found_whatever_its_days_are(shape: tuple[int, ...]) -> None:
    """In the second the largest wave is the second one, in the third the third."""
    noise = np.random.default_rng(1).normal(size=(6, 70))
    assert found(noise + 6 * SHIFTS * np.array(shape)[DAYS % 7]) == (7.0, 3)


def test_a_sine_has_one_wave() -> None:
    noise = np.random.default_rng(2).normal(size=(6, 70))
    period, waves = found(noise + 4 * np.sin(2 * np.pi * DAYS / 10))
    assert waves == 1
    assert period == pytest.approx(10, abs=0.5)


def test_the_calendar_shows_what_no_peak_does() -> None:
    noise = np.random.default_rng(3).normal(size=(6, 70))
    faint = noise + SHIFTS * (DAYS % 7 > 4)
    assert found(faint) == (None, 1)
    assert found(faint, 7) == (7.0, 3)
    assert found(noise, 7) == (None, 1)
    month = 6 * SHIFTS * np.sin(2 * np.pi * DAYS / 10)  # another cycle than the calendar's stays
    assert found(noise + month + SHIFTS * (DAYS % 7 > 4), 7)[0] == pytest.approx(10, abs=0.5)


def test_a_false_week_is_as_rare_as_is_said() -> None:
    """One in a hundred: 8 or more of 200 have probability .001."""
    rng = np.random.default_rng(4)
    assert sum(found(rng.normal(size=(6, 70)), 7)[0] is not None for _ in range(200)) < 8


def test_weekends_are_tracked_and_covered() -> None:
    """As sines of one period they were smoothed into the days beside them: bands covered 54 %, weekends 35 %."""
    rng = np.random.default_rng(5)
    survey = dn.krr(symbols=6, epsilon=2)
    base = np.array([0.3, 0.2, 0.18, 0.14, 0.1, 0.08])
    truth = base + np.where(DAYS[:, None] % 7 > 4, 0.07 * SHIFTS.ravel(), 0.0)
    truth /= truth.sum(axis=1, keepdims=True)
    days = {f"{np.datetime64('2026-01-05') + day}": dn.simulate(survey, truth[day], n=2000, rng=rng) for day in DAYS}
    tracked = dn.track(days)
    limits = np.array([window.intervals() for window in tracked])
    assert ((limits[..., 0] <= truth) & (truth <= limits[..., 1])).mean() > 0.85
    error = ((np.array([window.probabilities for window in tracked]) - truth) ** 2).sum()
    alone = ((np.array([dn.decode(day).probabilities for day in days.values()]) - truth) ** 2).sum()
    assert error < 0.2 * alone  # seven numbers of seventy are unknown; .44 with one sine
