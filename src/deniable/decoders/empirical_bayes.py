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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution, unbias
from deniable.decoders.cell_law import CellLaw
from deniable.decoders.guard import PLAUSIBLE, no_worse
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.normal_equations import EXACT, ROUGH, Belief, Dense, Random, System
from deniable.decoders.ordered import smoothed
from deniable.decoders.posterior import Posterior, spike_and_slab
from deniable.decoders.prior import COARSE, Observations, Prior, learned
from deniable.decoders.risk import tempered
from deniable.decoders.simplex import project
from deniable.decoders.spread import Spread
from deniable.decoders.weighted import WeightedLeastSquares, cell_weights
from deniable.design import BlockDesign, ChannelDesign, Design, OpenDesign
from deniable.errors import DecodeError
from deniable.tally import Tally
from deniable.theory.covariance import inversion_variances

__all__ = ["ENOUGH", "FEW", "WEIGHED_AT_MOST", "EmpiricalBayes", "shrink"]

Floats = npt.NDArray[np.float64]

FEW, ENOUGH = 8, 24  # symbols up to which nothing can be learned from the others, and from which it can
_DENSE_AT_MOST = 512  # unknowns up to which the regression is inverted; beyond, its diagonal is that of random hashing
WEIGHED_AT_MOST = 1024  # symbols of a block design up to which its cells are weighed
_LOOSE = 0.03  # unknowns an equation below which symbols hardly disturb each other: one round is enough
_CROWDED = 0.5  # from which the reports alone may not determine every symbol
_TIGHT = 0.6  # and from which a third round still pays
_BELIEVED = 0.5  # of the way to what the prior says: with less, nobody goes by its beliefs
_ROUNDS = 12  # where there are fewer equations than unknowns
_UNDETERMINED = 1e-4  # of the right side: least squares where it determines no symbol; sums it does are .02 s. e. off
# Observations and orders that a prior is learned from: on the way, where answers are averaged, where one is taken.
_EFFORTS = ((256, 4), (512, 4), (1024, 8))
_WEIGHED = 3  # rounds after which the weights of the cells have settled
_TAUGHT = 512  # symbols from which moving them a little hardly moves the prior that they teach
_STEP = 0.4  # of each round towards the new beliefs
_MANY, _MUCH = 64, 0.3  # where equations are short: symbols from which, or a promise with which, beliefs stand alone


@dataclass(frozen=True, slots=True)
class EmpiricalBayes(Decoder):
    """The posterior under a prior that is fitted to the unbiased estimates; what `decode` uses by default.

    `loss` says which distance to the population should be small. For "l1" the answer is between the posterior means,
    projected, and the quantiles of one common level that add up to one, which are optimal if the fitted prior is right
    (the means forgive it more); for "l2" it is the projected means. Up to eight symbols have too little to learn
    from each other: there it is the projected estimate, and up to 24 a mixture of both. Symbols whose order means
    something (ages, hours, sizes) are `ordered`: then neighbours are taken to be alike, as far as the reports agree.

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
        plain = LeastSquares(tolerance=_UNDETERMINED if short else 1e-11).solve(tallies, design)
        return [
            Solution(self._cohorts(tally, design, solution.raw), solution.raw)
            for tally, solution in zip(tallies, plain, strict=True)
        ]

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
        found = shrink(seen, self.loss, ordered=self.ordered)
        if design.occupied > 1 and FEW < len(raw) <= WEIGHED_AT_MOST:
            # More cells than symbols: once it is known which are heavy, the others can count for more.
            weights = cell_weights(tally, design, found)
            system = Dense(design.weighted_gram(weights), design.adjoint(weights * unbias(tally)))
            weighed = _observations(*system.alone(), seen.slope)
            found = shrink(weighed, self.loss, ordered=self.ordered)
        return Solution(found, raw)

    def _channel(self, tally: Tally, design: ChannelDesign) -> Solution:
        """Rows of weights differ from symbol to symbol, and so do variances: they are taken as they were estimated."""
        raw = LeastSquares().solve([tally], design)[0].raw
        spread = Spread.of(design, CellLaw.of(tally, design, raw, per_cohort=True), tally, per_cohort=True)
        if not spread.estimable.all():
            return Solution(_weighed(tally, design), raw)
        seen = Observations(raw, np.maximum(spread.variances, 1e-300), 0.0)
        return Solution(shrink(seen, self.loss, ordered=self.ordered), raw)

    def _cohorts(self, tally: Tally, design: Design, raw: Floats) -> Floats:
        regression = _Regression(tally, design, self.loss, self.ordered)
        if regression.size <= FEW:
            return _weighed(tally, design)
        found = regression.settle(project(raw))
        if regression.size < ENOUGH and regression.crowding > _CROWDED:
            # Few symbols over crowded cohorts: what beliefs are mixed with in there is made of them as well.
            found = _mixed(_weighed(tally, design), found)
        return found


def _weighed(tally: Tally, design: Design) -> Floats:
    return project(WeightedLeastSquares().solve([tally], design)[0].values)


def shrink(seen: Observations, loss: str = "l1", total: float = 1.0, *, ordered: bool = False) -> Floats:
    """Shares that add up to `total`, from noisy observations of them and nothing else.

    >>> noisy = 1 / 40 + np.array([0.02, -0.02] * 20)
    >>> shrink(Observations(noisy, np.full(40, 4e-4), 0.0)).round(2)[:4]
    array([0.03, 0.02, 0.03, 0.02])
    """
    if len(seen.values) <= FEW:
        return _projected(seen, total)
    prior = learned(seen)
    found, _ = _settled(seen, prior, prior.posterior(seen), loss, total, learned)
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


def _settled(
    seen: Observations,
    prior: Prior,
    known: Posterior,
    loss: str,
    total: float,
    learn: Callable[[Observations], Prior],
    *,
    crowded: bool = False,
) -> tuple[Floats, float]:
    """The answer that a prior and its posterior give, made safe, and how far the prior is believed.

    `learn` is how the prior was learned: small promises are checked by learning again.
    """
    found = _answer(known, loss, total)
    if total <= 0:
        return found, 1.0
    projected = _projected(seen, total)
    safe = _guarded(seen, prior, found, loss, total)
    hoped = _mixed(projected, found)
    if crowded and (safe != hoped).any():  # estimates made of beliefs know little of their risk: the guard is enough
        return safe, 1.0
    promised = 1 - known.expected_loss(hoped, loss) / max(known.expected_loss(projected, loss), 1e-300)

    def gap(moved: Observations) -> Floats:
        # In a crowd the guard has changed nothing, or this is not asked: so it is left out here, too.
        unguarded = crowded and len(moved.values) >= _TAUGHT
        again = prior if unguarded else learn(moved)
        answer = _answer(again.posterior(moved), loss, total)
        safe = _mixed(_projected(moved, total), answer) if unguarded else _guarded(moved, again, answer, loss, total)
        return safe - _projected(moved, total)

    return tempered(seen, projected, safe, promised, gap)


def _guarded(seen: Observations, prior: Prior, found: Floats, loss: str, total: float) -> Floats:
    """The answer that no plausible prior regrets."""
    projected = _projected(seen, total)
    beliefs = prior.posteriors(seen, PLAUSIBLE)
    return _mixed(projected, no_worse(found, projected, beliefs, lambda known: _answer(known, loss, total), loss))


def _mixed(projected: Floats, found: Floats) -> Floats:
    """What few symbols tell of each other counts less than what each tells of itself."""
    trust = min((len(found) - FEW) / (ENOUGH - FEW), 1.0)
    return np.asarray((1 - trust) * projected + trust * found)


def _in_order(seen: Observations, prior: Prior, found: Floats, total: float) -> Floats:
    """The answer for symbols in their natural order: smooth as far as that explains the estimates better."""
    if total <= 0:
        return found
    smooth = smoothed(seen.values, np.maximum(seen.base + seen.slope * found, 1e-3 * seen.base))
    trust = 1 / (1 + np.exp(min(prior.evidence - smooth.evidence, 700.0)))
    return np.asarray(found + trust * (total * project(smooth.means / total) - found))


class _Regression:
    """The reports of many cohorts as a regression on the unknowns, and the beliefs about them."""

    def __init__(self, tally: Tally, design: Design, loss: str, ordered: bool) -> None:
        self.tally, self.design, self.loss, self.ordered = tally, design, loss, ordered
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
        self.iterated: Random | None = None  # the last large system that was solved

    def settle(self, found: Floats) -> Floats:
        """Beliefs and cavities in turn; the answer that the last cavities, or their average, give.

        What beliefs about the others can tell of a symbol they tell at once: the second round takes nearly all there is
        to gain. More of them would only repeat what the symbols believe of each other, and where these are all alike
        that is no more than a common error, which grows from round to round.
        """
        crowding = self.crowding
        unknowns = self.design.symbols
        wide = np.full(unknowns, (self.size / 4) ** 2)
        # Where the reports alone may not determine every symbol, beliefs start wide.
        vague = Belief(wide, wide / self.size)
        belief = nothing = Belief(np.zeros(unknowns), np.zeros(unknowns))
        if crowding > _CROWDED:
            belief = vague
        rounds = 1 if crowding < _LOOSE else 2 if crowding < _TIGHT else 3 if crowding < 1 else _ROUNDS
        first = rounds // 2 if crowding >= 1 else 0  # of the answers that count
        answers = []
        for turn in range(rounds):
            if turn < _WEIGHED:
                system = self._system(cell_weights(self.tally, self.design, found))
            values, variances = system.cavities(belief, ROUGH if turn < first else EXACT)
            if belief is nothing and variances.max() > 1:
                belief = vague
                values, variances = system.cavities(belief)
            fitted, orders = _EFFORTS[(turn >= first) + (crowding < 1)]
            learn = partial(learned, fitted=fitted, orders=orders)
            seen, prior, known, rest = self._learned(values, variances, learn)
            belief = self._mixed(belief, values, variances, known, rest, 1.0 if turn == 0 else _STEP)
            left = rest[0] if rest else 0.0
            if turn < first:  # the answer does not come of this round; at first, the next weights do
                if turn < _WEIGHED - 1:
                    found = self._complete(_answer(known, self.loss, 1 - left), left)
                continue
            found, believed = self._answered(seen, prior, known, left, learn)
            answers.append(found)
            if believed < _BELIEVED and crowding < 1:  # what does not help the symbol itself does not help the others
                break
        if crowding >= 1:  # beliefs may circle where equations are short: take their middle
            found = np.mean(answers, axis=0)
            level = self._level(found)
            found = self._as_promised(found, known) if level is None else level
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

        return level if distance(level) - distance(found) < 2 * float(np.log(self.size)) + 6 else None

    def _as_promised(self, found: Floats, known: Posterior) -> Floats:
        """What few symbols believe of each other, as far as they themselves expect something of it."""
        if self.size >= _MANY:
            return found
        weighed = _weighed(self.tally, self.design)
        ours, plain = (known.expected_loss(shares[: self.size], self.loss) for shares in (found, weighed))
        trust = min(max((1 - ours / max(plain, 1e-300)) / _MUCH, 0.0), 1.0)
        return np.asarray(weighed + trust * (found - weighed))

    def _system(self, weights: Floats) -> System:
        right = self.design.adjoint(weights * self.u)
        if self.design.symbols <= _DENSE_AT_MOST:
            return Dense(self.design.weighted_gram(weights), right)
        start = None if self.iterated is None else self.iterated.solution
        self.iterated = Random(self.design, weights, right, self.overlap, self.equations, start)
        return self.iterated

    def _learned(
        self, values: Floats, variances: Floats, learn: Callable[[Observations], Prior]
    ) -> tuple[Observations, Prior, Posterior, tuple[float, float] | tuple[()]]:
        """Cavities as observations, the prior that they teach, the posterior, and mean and variance of the rest."""
        rest = spike_and_slab(float(values[-1]), float(variances[-1])) if self.open else ()
        listed, spread = values[: self.size], variances[: self.size]
        seen = _observations(listed, spread, self._slope(spread, listed))
        if self.crowding >= 1:
            seen = replace(seen, nodes=COARSE)
        prior = learn(seen)
        return seen, prior, prior.posterior(seen), rest

    def _answered(
        self,
        seen: Observations,
        prior: Prior,
        known: Posterior,
        rest: float,
        learn: Callable[[Observations], Prior],
    ) -> tuple[Floats, float]:
        """The answer, and how far the prior is believed."""
        total = 1 - rest
        found, believed = _settled(seen, prior, known, self.loss, total, learn, crowded=self.crowding > _CROWDED)
        if self.ordered:
            found = _in_order(seen, prior, found, total)
        return self._complete(found, rest), believed

    def _complete(self, listed: Floats, rest: float) -> Floats:
        """All unknowns: the shares of the candidates, and after them the unallocated mass where there is one."""
        return np.append(listed, rest) if self.open else listed

    def _mixed(
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
