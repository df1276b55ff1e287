"""Tests of a tally whose distribution is known whatever was answered: the fit of all counts, and the cohort sizes.

Each is a statistic with a null distribution (`NullLaw`). The same distribution, moved by what planted reports add on
average, says how likely an alarm is when there are some (`planted`).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.simplex import project
from deniable.matrices import BlockDesign, Design, GramFactor
from deniable.mechanisms import Mechanism

Floats = npt.NDArray[np.float64]

ALARM = 1e-3  # p-value below which a check raises an alarm

_MOST_UNKNOWNS = 2048  # unknowns beyond which the fit is not tested
_MOST_WORK = 1 << 32  # multiplications for the covariance of bits, beyond which their fit is not tested
_MOSTLY_EXCESS = 10.0  # variance, in those of a chi-square, from which a bound replaces the scaled chi-square
_SMALLEST = 1e-12  # probability of a cell, at least: larger weights would be lost in their sums
_NEARLY_NORMAL = 1e4  # noncentrality from which a noncentral chi-square is taken for a normal variable


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """The result of a chi-square test.

    Parameters
    ----------
    statistic, degrees
        The statistic and its degrees of freedom.
    p_value
        The probability that chance alone makes it this large.

    Examples
    --------
    >>> print(ChiSquare(12.5, 10, 0.253))
    chi-square 12.5 on 10 degrees of freedom, p = 0.25
    """

    statistic: float
    degrees: int
    p_value: float

    def __str__(self) -> str:
        return f"chi-square {self.statistic:.4g} on {self.degrees} degrees of freedom, p = {self.p_value:.2g}"


@dataclass(frozen=True, slots=True)
class NullLaw:
    """A chi-square that is scaled to the variance 2 * degrees + excess.

    Where most of the variance is excess it comes from rare events in cells that expect almost no report. A scaled
    chi-square does not have that shape, so Cantelli's inequality, which holds for any distribution, replaces it.

    Examples
    --------
    >>> law = NullLaw(10)
    >>> round(law.test(18.3).p_value, 3), round(law.power(0.0), 6), round(law.power(30.0), 2)
    (0.05, 0.001, 0.81)
    """

    degrees: int
    excess: float = 0.0

    @property
    def _scale(self) -> float:
        return max(1 + self.excess / (2 * self.degrees), 1e-9)

    def test(self, statistic: float) -> ChiSquare:
        """The upper tail of an observed statistic."""
        from scipy.special import gammaincc

        scale, degrees = self._scale, self.degrees
        if scale > _MOSTLY_EXCESS:
            above = max(statistic - degrees, 0.0) ** 2
            return ChiSquare(statistic, degrees, 2 * degrees * scale / (2 * degrees * scale + above))
        return ChiSquare(statistic, degrees, float(gammaincc(degrees / scale / 2, max(statistic, 0.0) / scale / 2)))

    def power(self, away: float) -> float:
        """The probability of an alarm if the mean is larger by `away`: that of a noncentral chi-square."""
        from scipy.special import chdtri, chndtr, ndtr

        scale, degrees, away = self._scale, self.degrees, max(away, 0.0)  # rounding may leave it below zero
        if scale > _MOSTLY_EXCESS:
            critical = degrees + np.sqrt(2 * degrees * scale * (1 / ALARM - 1))
        else:
            critical = scale * float(chdtri(degrees / scale, ALARM))
            if away < _NEARLY_NORMAL:
                return float(np.clip(1 - chndtr(critical / scale, degrees / scale, away / scale), 0.0, 1.0))
        return float(ndtr((degrees + away - critical) / np.sqrt(2 * degrees * scale + 4 * away)))


def cohort_sizes(reports: Floats, effect: float) -> tuple[float, NullLaw] | None:
    """The test of cohort sizes against equal shares; a device keeps its cohort, which has an `effect` if it repeats."""
    cohorts, n = len(reports), float(reports.sum())
    if cohorts == 1:
        return None
    expected = n / cohorts
    statistic = float(((reports - expected) ** 2).sum() / expected) / effect
    return statistic, NullLaw(cohorts - 1, -2 * (cohorts - 1) * effect / n)


def pearson(
    design: Design, mechanism: Mechanism, counts: Floats, reports: Floats, p: Floats, effect: float
) -> tuple[float, NullLaw] | None:
    """Pearson's statistic at its minimum over all masses that sum to one, starting at p; every cohort has reports.

    Index reports: sum (count - expected)**2 / expected. Given the cohort sizes there are C (k - 1) free counts and
    rank - 1 free masses. Bits of a report are correlated, so their statistic is the quadratic form with the covariance
    matrix of each cohort's columns: C k counts. Where cells expect less than a few reports the statistic varies more
    than a chi-square one does, by (sum 1 / m - k**2 - 2 k + 2) / n_c per cohort, and that of bits by the sum of
    1 / (m (1 - m)) - 6, were they independent. None where nothing is left to test, or it would take too long.

    Claim: under the model p-values are uniform.
    Proof: tests/statistical/test_diagnostics.py::test_p_values_of_the_fit_are_uniform
    """
    if design.symbols > _MOST_UNKNOWNS or (not mechanism.one_column and mechanism.hits is not None):
        return None
    full = design.cohorts * (design.cells - 1 if mechanism.one_column else design.cells)
    if isinstance(design, BlockDesign) and full <= design.symbols - 1:
        return None
    miss, r = mechanism.affine
    population = project(p)
    u = (counts / reports[:, None] - miss) / r
    # The second pass uses the expected counts of the first fit, less noisy than the estimate's. Each pass fits
    # the residuals of the one before: with 10**17 reports the squares of the counts themselves would cancel.
    for _ in range(2):
        x = design.forward(population)
        left = u - design.forward(p)
        m = np.clip(miss + r * x, _SMALLEST, 1 - _SMALLEST)
        if mechanism.one_column:
            weights = reports[:, None] * r**2 / m
            gram, right = design.weighted_gram(weights), design.adjoint(weights * left)
            square = float((weights * left**2).sum())
        elif design.cohorts * design.cells**2 * (design.cells + design.symbols) > _MOST_WORK:
            return None
        else:
            gram, right, square = _whitened(design, population, x, left, reports, m, r)
        # Symbols in rare cells have far larger weights; scaled to a unit diagonal, the rank is found reliably.
        scale = 1 / np.sqrt(np.diagonal(gram))
        factor = GramFactor.of(gram * np.outer(scale, scale))
        more, along = scale * factor.solve(scale * right), scale * factor.solve(scale)
        more = more - along * (float((p + more).sum()) - 1) / float(along.sum())
        p = p + more
        population = project(p)
    degrees = full - (factor.rank - 1)
    if degrees <= 0:
        return None
    statistic = square - 2 * float(more @ right) + float(more @ gram @ more)
    k = design.cells
    spare = (1 / m).sum(axis=1) - k**2 - 2 * k + 2 if mechanism.one_column else (1 / m / (1 - m) - 6).sum(axis=1)
    excess = effect * float((spare / reports).sum()) * (degrees / full) ** 2
    return statistic / effect, NullLaw(degrees, excess)


def _whitened(
    design: Design, population: Floats, x: Floats, u: Floats, reports: Floats, m: Floats, r: float
) -> tuple[Floats, Floats, float]:
    """H' V H, H' V u and u' V u, where V is the inverse covariance of u: bits of one report are correlated."""
    from scipy.linalg import cholesky, solve_triangular

    gram, right, square = np.zeros((design.symbols, design.symbols)), np.zeros(design.symbols), 0.0
    for c in range(design.cohorts):
        patterns = design._patterns(c)
        covariance = r**2 * (design._pairs(patterns, population) - np.outer(x[c], x[c]))
        np.fill_diagonal(covariance, m[c] * (1 - m[c]))
        root = cholesky(covariance / (reports[c] * r**2), lower=True)
        both = solve_triangular(root, np.column_stack([patterns.T, u[c]]), lower=True)
        h, v = both[:, :-1], both[:, -1]
        gram += h.T @ h
        right += h.T @ v
        square += float(v @ v)
    return gram, right, square
