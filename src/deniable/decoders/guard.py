"""No worse than projection: an answer that holds under every prior which the data do not rule out.

Where shares are no larger than their noise, a few large shares among zeros and many small ones look alike. The average
of the priors then gives an intermediate answer, which is good on average but up to a third worse than projection where
shares are few and large. So priors that expect a larger loss from the answer than from projection get more weight,
until none does. If reweighting does not find such an answer, it is mixed with the projected estimate.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.decoders.posterior import Posterior, mixture
from deniable.decoders.tuned_constants import PRIOR

Floats = npt.NDArray[np.float64]

_BISECTIONS = 8  # bisections of the segment to the projected estimate: to 1/256 of its length
_ROUNDING = 1e-9  # relative: if every share is below a prior's, all answers with one sum have the same l1 loss


def no_worse(
    found: Floats,
    projected: Floats,
    beliefs: list[tuple[float, Posterior]],
    answer: Callable[[Posterior], Floats],
    loss: str,
) -> Floats:
    """`found`, or the answer to a reweighted mixture of beliefs, none of which expects more loss than of `projected`.

    Parameters
    ----------
    found
        The answer to the mixture of all beliefs.
    projected
        The answer to be no worse than.
    beliefs
        The weight and the posterior of each plausible prior.
    answer
        The answer to a posterior.
    loss
        "l1" or "l2".

    Examples
    --------
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

    for _ in range(PRIOR.max_reweightings):
        more = excess(found)
        if more.max() <= 0:
            return found
        pressure += PRIOR.reweighting_rate * np.maximum(more, 0.0) / allowed.mean()
        weights = trust * np.exp(pressure - pressure.max())
        weights /= weights.sum()
        found = answer(mixture(zip(weights, (known for _, known in beliefs), strict=True)))
    if excess(found).max() <= 0:
        return found
    # Expected losses are convex, so the allowed answers on the segment are an interval from `projected`.
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(projected + middle * (found - projected)).max() <= 0 else (low, middle)
    return np.asarray(projected + low * (found - projected))
