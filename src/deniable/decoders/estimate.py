"""`Estimate`: a distribution that is never a bare number, with its standard errors, intervals and provenance."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.decoders.arrow import column_of, estimate_table, labels_of
from deniable.decoders.base import Decoder, Solution
from deniable.decoders.cell_law import CellLaw
from deniable.decoders.constraints import Constraint
from deniable.decoders.diagnostics import Diagnostics, diagnose
from deniable.decoders.intervals import Group, Mass, mass_of, sum_limits, symbol_limits
from deniable.decoders.limits import Limits, check_level, holm
from deniable.decoders.shown import estimate_html, largest_shares
from deniable.decoders.spread import Spread, check_kept, is_kept
from deniable.design import BlockDesign, Design, OpenDesign
from deniable.errors import AlphabetError, DecodeError, UnknownSymbol
from deniable.survey import Symbol
from deniable.survey.notebook import data_frame
from deniable.tally import Tally
from deniable.theory.covariance import inversion_covariance, inversion_variances

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["Estimate"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """What the crowd does, with error bars.

    `probabilities` is the decoder's answer under its constraint; `raw` is the unbiased estimate, to which
    `standard_errors`, `covariance` and `intervals` belong and which is what should be summed, compared or averaged.

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
    rest: tuple[float, float] | None = None  # the unallocated mass, under the constraint and raw

    @classmethod
    def of(
        cls,
        solution: Solution,
        symbols: Sequence[Symbol],
        decoder: Decoder,
        constraint: Constraint,
        tally: Tally,
        design: Design,
    ) -> "Estimate":
        """The estimate of a solution; the tally is copied, so later reports do not change it.

        The constraint acts on all unknowns; the unallocated mass, the last one of an `OpenDesign`, is then split off.
        """
        # With one cohort the two normalisations are one.
        per_cohort = getattr(decoder, "per_cohort", True) or tally.survey.cohorts == 1
        values, raw, rest = constraint.apply(solution.values), solution.raw, None
        if isinstance(design, OpenDesign):
            values, raw, rest = values[:-1], raw[:-1], (float(values[-1]), float(raw[-1]))
        return cls(tuple(symbols), values, raw, decoder, constraint, tally.copy(), design, per_cohort, rest)

    @property
    def n(self) -> int:
        """Reports behind this estimate."""
        return self.tally.n

    @property
    def digest(self) -> str:
        """The digest of the survey that was answered."""
        return self.tally.survey.digest

    def __getitem__(self, symbol: object) -> float:
        """The probability of one symbol; `UnknownSymbol`, which is a KeyError, if it was not decoded."""
        return float(self.probabilities[self._place(symbol)])

    def __len__(self) -> int:
        """How many symbols were decoded."""
        return len(self.symbols)

    def __iter__(self) -> Iterator[tuple[Symbol, float]]:
        """Each symbol with its probability, in the order of `symbols`: `dict(estimate)` is a dictionary of shares."""
        return iter(zip(self.symbols, self.probabilities.tolist(), strict=True))

    def __contains__(self, symbol: object) -> bool:
        try:
            return self._place(symbol) >= 0
        except (AlphabetError, UnknownSymbol):
            return False

    def _place(self, symbol: object) -> int:
        place = self._places.get(self.tally.survey.alphabet.canonical(symbol))
        if place is None:
            raise UnknownSymbol(f"symbol must be one of the {len(self.symbols)} that were decoded")
        return place

    @cached_property
    def _places(self) -> dict[Symbol, int]:
        return {symbol: place for place, symbol in enumerate(self.symbols)}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One distinct text a symbol: text and integers as they are, bytes and mixtures as JSON.

        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.krr(symbols=["1", 1], epsilon=1), [[3, 1]])).labels
        ('"1"', '1')
        """
        return labels_of(self.symbols)

    @property
    def _blocks(self) -> BlockDesign | None:
        """The design, where `raw` is its closed form: nothing was solved, and one cell a symbol leaves no choice."""
        if not isinstance(self.design, BlockDesign):
            return None
        return self.design if self.decoder.inverts or self.design.occupied == 1 else None

    @cached_property
    def _system(self) -> Design:
        """The design without cohorts that sent nothing."""
        return self.design.only(self.tally.reports > 0) if self.per_cohort else self.design

    @cached_property
    def _law(self) -> CellLaw:
        """What is known about the columns, where something was solved."""
        return CellLaw.of(self.tally, self._system, self._unknowns, per_cohort=self.per_cohort)

    @property
    def _unknowns(self) -> Floats:
        """What was solved for: `raw`, and after it the unallocated mass where there is one."""
        return self.raw if self.rest is None else np.append(self.raw, self.rest[1])

    @property
    def rank(self) -> int:
        """The rank of H: how many combinations of candidates (and the unallocated mass) the reports determine."""
        if self._blocks:
            return len(self.symbols)
        return self._system.factor.rank if self._is_kept else self._spread.rank

    @property
    def condition(self) -> float:
        """The condition number of H' H over its range; an estimate of it where H has full rank."""
        if isinstance(self.design, BlockDesign):
            return self.design.condition
        return self._system.factor.condition if self._is_kept else self._spread.condition

    @property
    def _is_kept(self) -> bool:
        return is_kept(len(self.symbols))

    @property
    def takes_minutes(self) -> bool:
        """Whether error bars are minutes of work and gigabytes: beyond 8,192 candidates that were solved for together.

        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.krr(symbols=2, epsilon=1), [[6, 4]])).takes_minutes
        False
        """
        return not self._blocks and not self._is_kept

    @cached_property
    def _spread(self) -> Spread:
        """The variances, where something was solved."""
        return Spread.of(self._system, self._law, self.tally, per_cohort=self.per_cohort)

    @property
    def rest_name(self) -> str:
        """What tables call the unallocated mass: "(unlisted)", answers that are not among the candidates."""
        return "(unlisted)"

    @cached_property
    def unallocated(self) -> Mass | None:
        """The mass that no candidate explains; None where the alphabet is closed or the candidates are all there is.

        With index reports (O-RR) `raw` is one minus the sum of the candidates' raw estimates, exactly. With more
        candidates than the reports have equations it is not determined: its interval is infinite.

        >>> import deniable as dn
        >>> survey = dn.orr(epsilon=6, cells=16, cohorts=8, seed=bytes(16))
        >>> tally = dn.count(survey, dn.privatize(survey, ["a"] * 60_000 + ["b"] * 40_000))
        >>> bool(abs(dn.decode(tally, candidates=["a", "c"]).unallocated.value - 0.4) < 0.2)
        True
        """
        if self.rest is None:
            return None
        last = np.zeros(len(self._unknowns))
        last[-1] = 1.0
        return mass_of(self, last, self.rest[0])

    @property
    def covariance(self) -> Floats:
        """The estimated covariance of `raw`, S x S.

        The exact formula with what was observed in place of what is expected. Where an answer occupies one cell (every
        mechanism but O-RAPPOR with h > 1) that is the column frequencies of each cohort, so this is the spread of `raw`
        whether or not the candidates are complete. With h > 1 bits of one answer go together, and which do is known
        only through the estimate itself. Where the candidates of an open alphabet need not be complete it holds what
        unlisted answers add by meeting candidates more or less often than on average, as far as the fit shows it.
        Refused beyond 8,192 candidates: `standard_errors`, `intervals` and `total` do not need it.
        """
        return self._covariance[: len(self.symbols), : len(self.symbols)]

    @cached_property
    def _covariance(self) -> Floats:
        """`covariance`, with a last row and column for the unallocated mass where there is one."""
        check_kept(len(self.symbols))
        mechanism, tally = self.tally.survey.mechanism, self.tally
        if self._blocks:
            return inversion_covariance(self._blocks, mechanism, tally.counts / tally.n, tally.n)
        system = self._system
        middle = self._law.scores(tally, system, per_cohort=self.per_cohort).matrix() + self._spread.noise(system)
        half = system.factor.solve(middle)
        full = system.factor.solve(np.ascontiguousarray(half.T))
        return (full + full.T) / 2

    @cached_property
    def standard_errors(self) -> Floats:
        """One standard error a symbol, of `raw`; infinite where the reports cannot determine the symbol at all.

        A candidate is determined when no other combination of candidates looks the same to every cohort. Candidates
        with identical columns never are, one by one: see `groups` for what is known about their sum.

        Found when asked for: seconds for thousands of candidates over cohorts, minutes and 4 GiB for 20,000, which are
        the most (`takes_minutes`).
        """
        if self._blocks:  # one or two counts a symbol: no matrix is needed
            # A count of none or all would claim to be certain; half a report keeps it from that.
            edge, columns = 0.5 / (self.n + 1), self.tally.counts / self.n
            variances = inversion_variances(self._blocks, self.tally.survey.mechanism, columns, self.n, edge=edge)
            return np.sqrt(variances)
        size = len(self.symbols)
        spread = np.sqrt(np.maximum(self._spread.variances[:size], 0.0))
        return np.where(self._spread.estimable[:size], spread, np.inf)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Candidates that share every cell in every cohort that reported, by name, with the sum that is known.

        >>> import deniable as dn, numpy as np
        >>> survey = dn.orr(epsilon=3, cells=2, cohorts=1, seed=bytes(16))
        >>> tally = dn.Tally(survey, [[700, 300]])
        >>> [group.symbols for group in dn.decode(tally, candidates=["a", "b", "c"]).groups]
        [('a', 'b')]
        """
        found = []
        for members in self._system.twins:
            inside = np.zeros(self._system.symbols)
            inside[members] = 1.0
            names = tuple(self.symbols[i] for i in members)
            error = float(sum_limits(self, inside, lambda: self._spread.misfit).errors[0])
            found.append(Group(names, float(self.raw[members].sum()), error))
        return tuple(found)

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Confidence intervals for each symbol, shape (S, 2), around the unbiased estimate.

        For k-ary surveys, and block designs of one block, the count of a symbol is exactly binomial, so these are
        Clopper-Pearson intervals, mapped: they cover at least `level`, always. Over blocks and cohorts they come from
        the covariance and the skewness of the estimate (`decoders.limits`) and are approximate: `interval_kind` says
        which, docs/results/intervals.md what they cover. Where candidates are missing, the noise of what they leave
        out is in them; with few cohorts it may leave a lower limit of zero. With `simultaneous` all of them hold at
        once with probability `level` (Bonferroni). They may reach outside [0, 1], as the unbiased estimate does;
        cutting them there loses no coverage.
        """
        alpha = (1 - check_level(level)) / (len(self.symbols) if simultaneous else 1)
        return self._limits.between(alpha)

    @cached_property
    def _limits(self) -> Limits:
        return symbol_limits(self)

    @property
    def interval_kind(self) -> str:
        """ "exact" where intervals cover at least their level, always; "approximate" elsewhere.

        A list of candidates that was screened has "conditional" ones: given that a candidate was kept, or was not.

        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.krr(symbols=2, epsilon=1), [[6, 4]])).interval_kind
        'exact'
        """
        return "exact" if self._limits.exact else "approximate"

    def significant(self, level: float = 0.95) -> npt.NDArray[np.bool_]:
        """Which symbols are significantly above zero, family-wise: all these statements hold at once with that level.

        Holm's test on one-sided p-values, exact binomial ones where counts are binomial. A symbol whose simultaneous
        interval lies above zero is always marked; one that is marked may have an interval that reaches zero, because
        intervals look to both sides and do not profit from what was marked already. Nothing is marked where an open
        survey has too few cohorts to tell a candidate from an answer that is not listed (`diagnostics` says so).

        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.krr(symbols=3, epsilon=2), [[900, 60, 60]])).significant()
        array([ True, False, False])
        """
        return holm(self._p_values, check_level(level))

    @cached_property
    def _p_values(self) -> Floats:
        return self._limits.above_zero()

    def total(self, symbols: Iterable[object]) -> Mass:
        """The mass of several symbols together, with its own error and interval.

        Exact where each symbol has one cell and a report names one (k-RR, Warner): reports in a set of cells are
        binomial. Elsewhere from the covariance. Errors of single symbols do not add up to it: estimates depend on each
        other.

        >>> import deniable as dn
        >>> estimate = dn.decode(dn.Tally(dn.krr(symbols=["a", "b", "c"], epsilon=2), [[700, 200, 100]]))
        >>> total = estimate.total(["b", "c"])
        >>> round(total.value, 3), [round(x, 3) for x in total.interval(0.95)], total.exact
        (0.133, [0.086, 0.171], True)
        """
        if isinstance(symbols, (str, bytes)) or not isinstance(symbols, Iterable):
            raise DecodeError(f"symbols must be a collection of symbols, got one {type(symbols).__name__}")
        places = {self._place(symbol) for symbol in symbols}
        if not places:
            raise DecodeError("symbols must hold at least one symbol, got none")
        inside = np.zeros(len(self._unknowns))
        inside[list(places)] = 1.0
        return mass_of(self, inside, float(self.probabilities[list(places)].sum()))

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Rank, condition, twins, the fit over cohorts, cohort sizes, and how far planted reports could move it.

        >>> import deniable as dn
        >>> print(dn.decode(dn.Tally(dn.krr(symbols=4, epsilon=1), [[40, 20, 20, 20]])).diagnostics)
        rank 4, condition 1
        fit: nothing to test it by
        influence: 1 % planted reports can raise one symbol by up to 2.66 points of mass
        """
        return diagnose(self)

    @property
    def names(self) -> list[Symbol]:
        """The symbols as a column can hold them: as they are if they are of one kind that fits, else `labels`."""
        return column_of(self.symbols)

    def to_arrow(self, level: float = 0.95) -> "pa.Table":
        """An Arrow table: symbol, probability, raw, standard_error, low, high, significant.

        The last row, of an open alphabet whose candidates need not be all, has no symbol: it is the unallocated mass.
        """
        return estimate_table(self, level)

    def to_pandas(self, level: float = 0.95) -> Any:
        """The table of `to_arrow` as a pandas DataFrame.

        >>> import deniable as dn
        >>> frame = dn.decode(dn.Tally(dn.warner(epsilon=1), [[60, 40]])).to_pandas()
        >>> frame["symbol"].tolist()
        ['no', 'yes']
        """
        return data_frame(self.to_arrow(level))

    def plot(self, *, level: float = 0.95, top: int = 40, raw: bool = False) -> "alt.LayerChart":
        """Bars with intervals, largest first: an Altair chart for notebooks; `deniable.charts.save_chart` writes it.

        `raw` adds a dot for each unbiased estimate, which the intervals belong to.
        """
        from deniable.charts import estimate_chart

        order = np.argsort(-self.probabilities, kind="stable")[:top]
        intervals = self.intervals(level)[order]
        names = [self.labels[i] for i in order]
        dots = self.raw[order] if raw else None
        return estimate_chart(names, self.probabilities[order], intervals, level=level, raw=dots)

    def __repr__(self) -> str:
        """The largest shares, each with its 95 % interval where that takes no time."""
        return f"<Estimate of {len(self.symbols)} symbols from {self.n} reports: {largest_shares(self)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the largest shares as bars, with 95 % intervals."""
        return estimate_html(self)
