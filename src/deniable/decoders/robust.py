"""The joint problem of some candidates where spikes of unlisted answers are the noise: shares of greatest likelihood.

Least squares weighs every cell alike, so its errors are those of the mean square, which a few spikes make. Here each
cell counts by the score of the law that the residuals themselves show (`spikes`). With T(p) the sum of the scores over
a candidate's cells, the shares are where all T are zero (an M-estimate whose law is learned: Bickel 1982 on adaptive
regression), found by Fisher scoring from least squares.

What is *certain* about such estimates comes from the hash functions, not from the law. A candidate of share zero has a
cell in each cohort that is as good as drawn at random, whatever is in the cells. So any sum of a function of the
residuals over its cells has, given the tally, a known law: that of drawing one cell a cohort (`drawn`). Were the
learned law wrong, tests would find less, and still not find what is not there.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import unbias
from deniable.decoders.drawn import drawn_z, judged
from deniable.decoders.limits import SkewedLimits
from deniable.decoders.selection import JudgedLimits
from deniable.decoders.simplex import project
from deniable.decoders.spikes import Cells, SpikeLaw, width_of
from deniable.design import GramFactor, OpenDesign
from deniable.tally import Tally

__all__ = ["RobustFit", "Seen"]

Floats = npt.NDArray[np.float64]

_MOST_TURNS = 16
_SETTLED = 0.02  # standard errors
_CURVED = 8.0  # standard errors up to which shares are seen by their scores
_LARGER = 2.0  # between the shares beyond, which are looked at by themselves
_MOST_LARGER = 6
_SQUARES = 6.0  # standard errors from which least squares sees a share
_JUDGED_FROM = 2.0  # standard errors above zero: nobody nearer to it is kept
_FEWEST_CELLS = 1024  # to learn a law from
_FEWEST_COHORTS = 24  # of which each half is judged by the law of the other
_FEWEST_REPORTS = 16.0  # a cell, for its noise to be nearly normal: fewer look like spikes themselves


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known about candidates outside the model."""

    shares: Floats
    errors: Floats
    z: Floats  # how many standard deviations what speaks most for a candidate is above zero
    guess: Floats  # its share, if that is true


@dataclass(frozen=True)
class RobustFit:
    """Shares of some candidates and the rest, their standard errors, and what each cell says about anybody else."""

    system: OpenDesign  # of the cohorts that reported
    unknowns: Floats
    errors: Floats
    residual: Floats
    cells: Cells
    law: SpikeLaw
    scores: Floats  # of the residuals, less their mean in each cohort
    weights: Floats  # the information of each cell about a share that is in it
    leverage: Floats  # how much wider errors are because the others are estimated too
    gain: float  # the mean square of the residuals over that from which least squares would tell as much

    @staticmethod
    def suits(tally: Tally) -> bool:
        """Whether there are cells enough to learn a law from, and reports enough that it would be about spikes."""
        cohorts = int((tally.reports > 0).sum())
        cells = cohorts * tally.survey.cells
        return cells >= _FEWEST_CELLS and cohorts >= _FEWEST_COHORTS and tally.n >= _FEWEST_REPORTS * cells

    @classmethod
    def of(cls, tally: Tally, design: OpenDesign, shares: Floats, *, fresh: bool = False) -> "RobustFit":
        """The fit of a tally from about these shares, `fresh` from least squares; the design has all cohorts."""
        mechanism, seen = tally.survey.mechanism, tally.reports > 0
        system = design.only(seen)
        assert isinstance(system, OpenDesign)
        miss, r = mechanism.affine
        u = unbias(tally)[seen]
        found = _with_rest(system, u, shares)
        m = miss + r * system.forward(project(found))
        cells = Cells.of(m * (1 - m) / tally.reports[seen][:, None] / r**2)
        residual = u - system.forward(found)
        # Shares that are off by more than the core is wide would never find it: spikes are told apart little by little.
        blur = float(residual.std()) if fresh else 2 * width_of(residual)
        for turn in range(_MOST_TURNS):
            law = SpikeLaw.of(residual, cells, blur)
            scores, bends = law.scores(residual, cells.rows), law.information(residual, cells.rows)
            weights = law.expected(cells.rows)
            factor = GramFactor.of(system.weighted_gram(weights))
            step = factor.solve(system.adjoint(scores))[:-1]
            inverse = np.diag(factor.solve(np.eye(len(found))))
            settled = not (np.abs(step) > _SETTLED * np.sqrt(np.maximum(inverse[:-1], 0.0))).any()
            if turn == _MOST_TURNS - 1 or (settled and blur < width_of(residual) / 8):
                break
            found = _with_rest(system, u, found[:-1] + step)
            residual = u - system.forward(found)
            blur /= 2
        # What was fitted took some of the scores, and some of how they grow (Huber 1981, 7.6).
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
        """What the cells say about a candidate that has them, shape (R, C, k).

        First the scores, for shares within the noise of a cell. They vanish beyond it, where all cells of a candidate
        look like spikes; so next the logarithms of f(x - p) / f(x) for some larger shares p, as far as least squares
        would not see them anyway.
        """
        x, rows = self.residual, self.cells.rows
        now = self.law.log_density(x, rows)
        return np.stack([self.scores, *(self.law.log_density(x - share, rows) - now for share in self.larger)])

    @property
    def larger(self) -> list[float]:
        """Shares beyond those that scores see."""
        seen, most = _CURVED * self._one_score[0] / self._one_score[1], _SQUARES * float(self.residual.std())
        rungs = int(np.ceil(np.log(max(most / np.sqrt(self.system.cohorts) / seen, 1.0)) / np.log(_LARGER)))
        return [seen * _LARGER**rung for rung in range(min(rungs, _MOST_LARGER))]

    @property
    def _one_score(self) -> tuple[float, float]:
        """The standard deviation of a sum of scores over the cells of a candidate, and how fast its mean grows."""
        system = self.system
        slope = system.level * (1 - system.level) * float(self.weights.sum())
        return float(np.sqrt((system.level - system.both) * (self.scores**2).sum())), slope

    def seen(self, tables: Floats, sums: Floats) -> Seen:
        """What these sums of the tables over their cells, shape (R, S), say about candidates outside the model.

        The standard deviation of a sum comes from drawing cells. A share moves its cells towards where scores grow no
        more, so that their sum is not quite linear in it; how far it is not is known as well.
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
            # Whoever is met by a spike here and there has more of it than others, and still less than without a share.
            above = np.where(total > 0, drawn_z(table, total, system.drawn), 0.0)
            z, guess = np.maximum(z, above), np.where(above > z, share, guess)
        return Seen(shares, errors, z, guess)

    def limits(self, chance: float) -> JudgedLimits:
        """Limits of the candidates: from their errors, and tested by likelihood ratios whose law the hashing gives.

        The statistic is L = sum of log f(x - p) - log f(x) over the cells of a candidate, with p its share and x what
        would be in the cells without it: it grows with p however heavy that is, where scores at zero vanish once all
        of its cells look like spikes. A candidate is kept if its p-value is at most `chance`.

        Claim: one tally in twenty at most has a candidate of share zero among those below .05 / S.
        Proof: tests/statistical/test_screening.py::test_nothing_is_found_that_is_not_there
        """
        met, rows, own = self._own()
        known = np.isfinite(self.errors) & (self.raw > _JUDGED_FROM * self.errors)
        looks = 1 + len(self.larger)
        p_values, needed = np.ones(len(self.raw)), np.full(len(self.raw), np.inf)
        for i in np.flatnonzero(known).tolist():
            share = float(self.raw[i])
            ratio = self._ratio(i, share)
            here = ratio[np.arange(len(ratio))[:, None], self._places[:, :, i]]
            total, mean = float((here * own[:, :, i]).sum()), self.system.level * float(ratio.sum())
            if total <= 0:  # who is met by a spike now and then has more than others, and less than without a share
                continue
            # The rest and the other candidates are estimated too, which takes some of what speaks for this one.
            statistic = mean + (1 - self.system.level) / float(self.leverage[i]) * (total - mean)
            log_p, least = judged(ratio, statistic, self.system.drawn, chance / looks)
            p_values[i] = min(looks * np.exp(log_p), 1.0)
            # If the statistic grows like the estimate.
            needed[i] = share * (least - mean) / max(statistic - mean, 1e-300)
        errors = self._errors(met, rows, own)
        plain = SkewedLimits(self.raw, errors**2, np.zeros(len(errors)), np.zeros(len(errors)))
        return JudgedLimits(plain, p_values, needed)

    def _ratio(self, place: int, share: float) -> Floats:
        """log f(x - share) - log f(x), where x is what all cells would hold were this candidate not in the model."""
        x, rows, cohorts = self.residual.copy(), self.cells.rows, np.arange(len(self.residual))[:, None]
        own = self.system.listed.table[:, :, place] < self.system.cells
        # A repeat counts once: where it would be the first cell is put back instead, to what it is already.
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
        """Standard errors by how fast the scores in a candidate's own cells really change, two errors either way."""
        reach = np.where(np.isfinite(self.errors), 2 * self.errors, 0.0)
        up, down = (self.law.scores(met + side * reach, rows) for side in (1, -1))
        slope = ((up - down) * own).sum(axis=(0, 1))
        expected = (self.law.expected(rows) * own).sum(axis=(0, 1)) * 2 * reach
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(reach > 0, expected / slope, 1.0)
        return self.errors * np.where(ratio > 0, np.clip(ratio, 0.5, 2.0), 2.0)


def _with_rest(system: OpenDesign, u: Floats, shares: Floats) -> Floats:
    """Shares, and after them the mass that leaves nothing on average."""
    rest = float((u - system.listed.forward(shares)).mean()) / system.level
    return np.append(shares, rest)
