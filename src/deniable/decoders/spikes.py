"""The distribution of residuals where unlisted answers are heavy, estimated from all residuals.

An unlisted answer adds its whole share to one cell of each cohort, so residuals are not normal: most cells have the
noise of the reports and some light answers, a few have a spike. Spikes dominate the mean square, but cells without one
are not affected, and cells with one are easy to recognise. A residual x of variance v (that of the reports) has the
density

    f(x) = sum over locations g of w(g) N(x; g, v)

with maximum likelihood weights (Kiefer and Wolfowitz 1956). Neither the number nor the size of unlisted answers must be
known. Its score -f'(x) / f(x) is the influence of a cell: x / v where there are no spikes, almost zero at one. Each
half of the cohorts is weighted by the distribution of the other, so no residual weights itself. Not to be confused with
`prior`, which is about shares.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Cells", "SpikeLaw", "width_of"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_LEVEL = 1.25  # ratio of neighbouring levels of variance
_MOST_LEVELS = 64  # levels of variance, at most; if variances span a wider range, the ratio is larger
_FITTED = 4096  # residuals of each half that its weights are fitted to, evenly spread over the cells
_APART = 0.5  # standard deviations between two locations near the median
_WIDER = 0.05  # of the distance from the median, between two locations farther out
_STEPS = 60  # of expectation maximisation; its limit is concentrated on a few locations, and overconfident
_ANYWHERE = 0.01  # weight that is spread evenly over all locations, so that one outlier never decides


@dataclass(frozen=True, slots=True)
class Cells:
    """The variances of cells, shape (C, k), rounded to few levels, and the row of `SpikeLaw`'s tables for each."""

    each: Floats
    rows: Places  # the level; plus the number of levels in every other cohort, which are the second half
    levels: Floats

    @classmethod
    def of(cls, variances: Floats) -> "Cells":
        """Variances rounded to levels a quarter apart, so that a density is tabulated once a level.

        >>> Cells.of(np.array([[1.0, 1.05], [2.0, 2.0]])).each.round(2)
        array([[1., 1.],
               [2., 2.]])
        """
        logs = np.log(variances)
        low, high = float(logs.min()), float(logs.max())
        count = min(int(np.ceil((high - low) / np.log(_LEVEL))), _MOST_LEVELS - 1)
        which = np.rint((logs - low) * (count / (high - low) if count else 0.0)).astype(np.intp)
        levels = np.exp(np.linspace(low, high, count + 1))
        return cls(levels[which], which + len(levels) * (np.arange(len(which)) % 2)[:, None], levels)


@dataclass(frozen=True, slots=True)
class SpikeLaw:
    """The density of residuals and its two derivatives, tabulated for each level of variance and half of the cohorts.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(100, 40)) + np.where(rng.random((100, 40)) < 0.3, 30.0, 0.0)
    >>> cells = Cells.of(np.ones(x.shape))
    >>> law = SpikeLaw.of(x, cells)
    >>> law.scores(np.array([-1.0, 1.0, 15.0]), cells.rows[0, :3]).round(1)
    array([-0.8,  0.8,  0.1])
    >>> bool(law.information(x, cells.rows).mean() > 10 / x.var())
    True
    """

    knots: Floats
    logs: Floats  # log f, shape (2 levels, knots)
    slopes: Floats  # -f' / f
    bends: Floats  # the derivative of that

    @classmethod
    def of(cls, x: Floats, cells: Cells, blur: float = 0.0) -> "SpikeLaw":
        """The distribution of residuals x, one per cell; with a `blur` it has no finer detail than that."""
        core = float(np.median(x))
        blur = max(blur, width_of(x) * (x.size / 2) ** -0.2)  # the resolution that this many residuals allow
        apart = _APART * float(np.sqrt(cells.levels[0] + blur**2))
        up, down = _ladder(float(x.max()) - core, apart), _ladder(core - float(x.min()), apart)
        places = core + np.concatenate([-down[:0:-1], up])
        # Farther out, locations are wider apart than the noise: each stands for its whole neighbourhood.
        wider = np.maximum(np.gradient(places) ** 2 - apart**2, 0.0) / 4 + blur**2
        margin = apart * np.arange(1.0, 17)
        inner = np.interp(np.arange(4 * len(places) - 3) / 4, np.arange(len(places)), places)
        knots = np.concatenate([inner[0] - margin[::-1], inner, inner[-1] + margin])
        tables = []
        for half in (1, 0):
            weights = _weights(x[half::2].ravel(), cells.each[half::2].ravel(), places, wider)
            tables += [_tabulated(knots, places, weights, level + wider) for level in cells.levels.tolist()]
        logs, slopes, bends = (np.stack(rows) for rows in zip(*tables, strict=True))
        return cls(knots, logs, slopes, bends)

    def log_density(self, x: Floats, rows: Places) -> Floats:
        return self._at(self.logs, x, rows)

    def scores(self, x: Floats, rows: Places) -> Floats:
        """-f'(x) / f(x): the derivative of the log-likelihood by a share in this cell."""
        return self._at(self.slopes, x, rows)

    def information(self, x: Floats, rows: Places) -> Floats:
        """The derivative of the score; its mean is the information of a cell about a share, 1 / v without spikes."""
        return self._at(self.bends, x, rows)

    def expected(self, rows: Places) -> Floats:
        """The information of a cell before its residual is known: the mean square of its score."""
        masses = np.exp(self.logs - self.logs.max(axis=1, keepdims=True)) * np.gradient(self.knots)
        return np.asarray(((masses * self.slopes**2).sum(axis=1) / masses.sum(axis=1))[rows])

    def _at(self, table: Floats, x: Floats, rows: Places) -> Floats:
        place = np.clip(np.searchsorted(self.knots, x) - 1, 0, len(self.knots) - 2)
        left = self.knots[place]
        part = np.clip((x - left) / (self.knots[place + 1] - left), 0.0, 1.0)
        return np.asarray((1 - part) * table[rows, place] + part * table[rows, place + 1])


def width_of(x: Floats) -> float:
    """A robust standard deviation: 1.4826 times the median absolute deviation."""
    return 1.4826 * float(np.median(np.abs(x - np.median(x))))


def _ladder(reach: float, first: float) -> Floats:
    """Distances from zero to beyond `reach`: evenly spaced, then further and further apart."""
    even = first / _WIDER
    near = np.arange(0.0, min(reach, even) + first, first)
    if reach <= even:
        return near
    count = int(np.ceil(np.log(reach / near[-1]) / np.log1p(_WIDER)))
    return np.concatenate([near, near[-1] * (1 + _WIDER) ** np.arange(1, max(count, 0) + 1)])


def _weights(x: Floats, variances: Floats, places: Floats, wider: Floats) -> Floats:
    """The weights of the locations, from residuals x with these variances."""
    step = -(-len(x) // _FITTED)
    spread = variances[::step, None] + wider
    table = np.exp(-0.5 * (x[::step, None] - places) ** 2 / spread) / np.sqrt(spread)
    table /= table.max(axis=1, keepdims=True)
    weights = np.full(len(places), 1 / len(places))
    for _ in range(_STEPS):
        weights *= table.T @ (1 / (table @ weights)) / len(table)
    return np.asarray((1 - _ANYWHERE) * weights + _ANYWHERE / len(places))


def _tabulated(knots: Floats, places: Floats, weights: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    apart = knots[:, None] - places
    logs = np.log(weights / np.sqrt(variance)) - 0.5 * apart**2 / variance
    top = logs.max(axis=1, keepdims=True)
    masses = np.exp(logs - top)
    total = masses.sum(axis=1)
    masses /= total[:, None]
    pulls = apart / variance
    slope = (masses * pulls).sum(axis=1)
    bend = (masses / variance).sum(axis=1) - (masses * pulls**2).sum(axis=1) + slope**2
    return top[:, 0] + np.log(total), slope, bend
