"""Constraints: what is reported where an unbiased estimate lies outside the simplex. Three choices, each a value.

Paper: section 4.1, "Constraining empirical estimates". The constraint is separate from the decoder; intervals and
sums always use the unconstrained estimate, which is unbiased.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.simplex import project

Floats = npt.NDArray[np.float64]


class Constraint(ABC):
    """A map from an estimate to the estimate that is reported."""

    @abstractmethod
    def apply(self, values: Floats) -> Floats:
        """The constrained estimate; the one given is not changed."""


@dataclass(frozen=True, slots=True)
class Unconstrained(Constraint):
    """Leave the estimate as it is: unbiased, possibly negative. The paper's standard decoder.

    >>> import numpy as np
    >>> Unconstrained().apply(np.array([1.2, -0.2]))
    array([ 1.2, -0.2])
    """

    def apply(self, values: Floats) -> Floats:
        return values.copy()


@dataclass(frozen=True, slots=True)
class Normalized(Constraint):
    """Cut negative entries and rescale to sum to one; uniform if nothing is positive. The paper's normalised decoder.

    >>> import numpy as np
    >>> Normalized().apply(np.array([0.9, 0.3, -0.2]))
    array([0.75, 0.25, 0.  ])
    """

    def apply(self, values: Floats) -> Floats:
        cut = np.maximum(values, 0.0)
        total = float(cut.sum())
        return cut / total if total > 0 else np.full(cut.shape, 1.0 / cut.size)


@dataclass(frozen=True, slots=True)
class Projected(Constraint):
    """The nearest point of the simplex. The paper's projected decoder, and its best on skewed populations.

    >>> import numpy as np
    >>> Projected().apply(np.array([0.9, 0.3, -0.2]))
    array([0.8, 0.2, 0. ])
    """

    def apply(self, values: Floats) -> Floats:
        return project(values)
