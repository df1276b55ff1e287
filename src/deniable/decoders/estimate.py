"""`Estimate`: a distribution that is never a bare number, with its standard errors, intervals and provenance."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution
from deniable.decoders.constraints import Constraint
from deniable.decoders.simplex import project
from deniable.decoders.unallocated import Unallocated
from deniable.design import BlockDesign, Design, GramFactor, OpenDesign
from deniable.errors import DecodeError
from deniable.survey import Symbol
from deniable.survey.alphabet import canonical_symbol, symbol_to_json
from deniable.tally import Tally
from deniable.theory.covariance import inversion_covariance, inversion_variances, score_covariance

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["Estimate", "Group"]

Floats = npt.NDArray[np.float64]

_DENSE_AT_MOST = 8192


@dataclass(frozen=True, slots=True)
class Group:
    """Candidates that no report can tell apart, and what is known about their sum."""

    symbols: tuple[Symbol, ...]
    probability: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """What the crowd does, with error bars.

    `probabilities` is the decoder's answer under its constraint; `raw` is the unbiased estimate, to which
    `standard_errors`, `covariance` and `intervals` belong and which is what should be summed, compared or averaged.

    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["no", "yes"], epsilon=1)
    >>> estimate = dn.decode(dn.Tally(survey, [[600, 400]]))
    >>> estimate
    <Estimate of 2 symbols from 1000 reports: 'no' 0.716 ± 0.034, 'yes' 0.284 ± 0.034>
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
    weights: Floats | None = None  # of the cells, where `raw` is a weighted solution

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

        The constraint acts on all unknowns; the last one of an `OpenDesign`, the unallocated mass, is then split off.
        """
        # With one cohort the two normalisations are one.
        per_cohort = getattr(decoder, "per_cohort", True) or tally.survey.cohorts == 1
        values, raw, rest = constraint.apply(solution.values), solution.raw, None
        if isinstance(design, OpenDesign):
            values, raw, rest = values[:-1], raw[:-1], (float(values[-1]), float(raw[-1]))
        copied, weights = tally.copy(), solution.weights
        return cls(tuple(symbols), values, raw, decoder, constraint, copied, design, per_cohort, rest, weights)

    @property
    def n(self) -> int:
        """Reports behind this estimate."""
        return self.tally.n

    @property
    def digest(self) -> str:
        """The digest of the survey that was answered."""
        return self.tally.survey.digest

    def __getitem__(self, symbol: object) -> float:
        """The probability of one symbol."""
        place = self._places.get(canonical_symbol(symbol))
        if place is None:
            raise DecodeError(f"symbol must be one of the {len(self.symbols)} that were decoded")
        return float(self.probabilities[place])

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
        if {type(symbol) for symbol in self.symbols} in ({str}, {int}):
            return tuple(str(symbol) for symbol in self.symbols)
        return tuple(json.dumps(symbol_to_json(symbol), ensure_ascii=False) for symbol in self.symbols)

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
    def _factor(self) -> GramFactor:
        """The factored Gram matrix of the system that `raw` solves."""
        if self.weights is None:
            return self._system.factor
        return GramFactor.of(self._system.weighted_gram(self.weights[self.tally.reports > 0]))

    @property
    def _unknowns(self) -> Floats:
        """What was solved for: `raw`, and after it the unallocated mass where there is one."""
        return self.raw if self.rest is None else np.append(self.raw, self.rest[1])

    @property
    def rank(self) -> int:
        """The rank of H: how many combinations of candidates (and the unallocated mass) the reports determine."""
        return len(self.symbols) if self._blocks else self._factor.rank

    @property
    def condition(self) -> float:
        """The condition number of H' H over its range; an estimate of it where H has full rank."""
        if isinstance(self.design, BlockDesign):
            return self.design.condition
        return self._factor.condition

    @cached_property
    def unallocated(self) -> Unallocated | None:
        """The mass that no candidate explains; None where the alphabet is closed or the candidates are all there is.

        With index reports (O-RR) `raw` is one minus the sum of the candidates' raw estimates, exactly.

        >>> import deniable as dn
        >>> survey = dn.orr(epsilon=6, cells=16, cohorts=8, seed=bytes(16))
        >>> tally = dn.count(survey, dn.privatize(survey, ["a"] * 60_000 + ["b"] * 40_000))
        >>> bool(abs(dn.decode(tally, candidates=["a", "c"]).unallocated.value - 0.4) < 0.2)
        True
        """
        if self.rest is None:
            return None
        error = float(np.sqrt(max(self._covariance[-1, -1], 0.0))) if self._factor.estimable[-1] else np.inf
        return Unallocated(*self.rest, error)

    @property
    def covariance(self) -> Floats:
        """The estimated covariance of `raw`, S x S.

        The exact formula with what was observed in place of what is expected. Where an answer occupies one cell (every
        mechanism but O-RAPPOR with h > 1) that is the column frequencies of each cohort, so this is the spread of `raw`
        whether or not the candidates are complete. With h > 1 bits of one answer go together, and which do is known
        only through the estimate itself: then it assumes that the candidates are complete. What `raw` is *centred* on
        is the population only if they are: mass that no candidate explains spreads over those that share its cells.
        """
        return self._covariance[: len(self.symbols), : len(self.symbols)]

    @cached_property
    def _covariance(self) -> Floats:
        """`covariance`, with a last row and column for the unallocated mass where there is one."""
        if len(self.symbols) > _DENSE_AT_MOST:
            raise DecodeError(
                f"standard errors must have at most {_DENSE_AT_MOST} candidates, got {len(self.symbols)}; "
                "decode a shorter candidate list"
            )
        mechanism, tally = self.tally.survey.mechanism, self.tally
        if self._blocks:
            return inversion_covariance(self._blocks, mechanism, tally.counts / tally.n, tally.n)
        design = self._system
        keep = tally.reports > 0 if self.per_cohort else np.ones(len(tally.reports), bool)
        reports = tally.reports[keep].astype(np.float64)
        # Frequencies need two reports a cohort; a model of all bits at once needs one population behind them all.
        apart = design.hashes == 1 or mechanism.one_column
        observed = tally.counts[keep] / reports[:, None] if (reports >= 2).all() and apart else None
        inverse = None
        if self.per_cohort:
            # The plain plug-in m (1 - m) / n is short by (n - 1) / n on average.
            inverse = 1 / reports if observed is None else 1 / (reports - 1)
        cells = None if self.weights is None else self.weights[keep]
        middle = score_covariance(
            design, mechanism, project(self._unknowns), inverse, n=tally.n, observed=observed, cells=cells
        )
        factor = self._factor
        half = factor.solve(middle)
        full = factor.solve(np.ascontiguousarray(half.T))
        return (full + full.T) / 2

    @cached_property
    def standard_errors(self) -> Floats:
        """One standard error a symbol, of `raw`; infinite where the reports cannot determine the symbol at all.

        A candidate is determined when no other combination of candidates looks the same to every cohort. Candidates
        with identical columns never are, one by one: see `groups` for what is known about their sum.
        """
        if self._blocks:  # one or two counts a symbol: no matrix is needed
            # A count of none or all would claim to be certain; half a report keeps it from that.
            edge, columns = 0.5 / (self.n + 1), self.tally.counts / self.n
            variances = inversion_variances(self._blocks, self.tally.survey.mechanism, columns, self.n, edge=edge)
            return np.sqrt(variances)
        spread = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return np.where(self._factor.estimable[: len(spread)], spread, np.inf)

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
            factor = self._system.factor
            determined = np.abs(factor.solve(self._system.gram @ inside) - inside).max() < 1e-6
            error = float(np.sqrt(max(self.covariance[np.ix_(members, members)].sum(), 0.0))) if determined else np.inf
            names = tuple(self.symbols[i] for i in members)
            found.append(Group(names, float(self.raw[members].sum()), error))
        return tuple(found)

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Confidence intervals for each symbol, shape (S, 2), around the unbiased estimate.

        For k-ary surveys, and block designs of one block, the count of a symbol is exactly binomial, so these are
        Clopper-Pearson intervals, mapped: they cover at least `level`, always. Over blocks and cohorts they are normal
        intervals from the exact covariance of the estimate. With `simultaneous` all of them hold at once with
        probability `level` (Bonferroni). They may reach outside [0, 1], as the unbiased estimate does; cutting them
        there loses no coverage.
        """
        if not 0 < level < 1:
            raise DecodeError(f"level must be between 0 and 1, got {level}")
        from scipy.special import betaincinv, ndtri

        alpha = (1 - level) / (len(self.symbols) if simultaneous else 1)
        blocks = self._blocks
        if blocks is None or blocks.blocks > 1:
            reach = -float(ndtri(alpha / 2)) * self.standard_errors
            return np.stack([self.raw - reach, self.raw + reach], axis=1)
        mechanism = self.tally.survey.mechanism
        hits, n = np.rint(blocks.adjoint(self.tally.counts.astype(np.float64))), float(self.n)
        low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), n - hits + 1, alpha / 2), 0.0)
        high = np.where(hits < n, betaincinv(hits + 1, np.maximum(n - hits, 1), 1 - alpha / 2), 1.0)
        miss, r = float(mechanism.miss), float(mechanism.hit - mechanism.miss)
        base = blocks.occupied * miss + blocks.shared * r
        return (np.stack([low, high], axis=1) - base) / (r * blocks.distance)

    def to_arrow(self, level: float = 0.95) -> "pa.Table":
        """An Arrow table: symbol, probability, raw, standard_error, low, high."""
        import pyarrow as pa

        kinds = {type(symbol) for symbol in self.symbols}
        fits = kinds != {int} or all(-(2**63) <= s < 2**63 for s in self.symbols if isinstance(s, int))
        names = list(self.symbols) if len(kinds) == 1 and fits else list(self.labels)
        low, high = self.intervals(level).T
        return pa.table(
            {
                "symbol": names,
                "probability": self.probabilities,
                "raw": self.raw,
                "standard_error": self.standard_errors,
                "low": low,
                "high": high,
            }
        )

    def plot(self, *, level: float = 0.95, top: int = 40) -> "alt.LayerChart":
        """Bars with intervals, largest first: an Altair chart for notebooks; `deniable.charts.save_chart` writes it."""
        from deniable.charts import estimate_chart

        order = np.argsort(-self.probabilities, kind="stable")[:top]
        intervals = self.intervals(level)[order]
        names = [self.labels[i] for i in order]
        return estimate_chart(names, self.probabilities[order], intervals, level=level)

    def __repr__(self) -> str:
        order = np.argsort(-self.probabilities, kind="stable")[:3]
        parts = [f"{self.symbols[i]!r} {self.probabilities[i]:.3f}" for i in order]
        if len(self.symbols) <= 1024:
            parts = [f"{part} ± {self.standard_errors[i]:.3f}" for part, i in zip(parts, order, strict=True)]
        shown = ", ".join(parts) + (", ..." if len(self.symbols) > 3 else "")
        return f"<Estimate of {len(self.symbols)} symbols from {self.n} reports: {shown}>"
