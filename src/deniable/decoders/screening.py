"""Screening: which of very many candidates the reports can see at all, and the joint problem of those.

A million candidates against C (k - 1) + 1 equations: nothing determines all of them, but most shares are zero. With
`rest` the part of u that no candidate in the model explains, less the background, any other candidate has the score

    sum of rest over its cells  /  (number of these cells * (1 - b)),        b = P(another answer takes a cell)

which is an unbiased estimate of its share: its own answers are in all of its cells and, as part of the background, in
b of any; other answers meet it as often as the background says, on average over hash functions. Its variance is that of
the reports in its cells plus Q b (1 - b) a cell for what other answers add by meeting it more or less often than that
(`decoders.spread`). The search goes on in rounds:

* candidates whose score a loose test cannot exclude join the model. Loose, because what is in the model is no noise to
  the others: of 1000 Zipf shares at 10**8 reports a strict test would find 265, and this finds most of them;
* least squares over the model and the background tells who was only met by someone heavy: these leave;
* until nobody joins or leaves.

Of the model, those are *kept* that a strict, family-wise test over all S candidates finds above zero. It holds whatever
is unlisted: a candidate that is not there has its cells drawn at random, so its law is known (`drawn`).

Where unlisted answers are heavy they are spikes in single cells, and least squares is not the way to look beside them.
If the residuals show that cells tell more than that (`RobustFit.gain`), the search goes on from what was kept: by the
scores of the law that the residuals follow, with tests of the same kind (`robust`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution, unbias
from deniable.decoders.drawn import drawn_z, judged
from deniable.decoders.fit import LinearFit
from deniable.decoders.intervals import symbol_limits
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.limits import SkewedLimits, check_level
from deniable.decoders.robust import RobustFit, Seen
from deniable.decoders.selection import JudgedLimits
from deniable.decoders.weighted import WeightedLeastSquares
from deniable.design import Design, OpenDesign, StreamedDesign
from deniable.errors import DecodeError
from deniable.tally import Tally

__all__ = ["Progress", "Screened", "Screening"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Progress = Callable[[int, int], None]

_MOST_MODELLED = 4096  # candidates whose joint problem is still a matter of seconds
# Candidates of share zero that may join the model by chance, for each equation. Each takes some 20 times as much from
# the residuals as an unknown that was not chosen for its noise, and Q is seen by what is left of them.
_BY_CHANCE = 1e-3
_SLACK = 0.5  # standard errors between joining the model and leaving it
_NEAR = 1.0  # standard errors above zero from which a candidate may join later on
_MOST_ROUNDS = 24
_MOST_ROBUST = 10  # a few that are not there come and go; what is there has come by then
_JUDGED_FROM = 2.0  # standard errors above zero: nobody nearer to it is kept
_WORTH_IT = 1.1  # times as much that cells must tell beyond least squares; less is not sure to be more


@dataclass(frozen=True, slots=True)
class Screened(Solution):
    """`raw` is an estimate of every candidate, `errors` its standard errors, `values` zero but where kept."""

    errors: Floats
    model: Places  # in increasing order
    kept: npt.NDArray[np.bool_]  # which of the model
    design: OpenDesign  # of the model, and the background
    joint: Solution  # of that design
    limits: JudgedLimits  # of the model
    reach: float  # standard errors that a candidate must be above zero to join it


@dataclass(frozen=True, slots=True)
class Screening(Decoder):
    """Find what is above zero among all candidates, family-wise, and solve for that; for open alphabets.

    With probability `level` no candidate is kept whose share is zero, and every candidate is whose share is at least
    twice what the test needs (`intervals(simultaneous=True)` says how much an excluded one could still have). Kept ones
    are estimated together, by weighted least squares beside the unbiased one; excluded ones are zero. It is what
    `decode` uses above 20,000 candidates, and where there are thousands and hardly more equations than that: see
    docs/decisions/0020-million-candidates.md, and docs/results/candidates.md for what it finds.

    >>> import deniable as dn
    >>> survey = dn.orr(epsilon=3, cells=32, cohorts=64, seed=bytes(16))
    >>> tally = dn.simulate(survey, [0.7, 0.3], 10**6, np.random.default_rng(0), symbols=["a17", "a1700"])
    >>> estimate = dn.decode(tally, candidates=[f"a{i}" for i in range(30_000)])
    >>> [estimate.symbols[i] for i in estimate.kept], round(estimate["a17"], 2)
    (['a17', 'a1700'], 0.7)
    """

    inverts: ClassVar[bool] = False
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    def solve(self, tallies: Sequence[Tally], design: Design, progress: Progress | None = None) -> list[Solution]:
        if not isinstance(design, StreamedDesign):
            raise DecodeError("Screening must have an open alphabet, got a closed one; leave the decoder to decode")
        return [_Screen(self, tally, design, progress).solution() for tally in tallies]


class _Fit(ABC):
    """The joint problem of a model: some candidates and the background."""

    model: Places  # in increasing order
    raw: Floats
    errors: Floats
    rounds: ClassVar[int]  # after which a search ends

    @abstractmethod
    def after(self, model: Places, guess: Floats) -> "_Fit":
        """That of another model, whose shares are about these."""

    @abstractmethod
    def scores(self, some: Places) -> Seen:
        """What is known about some candidates, given the model."""

    @abstractmethod
    def solved(self) -> tuple[Floats, LinearFit, JudgedLimits]:
        """The unknowns as they are reported, the unbiased estimate beside them, and the limits of the candidates."""


class _Plain(_Fit):
    """By least squares, with everything that is known about it."""

    rounds = _MOST_ROUNDS

    def __init__(self, screen: "_Screen", model: Places) -> None:
        self.screen, self.model = screen, model
        self.joint = screen.joint(model)
        self.raw, self.errors = self.joint.raw, self.joint.standard_errors

    def after(self, model: Places, guess: Floats) -> "_Plain":
        return _Plain(self.screen, model)

    def scores(self, some: Places) -> Seen:
        screen, joint = self.screen, self.joint
        law, system, seen = joint.law, joint.design, screen.tally.reports > 0
        assert isinstance(system, OpenDesign)
        u, mechanism = unbias(screen.tally), screen.tally.survey.mechanism
        _, r = mechanism.affine
        rest, spread, taken = (np.zeros(u.shape) for _ in range(3))
        rest[seen] = (u - system.forward(joint.unknowns))[seen]
        spread[seen] = law.columns * (1 - law.columns) * law.inverse[:, None] / r**2
        taken[seen] = 1.0
        stack = [rest, spread + joint.spread.unlisted * system.level * (1 - system.level) * taken]
        if system.drawn > 1:  # else every answer takes one cell a cohort
            stack.append(taken)
        found = screen.sums(np.stack(stack), some)
        places = found[2] if system.drawn > 1 else np.full(len(some), float(seen.sum()))
        scale = places * (1 - system.level)
        z = np.minimum(found[0] / np.sqrt(found[1]), drawn_z(rest[seen], found[0], system.drawn))
        return Seen(found[0] / scale, np.sqrt(found[1]) / scale, z, found[0] / scale)

    def solved(self) -> tuple[Floats, LinearFit, JudgedLimits]:
        limits = symbol_limits(self.joint)
        assert isinstance(limits, SkewedLimits)
        refined = WeightedLeastSquares().solve([self.screen.tally], self.joint.design)[0].values
        return refined, self.joint, JudgedLimits(limits, *self._judged)

    @cached_property
    def _judged(self) -> tuple[Floats, Floats]:
        """P-values of the model's candidates, and the estimates that are kept from.

        Without candidate s least squares leaves R_s, orthogonal to all others, and with it s is the sum of R_s over its
        cells, over what its own column has of that. Were s not there, its cells would be drawn, whatever is in R_s.
        """
        joint, screen = self.joint, self.screen
        system, x = joint.system, joint.unknowns
        assert isinstance(system, OpenDesign)
        p_values, needed = np.ones(len(self.raw)), np.full(len(self.raw), np.inf)
        some = np.flatnonzero(np.isfinite(self.errors) & (self.raw > _JUDGED_FROM * self.errors))
        if not len(some):
            return p_values, needed
        inverse = system.factor.solve(np.eye(system.symbols)[:, some]).T
        rest = unbias(screen.tally)[joint.law.kept] - system.forward(x)
        for i, column in zip(some.tolist(), inverse, strict=True):
            own = float(column[i])
            statistic = float(x[i]) / own
            table = rest + statistic * system.forward(np.ascontiguousarray(column))
            log_p, least = judged(table, statistic, system.drawn, screen.strict)
            p_values[i], needed[i] = np.exp(log_p), least * own
        return p_values, needed


class _Robust(_Fit):
    """By the scores of the law that the residuals show."""

    rounds = _MOST_ROBUST

    def __init__(self, screen: "_Screen", model: Places, guess: Floats, *, fresh: bool = False) -> None:
        self.screen, self.model = screen, model
        self.fit = RobustFit.of(screen.tally, screen.design.part(model), guess, fresh=fresh)
        self.raw, self.errors = self.fit.raw, self.fit.errors

    def after(self, model: Places, guess: Floats) -> "_Robust":
        return _Robust(self.screen, model, guess)

    def scores(self, some: Places) -> Seen:
        tables, design = self.fit.tables(), self.screen.design
        stack = np.zeros((len(tables), design.cohorts, design.cells))
        stack[:, self.screen.tally.reports > 0] = tables
        return self.fit.seen(tables, self.screen.sums(stack, some))

    def solved(self) -> tuple[Floats, LinearFit, JudgedLimits]:
        return self.fit.unknowns, self.screen.joint(self.model), self.fit.limits(self.screen.strict)


class _Screen:
    """One tally, screened."""

    def __init__(self, decoder: Screening, tally: Tally, design: StreamedDesign, progress: Progress | None) -> None:
        from scipy.special import ndtri

        self.tally, self.design, self.progress = tally, design, progress
        equations = int((tally.reports > 0).sum()) * (design.cells - 1) + 1
        self.most = max(1, min(_MOST_MODELLED, equations // 2))
        # How likely a candidate of share zero may be kept, and join the model.
        self.strict = (1 - decoder.level) / design.symbols
        self.loose = min(max(_BY_CHANCE * equations / design.symbols, self.strict), 0.01)
        self.reach = -float(ndtri(self.loose))  # standard errors

    def solution(self) -> Screened:
        fit, others = self._search(_Plain(self, np.zeros(0, np.intp)))
        if RobustFit.suits(self.tally):
            # Only with what is certain: who was met by a spike would hide it.
            kept = self._kept(fit, fit.solved()[2])
            robust = _Robust(self, fit.model[kept], fit.raw[kept], fresh=True)
            if robust.fit.gain > _WORTH_IT:
                fit, others = self._search(robust)
        refined, joint, limits = fit.solved()
        kept = self._kept(fit, limits)
        values = np.zeros(self.design.symbols)
        values[fit.model[kept]] = refined[:-1][kept]
        raw, errors = others.shares, others.errors
        raw[fit.model], errors[fit.model] = fit.raw, limits.plain.errors
        assert isinstance(joint.design, OpenDesign)
        both = Solution(refined, joint.unknowns)
        return Screened(values, raw, errors, fit.model, kept, joint.design, both, limits, self.reach)

    def _kept(self, fit: _Fit, limits: JudgedLimits) -> npt.NDArray[np.bool_]:
        # Candidates that no report tells apart have no errors of their own; `Estimate.groups` has their sum.
        return np.asarray((limits.above_zero() <= self.strict) | np.isinf(fit.errors))

    def _search(self, fit: _Fit) -> tuple[_Fit, Seen]:
        """The fit that nobody joins or leaves any more, and what is known about all candidates."""
        everyone = np.arange(self.design.symbols)
        near, left = everyone, np.zeros(len(everyone), np.int8)
        for _ in range(fit.rounds):
            seen = fit.scores(near)
            # A little less than it takes to join; those that no report tells apart have no errors of their own.
            stands = (fit.raw > (self.reach - _SLACK) * fit.errors) | np.isinf(fit.errors)
            left[fit.model[~stands]] += 1
            # Whoever has left twice would only come and go.
            new = np.setdiff1d(near[(seen.z > self.reach) & (left[near] < 2)], fit.model)
            room = max(self.most - int(stands.sum()), 0)
            if len(new) > room:
                found = np.searchsorted(near, new)
                new = new[np.argsort(-seen.z[found], kind="stable")[:room]]
            model = np.sort(np.concatenate([fit.model[stands], new]))
            if np.array_equal(model, fit.model):
                if len(near) == len(everyone):
                    return fit, seen
                near = everyone
                continue
            guess = np.zeros(len(everyone))
            guess[near] = seen.guess
            guess[fit.model] = fit.raw
            if len(near) == len(everyone):  # few of the others will ever join; all are looked at again in the end
                near = everyone[seen.z > _NEAR]
            fit = fit.after(model, guess[model])
        return fit, fit.scores(everyone)

    def joint(self, model: Places) -> LinearFit:
        """The model and the background, by plain least squares."""
        design = self.design.part(model)
        return LinearFit(LeastSquares().solve([self.tally], design)[0].raw, self.tally, design)

    def sums(self, stack: Floats, some: Places) -> Floats:
        """Sums of tables over the cells of some candidates."""
        if len(some) == self.design.symbols:
            return self.design.scores(stack, self.progress)
        return StreamedDesign(self.design.encoding, self.design.keys[some]).scores(stack)
