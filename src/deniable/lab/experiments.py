"""The second door of this room: the experiments of the paper as tasks, for `deniable.reproduce`.

`deniable.lab` itself offers the populations alone; these load decoders and sparse matrices.
"""

from deniable.lab.kary import DISTRIBUTIONS, LOSSES, KaryTask, Moments, groups, population, spans
from deniable.lab.regression import Cell, Point, RegressionTask, truth
from deniable.lab.screen import ScreenTask

__all__ = [
    "DISTRIBUTIONS",
    "LOSSES",
    "Cell",
    "KaryTask",
    "Moments",
    "Point",
    "RegressionTask",
    "ScreenTask",
    "groups",
    "population",
    "spans",
    "truth",
]
