"""The unbiased estimate of a tally as a linear function of its counts: its system, covariance and standard errors.

`Estimate` is what users see. `LinearFit` is the part of it that intervals, diagnostics and screening compute with.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.decoders.cell_law import CellLaw
from deniable.decoders.repeated import Repeated
from deniable.decoders.spread import Spread, check_kept, is_kept
from deniable.matrices import BlockDesign, Design, OpenDesign
from deniable.tally import Tally
from deniable.theory import inversion_covariance, inversion_variances

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Unbiased estimates of all unknowns of a design, with their covariance and standard errors.

    Parameters
    ----------
    unknowns
        One estimate per unknown: the candidates, and last the unallocated mass if the design is an `OpenDesign`.
    tally
        The counts.
    design
        H of all cohorts.
    per_cohort
        Whether counts were divided by the reports of their own cohort (`unbias`).
    inverted
        Whether `unknowns` is the closed form of a block design where there is one.
    again
        How often reports of one device may have been counted; by default what the tally and its survey say of it.
    """

    unknowns: Floats
    tally: Tally
    design: Design
    per_cohort: bool = True
    inverted: bool = False
    again: Repeated | None = None

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.unknowns) - isinstance(self.design, OpenDesign)

    @property
    def raw(self) -> Floats:
        """The estimates of the candidates."""
        return self.unknowns[: self.size]

    @property
    def blocks(self) -> BlockDesign | None:
        """The design, where the estimate is its closed form; with one cell per symbol every solution is."""
        if not isinstance(self.design, BlockDesign):
            return None
        return self.design if self.inverted or self.design.occupied == 1 else None

    @cached_property
    def system(self) -> Design:
        """The design without cohorts that sent nothing."""
        return self.design.only(self.tally.reports > 0) if self.per_cohort else self.design

    @cached_property
    def repeated(self) -> Repeated:
        """How often reports of one device may have been counted."""
        return self.again or Repeated.of(self.tally)

    @cached_property
    def effects(self) -> Floats:
        """The factor of each candidate's variance where devices repeat their noise."""
        return self.repeated.effects(self.tally.survey, self.raw)

    @cached_property
    def effect(self) -> float:
        """The same of all counts together, where a system was solved: cells are about equally full."""
        return float(self.repeated.effects(self.tally.survey, np.array([1 / max(self.size, 1)]))[0])

    @cached_property
    def law(self) -> CellLaw:
        """The estimated probabilities of the tally's columns, where a system was solved."""
        return CellLaw.of(self.tally, self.system, self.unknowns, per_cohort=self.per_cohort, effect=self.effect)

    @cached_property
    def spread(self) -> Spread:
        """The variances, where a system was solved."""
        return Spread.of(self.system, self.law, self.tally, per_cohort=self.per_cohort)

    @property
    def is_kept(self) -> bool:
        """Whether a dense matrix of all candidates may stay in memory."""
        return is_kept(self.size)

    @property
    def rank(self) -> int:
        """The rank of H."""
        if self.blocks:
            return self.size
        return self.system.factor.rank if self.is_kept else self.spread.rank

    @property
    def condition(self) -> float:
        """The condition number of H' H over its range."""
        if isinstance(self.design, BlockDesign):
            return self.design.condition
        return self.system.factor.condition if self.is_kept else self.spread.condition

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of `unknowns`, dense."""
        check_kept(self.size)
        tally, system = self.tally, self.system
        if self.blocks:
            plain = inversion_covariance(self.blocks, tally.survey.mechanism, tally.counts / tally.n, tally.n)
            return plain * np.sqrt(np.outer(self.effects, self.effects))
        middle = self.law.scores(tally, system, per_cohort=self.per_cohort).matrix() + self.spread.noise(system)
        half = system.factor.solve(middle)
        full = system.factor.solve(np.ascontiguousarray(half.T))
        return (full + full.T) / 2

    @cached_property
    def standard_errors(self) -> Floats:
        """One standard error per candidate; infinite where the reports do not determine it."""
        if self.blocks:  # one or two counts per symbol: no matrix is needed
            # A frequency of 0 or 1 would have variance 0; half a report keeps it away from both.
            n = self.tally.n
            edge, columns = 0.5 / (n + 1), self.tally.counts / n
            plain = inversion_variances(self.blocks, self.tally.survey.mechanism, columns, n, edge=edge)
            return np.sqrt(plain * self.effects)
        errors = np.sqrt(np.maximum(self.spread.variances[: self.size], 0.0))
        return np.where(self.spread.estimable[: self.size], errors, np.inf)
