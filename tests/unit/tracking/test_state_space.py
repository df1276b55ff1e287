"""The state space against dense Gaussian algebra: evidence, levels, variances and the statistics of steps."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from deniable.tracking.averaging import Series, averaged
from deniable.tracking.sharing import Sharing
from deniable.tracking.state_space import UNKNOWN, Models, Noise, run

Floats = npt.NDArray[np.float64]

T = 12
PERIOD = 5.0
MODELS = Models(
    level=np.array([0.0, 0.1, 1.0, 0.0]),
    slope=np.array([0.0, 0.01, 0.0, 0.0]),
    start=np.array([0.0, 0.1, 0.0, 0.0]),
    damping=np.array([1.0, 0.7, 1.0, 1.0]),
    swing=np.array([0.0, 0.0, 0.0, 2.0]),
    wander=np.array([0.0, 0.0, 0.0, 0.1]),
)


APART = np.array([0.0, 0.5, 0.0, 1.5])  # of the fourth and fifth window of each cycle from the others


def dense_level(model: int, jumps: npt.NDArray[np.bool_], waves: int, apart: Floats) -> Floats:
    """The covariance of the shares of all windows."""
    t = np.arange(T)
    walk = np.tril(np.ones((T, T)))
    walk[:, 0] = 0
    sums = np.tril(np.ones((T, T)), -1)
    d = MODELS.damping[model]
    left = np.where(t[:, None] >= t, d ** np.maximum(t[:, None] - t, 0), 0.0)  # what is left of a push to the slope
    slopes = left @ np.diag(np.append(MODELS.start[model], np.full(T - 1, MODELS.slope[model]))) @ left.T
    cover = UNKNOWN + MODELS.level[model] * walk @ walk.T + sums @ slopes @ sums.T
    turns = 2 * np.pi * np.subtract.outer(t, t) / PERIOD
    cycles = sum(np.cos(wave * turns) for wave in range(1, waves + 1))
    cover += (MODELS.swing[model] + MODELS.wander[model] * np.minimum.outer(t, t)) * cycles
    weekend = np.isin(t % PERIOD, [3, 4]) - 2 / PERIOD
    cover += apart[model] * np.outer(weekend, weekend)
    for place in np.flatnonzero(jumps):
        after = (t >= place).astype(float)
        cover += UNKNOWN * np.outer(after, after)
    return np.asarray(cover)


@pytest.mark.parametrize("returns", [0.0, 0.3], ids=["no answer again", "answers again"])
@pytest.mark.parametrize("jumping", [False, True], ids=["steady", "jumps"])
@pytest.mark.parametrize("alike", [True, False], ids=["alike", "apart"])
@pytest.mark.parametrize(
    ("waves", "weekends"), [(1, False), (2, False), (2, True)], ids=["a sine", "two sines", "weekends"]
)
def test_it_is_what_dense_matrices_give(waves: int, weekends: bool, jumping: bool, alike: bool, returns: float) -> None:
    rng = np.random.default_rng(3)
    noise = rng.uniform(0.5, 1.5, (1 if alike else 3, T))
    fresh, shared = 0.4 * noise, np.sqrt(0.6 * noise)
    there = np.arange(T) != 4
    values = rng.normal(3, 2, (3, T))
    jumps = np.zeros((3, T), np.bool_)
    jumps[1, 6] = True
    models, apart = replace(MODELS, period=PERIOD, waves=waves), np.zeros(4)
    if weekends:
        models, apart = replace(models, apart=APART, weekend=3), APART
    sharing = Sharing(np.full(T, 0.8), np.full(T, 0.9), returns)
    found = run(values, Noise(fresh, shared, sharing, there), models, jumps if jumping else None)
    lags = np.abs(np.subtract.outer(np.arange(T), np.arange(T)))
    common = (1 - returns) * 0.8**lags + returns * 0.9**lags
    for symbol in range(3):
        row = 0 if alike else symbol
        errors = np.diag(fresh[row]) + np.outer(shared[row], shared[row]) * common
        for model in range(4):
            level = dense_level(model, jumps[symbol] if jumping else np.zeros(T, np.bool_), waves, apart)
            whole = (level + errors)[np.ix_(there, there)]
            weights = np.linalg.solve(whole, values[symbol, there])
            law = min(symbol, len(found.smoothed_variance) - 1)
            assert np.allclose(found.smoothed[symbol, model], level[:, there] @ weights, atol=1e-5)
            variance = level - level[:, there] @ np.linalg.solve(whole, level[there])
            assert np.allclose(found.smoothed_variance[law, model], np.diag(variance), atol=1e-5)
            told = -0.5 * (values[symbol, there] @ weights + np.linalg.slogdet(whole)[1])
            assert found.evidence[symbol, model] == pytest.approx(told, abs=1e-4)
            for place in (3, 7):
                step = (np.arange(T) >= place).astype(float)[there]
                precision = step @ np.linalg.solve(whole, step)
                assert found.steps[symbol, model, place] == pytest.approx(step @ weights / precision**0.5, abs=1e-4)
                assert found.step_errors[law, model, place] == pytest.approx(precision**-0.5, abs=1e-4)


def test_the_last_window_is_known_the_same_forwards_and_backwards() -> None:
    rng = np.random.default_rng(4)
    noise = Noise(np.ones((1, T)), np.zeros((1, T)), Sharing.none(T), np.full(T, True))
    found = run(rng.normal(size=(2, T)), noise, MODELS)
    assert np.allclose(found.filtered[..., -1], found.smoothed[..., -1])
    assert np.allclose(found.filtered_variance[..., -1], found.smoothed_variance[..., -1])


def test_what_stands_still_is_averaged_and_what_jumps_is_followed() -> None:
    rng = np.random.default_rng(5)
    windows, noise = 100, 0.01
    truth = np.full((20, windows), 0.05)
    truth[0, 50:] = 0.15
    seen = truth + rng.normal(0, noise, truth.shape)
    series = Series(seen, np.full(truth.shape, noise**2), np.zeros(20), np.full(windows, True))
    found = averaged(series, Sharing.none(windows))
    errors = ((found.smoothed - truth) ** 2).mean(axis=1) / noise**2
    assert errors[1:].mean() < 0.03  # 0.01 is the average of a hundred windows
    assert errors[0] < 0.1
    assert abs(found.filtered[0, 51] - 0.15) < 3 * noise


def test_a_cycle_is_found_and_followed() -> None:
    rng = np.random.default_rng(7)
    windows, noise = 84, 0.01
    truth = 0.1 + 0.02 * np.sin(2 * np.pi * (np.arange(windows) / 7 + rng.random((10, 1))))
    seen = truth + rng.normal(0, noise, truth.shape)
    series = Series(seen, np.full(truth.shape, noise**2), np.zeros(10), np.full(windows, True))
    found = averaged(series, Sharing.none(windows))
    assert ((found.smoothed - truth) ** 2).mean() < 0.1 * noise**2  # 3 of 84 numbers are unknown: 0.036
