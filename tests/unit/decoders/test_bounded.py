"""Intervals of shares in [0, 1]: they cover what they say at every share, the ends included, and are never empty."""

import numpy as np
import numpy.typing as npt
import pytest

from deniable.decoders.bounded import unit_limits

Z = 1.959963984540054  # the normal quantile of 97.5 %


def limits(centre: npt.NDArray[np.float64], error: float) -> npt.NDArray[np.float64]:
    return unit_limits(centre, centre[:, None] + Z * error * np.array([-1.0, 1.0]), 0.05)


@pytest.mark.parametrize("error", [0.02, 0.2, 0.8])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.97, 1.0])
def test_they_cover_what_they_say(error: float, share: float) -> None:
    """By integration over the normal law of the estimate on a fine grid, not by chance."""
    x = share + error * np.linspace(-6, 6, 4001)
    mass = np.exp(-0.5 * ((x - share) / error) ** 2)
    found = limits(x, error)
    inside = (found[:, 0] <= share + 1e-8) & (share <= found[:, 1] + 1e-8)
    assert (mass * inside).sum() / mass.sum() == pytest.approx(0.95, abs=3e-3)
    assert (found >= 0).all()
    assert (found <= 1).all()
    assert (found[:, 1] > found[:, 0]).all(), "no estimate leaves nothing"


def test_cutting_covers_too_often_and_may_leave_nothing() -> None:
    """What is done instead; the twin that must fail."""
    x = 0.02 * np.linspace(-6, 6, 4001)
    mass = np.exp(-0.5 * (x / 0.02) ** 2)
    cut = np.clip(x[:, None] + Z * 0.02 * np.array([-1.0, 1.0]), 0.0, 1.0)
    inside = cut[:, 0] <= 0
    assert (mass * inside).sum() / mass.sum() == pytest.approx(0.975, abs=3e-3)
    assert (cut[:, 1] <= cut[:, 0]).any()


def test_far_from_the_ends_they_are_the_plain_ones_and_shares_and_what_is_left_agree() -> None:
    plain = np.array([[0.41, 0.57]])
    assert unit_limits(np.array([0.5]), plain, 0.05) == pytest.approx(plain)
    x = np.linspace(-0.3, 1.3, 33)
    low, high = limits(x, 0.1).T
    other_low, other_high = limits(1 - x, 0.1).T
    assert low == pytest.approx(1 - other_high, abs=1e-7)
    assert high == pytest.approx(1 - other_low, abs=1e-7)
    assert (np.diff(low) >= -1e-8).all()
    assert (np.diff(high) >= -1e-8).all()


def test_what_is_known_without_error_is_only_cut() -> None:
    assert unit_limits(np.array([1.0]), np.array([[1.0, 1.0]]), 0.05).tolist() == [[1.0, 1.0]]
    assert unit_limits(np.array([0.5]), np.array([[-np.inf, np.inf]]), 0.05).tolist() == [[0.0, 1.0]]
