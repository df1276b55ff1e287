"""Bayesian model averaging: how fast each symbol changes, with model weights that all symbols share.

A share may be constant, follow a random walk, have a slope (constant or a random walk itself) or jump. Each model is a
state-space model with known variances. Either all symbols follow one of the models, or each follows its own, and the
weights of the models are then estimated from all symbols by expectation maximisation; the evidence says which. So a
population in which nothing changes is averaged over all windows, even where the noise of a single symbol looks like
movement. A jump is detected by the t-statistic of a step. It is added to a symbol's model where its
gain in log-likelihood exceeds a penalty for the number of windows that were searched.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.tracking.cycles import cycle_of, possible_cycle, weekend_of
from deniable.tracking.sharing import Sharing
from deniable.tracking.state_space import UNKNOWN, Models, Noise, Pass, run

__all__ = ["STILL", "Moving", "Series", "average", "averaged", "fitted"]

Floats = npt.NDArray[np.float64]

# Variances of a step of the level (a random walk), in units of the noise variance of a window. The grid covers
# movements from far below the noise of a long history to above the noise of one window.
_WALKS = (0.0, 1e-4, 1e-3, 5e-3, 0.02, 0.1, 0.4, 2.0, 30.0)
# The same for a random walk of the slope.
_TURNS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3)
# The same for a slope of which four fifths are left in the next window: a bend that a walk would take for noise, and a
# trend would carry too far. A season of which a history has less than a period looks so.
_BENDS = (0.003, 0.01, 0.03, 0.1)
_DAMPING = 0.8  # the part of a slope that is left: most evidence for half a season in twenty windows (decision 0063)
_DRIFT = 30.0  # prior standard deviation of a constant slope, in standard errors of a slope fitted to T windows
_CYCLES = ((1.0, 0.0), (10.0, 0.0), (1.0, 0.003), (10.0, 0.03))  # variances of a cycle: of its start, of a step
# The same of a cycle of several sines, which a symbol may follow far more faintly than others.
_FAINT = ((0.02, 0.0), (0.06, 0.0), (0.25, 0.0))
# The same of what weekends differ by from working days, where nothing else of a week does.
_WEEKENDS, _DAYS = (0.1, 1.0, 10.0), 7
_MOST_DOUBTED = 256  # symbols for which a cycle of the calendar that no test sees is among the models: it takes time
_CYCLE_WALKS = (0.0, 1e-3, 0.02)  # variances of a step of the level in models with a cycle
# Prior weights of kinds of movement: still, random walks, a drift, turning slopes, bends, and cycles if one is found.
# Slopes fit a random walk closely, so walks have as much as all of them. Measured, as all that is here (decision 0109).
_STILL_PRIOR, _WALKS_PRIOR, _DRIFT_PRIOR, _TURNS_PRIOR, _BENDS_PRIOR, _CYCLES_PRIOR = 0.06, 0.5, 0.06, 0.19, 0.19, 0.4
_WEEKENDS_PRIOR = 0.1  # of all models in which weekends differ: what they cost still shares is in decision 0195
# What each symbol's having a model of its own costs against that all have the same, in nats: the weights of the models
# are fitted then. With 4 jumps of some symbols are smoothed away; with none six still symbols cover 98 %.
_OWN_PRICE = 1.0
_EM_STEPS = 20  # iterations of expectation maximisation; the weights hardly change after ten
_PSEUDO_SYMBOLS = 0.2  # prior count of symbols of each model
_LEAST_FRESH = 1e-4  # least share of a window's variance that is independent of other windows; keeps it positive
_NEGLIGIBLE = 1e-3  # posterior weight below which a model of a symbol is dropped
# What a random walk or a bend adds to the variance is multiplied by 1 + 0.6 sqrt(20 / T): its own variance is one of a
# coarse grid, and the fewer windows, the less they tell of it. Measured: without it bands of six symbols that move
# cover 88 to 92 % over 20 windows; with the same factor for all T they cover 98 to 99 % over 100.
_WALKS_WIDER, _WIDER_WINDOWS = 0.6, 20.0
_JUMP_PRICE = 3.0  # penalty of a jump on the log-likelihood, in nats, beyond log(windows)
_MOST_JUMPS = 8  # jumps of a symbol, at most
_PIECE = 256  # symbols that are filtered at once: their states take less than 200 MB for 400 windows
_ALIKE = 0.1  # relative difference of noise below which symbols share one covariance
STILL = Models.walks(np.zeros(1))  # nothing moves


@dataclass(frozen=True)
class Series:
    """The unbiased estimates of S symbols in T windows, with their noise.

    Attributes
    ----------
    values
        Unbiased estimates, shape (S, T); any number where a window is missing.
    variances
        Their variances, shape (S, T).
    permanent
        The part of a variance that windows of the same devices share, shape (S,).
    there
        Which windows have reports, shape (T,).
    calendar
        The period of the calendar, in windows, if it has one: seven days.
    """

    values: Floats
    variances: Floats
    permanent: Floats
    there: npt.NDArray[np.bool_]
    calendar: int | None = None

    def __getitem__(self, rows: npt.NDArray[np.intp]) -> "Series":
        return replace(self, values=self.values[rows], variances=self.variances[rows], permanent=self.permanent[rows])

    @cached_property
    def unit(self) -> Floats:
        """The standard deviation of a typical window's noise, shape (S, 1)."""
        return np.asarray(np.sqrt(self.variances[:, self.there].mean(axis=1, keepdims=True)))

    def run(self, models: Models, sharing: Sharing, jumps: npt.NDArray[np.bool_] | None = None) -> Pass:
        """Filter and smooth every symbol under every model, in units of `unit`."""
        relative, permanent = self.variances / self.unit**2, self.permanent[:, None]
        middle, part = relative.mean(axis=0, keepdims=True), permanent.mean(axis=0, keepdims=True)
        near = np.abs(relative - middle)[:, self.there].max() < _ALIKE and np.abs(permanent - part).max() < _ALIKE
        if near:
            relative, permanent = middle, part
        fresh = np.maximum(1 - permanent, _LEAST_FRESH) * relative
        noise = Noise(fresh, np.sqrt(permanent * relative), sharing, self.there)
        return run(self.values / self.unit, noise, models, jumps)


@dataclass(frozen=True)
class Moving:
    """Levels of every symbol and window with their variances, shape (S, T) each.

    `evidence` is the log-likelihood of all windows; the noise of different symbols is taken as independent.
    """

    filtered: Floats
    filtered_variance: Floats
    smoothed: Floats
    smoothed_variance: Floats
    evidence: float

    def __getitem__(self, rows: npt.NDArray[np.intp]) -> "Moving":
        return Moving(
            self.filtered[rows],
            self.filtered_variance[rows],
            self.smoothed[rows],
            self.smoothed_variance[rows],
            self.evidence,
        )

    def with_unlisted(self, variances: Floats) -> "Moving":
        """The same with what unlisted answers add to the variance of each symbol in all windows."""
        more = variances[:, None]
        return replace(
            self, filtered_variance=self.filtered_variance + more, smoothed_variance=self.smoothed_variance + more
        )


def average(found: Sequence[Moving], trust: Floats) -> Moving:
    """The posterior mean over several models; variances include the differences between them."""
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


def averaged(series: Series, sharing: Sharing) -> Moving:
    """Filter and smooth every symbol under every model, and average by posterior weight.

    Parameters
    ----------
    series
        The estimates of single windows.
    sharing
        How much of their noise windows have in common.

    Returns
    -------
    Moving
        Levels with their variances.

    Examples
    --------
    >>> import numpy as np
    >>> seen = 0.2 + 0.01 * np.array([[1, -1, 1, -1, 1, -1, 1, -1, 1, -1]])
    >>> series = Series(seen, np.full((1, 10), 1e-4), np.zeros(1), np.full(10, True))
    >>> averaged(series, Sharing.none(10)).smoothed.round(2).tolist()
    [[0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]]
    """
    return fitted(series, sharing).moving()


@dataclass(frozen=True)
class Fitted:
    """The models of every symbol with their posterior weights: what levels are averaged from, if they are wanted.

    `evidence` is the log-likelihood of all windows; the noise of different symbols is taken as independent.
    """

    series: Series
    sharing: Sharing
    models: Models
    belief: Floats
    jumps: npt.NDArray[np.bool_]
    evidence: float

    def moving(self) -> Moving:
        """Levels with their variances."""
        series, models = self.series, self.models
        sums = [np.zeros(series.values.shape) for _ in range(4)]
        for rows, marks in _pieces(self.jumps):
            used = np.union1d(0, np.flatnonzero(self.belief[rows].any(axis=0)))  # the first is that nothing moves
            one = series[rows].run(models[used], self.sharing, marks)
            trust = self.belief[rows][:, used, None]
            wanders = (models.level[used] > 0) | (models.damping[used] < 1)
            more = _WALKS_WIDER * min(float(np.sqrt(_WIDER_WINDOWS / series.there.sum())), 1.0)
            scale, wider = series.unit[rows], np.where(wanders, more, 0.0)[:, None]
            for place, mean, variance in (
                (0, one.filtered, one.filtered_variance),
                (2, one.smoothed, one.smoothed_variance),
            ):
                middle = (trust * mean).sum(axis=1)
                variance = variance + wider * np.maximum(variance - variance[:, :1], 0.0)
                spread = (trust * (variance + (mean - middle[:, None]) ** 2)).sum(axis=1)
                sums[place][rows], sums[place + 1][rows] = scale * middle, scale**2 * spread
        return Moving(sums[0], sums[1], sums[2], sums[3], self.evidence)


def fitted(series: Series, sharing: Sharing) -> Fitted:
    """Weigh every model of every symbol, and look for jumps; the parameters are those of `averaged`."""
    symbols, windows = series.values.shape
    models, prior = _hypotheses(series)
    jumps = np.zeros((symbols, windows), np.bool_)
    evidence, steps = _evidence(series, models, sharing, None)
    common, belief = _weights(evidence, prior)
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
        tried[np.arange(len(place)), place] = True
        again, new_steps = _evidence(series[rows], models, sharing, tried)
        # The diffuse prior of a new level lowers the likelihood; that is undone, and the penalty takes its place.
        again += 0.5 * np.log(UNKNOWN) * tried.sum(axis=1, keepdims=True) - price * tried.sum(axis=1, keepdims=True)
        better = _total(again, common) > _total(evidence[rows], common)
        rows = rows[better]
        jumps[rows], evidence[rows], steps[rows] = tried[better], again[better], new_steps[better]
        common, belief = _weights(evidence, prior)
    return Fitted(series, sharing, models, belief, jumps, float(_total(evidence, common).sum()))


def _hypotheses(series: Series) -> tuple[Models, Floats]:
    """The models with their prior weights: walks of the level, constant slopes, slopes that change; cycles, if any."""
    windows = series.values.shape[1]
    accident = 12 / max(windows, 2) ** 3  # variance of a slope that is fitted to noise of variance one
    unit = series.unit
    period, waves = cycle_of(series.values / unit, series.variances / unit**2, series.there, series.calendar)
    if period is None and len(series.values) <= _MOST_DOUBTED:  # weekends may differ by less than a test sees
        period, waves = possible_cycle(series.there, series.calendar)
    rows = [(walk, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0) for walk in _WALKS]
    rows += [(0.0, 0.0, _DRIFT**2 * accident, 1.0, 0.0, 0.0, 0.0)]
    rows += [(0.0, turn, turn * windows + accident, 1.0, 0.0, 0.0, 0.0) for turn in _TURNS]
    rows += [(0.0, bend, bend / (1 - _DAMPING**2), _DAMPING, 0.0, 0.0, 0.0) for bend in _BENDS]
    kinds = [(_STILL_PRIOR, 1), (_WALKS_PRIOR, len(_WALKS) - 1), (_DRIFT_PRIOR, 1)]
    kinds += [(_TURNS_PRIOR, len(_TURNS)), (_BENDS_PRIOR, len(_BENDS))]
    if period is not None:
        cycles = _CYCLES if waves == 1 else (*_CYCLES, *_FAINT)
        kinds += [(_CYCLES_PRIOR, len(_CYCLE_WALKS) * len(cycles))]
        rows += [(walk, 0.0, 0.0, 1.0, swing, wander, 0.0) for walk in _CYCLE_WALKS for swing, wander in cycles]
    weekend = None
    if period == series.calendar == _DAYS and waves > 1:  # one sine cannot tell two days from five
        weekend = weekend_of(series.values / unit, series.variances / unit**2, series.there, _DAYS)
        kinds += [(_WEEKENDS_PRIOR, len(_CYCLE_WALKS) * len(_WEEKENDS))]
        rows += [(walk, 0.0, 0.0, 1.0, 0.0, 0.0, apart) for walk in _CYCLE_WALKS for apart in _WEEKENDS]
    level, slope, start, damping, swing, wander, apart = np.array(rows).T
    prior = np.concatenate([np.full(count, weight / count) for weight, count in kinds])
    of_weekends = {} if weekend is None else {"apart": apart, "weekend": weekend}
    return Models(level, slope, start, damping, swing, wander, period, waves, **of_weekends), prior / prior.sum()


def _weights(evidence: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """The weights of the models over all symbols, by expectation maximisation, and the posteriors for each symbol.

    The posterior is averaged over two hypotheses: that each symbol follows a model of its own, and that all follow the
    same. So few symbols that stand still are seen to do so together, where no single one shows it.
    """
    symbols, size = evidence.shape
    relative = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    common = prior
    for _ in range(_EM_STEPS):
        each = relative * common
        each /= each.sum(axis=1, keepdims=True)
        common = (each.sum(axis=0) + size * _PSEUDO_SYMBOLS * prior) / (symbols + size * _PSEUDO_SYMBOLS)
    alike = np.log(prior) + evidence.sum(axis=0)
    own = float(_total(evidence, common).sum()) - _OWN_PRICE
    top = max(own, alike.max())
    trust = np.exp(alike - top)
    rest = np.exp(own - top)
    belief = (trust + rest * each) / (trust.sum() + rest)
    belief[belief < _NEGLIGIBLE] = 0.0
    return common, belief / belief.sum(axis=1, keepdims=True)


def _total(evidence: Floats, common: Floats) -> Floats:
    """The log-likelihood of each symbol, averaged over the models."""
    top = evidence.max(axis=1)
    return np.asarray(top + np.log(np.exp(evidence - top[:, None]) @ common))


def _evidence(
    series: Series, models: Models, sharing: Sharing, jumps: npt.NDArray[np.bool_] | None
) -> tuple[Floats, npt.NDArray[np.float32]]:
    """The log-likelihood of each model for each symbol, shape (S, H), and the t-statistics of steps, (S, H, T)."""
    symbols, windows = series.values.shape
    evidence = np.empty((symbols, len(models.level)))
    steps = np.empty((*evidence.shape, windows), np.float32)
    for rows, marks in _pieces(np.zeros((symbols, windows), np.bool_) if jumps is None else jumps):
        found = series[rows].run(models, sharing, marks)
        evidence[rows], steps[rows] = found.evidence, found.steps
    return evidence, steps


def _pieces(
    jumps: npt.NDArray[np.bool_],
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_] | None]]:
    """Symbols in batches: first those without jumps, which share their covariances, then the others."""
    jumping = np.asarray(jumps.any(axis=1))
    for rows in (np.flatnonzero(~jumping), np.flatnonzero(jumping)):
        for start in range(0, len(rows), _PIECE):
            some = rows[start : start + _PIECE]
            yield some, jumps[some] if jumping[some[0]] else None
