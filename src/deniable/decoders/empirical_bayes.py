"""Empirical Bayes: shrink every noisy estimate towards the distribution of shares in the same population.

The unbiased estimates of many symbols show together how shares are distributed; that is the prior (`prior`). Each
symbol's own estimate, with its known variance, gives its posterior, and the answer is the point of the simplex with the
smallest expected loss (`shrinkage`). Where noise is small this is nearly the projected estimate; where it is large the
error is far smaller. Symbols with cells of their own (block designs) are observed one by one; where symbols share cells
over cohorts, expectation propagation separates them (`propagation`). Where neighbours share cells, answers have an
order, and the prior is about how smooth their density is (`smooth`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution, unbias
from deniable.decoders.cell_law import CellLaw
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.normal_equations import Dense
from deniable.decoders.prior import Observations
from deniable.decoders.propagation import ExpectationPropagation, projected_weighted_least_squares
from deniable.decoders.shrinkage import observations, shrink
from deniable.decoders.simplex import project, project_rows
from deniable.decoders.smooth import smooth_shares
from deniable.decoders.spread import Spread
from deniable.decoders.surrogate import Table
from deniable.decoders.tuned_constants import PRIOR, EmpiricalBayesSettings
from deniable.decoders.weighted import cell_weights
from deniable.errors import DecodeError
from deniable.matrices import BlockDesign, ChannelDesign, Design, NeighbourDesign
from deniable.tally import Tally
from deniable.theory import inversion_variances

__all__ = ["EmpiricalBayes", "shrink"]

Floats = npt.NDArray[np.float64]

_TEACHERS, _FEW_TEACH = 8, 32  # surveys that priors of a surrogate are fitted to, if there are fewer symbols than this
_QUICK = {"fitted": 96, "orders": 2}  # observations and orders from which a quick surrogate fits its prior


@dataclass(frozen=True, slots=True)
class EmpiricalBayes(Decoder):
    """The posterior under a prior that is fitted to the unbiased estimates; what `decode` uses by default.

    Its l1 loss is .2 to 1 times that of least squares with projection (docs/results/decoders.md). Up to four symbols
    are too few to fit a prior to: there it is the projected estimate. Error bars belong to the unbiased estimate
    beside it.

    Parameters
    ----------
    loss
        The distance to the population that should be small. "l1": the answer is the average of the projected posterior
        means and of the quantiles of one common level that add up to one. The quantiles are optimal if the prior is
        right; the means suffer less where it is wrong. "l2": the projected means.
    ordered
        Whether the order of the symbols has a meaning (ages, hours, sizes). Then neighbours are taken to be similar,
        as far as the reports agree. Surveys of numbers and of ordered answers need not say so.
    settings
        Constants that were chosen by a study; docs/results/ablation.md has what each is worth.

    Raises
    ------
    DecodeError
        If `loss` is neither "l1" nor "l2".

    Examples
    --------
    >>> import deniable as dn
    >>> survey, p = dn.subset(symbols=64, epsilon=1), dn.lab.zipf(64, 1)
    >>> tally = dn.simulate(survey, p, n=20_000, rng=np.random.default_rng(0))
    >>> projected = dn.decode(tally, decoder=dn.Inversion())
    >>> shrunk = dn.decode(tally, decoder=EmpiricalBayes())
    >>> bool(np.abs(shrunk.probabilities - p).sum() < 0.9 * np.abs(projected.probabilities - p).sum())
    True
    """

    loss: str = "l1"
    ordered: bool = False
    settings: EmpiricalBayesSettings = field(default=EmpiricalBayesSettings(), repr=False)

    def __post_init__(self) -> None:
        if self.loss not in ("l1", "l2"):
            raise DecodeError(f"loss must be 'l1' or 'l2', got {self.loss!r}")

    def solve(self, tallies: Sequence[Tally], design: Design) -> list[Solution]:
        if isinstance(design, BlockDesign):
            return [self._blocks(tally, design) for tally in tallies]
        if isinstance(design, ChannelDesign):
            return [self._channel(tally, design) for tally in tallies]
        if isinstance(design, NeighbourDesign):
            raws = [solution.raw for solution in LeastSquares().solve(tallies, design)]
            return [Solution(self._neighbours(t, design), raw) for t, raw in zip(tallies, raws, strict=True)]
        # With fewer equations than unknowns no symbol is determined, and the last digits would take most of the time.
        short = design.symbols > tallies[0].survey.cohorts * design.cells
        tolerance = self.settings.underdetermined_tolerance if short else self.settings.least_squares_tolerance
        plain = LeastSquares(tolerance=tolerance).solve(tallies, design)
        return [
            Solution(self._cohorts(tally, design, solution.raw), solution.raw)
            for tally, solution in zip(tallies, plain, strict=True)
        ]

    def learns(self, symbols: int) -> bool:
        return symbols > self.settings.max_projected_symbols

    def surrogate(
        self, estimates: Floats, base: float, slope: float, *, teacher: int = 0, quick: bool = False
    ) -> Floats:
        """The answers to many simulated surveys of one population, with priors fitted to one or a few of them.

        See `Decoder.surrogate`.

        Parameters
        ----------
        estimates
            Unbiased estimates with variances base + slope p, one survey per row.
        base, slope
            The two parts of the variance.
        teacher
            The row to fit the prior to. With fewer than 32 symbols, that row of each of eight parts of the surveys, as
            a prior that is fitted to few symbols differs from survey to survey.
        quick
            Whether a rougher prior will do.

        Returns
        -------
        ndarray
            Constrained estimates, one survey per row.

        Examples
        --------
        >>> EmpiricalBayes().surrogate(np.array([[0.9, 0.3, -0.2]]), 0.01, 0.0).round(3)
        array([[0.8, 0.2, 0. ]])
        """
        if not self.learns(estimates.shape[1]):
            return project_rows(estimates)
        effort = _QUICK if quick else {"fitted": self.settings.prior_observations, "orders": self.settings.prior_orders}
        reach = float(estimates.min()), float(estimates.max())
        # A prior that is fitted to few symbols differs from survey to survey, and so does the loss: so each part of the
        # surveys has its own teacher.
        teachers = min(_TEACHERS, len(estimates)) if estimates.shape[1] < _FEW_TEACH else 1
        parts = np.array_split(estimates, teachers)
        tables = (Table.of(part[min(teacher, len(part) - 1)], base, slope, reach, **effort) for part in parts)
        return np.concatenate([table.decoded(part) for table, part in zip(tables, parts, strict=True)])

    def _blocks(self, tally: Tally, design: BlockDesign) -> Solution:
        raw = design.invert(unbias(tally))
        mechanism = tally.survey.mechanism
        miss, r = mechanism.affine
        if design.blocks == 1:
            q = design.occupied * miss + design.shared * r
            p = q + r * design.distance
            base, slope = np.full(len(raw), q * (1 - q) / (p - q) ** 2), (1 - p - q) / (p - q)
        else:
            # A symbol's share adds to the reports in its own cells, not to those in the other cells of its block.
            within = 1 - design.shared / design.occupied
            slope = within**2 * design.occupied / (r * design.distance**2)
            columns = np.maximum(tally.counts / tally.n, 0.5 / tally.n)
            # Where all reports are equal the plug-in variance can be zero.
            variances = np.maximum(inversion_variances(design, mechanism, columns, 1), 1e-3 * slope)
            base = np.maximum(variances - slope * np.maximum(raw, 0.0), PRIOR.min_base_variance * variances)
        seen = Observations(raw, base / tally.n, slope / tally.n)
        found = self._shrunk(seen)
        if design.occupied > 1 and self.learns(len(raw)) and len(raw) <= self.settings.most_weighed_symbols:
            # More cells than symbols: with the heavy ones known, cells can be weighted by their precision.
            weights = cell_weights(tally, design, found)
            system = Dense(design.weighted_gram(weights), design.adjoint(weights * unbias(tally)))
            found = self._shrunk(observations(*system.marginal_estimates(), seen.slope))
        return Solution(found, raw)

    def _channel(self, tally: Tally, design: ChannelDesign) -> Solution:
        """Rows of weights differ from symbol to symbol, and so do variances, which are estimated."""
        raw = LeastSquares().solve([tally], design)[0].raw
        spread = Spread.of(design, CellLaw.of(tally, design, raw, per_cohort=True), tally, per_cohort=True)
        if not spread.estimable.all():
            return Solution(projected_weighted_least_squares(tally, design), raw)
        return Solution(self._shrunk(Observations(raw, np.maximum(spread.variances, 1e-300), 0.0)), raw)

    def _neighbours(self, tally: Tally, design: NeighbourDesign) -> Floats:
        if not self.learns(design.symbols):
            return projected_weighted_least_squares(tally, design)
        return smooth_shares(tally, design)

    def _cohorts(self, tally: Tally, design: Design, raw: Floats) -> Floats:
        problem = ExpectationPropagation(tally, design, self.loss, ordered=self.ordered, settings=self.settings)
        if problem.is_ambiguous or not self.learns(problem.size):
            return projected_weighted_least_squares(tally, design)
        return problem.run(project(raw))

    def _shrunk(self, seen: Observations) -> Floats:
        return shrink(seen, self.loss, ordered=self.ordered, settings=self.settings)
