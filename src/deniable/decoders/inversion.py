"""The empirical estimator of k-ary mechanisms and other block designs: the closed-form inverse of the channel."""

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.decoders.base import Decoder, Solution, unbias
from deniable.decoders.least_squares import normal_solve
from deniable.errors import DecodeError
from deniable.matrices import BlockDesign, ChannelDesign, Design
from deniable.tally import Tally


@dataclass(frozen=True, slots=True)
class Inversion(Decoder):
    """p_hat = (T / n - miss) / (hit - miss): unbiased; the count T of each symbol is binomial.

    This is for one cell per symbol. Where a symbol has several, T counts the reports in any of them, and `hit` and
    `miss` are the probabilities of that (`design.BlockDesign`); Hadamard response is decoded by one fast transform.

    Paper: `eq:rr_empirical` for k-RR, `eq:rappor_empirical` for k-RAPPOR, both with the realised probabilities. Under
    k-RR the entries sum to one; under k-RAPPOR they do so only on average.

    Raises
    ------
    DecodeError
        In `solve`, if symbols share cells over cohorts (O-RR, O-RAPPOR).

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["a", "b"], epsilon=1)
    >>> estimate = dn.decode(dn.Tally(survey, [[600, 400]]), decoder=Inversion(), constraint=dn.Unconstrained())
    >>> estimate.probabilities.round(4)
    array([0.7164, 0.2836])
    """

    def solve(self, tallies: Sequence[Tally], design: Design) -> list[Solution]:
        solutions = []
        for tally in tallies:
            if isinstance(design, ChannelDesign):  # least squares, as A may have more columns than rows
                raw = normal_solve(design, design.adjoint(unbias(tally))[None])[0]
            elif isinstance(design, BlockDesign):
                raw = design.invert(unbias(tally))
            else:
                raise DecodeError(
                    f"Inversion must have a cell for every symbol, got {tally.survey.title}; use LeastSquares()"
                )
            solutions.append(Solution(raw, raw))
        return solutions
