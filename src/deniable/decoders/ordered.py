"""Shares in a natural order, such as ages, hours or sizes: neighbours are alike, so each learns from those beside it.

The prior is a random walk of second order: where three shares stand in a row, the middle one is the mean of its
neighbours, but for an innovation. Innovations have Student's law, so that a population may be smooth nearly everywhere
and still have a peak or a step. Its scale is the one under which the estimates are most likely (the evidence), and the
same evidence, compared with that of a prior without order, says how far the order can be trusted: symbols that are not
in any order that matters are decoded as if none had been declared.

Student's law is a normal one with a random scale. Scales and shares are found in turn (variational Bayes), and the
bound on the evidence that comes with it is what is compared. All matrices are banded: a turn costs a few operations a
symbol.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Smooth", "smoothed"]

Floats = npt.NDArray[np.float64]

_FREEDOM = 2.0  # of Student's law: peaks are rare, and may be of any size
_SCALES = np.exp(np.linspace(-14, 4, 28))  # variances of innovations that are tried, of the noise's
_TAILS = (1.0, 1e-2, 1e-4, 1e-6)  # how much smaller the usual innovation may be than that of a normal law
_TURNS = 10


class Smooth(NamedTuple):
    """Shares that are smooth in their order, and the log evidence for that, up to the densities at the estimates."""

    means: Floats
    evidence: float


def smoothed(values: Floats, variances: Floats) -> Smooth:
    """What noisy estimates of at least three shares in a row say about them, if neighbours are alike.

    >>> p = np.exp(-0.5 * ((np.arange(60) - 30) / 8) ** 2) / 20
    >>> noise = 0.005 * np.array([1.0, -1.0, -0.5, 0.5] * 15)
    >>> found = smoothed(p + noise, np.full(60, 2.5e-5)).means
    >>> bool(np.abs(found - p).sum() < 0.3 * np.abs(noise).sum())
    True
    """
    unit = float(np.median(variances))
    weights = [np.full(len(values) - 2, 1 / (scale * unit)) for scale in _SCALES]
    normal = [_Walk(values, variances, held) for held in weights]
    best = max(normal, key=lambda walk: walk.evidence)
    found = Smooth(best.means, best.evidence)
    for tail in _TAILS:
        found = max(found, _peaked(values, variances, best.held, tail / float(best.held[0])), key=lambda f: f.evidence)
    return found


def _peaked(values: Floats, variances: Floats, held: Floats, scale: float) -> Smooth:
    """The same with Student's law for innovations: their precisions and the shares, in turn."""
    for _ in range(_TURNS):
        walk = _Walk(values, variances, held)
        squares = walk.innovations**2 + walk.uncertainty
        held = (_FREEDOM + 1) / (_FREEDOM * scale + squares)
    return Smooth(walk.means, walk.bound(squares, scale))


class _Walk:
    """The posterior of shares whose innovations have the precisions `held`."""

    def __init__(self, values: Floats, variances: Floats, held: Floats) -> None:
        from scipy.linalg import cho_solve_banded, cholesky_banded

        self.size, self.held, self.weights = len(values), held, 1 / variances
        bands = np.zeros((3, self.size))
        for first, second in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)):
            turn = (1.0, -2.0, 1.0)
            bands[second - first, first : first + self.size - 2] += turn[first] * turn[second] * held
        bands[0] += self.weights
        self.factor = cholesky_banded(bands, lower=True)
        self.means = cho_solve_banded((self.factor, True), self.weights * values)
        self.innovations = np.diff(self.means, 2)
        self.misfit = float((self.weights * (values - self.means) ** 2).sum())
        # Half the logarithm of two determinants: of the posterior, and of the map from shares to innovations.
        stretch = self.size**2 * (self.size**2 - 1) / 12
        self.volume = float(np.log(self.factor[0]).sum()) - 0.5 * float(np.log(stretch))
        # Level and slope are free: as far as a share of one symbol is from that of all.
        self.free = -float(np.log(1 / self.size))

    @property
    def evidence(self) -> float:
        """The logarithm of the probability of the estimates, where that of the shares themselves is one."""
        fit = self.misfit + float((self.held * self.innovations**2).sum())
        return -0.5 * fit + 0.5 * float(np.log(self.held).sum()) - self.volume + self.free

    @property
    def uncertainty(self) -> Floats:
        """The posterior variance of every innovation, from the band of the inverse (Takahashi 1973)."""
        self.diagonal, beside, next_to = self._inverse()
        d = self.diagonal
        found = d[:-2] + 4 * d[1:-1] + d[2:] - 4 * beside[:-1] - 4 * beside[1:] + 2 * next_to
        return np.maximum(found, 0.0)

    def _inverse(self) -> tuple[Floats, Floats, Floats]:
        """The diagonal of the inverse and the two beside it."""
        pivots = (self.factor[0] ** -2).tolist()
        one, two = (self.factor[1] / self.factor[0]).tolist(), (self.factor[2] / self.factor[0]).tolist()
        diagonal, beside, next_to = [0.0] * self.size, [0.0] * self.size, [0.0] * self.size
        below, across, after = 0.0, 0.0, 0.0  # of the row below: its diagonal, what is beside it, the next diagonal
        for i in range(self.size - 1, -1, -1):
            u, w = one[i], two[i]
            right, far = -(u * below + w * across), -(u * across + w * after)
            here = pivots[i] - u * right - w * far
            diagonal[i], beside[i], next_to[i] = here, right, far
            below, across, after = here, right, below
        return np.array(diagonal), np.array(beside[:-1]), np.array(next_to[:-2])

    def bound(self, squares: Floats, scale: float) -> float:
        """At most the logarithm of the evidence under Student's law of this scale."""
        from scipy.special import gammaln

        shape, rate = _FREEDOM / 2, _FREEDOM * scale / 2
        after = shape + 0.5
        laws = shape * np.log(rate) - gammaln(shape) + gammaln(after) - after * np.log(rate + squares / 2)
        spread = float((self.weights * self.diagonal).sum())
        return -0.5 * (self.misfit + spread - self.size) + float(laws.sum()) - self.volume + self.free
