"""The difference of two estimates: two days, two groups, two versions; symbol by symbol, with error bars."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from deniable.decoders.estimate import Estimate
from deniable.decoders.intervals import Mass, own_limits, sum_limits, symbol_collisions
from deniable.decoders.limits import Collisions, Limits, check_level
from deniable.decoders.repeated import sharing
from deniable.decoders.shared import SharedNoise
from deniable.decoders.shown import QUICK_SYMBOLS, ROWS, note_on_rest, reports_in_words
from deniable.decoders.spread import Misfit
from deniable.errors import DecodeError
from deniable.matrices import OpenDesign
from deniable.survey import Bar, Symbol, data_frame, html_table

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

Floats = npt.NDArray[np.float64]

differences_of: dict[type, Callable[[Any, Any], Any]] = {}  # what compares estimates of other agreements: a form's


@dataclass(frozen=True, slots=True)
class _Apart(Limits):
    """Limits of a - b from those of a and b by MOVER: opposing distances from estimate to limit add in squares.

    A difference of binomials has no exact limits of this kind. With few reports each distance is Clopper-Pearson's,
    with many the result is the normal interval of the difference. `collisions` are those of changes among unlisted
    answers, where the limits of a and b do not include them. `shared` is the noise that both have in common.
    """

    first: Limits
    second: Limits
    centres: tuple[Floats, Floats]
    errors: Floats
    collisions: Collisions | None = None
    shared: SharedNoise | None = None

    def between(self, alpha: float) -> Floats:
        (a, b), apart = self.centres, self.centres[0] - self.centres[1]
        (low_a, high_a), (low_b, high_b) = self.first.between(alpha).T, self.second.between(alpha).T
        part = 1.0 if self.shared is None else self.shared.reach(alpha)
        plain = below, above = part * np.hypot(a - low_a, high_b - b), part * np.hypot(high_a - a, b - low_b)
        if self.collisions is not None:
            met = np.maximum(*self.collisions.squares(np.full(len(apart), alpha)))
            below, above = (self.collisions.widened(reach, met) for reach in plain)
            # No share changes by more than one, also where too few cohorts allow no other limit.
            below = np.minimum(below, np.maximum(plain[0], 1 + apart))
            above = np.minimum(above, np.maximum(plain[1], 1 - apart))
        return np.stack([apart - below, apart + above], axis=-1)

    def above_zero(self) -> Floats:
        from scipy.special import ndtr

        apart = self.centres[0] - self.centres[1]
        usable = np.isfinite(self.errors) & (self.errors > 0)
        return np.asarray(np.where(usable, ndtr(-apart / np.where(usable, self.errors, 1.0)), 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """The change from `second` to `first`, symbol by symbol. Made by `difference`.

    Parameters
    ----------
    first, second
        Estimates of the same candidates, of which no report is in both.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["no", "yes"], epsilon=2)
    >>> monday, friday = (dn.decode(dn.Tally(survey, [counts])) for counts in ([700, 300], [500, 500]))
    >>> round(dn.difference(friday, monday)["yes"], 3)
    0.263
    """

    first: Estimate
    second: Estimate

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The candidates of both estimates."""
        return self.first.symbols

    @property
    def rest_name(self) -> str:
        """What tables call the change of the unallocated mass."""
        return next((e.rest_name for e in (self.first, self.second) if type(e) is not Estimate), self.first.rest_name)

    def __getitem__(self, symbol: object) -> float:
        """The change of one symbol, unbiased; `UnknownSymbol`, which is a KeyError, if it was not decoded."""
        return float(self.raw[self.first.index(symbol)])

    def __len__(self) -> int:
        """How many symbols were decoded."""
        return len(self.symbols)

    def __iter__(self) -> Iterator[tuple[Symbol, float]]:
        """Each symbol with its unbiased change, which error bars belong to: `dict(change)` is a dictionary of them."""
        return iter(zip(self.symbols, self.raw.tolist(), strict=True))

    def __contains__(self, symbol: object) -> bool:
        return symbol in self.first

    @property
    def probabilities(self) -> Floats:
        """The difference of the constrained estimates: for charts. Error bars belong to `raw`."""
        return self.first.probabilities - self.second.probabilities

    @property
    def raw(self) -> Floats:
        """The difference of the unbiased estimates."""
        return self.first.raw - self.second.raw

    @cached_property
    def _misfit(self) -> Misfit | None:
        """The residuals of the difference, where both estimates have the same hash functions; None elsewhere.

        Then an unlisted answer shares cells with the same candidates in both. What it adds to one estimate it adds to
        the other, and only its change is left in the difference.
        """
        first, second = self.first, self.second
        if type(first) is not Estimate or type(second) is not Estimate:  # screened ones have models of their own
            return None
        one, two = first.fit, second.fit
        open_ = isinstance(one.system, OpenDesign) and isinstance(two.system, OpenDesign)
        if not open_ or first.tally.survey.encoding != second.tally.survey.encoding:
            return None
        same = first.per_cohort == second.per_cohort and np.array_equal(one.law.kept, two.law.kept)
        both = one.spread.misfit, two.spread.misfit
        return both[0].minus(both[1]) if same and both[0] is not None and both[1] is not None else None

    @cached_property
    def _apart(self) -> Floats:
        """Standard errors of reports of different people."""
        if self._misfit is None:
            return np.hypot(self.first.standard_errors, self.second.standard_errors)
        one, two, size = self.first.fit.spread, self.second.fit.spread, len(self.symbols)
        variances = np.maximum(one.own, 0.0) + np.maximum(two.own, 0.0) + self._misfit.unlisted * one.meeting
        return np.where(one.estimable, np.sqrt(np.maximum(variances, 0.0)), np.inf)[:size]

    @cached_property
    def _shared(self) -> SharedNoise | None:
        """The noise that both estimates have in common, where the same devices may have sent both."""
        first, second = self.first, self.second
        if type(first) is not Estimate or type(second) is not Estimate:
            return None
        # A symbol without an error has no score; with zero for it the bars of the others only get wider.
        zeros = np.zeros_like(self.raw)
        return SharedNoise.of(first.fit, second.fit, np.divide(self.raw, self._apart, out=zeros, where=self._apart > 0))

    @property
    def shared_noise(self) -> str:
        """One sentence where the same devices may be in both: which error bars are shown; else empty.

        >>> import deniable as dn
        >>> survey = dn.krr(symbols=6, epsilon=2, participation="window")
        >>> monday, friday = (dn.decode(dn.Tally(survey, [[50, 30, 9, 5, 3, last]])) for last in (2, 3))
        >>> dn.difference(friday, monday).shared_noise[:52]
        'The same devices may be in both: what the counts sho'
        """
        if self.first.digest != self.second.digest or not self.first.tally.survey.repeats_noise:
            return ""
        if self._shared is None:
            return (
                "The same devices may be in both, which makes them more alike, but the counts do not show how much: "
                "the wider error bars of different people are shown."
            )
        return (
            "The same devices may be in both: what the counts show of the noise that both share is left out of the "
            "error bars, and true change counts as noise."
        )

    @property
    def sharing(self) -> dict[str, Any] | None:
        """What `shared_noise` says, as a case; None where it says nothing.

        >>> import deniable as dn
        >>> survey = dn.krr(symbols=2, epsilon=2, participation="window")
        >>> monday, friday = (dn.decode(dn.Tally(survey, [counts])) for counts in ([60, 40], [50, 50]))
        >>> dn.difference(friday, monday).sharing["case"]
        'unknown'
        """
        if not self.shared_noise:
            return None
        return sharing("unknown" if self._shared is None else "left_out")

    @cached_property
    def standard_errors(self) -> Floats:
        """One standard error per symbol, of `raw`."""
        return self._apart if self._shared is None else self._apart * self._shared.errors

    @cached_property
    def _limits(self) -> Limits:
        one, two = self.first, self.second
        centres = (one.raw, two.raw)
        if self._misfit is None:
            return _Apart(one._limits, two._limits, centres, self.standard_errors, None, self._shared)
        met = symbol_collisions(one.fit, self._misfit)
        return _Apart(own_limits(one.fit), own_limits(two.fit), centres, self.standard_errors, met, self._shared)

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Confidence intervals of the differences; approximate, docs/results/intervals.md has the measured coverage.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.
        simultaneous
            Whether all intervals hold at once with probability `level` (Bonferroni).

        Returns
        -------
        ndarray of shape (S, 2)
        """
        return self._limits.between((1 - check_level(level)) / (len(self.symbols) if simultaneous else 1))

    def changed(self, level: float = 0.95) -> npt.NDArray[np.bool_]:
        """Which symbols changed significantly, with family-wise error at most 1 - `level`.

        These are the symbols whose simultaneous interval does not contain zero.
        """
        low, high = self.intervals(level, simultaneous=True).T
        return np.asarray((low > 0) | (high < 0))

    @cached_property
    def unallocated(self) -> Mass | None:
        """The change of the unallocated mass; None where one of the two estimates has none."""
        a, b = self.first.unallocated, self.second.unallocated
        if a is None or b is None:
            return None
        if self._misfit is None:
            error = float(np.hypot(a.standard_error, b.standard_error))
            limits = _Apart(a.limits, b.limits, (np.array([a.raw]), np.array([b.raw])), np.array([error]))
            return Mass(a.value - b.value, a.raw - b.raw, error, limits)
        last = np.zeros(len(self.symbols) + 1)
        last[-1] = 1.0
        one = sum_limits(self.first.fit, last, lambda: self._misfit)
        two = sum_limits(self.second.fit, last, lambda: None)
        errors = np.hypot(one.errors, two.errors)
        limits = _Apart(replace(one, collisions=None), two, (one.centre, two.centre), errors, one.collisions)
        return Mass(a.value - b.value, a.raw - b.raw, float(errors[0]), limits)

    def to_arrow(self, level: float = 0.95) -> "pa.Table":
        """An Arrow table: symbol, difference, raw, standard_error, low, high, changed."""
        import pyarrow as pa

        low, high = self.intervals(level).T
        return pa.table(
            {
                "symbol": self.first.names,
                "difference": self.probabilities,
                "raw": self.raw,
                "standard_error": self.standard_errors,
                "low": low,
                "high": high,
                "changed": self.changed(level),
            }
        )

    def to_pandas(self, level: float = 0.95) -> Any:
        """The table of `to_arrow` as a pandas DataFrame."""
        return data_frame(self.to_arrow(level))

    def chart(self, *, level: float = 0.95, top: int = 40) -> "alt.LayerChart":
        """One dot and interval per symbol, largest change first; needs the extra `charts`.

        Parameters
        ----------
        level
            The confidence level of the intervals.
        top
            How many symbols to show.

        Returns
        -------
        altair.LayerChart
            Shown by notebooks; `deniable.charts.save_chart` writes it to a file.
        """
        from deniable.charts import difference_chart

        order = self._largest(top)
        names = [self.first.labels[i] for i in order]
        marks = self.changed(level)[order].tolist()
        return difference_chart(names, self.raw[order], self.intervals(level)[order], changed=marks, level=level)

    plot = chart  # the name in earlier versions

    def _largest(self, count: int) -> list[int]:
        return [int(i) for i in np.argsort(-np.abs(self.raw), kind="stable")[:count]]

    @property
    def _is_quick(self) -> bool:
        return len(self.symbols) <= QUICK_SYMBOLS

    def __repr__(self) -> str:
        """The largest changes, each with its standard error where that is quick to compute."""
        parts = [
            f"{self.symbols[i]!r} {self.raw[i]:+.3f}{f' ± {self.standard_errors[i]:.3f}' if self._is_quick else ''}"
            for i in self._largest(3)
        ]
        line = ", ".join(parts) + (", ..." if len(self.symbols) > 3 else "")
        return f"<Difference of {len(self.symbols)} symbols, {self.second.n} to {self.first.n} reports: {line}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the largest changes as bars, with 95 % intervals; significant ones are marked."""
        most, rows = max(float(np.abs(self.raw).max()), 1e-12), []
        for i in self._largest(ROWS):
            limits = mark = ""
            if self._is_quick:
                low, high = np.clip(self.intervals()[i], -1.0, 1.0)
                limits, mark = f"{100 * low:+.2f} to {100 * high:+.2f} %", "changed" if self.changed()[i] else ""
            change = f"{100 * self.raw[i]:+.2f} %"
            rows.append((self.first.labels[i], Bar(abs(self.raw[i]) / most), change, limits, mark))
        name = self.first.tally.survey.name or "Difference"
        title = f"{name}: {self.second.n:,} to {reports_in_words(self.first.n)}"
        note = note_on_rest(len(self.symbols), "change")
        return html_table(title, ["answer", "", "change", "95 % interval", ""], rows, note=note)


@overload
def difference(first: Estimate, second: Estimate) -> Difference: ...
@overload
def difference(first: Any, second: Any) -> Any: ...
def difference(first: Any, second: Any) -> Any:
    """first - second, for two estimates of the same candidates from other reports.

    Reports of two groups of people are independent. Where people take part again (`Survey.participation`) the same
    devices repeat their noise, and differences vary less: the error bars follow what the counts show of it
    (`Difference.shared_noise`). Tallies that overlap (a day and its week) are not independent in this sense.

    In two estimates of one open survey the same unlisted answers share cells with the same candidates. What they add
    cancels in the difference, so heavy unlisted answers do not hide a change.

    Parameters
    ----------
    first, second
        Estimates with the same symbols in the same order; or two of forms with the same questions.

    Returns
    -------
    Difference
        Of forms one for each question, by its name.

    Raises
    ------
    DecodeError
        If one is no estimate, or their symbols differ.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["no", "yes"], epsilon=2)
    >>> monday, friday = (dn.decode(dn.Tally(survey, [counts])) for counts in ([700, 300], [500, 500]))
    >>> change = dn.difference(friday, monday)
    >>> change
    <Difference of 2 symbols, 1000 to 1000 reports: 'yes' +0.263 ± 0.028, 'no' -0.263 ± 0.028>
    >>> change.intervals(0.95).round(3), change.changed()
    (array([[-0.318, -0.206],
           [ 0.206,  0.318]]), array([ True,  True]))
    """
    if (other := differences_of.get(type(first))) is not None and type(second) is type(first):
        return other(first, second)
    for name, estimate in (("first", first), ("second", second)):
        if not isinstance(estimate, Estimate):
            raise DecodeError(f"{name} must be an estimate, got {type(estimate).__name__}; decode the tally")
    kinds = [[(type(s), s) for s in estimate.symbols] for estimate in (first, second)]
    if kinds[0] != kinds[1]:
        raise DecodeError(
            f"second must have the candidates of the first in the same order, got {len(second.symbols)} against "
            f"{len(first.symbols)}; decode both with one list"
        )
    return Difference(first, second)
