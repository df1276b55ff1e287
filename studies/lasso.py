"""The recipe of RAPPOR for long lists of candidates: the lasso, then regression on what it chose, then Bonferroni.

Erlingsson, Pihur and Korolova (2014), section 4, as their analysis code does it: a non-negative lasso without
standardisation whose path is followed until 500 candidates are in; ordinary least squares on those; and the ones whose
p-value is below .05 over the number of candidates. Two things are kinder than the original: an intercept, so that
unlisted answers do not push every estimate up, and counts that are unbiased with the exact probabilities. It is here to
be compared with, and no part of the package.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr

from deniable.columns.encode import cell_table
from deniable.decoders.base import unbias
from deniable.matrices import Design, StreamedDesign
from deniable.tally import Tally

__all__ = ["Found", "nonnegative_lasso", "recipe"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_MOST = 500  # pmax of the original
_STEP = 0.87  # of the penalty along the path
_STEPS = 70
_NEAR = 10_000  # candidates with the largest gradients, which the path is followed on; all are checked at its end


@dataclass(frozen=True)
class Found:
    """The candidates that the recipe reports, their estimates, and half the width of their 95 % intervals."""

    places: Places
    values: Floats
    reach: Floats


def recipe(tally: Tally, design: StreamedDesign, level: float = 0.95) -> Found:
    """What the recipe finds in a tally among the candidates of a design."""
    u = unbias(tally)
    base = 1 - (1 - 1 / design.cells) ** design.hashes
    centred = u - u.mean()
    first = design.scores(centred[None])[0]
    near = np.sort(np.argpartition(-first, min(_NEAR, len(first)) - 1)[:_NEAR])
    while True:
        small = Design(cell_table(design.encoding, design.keys[near]), design.cells)
        chosen, values, penalty = _path(small, centred, base)
        fitted = small.forward(values) - base * values.sum()
        slopes = design.scores((centred - fitted)[None])[0]
        more = np.setdiff1d(np.flatnonzero(slopes > 1.02 * penalty), near)
        if not len(more):
            break
        near = np.union1d(near, more)
    return _regression(small, near, chosen, centred, base, (1 - level) / design.symbols, 1 - level)


def _path(design: Design, u: Floats, base: float) -> tuple[Places, Floats, float]:
    """The last point of the path before more than 500 candidates are in."""
    values = np.zeros(design.symbols)
    slopes = design.adjoint(u)
    penalty = float(slopes.max())
    ever = np.zeros(0, np.intp)
    last = (ever, values, penalty)
    for _ in range(_STEPS):
        penalty *= _STEP
        while True:
            joined = np.setdiff1d(np.flatnonzero(slopes > penalty * (1 + 1e-9)), ever)
            if not len(joined) and (values[ever] > 0).any():
                break
            ever = np.union1d(ever, joined)
            if len(ever) > 3 * _MOST:
                return last
            gram, right = _normal(design, ever, u, base)
            values = np.zeros(design.symbols)
            values[ever] = nonnegative_lasso(gram, right, penalty, last[1][ever])
            slopes = design.adjoint(u - design.forward(values) + base * values.sum())
        active = np.flatnonzero(values > 0)
        if len(active) > _MOST:
            return last
        last = (active, values, penalty)
    return last


def _normal(design: Design, some: Places, u: Floats, base: float) -> tuple[Floats, Floats]:
    """The Gram matrix of some columns, less `base` in each cell, and their products with u, which sums to zero."""
    part = Design(np.ascontiguousarray(design.table[:, :, some]), design.cells)
    seats = part.adjoint(np.ones(u.shape))
    gram = part.gram - base * (seats[:, None] + seats) + base**2 * u.size
    return gram, part.adjoint(u)


def nonnegative_lasso(gram: Floats, right: Floats, penalty: float, start: Floats, sweeps: int = 200) -> Floats:
    """The minimiser of p' G p / 2 - b' p + penalty sum p over p >= 0, by coordinate descent.

    >>> nonnegative_lasso(np.eye(2), np.array([3.0, 0.5]), 1.0, np.zeros(2))
    array([2., 0.])
    """
    p = np.maximum(start, 0.0).copy()
    slope = right - gram @ p
    scale = float(np.abs(right).max()) or 1.0
    for sweep in range(sweeps):
        moved = 0.0
        # Between full sweeps only those that are in.
        order = range(len(p)) if sweep % 5 == 0 else np.flatnonzero(p > 0).tolist()
        for j in order:
            fresh = max(p[j] + (slope[j] - penalty) / gram[j, j], 0.0)
            step = fresh - p[j]
            if step:
                slope -= step * gram[j]
                p[j] = fresh
                moved = max(moved, abs(step) * gram[j, j])
        if moved < 1e-6 * scale and sweep % 5 == 0:
            break
    return p


def _regression(
    design: Design, near: Places, chosen: Places, u: Floats, base: float, chance: float, missed: float
) -> Found:
    """Ordinary least squares on the chosen ones; those whose one-sided p-value is at most `chance`."""
    if not len(chosen):
        return Found(near[:0], np.zeros(0), np.zeros(0))
    gram, right = _normal(design, chosen, u, base)
    inverse = np.linalg.pinv(gram, hermitian=True)
    values = inverse @ right
    freedom = u.size - len(chosen) - 1
    spread = (float((u**2).sum()) - float(values @ right)) / freedom
    errors = np.sqrt(np.maximum(np.diag(inverse) * spread, 0.0))
    kept = stdtr(freedom, -values / np.maximum(errors, 1e-300)) <= chance
    return Found(near[chosen[kept]], values[kept], -float(ndtri(missed / 2)) * errors[kept])
