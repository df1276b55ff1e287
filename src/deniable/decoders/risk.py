"""How far to go from the projected estimate to the shrunken one, by an unbiased estimate of the risk.

A prior that was learned from few and hardly noisy estimates promises a little, and may be wrong by as much: shares that
are evenly spread look, through their noise, as if they came in clumps. On P + w (F - P), from the projected estimate P
to the shrunken one F, the squared loss is a parabola in w. Its slope at zero is twice the mean of

    (F - P) . (P - x)  +  sum of v_i d(F - P)_i / dx_i                                      (Stein 1981)

with x the unbiased estimates and v their variances: nothing in it is unknown. The derivatives are those of everything
that is done to x, the learning of the prior included; decoding slightly moved estimates tells their sum
(Ramani, Blu and Unser 2008). The loss itself differs from its mean by (F - P) . noise, so the estimate has a standard
error, too: the answer goes as far as the risk falls for sure, by two of them. Of large promises that would cost more
than it saves, and they are left alone.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from deniable.decoders.prior import Observations, fixed_words

__all__ = ["tempered"]

Floats = npt.NDArray[np.float64]

# Of the loss: promises up to the first are checked, larger ones less and less, from the second on not at all. A prior
# that few symbols have taught may promise more by accident: for S below 64, sqrt(64 / S) times as much is checked.
_CHECKED, _ASKED_BELOW = 0.02, 0.08
_SURE, _FEW = 2.0, 64  # standard errors of the estimated risk, up to so many symbols: more have taught the prior more
_MANY, _STEP = 200, 0.1  # symbols from which estimates are moved once, and by how many standard errors


def tempered(
    seen: Observations,
    projected: Floats,
    found: Floats,
    promised: float,
    moved_gap: Callable[[Observations], Floats],
) -> tuple[Floats, float]:
    """The point between `projected` and `found` up to which the risk surely falls, and how much of the way it is.

    `promised` is the part of the loss that the prior says is saved: where that is much, it is all of the way.
    `moved_gap` gives found - projected for other estimates.

    >>> seen = Observations(0.025 + np.tile([0.001, -0.001], 20), np.full(40, 2e-6), 0.0)
    >>> level = np.full(40, 0.025)
    >>> answer, way = tempered(seen, seen.values, level, 0.01, lambda moved: level - moved.values)  # to the same place
    >>> answer[:2], round(way, 6)
    (array([0.025, 0.025]), 1.0)
    >>> answer, way = tempered(seen, seen.values, level, 0.01, lambda moved: level - seen.values)  # as far
    >>> answer[:2], round(way, 6)
    (array([0.026, 0.024]), 0.0)
    """
    gap = found - projected
    length = float(gap @ gap)
    few = float(np.sqrt(max(_FEW / len(gap), 1.0)))
    if promised >= few * _ASKED_BELOW or length == 0:
        return found, 1.0
    errors = np.sqrt(np.maximum(seen.base + seen.slope * np.maximum(found, 0.0), 1e-3 * seen.base))
    # In the order of the estimates, so that the answer does not depend on how symbols are numbered.
    order = np.argsort(seen.values, kind="stable")
    moves = 2 if len(gap) <= _MANY else 1  # sums over many symbols are sure enough
    divergence = 0.0
    for words in fixed_words(moves * len(gap)).reshape(moves, -1):
        steps = np.empty(len(gap))
        steps[order] = np.where(words >> np.uint64(63), errors[order], -errors[order])
        moved = moved_gap(replace(seen, values=seen.values + _STEP * steps))
        divergence += float(steps @ (moved - gap)) / (_STEP * moves)
    noise = min(_FEW / len(gap), 1.0) * _SURE * float(np.sqrt(gap**2 @ errors**2))
    way = min(max(-(float(gap @ (projected - seen.values)) + divergence + noise) / length, 0.0), 1.0)
    checked = min(max((_ASKED_BELOW - promised / few) / (_ASKED_BELOW - _CHECKED), 0.0), 1.0)
    way = 1 - checked * (1 - way)
    return np.asarray(projected + way * gap), way
