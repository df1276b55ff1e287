"""What every decoder is: a way to solve for p from a tally, and the shared first step, `unbias`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable.decoders.simplex import project_rows
from deniable.design import Design
from deniable.tally import Tally

__all__ = ["Decoder", "Solution", "unbias"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Solution:
    """What a decoder found: `values`, and beside it the unbiased estimate that error bars belong to."""

    values: Floats
    raw: Floats


class Decoder(ABC):
    """A strategy value: `Inversion()`, `LeastSquares()`, `Likelihood()`."""

    # Whether the unbiased estimate beside the solution is the closed form of a block design where there is one.
    inverts: ClassVar[bool] = True

    @abstractmethod
    def solve(self, tallies: Sequence[Tally], design: Design) -> list[Solution]:
        """One solution per tally; all tallies belong to surveys with this design."""

    def learns(self, symbols: int) -> bool:
        """Whether the estimate of one of so many symbols depends on the others, beyond their sum."""
        return False

    def surrogate(
        self, estimates: Floats, base: float, slope: float, *, teacher: int = 0, quick: bool = False
    ) -> Floats:
        """What this decoder makes of unbiased estimates with the variances base + slope p, one survey a row.

        It stands for `solve` and the default constraint where thousands of surveys are predicted; all rows are of one
        population. `teacher` is the row that a decoder learns from; `quick` may be rougher. A decoder that does more
        than project says here what it does.
        """
        return project_rows(estimates)


def unbias(tally: Tally, *, per_cohort: bool = True) -> Floats:
    """u with E[u] = H p: column frequencies, less what misses contribute, over hit - miss. Shape (C, k).

    `per_cohort` divides each cohort's counts by that cohort's reports (a cohort without reports gives zeros, and is
    left out by the decoder); otherwise by n / C, the paper's joint normalisation.
    """
    mechanism = tally.survey.mechanism
    miss, r = mechanism.affine
    size = tally.reports.astype(np.float64) if per_cohort else np.full(len(tally.reports), tally.n / len(tally.reports))
    seen = size > 0
    frequencies = tally.counts / np.where(seen, size, 1.0)[:, None]
    return np.where(seen[:, None], (frequencies - miss) / r, 0.0)
