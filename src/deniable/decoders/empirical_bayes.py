"""Empirical Bayes: shrink every noisy estimate towards what shares in this very population look like.

The unbiased estimates of many symbols say together how shares are spread; that is the prior (`prior`). Each symbol's
own estimate, with its known variance, then gives its posterior, and the answer is the point of the simplex that the
posteriors ask for. Where noise is small this is the projected estimate, nearly; where it is large it is far better.

Symbols with cells of their own (block designs) are observed one by one. Over cohorts symbols share cells, so what one
of them is seen as depends on what is believed about the others. Expectation propagation (Minka 2001) settles that: the
regression with a normal belief about each symbol gives what the reports alone say about it (its cavity), the prior
turns that into a new belief, and so on. With few cohorts this is what makes the difference: the reports determine
little, and the prior that most shares are small determines the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution, unbias
from deniable.decoders.cell_law import CellLaw
from deniable.decoders.guard import no_worse
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.normal_equations import EXACT, ROUGH, Belief, Dense, Random, System
from deniable.decoders.ordered import smoothed
from deniable.decoders.posterior import Posterior, spike_and_slab
from deniable.decoders.prior import COARSE, Observations, Prior, learned
from deniable.decoders.settings import Settings
from deniable.decoders.simplex import project, project_rows
from deniable.decoders.spread import Spread
from deniable.decoders.surrogate import Table
from deniable.decoders.weighted import WeightedLeastSquares, cell_weights
from deniable.design import BlockDesign, ChannelDesign, Design, OpenDesign
from deniable.errors import DecodeError
from deniable.tally import Tally
from deniable.theory.covariance import inversion_variances

__all__ = ["EmpiricalBayes", "shrink"]

Floats = npt.NDArray[np.float64]

_TEACHERS, _FEW_TEACH = 8, 32  # surveys that a surrogate learns from, where symbols are fewer than this
_QUICK = {"fitted": 96, "orders": 2}  # what a quick surrogate learns its prior from


@dataclass(frozen=True, slots=True)
class EmpiricalBayes(Decoder):
    """The posterior under a prior that is fitted to the unbiased estimates; what `decode` uses by default.

    `loss` says which distance to the population should be small. For "l1" the answer is between the posterior means,
    projected, and the quantiles of one common level that add up to one, which are optimal if the fitted prior is right
    (the means forgive it more); for "l2" it is the projected means. Up to four symbols have too little to learn from
    each other: there it is the projected estimate. Symbols whose order means something (ages, hours, sizes) are
    `ordered`: then neighbours are taken to be alike, as far as the reports agree. `settings` are what a study chose;
    docs/results/ablation.md has what each of them is worth.

    Its l1 loss relative to least squares and projection is .2 to 1 (docs/results/decoders.md). The error bars beside it
    are those of the unbiased estimate.

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
    settings: Settings = field(default=Settings(), repr=False)

    def __post_init__(self) -> None:
        if self.loss not in ("l1", "l2"):
            raise DecodeError(f"loss must be 'l1' or 'l2', got {self.loss!r}")

    def solve(self, tallies: Sequence[Tally], design: Design) -> list[Solution]:
        if isinstance(design, BlockDesign):
            return [self._blocks(tally, design) for tally in tallies]
        if isinstance(design, ChannelDesign):
            return [self._channel(tally, design) for tally in tallies]
        # With fewer equations than unknowns no symbol is determined, and the last digits of least squares cost most.
        short = design.symbols > tallies[0].survey.cohorts * design.cells
        tolerance = self.settings.undetermined_tolerance if short else self.settings.least_squares_tolerance
        plain = LeastSquares(tolerance=tolerance).solve(tallies, design)
        return [
            Solution(self._cohorts(tally, design, solution.raw), solution.raw)
            for tally, solution in zip(tallies, plain, strict=True)
        ]

    def learns(self, symbols: int) -> bool:
        return symbols > self.settings.few_symbols

    def surrogate(
        self, estimates: Floats, base: float, slope: float, *, teacher: int = 0, quick: bool = False
    ) -> Floats:
        """What it makes of many surveys of one population at once, under the priors that one or a few of them suggest.

        >>> EmpiricalBayes().surrogate(np.array([[0.9, 0.3, -0.2]]), 0.01, 0.0).round(3)
        array([[0.8, 0.2, 0. ]])
        """
        if not self.learns(estimates.shape[1]):
            return project_rows(estimates)
        effort = _QUICK if quick else {"fitted": self.settings.fitted, "orders": self.settings.orders}
        reach = float(estimates.min()), float(estimates.max())
        # What few symbols teach differs from survey to survey, and so does the loss: each part has its own teacher.
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
            # A symbol's share adds to the reports in its own cells, and not to those beside them in its block.
            within = 1 - design.shared / design.occupied
            slope = within**2 * design.occupied / (r * design.distance**2)
            columns = np.maximum(tally.counts / tally.n, 0.5 / tally.n)
            # Where all reports are alike the plug-in variance can vanish.
            variances = np.maximum(inversion_variances(design, mechanism, columns, 1), 1e-3 * slope)
            base = np.maximum(variances - slope * np.maximum(raw, 0.0), 0.3 * variances)
        seen = Observations(raw, base / tally.n, slope / tally.n)
        found = shrink(seen, self.loss, ordered=self.ordered, settings=self.settings)
        if design.occupied > 1 and self.settings.few_symbols < len(raw) <= self.settings.most_weighed_symbols:
            # More cells than symbols: once it is known which are heavy, the others can count for more.
            weights = cell_weights(tally, design, found)
            system = Dense(design.weighted_gram(weights), design.adjoint(weights * unbias(tally)))
            weighed = _observations(*system.alone(), seen.slope)
            found = shrink(weighed, self.loss, ordered=self.ordered, settings=self.settings)
        return Solution(found, raw)

    def _channel(self, tally: Tally, design: ChannelDesign) -> Solution:
        """Rows of weights differ from symbol to symbol, and so do variances: they are taken as they were estimated."""
        raw = LeastSquares().solve([tally], design)[0].raw
        spread = Spread.of(design, CellLaw.of(tally, design, raw, per_cohort=True), tally, per_cohort=True)
        if not spread.estimable.all():
            return Solution(_weighed(tally, design), raw)
        seen = Observations(raw, np.maximum(spread.variances, 1e-300), 0.0)
        return Solution(shrink(seen, self.loss, ordered=self.ordered, settings=self.settings), raw)

    def _cohorts(self, tally: Tally, design: Design, raw: Floats) -> Floats:
        regression = _Regression(tally, design, self)
        if regression.is_alone or not self.learns(regression.size):
            return _weighed(tally, design)
        return regression.settle(project(raw))


def _weighed(tally: Tally, design: Design) -> Floats:
    """Weighted least squares, projected: what no belief goes into."""
    return project(WeightedLeastSquares().solve([tally], design)[0].values)


def shrink(
    seen: Observations,
    loss: str = "l1",
    total: float = 1.0,
    *,
    ordered: bool = False,
    settings: Settings = Settings(),  # noqa: B008  an immutable value
) -> Floats:
    """Shares that add up to `total`, from noisy observations of them and nothing else.

    >>> noisy = 1 / 40 + np.array([0.02, -0.02] * 20)
    >>> shrink(Observations(noisy, np.full(40, 4e-4), 0.0)).round(2)[:4]
    array([0.03, 0.02, 0.03, 0.02])
    """
    if len(seen.values) <= settings.few_symbols:
        return _projected(seen, total)
    prior = learned(seen, fitted=settings.fitted, orders=settings.orders)
    found = _guarded(seen, prior, prior.posterior(seen), loss, total, settings)
    return _in_order(seen, prior, found, total) if ordered else found


def _observations(values: Floats, variances: Floats, slope: float) -> Observations:
    """Estimates with these variances, of which the share itself makes up so much."""
    return Observations(values, np.maximum(variances - slope * np.clip(values, 0.0, 1.0), 0.3 * variances), slope)


def _projected(seen: Observations, total: float) -> Floats:
    return total * project(seen.values / total) if total > 0 else np.zeros_like(seen.values)


def _answer(known: Posterior, loss: str, total: float) -> Floats:
    """The shares that a posterior asks for."""
    if total <= 0:
        return np.zeros(len(known.zero))
    found = total * project(known.means / total)
    if loss == "l1":
        # Means forgive a prior that is a little off; the more shares are zero, the more they smear.
        sparse = max(0.5, float(known.zero.mean()))
        found += sparse * (known.quantiles(total) - found)
    return found


def _guarded(
    seen: Observations,
    prior: Prior,
    known: Posterior,
    loss: str,
    total: float,
    settings: Settings,
    *,
    is_crowded: bool = False,
) -> Floats:
    """The answer of a posterior, moved until no plausible prior expects more loss of it than of projection."""
    found = _answer(known, loss, total)
    if total <= 0:
        return found
    projected, beliefs = _projected(seen, total), prior.posteriors(seen, settings.plausible)
    found = no_worse(found, projected, beliefs, lambda known: _answer(known, loss, total), loss)
    return found if is_crowded else _as_promised(projected, found, known, loss, settings.sure_saving)


def _as_promised(plain: Floats, found: Floats, known: Posterior, loss: str, sure: float) -> Floats:
    """All of the way from the plain answer to `found` if that promises to save so much of the loss, else less of it.

    A prior that promises little may be wrong by as much: evenly spread shares look, through noise, as if they came in
    clumps.
    """
    if sure <= 0:
        return found
    size = len(known.zero)
    ours, theirs = (known.expected_loss(shares[:size], loss) for shares in (found, plain))
    trust = min(max((1 - ours / max(theirs, 1e-300)) / sure, 0.0), 1.0)
    return np.asarray(plain + trust * (found - plain))


def _in_order(seen: Observations, prior: Prior, found: Floats, total: float) -> Floats:
    """The answer for symbols in their natural order: smooth as far as that explains the estimates better."""
    if total <= 0:
        return found
    smooth = smoothed(seen.values, np.maximum(seen.base + seen.slope * found, 1e-3 * seen.base))
    trust = 1 / (1 + np.exp(min(prior.evidence - smooth.evidence, 700.0)))
    return np.asarray(found + trust * (total * project(smooth.means / total) - found))


class _Regression:
    """The reports of many cohorts as a regression on the unknowns, and the beliefs about them."""

    def __init__(self, tally: Tally, design: Design, decoder: EmpiricalBayes) -> None:
        self.tally, self.design = tally, design
        self.loss, self.ordered, self.settings = decoder.loss, decoder.ordered, decoder.settings
        self.u = unbias(tally)
        self.open = isinstance(design, OpenDesign)
        self.size = design.symbols - self.open
        listed = design.listed if isinstance(design, OpenDesign) else design
        seats = listed.adjoint(np.ones_like(self.u))
        together = float((listed.forward(np.ones(self.size)) ** 2).sum()) - float(seats.sum())
        # How much of a symbol's cells any other symbol shares.
        self.overlap = together / max(self.size * (self.size - 1), 1) / float(seats.mean())
        known = 0 if design.hashes > 1 else 1  # cells of one-hot answers add up to one in each cohort
        self.equations = int((tally.reports > 0).sum()) * (design.cells - known)
        self.crowding = self.size / max(self.equations, 1)
        # One cohort cannot tell symbols of one cell apart: beliefs would decide between them, and nothing else.
        self.is_alone = self.crowding > self.settings.crowded and int((tally.reports > 0).sum()) <= 1
        self.iterated: Random | None = None  # the last large system that was solved

    def settle(self, found: Floats) -> Floats:
        """Beliefs and cavities in turn; the answer that the last cavities, or their average, give.

        What beliefs about the others can tell of a symbol they tell at once: the second round takes nearly all there is
        to gain. More of them would only repeat what the symbols believe of each other, and where these are all alike
        that is no more than a common error, which grows from round to round.
        """
        settings, unknowns, is_crowded = self.settings, self.design.symbols, self.crowding > self.settings.crowded
        wide = np.full(unknowns, (self.size / 4) ** 2)
        # Where the reports alone may not determine every symbol, beliefs start wide.
        vague = Belief(wide, wide / self.size)
        belief = nothing = Belief(np.zeros(unknowns), np.zeros(unknowns))
        if is_crowded:
            belief = vague
        rounds, counted = settings.rounds(self.crowding)
        answers = []
        for turn in range(rounds):
            steers = turn < rounds - counted  # its answer is not used, but the weights and beliefs it gives
            if turn < settings.weight_rounds:
                system = self._system(cell_weights(self.tally, self.design, found))
            values, variances = system.cavities(belief, ROUGH if steers else EXACT)
            if belief is nothing and variances.max() > 1:
                belief = vague
                values, variances = system.cavities(belief)
            rest = spike_and_slab(float(values[-1]), float(variances[-1])) if self.open else ()
            left = rest[0] if rest else 0.0
            seen = self._seen(values, variances)
            prior = learned(
                seen, fitted=settings.steering_fitted if steers else settings.fitted, orders=settings.orders
            )
            known = prior.posterior(seen)
            belief = self._moved(belief, values, variances, known, rest, 1.0 if turn == 0 else settings.step)
            if steers:
                found = self._complete(_answer(known, self.loss, 1 - left), left)
                continue
            shares = _guarded(seen, prior, known, self.loss, 1 - left, settings, is_crowded=is_crowded)
            if self.ordered:
                shares = _in_order(seen, prior, shares, 1 - left)
            answers.append(found := self._complete(shares, left))
        if counted > 1:  # beliefs may circle where equations are short: take their middle
            found = np.mean(answers, axis=0)
            level = self._level(found)
            if level is not None:
                return level
        if is_crowded and self.size <= settings.most_doubted:
            found = _as_promised(
                _weighed(self.tally, self.design), found, known, self.loss, settings.sure_saving_crowded
            )
        return found

    def _level(self, found: Floats) -> Floats | None:
        """All candidates alike, where the reports do not prefer what was found to that.

        Where equations are short a level population leaves beliefs with nothing to hold on to. One symbol apart from
        the others would have to improve the fit by about 2 log S to be more than the largest of S accidents.
        """
        level = np.full(self.design.symbols, 1 / self.size)
        if self.open:
            level[-1] = 0.0
        weights = cell_weights(self.tally, self.design, level)

        def distance(p: Floats) -> float:
            return float((weights * (self.u - self.design.forward(p)) ** 2).sum())

        allowed = 2 * float(np.log(self.size)) + self.settings.level_margin
        return level if distance(level) - distance(found) < allowed else None

    def _system(self, weights: Floats) -> System:
        right = self.design.adjoint(weights * self.u)
        if self.design.symbols <= self.settings.most_dense_unknowns:
            return Dense(self.design.weighted_gram(weights), right)
        start = None if self.iterated is None else self.iterated.solution
        self.iterated = Random(self.design, weights, right, self.overlap, self.equations, start)
        return self.iterated

    def _seen(self, values: Floats, variances: Floats) -> Observations:
        """The cavities of the listed symbols as observations of their shares."""
        listed, spread = values[: self.size], variances[: self.size]
        seen = _observations(listed, spread, self._slope(spread, listed))
        return replace(seen, nodes=COARSE) if self.crowding >= 1 else seen

    def _complete(self, listed: Floats, rest: float) -> Floats:
        """All unknowns: the shares of the candidates, and after them the unallocated mass where there is one."""
        return np.append(listed, rest) if self.open else listed

    def _moved(
        self, belief: Belief, values: Floats, variances: Floats, known: Posterior, rest: tuple[float, ...], step: float
    ) -> Belief:
        """The beliefs, moved by a step towards what the prior makes of the cavities."""
        means = np.concatenate([known.means, rest[:1]])
        left = np.maximum(np.concatenate([known.variances, rest[1:]]), 1e-4 * variances)
        precision = np.maximum(1 / left - 1 / variances, 1e-6 / variances)
        # A posterior wider than its cavity, between two bumps, is no negative information: only its mean is kept.
        pull = means * (precision + 1 / variances) - values / variances
        return Belief(
            (1 - step) * belief.precision + step * precision,
            (1 - step) * belief.pull + step * pull,
        )

    def _slope(self, variances: Floats, values: Floats) -> float:
        """How the variance of an estimate grows with the share: that of one report, times what sharing cells costs."""
        mechanism = self.tally.survey.mechanism
        hit, miss = float(mechanism.hit), float(mechanism.miss)
        q = miss + (hit - miss) * self.overlap
        gap = (hit - miss) * (1 - self.overlap)
        if gap <= 0:
            return 0.0
        base, slope = q * (1 - q) / gap**2 / self.tally.n, (1 - hit - q) / gap / self.tally.n
        alone = np.maximum(base + slope * np.clip(values, 0.0, 1.0), 1e-3 * base)
        return slope * float(np.median(variances / alone))
