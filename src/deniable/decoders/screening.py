"""Screening: find the few of very many candidates that are above zero, and estimate those jointly.

A million candidates against C (k - 1) + 1 equations are not determined, but most shares are zero. The *model* is a set
of candidates that are estimated jointly, with the background. With `rest` the residuals of the model, any other
candidate has the score

    sum of rest over its cells  /  (number of these cells * (1 - b)),        b = P(another answer has a given cell)

which is an unbiased estimate of its share. Its own answers are in all of its cells and, as part of the background, in
any cell with probability b; other answers share its cells as often as the background says, on average over hash
functions. The variance of the score is that of the reports in its cells, plus Q b (1 - b) per cell for collisions with
other answers (`decoders.spread`). The search goes on in rounds:

* Candidates with a significant score in a loose test join the model. The test is loose because a candidate in the
  model is no longer noise to the others: of 1000 Zipf shares at 10**8 reports a strict test would find 265, and this
  finds most of them.
* Candidates whose joint estimate is not significant leave: their scores came from collisions with heavy ones.
* The search ends when no candidate joins or leaves.

Candidates of the model are *kept* if a strict test with family-wise error control over all S candidates finds them
above zero. The test is valid whatever is unlisted, because the cells of a candidate of share zero are random (`drawn`).

Heavy unlisted answers are spikes in single cells, for which least squares is inefficient. If a robust fit is more
efficient (`RobustFit.gain`), the search is continued with it from the kept candidates, with tests of the same kind.
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
from deniable.decoders.robust import OutsideEstimates, RobustFit
from deniable.decoders.selection import JudgedLimits
from deniable.decoders.weighted import WeightedLeastSquares
from deniable.errors import DecodeError
from deniable.matrices import Design, OpenDesign, StreamedDesign
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Progress = Callable[[int, int], None]

_MOST_MODELLED = 4096  # candidates in a model, at most: estimating so many jointly takes seconds
# Candidates of share zero that may join the model by chance, per equation. Such a candidate was chosen for its noise:
# it reduces the squared residuals, from which Q is estimated, some 20 times as much as a random one.
_BY_CHANCE = 1e-3
_SLACK = 0.5  # standard errors between the thresholds of joining the model and of leaving it
_NEAR = 1.0  # standard errors above zero from which a candidate is scored again in the next round
_MOST_ROUNDS = 24  # rounds of the search with least squares, at most
_MOST_ROBUST = 10  # rounds of the search with a robust fit, at most; candidates above zero have joined by then
_TESTED_FROM = 2.0  # standard errors above zero from which a candidate is tested
_MIN_GAIN = 1.1  # efficiency of a robust fit over least squares from which it is used: the estimate of it is noisy


@dataclass(frozen=True, slots=True)
class Screened(Solution):
    """`raw` estimates every candidate, `errors` are its standard errors; `values` are zero where not kept."""

    errors: Floats
    model: Places  # in increasing order
    kept: npt.NDArray[np.bool_]  # which of the model
    design: OpenDesign  # of the model, and the background
    joint: Solution  # of that design
    limits: JudgedLimits  # of the model
    reach: float  # standard errors above zero from which a candidate joins the model


@dataclass(frozen=True, slots=True)
class Screening(Decoder):
    """Find the candidates above zero, with family-wise error control, and estimate them jointly; for open alphabets.

    With probability `level` no candidate of share zero is kept, and every candidate is whose share is at least twice
    what the test needs. Kept candidates are estimated by weighted least squares, beside the unbiased estimate. All
    others are reported as zero, with an upper confidence limit (`intervals`). `decode` uses it above 20,000 candidates,
    and above 4,096 where equations are short: docs/decisions/0020-million-candidates.md. docs/results/candidates.md has
    what it finds.

    Parameters
    ----------
    level
        One minus the family-wise error of keeping a candidate of share zero.

    Raises
    ------
    DecodeError
        If `level` is not between 0 and 1; in `solve`, if the alphabet is closed.

    Examples
    --------
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
    """The joint estimate of a model: some candidates and the background."""

    model: Places  # in increasing order
    raw: Floats
    errors: Floats
    rounds: ClassVar[int]  # after which a search ends in any case

    @abstractmethod
    def after(self, model: Places, guess: Floats) -> "_Fit":
        """The fit of another model; `guess` are first estimates of its shares."""

    @abstractmethod
    def scores(self, some: Places) -> OutsideEstimates:
        """Estimates of some candidates outside the model."""

    @abstractmethod
    def solved(self) -> tuple[Floats, LinearFit, JudgedLimits]:
        """The unknowns as they are reported, the unbiased estimate, and the limits of the candidates."""


class _Plain(_Fit):
    """By least squares."""

    rounds = _MOST_ROUNDS

    def __init__(self, screen: "_Screen", model: Places) -> None:
        self.screen, self.model = screen, model
        self.joint = screen.joint(model)
        self.raw, self.errors = self.joint.raw, self.joint.standard_errors

    def after(self, model: Places, guess: Floats) -> "_Plain":
        return _Plain(self.screen, model)

    def scores(self, some: Places) -> OutsideEstimates:
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
        return OutsideEstimates(found[0] / scale, np.sqrt(found[1]) / scale, z, found[0] / scale)

    def solved(self) -> tuple[Floats, LinearFit, JudgedLimits]:
        limits = symbol_limits(self.joint)
        assert isinstance(limits, SkewedLimits)
        refined = WeightedLeastSquares().solve([self.screen.tally], self.joint.design)[0].values
        return refined, self.joint, JudgedLimits(limits, *self._judged)

    @cached_property
    def _judged(self) -> tuple[Floats, Floats]:
        """P-values of the model's candidates, and the smallest estimate of each that is kept.

        Let R_s be the residuals of the model without candidate s. The estimate of s is proportional to the sum of R_s
        over its cells. If its share is zero its cells are random, given R_s, which gives the p-value.
        """
        joint, screen = self.joint, self.screen
        system, x = joint.system, joint.unknowns
        assert isinstance(system, OpenDesign)
        p_values, needed = np.ones(len(self.raw)), np.full(len(self.raw), np.inf)
        some = np.flatnonzero(np.isfinite(self.errors) & (self.raw > _TESTED_FROM * self.errors))
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
    """By robust regression."""

    rounds = _MOST_ROBUST

    def __init__(self, screen: "_Screen", model: Places, guess: Floats, *, fresh: bool = False) -> None:
        self.screen, self.model = screen, model
        self.fit = RobustFit.of(screen.tally, screen.design.part(model), guess, fresh=fresh)
        self.raw, self.errors = self.fit.raw, self.fit.errors

    def after(self, model: Places, guess: Floats) -> "_Robust":
        return _Robust(self.screen, model, guess)

    def scores(self, some: Places) -> OutsideEstimates:
        tables, design = self.fit.tables(), self.screen.design
        stack = np.zeros((len(tables), design.cohorts, design.cells))
        stack[:, self.screen.tally.reports > 0] = tables
        return self.fit.seen(tables, self.screen.sums(stack, some))

    def solved(self) -> tuple[Floats, LinearFit, JudgedLimits]:
        return self.fit.unknowns, self.screen.joint(self.model), self.fit.limits(self.screen.strict)


class _Screen:
    """The search for the candidates above zero in one tally."""

    def __init__(self, decoder: Screening, tally: Tally, design: StreamedDesign, progress: Progress | None) -> None:
        from scipy.special import ndtri

        self.tally, self.design, self.progress = tally, design, progress
        equations = int((tally.reports > 0).sum()) * (design.cells - 1) + 1
        self.most = max(1, min(_MOST_MODELLED, equations // 2))
        # Probabilities that a candidate of share zero is kept, and that it joins the model.
        self.strict = (1 - decoder.level) / design.symbols
        self.loose = min(max(_BY_CHANCE * equations / design.symbols, self.strict), 0.01)
        self.reach = -float(ndtri(self.loose))  # standard errors
        # The candidates that were scored last, with their cells.
        self._near: tuple[Places, StreamedDesign] | None = None

    def solution(self) -> Screened:
        fit, others = self._search(_Plain(self, np.zeros(0, np.intp)))
        if RobustFit.suits(self.tally):
            # It starts with kept candidates only: one that shares a cell with a spike would hide the spike.
            kept = self._kept(fit, fit.solved()[2])
            robust = _Robust(self, fit.model[kept], fit.raw[kept], fresh=True)
            if robust.fit.gain > _MIN_GAIN:
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
        # Candidates with the same cells have infinite errors; `Estimate.groups` has their sum.
        return np.asarray((limits.above_zero() <= self.strict) | np.isinf(fit.errors))

    def _search(self, fit: _Fit) -> tuple[_Fit, OutsideEstimates]:
        """The fit that no candidate joins or leaves any more, and the scores of all candidates."""
        everyone = np.arange(self.design.symbols)
        near, left = everyone, np.zeros(len(everyone), np.int8)
        for _ in range(fit.rounds):
            seen = fit.scores(near)
            # The threshold of leaving is a little lower; candidates with the same cells have infinite errors.
            stands = (fit.raw > (self.reach - _SLACK) * fit.errors) | np.isinf(fit.errors)
            left[fit.model[~stands]] += 1
            # A candidate that has left twice would only come and go.
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
            if len(near) == len(everyone):  # few others will ever join; all are scored again at the end
                near = everyone[seen.z > _NEAR]
            fit = fit.after(model, guess[model])
        return fit, fit.scores(everyone)

    def joint(self, model: Places) -> LinearFit:
        """The joint estimate of the model and the background by plain least squares."""
        design = self.design.part(model)
        return LinearFit(LeastSquares().solve([self.tally], design)[0].raw, self.tally, design)

    def sums(self, stack: Floats, some: Places) -> Floats:
        """The sums of tables over the cells of some candidates."""
        if len(some) == self.design.symbols:
            return self.design.scores(stack, self.progress)
        if self._near is None or self._near[0] is not some:
            self._near = some, StreamedDesign(self.design.encoding, self.design.keys[some], hold=True)
        return self._near[1].scores(stack)
