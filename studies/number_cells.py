"""The settings in which surveys of numbers are measured: populations, bins, epsilons and numbers of people."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import deniable as dn

Floats = npt.NDArray[np.float64]

EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE = (10**4, 10**5, 10**6)
BINS = (256, 1024)
POPULATIONS = ("beta", "bimodal", "spiky", "uniform", "point")
SMOOTH = ("beta", "bimodal", "uniform")  # populations without atoms


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting: a population in some bins, an epsilon, a number of people."""

    population: str
    bins: int
    epsilon: float
    n: int


def population(name: str, bins: int) -> Floats:
    """The shares of the bins of one of the populations.

    >>> [float(population(name, 256).sum().round(12)) for name in POPULATIONS]
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    x = (np.arange(bins) + 0.5) / bins
    incomes = np.exp(-0.5 * (np.log(x / 0.25) / 0.6) ** 2) / x
    if name == "beta":
        p = x**4 * (1 - x)
    elif name == "bimodal":
        p = 0.6 / 0.07 * np.exp(-0.5 * ((x - 0.3) / 0.07) ** 2) + 0.4 / 0.05 * np.exp(-0.5 * ((x - 0.75) / 0.05) ** 2)
    elif name == "spiky":  # incomes: four fifths round them, most to a multiple of an eighth of that
        place, round_to = np.arange(bins), bins // 32
        rounded = np.where(place % round_to == 0, incomes, 0) * np.where(place % (4 * round_to) == 0, 4, 1)
        p = 0.2 * incomes / incomes.sum() + 0.8 * rounded / rounded.sum()
    elif name == "uniform":
        p = np.ones(bins)
    else:
        p = (np.arange(bins) == int(0.37 * bins)).astype(np.float64)
    return np.asarray(p / p.sum())


def cells() -> Iterator[Cell]:
    for bins in BINS:
        for epsilon in EPSILONS:
            for n in PEOPLE:
                for name in POPULATIONS:
                    yield Cell(name, bins, epsilon, n)


def survey_of(cell: Cell) -> dn.Survey:
    return dn.number(0, 1, cell.epsilon, bins=cell.bins)
