"""The families that share cells out over cohorts, O-RR and O-RAPPOR, and their variances in closed form."""

from math import exp

import numpy as np
import numpy.typing as npt

from deniable.planner.options import Family, Moments
from deniable.planner.shapes import Shape
from deniable.survey import orappor, orr

__all__ = ["HEAD", "bit_bytes", "index_bytes", "orappor_family", "orr_family", "together", "weighed"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HEAD = 9  # bytes of a packed report before cohort and payload
_SHORT = 0.75  # unknowns over equations beyond which least squares is near its worst
_EACH = 32  # reports a cohort should have on average
_NODES = 16  # of the quadrature over what else a cell holds


def index_bytes(cells: Ints) -> Ints:
    return np.array([((int(k) - 1).bit_length() + 7) // 8 for k in cells], np.int64)


def bit_bytes(cells: Ints) -> Ints:
    return (cells + 7) // 8


def _grid(cells: Ints, cohorts: Ints, hashes: Ints) -> dict[str, Ints]:
    k, c, h = (a.ravel() for a in np.meshgrid(cells, cohorts, hashes, indexing="ij"))
    return {"cells": k, "cohorts": c, "hashes": h}


def _cohort_bytes(cohorts: Ints) -> Ints:
    return np.array([((int(c) - 1).bit_length() + 7) // 8 for c in cohorts], np.int64)


def together(size: int, groups: Floats) -> Floats:
    """The chance that two of `size` symbols, shared out as evenly as they can be, stand in the same group."""
    each = np.floor(size / groups)
    larger = size - groups * each
    return np.asarray((larger * (each + 1) * each + (groups - larger) * each * (each - 1)) / (size * (size - 1)))


def _met(parameters: dict[str, Ints], size: int, is_open: bool) -> tuple[Floats, Floats]:
    """(taken, met): the chance that a symbol occupies a given cell, and that another one shares its cell."""
    k, h = parameters["cells"].astype(float), parameters["hashes"]
    k = k if is_open else np.minimum(k, size)
    taken = 1 - (1 - 1 / k) ** h
    met = taken if is_open else 1 - (1 - together(size, k)) ** h
    return np.asarray(taken, np.float64), np.asarray(met, np.float64)


def _growth(parameters: dict[str, Ints], size: int, is_open: bool, n: float) -> Floats:
    """What few equations and random cohort sizes cost; infinite where the system is too short to be decoded well."""
    k, c, h = (parameters[name].astype(float) for name in ("cells", "cohorts", "hashes"))
    k = k if is_open else np.minimum(k, size)
    equations = c * (k - (h == 1))
    short = (size - 1) / np.maximum(equations, 1e-9)
    rho = (k - 1) / (size - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = 1 / (1 - short)
        if not is_open:
            growth = np.where(h == 1, rho * (c - 1) / (c * rho - 1), growth)
        # Symbols that share every cell cannot be told apart: there should be none.
        twins = size * (size - 1) / 2 * np.minimum(k, 1e6) ** (-c * h)
    bad = (short > _SHORT) | (c < 2) | (twins > 0.01) | ~(growth > 0) | (c > max(2.0, n / _EACH))
    # Each cohort is divided by its own size: E[1 / N] is a little more than 1 / E[N].
    return np.asarray(np.where(bad, np.inf, growth * (1 + c / n)))


def _grown(growth: Floats, base: Floats, slope: Floats, curve: Floats) -> Moments:
    """The moments times what cohorts cost; an infinite base, and nothing else, says that an option is none."""
    fit = np.isfinite(growth) & np.isfinite(base)
    times = np.where(fit, growth, 0.0)
    return Moments(np.where(fit, times * np.where(fit, base, 0.0), np.inf), times * slope, times * curve)


def weighed(cells: Ints, miss: Floats, r: Floats, met: Floats, shape: Shape) -> tuple[Floats, Floats]:
    """(none, share): the harmonic mean of a cell's probability m over cohorts is none + share p for a share p in it.

    Cells weigh by 1 / m, so the information about a symbol is that of the mean of 1 / m over what else its cell holds:
    every other symbol with probability `met`. With m = miss + r (p + X) it is the integral over t > 0 of
    exp(-(miss + r p) t) E exp(-r t X), the last a product over symbols.
    """
    _, first = np.unique(cells, return_index=True)
    back = np.searchsorted(cells[first], cells)
    miss, r, met = (np.broadcast_to(a, cells.shape)[first][:, None] for a in (miss, r, met))
    nodes, weights = np.polynomial.laguerre.laggauss(_NODES)
    values, counts = shape.values, shape.counts
    means = []
    for own in (0.0, shape.collision):  # a symbol that nobody has, and one as large as a person's own on average
        alone = miss + r * own
        t = r * nodes / alone
        law = np.log1p(met[..., None] * np.expm1(-t[..., None] * values)) @ counts
        found = np.exp((1 - own) * law) @ weights  # the others are what it leaves
        # Cells that hold far more than `alone` end the integral before its first node. A harmonic mean is never above
        # the arithmetic one, which it comes close to there.
        most = alone[:, 0] + r[:, 0] * (1 - own) * met[:, 0]
        means.append(np.minimum(alone[:, 0] / np.maximum(found, 1e-300), most))
    return means[0][back], ((means[1] - means[0]) / shape.collision)[back]


def orr_family(size: int, is_open: bool, cohorts: Ints, *, cells: Ints | None = None) -> Family:
    if cells is None:
        steps = {*range(2, 33), *(round(2 ** (step / 4)) for step in range(20, 65))}
        cells = np.array(sorted(k for k in steps if is_open or k < size), np.int64)
    cells = cells if is_open else cells[cells < size]
    parameters = _grid(cells, cohorts, np.array([1]))

    def known_sum(k: Floats) -> Floats:
        """How far least squares knows that estimates add up to one: cells do, if candidates are in all of them."""
        return np.asarray((1 - (1 - 1 / k) ** size) ** 2) if is_open else np.zeros_like(k)

    def law(kept: dict[str, Ints], epsilon: float, n: float, shape: Shape | None, weighted: bool) -> Moments:
        k = kept["cells"].astype(float)
        miss = 1 / (exp(epsilon) + k - 1)
        r = (exp(epsilon) - 1) * miss
        _, met = _met(kept, size, is_open)
        growth = _growth(kept, size, is_open, n)
        q, gap = miss + r * met, r * (1 - met)
        growth = growth * (1 - known_sum(k) / size)
        if weighted and shape is not None:
            none, share = weighed(kept["cells"], miss, r, met, shape)
            # The variance is (1 - q(p)) times the harmonic mean, which is taken to be straight in p.
            return _grown(growth, (1 - q) * none / gap**2, ((1 - q) * share - gap * none) / gap**2, share / gap)
        known = met / (1 - met)  # what the collisions vary by, which least squares solves for
        collision = 0.0 if shape is None else shape.collision
        base = q * (1 - q) / gap**2 - known * collision
        return _grown(growth, base, (1 - 2 * q) / gap, 1 - known)

    size_of = HEAD + index_bytes(parameters["cells"]) + _cohort_bytes(parameters["cohorts"])
    phantoms = 0 * size_of
    if is_open:
        phantoms = np.rint(np.minimum(size * (1 / known_sum(parameters["cells"].astype(float)) - 1), 1e9)).astype(
            np.int64
        )
    return Family("O-RR", orr, parameters, size_of, law, None, phantoms, seeded=True)


def orappor_family(size: int, is_open: bool, cohorts: Ints, most: int) -> Family:
    cells = np.array([1 << power for power in range(1, 17) if 1 << power <= most], np.int64)
    cells = cells if is_open else cells[cells < size]
    parameters = _grid(cells, cohorts, np.array([1, 2]))

    def law(kept: dict[str, Ints], epsilon: float, n: float, shape: Shape | None, weighted: bool) -> Moments:
        k, h = kept["cells"].astype(float), kept["hashes"]
        miss = 1 / (np.exp(epsilon / np.minimum(2 * h, k)) + 1)
        r = 1 - 2 * miss
        taken, met = _met(kept, size, is_open)
        used = k if is_open else np.minimum(k, size)
        depth = np.maximum(used * taken * (1 - met), 1e-12)
        growth = _growth(kept, size, is_open, n)
        q, gap = miss + r * met, r * (1 - met)
        known = np.where(h == 1, r**2 * met * (1 - met), 0.0)
        collision = 0.0 if shape is None else shape.collision
        base = (q * (1 - q) - known * collision) / (r**2 * depth)
        slope = gap * (1 - 2 * q) / (r**2 * depth)
        return _grown(growth, base, slope, (gap**2 - known) / (r**2 * depth))

    size_of = HEAD + bit_bytes(parameters["cells"]) + _cohort_bytes(parameters["cohorts"])
    return Family("O-RAPPOR", orappor, parameters, size_of, law, None, None, seeded=True)
