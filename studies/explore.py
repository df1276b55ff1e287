"""The tables of the Explore page: `python -m studies.explore` writes them, `--curves` or `--crowd` one of them alone.

`curves.json` has the error models of `deniable.theory`: for each mechanism, number of symbols and epsilon, n times the
variance of an estimate as base + slope p - curve p**2 - collisions sum(p**2). The page sums over a population and
interpolates between epsilons. O-RR and O-RAPPOR are those of endlessly many cohorts. Seconds.

`decoded.json` is what the default decoder makes of reports. It has no closed form, so its loss is measured on simulated
surveys. A cell is a population, a number of symbols, an epsilon and how noisy the unbiased estimate is: the number of
people is chosen so that its expected l1 error is `noise`. In these terms little depends on the mechanism, so one stands
for all: subset selection, whose squared error is the least. The page interpolates. A few minutes.

`crowd.json` is what a crowd adds at every position of the page's sliders of people and epsilon, for any mechanism of
that epsilon without cohorts: each number is certified by itself, so the page interpolates nothing. Some minutes.
"""

import argparse
import json
import math
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.cli.progress import Reporter
from deniable.crowds.blanket import Blanket
from deniable.crowds.certifying import divergence_above, normal_epsilon
from deniable.lab.streams import stream_of
from deniable.survey import BlockEncoding, Hadamard
from deniable.theory import (
    Classes,
    CohortSettings,
    ErrorModel,
    bit_rates,
    block_model,
    krr_rates,
    oue_rates,
    subset_rates,
    support_model,
)

__all__ = ["CELLS", "CURVES", "EPSILONS", "NOISES", "POPULATIONS", "REPEATS", "TABLE", "Cell", "curves", "measure"]
__all__ += ["BUDGETS", "CROWD", "DELTA", "PEOPLE", "any_mechanism", "central", "population"]

PAGES = Path(__file__).parents[1] / "src" / "deniable" / "service" / "pages"
TABLE, CURVES, CROWD = PAGES / "decoded.json", PAGES / "curves.json", PAGES / "crowd.json"
Floats = npt.NDArray[np.float64]

POPULATIONS = ("uniform", "geometric", "spike", "zipf 0.5", "zipf 1", "zipf 2", "zipf 3")
# How often each number of symbols is simulated: many symbols average by themselves.
REPEATS = {2: 1000, 8: 48, 16: 24, 32: 24, 128: 12, 512: 5, 2048: 2, 4096: 1}
EPSILONS = (1.0, 3.0, 6.0)
NOISES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
_FEWEST = 10  # people


class Cell(NamedTuple):
    """One number of the table."""

    population: str
    symbols: int
    epsilon: float
    noise: float


CELLS = [
    Cell(name, symbols, epsilon, noise)
    for name in POPULATIONS
    for symbols in REPEATS
    for epsilon in EPSILONS
    for noise in NOISES
]


def population(name: str, size: int) -> Floats:
    """The shares, as the page has them."""
    kind, _, power = name.partition(" ")
    if kind == "zipf":
        return dn.lab.zipf(size, float(power))
    if kind == "spike":
        return np.append(0.5, np.full(size - 1, 0.5 / (size - 1)))
    return dn.lab.uniform(size) if kind == "uniform" else dn.lab.geometric(size, size / 5)


def measure(cell: Cell, repeats: int | None = None) -> tuple[float, float]:
    """The mean l1 loss and its standard error; with fewer than ten people, that of ten."""
    p = population(cell.population, cell.symbols)
    survey = dn.warner(epsilon=cell.epsilon) if cell.symbols == 2 else dn.subset(cell.symbols, epsilon=cell.epsilon)
    people = max(_FEWEST, round((dn.theory.l1_risk(survey, p, 1) / cell.noise) ** 2))
    rng = stream_of(0, "explore", *cell)
    losses = []
    for _ in range(repeats or REPEATS[cell.symbols]):
        found = dn.decode(dn.simulate(survey, p, people, rng)).probabilities
        losses.append(float(np.abs(found - p).sum()))
    spread = float(np.std(losses, ddof=1)) if len(losses) > 1 else math.nan
    return float(np.mean(losses)), spread / math.sqrt(len(losses))


SIZES = [round(2 ** (step / 2)) for step in range(2, 25)]  # the positions of the page's slider, 2 to 4096
# Epsilons from 0.1 to 8, evenly spaced on ln(e**epsilon - 1), of which errors are nearly powers.
GRID = np.log1p(np.geomspace(math.expm1(0.1), math.expm1(8.0), 22)).tolist()
SHARED = (2, 4, 8, 16, 32, 64, 256)  # numbers of cells that the page offers for O-RR and O-RAPPOR
_TRIED = sorted({*range(2, 33), *(round(2 ** (step / 4)) for step in range(20, 49))})
_COHORTS = 1e12  # endlessly many


def _least(models: list[ErrorModel], size: int) -> ErrorModel:
    """The model of least squared error where all symbols are alike."""
    even = Classes.of(np.full(size, 1 / size))
    return min(models, key=lambda model: float(model.score(even, 2.0)))


def _design(encoding: BlockEncoding, epsilon: float, size: int) -> ErrorModel:
    return block_model(
        epsilon,
        size,
        cells=encoding.cells,
        occupied=encoding.occupied,
        shared=encoding.shared,
        blocks=encoding.blocks if isinstance(encoding, Hadamard) else 1,
    )


def _cohorts(name: str, size: int, cells: int, epsilon: float) -> ErrorModel:
    if cells >= size:
        return support_model(*(krr_rates(epsilon, size) if name == "O-RR" else bit_rates(epsilon)))
    settings = CohortSettings(size, False, cells=cells, cohorts=_COHORTS)
    return (settings.index_model if name == "O-RR" else settings.bit_model)(epsilon, np.inf)


def _model(name: str, size: int, epsilon: float) -> ErrorModel:
    mechanism, _, cells = name.partition(" of ")
    if mechanism.startswith("O-"):
        tried = [int(cells)] if cells else [*(k for k in _TRIED if k < size), size]
        return _least([_cohorts(mechanism, size, k, epsilon) for k in tried], size)
    if mechanism == "subset selection":
        sizes = range(1, min(size // 2, round(size / (math.exp(epsilon) + 1)) + 2) + 1)
        return _least([support_model(*subset_rates(epsilon, size, w)) for w in sizes[-4:]], size)
    if mechanism in ("Hadamard", "projective"):
        preset = dn.hadamard if mechanism == "Hadamard" else dn.projective
        encoding = preset(size, epsilon=epsilon).encoding
        assert isinstance(encoding, BlockEncoding)
        return _design(encoding, epsilon, size)
    rates = {"k-RR": lambda: krr_rates(epsilon, size), "k-RAPPOR": lambda: bit_rates(epsilon)}
    return support_model(*(rates | {"OUE": lambda: oue_rates(epsilon), "no privacy": lambda: (1.0, 0.0)})[mechanism]())


def curves() -> dict[str, Any]:
    """The table of the page, by mechanism and number of symbols. A column that is the same at all epsilons is a number.

    "O-RR of 4" has four cells, "O-RR" the best number of them at each epsilon. With a cell for each symbol they are
    k-RR and k-RAPPOR, and have no entry. Mechanisms that do not depend on the number of symbols have one for all.
    """
    names = ["k-RR", "subset selection", "Hadamard", "projective", "O-RR", "O-RAPPOR"]
    models = {name: [_columns(name, size) for size in SIZES] for name in names}
    models |= {name: [_columns(name, 2)] for name in ("k-RAPPOR", "OUE", "no privacy")}
    for cells in SHARED:
        for name in (f"O-RR of {cells}", f"O-RAPPOR of {cells}"):
            models[name] = [_columns(name, size) if cells < size else None for size in SIZES]
    return {"sizes": SIZES, "epsilons": GRID, "models": models}


def _columns(name: str, size: int) -> Any:
    found = [_model(name, size, epsilon) for epsilon in GRID]
    columns = []
    for part in ("base", "slope", "curve", "collisions"):
        values = [float(f"{float(getattr(model, part)):.5g}") for model in found]
        columns.append(values[0] if len(set(values)) == 1 else values)
    return columns


# The positions of the page's sliders, which are logarithms; what they say has two digits.
PEOPLE = [round(float(f"{10 ** (2 + step / 5):.1e}")) for step in range(31)]
BUDGETS = list(dict.fromkeys(float(f"{10 ** (-1 + step / 20):.1e}") for step in range(39)))
DELTA = 1e-6  # with which probability what the crowd adds may fail
_FACTORS = (1.005, 1.01, 1.02, 1.04, 1.08, 1.15, 1.3, 1.6, 2.0)  # on a prediction, until it is certified


def any_mechanism(epsilon: float) -> Blanket:
    """What two answers' reports may differ by where nothing is known of the mechanism but epsilon."""
    odds = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**12))  # above e**epsilon: floats are good to 16 digits
    return Blanket.up_to(odds, (odds - 1) / (odds + 1))


def central(epsilon: float, n: int) -> float:
    """A certified bound of what the counts of n people tell, of three digits; epsilon where none is below it."""
    blanket = any_mechanism(epsilon)
    guess = normal_epsilon(blanket.pair, max(int((n - 1) * blanket.mass), 0) + 1, DELTA)
    for factor in _FACTORS:
        bound = rounded_up(factor * guess)
        if bound < epsilon and divergence_above(blanket, n, bound, DELTA, cohorts=1) <= Fraction(DELTA):
            return bound
    return epsilon


def rounded_up(value: float) -> float:
    """Three digits.

    >>> rounded_up(0.123456), rounded_up(2.0)
    (0.124, 2.0)
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.3g}")


def _row(epsilon: float) -> list[float]:
    return [central(epsilon, n) for n in PEOPLE]


def crowds() -> Iterator[list[float]]:
    """The rows of the table, one an epsilon."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield from pool.map(_row, BUDGETS)


def _write_crowd() -> None:
    rows = []
    with Reporter() as report:
        for place, row in enumerate(crowds()):
            report(f"epsilon {BUDGETS[place]:g}", place, len(BUDGETS))
            rows.append(row)
    table = {"delta": DELTA, "people": PEOPLE, "epsilons": BUDGETS, "central": rows}
    CROWD.write_text(json.dumps(table, separators=(",", ":")) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tables of the Explore page.")
    parser.add_argument("--curves", action="store_true", help="only the table of closed forms")
    parser.add_argument("--crowd", action="store_true", help="only the table of what a crowd adds")
    args = parser.parse_args()
    if args.crowd:
        return _write_crowd()
    only = args.curves
    CURVES.write_text(json.dumps(curves(), separators=(",", ":")) + "\n", encoding="utf-8")
    if only:
        return None
    _write_crowd()
    table: dict[str, list[list[list[float]]]] = {}
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with Reporter() as report, ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for place, (cell, (loss, _)) in enumerate(zip(CELLS, pool.map(measure, CELLS), strict=True)):
            report(str(cell), place, len(CELLS))
            by_size = table.setdefault(cell.population, [[[] for _ in EPSILONS] for _ in REPEATS])
            by_size[list(REPEATS).index(cell.symbols)][EPSILONS.index(cell.epsilon)].append(float(f"{loss:.4g}"))
    axes = {"symbols": list(REPEATS), "epsilons": list(EPSILONS), "noises": list(NOISES)}
    TABLE.write_text(json.dumps(axes | {"losses": table}, separators=(",", ":")) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
