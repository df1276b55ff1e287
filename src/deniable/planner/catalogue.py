"""The mechanisms of a plan, and the settings of each that are compared. Their errors come from `theory`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import SurveyError
from deniable.mechanisms import (
    KRR,
    BitFlip,
    Blocks,
    Budgets,
    HandRun,
    Mechanism,
    Registry,
    Sensitive,
    SensitiveDesign,
    Subset,
    WeightTable,
)
from deniable.planner.options import FAMILIES, Family, PlanLimits
from deniable.survey import (
    MAX_CELLS,
    BlockEncoding,
    Direct,
    Hadamard,
    Projective,
    Survey,
    hadamard,
    is_prime,
    krappor,
    krr,
    orappor,
    orr,
    oue,
    projective,
    sensitive_designs,
    subset,
    ubd,
    urr,
)
from deniable.theory import (
    Classes,
    CohortSettings,
    ErrorModel,
    bit_rates,
    block_model,
    krr_rates,
    mechanism_model,
    oue_rates,
    sensitive_model,
    subset_rates,
    support_model,
)

Ints = npt.NDArray[np.int64]

PAPER = ("k-RR", "k-RAPPOR", "O-RR", "O-RAPPOR")

_HEAD = 9  # bytes of a packed report before cohort and payload
_MOST_ENTRIES = 1 << 24  # cohorts times symbols: more would take more than seconds to decode
_MOST_COHORTS = 1 << 16  # cohorts: their number takes two bytes of a report
_MOST_BITS = 1 << 13  # bits of a report (1 KiB), unless max_bytes allows more
_MOST_SIZES = 4096  # sizes of subsets that are compared; of more, so many in geometric steps
# Settings of cohorts beyond these limits are left out (docs/decisions/0012-planner.md):
_MOST_SHORTAGE = 0.75  # symbols per equation; least squares has its largest error at 1
_MOST_TWINS = 0.01  # expected number of pairs of symbols that share all of their cells
_LEAST_REPORTS = 32  # mean reports of a cohort


def families(size: int, *, is_open: bool, limits: PlanLimits, hidden: tuple[int, ...] = ()) -> list[Family]:
    """Every family of this alphabet, cut to the limits; one without options says why in `left_out`.

    Where only some answers need hiding, `hidden` are their places.

    >>> [f.name for f in families(256, is_open=True, limits=PlanLimits())]
    ['O-RR', 'O-RAPPOR']
    >>> even = Classes.of(np.full(256, 1 / 256))
    >>> closed = families(256, is_open=False, limits=PlanLimits())
    >>> {f.name: f.best(1.0, 1e6, even, 2.0)[0].words for f in closed if f.name in ("SS", "PGR")}
    {'SS': 'sets of 69', 'PGR': 'order 3, dimension 6'}
    """
    most = _MOST_BITS if limits.max_bytes is None else max(_MOST_BITS, min(8 * limits.max_bytes, MAX_CELLS))
    asked = Asked(size, is_open, _cohorts(size, limits), most, hidden=hidden)
    return [family.within(limits) for family in _every(asked) if len(family)]


def paper_families(size: int, *, is_open: bool) -> list[Family]:
    """The paper's mechanisms on the paper's grid: powers of two, at most 1024 cohorts."""
    powers = 2 ** np.arange(1, 13 if size <= 256 else 15)
    asked = Asked(size, is_open, 2 ** np.arange(11), int(powers[-1]), powers)
    return [family for family in _every(asked) if family.name in PAPER]


@dataclass(frozen=True)
class Asked:
    """What a family is built for: the number of symbols, and the settings it may use."""

    size: int
    is_open: bool
    cohorts: Ints  # numbers of cohorts to look at
    most_bits: int  # of a report
    cells: Ints | None = None  # numbers of cells to look at, where the request names them
    hidden: tuple[int, ...] = ()  # places of the sensitive answers, where only some are


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


def _cohorts(size: int, limits: PlanLimits) -> Ints:
    """Powers of two, and the largest number that is allowed."""
    most = min(_MOST_COHORTS, max(64, _MOST_ENTRIES // size))
    if limits.max_cohorts is not None:
        most = min(most, limits.max_cohorts)
    found = {1 << power for power in range(17) if 1 << power <= most} | {most}
    return np.array(sorted(found), np.int64)


def _index_bytes(numbers: Any) -> Ints:
    """Bytes of an index below each of these numbers."""
    return np.array([((int(number) - 1).bit_length() + 7) // 8 for number in np.atleast_1d(numbers)], np.int64)


def _bit_bytes(cells: Any) -> Ints:
    return (np.atleast_1d(cells) + 7) // 8


def single_family(
    name: str, preset: Callable[..., Survey], at: Callable[[float], Mechanism], outputs: int
) -> list[Family]:
    """A mechanism without parameters, with a cell for each symbol: `at` makes it for an epsilon.

    `outputs` is the number of its outputs. Errors follow from its integers. An epsilon that it refuses has an infinite
    error.
    """

    @lru_cache(maxsize=256)
    def of(epsilon: float) -> ErrorModel:
        try:
            return mechanism_model(at(epsilon))
        except SurveyError:
            return ErrorModel(np.inf, 0.0)

    size = _HEAD + _index_bytes(outputs)
    return [Family(name, preset, {}, size, lambda kept, epsilon, n, classes: of(epsilon), chained=False)]


@planned.add(KRR)
def _krr_families(asked: Asked) -> list[Family]:
    alone = [] if asked.is_open else [family for entry in designs.entries.values() for family in entry(asked.size)]
    return [*alone, _orr_family(asked)]


@planned.add(BitFlip)
def _bit_families(asked: Asked) -> list[Family]:
    if asked.is_open:
        return [_orappor_family(asked)]
    wide = _HEAD + _bit_bytes(asked.size)
    return [
        Family("OUE", oue, {}, wide, lambda kept, epsilon, n, classes: support_model(*oue_rates(epsilon))),
        Family("k-RAPPOR", krappor, {}, wide, lambda kept, epsilon, n, classes: support_model(*bit_rates(epsilon))),
        _orappor_family(asked),
    ]


@planned.add(Subset)
def _set_families(asked: Asked) -> list[Family]:
    size = asked.size
    if asked.is_open or not 3 < size <= MAX_CELLS:
        return []

    def model(kept: dict[str, Ints], epsilon: float, n: float, classes: Classes | None) -> ErrorModel:
        return support_model(*subset_rates(epsilon, size, kept["size"].astype(float)), unseen=0.0)

    w = np.arange(2, size // 2 + 1)
    w = w if len(w) <= _MOST_SIZES else np.unique(np.geomspace(2, size // 2, _MOST_SIZES).astype(np.int64))
    return [Family("SS", subset, {"size": w}, np.repeat(_HEAD + _bit_bytes(size), len(w)), model)]


@planned.add(Sensitive, SensitiveDesign, Blocks, Budgets, WeightTable, HandRun)
def _sensitive_families(asked: Asked) -> list[Family]:
    """uRR and its block-design form; other tables are not planned: their promises are the asker's."""
    if not asked.hidden:
        return []
    size, hidden = asked.size, len(asked.hidden)

    def chosen(preset: Callable[..., Survey]) -> Callable[..., Survey]:
        def make(*, symbols: Any, **settings: Any) -> Survey:
            return preset(symbols=symbols, sensitive=[symbols[place] for place in asked.hidden], **settings)

        return make

    def plain(kept: dict[str, Ints], epsilon: float, n: float, classes: Classes | None) -> ErrorModel:
        return sensitive_model(epsilon, size, hidden, cells=hidden, occupied=1, shared=0)

    found = [Family("uRR", chosen(urr), {}, _HEAD + _index_bytes(size), plain, chained=False)]
    spaces = np.array([(d.order, d.dimension, d.cells) for d in sensitive_designs(hidden)], np.int64).reshape(-1, 3)
    if len(spaces):

        def model(kept: dict[str, Ints], epsilon: float, n: float, classes: Classes | None) -> ErrorModel:
            r, t = kept["order"], kept["dimension"]
            cells, occupied, shared = ((r ** (t - less) - 1) // (r - 1) for less in range(3))
            return sensitive_model(epsilon, size, hidden, cells=cells, occupied=occupied, shared=shared)

        parameters = {"order": spaces[:, 0], "dimension": spaces[:, 1]}
        bytes_ = _HEAD + _index_bytes(spaces[:, 2] + size - hidden)
        found.append(Family("uBD", chosen(ubd), parameters, bytes_, model, chained=False))
    return found


@designs.add(Direct)
def _direct(size: int) -> list[Family]:
    def model(kept: dict[str, Ints], epsilon: float, n: float, classes: Classes | None) -> ErrorModel:
        return support_model(*krr_rates(epsilon, size), unseen=0.0)

    return [Family("k-RR", krr, {}, _HEAD + _index_bytes(size), model)]


@designs.add(Projective)
def _projective_families(size: int) -> list[Family]:
    """Projective spaces of at least `size` points, without lines, which are k-RR."""

    def points(order: Any, dimension: Any) -> Any:
        return (order**dimension - 1) // (order - 1)

    def model(kept: dict[str, Ints], epsilon: float, n: float, classes: Classes | None) -> ErrorModel:
        r, t = kept["order"], kept["dimension"]
        cells, occupied, shared = (points(r, t - less).astype(float) for less in range(3))
        return block_model(epsilon, size, cells=cells, occupied=occupied, shared=shared, unseen=cells - size)

    found = _spaces(size)
    if not len(found):
        return []
    parameters = {"order": found[:, 0], "dimension": found[:, 1]}
    return [Family("PGR", projective, parameters, _HEAD + _index_bytes(points(*parameters.values())), model)]


@lru_cache(maxsize=16)
def _spaces(size: int) -> Ints:
    """(order, dimension) of every projective space of at least `size` points, without lines."""
    found = []
    for dimension in range(3, 17):
        for order in range(2, MAX_CELLS):
            points = (order**dimension - 1) // (order - 1)
            if points > MAX_CELLS:
                break
            if points >= size and is_prime(order):
                found.append((order, dimension))
    return np.array(found, np.int64).reshape(-1, 2)


@designs.add(Hadamard)
def _hadamard_families(size: int) -> list[Family]:
    def rows(blocks: int) -> int:
        return 1 << (-(-size // blocks)).bit_length()

    def model(kept: dict[str, Ints], epsilon: float, n: float, classes: Classes | None) -> ErrorModel:
        each = np.array([rows(int(b)) for b in kept["blocks"]], float)
        cells = kept["blocks"] * each
        return block_model(
            epsilon, size, cells=cells, occupied=each / 2, shared=each // 4, blocks=kept["blocks"].astype(float)
        )

    if rows(1) > MAX_CELLS:
        return []
    every = [1 << power for power in range(size.bit_length() + 1)]
    fit = np.array([b for b in every if b == 1 or b * rows(b) <= MAX_CELLS], np.int64)
    return [Family("HR", hadamard, {"blocks": fit}, _HEAD + _index_bytes([b * rows(int(b)) for b in fit]), model)]


def _usable(settings: CohortSettings, n: float) -> Any:
    return (
        (settings.shortage <= _MOST_SHORTAGE)
        & (settings.cohorts >= 2)
        & (settings.twins <= _MOST_TWINS)
        & (settings.cohorts <= max(2.0, n / _LEAST_REPORTS))
    )


def _grid(cells: Ints, cohorts: Ints, hashes: tuple[int, ...]) -> dict[str, Ints]:
    k, c, h = (a.ravel() for a in np.meshgrid(cells, cohorts, np.array(hashes), indexing="ij"))
    return {"cells": k, "cohorts": c, "hashes": h}


def _orr_family(asked: Asked) -> Family:
    def model(kept: dict[str, Ints], epsilon: float, n: float, classes: Classes | None) -> ErrorModel:
        settings = CohortSettings(asked.size, asked.is_open, **kept)
        return settings.index_model(epsilon, n, classes=classes, weighted=True).only(_usable(settings, n))

    cells = asked.cells
    if cells is None:
        cells = np.array(sorted({*range(2, 33), *(round(2 ** (step / 4)) for step in range(20, 65))}), np.int64)
    parameters = _grid(cells if asked.is_open else cells[cells < asked.size], asked.cohorts, (1,))
    size = _HEAD + _index_bytes(parameters["cells"]) + _index_bytes(parameters["cohorts"])
    return Family("O-RR", orr, parameters, size, model, seeded=True)


def _orappor_family(asked: Asked) -> Family:
    def model(kept: dict[str, Ints], epsilon: float, n: float, classes: Classes | None) -> ErrorModel:
        settings = CohortSettings(asked.size, asked.is_open, **kept)
        return settings.bit_model(epsilon, n).only(_usable(settings, n))

    cells = np.array([1 << power for power in range(1, 17) if 1 << power <= asked.most_bits], np.int64)
    parameters = _grid(cells if asked.is_open else cells[cells < asked.size], asked.cohorts, (1, 2))
    size = _HEAD + _bit_bytes(parameters["cells"]) + _index_bytes(parameters["cohorts"])
    return Family("O-RAPPOR", orappor, parameters, size, model, seeded=True)
