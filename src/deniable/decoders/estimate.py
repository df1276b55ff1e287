"""`Estimate`: a distribution with its standard errors, intervals and provenance."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution
from deniable.decoders.by_symbol import BySymbol, symbol_list
from deniable.decoders.constraints import Constraint
from deniable.decoders.diagnostics import Diagnostics, diagnose
from deniable.decoders.figures import Figures
from deniable.decoders.fit import LinearFit
from deniable.decoders.intervals import Group, Mass, mass_of, sum_limits, symbol_limits
from deniable.decoders.limits import Limits, check_level, holm
from deniable.decoders.planted import Planted, check_share, influence, plant
from deniable.decoders.presented import Presented
from deniable.decoders.repeated import Repeated
from deniable.errors import DecodeError
from deniable.matrices import Design, OpenDesign
from deniable.survey import Symbol
from deniable.tally import Tally
from deniable.theory import returning_share

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(BySymbol, Figures, Presented):
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
    turnover, change
        The part of the devices that are replaced each window, and of the others that draw their answer anew, where
        they take part again and it was given.

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
    change: float | None = None

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
        change: float | None = None,
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
        turnover, change
            The part of the devices that are replaced each window, and of the others that draw their answer anew; None
            if it is not known.

        Returns
        -------
        Estimate
            With values under the constraint, and unbiased ones beside them.

        Examples
        --------
        >>> import deniable as dn
        >>> from deniable.matrices import design_of
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
        return cls(
            tuple(symbols), values, raw, decoder, constraint, tally.copy(), design, per_cohort, rest, turnover, change
        )

    @cached_property
    def fit(self) -> LinearFit:
        """The linear algebra behind `raw`: what intervals and diagnostics are computed from."""
        unknowns = self.raw if self.rest is None else np.append(self.raw, self.rest[1])
        survey = self.tally.survey
        change = survey.change if self.change is None else self.change
        returns = 1.0
        if change and survey.repeats_noise:
            returns = returning_share(survey, self.raw, symbols=self.symbols)
        again = Repeated.of(self.tally, self.turnover, change, returns)
        return LinearFit(unknowns, self.tally, self.design, self.per_cohort, self.decoder.inverts, again)

    @property
    def shared_noise(self) -> str:
        """One sentence where windows of the same devices were added up: which error bars are shown; else empty.

        Devices that take part in every window repeat their noise, which does not average out. How many devices two
        windows share is bounded by the smaller one, and by the turnover and the change where `decode` was given them.

        >>> import deniable as dn
        >>> survey = dn.warner(epsilon=1, participation="window")
        >>> week = sum(dn.Tally(survey, [[60, 40]]) for _ in range(7))
        >>> dn.decode(week, turnover=0.1).shared_noise[:55], dn.decode(dn.Tally(survey, [[60, 40]])).shared_noise
        ('7 windows share devices, which repeat their noise, but ', '')
        """
        return str(self.fit.repeated)

    @property
    def sharing(self) -> dict[str, Any] | None:
        """What `shared_noise` says, as a case and numbers; None where it says nothing.

        >>> import deniable as dn
        >>> survey = dn.warner(epsilon=1, participation="window")
        >>> week = sum(dn.Tally(survey, [[60, 40]]) for _ in range(4))
        >>> dn.decode(week).sharing
        {'case': 'all', 'windows': 4, 'wider': 2.0, 'turnover': None, 'change': None}
        """
        return self.fit.repeated.facts

    @property
    def searched(self) -> dict[str, Any]:
        """What files say of a search; nothing where there was none."""
        return {}

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.tally.n

    @property
    def digest(self) -> str:
        """The digest of the survey that was answered."""
        return self.tally.survey.digest

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

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False, exact: bool = True) -> Floats:
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
        exact
            Whether binomial counts get Clopper and Pearson's limits. Otherwise they get Jeffreys', which are narrower
            and cover `level` on average over shares: what cross-tables are made from.

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
        return (self._limits if exact else self._limits.nominal()).between(alpha)

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

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Rank, condition, twins, goodness of fit, cohort sizes, and the influence of planted reports.

        >>> import deniable as dn
        >>> print(dn.decode(dn.Tally(dn.krr(symbols=4, epsilon=1), [[40, 20, 20, 20]])).diagnostics)
        rank 4, condition 1
        fit: nothing to test it by
        below zero: chi-square 0 on 3 degrees of freedom, p = 1
        influence: 1 % planted reports can raise one symbol by up to 2.66 points of mass; no check would notice
        """
        return diagnose(self.fit, self.symbols)

    def planted(self, symbols: object = None, *, share: float = 0.01) -> Planted:
        """What planted reports could do to some shares, and whether the checks would notice.

        The maximal gain attack: reports that no client made, each the one that raises the symbols most. For every
        mechanism it follows from the weights of its own unbiased estimate.

        Parameters
        ----------
        symbols
            Which symbols an attacker would raise; without them the one that is raised most easily.
        share
            The planted part of all reports.

        Returns
        -------
        Planted
            The largest gain, what as many lies would gain, and the probability of an alarm.

        Raises
        ------
        UnknownSymbol
            If a symbol was not decoded.
        DecodeError
            If `symbols` is no collection or empty, or `share` is not between 0 and 1.

        Examples
        --------
        >>> import deniable as dn
        >>> estimate = dn.decode(dn.Tally(dn.krr(symbols=4, epsilon=1), [[4000, 2000, 2000, 2000]]))
        >>> estimate.planted([1, 2], share=0.05).words[:66]
        '500 of 10,000 reports move 2 shares together by up to 9.98 points;'
        """
        share = check_share(share)
        if symbols is None:
            found = influence(self.fit, share)[1]
            where = [] if found is None else [found]
        else:
            where = sorted({self.index(symbol) for symbol in symbol_list(symbols)})
        if not where:
            raise DecodeError("symbols must hold at least one symbol, got none")
        return plant(self.fit, tuple(self.symbols[i] for i in where), np.array(where), share)
