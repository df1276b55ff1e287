"""The probability that a report of each cohort hits each column of the tally, estimated from the tally."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.simplex import project
from deniable.matrices import Design
from deniable.tally import Tally
from deniable.theory import ScoreLaw

Floats = npt.NDArray[np.float64]

# Pseudo-reports with the fitted probabilities that are added to each cohort. Without them a cohort of five reports in
# one cell would have variance zero.
_FITTED_REPORTS = 4.0


@dataclass(frozen=True, slots=True)
class CellLaw:
    """Estimated probabilities of columns, and what their covariance needs."""

    population: Floats  # the fit, on the simplex
    columns: Floats  # the probability of column j in cohort c, shape (C, k)
    inverse: Floats  # 1 / reports of each cohort, corrected so that plug-in variances are unbiased
    kept: npt.NDArray[np.bool_]  # the cohorts that count
    effect: float = 1.0  # the factor of variances where devices repeat their noise; `inverse` has it

    @classmethod
    def of(cls, tally: Tally, design: Design, unknowns: Floats, *, per_cohort: bool, effect: float = 1.0) -> "CellLaw":
        """The law of a tally under an estimate; `design` is that of the cohorts that count."""
        mechanism, cohorts = tally.survey.mechanism, len(tally.reports)
        miss, r = mechanism.affine
        kept = tally.reports > 0 if per_cohort else np.ones(cohorts, bool)
        reports = tally.reports[kept].astype(np.float64)
        population = project(unknowns)
        columns = miss + r * design.forward(population)
        more = reports + _FITTED_REPORTS
        # Only the fit tells which bits of a Bloom filter belong to one answer; observed frequencies do not.
        if mechanism.one_column or design.hashes == 1:
            columns = (tally.counts[kept] + _FITTED_REPORTS * columns) / more[:, None]
        # The plug-in variance m (1 - m) / n is too small by the factor (n - 1) / n on average.
        inverse = more / (more - 1) / reports if per_cohort else np.full(cohorts, cohorts / tally.n)
        return cls(population, columns, effect * inverse, kept, effect)

    def noise(self, design: Design, tally: Tally, *, per_cohort: bool) -> float:
        """The sum of the variances of u under this law."""
        m, (_, r) = self.columns, tally.survey.mechanism.affine
        spread = (
            m * (1 - m) * self.inverse[:, None] if per_cohort else self.effect * (design.cohorts * m - m**2) / tally.n
        )
        return float(spread.sum()) / r**2

    def scores(self, tally: Tally, design: Design, *, per_cohort: bool) -> ScoreLaw:
        """The covariance of u under this law."""
        mechanism = tally.survey.mechanism
        observed = self.columns if mechanism.one_column or design.hashes == 1 else None
        inverse = self.inverse if per_cohort else None
        return ScoreLaw.of(design, mechanism, self.population, inverse, n=tally.n / self.effect, observed=observed)
