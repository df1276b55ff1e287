"""State-space models of many symbols at once: shares that move, seen through noise that windows partly share.

In units of the standard deviation of a window's noise, with windows t = 0 .. T - 1 and y_t the unbiased estimate of a
symbol's share in window t:

    y_t     = level_t + a_t u_t + fresh_t        fresh_t ~ N(0, f_t)
    level_t = level_{t-1} + slope_{t-1} + w_t    w_t ~ N(0, q), or anything at all where the level jumps
    slope_t = slope_{t-1} + v_t                  v_t ~ N(0, q')
    u_t     = c_t u_{t-1} + e_t                  u_t ~ N(0, 1)

`a_t u_t` is the permanent part of the noise: drawn once a device, so windows share it as far as they share devices. It
is part of the state, or bands would be too narrow by the number of windows that were averaged. The smoother is de
Jong's. Its auxiliary residual is the t-statistic of a step of the level at each window (de Jong and Penzer, 1998),
which is what tests of change need.

Covariances do not depend on what was seen. In these units they are the same for all symbols whose noise is alike and
that do not jump, so they are computed once for all of them: a few sums are left for each symbol, window and model.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["UNKNOWN", "Models", "Noise", "Pass", "run"]

Floats = npt.NDArray[np.float64]

UNKNOWN = 1e8  # variance of a level that nothing is known of, in those of a window's noise
_LEVEL, _SLOPE, _SHARED = 0, 1, 2


@dataclass(frozen=True)
class Noise:
    """The noise of every window, in units of a typical one.

    Attributes
    ----------
    fresh
        Variances of the part that is drawn anew in each window, shape (1, T), or (S, T) where symbols differ.
    shared
        Standard deviations of the part that windows share, of the same shape.
    correlation
        Correlation of the shared part with that of the window before, shape (T,); the first is not used.
    there
        Which windows have reports, shape (T,).
    """

    fresh: Floats
    shared: Floats
    correlation: Floats
    there: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Models:
    """H ways to move: variances of a step of the level, of a step of the slope, and of the first slope, shape (H,)."""

    level: Floats
    slope: Floats
    start: Floats


@dataclass(frozen=True)
class Pass:
    """What one pass forwards and one backwards tell, of S symbols under H models.

    Attributes
    ----------
    evidence
        The logarithm of the likelihood, shape (S, H).
    filtered, smoothed
        The level of each window given the windows up to it, and given all of them, shape (S, H, T).
    filtered_variance, smoothed_variance
        Their variances, shape (S or 1, H, T).
    steps
        The t-statistic of a step of the level between window t - 1 and t, shape (S, H, T); zero at the first window.
    step_errors
        The standard error of the size of that step, which is `steps * step_errors`, shape (S or 1, H, T).
    innovations
        What each window was off its prediction, in standard deviations of that; zero where it is missing. They are
        independent and standard normal where a model holds, whether or not windows share noise.
    """

    evidence: Floats
    filtered: Floats
    filtered_variance: Floats
    smoothed: Floats
    smoothed_variance: Floats
    steps: Floats
    step_errors: Floats
    innovations: Floats


def run(values: Floats, noise: Noise, models: Models, jumps: npt.NDArray[np.bool_] | None = None) -> Pass:
    """Filter and smooth S symbols over T windows under H models.

    Parameters
    ----------
    values
        Unbiased estimates in units of their noise, shape (S, T).
    noise
        The noise of the windows.
    models
        How levels move.
    jumps
        Windows before which the level of a symbol may have gone anywhere, shape (S, T).

    Returns
    -------
    Pass
        Evidence, filtered and smoothed levels, and the statistics of steps.

    Examples
    --------
    >>> import numpy as np
    >>> still = Models(*(np.zeros(1) for _ in range(3)))
    >>> noise = Noise(np.ones((1, 4)), np.zeros((1, 4)), np.zeros(4), np.full(4, True))
    >>> found = run(np.array([[1.0, 3.0, 1.0, 3.0]]), noise, still)
    >>> found.smoothed.round(3).tolist(), found.smoothed_variance.round(3).tolist()
    ([[[2.0, 2.0, 2.0, 2.0]]], [[[0.25, 0.25, 0.25, 0.25]]])
    """
    symbols, windows = values.shape
    size, laws = len(models.level), len(noise.fresh) if jumps is None else symbols
    state = np.zeros((symbols, size, 3))
    cover = np.zeros((laws, size, 3, 3))
    cover[..., _LEVEL, _LEVEL] = UNKNOWN
    cover[..., _SLOPE, _SLOPE] = models.start
    cover[..., _SHARED, _SHARED] = 1.0
    states, covers = np.empty((windows, *state.shape)), np.empty((windows, *cover.shape))
    gains, scales = np.zeros((windows, laws, size, 3)), np.ones((windows, laws, size))
    errors, filtered = np.zeros((windows, symbols, size)), np.empty((windows, symbols, size))
    filtered_variance = np.empty((windows, laws, size))
    move = np.eye(3)
    move[_LEVEL, _SLOPE] = 1.0
    for t in range(windows):
        if t:
            move[_SHARED, _SHARED] = noise.correlation[t]
            state = state @ move.T
            cover = move @ cover @ move.T
            cover[..., _LEVEL, _LEVEL] += models.level
            cover[..., _SLOPE, _SLOPE] += models.slope
            cover[..., _SHARED, _SHARED] += 1 - noise.correlation[t] ** 2
            if jumps is not None:
                cover[..., _LEVEL, _LEVEL] += UNKNOWN * jumps[:, t, None]
        states[t], covers[t] = state, cover
        if noise.there[t]:
            # The observation looks at the level and at the shared noise.
            a = noise.shared[:, t, None]
            seen = cover[..., _LEVEL] + a[..., None] * cover[..., _SHARED]
            scales[t] = seen[..., _LEVEL] + a * seen[..., _SHARED] + noise.fresh[:, t, None]
            gains[t] = seen / scales[t][..., None]
            errors[t] = values[:, t, None] - state[..., _LEVEL] - a * state[..., _SHARED]
            state = state + gains[t] * errors[t][..., None]
            cover = cover - gains[t][..., :, None] * seen[..., None, :]
        filtered[t], filtered_variance[t] = state[..., _LEVEL], cover[..., _LEVEL, _LEVEL]
    evidence = -0.5 * (errors**2 / scales + np.log(scales)).sum(axis=0)
    smoothed, steps = np.empty_like(filtered), np.empty_like(filtered)
    smoothed_variance, step_errors = np.empty_like(filtered_variance), np.empty_like(filtered_variance)
    pull, weight = np.zeros((symbols, size, 3)), np.zeros((laws, size, 3, 3))
    for t in reversed(range(windows)):
        if t + 1 < windows:
            move[_SHARED, _SHARED] = noise.correlation[t + 1]
            pull = pull @ move
            weight = move.T @ weight @ move
        if noise.there[t]:
            look = np.zeros((len(noise.shared), 1, 3))
            look[..., _LEVEL], look[..., _SHARED] = 1.0, noise.shared[:, t, None]
            # What was about the state after this window was seen is now about the state before it was.
            onto = (gains[t] * pull).sum(axis=-1)
            pull = pull + look * (errors[t] / scales[t] - onto)[..., None]
            kept = np.eye(3) - gains[t][..., :, None] * look[..., None, :]
            weight = (
                look[..., :, None] * look[..., None, :] / scales[t][..., None, None]
                + np.swapaxes(kept, -1, -2) @ weight @ kept
            )
        column = covers[t][..., _LEVEL]
        smoothed[t] = states[t][..., _LEVEL] + (column * pull).sum(axis=-1)
        across = np.einsum("khi,khij,khj->kh", column, weight, column)
        smoothed_variance[t] = np.maximum(column[..., _LEVEL] - across, 0.0)
        step_errors[t] = 1 / np.sqrt(np.maximum(weight[..., _LEVEL, _LEVEL], 1e-300))
        steps[t] = pull[..., _LEVEL] * step_errors[t]
    steps[0] = 0.0
    found = (filtered, filtered_variance, smoothed, smoothed_variance, steps, step_errors, errors / np.sqrt(scales))
    return Pass(evidence, *(np.moveaxis(part, 0, -1) for part in found))
