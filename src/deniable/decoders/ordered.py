"""Smoothing of shares in a natural order, such as ages, hours or sizes.

The prior is a random walk of second order: each share is the mean of its two neighbours plus an innovation. Innovations
have a Student distribution, so that a population may be smooth nearly everywhere and still have a peak or a step. Its
scale maximises the likelihood of the estimates (the evidence). The same evidence, compared with that of a prior without
order, is the weight of the smooth answer: if the order of the symbols has no meaning, they are decoded as without it.

A Student distribution is a normal one with a random scale. Scales and shares are updated in turn (variational Bayes),
and the resulting lower bound stands for the evidence. All matrices are banded: a round costs a few operations per
symbol.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FREEDOM = 2.0  # degrees of freedom of the Student distribution: peaks are rare, and may be of any size
_SCALES = np.exp(np.linspace(-14, 4, 28))  # variances of innovations that are tried, relative to that of the noise
_TAILS = (1.0, 1e-2, 1e-4, 1e-6)  # scales of the Student distribution that are tried, relative to the best normal one
_ROUNDS = 10  # updates of scales and shares


class Smooth(NamedTuple):
    """Smooth shares and their log evidence, relative to that of shares equal to the estimates."""

    means: Floats
    evidence: float


def smoothed(values: Floats, variances: Floats) -> Smooth:
    """The smooth shares that explain noisy estimates best, for at least three symbols.

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
    """The same with Student innovations: their precisions and the shares are updated in turn."""
    for _ in range(_ROUNDS):
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
        # The level of the walk has a flat prior of width 1 / S, whose log density this is.
        self.free = -float(np.log(1 / self.size))

    @property
    def evidence(self) -> float:
        """The log-likelihood of the prior, relative to that of shares equal to the estimates."""
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
        below, across, after = 0.0, 0.0, 0.0  # of the row below: its diagonal, the entry beside that, the next diagonal
        for i in range(self.size - 1, -1, -1):
            u, w = one[i], two[i]
            right, far = -(u * below + w * across), -(u * across + w * after)
            here = pivots[i] - u * right - w * far
            diagonal[i], beside[i], next_to[i] = here, right, far
            below, across, after = here, right, below
        return np.array(diagonal), np.array(beside[:-1]), np.array(next_to[:-2])

    def bound(self, squares: Floats, scale: float) -> float:
        """A lower bound on the log evidence of Student innovations of this scale."""
        from scipy.special import gammaln

        shape, rate = _FREEDOM / 2, _FREEDOM * scale / 2
        after = shape + 0.5
        laws = shape * np.log(rate) - gammaln(shape) + gammaln(after) - after * np.log(rate + squares / 2)
        spread = float((self.weights * self.diagonal).sum())
        return -0.5 * (self.misfit + spread - self.size) + float(laws.sum()) - self.volume + self.free
