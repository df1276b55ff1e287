"""Many short state-space models at once: a share that moves, seen through noise of which a part is shared by windows.

For one symbol, with windows t = 0 .. T - 1 and y_t the unbiased estimate of window t:

    y_t     = level_t + a_t u_t + fresh_t        fresh_t ~ N(0, f_t)
    level_t = level_{t-1} + slope_{t-1} + w_t    w_t ~ N(0, q + jump_t)
    slope_t = slope_{t-1} + v_t                  v_t ~ N(0, q')
    u_t     = c_t u_{t-1} + e_t                  u_t ~ N(0, 1)

`a_t u_t` is the permanent part of the noise: drawn once a device, so windows share it as far as they share devices
(SCIENCE: Cov(y_s, y_t) = o_st V_perm / (n_s n_t)). It is part of the state, or bands would be too narrow by the number
of windows that were averaged. The smoother is de Jong's: its auxiliary residual is the t-statistic of a step of the
level at each window (de Jong and Penzer, 1998), which is what tests of change need.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Model", "Pass", "run"]

Floats = npt.NDArray[np.float64]

_INITIAL_VARIANCE = 1.0  # of a share before anything was seen: wider than any share can be
_LEVEL, _SLOPE, _SHARED = 0, 1, 2


@dataclass(frozen=True)
class Model:
    """One model for each of B series: how the level moves, and how windows share noise.

    Parameters
    ----------
    level
        Variance of a step of the level between two windows, shape (B,).
    slope
        Variance of a step of the slope, shape (B,).
    start
        Variance of the first slope, shape (B,).
    correlation
        Correlation of the shared noise of each window with that of the window before, shape (T,).
    """

    level: Floats
    slope: Floats
    start: Floats
    correlation: Floats


@dataclass(frozen=True)
class Pass:
    """What one pass forwards and one backwards tell.

    Attributes
    ----------
    evidence
        The logarithm of the likelihood of each series, shape (B,).
    filtered, filtered_variance
        The level of each window given the windows up to it, shape (B, T).
    smoothed, smoothed_variance
        The level of each window given all of them, shape (B, T).
    steps
        The t-statistic of a step of the level between window t - 1 and t, shape (B, T); zero at the first window.
    step_errors
        The standard error of the size of that step, which is `steps * step_errors`.
    innovations
        What each window was off its prediction, in standard deviations of that, shape (B, T); zero where it is missing.
        They are independent and standard normal where the model holds, shared noise or not.
    """

    evidence: Floats
    filtered: Floats
    filtered_variance: Floats
    smoothed: Floats
    smoothed_variance: Floats
    steps: Floats
    step_errors: Floats
    innovations: Floats


def run(values: Floats, fresh: Floats, shared: Floats, model: Model, jumps: Floats | None = None) -> Pass:
    """Filter and smooth B series of T windows.

    Parameters
    ----------
    values
        Unbiased estimates, shape (B, T); NaN where a window is missing.
    fresh
        Variances of the part of the noise that is drawn anew in each window, shape (B, T).
    shared
        Standard deviations of the part that windows share, shape (B, T).
    model
        How levels move.
    jumps
        Variances that are added to the step of the level before a window, shape (B, T).

    Returns
    -------
    Pass
        Evidence, filtered and smoothed levels, and the statistics of steps.

    Examples
    --------
    >>> import numpy as np
    >>> still = Model(*(np.zeros(1) for _ in range(3)), np.zeros(4))
    >>> found = run(np.array([[0.1, 0.3, 0.1, 0.3]]), np.full((1, 4), 0.01), np.zeros((1, 4)), still)
    >>> found.smoothed.round(3).tolist(), found.smoothed_variance.round(4).tolist()
    ([[0.2, 0.2, 0.2, 0.2]], [[0.0025, 0.0025, 0.0025, 0.0025]])
    """
    series, windows = values.shape
    there = np.isfinite(values)
    y = np.where(there, values, 0.0)
    state = np.zeros((series, 3))
    cover = np.zeros((series, 3, 3))
    cover[:, _LEVEL, _LEVEL] = _INITIAL_VARIANCE
    cover[:, _SLOPE, _SLOPE] = model.start
    cover[:, _SHARED, _SHARED] = 1.0
    states, covers = np.empty((windows, series, 3)), np.empty((windows, series, 3, 3))
    gains = np.empty((windows, series, 3))
    errors, scales = np.empty((windows, series)), np.empty((windows, series))
    filtered, spread = np.empty((windows, series)), np.empty((windows, series))
    evidence = np.zeros(series)
    move = np.eye(3)
    move[_LEVEL, _SLOPE] = 1.0
    for t in range(windows):
        if t:
            move[_SHARED, _SHARED] = model.correlation[t]
            state = state @ move.T
            cover = move @ cover @ move.T
            cover[:, _LEVEL, _LEVEL] += model.level + (0.0 if jumps is None else jumps[:, t])
            cover[:, _SLOPE, _SLOPE] += model.slope
            cover[:, _SHARED, _SHARED] += 1 - model.correlation[t] ** 2
        states[t], covers[t] = state, cover
        # The observation looks at the level and at the shared noise.
        gain = cover[:, :, _LEVEL] + shared[:, t, None] * cover[:, :, _SHARED]
        scale = gain[:, _LEVEL] + shared[:, t] * gain[:, _SHARED] + fresh[:, t]
        error = np.where(there[:, t], y[:, t] - state[:, _LEVEL] - shared[:, t] * state[:, _SHARED], 0.0)
        gain = np.where(there[:, t, None], gain / scale[:, None], 0.0)
        state = state + gain * error[:, None]
        cover = cover - gain[:, :, None] * (gain * scale[:, None])[:, None, :]
        gains[t], errors[t], scales[t] = gain, error, scale
        filtered[t], spread[t] = state[:, _LEVEL], cover[:, _LEVEL, _LEVEL]
        evidence -= np.where(there[:, t], 0.5 * (error**2 / scale + np.log(scale)), 0.0)
    smoothed, smoothed_spread, steps, step_errors = (np.empty((windows, series)) for _ in range(4))
    pull, weight = np.zeros((series, 3)), np.zeros((series, 3, 3))
    for t in reversed(range(windows)):
        if t + 1 < windows:
            move[_SHARED, _SHARED] = model.correlation[t + 1]
            pull = pull @ move
            weight = move.T @ weight @ move
        # pull and weight are about the state after window t was seen; now about the state before it was.
        look = np.zeros((series, 3))
        look[:, _LEVEL], look[:, _SHARED] = 1.0, shared[:, t]
        look *= there[:, t, None]
        kept = np.eye(3) - gains[t][:, :, None] * look[:, None, :]
        pull = look * (errors[t] / scales[t])[:, None] + np.einsum("bij,bi->bj", kept, pull)
        weight = look[:, :, None] * (look / scales[t][:, None])[:, None, :] + np.swapaxes(kept, 1, 2) @ weight @ kept
        column = covers[t][:, :, _LEVEL]
        smoothed[t] = states[t][:, _LEVEL] + np.einsum("bi,bi->b", column, pull)
        smoothed_spread[t] = column[:, _LEVEL] - np.einsum("bi,bij,bj->b", column, weight, column)
        step_errors[t] = 1 / np.sqrt(np.maximum(weight[:, _LEVEL, _LEVEL], 1e-300))
        steps[t] = pull[:, _LEVEL] * step_errors[t]
    steps[0] = 0.0
    return Pass(
        evidence,
        filtered.T,
        spread.T,
        smoothed.T,
        smoothed_spread.T,
        steps.T,
        step_errors.T,
        (errors / np.sqrt(scales)).T,
    )
