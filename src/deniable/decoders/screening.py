"""Screening: which of very many candidates the reports can see at all, and the joint problem of those.

A million candidates against C (k - 1) + 1 equations: nothing determines all of them, but most shares are zero. With
`rest` the part of u that no candidate in the model explains, less the background, any other candidate has the score

    sum of rest over its cells  /  (number of these cells * (1 - b)),        b = P(another answer takes a cell)

which is an unbiased estimate of its share: its own answers are in all of its cells and, as part of the background, in
b of any; other answers meet it as often as the background says, on average over hash functions. Its variance is that of
the reports in its cells plus Q b (1 - b) a cell for what other answers add by meeting it more or less often than that
(`cell_law.unlisted_noise`). The search goes on in rounds:

* candidates whose score a loose test cannot exclude join the model. Loose, because what is in the model is no noise to
  the others: of 1000 Zipf shares at 10**8 reports a strict test would find 265, and this finds most of them;
* least squares over the model and the background tells who was only met by someone heavy: these leave;
* until nobody joins or leaves.

Of the model, those are *kept* that a strict, family-wise test over all S candidates finds above zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution, unbias
from deniable.decoders.constraints import Unconstrained
from deniable.decoders.estimate import Estimate
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.limits import SkewedLimits, check_level
from deniable.decoders.selection import FarLimits
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


@dataclass(frozen=True, slots=True)
class Screened(Solution):
    """`raw` is the unbiased estimate of every candidate, `errors` its standard errors, `values` zero but where kept."""

    errors: Floats
    model: Places  # in increasing order
    kept: npt.NDArray[np.bool_]  # which of the model
    design: OpenDesign  # of the model, and the background
    joint: Solution  # of that design


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


class _Screen:
    """One tally, screened."""

    def __init__(self, decoder: Screening, tally: Tally, design: StreamedDesign, progress: Progress | None) -> None:
        from scipy.special import ndtri

        self.tally, self.design, self.progress = tally, design, progress
        self.u, self.seen = unbias(tally), tally.reports > 0
        equations = int(self.seen.sum()) * (design.cells - 1) + 1
        self.most = max(1, min(_MOST_MODELLED, equations // 2))
        # How likely a candidate of share zero may be kept, and join the model.
        self.strict = (1 - decoder.level) / design.symbols
        self.loose = min(max(_BY_CHANCE * equations / design.symbols, self.strict), 0.01)
        self.reach = -float(ndtri(self.loose))  # standard errors

    def solution(self) -> Screened:
        everyone = np.arange(self.design.symbols)
        model, near, left = np.zeros(0, np.intp), everyone, np.zeros(len(everyone), np.int8)
        joint = self._joint(model)
        for _ in range(_MOST_ROUNDS):
            scores, errors = self._scores(joint, near)
            # A little less than it takes to join; those that no report tells apart have no errors of their own.
            stands = (joint.raw > (self.reach - _SLACK) * joint.standard_errors) | np.isinf(joint.standard_errors)
            left[model[~stands]] += 1
            nearer = scores > self.reach * errors
            # Whoever has left twice would only come and go.
            new = np.setdiff1d(near[nearer & (left[near] < 2)], model)
            room = max(self.most - int(stands.sum()), 0)
            if len(new) > room:
                found = np.searchsorted(near, new)
                new = new[np.argsort(-scores[found] / errors[found], kind="stable")[:room]]
            after = np.sort(np.concatenate([model[stands], new]))
            if np.array_equal(after, model):
                if len(near) == len(everyone):
                    break
                near = everyone
                continue
            if len(near) == len(everyone):  # few of the others will ever join; all are looked at again in the end
                near = everyone[scores > _NEAR * errors]
            model, joint = after, self._joint(after)
        if len(near) < len(everyone):
            scores, errors = self._scores(joint, everyone)
        return self._solution(model, joint, scores, errors)

    def _solution(self, model: Places, joint: Estimate, scores: Floats, errors: Floats) -> Screened:
        # Candidates that no report tells apart have no errors of their own; `Estimate.groups` has their sum.
        limits = joint._limits
        assert isinstance(limits, SkewedLimits)
        kept = (FarLimits(limits).above_zero() <= self.strict) | np.isinf(joint.standard_errors)
        refined = WeightedLeastSquares().solve([self.tally], joint.design)[0].values
        values = np.zeros(self.design.symbols)
        values[model[kept]] = refined[:-1][kept]
        scores[model], errors[model] = joint.raw, joint.standard_errors
        assert isinstance(joint.design, OpenDesign)
        return Screened(values, scores, errors, model, kept, joint.design, Solution(refined, joint._unknowns))

    def _joint(self, model: Places) -> Estimate:
        """The model and the background, by plain least squares, with everything that is known about it."""
        design = self.design.part(model)
        solution = LeastSquares().solve([self.tally], design)[0]
        return Estimate.of(solution, tuple(range(len(model))), LeastSquares(), Unconstrained(), self.tally, design)

    def _scores(self, joint: Estimate, some: Places) -> tuple[Floats, Floats]:
        """The scores of some candidates and their standard errors, given the model."""
        law, system = joint._law, joint.design
        assert isinstance(system, OpenDesign)
        r = float(self.tally.survey.mechanism.hit - self.tally.survey.mechanism.miss)
        rest, spread, taken = (np.zeros(self.u.shape) for _ in range(3))
        rest[self.seen] = (self.u - system.forward(joint._unknowns))[self.seen]
        spread[self.seen] = law.columns * (1 - law.columns) * law.inverse[:, None] / r**2
        taken[self.seen] = 1.0
        stack = [rest, spread + joint._middle[1] * system.level * (1 - system.level) * taken]
        if self.design.hashes > 1:  # else every answer takes one cell a cohort
            stack.append(taken)
        whole = len(some) == self.design.symbols
        design = self.design if whole else StreamedDesign(self.design.encoding, self.design.keys[some])
        found = design.scores(np.stack(stack), self.progress if whole else None)
        places = found[2] if self.design.hashes > 1 else np.full(len(some), float(self.seen.sum()))
        scale = places * (1 - system.level)
        return found[0] / scale, np.sqrt(found[1]) / scale
