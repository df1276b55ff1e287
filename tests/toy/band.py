"""mechanisms/<name>.py: answers in an order; the true cell is the likeliest, its neighbours come next."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms import Channel, parse_epsilon
from deniable.mechanisms.base import check_size
from deniable.mechanisms.odds import at_most_exp


@dataclass(frozen=True, slots=True, init=False)
class Band(Channel):
    """Each cell that is not true has the weight `far`, those beside the true one 2 * `far`, the true one the rest.

    `far` is the least integer that keeps epsilon.
    """

    kind: ClassVar[str] = "band"
    cells: int
    epsilon: Fraction
    width: int
    far: int = field(repr=False)

    def __init__(self, cells: int, epsilon: object, width: int = 64) -> None:
        put = object.__setattr__
        put(self, "cells", check_size("cells", cells, 4, 1 << 12))
        put(self, "epsilon", parse_epsilon(epsilon))
        put(self, "width", check_size("width", width, 1, 64))
        low, high = 1, (1 << self.width) // self.cells
        while low < high:
            far = (low + high) // 2
            # The cell at the end has one neighbour, so that much more for itself.
            if at_most_exp(Fraction((1 << self.width) - self.cells * far, far), self.epsilon):
                high = far
            else:
                low = far + 1
        put(self, "far", low)
        if (1 << self.width) - (self.cells + 1) * low < 2 * low:
            raise SurveyError(f"epsilon must be at least 1.1 for a band, got {float(self.epsilon):g}")
        self.check_rows()

    def row(self, cell: int) -> Sequence[int]:
        row = [2 * self.far if abs(y - cell) == 1 else self.far for y in range(self.cells)]
        row[cell] += (1 << self.width) - sum(row)
        return row

    def thresholds(self) -> dict[str, int]:
        return {"far": self.far}

    def title(self, *, own_cells: bool) -> str:
        return "Band"
