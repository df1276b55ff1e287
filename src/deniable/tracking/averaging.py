"""How fast each symbol moves, learnt from all of them: hypotheses of movement, averaged by what they explain.

A symbol may stand still, wander (a random walk of its level), drift (a slope that is constant or wanders itself) or
jump. Each hypothesis is a state-space model with known variances. How common each is among the symbols is learnt by
expectation maximisation over all of them, so that a population in which nothing moves is averaged over all windows,
whatever the noise of single symbols suggests. A jump is found by the t-statistic of a step: it becomes part of a
symbol's model where it explains more than the largest of so many accidents would.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.tracking.state_space import Model, Pass, run

__all__ = ["Moving", "Series", "average", "averaged"]

Floats = npt.NDArray[np.float64]

# Variances of a step, as shares of the noise of a window: a random walk of the level, and of the slope.
_WALKS = (0.0, 1e-4, 1e-3, 5e-3, 0.02, 0.1, 0.4, 2.0, 30.0)
_TURNS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3)
_DRIFT = 30.0  # standard deviation of a constant slope, in those that T windows of noise would suggest by accident
_EM_STEPS = 20  # of the weights of hypotheses; they hardly move after ten
_PSEUDO_SYMBOLS = 0.5  # that each hypothesis is believed to have before any symbol is seen
_NEGLIGIBLE = 1e-3  # weight of a hypothesis below which a symbol is not smoothed under it
_JUMP_PRICE = 3.0  # of the log-likelihood, beyond log(windows): what a jump must gain to be believed
_MOST_JUMPS = 8  # a symbol
_PIECE = 2048  # series that are run at once: their states stay below 100 MB for 400 windows


@dataclass(frozen=True)
class Series:
    """What was seen of S symbols in T windows.

    Attributes
    ----------
    values
        Unbiased estimates, shape (S, T); NaN where a window is missing.
    fresh
        Variances of the part of the noise that is drawn anew in each window, shape (S, T).
    shared
        Standard deviations of the part that windows share, shape (S, T).
    """

    values: Floats
    fresh: Floats
    shared: Floats

    def __getitem__(self, rows: npt.NDArray[np.intp]) -> "Series":
        return Series(self.values[rows], self.fresh[rows], self.shared[rows])

    @property
    def noise(self) -> Floats:
        """The mean variance of each symbol's estimates, shape (S,)."""
        return np.asarray(np.nanmean(np.where(np.isfinite(self.values), self.fresh + self.shared**2, np.nan), axis=1))

    def run(self, model: Model, jumps: Floats | None = None) -> Pass:
        """Filter and smooth every symbol under one model each."""
        return run(self.values, self.fresh, self.shared, model, jumps)

    def still(self, correlation: Floats, jumps: Floats | None = None) -> Pass:
        """Filter and smooth as if nothing moved but by `jumps`."""
        none = np.zeros(len(self.values))
        return self.run(Model(none, none, none, correlation), jumps)


@dataclass(frozen=True)
class Moving:
    """Levels of every symbol and window with their variances, shape (S, T) each.

    `evidence` is the logarithm of the likelihood of all that was seen; the noise of different symbols is taken to be
    independent.
    """

    filtered: Floats
    filtered_variance: Floats
    smoothed: Floats
    smoothed_variance: Floats
    evidence: float


def average(found: Sequence[Moving], trust: Floats) -> Moving:
    """The average of what several models say; their disagreement is part of its variances."""
    means, variances = [], []
    for name in ("filtered", "smoothed"):
        mean = sum(t * getattr(one, name) for t, one in zip(trust, found, strict=True))
        second = sum(
            t * (getattr(one, f"{name}_variance") + getattr(one, name) ** 2)
            for t, one in zip(trust, found, strict=True)
        )
        means.append(mean)
        variances.append(np.maximum(second - mean**2, 0.0))
    return Moving(means[0], variances[0], means[1], variances[1], float(max(one.evidence for one in found)))


def averaged(series: Series, correlation: Floats) -> Moving:
    """Filter and smooth every symbol under every hypothesis, and average.

    Parameters
    ----------
    series
        What was seen.
    correlation
        Of the shared noise of each window with that of the window before, shape (T,).

    Returns
    -------
    Moving
        Levels with their variances.

    Examples
    --------
    >>> import numpy as np
    >>> seen = 0.2 + 0.01 * np.array([[1, -1, 1, -1, 1, -1, 1, -1, 1, -1]])
    >>> found = averaged(Series(seen, np.full((1, 10), 1e-4), np.zeros((1, 10))), np.zeros(10))
    >>> found.smoothed.round(2).tolist()
    [[0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]]
    """
    symbols, windows = series.values.shape
    parts = _hypotheses(series.noise, windows)
    jumps = np.zeros((symbols, windows))
    evidence, steps = _evidence(series, parts, correlation, jumps)
    common, belief = _weights(evidence)
    price = np.log(windows) + _JUMP_PRICE
    rows = np.arange(symbols)
    for _ in range(_MOST_JUMPS):
        best = np.argmax(np.log(common) + evidence[rows], axis=1)
        found = np.abs(steps[rows, best])
        place = np.argmax(found, axis=1)
        more = found[np.arange(len(place)), place] ** 2 / 2 > price
        rows, place = rows[more], place[more]
        if not len(rows):
            break
        tried = jumps[rows]
        tried[np.arange(len(place)), place] = 1.0
        again, new_steps = _evidence(series[rows], tuple(part[rows] for part in parts), correlation, tried)
        again -= price
        better = _total(again, common) > _total(evidence[rows], common)
        rows = rows[better]
        jumps[rows], evidence[rows], steps[rows] = tried[better], again[better], new_steps[better]
        common, belief = _weights(evidence)
    sums = [np.zeros((symbols, windows)) for _ in range(6)]
    for rows, hypothesis in _pieces(belief):
        model = Model(*(part[rows, hypothesis] for part in parts), correlation)
        one = series[rows].run(model, jumps[rows])
        trust = belief[rows, hypothesis][:, None]
        for total, value in zip(
            sums,
            (
                one.filtered, one.filtered**2, one.filtered_variance,
                one.smoothed, one.smoothed**2, one.smoothed_variance,
            ),
            strict=True,
        ):  # fmt: skip
            np.add.at(total, rows, trust * value)
    f, f2, fv, s, s2, sv = sums
    evident = float(_total(evidence, common).sum())
    return Moving(f, fv + np.maximum(f2 - f**2, 0.0), s, sv + np.maximum(s2 - s**2, 0.0), evident)


def _hypotheses(noise: Floats, windows: int) -> tuple[Floats, Floats, Floats]:
    """Variances of a step of the level, of a step of the slope, and of the first slope; shape (S, H) each."""
    accident = 12 / max(windows, 2) ** 3  # variance of a slope that is fitted to noise of variance one
    walks, turns = len(_WALKS), len(_TURNS)
    level = np.array([*_WALKS, 0.0, *[0.0] * turns])
    slope = np.array([*[0.0] * walks, 0.0, *_TURNS])
    start = np.array([*[0.0] * walks, _DRIFT**2 * accident, *[turn * windows + accident for turn in _TURNS]])
    return noise[:, None] * level, noise[:, None] * slope, noise[:, None] * start


def _weights(evidence: Floats) -> tuple[Floats, Floats]:
    """How common hypotheses are, by expectation maximisation, and what that says of each symbol."""
    symbols, size = evidence.shape
    relative = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    common = np.full(size, 1 / size)
    for _ in range(_EM_STEPS):
        each = relative * common
        each /= each.sum(axis=1, keepdims=True)
        common = (each.sum(axis=0) + _PSEUDO_SYMBOLS) / (symbols + size * _PSEUDO_SYMBOLS)
    each[each < _NEGLIGIBLE] = 0.0
    return common, each / each.sum(axis=1, keepdims=True)


def _total(evidence: Floats, common: Floats) -> Floats:
    """The evidence of each symbol under all hypotheses together."""
    top = evidence.max(axis=1)
    return np.asarray(top + np.log(np.exp(evidence - top[:, None]) @ common))


def _evidence(series: Series, parts: tuple[Floats, ...], correlation: Floats, jumps: Floats) -> tuple[Floats, Floats]:
    """The evidence of each hypothesis for each symbol, shape (S, H), and the statistics of steps, (S, H, T)."""
    symbols, size = parts[0].shape
    evidence, steps = np.empty((symbols, size)), np.empty((symbols, size, series.values.shape[1]))
    for rows, hypothesis in _pieces(np.ones((symbols, size))):
        model = Model(*(part[rows, hypothesis] for part in parts), correlation)
        found = series[rows].run(model, jumps[rows])
        evidence[rows, hypothesis], steps[rows, hypothesis] = found.evidence, found.steps
    return evidence, steps


def _pieces(belief: Floats) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Symbols and hypotheses that are believed, so many at a time."""
    rows, hypotheses = np.nonzero(belief)
    for start in range(0, len(rows), _PIECE):
        yield rows[start : start + _PIECE], hypotheses[start : start + _PIECE]
