"""Diagnostics of an estimate: goodness of fit, cohort sizes, and the influence of planted reports.

Error bars hold if the reports follow the model; these checks test whether they do. They detect candidate lists without
their heaviest answers, cohorts that are not drawn uniformly, and careless attackers. They do not detect an attacker who
imitates the distribution of honest reports; for k-RR no test of a tally could.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.fit import LinearFit
from deniable.decoders.least_squares import normal_solve
from deniable.decoders.simplex import project
from deniable.design import BlockDesign, Design, GramFactor, OpenDesign
from deniable.survey import Symbol
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]

_MOST_UNKNOWNS = 2048  # unknowns beyond which the fit is not tested
_MOST_WORK = 1 << 32  # multiplications for the covariance of bits, beyond which their fit is not tested
_MOST_STEPS = 1 << 30  # multiplications for the influence; beyond it only the largest symbols are looked at
_MOSTLY_EXCESS = 10.0  # variance, in those of a chi-square, from which a bound replaces the scaled chi-square
_SMALLEST = 1e-12  # probability of a cell, at least: larger weights would be lost in their sums
_ALARM = 1e-3  # p-value below which a check raises an alarm
_PLANTED = 0.01  # share of planted reports whose influence is reported
_MOST_HIDDEN = 0.05  # probability of an indistinguishable answer, beyond which no symbol is significant at 95 %


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
class Diagnostics:
    """How well the reports determine and fit an estimate.

    Parameters
    ----------
    rank, condition
        Of the matrix H, and of H' H.
    twins
        Groups of candidates that share every cell, so that no report can tell them apart.
    fit
        The test of all counts against the best mixture of the candidates and of unlisted answers. None where there are
        as many unknowns as counts, as for k-RR, or too many to test.
    cohorts
        The test of the cohort sizes; None with one cohort.
    influence
        The largest mass that 1 % planted reports can add to the unbiased estimate of one symbol.
    hidden
        A bound on the probability that a given unlisted answer has all cells of some candidate, and so cannot be told
        from it; zero where nothing is unlisted.
    """

    rank: int
    condition: float
    twins: tuple[tuple[Symbol, ...], ...]
    fit: ChiSquare | None
    cohorts: ChiSquare | None
    influence: float
    hidden: float = 0.0

    @property
    def alarms(self) -> tuple[str, ...]:
        """One sentence for each check with a p-value below 0.001, and for too few cohorts."""
        found = []
        if self.fit is not None and self.fit.p_value < _ALARM:
            found.append(
                f"The reports do not fit these candidates ({self.fit}): heavy answers are missing from the list, or "
                "reports were planted or come from another survey."
            )
        if self.cohorts is not None and self.cohorts.p_value < _ALARM:
            found.append(
                f"Cohorts differ in size more than chance allows ({self.cohorts}): clients do not draw them alike, or "
                "reports were planted or lost."
            )
        if self.hidden > _MOST_HIDDEN:
            found.append(
                "Too few cohorts to tell candidates from what is not listed: an answer that is not may have all cells "
                f"of a candidate (probability {min(self.hidden, 1.0):.2g}), so none is marked. Ask with more cohorts, "
                "or decode as complete if nothing else can be answered."
            )
        return tuple(found)

    def __str__(self) -> str:
        lines = [f"rank {self.rank}, condition {self.condition:.3g}"]
        lines.append(f"fit: {self.fit}" if self.fit else "fit: nothing to test it by")
        if self.cohorts:
            lines.append(f"cohort sizes: {self.cohorts}")
        points = f"{100 * self.influence:.3g} points"
        lines.append(f"influence: 1 % planted reports can raise one symbol by up to {points} of mass")
        return "\n".join((*lines, *self.alarms))


def diagnose(fit: LinearFit, symbols: tuple[Symbol, ...]) -> Diagnostics:
    """The diagnostics of an estimate; `Estimate.diagnostics` keeps them."""
    twins = tuple(tuple(symbols[i] for i in group) for group in fit.system.twins)
    return Diagnostics(
        rank=fit.rank,
        condition=fit.condition,
        twins=twins,
        fit=_goodness(fit),
        cohorts=_sizes(fit.tally, 1 + fit.repeated.others),
        influence=_influence(fit),
        hidden=hidden_of(fit.system, fit.size),
    )


def hidden_of(design: Design, candidates: int) -> float:
    """A bound on the probability that an unlisted answer has all cells of one of so many candidates."""
    if not isinstance(design, OpenDesign):
        return 0.0
    return candidates * float(design.level) ** (design.cohorts * design.drawn)


def _tail(statistic: float, degrees: int, excess: float = 0.0) -> ChiSquare:
    """The upper tail of a chi-square scaled to the variance 2 * degrees + excess.

    Where most of the variance is excess it comes from rare events in cells that expect almost no report. A scaled
    chi-square does not have that shape, so Cantelli's inequality, which holds for any distribution, replaces it.
    """
    from scipy.special import gammaincc

    scale = max(1 + excess / (2 * degrees), 1e-9)
    if scale > _MOSTLY_EXCESS:
        above = max(statistic - degrees, 0.0) ** 2
        return ChiSquare(statistic, degrees, 2 * degrees * scale / (2 * degrees * scale + above))
    return ChiSquare(statistic, degrees, float(gammaincc(degrees / scale / 2, max(statistic, 0.0) / scale / 2)))


def _sizes(tally: Tally, effect: float) -> ChiSquare | None:
    """The test of cohort sizes against equal shares; a device keeps its cohort, which has an `effect` if it repeats."""
    cohorts = len(tally.reports)
    if cohorts == 1:
        return None
    expected = tally.n / cohorts
    statistic = float(((tally.reports - expected) ** 2).sum() / expected) / effect
    return _tail(statistic, cohorts - 1, -2 * (cohorts - 1) * effect / tally.n)


def _goodness(fit: LinearFit) -> ChiSquare | None:
    """Pearson's statistic at its minimum over all masses that sum to one.

    Index reports: sum (count - expected)**2 / expected. Given the cohort sizes there are C (k - 1) free counts and
    rank - 1 free masses. Bits of a report are correlated, so their statistic is the quadratic form with the covariance
    matrix of each cohort's columns: C k counts. Where cells expect less than a few reports the statistic varies more
    than a chi-square one does, by (sum 1 / m - k**2 - 2 k + 2) / n_c per cohort, and that of bits by the sum of
    1 / (m (1 - m)) - 6, were they independent.

    Claim: under the model p-values are uniform.
    Proof: tests/statistical/test_diagnostics.py::test_p_values_of_the_fit_are_uniform
    """
    tally, mechanism = fit.tally, fit.tally.survey.mechanism
    seen = tally.reports > 0
    design = fit.design.only(seen)
    if design.symbols > _MOST_UNKNOWNS or (not mechanism.one_column and mechanism.hits is not None):
        return None
    counts, reports = tally.counts[seen].astype(np.float64), tally.reports[seen].astype(np.float64)
    full = design.cohorts * (design.cells - 1 if mechanism.one_column else design.cells)
    if isinstance(design, BlockDesign) and full <= design.symbols - 1:
        return None
    miss, r = mechanism.affine
    p = fit.unknowns
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
    excess = fit.effect * float((spare / reports).sum()) * (degrees / full) ** 2
    return _tail(statistic / fit.effect, degrees, excess)


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


def _influence(fit: LinearFit, share: float = _PLANTED) -> float:
    """The largest rise of one symbol when `share` of the reports are planted in the cells that raise it most."""
    tally, mechanism, blocks = fit.tally, fit.tally.survey.mechanism, fit.blocks
    _, r = mechanism.affine
    if blocks is not None:
        columns = tally.counts / tally.n
        c = blocks.shared / blocks.occupied
        mean = blocks.adjoint(columns) - c * (blocks.block_sums(columns) if c else 0.0)
        return share * float((1 - c - mean).max()) / (r * blocks.distance)
    system, law = fit.system, fit.law
    size = fit.size
    order = np.argsort(-fit.raw, kind="stable")
    some = order[: max(1, _MOST_STEPS // (system.cohorts * (system.hashes * size + system.cells)))]
    best = 0.0
    step = max(1, (1 << 24) // (system.cohorts * system.cells))
    for start in range(0, len(some), step):
        units = np.zeros((len(some[start : start + step]), system.symbols))
        units[np.arange(len(units)), some[start : start + step]] = 1.0
        rows = system.factor.solve(units.T).T if fit.is_kept else normal_solve(system, units)
        weights = np.stack([system.forward(row) for row in rows]) / r
        mean = (weights * law.columns).sum(axis=2)
        top = weights.max(axis=2) if mechanism.one_column else np.maximum(weights, 0.0).sum(axis=2)
        if fit.per_cohort:
            best = max(best, float(_planted(top - mean, tally.reports[law.kept], share).max()))
        else:
            rise = system.cohorts * top.max(axis=1) - mean.sum(axis=1)
            best = max(best, share * float(rise.max()))
    return best


def _planted(gains: Floats, reports: npt.NDArray[np.int64], share: float) -> Floats:
    """max of sum_c gain_c t_c / (h_c + t_c) over t >= 0 with sum t = share * n, where h are the honest reports.

    A cohort's counts are divided by its reports, so returns diminish. At the optimum the marginal gain mu is the same
    in all cohorts with planted reports: t_c = sqrt(h_c gain_c / mu) - h_c. It is found by bisection of log mu.
    """
    honest = (1 - share) * reports
    gain = np.maximum(gains, 0.0)
    high = np.maximum((gain / honest).max(axis=1), 1e-100)
    low = 1e-12 * high
    for _ in range(60):
        mu = np.sqrt(low * high)
        planted = np.maximum(np.sqrt(honest * gain / mu[:, None]) - honest, 0.0)
        over = planted.sum(axis=1) > share * reports.sum()
        low, high = np.where(over, mu, low), np.where(over, high, mu)
    planted = np.maximum(np.sqrt(honest * gain / high[:, None]) - honest, 0.0)
    return np.asarray((gain * planted / (honest + planted)).sum(axis=1))
