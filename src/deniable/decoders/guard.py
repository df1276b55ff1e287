"""No worse than projection: the answer of empirical Bayes under every prior that the data do not rule out.

Where shares are no larger than their noise, a few large shares among zeros and many small ones look alike. The average
of the priors then answers in between, which is good on average and bad where shares are few and large: up to a third
above plain projection. So the answer is moved towards the priors that would lose by it, until none of them expects more
loss of it than of the projected estimate; if there is no such answer on the way, it is mixed with that estimate.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.decoders.posterior import Posterior, mixture

__all__ = ["no_worse"]

Floats = npt.NDArray[np.float64]

_TURNS = 12
_PRESSURE = 30.0  # weights of a prior that loses a tenth grow twentyfold a turn
_HALVINGS = 8
_ROUNDING = 1e-9  # where a prior finds all shares too small, every answer with one sum has the same l1 loss


def no_worse(
    found: Floats,
    projected: Floats,
    beliefs: list[tuple[float, Posterior]],
    answer: Callable[[Posterior], Floats],
    loss: str,
) -> Floats:
    """`found`, or what `answer` makes of other weights of the beliefs: of which none expects more loss than allowed.

    >>> places = np.array([[0.5, 1.0], [0.5, 1.0]])
    >>> few = Posterior(places, np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([0.0, 1.0]))  # all in the first
    >>> even = Posterior(places, np.array([[1.0, 0.0], [1.0, 0.0]]), np.zeros(2))
    >>> first = np.array([1.0, 0.0])
    >>> no_worse(np.full(2, 0.5), first, [(0.5, few), (0.5, even)], lambda known: known.means, "l1").round(6)
    array([1., 0.])
    """
    if not beliefs:
        return found
    allowed = np.array([known.expected_loss(projected, loss) for _, known in beliefs]) * (1 + _ROUNDING)
    trust, pressure = np.array([part for part, _ in beliefs]), np.zeros(len(beliefs))

    def excess(shares: Floats) -> Floats:
        return np.asarray([known.expected_loss(shares, loss) for _, known in beliefs] - allowed)

    for _ in range(_TURNS):
        more = excess(found)
        if more.max() <= 0:
            return found
        pressure += _PRESSURE * np.maximum(more, 0.0) / allowed.mean()
        weights = trust * np.exp(pressure - pressure.max())
        weights /= weights.sum()
        found = answer(mixture(zip(weights, (known for _, known in beliefs), strict=True)))
    if excess(found).max() <= 0:
        return found
    # Expected losses are convex, so what is allowed of the way is all of it up to a point.
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(projected + middle * (found - projected)).max() <= 0 else (low, middle)
    return np.asarray(projected + low * (found - projected))
