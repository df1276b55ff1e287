"""`Estimate`: a distribution with its standard errors, intervals and provenance."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution
from deniable.decoders.constraints import Constraint
from deniable.decoders.diagnostics import Diagnostics, diagnose
from deniable.decoders.fit import LinearFit
from deniable.decoders.intervals import Group, Mass, mass_of, sum_limits, symbol_limits
from deniable.decoders.labels import column_of, labels_of
from deniable.decoders.limits import Limits, SkewedLimits, check_level, holm
from deniable.decoders.quantities import (
    Cumulative,
    Quantity,
    bands,
    cumulative,
    cumulative_limits,
    mean,
    quantile,
    share,
    smoothed_limits,
)
from deniable.decoders.shown import estimate_html, largest_shares
from deniable.design import Design, OpenDesign
from deniable.errors import AlphabetError, DecodeError, UnknownSymbol
from deniable.survey import Symbol, data_frame
from deniable.tally import Tally

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """The estimated distribution of answers, with error bars. Made by `decode`.

    `probabilities` is the decoder's answer under its constraint. `raw` is the unbiased estimate: standard errors,
    covariance and intervals belong to it, and it is what should be summed, compared or averaged.

    Parameters
    ----------
    symbols
        The candidates, in the order of the survey or of `decode(candidates=...)`.
    probabilities, raw
        One number per symbol.
    decoder, constraint
        What made them.
    tally
        A copy of the counts.
    design
        The matrix H of the survey and the candidates.
    per_cohort
        Whether counts were divided by the reports of their own cohort.
    rest
        The unallocated mass, under the constraint and raw; None where there is none.
    turnover
        The part of the devices that are replaced each window, where they take part again and it was given.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["no", "yes"], epsilon=1)
    >>> estimate = dn.decode(dn.Tally(survey, [[600, 400]]))
    >>> estimate
    <Estimate of 2 symbols from 1000 reports: 'no' 0.716 (0.649 to 0.782), 'yes' 0.284 (0.218 to 0.351)>
    >>> estimate["yes"] == dict(estimate)["yes"], len(estimate), "maybe" in estimate
    (True, 2, False)
    >>> estimate.intervals(0.95).round(3)
    array([[0.649, 0.782],
           [0.218, 0.351]])
    """

    symbols: tuple[Symbol, ...]
    probabilities: Floats
    raw: Floats
    decoder: Decoder
    constraint: Constraint
    tally: Tally
    design: Design
    per_cohort: bool = True
    rest: tuple[float, float] | None = None
    turnover: float | None = None

    @classmethod
    def of(
        cls,
        solution: Solution,
        symbols: Sequence[Symbol],
        decoder: Decoder,
        constraint: Constraint,
        tally: Tally,
        design: Design,
        turnover: float | None = None,
    ) -> "Estimate":
        """The estimate of a solution.

        The constraint is applied to all unknowns. The unallocated mass, the last of an `OpenDesign`, is then split off.

        Parameters
        ----------
        solution
            What the decoder returned.
        symbols
            The candidates, in the order of the unknowns.
        decoder, constraint
            What made the solution, and what is applied to it.
        tally
            The counts. They are copied, so later reports do not change the estimate.
        design
            The matrix H of the survey and the candidates.
        turnover
            The part of the devices that are replaced each window; None if it is not known.

        Returns
        -------
        Estimate
            With values under the constraint, and unbiased ones beside them.

        Examples
        --------
        >>> import deniable as dn
        >>> from deniable.design import design_of
        >>> tally = dn.Tally(dn.warner(epsilon=1), [[600, 400]])
        >>> design = design_of(tally.survey)
        >>> solution = dn.Inversion().solve([tally], design)[0]
        >>> made = dn.Estimate.of(solution, tally.survey.symbols, dn.Inversion(), dn.Projected(), tally, design)
        >>> round(made["yes"], 3)
        0.284
        """
        # With one cohort the two normalisations are one.
        per_cohort = getattr(decoder, "per_cohort", True) or tally.survey.cohorts == 1
        values, raw, rest = constraint.apply(solution.values), solution.raw, None
        if isinstance(design, OpenDesign):
            values, raw, rest = values[:-1], raw[:-1], (float(values[-1]), float(raw[-1]))
        return cls(tuple(symbols), values, raw, decoder, constraint, tally.copy(), design, per_cohort, rest, turnover)

    @cached_property
    def fit(self) -> LinearFit:
        """The linear algebra behind `raw`: what intervals and diagnostics are computed from."""
        unknowns = self.raw if self.rest is None else np.append(self.raw, self.rest[1])
        return LinearFit(unknowns, self.tally, self.design, self.per_cohort, self.decoder.inverts, self.turnover)

    @property
    def shared_noise(self) -> str:
        """One sentence where windows of the same devices were added up: which error bars are shown; else empty.

        Devices that take part in every window repeat their noise, which does not average out. How many devices two
        windows share is bounded by the smaller one, and by the turnover where `decode` was given it.

        >>> import deniable as dn
        >>> survey = dn.warner(epsilon=1, participation="window")
        >>> week = sum(dn.Tally(survey, [[60, 40]]) for _ in range(7))
        >>> dn.decode(week, turnover=0.1).shared_noise[:55], dn.decode(dn.Tally(survey, [[60, 40]])).shared_noise
        ('7 windows share devices, which repeat their noise, but ', '')
        """
        return str(self.fit.repeated)

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.tally.n

    @property
    def digest(self) -> str:
        """The digest of the survey that was answered."""
        return self.tally.survey.digest

    def __getitem__(self, symbol: object) -> float:
        """The probability of one symbol; `UnknownSymbol`, which is a KeyError, if it was not decoded."""
        return float(self.probabilities[self.index(symbol)])

    def __len__(self) -> int:
        """How many symbols were decoded."""
        return len(self.symbols)

    def __iter__(self) -> Iterator[tuple[Symbol, float]]:
        """Each symbol with its probability, in the order of `symbols`: `dict(estimate)` is a dictionary of shares."""
        return iter(zip(self.symbols, self.probabilities.tolist(), strict=True))

    def __contains__(self, symbol: object) -> bool:
        try:
            return self.index(symbol) >= 0
        except (AlphabetError, UnknownSymbol):
            return False

    def index(self, symbol: object) -> int:
        """The index of a symbol in `symbols`, `probabilities` and `raw`.

        Parameters
        ----------
        symbol
            A symbol, in any spelling that the survey reads as the same.

        Returns
        -------
        int
            From 0.

        Raises
        ------
        UnknownSymbol
            If it was not decoded.

        Examples
        --------
        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.warner(epsilon=1), [[60, 40]])).index("yes")
        1
        """
        index = self._indices.get(self.tally.survey.alphabet.canonical(symbol))
        if index is None:
            raise UnknownSymbol(f"symbol must be one of the {len(self.symbols)} that were decoded")
        return index

    @cached_property
    def _indices(self) -> dict[Symbol, int]:
        return {symbol: index for index, symbol in enumerate(self.symbols)}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One distinct text per symbol: text and integers as they are, bytes and mixtures as JSON.

        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.krr(symbols=["1", 1], epsilon=1), [[3, 1]])).labels
        ('"1"', '1')
        """
        return labels_of(self.symbols)

    @property
    def names(self) -> list[Symbol]:
        """The symbols as a column can hold them: as they are if they are of one type that fits, else `labels`."""
        return column_of(self.symbols)

    @property
    def rank(self) -> int:
        """The rank of H: how many combinations of candidates (and the unallocated mass) the reports determine."""
        return self.fit.rank

    @property
    def condition(self) -> float:
        """The condition number of H' H over its range; an estimate of it where H has full rank."""
        return self.fit.condition

    @property
    def takes_minutes(self) -> bool:
        """Whether error bars take minutes and gigabytes: beyond 8,192 candidates that were estimated jointly.

        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.krr(symbols=2, epsilon=1), [[6, 4]])).takes_minutes
        False
        """
        return not self.fit.blocks and not self.fit.is_kept

    @property
    def rest_name(self) -> str:
        """What tables call the unallocated mass: "(unlisted)", answers that are not among the candidates."""
        return "(unlisted)"

    @cached_property
    def unallocated(self) -> Mass | None:
        """The mass that no candidate explains; None where the alphabet is closed or the candidates are complete.

        With index reports (O-RR) its `raw` is one minus the sum of the candidates' raw estimates, exactly. With more
        candidates than the reports have equations it is not determined: its interval is infinite.

        >>> import deniable as dn
        >>> survey = dn.orr(epsilon=6, cells=16, cohorts=8, seed=bytes(16))
        >>> tally = dn.count(survey, dn.privatize(survey, ["a"] * 60_000 + ["b"] * 40_000))
        >>> bool(abs(dn.decode(tally, candidates=["a", "c"]).unallocated.value - 0.4) < 0.2)
        True
        """
        if self.rest is None:
            return None
        return mass_of(self.fit, self._indicator([-1]), self.rest[0])

    def _indicator(self, indices: Sequence[int] | npt.NDArray[np.intp]) -> Floats:
        """One at these unknowns, zero elsewhere."""
        inside = np.zeros(len(self.fit.unknowns))
        inside[indices] = 1.0
        return inside

    @property
    def covariance(self) -> Floats:
        """The estimated covariance of `raw`, S x S.

        It is the exact formula with observed frequencies in place of expected ones. Where an answer occupies one cell
        (every mechanism but O-RAPPOR with h > 1) these are the column frequencies of each cohort, so the covariance is
        valid whether or not the candidates are complete. With h > 1 it depends on which bits belong to one answer,
        which only the estimate itself tells. Where the candidates of an open alphabet may be incomplete it includes
        what unlisted answers add by sharing cells with a candidate more or less often than on average.

        Raises
        ------
        DecodeError
            Beyond 8,192 candidates; `standard_errors`, `intervals` and `total` do not need the matrix.
        """
        return self.fit.covariance[: len(self.symbols), : len(self.symbols)]

    @property
    def standard_errors(self) -> Floats:
        """One standard error per symbol, of `raw`; infinite where the reports do not determine the symbol.

        A candidate is determined if no other combination of candidates occupies the same cells in every cohort.
        Candidates with identical columns are not; `groups` has their sum.

        Computed on first use: seconds for thousands of candidates over cohorts, minutes and 4 GiB for 20,000, which
        are the most (`takes_minutes`).
        """
        return self.fit.standard_errors

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Candidates that share every cell in every cohort that reported, with the estimate of their sum.

        >>> import deniable as dn, numpy as np
        >>> survey = dn.orr(epsilon=3, cells=2, cohorts=1, seed=bytes(16))
        >>> tally = dn.Tally(survey, [[700, 300]])
        >>> [group.symbols for group in dn.decode(tally, candidates=["a", "b", "c"]).groups]
        [('a', 'b')]
        """
        found = []
        for members in self.fit.system.twins:
            limits = sum_limits(self.fit, self._indicator(members), lambda: self.fit.spread.misfit)
            names = tuple(self.symbols[i] for i in members)
            found.append(Group(names, float(self.raw[members].sum()), float(limits.errors[0])))
        return tuple(found)

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Confidence intervals for each symbol, around the unbiased estimate.

        For k-ary surveys and block designs of one block the count of a symbol is binomial, so these are
        Clopper-Pearson intervals: they cover at least `level`. Over several blocks or cohorts they are computed from
        the covariance and the skewness of the estimate (`decoders.limits`) and are approximate: `interval_kind` says
        which, docs/results/intervals.md has the measured coverage. Where candidates may be missing, intervals include
        the noise of unlisted answers; with few cohorts a lower limit may be zero for that reason.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.
        simultaneous
            Whether all intervals hold at once with probability `level` (Bonferroni).

        Returns
        -------
        ndarray of shape (S, 2)
            Lower and upper limits. They may lie outside [0, 1], as the unbiased estimate may; cutting them there loses
            no coverage.

        Raises
        ------
        DecodeError
            If `level` is not between 0 and 1, or beyond 20,000 candidates that were estimated jointly.
        """
        alpha = (1 - check_level(level)) / (len(self.symbols) if simultaneous else 1)
        return self._limits.between(alpha)

    @cached_property
    def _limits(self) -> Limits:
        return symbol_limits(self.fit)

    @property
    def interval_kind(self) -> str:
        """ "exact" where intervals cover at least their level; "approximate" elsewhere.

        A list of candidates that was screened has "conditional" ones: given that a candidate was kept, or was not.

        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.krr(symbols=2, epsilon=1), [[6, 4]])).interval_kind
        'exact'
        """
        return "exact" if self._limits.exact else "approximate"

    def significant(self, level: float = 0.95) -> npt.NDArray[np.bool_]:
        """Which symbols are significantly above zero, with family-wise error at most 1 - `level`.

        Holm's test on one-sided p-values, which are exact where counts are binomial. A symbol whose simultaneous
        interval lies above zero is always marked. A marked symbol may have an interval that reaches zero: intervals
        are two-sided, and Holm's test is stronger than Bonferroni's. No symbol is marked where an open survey has too
        few cohorts to tell a candidate from an unlisted answer (`diagnostics` says so).

        Parameters
        ----------
        level
            One minus the family-wise error: the probability that no symbol is marked wrongly.

        Returns
        -------
        ndarray of bool
            One entry per symbol.

        Examples
        --------
        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.krr(symbols=3, epsilon=2), [[900, 60, 60]])).significant()
        array([ True, False, False])
        """
        return holm(self._p_values, check_level(level))

    @cached_property
    def _p_values(self) -> Floats:
        return self._limits.above_zero()

    def total(self, symbols: Iterable[object]) -> Mass:
        """The mass of several symbols together, with its own standard error and interval.

        Exact where each symbol has one cell and a report names one (k-RR, Warner): reports in a set of cells are
        binomial. Elsewhere computed from the covariance: estimates are correlated, so the errors of single symbols do
        not add up.

        Parameters
        ----------
        symbols
            Symbols that were decoded; repeats count once.

        Returns
        -------
        Mass

        Raises
        ------
        DecodeError
            If `symbols` is empty or no collection.
        UnknownSymbol
            If a symbol was not decoded.

        Examples
        --------
        >>> import deniable as dn
        >>> estimate = dn.decode(dn.Tally(dn.krr(symbols=["a", "b", "c"], epsilon=2), [[700, 200, 100]]))
        >>> total = estimate.total(["b", "c"])
        >>> round(total.value, 3), [round(x, 3) for x in total.interval(0.95)], total.exact
        (0.133, [0.086, 0.171], True)
        """
        indices = sorted({self.index(symbol) for symbol in symbol_list(symbols)})
        if not indices:
            raise DecodeError("symbols must hold at least one symbol, got none")
        return mass_of(self.fit, self._indicator(indices), float(self.probabilities[indices].sum()))

    def mean(self) -> Quantity:
        """The mean of answers that are numbers, with its standard error and interval.

        Where numbers are in bins the interval holds wherever in their bins they are: half a bin is added on each side.

        Returns
        -------
        Quantity

        Raises
        ------
        DecodeError
            If the answers are no numbers, or in no order.

        Examples
        --------
        >>> import deniable as dn
        >>> survey = dn.number(18, 90, 1.0, step=1)
        >>> ages = np.random.default_rng(0).integers(30, 60, 50_000)
        >>> estimate = dn.decode(dn.simulate(survey, numbers=ages, rng=np.random.default_rng(0)))
        >>> low, high = estimate.mean().interval()
        >>> bool(low < ages.mean() < high)
        True
        """
        return mean(self)

    def quantile(self, q: float) -> Quantity:
        """The least answer that a share `q` of all answers does not exceed, with its interval: 0.5 is the median.

        The interval has every number that a test at this level does not exclude, for every population: it covers more
        often than its level says.

        Parameters
        ----------
        q
            A share strictly between 0 and 1.

        Returns
        -------
        Quantity
            A number, or a symbol of `dn.ordered`.

        Raises
        ------
        DecodeError
            If the answers have no order, or `q` is not between 0 and 1.

        Examples
        --------
        >>> import deniable as dn
        >>> survey = dn.ordered(["never", "seldom", "often"], 3)
        >>> dn.decode(dn.simulate(survey, [0.6, 0.3, 0.1], n=10_000, rng=np.random.default_rng(0))).quantile(0.5)
        <Quantity never (never to never)>
        """
        return quantile(self, q)

    def share(self, start: object, stop: object) -> Quantity:
        """The share of answers from `start` to `stop`, with its standard error and interval.

        Parameters
        ----------
        start, stop
            Numbers; or symbols of `dn.ordered` or numbers of a step, both of which are included. Numbers outside of
            the scale are counted in its outer bins.

        Returns
        -------
        Quantity
            Where an end lies within a bin, the interval holds wherever in that bin the numbers are.

        Raises
        ------
        DecodeError
            If the answers have no order, or `start` comes after `stop`.

        Examples
        --------
        >>> import deniable as dn
        >>> survey = dn.number(0, 100, 2.0, bins=20)
        >>> estimate = dn.decode(dn.simulate(survey, np.full(20, 0.05), n=10**6, rng=np.random.default_rng(0)))
        >>> estimate.share(25, 50)
        <Quantity 0.2503 (0.2458 to 0.2568)>
        """
        return share(self, start, stop)

    def cdf(self, level: float = 0.95) -> Cumulative:
        """P(answer <= x) at the edge of every bin, or at every answer of an order, with pointwise intervals.

        Parameters
        ----------
        level
            The confidence level of each interval.

        Returns
        -------
        Cumulative
            With `points`, `values`, `raw`, `low` and `high`.

        Raises
        ------
        DecodeError
            If the answers have no order.

        Examples
        --------
        >>> import deniable as dn
        >>> tally = dn.simulate(dn.ordered(4, 2), [0.1, 0.2, 0.3, 0.4], n=10**7, rng=np.random.default_rng(0))
        >>> dn.decode(tally).cdf().values.round(2)
        array([0.1, 0.3, 0.6, 1. ])
        """
        return cumulative(self, level)

    @cached_property
    def _cumulative(self) -> SkewedLimits:
        return cumulative_limits(self)

    @cached_property
    def _smoothed(self) -> tuple[int, SkewedLimits]:
        return smoothed_limits(self)

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Rank, condition, twins, goodness of fit, cohort sizes, and the influence of planted reports.

        >>> import deniable as dn
        >>> print(dn.decode(dn.Tally(dn.krr(symbols=4, epsilon=1), [[40, 20, 20, 20]])).diagnostics)
        rank 4, condition 1
        fit: nothing to test it by
        influence: 1 % planted reports can raise one symbol by up to 2.66 points of mass
        """
        return diagnose(self.fit, self.symbols)

    def to_arrow(self, level: float = 0.95) -> "pa.Table":
        """An Arrow table with one row per symbol, in the order of `symbols`.

        Parameters
        ----------
        level
            The confidence level of `low`, `high` and `significant`.

        Returns
        -------
        pyarrow.Table
            The columns symbol, probability, raw, standard_error, low, high, significant. Where there is an unallocated
            mass it is the last row, with no symbol.

        Examples
        --------
        >>> import deniable as dn
        >>> table = dn.decode(dn.Tally(dn.warner(epsilon=1), [[60, 40]])).to_arrow()
        >>> table.column_names
        ['symbol', 'probability', 'raw', 'standard_error', 'low', 'high', 'significant']
        """
        import pyarrow as pa

        low, high = self.intervals(level).T.tolist()
        columns: dict[str, list[Any]] = {
            "symbol": list(self.names),
            "probability": self.probabilities.tolist(),
            "raw": self.raw.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "low": low,
            "high": high,
            "significant": self.significant(level).tolist(),
        }
        if (rest := self.unallocated) is not None:
            row = (None, rest.value, rest.raw, rest.standard_error, *rest.interval(level), None)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        return pa.table(columns)

    def to_pandas(self, level: float = 0.95) -> Any:
        """The table of `to_arrow` as a pandas DataFrame.

        Parameters
        ----------
        level
            The confidence level of `low`, `high` and `significant`.

        Returns
        -------
        pandas.DataFrame
            The same columns and rows.

        Examples
        --------
        >>> import deniable as dn
        >>> frame = dn.decode(dn.Tally(dn.warner(epsilon=1), [[60, 40]])).to_pandas()
        >>> frame["symbol"].tolist()
        ['no', 'yes']
        """
        return data_frame(self.to_arrow(level))

    def chart(self, *, level: float = 0.95, top: int = 40, raw: bool = False) -> "alt.LayerChart":
        """Bars with intervals, largest first; for numbers a density with a band. Needs the extra `charts`.

        Parameters
        ----------
        level
            The confidence level of the intervals.
        top
            How many symbols to show.
        raw
            Whether to add a dot for each unbiased estimate, which the intervals belong to.

        Returns
        -------
        altair.LayerChart
            Shown by notebooks; `deniable.charts.save_chart` writes it to a file.

        Examples
        --------
        >>> import deniable as dn
        >>> estimate = dn.decode(dn.Tally(dn.warner(epsilon=1), [[60, 40]]))
        >>> estimate.chart().to_dict()["description"]
        'Estimated shares of 2 symbols with 95 % intervals'
        >>> estimate.plot(level=0.9).to_dict()["description"]        # the name in earlier versions
        'Estimated shares of 2 symbols with 90 % intervals'
        """
        from deniable.charts import density_chart, estimate_chart

        if (scale := self.tally.survey.alphabet.bins) is not None:
            marked = {"mean": self.mean(), "median": self.quantile(0.5)}
            figures = {name: (figure.value, *figure.interval(level)) for name, figure in marked.items()}
            shares, ranges = self.probabilities.tolist(), bands(self, level)
            return density_chart(scale.edges, shares, ranges, figures=figures, level=level)
        order = np.argsort(-self.probabilities, kind="stable")[:top]
        intervals = self.intervals(level)[order]
        names = [self.labels[i] for i in order]
        dots = self.raw[order] if raw else None
        return estimate_chart(names, self.probabilities[order], intervals, level=level, raw=dots)

    plot = chart  # the name in earlier versions

    def __repr__(self) -> str:
        """The largest shares, each with its 95 % interval where that is quick to compute."""
        return f"<Estimate of {len(self.symbols)} symbols from {self.n} reports: {largest_shares(self)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the largest shares as bars, with 95 % intervals."""
        return estimate_html(self)


def symbol_list(symbols: object) -> list[object]:
    """A collection of symbols as a list; a `DecodeError` for anything else, such as one text."""
    if isinstance(symbols, (str, bytes)) or not isinstance(symbols, Iterable):
        raise DecodeError(f"symbols must be a collection of symbols, got one {type(symbols).__name__}")
    return list(symbols)
