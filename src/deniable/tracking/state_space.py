"""State-space models of many symbols at once: shares that change, observed with noise that windows partly share.

In units of the standard deviation of a window's noise, with windows t = 0 .. T - 1 and y_t the unbiased estimate of a
symbol's share in window t:

    y_t     = share_t + a_t u_t + fresh_t        fresh_t ~ N(0, f_t)
    share_t = level_t + the sum of cycle_kt over k = 1 .. waves
    level_t = level_{t-1} + slope_{t-1} + w_t    w_t ~ N(0, q), or a diffuse prior where the level jumps
    slope_t = d slope_{t-1} + v_t                v_t ~ N(0, q'), 0 <= d <= 1
    cycle_kt turns by 2 pi k / period a window   with noise of variance q'' a window
    u_t     = c_t u_{t-1} + e_t                  u_t ~ N(0, 1)

`a_t u_t` is the permanent part of the noise: drawn once a device, so windows share it as far as they share devices
(`Sharing`; the sum of two such parts where devices may return to the cells of an earlier answer). It
is part of the state. Otherwise it would be averaged over windows like independent noise, and intervals would be too
narrow. The smoother is de Jong's. Its auxiliary residual is the t-statistic of a step of the level at each window (de
Jong and Penzer, 1998), which the tests of change use.

Covariances do not depend on the estimates. In these units they are the same for all symbols with equal noise and
without jumps, so they are computed once for all of them. Only means are computed for each symbol.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.tracking.sharing import Sharing

__all__ = ["UNKNOWN", "Models", "Noise", "Pass", "run"]

Floats = npt.NDArray[np.float64]

UNKNOWN = 1e8  # variance of the diffuse prior of a level, in units of the noise variance of a window
_LEVEL, _SLOPE, _CYCLE = range(3)  # positions in the state: two for each wave of a cycle, if any; then shared noise


@dataclass(frozen=True)
class Noise:
    """The noise of every window, in units of a typical one.

    Attributes
    ----------
    fresh
        Variances of the part that is drawn anew in each window, shape (1, T), or (S, T) where symbols differ.
    shared
        Standard deviations of the part that windows share, of the same shape.
    sharing
        How much of the shared part any two windows have in common.
    there
        Which windows have reports, shape (T,).
    """

    fresh: Floats
    shared: Floats
    sharing: Sharing
    there: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Models:
    """H models of change, by their variances.

    Attributes
    ----------
    level, slope
        Variances of a step of the level and of a step of the slope, shape (H,).
    start
        Variances of the first slope, shape (H,).
    damping
        The part of a slope that is left in the next window, shape (H,): 1 for a trend that goes on.
    swing, wander
        Variances of the first state of a cycle and of its steps, shape (H,); not used without a period.
    period
        Length of a cycle, in windows; None without cycles.
    waves
        Sines that a cycle consists of: 1 for a smooth one. Weekends that differ from all other days need three.
    apart
        Variances of what two windows in a row differ by from the others of a cycle, shape (H,); None without such.
    weekend
        The place of the first of these two in the cycle, counted from the first window.
    """

    level: Floats
    slope: Floats
    start: Floats
    damping: Floats
    swing: Floats
    wander: Floats
    period: float | None = None
    waves: int = 1
    apart: Floats | None = None
    weekend: int = 0

    @property
    def turning(self) -> range:
        """The positions of the cycle in the state."""
        return range(_CYCLE, _CYCLE + (0 if self.period is None else 2 * self.waves))

    def __getitem__(self, chosen: npt.NDArray[np.intp]) -> "Models":
        return Models(
            self.level[chosen],
            self.slope[chosen],
            self.start[chosen],
            self.damping[chosen],
            self.swing[chosen],
            self.wander[chosen],
            self.period,
            self.waves,
            None if self.apart is None else self.apart[chosen],
            self.weekend,
        )

    @classmethod
    def walks(cls, variances: Floats) -> "Models":
        """Random walks of the level with these variances, and nothing else that moves."""
        none = np.zeros_like(variances)
        return cls(variances, none, none, none + 1, none, none)


@dataclass(frozen=True)
class Pass:
    """The results of the Kalman filter and smoother for S symbols under H models.

    Attributes
    ----------
    evidence
        The logarithm of the likelihood, shape (S, H).
    filtered, smoothed
        The share of each window given the windows up to it, and given all of them, shape (S, H, T).
    filtered_variance, smoothed_variance
        Their variances, shape (S or 1, H, T).
    steps
        The t-statistic of a step of the level between window t - 1 and t, shape (S, H, T); zero at the first window.
    step_errors
        The standard error of the size of that step, which is `steps * step_errors`, shape (S or 1, H, T).
    innovations
        One-step prediction errors in units of their standard deviations; zero where a window is missing. Under a
        correct model they are independent and standard normal, also where windows share noise.
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
        The models.
    jumps
        Windows before which the level of a symbol jumps, shape (S, T).

    Returns
    -------
    Pass
        Evidence, filtered and smoothed levels, and the statistics of steps.

    Examples
    --------
    >>> import numpy as np
    >>> still = Models.walks(np.zeros(1))
    >>> noise = Noise(np.ones((1, 4)), np.zeros((1, 4)), Sharing.none(4), np.full(4, True))
    >>> found = run(np.array([[1.0, 3.0, 1.0, 3.0]]), noise, still)
    >>> found.smoothed.round(3).tolist(), found.smoothed_variance.round(3).tolist()
    ([[[2.0, 2.0, 2.0, 2.0]]], [[[0.25, 0.25, 0.25, 0.25]]])
    """
    symbols, windows = values.shape
    size, laws = len(models.level), len(noise.fresh) if jumps is None else symbols
    parts = noise.sharing.parts
    move, shown = _transition(models, len(parts))
    first = len(move) - len(parts)  # of the components of shared noise
    roots = np.sqrt([weight for weight, _ in parts])
    state = np.zeros((symbols, size, len(move)))
    cover = np.zeros((laws, size, *move.shape))
    for place in range(first, len(move)):
        cover[..., place, place] = 1.0
    cover[..., _LEVEL, _LEVEL] = UNKNOWN
    cover[..., _SLOPE, _SLOPE] = models.start
    for part in models.turning:
        cover[..., part, part] = models.swing
    if models.apart is not None:
        cover[..., _CYCLE:first, _CYCLE:first] += models.apart[:, None, None] * _weekend(models, move, shown)
    states, covers = np.empty((windows, *state.shape)), np.empty((windows, *cover.shape))
    gains, scales = np.zeros((windows, laws, size, len(move))), np.ones((windows, laws, size))
    errors, filtered = np.zeros((windows, symbols, size)), np.empty((windows, symbols, size))
    filtered_variance = np.empty((windows, laws, size))
    for t in range(windows):
        if t:
            for place, (_, steps) in enumerate(parts, first):
                move[place, place] = steps[t]
            state = state @ move.T
            state[..., _SLOPE] *= models.damping
            cover = move @ cover @ move.T
            cover[..., _SLOPE, :] *= models.damping[:, None]
            cover[..., :, _SLOPE] *= models.damping[:, None]
            for place, (_, steps) in enumerate(parts, first):
                cover[..., place, place] += 1 - steps[t] ** 2
            cover[..., _LEVEL, _LEVEL] += models.level
            cover[..., _SLOPE, _SLOPE] += models.slope
            for part in models.turning:
                cover[..., part, part] += models.wander
            if jumps is not None:
                cover[..., _LEVEL, _LEVEL] += UNKNOWN * jumps[:, t, None]
        states[t], covers[t] = state, cover
        if noise.there[t]:
            look = _look(shown, noise.shared[:, t], roots)
            seen = (cover @ look[..., None])[..., 0]
            scales[t] = (seen * look).sum(axis=-1) + noise.fresh[:, t, None]
            gains[t] = seen / scales[t][..., None]
            errors[t] = values[:, t, None] - (state * look).sum(axis=-1)
            state = state + gains[t] * errors[t][..., None]
            cover = cover - gains[t][..., :, None] * seen[..., None, :]
        filtered[t], filtered_variance[t] = state @ shown, shown @ cover @ shown
    evidence = -0.5 * (errors**2 / scales + np.log(scales)).sum(axis=0)
    smoothed, scores = np.empty_like(filtered), np.empty_like(filtered)
    smoothed_variance, step_errors = np.empty_like(filtered_variance), np.empty_like(filtered_variance)
    pull, weight = np.zeros_like(state), np.zeros_like(cover)
    for t in reversed(range(windows)):
        if t + 1 < windows:
            for place, (_, steps) in enumerate(parts, first):
                move[place, place] = steps[t + 1]
            pull[..., _SLOPE] *= models.damping
            pull = pull @ move
            weight[..., _SLOPE, :] *= models.damping[:, None]
            weight[..., :, _SLOPE] *= models.damping[:, None]
            weight = move.T @ weight @ move
        if noise.there[t]:
            look = _look(shown, noise.shared[:, t], roots)
            # The residual and its precision, carried from after the update of this window to before it.
            onto = (gains[t] * pull).sum(axis=-1)
            pull = pull + look * (errors[t] / scales[t] - onto)[..., None]
            kept = np.eye(len(move)) - gains[t][..., :, None] * look[..., None, :]
            weight = look[..., :, None] * look[..., None, :] / scales[t][..., None, None] + (
                np.swapaxes(kept, -1, -2) @ weight @ kept
            )
        column = covers[t] @ shown
        smoothed[t] = states[t] @ shown + (column * pull).sum(axis=-1)
        across = np.einsum("khi,khij,khj->kh", column, weight, column)
        smoothed_variance[t] = np.maximum(column @ shown - across, 0.0)
        step_errors[t] = 1 / np.sqrt(np.maximum(weight[..., _LEVEL, _LEVEL], 1e-300))
        scores[t] = pull[..., _LEVEL] * step_errors[t]
    scores[0] = 0.0
    found = (filtered, filtered_variance, smoothed, smoothed_variance, scores, step_errors, errors / np.sqrt(scales))
    return Pass(evidence, *(np.moveaxis(part, 0, -1) for part in found))


def _transition(models: Models, shared: int) -> tuple[Floats, Floats]:
    """The transition matrix, and the vector that maps the state to the share."""
    move = np.eye(_CYCLE + len(models.turning) + shared)
    move[_LEVEL, _SLOPE] = 1.0
    shown = np.zeros(len(move))
    shown[_LEVEL] = 1.0
    for wave, part in enumerate(models.turning[::2], 1):
        angle = 2 * np.pi * wave / (models.period or np.inf)
        move[part : part + 2, part : part + 2] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
        shown[part] = 1.0
    return move, shown


def _weekend(models: Models, move: Floats, shown: Floats) -> Floats:
    """The covariance of the first state of a cycle in which two windows in a row are one apart from all others.

    Prior variances of sines alone treat all places of a week alike, and shrink weekends as far as what is not there.
    """
    cycle, places = slice(models.turning.start, models.turning.stop), round(models.period or 0)
    seen = [shown[cycle] @ np.linalg.matrix_power(move[cycle, cycle], place) for place in range(places)]
    apart = np.isin(np.arange(places), [models.weekend, (models.weekend + 1) % places]) - 2 / places
    start = np.linalg.lstsq(np.array(seen), apart, rcond=None)[0]
    return np.outer(start, start)


def _look(shown: Floats, shared: Floats, roots: Floats) -> Floats:
    """The observation vector: the share, and the parts of the noise that windows share; shape (K, 1, states)."""
    look = np.tile(shown, (len(shared), 1, 1))
    look[..., len(shown) - len(roots) :] = (shared[:, None] * roots)[:, None]
    return look
