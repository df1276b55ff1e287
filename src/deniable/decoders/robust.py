"""Robust regression of candidates where heavy unlisted answers dominate the noise, as spikes in single cells.

Least squares weights all cells alike, so a few spikes determine its errors. Here the influence of a cell is the score
of the residuals' own distribution, which is estimated (`spikes`). The shares solve sum of scores over a candidate's
cells = 0 for every candidate: an adaptive M-estimate (Bickel 1982), found by Fisher scoring from least squares.

Tests do not rely on the estimated distribution. The cells of a candidate of share zero are random, given the tally. So
any sum of a function of the residuals over its cells has a known distribution (`drawn`). If the estimated distribution
were wrong, tests would have less power, but not more false positives.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import unbias
from deniable.decoders.drawn import drawn_z, judged
from deniable.decoders.limits import SkewedLimits
from deniable.decoders.repeated import Repeated
from deniable.decoders.selection import JudgedLimits
from deniable.decoders.simplex import project
from deniable.decoders.spikes import CellLevels, SpikeLaw, width_of
from deniable.matrices import GramFactor, OpenDesign
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]

_MOST_STEPS = 16  # steps of Fisher scoring, at most
_CONVERGED = 0.02  # step in standard errors at which Fisher scoring ends
_CURVED = 8.0  # standard errors up to which a share is estimated from its score
_LARGER = 2.0  # ratio of the larger shares for which likelihood ratios are tabulated
_MOST_LARGER = 6  # number of these larger shares, at most
_SQUARES = 6.0  # standard errors from which least squares finds a share
_TESTED_FROM = 2.0  # standard errors above zero from which a candidate is tested
_FEWEST_CELLS = 1024  # cells from which a distribution of residuals is estimated, at least
_FEWEST_COHORTS = 24  # cohorts, at least: each half is weighted by the distribution of the other
_FEWEST_REPORTS = 16.0  # per cell, for nearly normal noise: with fewer, single reports look like spikes


@dataclass(frozen=True, slots=True)
class OutsideEstimates:
    """Estimates of candidates outside the model."""

    shares: Floats
    errors: Floats
    z: Floats  # the largest normal score of a candidate's statistics
    guess: Floats  # the share that gives that score


@dataclass(frozen=True)
class RobustFit:
    """Robust estimates of some candidates and the rest, and the scores of all cells for other candidates."""

    system: OpenDesign  # of the cohorts that reported
    unknowns: Floats
    errors: Floats
    residual: Floats
    cells: CellLevels
    law: SpikeLaw
    scores: Floats  # of the residuals, less their mean in each cohort
    weights: Floats  # the information of each cell about a share that is in it
    leverage: Floats  # factor of a standard error because the other candidates are estimated too
    gain: float  # efficiency over least squares: the ratio of the variances of an estimate

    @staticmethod
    def suits(tally: Tally) -> bool:
        """Whether there are enough cells for a distribution, and enough reports to tell spikes from noise."""
        cohorts = int((tally.reports > 0).sum())
        cells = cohorts * tally.survey.cells
        people = tally.n / (1 + Repeated.of(tally).others)
        return cells >= _FEWEST_CELLS and cohorts >= _FEWEST_COHORTS and people >= _FEWEST_REPORTS * cells

    @classmethod
    def of(cls, tally: Tally, design: OpenDesign, shares: Floats, *, fresh: bool = False) -> "RobustFit":
        """The fit of a tally, starting at these shares; `fresh` if they come from least squares."""
        mechanism, seen = tally.survey.mechanism, tally.reports > 0
        system = design.only(seen)
        assert isinstance(system, OpenDesign)
        miss, r = mechanism.affine
        u = unbias(tally)[seen]
        found = _with_rest(system, u, shares)
        m = miss + r * system.forward(project(found))
        effect = float(Repeated.of(tally).effects(tally.survey, np.array([0.0]))[0])
        cells = CellLevels.of(effect * m * (1 - m) / tally.reports[seen][:, None] / r**2)
        residual = u - system.forward(found)
        # A start far from the solution would take everything for spikes: the distribution is blurred, less each step.
        blur = float(residual.std()) if fresh else 2 * width_of(residual)
        for step_number in range(_MOST_STEPS):
            law = SpikeLaw.of(residual, cells, blur)
            scores, bends = law.scores(residual, cells.rows), law.information(residual, cells.rows)
            weights = law.expected(cells.rows)
            factor = GramFactor.of(system.weighted_gram(weights))
            step = factor.solve(system.adjoint(scores))[:-1]
            inverse = np.diag(factor.solve(np.eye(len(found))))
            converged = not (np.abs(step) > _CONVERGED * np.sqrt(np.maximum(inverse[:-1], 0.0))).any()
            if step_number == _MOST_STEPS - 1 or (converged and blur < width_of(residual) / 8):
                break
            found = _with_rest(system, u, found[:-1] + step)
            residual = u - system.forward(found)
            blur /= 2
        # Corrections for the number of fitted unknowns (Huber 1981, 7.6).
        share, grown = len(found) / scores.size, float(bends.mean())
        taken = (1 + share * float(bends.var()) / grown**2) ** 2 / (1 - share)
        scores = scores - scores.mean(axis=1, keepdims=True)
        spread = np.broadcast_to((scores**2).mean(axis=1, keepdims=True), scores.shape) * taken
        half = factor.solve(system.weighted_gram(np.ascontiguousarray(spread)))
        variances = np.diag(factor.solve(np.ascontiguousarray(half.T)))[:-1]
        errors = np.where(factor.estimable[:-1], np.sqrt(np.maximum(variances, 0.0)), np.inf)
        leverage = np.sqrt(np.maximum(inverse * system.adjoint(weights), 1.0))[:-1]
        gain = float(residual.var()) * grown
        return cls(system, found, errors, residual, cells, law, scores, weights, leverage, gain)

    @property
    def raw(self) -> Floats:
        """The shares of the candidates."""
        return self.unknowns[:-1]

    def tables(self) -> Floats:
        """Tables whose sums over a candidate's cells are its test statistics, shape (R, C, k).

        First the scores, for shares within the noise of a cell. For larger shares they vanish, because all cells of
        the candidate look like spikes. So log likelihood ratios log f(x - p) / f(x) follow, for some larger shares p
        that least squares would not find.
        """
        x, rows = self.residual, self.cells.rows
        now = self.law.log_density(x, rows)
        return np.stack([self.scores, *(self.law.log_density(x - share, rows) - now for share in self.larger)])

    @property
    def larger(self) -> list[float]:
        """Shares too large for scores, for which likelihood ratios are tabulated."""
        seen, most = _CURVED * self._one_score[0] / self._one_score[1], _SQUARES * float(self.residual.std())
        rungs = int(np.ceil(np.log(max(most / np.sqrt(self.system.cohorts) / seen, 1.0)) / np.log(_LARGER)))
        return [seen * _LARGER**rung for rung in range(min(rungs, _MOST_LARGER))]

    @property
    def _one_score(self) -> tuple[float, float]:
        """The standard deviation of a candidate's sum of scores, and the derivative of its mean by the share."""
        system = self.system
        slope = system.level * (1 - system.level) * float(self.weights.sum())
        return float(np.sqrt((system.level - system.both) * (self.scores**2).sum())), slope

    def seen(self, tables: Floats, sums: Floats) -> OutsideEstimates:
        """Estimates of candidates outside the model from their sums of the tables, shape (R, S).

        The standard deviation of a sum is that of random cells. A large share moves its cells to where scores are
        flat, so the sum is not linear in the share; the curve is computed and inverted.
        """
        x, rows, system = self.residual, self.cells.rows, self.system
        error, slope = self._one_score
        grid = error / slope * np.linspace(0.0, _CURVED, 17)
        now = self.law.scores(x, rows)
        scale = system.level * (1 - system.level)
        curve = [scale * float((self.law.scores(x + share, rows) - now).sum()) for share in grid.tolist()]
        tops = np.maximum.accumulate(np.maximum(curve, 0.5 * slope * grid))
        ends = np.append(tops, 1e3 * tops[-1]), np.append(grid, 1e3 * grid[-1])
        first = grid[1] / tops[1]
        shares = np.where(sums[0] > tops[1], np.interp(sums[0], *ends), first * sums[0])
        errors = error * np.where(sums[0] > tops[1], shares / np.where(sums[0] > tops[1], sums[0], 1.0), first)
        z, guess = drawn_z(tables[0], sums[0], system.drawn), shares
        for share, table, total in zip(self.larger, tables[1:], sums[1:], strict=True):
            # A candidate with some collisions has a larger sum than others, but a negative one if its share is zero.
            above = np.where(total > 0, drawn_z(table, total, system.drawn), 0.0)
            z, guess = np.maximum(z, above), np.where(above > z, share, guess)
        return OutsideEstimates(shares, errors, z, guess)

    def limits(self, chance: float) -> JudgedLimits:
        """Limits from standard errors, and p-values from likelihood ratios under random cells.

        The statistic is L = sum of log f(x - p) - log f(x) over the cells of a candidate, with p its share and x the
        residuals without it. It grows with p for any p, while scores at zero vanish once all cells look like spikes. A
        candidate is kept if its p-value is at most `chance`.

        Claim: one tally in twenty at most has a candidate of share zero among those below .05 / S.
        Proof: tests/statistical/test_screening.py::test_nothing_is_found_that_is_not_there
        """
        met, rows, own = self._own()
        known = np.isfinite(self.errors) & (self.raw > _TESTED_FROM * self.errors)
        looks = 1 + len(self.larger)
        p_values, needed = np.ones(len(self.raw)), np.full(len(self.raw), np.inf)
        for i in np.flatnonzero(known).tolist():
            share = float(self.raw[i])
            ratio = self._ratio(i, share)
            here = ratio[np.arange(len(ratio))[:, None], self._places[:, :, i]]
            total, mean = float((here * own[:, :, i]).sum()), self.system.level * float(ratio.sum())
            if total <= 0:  # fits worse with its share than without
                continue
            # The rest and the other candidates are estimated too, which takes up part of the statistic.
            statistic = mean + (1 - self.system.level) / float(self.leverage[i]) * (total - mean)
            log_p, least = judged(ratio, statistic, self.system.drawn, chance / looks)
            p_values[i] = min(looks * np.exp(log_p), 1.0)
            # As if the statistic were proportional to the estimate.
            needed[i] = share * (least - mean) / max(statistic - mean, 1e-300)
        errors = self._errors(met, rows, own)
        plain = SkewedLimits(self.raw, errors**2, np.zeros(len(errors)), np.zeros(len(errors)))
        return JudgedLimits(plain, p_values, needed)

    def _ratio(self, place: int, share: float) -> Floats:
        """log f(x - share) - log f(x), where x are the residuals without this candidate in the model."""
        x, rows, cohorts = self.residual.copy(), self.cells.rows, np.arange(len(self.residual))[:, None]
        own = self.system.listed.table[:, :, place] < self.system.cells
        # A repeated cell counts once: its place is taken by the first cell, which has its value already.
        places = np.where(own, self._places[:, :, place], self._places[:, :1, place])
        x[cohorts, places] = self.residual[cohorts, places] + share
        return self.law.log_density(x - share, rows) - self.law.log_density(x, rows)

    @cached_property
    def _places(self) -> npt.NDArray[np.intp]:
        """The cells of the candidates, shape (C, h, S); zero where a cell is a repeat."""
        table = self.system.listed.table
        return np.where(table < self.system.cells, table, 0).astype(np.intp)

    def _own(self) -> tuple[Floats, npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """The residuals in the cells of the candidates, shape (C, h, S), the levels of these, and which count."""
        own = self.system.listed.table < self.system.cells  # else a repeat, which counts once
        places, cohorts = self._places, np.arange(self.system.cohorts)[:, None, None]
        return self.residual[cohorts, places], self.cells.rows[cohorts, places], own

    def _errors(self, met: Floats, rows: npt.NDArray[np.intp], own: npt.NDArray[np.bool_]) -> Floats:
        """Standard errors by the observed change of scores in a candidate's own cells, two errors either way."""
        reach = np.where(np.isfinite(self.errors), 2 * self.errors, 0.0)
        up, down = (self.law.scores(met + side * reach, rows) for side in (1, -1))
        slope = ((up - down) * own).sum(axis=(0, 1))
        expected = (self.law.expected(rows) * own).sum(axis=(0, 1)) * 2 * reach
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(reach > 0, expected / slope, 1.0)
        return self.errors * np.where(ratio > 0, np.clip(ratio, 0.5, 2.0), 2.0)


def _with_rest(system: OpenDesign, u: Floats, shares: Floats) -> Floats:
    """Shares, and after them the mass with which residuals are zero on average."""
    rest = float((u - system.listed.forward(shares)).mean()) / system.level
    return np.append(shares, rest)
