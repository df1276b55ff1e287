"""Decoders and constraints by name, for the command line and the collector. The library takes values, not names."""

from deniable.decoders.base import Decoder
from deniable.decoders.constraints import Constraint, Normalized, Projected, Unconstrained
from deniable.decoders.contaminated import Contaminated
from deniable.decoders.empirical_bayes import EmpiricalBayes
from deniable.decoders.inversion import Inversion
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.likelihood import Likelihood
from deniable.decoders.screening import Screening
from deniable.decoders.weighted import WeightedLeastSquares

DECODERS: dict[str, Decoder] = {
    "empirical-bayes": EmpiricalBayes(),
    "empirical-bayes-ordered": EmpiricalBayes(ordered=True),
    "inversion": Inversion(),
    "least-squares": LeastSquares(),
    "weighted-least-squares": WeightedLeastSquares(),
    "likelihood": Likelihood(),
    "screening": Screening(),
    "contaminated": Contaminated(),
}
CONSTRAINTS: dict[str, Constraint] = {"none": Unconstrained(), "normalized": Normalized(), "projected": Projected()}


def decoder_of(name: str | None) -> Decoder | None:
    """The decoder that a name stands for; None leaves the choice to `decode`.

    >>> decoder_of("inversion"), decoder_of(None)
    (Inversion(), None)
    """
    return None if name is None else DECODERS[name]


def constraint_of(name: str | None) -> Constraint | None:
    """The constraint that a name stands for; None leaves the choice to `decode`.

    >>> constraint_of("projected")
    Projected()
    """
    return None if name is None else CONSTRAINTS[name]
