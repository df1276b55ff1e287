"""What the default decoder makes of reports, for the Explore page: `python -m studies.explore` writes its table.

The page draws closed forms of the unbiased estimate; the default decoder has none, so its loss is measured on simulated
surveys. A cell is a population, a number of symbols, an epsilon and how noisy the unbiased estimate is: the number of
people is chosen so that its expected l1 error is `noise`. In these terms little depends on the mechanism, so one stands
for all: subset selection, whose squared error is the least. The page interpolates. A few minutes.
"""

import json
import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.lab.streams import stream_of

__all__ = ["CELLS", "EPSILONS", "NOISES", "POPULATIONS", "REPEATS", "TABLE", "Cell", "measure", "population"]

TABLE = Path(__file__).parents[1] / "src" / "deniable" / "service" / "pages" / "decoded.json"
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


def main() -> None:
    table: dict[str, list[list[list[float]]]] = {}
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for place, (cell, (loss, _)) in enumerate(zip(CELLS, pool.map(measure, CELLS), strict=True)):
            print(f"\r{place}/{len(CELLS)} {cell}", end="", file=sys.stderr, flush=True)
            by_size = table.setdefault(cell.population, [[[] for _ in EPSILONS] for _ in REPEATS])
            by_size[list(REPEATS).index(cell.symbols)][EPSILONS.index(cell.epsilon)].append(float(f"{loss:.4g}"))
    axes = {"symbols": list(REPEATS), "epsilons": list(EPSILONS), "noises": list(NOISES)}
    TABLE.write_text(json.dumps(axes | {"losses": table}, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
