"""Confidence limits of a share, which is never below 0 nor above 1: unified intervals (Feldman and Cousins, 1998).

Cutting an interval of the unbiased estimate at 0 and 1 loses no coverage, but gains some that nobody asked for: a share
that is zero can be missed on one side only, so that 95 % become 97.5 %. And where the estimate is far below zero,
nothing is left of the interval but the number 0, which claims a certainty that is not there. Here each share has the
estimates that are likeliest in comparison with the best share of [0, 1], and the interval has the shares that have the
estimate. It covers what it says at every share, has positive length, and far from 0 and 1 it is the plain interval.
"""

import numpy as np
import numpy.typing as npt

from deniable.decoders.limits import SkewedLimits

Floats = npt.NDArray[np.float64]

_HALVINGS = 30  # of [0, 1], to find a limit to 1e-9
_CUTS = 24  # halvings of the range of c, in standard errors: to 1e-7


def unit_between(limits: SkewedLimits, alpha: float) -> Floats:
    """`limits.between(alpha)` of masses, for masses that are in [0, 1]."""
    return unit_limits(limits.centre, limits.between(alpha), alpha)


def unit_limits(centre: Floats, limits: Floats, alpha: float) -> Floats:
    """Limits in [0, 1] from an unbiased estimate and its plain limits, shape (S, 2), that miss with chance `alpha`.

    The distances of the plain limits, divided by the normal quantile, stand for the standard errors on both sides.

    >>> unit_limits(np.array([0.5, 0.0, -0.3]), np.array([[0.4, 0.6], [-0.1, 0.1], [-0.4, -0.2]]), 0.05).round(3)
    array([[0.4  , 0.6  ],
           [0.   , 0.1  ],
           [0.   , 0.012]])
    """
    from scipy.special import ndtri

    normal = -float(ndtri(alpha / 2))
    found = np.clip(limits, 0.0, 1.0)
    errors = np.abs(limits - centre[:, None]) / normal
    # A share that is more than its plain reach away from both ends does not feel them.
    felt = (limits[:, 0] < normal * errors[:, 0]) | (limits[:, 1] > 1 - normal * errors[:, 1])
    felt &= (np.isfinite(errors) & (errors > 0)).all(axis=1)
    if felt.any():
        # The upper limit of a share is one minus the lower limit of what is left.
        both = np.concatenate([centre[felt], 1 - centre[felt]]), errors[felt].T.ravel()
        low, rest = np.split(_least(*both, alpha, normal), 2)
        found[felt] = np.stack([low, 1 - rest], axis=1)
    return found


def _least(centre: Floats, error: Floats, alpha: float, normal: float) -> Floats:
    """The least share whose estimates include `centre`, by bisection: 0 if that is one."""
    low, high = np.zeros(len(centre)), np.ones(len(centre))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = centre <= middle + error * _reach_above(middle / error, (1 - middle) / error, alpha, normal)
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.asarray(np.where(high <= 2.0**-_HALVINGS, 0.0, low))


def _reach_above(below: Floats, above: Floats, alpha: float, normal: float) -> Floats:
    """How far above a share its estimates go, in standard errors; the ends are so many below and above it.

    With c**2 / 2 the logarithm of the likelihood ratio at which estimates are cut off, they reach c where the best
    share of [0, 1] is the estimate itself, and farther where the estimate is outside and the best share is an end.
    """
    from scipy.special import ndtr

    low, high = np.zeros(len(below)), np.full(len(below), normal)
    for _ in range(_CUTS):
        c = (low + high) / 2
        few = ndtr(_cut(above, c)) - ndtr(-_cut(below, c)) < 1 - alpha
        low, high = np.where(few, c, low), np.where(few, high, c)
    return _cut(above, high)


def _cut(end: Floats, c: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(end < c, (end**2 + c**2) / (2 * end), c))
