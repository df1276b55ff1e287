"""Simulated tallies of numbers and the decoder's answers to them, kept in a folder.

`python -m studies.number_answers FOLDER` makes them.

The answers are what costs: 10 to 80 ms each. They do not depend on how intervals are made from them, so intervals can
be measured again in minutes. A chunk of tallies has a seed of its own, and each chunk a file of its own.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.matrices import design_of
from studies.number_cells import SMOOTH, Cell, cells, population, survey_of

Floats = npt.NDArray[np.float64]

CHUNK = 100  # tallies that are made together
SEED = 2026


def law_of(cell: Cell) -> Floats:
    """The chances of all columns of a report."""
    survey = survey_of(cell)
    miss, r = survey.mechanism.affine
    law = miss + r * design_of(survey).forward(population(cell.population, cell.bins))[0]
    return np.asarray(law / law.sum())


def counts_of(cell: Cell, chunk: int) -> npt.NDArray[np.int64]:
    """The counts of the tallies of one chunk, by rows."""
    rng = np.random.default_rng([SEED, chunk, *map(ord, repr(cell))])
    return rng.multinomial(cell.n, law_of(cell), size=CHUNK)


def answers_path(cell: Cell, chunk: int, folder: Path) -> Path:
    """The file of one chunk."""
    return folder / f"{cell.population}-{cell.bins}-{cell.epsilon:g}-{cell.n}-{chunk}.npy"


def answers_of(cell: Cell, chunk: int, folder: Path) -> Floats:
    """The shares that the default decoder gives for them, by rows; made if the folder does not have them."""
    path = answers_path(cell, chunk, folder)
    if not path.exists():
        survey = survey_of(cell)
        estimates = dn.decode_all([dn.Tally(survey, [row.tolist()]) for row in counts_of(cell, chunk)])
        folder.mkdir(parents=True, exist_ok=True)
        made = path.with_suffix(".part.npy")
        np.save(made, np.stack([estimate.probabilities for estimate in estimates]).astype(np.float32))
        made.replace(path)
    return np.asarray(np.load(path), np.float64)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chunks", type=int, default=10, help="of each smooth population")
    parser.add_argument("--rough", type=int, default=3, help="of each population with atoms")
    parser.add_argument("--seconds", type=float, default=math.inf)
    args = parser.parse_args()
    started = time.monotonic()
    for chunk in range(args.chunks):
        for cell in cells():
            if time.monotonic() - started > args.seconds:
                return
            if cell.population in SMOOTH or chunk < args.rough:
                answers_of(cell, chunk, args.folder)


if __name__ == "__main__":
    main()
