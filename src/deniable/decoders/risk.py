"""How far to go from the projected estimate to the shrunken one, by an unbiased estimate of the risk.

A prior that was learned from few and hardly noisy estimates promises a little, and may be wrong by as much: shares that
are evenly spread look, through their noise, as if they came in clumps. On P + w (F - P), from the projected estimate P
to the shrunken one F, the squared loss is a parabola in w. Its slope at zero is twice the mean of

    (F - P) . (P - x)  +  sum of v_i d(F - P)_i / dx_i                                      (Stein 1981)

with x the unbiased estimates and v their variances: nothing in it is unknown. The derivatives are those of everything
that is done to x, the learning of the prior included; decoding slightly moved estimates tells their sum
(Ramani, Blu and Unser 2008). What is large is left alone: the estimate has a noise of its own, and would cost more than
it saves where the prior promises much.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.decoders.prior import Observations, fixed_words

__all__ = ["ASKED_BELOW", "tempered"]

Floats = npt.NDArray[np.float64]

# Of the loss: promises up to the first are checked, larger ones less and less, from the second on not at all.
_CHECKED, ASKED_BELOW = 0.03, 0.08
_MANY, _STEP = 200, 0.1  # symbols from which estimates are moved once, and by how many standard errors


def tempered(
    seen: Observations,
    projected: Floats,
    found: Floats,
    promised: float,
    moved_gap: Callable[[Observations], Floats],
) -> tuple[Floats, float]:
    """The point on the way from `projected` to `found` with the least estimated risk, and how much of the way that is.

    `promised` is the part of the loss that the prior says is saved: where that is much, it is all of the way.
    `moved_gap` gives found - projected for other estimates.

    >>> seen = Observations(np.array([0.3, 0.7]), np.full(2, 1e-4), 0.0)
    >>> there = np.array([0.31, 0.69])
    >>> answer, way = tempered(seen, seen.values, there, 0.01, lambda moved: there - moved.values)  # to the same place
    >>> answer, round(way, 6)
    (array([0.31, 0.69]), 1.0)
    >>> answer, way = tempered(seen, seen.values, there, 0.01, lambda moved: there - seen.values)  # as far
    >>> answer, round(way, 6)
    (array([0.3, 0.7]), 0.0)
    """
    gap = found - projected
    length = float(gap @ gap)
    if promised >= ASKED_BELOW or length == 0:
        return found, 1.0
    errors = np.sqrt(np.maximum(seen.base + seen.slope * np.maximum(found, 0.0), 1e-3 * seen.base))
    # In the order of the estimates, so that the answer does not depend on how symbols are numbered.
    order = np.argsort(seen.values, kind="stable")
    moves = 2 if len(gap) <= _MANY else 1  # sums over many symbols are sure enough
    divergence = 0.0
    for words in fixed_words(moves * len(gap)).reshape(moves, -1):
        steps = np.empty(len(gap))
        steps[order] = np.where(words >> np.uint64(63), errors[order], -errors[order])
        moved = moved_gap(Observations(seen.values + _STEP * steps, seen.base, seen.slope))
        divergence += float(steps @ (moved - gap)) / (_STEP * moves)
    way = min(max(-(float(gap @ (projected - seen.values)) + divergence) / length, 0.0), 1.0)
    checked = min(max((ASKED_BELOW - promised) / (ASKED_BELOW - _CHECKED), 0.0), 1.0)
    way = 1 - checked * (1 - way)
    return np.asarray(projected + way * gap), way
