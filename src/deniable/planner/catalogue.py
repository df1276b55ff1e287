"""The mechanisms of a plan and their variances, in closed form.

The unbiased estimate of a symbol of share p has n times the variance base + slope p - curve p**2, for each mechanism:

* support mechanisms (k-RR, subset selection, OUE, k-RAPPOR, block designs of one block) count the reports that support
  a symbol: q (1 - q) / r**2 + p (1 - 2 q) / r - p**2, r = hit - miss, q the probability that another answer does;
* Hadamard response in several blocks: the same with what lies in the block beside the symbol's cells;
* cohorts: the same with the chance of sharing a cell in q, less the part of the collisions that least squares knows,
  times what short equations cost: 1 / (1 - (S - 1) / (C (k - 1))) for hashes, rho (C - 1) / (C rho - 1) with
  rho = (k - 1) / (S - 1) for permutations. Where equations run short (above `cohorts._SHORT`) an option is not one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, Channel, Mechanism, Registry, Subset
from deniable.planner.cohorts import HEAD, bit_bytes, index_bytes, orappor_family, orr_family, together
from deniable.planner.options import FAMILIES, Family, Law, Limits, Moments, Rates
from deniable.planner.shapes import Shape
from deniable.survey import (
    BlockEncoding,
    Direct,
    Hadamard,
    Projective,
    Survey,
    hadamard,
    krappor,
    krr,
    oue,
    projective,
    subset,
)
from deniable.survey.blocks import MAX_CELLS, is_prime

__all__ = ["PAPER", "Asked", "channel_law", "designs", "families", "paper_families", "planned", "support_law"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PAPER = ("k-RR", "k-RAPPOR", "O-RR", "O-RAPPOR")

_TABLE = 1 << 24  # cohorts times symbols that are still decoded in seconds
_MOST_COHORTS = 1 << 16
_MOST_BITS = 1 << 13  # bits of a report, unless max_bytes asks for more


def support_law(rates: Rates) -> Law:
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
    asked = Asked(size, is_open, _cohorts(size, limits), most)
    return [family.within(limits) for family in _every(asked) if len(family)]


def paper_families(size: int, *, is_open: bool) -> list[Family]:
    """The paper's mechanisms on the paper's grid: powers of two, at most 1024 cohorts."""
    powers = 2 ** np.arange(1, 13 if size <= 256 else 15)
    asked = Asked(size, is_open, 2 ** np.arange(11), int(powers[-1]), powers)
    return [family for family in _every(asked) if family.name in PAPER]


@dataclass(frozen=True)
class Asked:
    """What families are asked for: how many symbols, and what they may use."""

    size: int
    is_open: bool
    cohorts: Ints  # numbers of cohorts to look at
    most_bits: int  # of a report
    cells: Ints | None = None  # numbers of cells to look at, where the question names them


# The families of each mechanism, and those of k-RR on each block encoding.
planned: Registry[Callable[[Asked], list[Family]]] = Registry(
    "deniable.planner.catalogue.planned", Mechanism, "planner's families"
)
designs: Registry[Callable[[int], list[Family]]] = Registry(
    "deniable.planner.catalogue.designs", BlockEncoding, "planner's family"
)


def _every(asked: Asked) -> list[Family]:
    found = [family for entry in dict.fromkeys(planned.entries.values()) for family in entry(asked)]
    order = {name: place for place, name in enumerate(FAMILIES)}
    return sorted(found, key=lambda family: order.get(family.name, len(order)))


def _cohorts(size: int, limits: Limits) -> Ints:
    """Powers of two, and the largest number that is allowed."""
    most = min(_MOST_COHORTS, max(64, _TABLE // size))
    if limits.max_cohorts is not None:
        most = min(most, limits.max_cohorts)
    found = {1 << power for power in range(17) if 1 << power <= most} | {most}
    return np.array(sorted(found), np.int64)


@planned.add(KRR)
def _krr_families(asked: Asked) -> list[Family]:
    alone = [] if asked.is_open else [family for entry in designs.entries.values() for family in entry(asked.size)]
    return [*alone, orr_family(asked.size, asked.is_open, asked.cohorts, cells=asked.cells)]


@planned.add(BitFlip)
def _bit_families(asked: Asked) -> list[Family]:
    def oue_rates(parameters: dict[str, Ints], epsilon: float) -> tuple[Any, Any]:
        return 0.5, 1 / (exp(epsilon) + 1)

    def rappor_rates(parameters: dict[str, Ints], epsilon: float) -> tuple[Any, Any]:
        flip = 1 / (exp(epsilon / 2) + 1)
        return 1 - flip, flip

    shared = orappor_family(asked.size, asked.is_open, asked.cohorts, asked.most_bits)
    if asked.is_open:
        return [shared]
    wide = HEAD + bit_bytes(np.array([asked.size], np.int64))
    return [
        Family("OUE", oue, {}, wide, support_law(oue_rates), oue_rates, None),
        Family("k-RAPPOR", krappor, {}, wide, support_law(rappor_rates), rappor_rates, None),
        shared,
    ]


@planned.add(Subset)
def _set_families(asked: Asked) -> list[Family]:
    size = asked.size

    def rates(parameters: dict[str, Ints], epsilon: float) -> tuple[Any, Any]:
        odds, w = exp(epsilon), parameters["size"].astype(float)
        hit = w * odds / (w * odds + size - w)
        return hit, (hit * (w - 1) + (1 - hit) * w) / (size - 1)

    if asked.is_open or not 3 < size <= MAX_CELLS:
        return []
    w = np.arange(2, size // 2 + 1)
    w = w if len(w) <= 4096 else np.unique(np.geomspace(2, size // 2, 4096).astype(np.int64))
    wide = np.full(len(w), HEAD + ceil(size / 8))
    return [Family("SS", subset, {"size": w}, wide, support_law(rates), rates, 0 * w)]


@designs.add(Direct)
def _direct(size: int) -> list[Family]:
    def rates(parameters: dict[str, Ints], epsilon: float) -> tuple[Any, Any]:
        odds = exp(epsilon)
        return odds / (odds + size - 1), 1 / (odds + size - 1)

    one = np.array([size], np.int64)
    return [Family("k-RR", krr, {}, HEAD + index_bytes(one), support_law(rates), rates, 0 * one)]


@designs.add(Projective)
def _projective_families(size: int) -> list[Family]:
    found = _projective(size)
    if not len(found):
        return []
    r, t = found[:, 0].astype(float), found[:, 1]
    b, s, shared = (r**t - 1) / (r - 1), (r ** (t - 1) - 1) / (r - 1), (r ** (t - 2) - 1) / (r - 1)
    constants = {"b": b, "s": s, "l": shared, "blocks": np.ones(len(found))}
    parameters = {"order": found[:, 0], "dimension": found[:, 1]}
    return [_design_family("PGR", projective, size, parameters, constants, b.astype(np.int64) - size)]


@designs.add(Hadamard)
def _hadamard_families(size: int) -> list[Family]:
    if (1 << size.bit_length()) > MAX_CELLS:
        return []
    blocks = [1 << i for i in range(size.bit_length() + 1)]
    fit = np.array([b for b in blocks if b == 1 or b << (-(-size // b)).bit_length() <= MAX_CELLS], np.int64)
    rows = np.array([1 << (-(-size // int(b))).bit_length() for b in fit], float)
    constants = {"b": fit * rows, "s": rows / 2, "l": rows // 4, "blocks": fit.astype(float)}
    return [_design_family("HR", hadamard, size, {"blocks": fit}, constants, None)]


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


def _design_family(
    name: str,
    preset: Callable[..., Survey],
    size: int,
    parameters: dict[str, Ints],
    constants: dict[str, Floats],
    phantoms: Ints | None,
) -> Family:
    """Block designs: b outputs, s of them a symbol's, l shared with another symbol of its block."""
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
        mates = np.where(d["blocks"] > 1, together(size, d["blocks"]), 1.0)
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
        return np.where(d["blocks"] > 1, np.nan, d["s"] * (miss + r)), d["s"] * miss + r * d["l"]

    wide = HEAD + index_bytes(constants["b"].astype(np.int64))
    return Family(name, preset, parameters, wide, law, rates, phantoms)


def channel_law(channel: Callable[[float], Channel]) -> Law:
    """The law of a channel of any shape, from its rows at an epsilon; none where it refuses that epsilon.

    With L the inverse of the rows, n times the variance of a symbol is its mean square of L over the reports of a
    population, less p**2; here averaged over the symbols, and for a symbol over who the others are.
    """

    @lru_cache(maxsize=256)
    def of(epsilon: float) -> Moments:
        try:
            mechanism = channel(epsilon)
        except SurveyError:
            return Moments(np.array([np.inf]), np.zeros(1), np.zeros(1))
        rows = np.array([[w / mechanism.span for w in mechanism.row(cell)] for cell in range(mechanism.cells)])
        squares = rows @ np.linalg.pinv(rows) ** 2
        own, every = float(np.trace(squares)), float(squares.sum())
        size = mechanism.cells
        base = (every - own) / (size * (size - 1))
        return Moments(np.array([base]), np.array([own / size - base]), np.ones(1))

    return lambda parameters, epsilon, n, shape, weighted: of(epsilon)
