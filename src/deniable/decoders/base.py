"""The interface of decoders, and the step that they share: `unbias`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable.decoders.simplex import project_rows
from deniable.matrices import Design
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Solution:
    """A decoder's answer, `values`, and the unbiased estimate `raw` that error bars belong to."""

    values: Floats
    raw: Floats


class Decoder(ABC):
    """A method to estimate a population from a tally, as a value: `Inversion()`, `LeastSquares()`, `Likelihood()`.

    Examples
    --------
    >>> import deniable as dn
    >>> dn.Inversion().learns(100), dn.EmpiricalBayes().learns(100)
    (False, True)
    >>> dn.Inversion().surrogate(np.array([[0.9, 0.3, -0.2]]), 0.01, 0.0).round(3)
    array([[0.8, 0.2, 0. ]])
    """

    # Whether `Solution.raw` is the closed form of a block design where there is one.
    inverts: ClassVar[bool] = True

    @abstractmethod
    def solve(self, tallies: Sequence[Tally], design: Design) -> list[Solution]:
        """Estimate the unknowns of each tally.

        Parameters
        ----------
        tallies
            Tallies of surveys with this design.
        design
            The matrix H of the encoding and the candidates.

        Returns
        -------
        list of Solution
            One per tally.
        """

    def learns(self, symbols: int) -> bool:
        """Whether the estimate of one symbol depends on those of the others beyond their sum.

        A decoder that fits a prior to all estimates does; it needs more than a few symbols.

        Parameters
        ----------
        symbols : int
            The number of symbols.

        Returns
        -------
        bool
            False for decoders without a prior.
        """
        return False

    def surrogate(
        self, estimates: Floats, base: float, slope: float, *, teacher: int = 0, quick: bool = False
    ) -> Floats:
        """The answers of this decoder to many simulated surveys of one population: a fast stand-in for `solve`.

        The planner predicts losses with it. A decoder that does more than project overrides it.

        Parameters
        ----------
        estimates
            Unbiased estimates with variances base + slope p, one survey per row.
        base, slope
            The two parts of the variance.
        teacher
            The row to fit a prior to, for decoders that have one.
        quick
            Whether a rougher answer will do.

        Returns
        -------
        ndarray
            Constrained estimates, one survey per row.
        """
        return project_rows(estimates)


def unbias(tally: Tally, *, per_cohort: bool = True) -> Floats:
    """u with E[u] = H p: (column frequency - miss) / (hit - miss), shape (C, k).

    With `per_cohort` the counts of a cohort are divided by its own reports; a cohort without reports gives zeros, and
    decoders leave it out. Otherwise they are divided by n / C, the paper's joint normalisation.
    """
    mechanism = tally.survey.mechanism
    miss, r = mechanism.affine
    size = tally.reports.astype(np.float64) if per_cohort else np.full(len(tally.reports), tally.n / len(tally.reports))
    seen = size > 0
    frequencies = tally.counts / np.where(seen, size, 1.0)[:, None]
    return np.where(seen[:, None], (frequencies - miss) / r, 0.0)
