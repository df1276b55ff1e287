"""What is known about the columns of a tally: the probability that a report of each cohort hits each column."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import unbias
from deniable.decoders.simplex import project
from deniable.design import Design, OpenDesign
from deniable.tally import Tally

__all__ = ["CellLaw", "unlisted_noise"]

Floats = npt.NDArray[np.float64]

# Reports of the fitted law that each cohort is given beside its own. A cohort of a few reports says little about its
# own spread (all of five in one cell claims to be certain); its share of the fit, which all cohorts made, says more.
_FITTED_REPORTS = 4.0


@dataclass(frozen=True, slots=True)
class CellLaw:
    """`columns[c, j]`: the probability of column j in cohort c; `inverse[c]`: 1 / reports, without bias for spreads."""

    population: Floats  # the fit, on the simplex
    columns: Floats
    inverse: Floats
    kept: npt.NDArray[np.bool_]  # the cohorts that count

    @classmethod
    def of(cls, tally: Tally, design: Design, unknowns: Floats, *, per_cohort: bool) -> "CellLaw":
        """The law of a tally under an estimate; `design` is that of the cohorts that count."""
        mechanism, cohorts = tally.survey.mechanism, len(tally.reports)
        miss, r = float(mechanism.miss), float(mechanism.hit - mechanism.miss)
        kept = tally.reports > 0 if per_cohort else np.ones(cohorts, bool)
        reports = tally.reports[kept].astype(np.float64)
        population = project(unknowns)
        columns = miss + r * design.forward(population)
        more = reports + _FITTED_REPORTS
        # Which bits of a Bloom filter go together is known only through the fit: there it must explain all of them.
        if mechanism.one_column or design.hashes == 1:
            columns = (tally.counts[kept] + _FITTED_REPORTS * columns) / more[:, None]
        # The plain plug-in m (1 - m) / n is short by (n - 1) / n on average.
        inverse = more / (more - 1) / reports if per_cohort else np.full(cohorts, cohorts / tally.n)
        return cls(population, columns, inverse, kept)


def unlisted_noise(
    design: OpenDesign, law: CellLaw, tally: Tally, middle: Floats, *, per_cohort: bool
) -> tuple[float, Floats]:
    """What unlisted answers add to Cov(H' u) by meeting candidates more or less often than on average: Q, and that.

    The background is what an unlisted answer looks like on average over hash functions. A heavy one does not look
    average: in each cohort it takes cells of its own. With Q the sum of the squares of the unlisted masses, a cohort's
    u differs from the background by a random vector of covariance Q (a I + b 1 1'), with

        a = P(a cell is taken) - P(two given cells are),    b = P(two given cells are taken) - P(a cell is taken)**2

    independently over cohorts. So the residual sum of squares has mean E + Q t, where E is what the reports' own noise
    gives and t = tr((I - H G^+ H') (a I + b 1 1')), and Q is estimated by moments, cut at zero.
    """
    mechanism = tally.survey.mechanism
    r = float(mechanism.hit - mechanism.miss)
    u = unbias(tally, per_cohort=per_cohort)[law.kept]
    factor = design.factor
    residual = u - design.forward(factor.solve(design.adjoint(u)))
    m = law.columns
    spread = m * (1 - m) * law.inverse[:, None] if per_cohort else (design.cohorts * m - m**2) / tally.n
    own = float(spread.sum()) / r**2 - float(np.trace(factor.solve(middle)))
    level, both = design.level, design.both
    a, b = level - both, both - level**2
    taken = design.cohort_scores(np.ones(m.shape))
    free = m.size * level * (1 - level) - a * factor.rank - b * float((taken * factor.solve(taken)).sum())
    if free <= 1e-9 * m.size:  # as many unknowns as cells: nothing is left to see it by
        return 0.0, np.zeros_like(middle)
    q = max(float((residual**2).sum()) - own, 0.0) / free
    return q, np.asarray(q * (a * design.gram + b * (taken @ taken.T)))
