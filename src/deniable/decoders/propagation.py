"""Expectation propagation (Minka 2001): empirical Bayes where symbols share cells, over many cohorts.

What the reports say about one symbol depends on what is believed about the symbols in its cells. The weighted
regression with a normal belief about each symbol gives the *cavity* of each: what the reports say about it, given the
beliefs about the others. A prior fitted to the cavities gives new beliefs, and so on for a few rounds. With few cohorts
the reports determine little, and the prior that most shares are small determines the rest.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import unbias
from deniable.decoders.normal_equations import EXACT, ROUGH, Belief, Dense, Random, System
from deniable.decoders.posterior import Posterior, spike_and_slab
from deniable.decoders.prior import Observations, learned
from deniable.decoders.shrinkage import observations, optimal_shares, shares_of, shrink_towards
from deniable.decoders.simplex import project
from deniable.decoders.tuned_constants import PRIOR, EmpiricalBayesSettings
from deniable.decoders.weighted import WeightedLeastSquares, cell_weights
from deniable.matrices import Design, OpenDesign
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]


def projected_weighted_least_squares(tally: Tally, design: Design) -> Floats:
    """The answer that no prior goes into."""
    return project(WeightedLeastSquares().solve([tally], design)[0].values)


class ExpectationPropagation:
    """One tally over cohorts that share cells."""

    def __init__(
        self, tally: Tally, design: Design, loss: str, *, ordered: bool, settings: EmpiricalBayesSettings
    ) -> None:
        self.tally, self.design, self.loss, self.ordered, self.settings = tally, design, loss, ordered, settings
        self.u = unbias(tally)
        self.open = isinstance(design, OpenDesign)
        self.size = design.symbols - self.open
        listed = design.listed if isinstance(design, OpenDesign) else design
        occupied = listed.adjoint(np.ones_like(self.u))
        pairs = float((listed.forward(np.ones(self.size)) ** 2).sum()) - float(occupied.sum())
        # The share of a symbol's cells that another symbol occupies too, on average.
        self.overlap = pairs / max(self.size * (self.size - 1), 1) / float(occupied.mean())
        known = 0 if design.hashes > 1 else 1  # cells of one-hot answers add up to one in each cohort
        cohorts = int((tally.reports > 0).sum())
        self.equations = cohorts * (design.cells - known)
        self.crowding = self.size / max(self.equations, 1)
        self.is_crowded = self.crowding > settings.crowded_from
        # One cohort cannot tell symbols of one cell apart: only beliefs would decide between them.
        self.is_ambiguous = self.is_crowded and cohorts <= 1
        self._iterated: Random | None = None  # the last large system that was solved

    def run(self, start: Floats) -> Floats:
        """The answer after a few rounds, from a first estimate of all unknowns on the simplex.

        The second round takes nearly all there is to gain. Further rounds feed back the beliefs of symbols about each
        other: where symbols are alike they share an error, which then grows from round to round.
        """
        settings, unknowns, found = self.settings, self.design.symbols, start
        wide = np.full(unknowns, (self.size / 4) ** 2)
        # A weak belief in shares of 1 / S, where the reports alone may not determine every symbol.
        vague = Belief(wide, wide / self.size)
        belief = nothing = Belief(np.zeros(unknowns), np.zeros(unknowns))
        if self.is_crowded:
            belief = vague
        rounds, averaged = settings.rounds(self.crowding)
        answers = []
        for turn in range(rounds):
            steering = turn < rounds - averaged  # its answer only gives weights and beliefs
            if turn < settings.weight_rounds:
                system = self._system(cell_weights(self.tally, self.design, found))
            values, variances = system.cavities(belief, ROUGH if steering else EXACT)
            if belief is nothing and variances.max() > 1:
                belief = vague
                values, variances = system.cavities(belief)
            rest = spike_and_slab(float(values[-1]), float(variances[-1])) if self.open else ()
            left = rest[0] if rest else 0.0
            seen = self._observations(values, variances)
            fitted = settings.steering_observations if steering else settings.prior_observations
            prior = learned(seen, fitted=fitted, orders=settings.prior_orders)
            known = prior.posterior(seen)
            belief = _updated(belief, values, variances, known, rest, 1.0 if turn == 0 else settings.belief_step)
            if steering:
                shares = optimal_shares(known, self.loss, 1 - left)
            else:
                shares = shares_of(
                    seen, prior, known, self.loss, 1 - left, settings, ordered=self.ordered, is_crowded=self.is_crowded
                )
            found = np.append(shares, left) if self.open else shares
            if not steering:
                answers.append(found)
        if averaged > 1:  # beliefs may oscillate where equations are short
            found = np.mean(answers, axis=0)
            uniform = self._uniform()
            if self._prefers(uniform, found):
                return uniform
        if self.is_crowded and self.size <= settings.max_doubted_symbols:
            plain = projected_weighted_least_squares(self.tally, self.design)
            found = shrink_towards(plain, found, known, self.loss, settings.min_saving_crowded)
        return found

    def _uniform(self) -> Floats:
        """Equal shares of all candidates, and no unallocated mass."""
        shares = np.full(self.design.symbols, 1 / self.size)
        if self.open:
            shares[-1] = 0.0
        return shares

    def _prefers(self, uniform: Floats, found: Floats) -> bool:
        """Whether the reports fit equal shares about as well as what was found.

        Where equations are short the prior has nothing to hold on to in a uniform population. One symbol apart from
        the others must improve the fit by about 2 log S to be more than the largest of S chance deviations.
        """
        weights = cell_weights(self.tally, self.design, uniform)

        def chi_square(p: Floats) -> float:
            return float((weights * (self.u - self.design.forward(p)) ** 2).sum())

        allowed = 2 * float(np.log(self.size)) + self.settings.uniform_margin
        return chi_square(uniform) - chi_square(found) < allowed

    def _system(self, weights: Floats) -> System:
        right = self.design.adjoint(weights * self.u)
        if self.design.symbols <= self.settings.max_dense_unknowns:
            return Dense(self.design.weighted_gram(weights), right)
        start = None if self._iterated is None else self._iterated.solution
        self._iterated = Random(self.design, weights, right, self.overlap, self.equations, start)
        return self._iterated

    def _observations(self, values: Floats, variances: Floats) -> Observations:
        """The cavities of the candidates as observations of their shares."""
        listed, spread = values[: self.size], variances[: self.size]
        seen = observations(listed, spread, self._slope(spread, listed))
        return replace(seen, nodes=PRIOR.coarse_nodes) if self.crowding >= 1 else seen

    def _slope(self, variances: Floats, values: Floats) -> float:
        """How the variance of an estimate grows with the share: that of one report, times the cost of sharing cells."""
        mechanism = self.tally.survey.mechanism
        hit, miss = float(mechanism.hit), float(mechanism.miss)
        q = miss + (hit - miss) * self.overlap
        gap = (hit - miss) * (1 - self.overlap)
        if gap <= 0:
            return 0.0
        base, slope = q * (1 - q) / gap**2 / self.tally.n, (1 - hit - q) / gap / self.tally.n
        unshared = np.maximum(base + slope * np.clip(values, 0.0, 1.0), 1e-3 * base)
        return slope * float(np.median(variances / unshared))


def _updated(
    belief: Belief, values: Floats, variances: Floats, known: Posterior, rest: tuple[float, ...], step: float
) -> Belief:
    """The beliefs, moved by a step towards those with which the cavities give the posterior."""
    means = np.concatenate([known.means, rest[:1]])
    spread = np.maximum(np.concatenate([known.variances, rest[1:]]), 1e-4 * variances)
    precision = np.maximum(1 / spread - 1 / variances, 1e-6 / variances)
    # A posterior with two modes may be wider than its cavity. That is no negative information: only its mean is kept.
    pull = means * (precision + 1 / variances) - values / variances
    return Belief((1 - step) * belief.precision + step * precision, (1 - step) * belief.pull + step * pull)
