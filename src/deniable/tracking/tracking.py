"""`track`: a sequence of estimates, one a window, each from the reports of all windows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.decoders import (
    ROWS,
    Estimate,
    Inversion,
    LeastSquares,
    Observations,
    Unconstrained,
    decode_all,
    note_on_rest,
    shrink,
)
from deniable.errors import DecodeError
from deniable.survey import Bar, Survey, Symbol, html_table
from deniable.tally import Tally
from deniable.theory import cell_variance, permanent_share
from deniable.tracking.averaging import Moving, Series
from deniable.tracking.calendar import label_gaps, places_of
from deniable.tracking.changes import cusum_alarms, steps_of
from deniable.tracking.overlap import correlations, learn_kept

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["Change", "Contrast", "Tracked", "TrackedWindow", "track"]

Floats = npt.NDArray[np.float64]

PARTICIPATIONS = ("once", "window", "event")
_STEADY = 0.3  # relative change of a symbol's variance over time up to which it is treated as constant


@dataclass(frozen=True)
class Change:
    """A step in the share of a symbol.

    Parameters
    ----------
    symbol : symbol
        The symbol whose share changed.
    window : object
        The label of the first window after the step.
    size : float
        The share after the step less the share before it.
    interval : tuple of float
        A 95 % confidence interval of the size, for this step alone.
    p_value : float
        Family-wise: an upper bound of the probability that any symbol has so significant a step at any window of a
        history without changes.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["a", "b", "c"], epsilon=2)
    >>> before, after = dn.Tally(survey, [[700, 200, 100]]), dn.Tally(survey, [[400, 500, 100]])
    >>> change = dn.track([before] * 5 + [after] * 5).changes()[0]
    >>> change.symbol, change.size < 0, change.interval[1] < 0, change.p_value < 0.001
    ('a', True, True, True)
    """

    symbol: Symbol
    window: object
    size: float
    interval: tuple[float, float]
    p_value: float


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of windows for every symbol: a difference or an average, with standard errors.

    Parameters
    ----------
    symbols : tuple of symbols
        The symbols, in the order of the arrays.
    values : ndarray
        Unbiased estimates.
    standard_errors : ndarray
        Their standard errors, with the noise that windows share.

    Examples
    --------
    >>> Contrast(("a", "b"), np.array([0.1, -0.1]), np.array([0.02, 0.02])).intervals().round(3)
    array([[ 0.061,  0.139],
           [-0.139, -0.061]])
    """

    symbols: tuple[Symbol, ...]
    values: Floats
    standard_errors: Floats

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Confidence intervals, shape (S, 2).

        Parameters
        ----------
        level : float
            The coverage probability of an interval, between 0 and 1.
        simultaneous : bool
            Whether all intervals together have that coverage (Bonferroni).

        Returns
        -------
        ndarray
            Lower and upper limits, shape (S, 2).
        """
        return _around(self.values, self.standard_errors, level, len(self.symbols) if simultaneous else 1)


@dataclass(frozen=True)
class TrackedWindow:
    """The shares of one window, estimated from the reports of all windows.

    Parameters
    ----------
    window : object
        Its label.
    symbols : tuple of symbols
        The symbols, in the order of the arrays.
    n : int
        Reports of this window alone; 0 if it is missing.
    probabilities : ndarray
        Shares that are not negative and add up to one (with the unallocated share, where the alphabet is open).
    raw : ndarray
        Estimates before that projection; intervals are centred on them.
    standard_errors : ndarray
        Standard errors of `raw`.

    Examples
    --------
    >>> import deniable as dn
    >>> tally = dn.Tally(dn.krr(symbols=["a", "b"], epsilon=2), [[700, 300]])
    >>> window = dn.track([tally] * 4)[-1]
    >>> window.n, round(window["a"], 2), window.intervals().shape
    (1000, 0.76, (2, 2))
    """

    window: object
    symbols: tuple[Symbol, ...]
    n: int
    probabilities: Floats
    raw: Floats
    standard_errors: Floats

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Confidence intervals for each symbol, shape (S, 2), around `raw`.

        Parameters
        ----------
        level : float
            The coverage probability of an interval, on average over the windows.
        simultaneous : bool
            Whether all intervals together have that coverage (Bonferroni).

        Returns
        -------
        ndarray
            Lower and upper limits, which may lie outside [0, 1].
        """
        return _around(self.raw, self.standard_errors, level, len(self.symbols) if simultaneous else 1)

    def __iter__(self) -> Iterator[tuple[Symbol, float]]:
        return iter(zip(self.symbols, self.probabilities.tolist(), strict=True))

    def __getitem__(self, symbol: Symbol) -> float:
        if symbol not in self.symbols:
            raise KeyError(symbol)
        return float(self.probabilities[self.symbols.index(symbol)])


def _around(values: Floats, errors: Floats, level: float, tests: int) -> Floats:
    from scipy import stats

    if not 0 < level < 1:
        raise DecodeError(f"level must be between 0 and 1, got {level!r}")
    reach = float(stats.norm.isf((1 - level) / 2 / tests)) * errors
    return np.stack([values - reach, values + reach], axis=-1)


@dataclass(frozen=True)
class Tracked(Sequence[TrackedWindow]):
    """A distribution that changes: one estimate a window, each from the reports of all windows.

    `tracked[i]` uses all windows (smoothed), `tracked.as_of(i)` those up to i (filtered). For the last window they are
    the same.

    Parameters
    ----------
    symbols : tuple of symbols
        The symbols, in the order of the arrays.
    windows : tuple
        The labels of the windows, with the missing ones between them.
    sizes : ndarray
        Reports of each window; 0 if it is missing.
    moving : Moving
        Filtered and smoothed estimates and their variances, shape (S, T) each.
    series : Series
        The unbiased estimates of single windows with their noise.
    kept, trust : ndarray
        Possible shares of devices that are the same, with the same answer, as in the window before, and the posterior
        probability of each.
    continues : ndarray of bool
        Whether each window is of the same survey as the one before.
    skewness : ndarray
        Skewness of each symbol's estimate in one window.
    totals : ndarray
        The sum of the shares of each window: one, less the unallocated share.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["a", "b", "c"], epsilon=2)
    >>> before, after = dn.Tally(survey, [[700, 200, 100]]), dn.Tally(survey, [[400, 500, 100]])
    >>> tracked = dn.track([before] * 5 + [after] * 5)
    >>> tracked.as_of(4)["a"] > tracked.as_of(9)["a"], tracked.alarms()[0]
    (True, ('a', 5))
    >>> bool(tracked.difference(-1, 0).values[0] < 0), tracked.average(0, 5).values.round(2).tolist()
    (True, [0.87, 0.14, -0.01])
    >>> bool((tracked.contrast([1.0] + [0.0] * 9).values == tracked.average(0, 1).values).all())
    True
    >>> tracked.to_arrow().num_rows, tracked.chart().to_dict() == tracked.plot().to_dict()
    (30, True)
    """

    symbols: tuple[Symbol, ...]
    windows: tuple[object, ...]
    sizes: Floats
    moving: Moving
    series: Series
    kept: Floats
    trust: Floats
    continues: npt.NDArray[np.bool_]
    skewness: Floats
    totals: Floats  # what the symbols of each window add up to: one, less what is unallocated

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, window: Any) -> Any:
        if isinstance(window, slice):
            return [self[place] for place in range(*window.indices(len(self)))]
        return self._window(window, self.moving.smoothed, self.moving.smoothed_variance)

    def as_of(self, window: int) -> TrackedWindow:
        """The estimate of a window from the windows up to it, as it was available when the window ended.

        Parameters
        ----------
        window : int
            Its place; negative ones count from the end.

        Returns
        -------
        TrackedWindow
            Shares with intervals.
        """
        return self._window(window, self.moving.filtered, self.moving.filtered_variance)

    def _window(self, place: int, levels: Floats, variances: Floats) -> TrackedWindow:
        if not -len(self) <= place < len(self):
            raise IndexError(f"window must be below {len(self)}, got {place}")
        place %= len(self)
        raw, variance = levels[:, place], variances[:, place]
        shares = shrink(Observations(raw, np.maximum(variance, 1e-300), 0.0), total=float(self.totals[place]))
        return TrackedWindow(self.windows[place], self.symbols, int(self.sizes[place]), shares, raw, np.sqrt(variance))

    @property
    def is_shared(self) -> bool:
        """Whether windows share noise: whether devices take part in more than one of them and repeat it."""
        return bool(self.series.permanent.any())

    @property
    def turnover(self) -> float:
        """About how many of the devices are replaced, or change their answer, from one window to the next."""
        return 1 - float(self.kept @ self.trust)

    def changes(self, level: float = 0.95) -> list[Change]:
        """Which symbols changed, and when.

        Parameters
        ----------
        level
            The chance that nothing is named in a history in which nothing changes: all symbols and windows together.

        Returns
        -------
        list of Change
            In the order of windows; a slow change is named as several steps.

        Examples
        --------
        >>> import deniable as dn, numpy as np
        >>> survey = dn.krr(symbols=["a", "b", "c"], epsilon=2)
        >>> before, after = dn.Tally(survey, [[700, 200, 100]]), dn.Tally(survey, [[400, 500, 100]])
        >>> [(change.symbol, change.window) for change in dn.track([before] * 5 + [after] * 5).changes()]
        [('a', 5), ('b', 5)]
        """
        from scipy import stats

        if not 0 < level < 1:
            raise DecodeError(f"level must be between 0 and 1, got {level!r}")
        reach = float(stats.norm.isf(0.025))
        found = steps_of(self.series, self._correlations, self.skewness, level)
        return [
            Change(
                self.symbols[step.symbol],
                self.windows[step.window],
                step.size,
                (step.size - reach * step.standard_error, step.size + reach * step.standard_error),
                step.p_value,
            )
            for step in found
        ]

    def alarms(self, mean_windows: float = 1000.0) -> list[tuple[Symbol, object]]:
        """Alarms of a sequential test (CUSUM) for each symbol: an alarm uses no later window.

        Parameters
        ----------
        mean_windows
            The mean time between two false alarms, of all symbols together, in windows.

        Returns
        -------
        list of (symbol, window)
            In the order of windows.
        """
        if not mean_windows > 1:
            raise DecodeError(f"mean_windows must be more than 1, got {mean_windows!r}")
        correlation = correlations(float(self.kept @ self.trust), self.sizes, self.continues)
        found = cusum_alarms(self.series, correlation, mean_windows)
        return [(self.symbols[symbol], self.windows[window]) for symbol, window in found]

    @cached_property
    def _correlations(self) -> list[Floats]:
        return [correlations(float(kept), self.sizes, self.continues) for kept in self.kept]

    def difference(self, later: int, earlier: int) -> Contrast:
        """The shares of one window less those of another, without any model of movement.

        Parameters
        ----------
        later, earlier
            Places of the two windows; negative ones count from the end.

        Returns
        -------
        Contrast
            Differences; noise that both windows share cancels.
        """
        weights = np.zeros(len(self))
        weights[later] += 1.0
        weights[earlier] -= 1.0
        return self.contrast(weights)

    def average(self, first: int = 0, last: int | None = None) -> Contrast:
        """The mean share over a range of windows, each counted alike; missing ones are left out.

        Parameters
        ----------
        first, last
            The range as for a slice: `last` is not part of it, None is the end.

        Returns
        -------
        Contrast
            Averages; noise that windows share does not average out.
        """
        weights = np.zeros(len(self))
        weights[first:last] = 1.0
        weights[self.sizes == 0] = 0.0
        if not weights.any():
            raise DecodeError("an average must be over at least one window with reports, got none")
        return self.contrast(weights / weights.sum())

    def contrast(self, weights: npt.ArrayLike) -> Contrast:
        """A weighted sum of the windows' own unbiased estimates, for every symbol.

        Parameters
        ----------
        weights
            One number a window; missing windows must have none.

        Returns
        -------
        Contrast
            Its values and standard errors: the covariance of windows is averaged over how many devices may stay.
        """
        w = np.asarray(weights, np.float64)
        if w.shape != (len(self),):
            raise DecodeError(f"weights must be {len(self)} numbers, one a window, got shape {w.shape}")
        used = np.flatnonzero(w)
        if (self.sizes[used] == 0).any():
            raise DecodeError("weights must be zero for windows without reports")
        values, variances = self.series.values[:, used], self.series.variances[:, used]
        permanent = self.series.permanent[:, None]
        side = np.sqrt(permanent * variances) * w[used]
        total = ((1 - permanent) * variances * w[used] ** 2).sum(axis=1)
        for trust, steps in zip(self.trust, self._correlations, strict=True):
            alike = _correlation_matrix(steps)[np.ix_(used, used)]
            total += trust * np.einsum("st,tu,su->s", side, alike, side)
        return Contrast(self.symbols, values @ w[used], np.sqrt(np.maximum(total, 0.0)))

    def to_arrow(self, level: float = 0.95) -> "pa.Table":
        """An Arrow table with a row for each window and symbol: window, n, symbol, probability, raw, low, high.

        Parameters
        ----------
        level
            Of the confidence intervals.

        Returns
        -------
        pyarrow.Table
            Windows in their order.
        """
        import pyarrow as pa

        windows = list(self)
        intervals = [window.intervals(level) for window in windows]
        size = len(self.symbols)
        return pa.table(
            {
                "window": [str(window.window) for window in windows for _ in range(size)],
                "n": [window.n for window in windows for _ in range(size)],
                "symbol": [str(symbol) for _ in windows for symbol in self.symbols],
                "probability": np.concatenate([window.probabilities for window in windows]),
                "raw": np.concatenate([window.raw for window in windows]),
                "low": np.concatenate([limits[:, 0] for limits in intervals]),
                "high": np.concatenate([limits[:, 1] for limits in intervals]),
            }
        )

    def chart(self, *, level: float = 0.95, top: int = 6) -> "alt.LayerChart":
        """The largest symbols over time: lines with bands, and a mark where one changed.

        Parameters
        ----------
        level
            Of the bands and of the changes.
        top
            How many symbols, at most six.

        Returns
        -------
        altair.LayerChart
            A chart for notebooks; `deniable.charts.save_chart` writes it.
        """
        from deniable.charts import trend_chart

        windows = list(self)
        order = np.argsort(-windows[-1].probabilities, kind="stable")[:top].tolist()
        changed = {(change.symbol, change.window) for change in self.changes(level)}
        rows = []
        for window in windows:
            limits = window.intervals(level).tolist()
            for place in order:
                symbol = self.symbols[place]
                rows.append(
                    {
                        "window": str(window.window),
                        "name": str(symbol),
                        "estimate": float(window.probabilities[place]),
                        "low": limits[place][0],
                        "high": limits[place][1],
                        "changed": (symbol, window.window) in changed,
                    }
                )
        return trend_chart(rows, level=level)

    plot = chart

    def __repr__(self) -> str:
        return f"<Tracked {len(self.symbols)} symbols over {len(self)} windows, {int(self.sizes.sum())} reports>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the largest shares of the last window, and how each changed since the first."""
        last, most, rows = self[-1], max(float(self[-1].probabilities.max()), 1e-12), []
        limits, since = np.clip(last.intervals(), 0.0, 1.0), self.difference(-1, 0).values
        for place in np.argsort(-last.probabilities, kind="stable")[:ROWS].tolist():
            share, (low, high) = float(last.probabilities[place]), limits[place]
            interval = f"{100 * low:.2f} to {100 * high:.2f} %"
            change = f"{100 * since[place]:+.2f} points"
            rows.append((self.symbols[place], Bar(share / most), f"{100 * share:.2f} %", interval, change))
        title = f"Window {last.window}, the last of {len(self)}: {int(self.sizes.sum()):,} reports in all"
        header = ["answer", "", "share", "95 % interval", f"since {self.windows[0]}"]
        return html_table(title, header, rows, note=note_on_rest(len(self.symbols), "share"))


def _correlation_matrix(steps: Floats) -> Floats:
    """Correlations of any two windows: the product of the correlations of the neighbours between them."""
    size = len(steps)
    found = np.eye(size)
    for t in range(1, size):
        found[t, :t] = found[t - 1, :t] * steps[t]
        found[:t, t] = found[t, :t]
    return found


def track(
    tallies: "Iterable[Tally] | Mapping[Any, Tally]",
    *,
    windows: Sequence[object] | None = None,
    candidates: Iterable[object] | None = None,
    turnover: float | None = None,
    participation: str | None = None,
) -> Tracked:
    """Estimates of a distribution that changes: one a window, each from the reports of all windows.

    Parameters
    ----------
    tallies
        One tally a window, in the order of time; or a mapping from the windows' labels to them. Windows of other
        surveys with the same symbols continue the series (a survey that was rotated).
    windows
        Labels: whole numbers, or texts such as "2026-11-18", "2026-11-18T09" or "2026-W47", between which missing
        windows are noticed. Without them windows follow each other.
    candidates
        The symbols to look for, where the alphabet is open.
    turnover
        The part of the devices that are replaced from one window to the next, where people take part in every window
        (`participation`); learnt from the windows if it is not given.
    participation
        How people took part, in place of what the survey says: "once", "window" or "event". Devices that take part
        again repeat their noise.

    Returns
    -------
    Tracked
        A sequence of windows.

    Raises
    ------
    DecodeError
        If there are fewer than two windows, if they come out of order or overlap, or if their symbols differ.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> survey, rng = dn.krr(symbols=["a", "b", "c"], epsilon=2), np.random.default_rng(1)
    >>> days = [dn.simulate(survey, [0.6, 0.3, 0.1], n=1000, rng=rng) for _ in range(30)]
    >>> tracked = dn.track(days)
    >>> bool(tracked[-1].standard_errors.max() < dn.decode(days[-1]).standard_errors.max() / 3)
    True
    """
    if isinstance(tallies, Mapping):
        if windows is not None:
            raise DecodeError("windows must not be given beside a mapping: its keys are the windows")
        windows, tallies = list(tallies), tallies.values()
    if isinstance(tallies, Tally) or not isinstance(tallies, Iterable):
        kind = type(tallies).__name__
        raise DecodeError(f"tallies must be a list of tallies, one a window, got {kind}; decode takes a single one")
    given = list(tallies)
    if len(given) < 2:
        raise DecodeError(f"tallies must be of at least two windows, got {len(given)}; decode takes a single one")
    for tally in given:
        if not isinstance(tally, Tally):
            raise DecodeError(f"tallies must be tallies, one a window, got {type(tally).__name__}")
    labels = list(range(len(given))) if windows is None else list(windows)
    if len(labels) != len(given):
        raise DecodeError(f"windows must be as many as tallies, {len(given)}, got {len(labels)}")
    if turnover is not None and not 0 <= turnover <= 1:
        raise DecodeError(f"turnover must be between 0 and 1, got {turnover!r}")
    if participation not in (None, *PARTICIPATIONS):
        raise DecodeError(f"participation must be 'once', 'window' or 'event', got {participation!r}")
    seen = _Seen.of(given, None if candidates is None else list(candidates), participation)
    places = np.array(places_of(labels))
    count = int(places[-1]) + 1
    sizes, continues = np.zeros(count), np.zeros(count, np.bool_)
    sizes[places] = [tally.n for tally in given]
    named: list[object] = label_gaps(labels, places.tolist())
    same = ""
    for place, tally in zip(places.tolist(), given, strict=True):
        continues[place] = tally.survey.digest == same
        same = tally.survey.digest
    continues |= sizes == 0
    values, variances = (np.ones((len(seen.values), count)) for _ in range(2))
    values[:, places], variances[:, places] = seen.values, seen.variances
    series = Series(values, variances, seen.permanent, sizes > 0)
    moving, kept, trust = learn_kept(series, sizes, continues, turnover)
    ratio = seen.relative(moving.smoothed[:, places])
    if np.abs(ratio[:, sizes[places] > 0] - 1).max() > _STEADY:  # the variance depends on the share: run again
        variances[:, places] *= ratio
        series = Series(values, variances, seen.permanent, sizes > 0)
        moving, kept, trust = learn_kept(series, sizes, continues, turnover)
    size = len(seen.symbols)
    totals = np.ones(count) if len(values) == size else np.clip(1 - moving.smoothed[size], 0.0, 1.0)
    chosen = np.arange(size)
    return Tracked(
        seen.symbols, tuple(named), sizes, moving[chosen], series[chosen], kept, trust, continues,
        _skewness(given, seen.values[:size]), totals,
    )  # fmt: skip


@dataclass(frozen=True)
class _Seen:
    """Unbiased estimates of the windows that have reports, (S, T); the unallocated share, if any, is the last row.

    Variances are those of all windows of a survey together, scaled by the sizes of the windows. Variances from each
    window's own estimate would give windows with low estimates too much weight.
    """

    symbols: tuple[Symbol, ...]
    surveys: tuple[Survey, ...]
    values: Floats
    variances: Floats
    permanent: Floats
    typical: Floats  # about how large each share is

    @classmethod
    def of(cls, tallies: list[Tally], candidates: list[object] | None, participation: str | None) -> "_Seen":
        by_survey: dict[str, list[int]] = {}
        for place, tally in enumerate(tallies):
            if tally.n:
                by_survey.setdefault(tally.survey.digest, []).append(place)
        if not by_survey:
            raise DecodeError("tallies must hold reports, got none in any window")
        symbols: tuple[Symbol, ...] | None = None
        values = variances = np.empty((0, 0))
        permanent = typical = np.empty(0)
        for places in by_survey.values():
            some = [tallies[place] for place in places]
            survey = some[0].survey
            decoder = LeastSquares() if survey.alphabet.is_open or survey.cohorts > 1 else Inversion()
            *found, whole = decode_all(
                [*some, sum(some[1:], some[0])], candidates=candidates, decoder=decoder, constraint=Unconstrained()
            )
            if symbols is None:
                symbols, size = whole.symbols, len(whole.symbols) + (whole.rest is not None)
                values, variances = np.zeros((size, len(tallies))), np.ones((size, len(tallies)))
                typical, permanent = _with_rest(whole), np.zeros(size)
            if whole.symbols != symbols:
                raise DecodeError(
                    "tallies must be of surveys with the same symbols; track other questions as series of their own"
                )
            errors = whole.standard_errors
            if whole.unallocated is not None:
                errors = np.append(errors, whole.unallocated.standard_error)
            if not np.isfinite(errors).all():
                raise DecodeError("tallies must determine every symbol that is tracked; give fewer candidates")
            values[:, places] = np.stack([_with_rest(one) for one in found], axis=1)
            variances[:, places] = (errors**2 * whole.n)[:, None] / np.array([tally.n for tally in some])
            if (participation or survey.participation) != "once":
                permanent = np.maximum(permanent, permanent_share(survey, _with_rest(whole)))
        assert symbols is not None
        return cls(symbols, tuple(tally.survey for tally in tallies), values, variances, permanent, typical)

    def relative(self, shares: Floats) -> Floats:
        """The ratio of the variance at these shares to the one that is assumed."""
        columns = [
            cell_variance(survey, survey.mechanism, shares[:, place])
            / cell_variance(survey, survey.mechanism, self.typical)
            for place, survey in enumerate(self.surveys)
        ]
        return np.stack(columns, axis=1)


def _with_rest(estimate: Estimate) -> Floats:
    return estimate.raw if estimate.rest is None else np.append(estimate.raw, estimate.rest[1])


def _skewness(tallies: list[Tally], values: Floats) -> Floats:
    """Of each symbol's estimate in one window, as if it were one count of reports: the largest over the windows."""
    found, shares = np.zeros(len(values)), np.clip(values.mean(axis=1), 0.0, 1.0)
    for tally in tallies:
        if tally.n:
            miss, gap = tally.survey.mechanism.affine
            chance = np.clip(miss + gap * shares, 0.5 / tally.n, 1 - 0.5 / tally.n)
            skew = (1 - 2 * chance) / np.sqrt(tally.n * chance * (1 - chance))
            found = np.where(np.abs(skew) > np.abs(found), skew, found)
    return found
