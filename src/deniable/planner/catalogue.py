"""The mechanisms of a plan and their variances, in closed form.

The unbiased estimate of a symbol of share p has n times the variance base + slope p - curve p**2, for each mechanism:

* support mechanisms (k-RR, subset selection, OUE, k-RAPPOR, block designs of one block) count the reports that support
  a symbol: q (1 - q) / r**2 + p (1 - 2 q) / r - p**2, r = hit - miss, q the probability that another answer does;
* Hadamard response in several blocks: the same with what lies in the block beside the symbol's cells;
* cohorts: the same with the chance of sharing a cell in q, less the part of the collisions that least squares knows,
  times what short equations cost: 1 / (1 - (S - 1) / (C (k - 1))) for hashes, rho (C - 1) / (C rho - 1) with
  rho = (k - 1) / (S - 1) for permutations. Where equations run short (above `_SHORT`) an option is not one.
"""

from functools import lru_cache
from math import ceil, exp
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.planner.options import FAMILIES, Family, Law, Limits, Moments, Rates
from deniable.planner.shapes import Shape
from deniable.survey.blocks import MAX_CELLS, is_prime

__all__ = ["PAPER", "families", "paper_families"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PAPER = ("k-RR", "k-RAPPOR", "O-RR", "O-RAPPOR")

_HEAD = 9  # bytes of a packed report before cohort and payload
_SHORT = 0.75  # unknowns over equations beyond which least squares is near its worst
_TABLE = 1 << 24  # cohorts times symbols that are still decoded in seconds
_MOST_COHORTS = 1 << 16
_MOST_BITS = 1 << 13  # bits of a report, unless max_bytes asks for more
_EACH = 32  # reports a cohort should have on average
_NODES = 16  # of the quadrature over what else a cell holds


def _index_bytes(cells: Ints) -> Ints:
    return np.array([((int(k) - 1).bit_length() + 7) // 8 for k in cells], np.int64)


def _bit_bytes(cells: Ints) -> Ints:
    return (cells + 7) // 8


def _support(rates: Rates) -> Law:
    def law(parameters: dict[str, Ints], epsilon: float, n: float, shape: Shape | None, weighted: bool) -> Moments:
        hit, miss = rates(parameters, epsilon)
        r = hit - miss
        return Moments(np.atleast_1d(miss * (1 - miss) / r**2), np.atleast_1d((1 - 2 * miss) / r), np.ones(1))

    return law


def families(size: int, *, is_open: bool, limits: Limits) -> list[Family]:
    """Every family of this alphabet, cut to the limits; one without options says why in `left_out`.

    >>> [f.name for f in families(256, is_open=True, limits=Limits())]
    ['O-RR', 'O-RAPPOR']
    >>> from deniable.planner.shapes import Shape
    >>> shape = Shape.of("uniform", np.full(256, 1 / 256))
    >>> closed = families(256, is_open=False, limits=Limits())
    >>> {f.name: f.best(1.0, 1e6, shape, 2.0)[0].words for f in closed if f.name in ("SS", "PGR")}
    {'SS': 'sets of 69', 'PGR': 'order 3, dimension 6'}
    """
    most = _MOST_BITS if limits.max_bytes is None else max(_MOST_BITS, min(8 * limits.max_bytes, MAX_CELLS))
    cohorts = _cohorts(size, limits)
    found = [_orr(size, is_open, cohorts), _orappor(size, is_open, cohorts, most)]
    if not is_open:
        found = [*_direct(size), *found]
    return [family.within(limits) for family in found if len(family)]


def paper_families(size: int, *, is_open: bool) -> list[Family]:
    """The paper's mechanisms on the paper's grid: powers of two, at most 1024 cohorts."""
    powers = 2 ** np.arange(1, 13 if size <= 256 else 15)
    cohorts = 2 ** np.arange(11)
    found = [_orr(size, is_open, cohorts, cells=powers), _orappor(size, is_open, cohorts, int(powers[-1]))]
    return found if is_open else [*(f for f in _direct(size) if f.name in PAPER), *found]


def _cohorts(size: int, limits: Limits) -> Ints:
    """Powers of two, and the largest number that is allowed."""
    most = min(_MOST_COHORTS, max(64, _TABLE // size))
    if limits.max_cohorts is not None:
        most = min(most, limits.max_cohorts)
    found = {1 << power for power in range(17) if 1 << power <= most} | {most}
    return np.array(sorted(found), np.int64)


def _direct(size: int) -> list[Family]:
    """The mechanisms in which every symbol has cells of its own."""
    one = np.array([size], np.int64)

    def krr_rates(parameters: dict[str, Ints], epsilon: float) -> tuple[Any, Any]:
        odds = exp(epsilon)
        return odds / (odds + size - 1), 1 / (odds + size - 1)

    def oue_rates(parameters: dict[str, Ints], epsilon: float) -> tuple[Any, Any]:
        return 0.5, 1 / (exp(epsilon) + 1)

    def rappor_rates(parameters: dict[str, Ints], epsilon: float) -> tuple[Any, Any]:
        flip = 1 / (exp(epsilon / 2) + 1)
        return 1 - flip, flip

    def subset_rates(parameters: dict[str, Ints], epsilon: float) -> tuple[Any, Any]:
        odds, w = exp(epsilon), parameters["size"].astype(float)
        hit = w * odds / (w * odds + size - w)
        return hit, (hit * (w - 1) + (1 - hit) * w) / (size - 1)

    found = [
        Family("k-RR", {}, _HEAD + _index_bytes(one), _support(krr_rates), krr_rates, 0 * one),
        Family("OUE", {}, _HEAD + _bit_bytes(one), _support(oue_rates), oue_rates, None),
        Family("k-RAPPOR", {}, _HEAD + _bit_bytes(one), _support(rappor_rates), rappor_rates, None),
    ]
    if 3 < size <= MAX_CELLS:
        w = np.arange(2, size // 2 + 1)
        w = w if len(w) <= 4096 else np.unique(np.geomspace(2, size // 2, 4096).astype(np.int64))
        wide = np.full(len(w), _HEAD + ceil(size / 8))
        found.append(Family("SS", {"size": w}, wide, _support(subset_rates), subset_rates, 0 * w))
    designs = _projective(size)
    if len(designs):
        found.append(_design_family("PGR", size, designs))
    blocks = [1 << i for i in range(size.bit_length() + 1)]
    fit = [b for b in blocks if b == 1 or b << (-(-size // b)).bit_length() <= MAX_CELLS]
    if (1 << size.bit_length()) <= MAX_CELLS:
        found.append(_design_family("HR", size, np.array([[b, 0] for b in fit], np.int64)))
    return sorted(found, key=lambda family: FAMILIES.index(family.name))


@lru_cache(maxsize=16)
def _projective(size: int) -> Ints:
    """(order, dimension) of every projective space of at least `size` points but lines, which are k-RR."""
    found = []
    for dimension in range(3, 17):
        for order in range(2, MAX_CELLS):
            points = (order**dimension - 1) // (order - 1)
            if points > MAX_CELLS:
                break
            if points >= size and is_prime(order):
                found.append((order, dimension))
    return np.array(found, np.int64).reshape(-1, 2)


def _design_family(name: str, size: int, settings: Ints) -> Family:
    """Block designs: b outputs, s of them a symbol's, l shared with another symbol of its block."""
    if name == "HR":
        blocks = settings[:, 0].astype(float)
        rows = np.array([1 << (-(-size // int(b))).bit_length() for b in settings[:, 0]], float)
        b, s, shared = blocks * rows, rows / 2, rows // 4
        parameters = {"blocks": settings[:, 0]}
    else:
        r, t = settings[:, 0].astype(float), settings[:, 1]
        b, s, shared = (r**t - 1) / (r - 1), (r ** (t - 1) - 1) / (r - 1), (r ** (t - 2) - 1) / (r - 1)
        blocks = np.ones(len(settings))
        parameters = {"order": settings[:, 0], "dimension": settings[:, 1]}
    constants = {"b": b, "s": s, "l": shared, "blocks": blocks}
    # The limits cut the parameters; the constants follow by their key.
    keys = [tuple(int(v) for v in row) for row in np.stack(list(parameters.values()), axis=1)]

    def chosen(kept: dict[str, Ints]) -> dict[str, Floats]:
        where = {key: place for place, key in enumerate(keys)}
        rows = np.stack([kept[n] for n in parameters], axis=1)
        places = [where[tuple(int(v) for v in row)] for row in rows]
        return {name: values[places] for name, values in constants.items()}

    def law(kept: dict[str, Ints], epsilon: float, n: float, shape: Shape | None, weighted: bool) -> Moments:
        d = chosen(kept)
        miss = 1 / (d["s"] * exp(epsilon) + d["b"] - d["s"])
        r = (exp(epsilon) - 1) * miss
        # The share of the symbol's block is p + (1 - p) mates, on average over where the others stand.
        mates = np.where(d["blocks"] > 1, _together(size, d["blocks"]), 1.0)
        inside = d["s"] * miss + r * d["l"] * mates
        inside_slope = r * (d["s"] - d["l"] * mates)
        gap = r * (d["s"] - d["l"])
        c = np.where(d["blocks"] > 1, d["l"] / d["s"], 0.0)
        beside = d["b"] / d["blocks"] * miss + r * d["s"] * mates - inside
        beside_slope = r * d["s"] * (1 - mates) - inside_slope
        mean, mean_slope = (1 - c) * inside - c * beside, (1 - c) * inside_slope - c * beside_slope
        base = (1 - c) ** 2 * inside + c**2 * beside - mean**2
        slope = (1 - c) ** 2 * inside_slope + c**2 * beside_slope - 2 * mean * mean_slope
        return Moments(base / gap**2, slope / gap**2, mean_slope**2 / gap**2)

    def rates(kept: dict[str, Ints], epsilon: float) -> tuple[Any, Any]:
        d = chosen(kept)
        miss = 1 / (d["s"] * exp(epsilon) + d["b"] - d["s"])
        r = (exp(epsilon) - 1) * miss
        return d["s"] * (miss + r), d["s"] * miss + r * d["l"]

    outputs = b.astype(np.int64)
    return Family(name, parameters, _HEAD + _index_bytes(outputs), law, rates, None if name == "HR" else outputs - size)


def _grid(cells: Ints, cohorts: Ints, hashes: Ints) -> dict[str, Ints]:
    k, c, h = (a.ravel() for a in np.meshgrid(cells, cohorts, hashes, indexing="ij"))
    return {"cells": k, "cohorts": c, "hashes": h}


def _cohort_bytes(cohorts: Ints) -> Ints:
    return np.array([((int(c) - 1).bit_length() + 7) // 8 for c in cohorts], np.int64)


def _together(size: int, groups: Floats) -> Floats:
    """The chance that two of `size` symbols, shared out as evenly as they can be, stand in the same group."""
    each = np.floor(size / groups)
    larger = size - groups * each
    return np.asarray((larger * (each + 1) * each + (groups - larger) * each * (each - 1)) / (size * (size - 1)))


def _met(parameters: dict[str, Ints], size: int, is_open: bool) -> tuple[Floats, Floats]:
    """(taken, met): the chance that a symbol occupies a given cell, and that another one shares its cell."""
    k, h = parameters["cells"].astype(float), parameters["hashes"]
    k = k if is_open else np.minimum(k, size)
    taken = 1 - (1 - 1 / k) ** h
    met = taken if is_open else 1 - (1 - _together(size, k)) ** h
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


def _weighed(cells: Ints, miss: Floats, r: Floats, met: Floats, shape: Shape) -> tuple[Floats, Floats]:
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


def _orr(size: int, is_open: bool, cohorts: Ints, *, cells: Ints | None = None) -> Family:
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
            none, share = _weighed(kept["cells"], miss, r, met, shape)
            # The variance is (1 - q(p)) times the harmonic mean, which is taken to be straight in p.
            return _grown(growth, (1 - q) * none / gap**2, ((1 - q) * share - gap * none) / gap**2, share / gap)
        known = met / (1 - met)  # what the collisions vary by, which least squares solves for
        collision = 0.0 if shape is None else shape.collision
        base = q * (1 - q) / gap**2 - known * collision
        return _grown(growth, base, (1 - 2 * q) / gap, 1 - known)

    size_of = _HEAD + _index_bytes(parameters["cells"]) + _cohort_bytes(parameters["cohorts"])
    phantoms = 0 * size_of
    if is_open:
        phantoms = np.rint(np.minimum(size * (1 / known_sum(parameters["cells"].astype(float)) - 1), 1e9)).astype(
            np.int64
        )
    return Family("O-RR", parameters, size_of, law, None, phantoms)


def _orappor(size: int, is_open: bool, cohorts: Ints, most: int) -> Family:
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

    size_of = _HEAD + _bit_bytes(parameters["cells"]) + _cohort_bytes(parameters["cohorts"])
    return Family("O-RAPPOR", parameters, size_of, law, None, None)
