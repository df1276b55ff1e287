"""The loss of an option before any report is simulated: normal noise of the right size, decoded.

An unbiased estimate is the truth plus noise whose variance is known in closed form (`catalogue`), and nearly normal.
So one draw of it costs a few numbers, and whole alphabets are decoded in milliseconds. The draws are the same for every
option, n and epsilon, which makes losses smooth in all of them, and comparisons sharper than either side.

What a decoder makes of such an estimate it says itself (`Decoder.surrogate`): the planner knows no decoder.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniable.decoders import DEFAULT, Decoder
from deniable.lab.streams import stream_of
from deniable.planner.options import Moments
from deniable.planner.shapes import Shape

__all__ = ["METRICS", "POWERS", "Losses", "Proxy", "losses_of"]

Floats = npt.NDArray[np.float64]

METRICS = ("l1", "l2", "max")
POWERS = {"l1": 1.0, "l2": 2.0, "max": 8.0}  # the norm of the noise that ranks options for a loss

# Numbers drawn for one loss, and rows of them. A plan takes about a hundred losses: a surrogate's cost decides these.
_NUMBERS = 40_000
_ROWS = (10, 2000)
_EMPIRICAL = 400  # rows from which the quantile is read off rather than taken as normal
# (quantile - mean) / sd of a maximum of many is a little more than a sum's; Gumbel's law, at 90 % 1.30 for 1.28.
_EULER = 0.5772156649


def losses_of(found: Floats, p: Floats) -> Floats:
    """The l1, l2 and largest error of every row, shape (3, rows).

    >>> losses_of(np.array([[0.6, 0.4]]), np.array([0.5, 0.5])).round(3).ravel()
    array([0.2  , 0.141, 0.1  ])
    """
    error = np.abs(found - p)
    return np.stack([error.sum(axis=1), np.sqrt((error**2).sum(axis=1)), error.max(axis=1)])


@dataclass(frozen=True)
class Losses:
    """The losses of many draws, by metric."""

    rows: Floats  # (3, draws)

    def mean(self, metric: str) -> float:
        return float(self.rows[METRICS.index(metric)].mean())

    def spread(self, metric: str) -> float:
        return float(self.rows[METRICS.index(metric)].std(ddof=1))

    def quantile(self, metric: str, level: float) -> float:
        """The `level` quantile: read off where draws are many, else from the mean and the spread, nearly normal."""
        found = self.rows[METRICS.index(metric)]
        if len(found) >= _EMPIRICAL:
            return float(np.quantile(found, level))
        from scipy.special import ndtri

        reach = float(ndtri(level))
        if metric == "max":
            reach = (-np.log(-np.log(level)) - _EULER) * np.sqrt(6) / np.pi
        return self.mean(metric) + reach * self.spread(metric)


@lru_cache(maxsize=2)
def _normal(size: int, rows: int, seed: int) -> Floats:
    return stream_of(seed, "planner", size).standard_normal((rows, size + 1))


@dataclass(frozen=True)
class Proxy:
    """Draws of the loss of a decoder, for one alphabet size.

    >>> uniform = Shape.of("uniform", np.full(16, 1 / 16))
    >>> small = Proxy(16).losses(Moments(1.0, 1.0, 1.0), 10_000, uniform, phantoms=0)
    >>> 0.05 < small.mean("l1") < small.quantile("l1", 0.9) < 0.2
    True
    """

    size: int
    seed: int = 0
    decoder: Decoder = DEFAULT

    @property
    def rows(self) -> int:
        low, high = _ROWS
        return int(min(max(_NUMBERS // self.size, low), high))

    def losses(
        self, moments: Moments, n: float, shape: Shape, *, phantoms: int | None, rows: int | None = None
    ) -> Losses:
        """Losses under noise of these moments from n people.

        With `phantoms` the errors of the symbols and of so many more that nobody has add up to zero.
        """
        observed = self.observed(moments, n, shape, phantoms=phantoms, rows=rows)
        found = self.decoder.surrogate(observed, moments.base / n, moments.slope / n, quick=True)
        return Losses(losses_of(found, shape.p))

    def observed(
        self, moments: Moments, n: float, shape: Shape, *, phantoms: int | None, rows: int | None = None
    ) -> Floats:
        """Draws of the unbiased estimate, one a row."""
        z = _normal(self.size, max(self.rows, rows or 0), self.seed)[:rows]
        variances = moments.at(shape.p) / n
        if phantoms is None:
            noise = z[:, :-1] * np.sqrt(variances)
        else:
            beside = phantoms * moments.base / n
            wide = _without_sum(variances, beside)
            noise = z[:, :-1] * np.sqrt(wide)
            total = noise.sum(axis=1, keepdims=True) + z[:, -1:] * beside**0.5
            noise -= total * (wide / (wide.sum() + beside))
        return np.asarray(shape.p + noise)


def _without_sum(variances: Floats, beside: float) -> Floats:
    """The v for which v - v**2 / (sum v + beside) are the variances: independent noise, conditioned to sum to zero.

    For k-RR v is the multinomial's own m / (n r**2), and the law of the noise its covariance exactly.
    """
    v = variances.copy()
    for _ in range(12):
        v = variances / np.maximum(1 - v / (v.sum() + beside), 0.5)
    return v
