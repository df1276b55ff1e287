"""Least squares over cohorts: the decoder of O-RR and O-RAPPOR.

Paper: `eq:rr_strings_regression`. H is never formed (`matrices`). The Gram matrix H' H depends neither on epsilon nor
on the data, so it is factored once per survey and candidate list and reused for every tally. A single large system is
solved by conjugate gradients instead. Their preconditioner is the expected Gram matrix, a multiple of the identity plus
rank one, which has a closed-form inverse. Once the steps are small their products run in single precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution, unbias
from deniable.decoders.iteration import preconditioned_cg
from deniable.errors import DecodeError
from deniable.matrices import Design
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]

_FACTOR_ALWAYS = 1024  # candidates up to which the Gram matrix is always factored: at most 0.1 s
_FACTOR_AT_MOST = 8192  # candidates up to which a dense Gram matrix is made: 512 MiB
_WORTH_FACTORING = 12  # tallies of one large design from which factoring is faster than iterating
_MOST_STEPS = 500  # steps beyond which factoring is cheaper; half as many as candidates, if that is more
_MOST_STEPS_LARGE = 10_000  # the same beyond _FACTOR_AT_MOST, where nothing but iterating is left
_SMALL_DIRECTION = 1e-5  # of the first direction: smaller ones are multiplied in single precision
_WORTH_ROUNDING = 1 << 20  # entries of H from which single precision saves more than it takes to prepare


@dataclass(frozen=True, slots=True)
class LeastSquares(Decoder):
    """Minimise |H p - u|**2; the solution of least norm where H has not full rank. Unbiased where it has.

    Parameters
    ----------
    per_cohort
        Whether the counts of a cohort are divided by its own reports (the default; cohorts without reports are left
        out) or by n / C, the paper's joint normalisation. The joint form is worse where a cell is heavy, because the
        random cohort sizes add to its variance; the other is worse where cohorts are small, because it weights all
        alike. Exact risks at S = 256, joint over per-cohort: 1.08 for Zipf 2 at epsilon 2 to 4 and n = 10**6, 1.00 for
        the geometric and uniform populations there, .99 at 156 reports per cohort, .88 at ten. So the joint form pays
        below about a hundred reports per cohort (docs/decisions/0006-cohort-normalisation.md).
    tolerance
        The relative residual at which an iteration ends.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.orr(symbols=3, epsilon=2, cells=2, cohorts=4, seed=bytes(16))
    >>> tally = dn.simulate(survey, [0.5, 0.3, 0.2], n=10**8, rng=np.random.default_rng(0))
    >>> dn.decode(tally, decoder=LeastSquares()).probabilities.round(2)
    array([0.5, 0.3, 0.2])
    """

    inverts: ClassVar[bool] = False
    per_cohort: bool = True
    tolerance: float = 1e-11

    def solve(self, tallies: Sequence[Tally], design: Design) -> list[Solution]:
        found: dict[int, Floats] = {}
        whole = [i for i, t in enumerate(tallies) if not self.per_cohort or (t.reports > 0).all()]
        if whole:
            right = design.adjoint(np.stack([unbias(tallies[i], per_cohort=self.per_cohort) for i in whole]))
            found |= zip(whole, normal_solve(design, right, self.tolerance), strict=True)
        parts: dict[bytes, Design] = {}
        for i, tally in enumerate(tallies):
            if i not in found:
                seen = tally.reports > 0
                part = parts.setdefault(seen.tobytes(), design.only(seen))
                found[i] = normal_solve(part, part.adjoint(unbias(tally)[seen][None]), self.tolerance)[0]
        return [Solution(found[i], found[i]) for i in range(len(tallies))]


def normal_solve(design: Design, right: Floats, tolerance: float = 1e-11) -> Floats:
    """(H' H)^+ b for each row b of a stack, each in the range of H': factored or iterated, whichever is cheaper.

    >>> import deniable as dn
    >>> from deniable.matrices import design_of
    >>> design = design_of(dn.orr(symbols=3, epsilon=2, cells=2, cohorts=4, seed=bytes(16)))
    >>> normal_solve(design, design.adjoint(design.forward(np.array([0.5, 0.3, 0.2])))[None]).round(12)
    array([[0.5, 0.3, 0.2]])
    """
    small = design.symbols <= _FACTOR_ALWAYS
    many = len(right) >= _WORTH_FACTORING and design.symbols <= _FACTOR_AT_MOST
    if small or many or design.is_factored:
        return design.factor.solve(right.T).T
    rows = [conjugate_gradients(design, row, tolerance, most_steps(design)) for row in right]
    if any(row is None for row in rows):  # too ill-conditioned to iterate
        if design.symbols > _FACTOR_AT_MOST:
            raise DecodeError(
                f"candidates must number at most {_FACTOR_AT_MOST} where they are so nearly as many as the reports "
                f"have equations, got {design.symbols}; decode with Screening()"
            )
        return design.factor.solve(right.T).T
    return np.stack([row for row in rows if row is not None])


def most_steps(design: Design) -> int:
    """How long to iterate before factoring: as long as it takes where that is out of reach."""
    return _MOST_STEPS_LARGE if design.symbols > _FACTOR_AT_MOST else max(_MOST_STEPS, design.symbols // 2)


def conjugate_gradients(
    design: Design, right: Floats, tolerance: float, most: int = _MOST_STEPS, *, weights: Floats | None = None
) -> Floats | None:
    """G^+ b by preconditioned conjugate gradients from zero, or None if that did not converge; G = H' diag(w) H.

    The preconditioner is a I + b w w' with w = H' 1. Because w is in the range of H', every iterate is too, so the
    limit is the solution of least norm, preconditioned or not.
    """
    cells = np.ones((design.cohorts, design.cells)) if weights is None else weights
    w = design.adjoint(cells)
    trace, total = float(w.sum()), float((cells * design.forward(np.ones(design.symbols)) ** 2).sum())
    s = design.symbols
    off = (total - trace) / (s * (s - 1)) if s > 1 else 0.0
    a = max(trace / s - off, 1e-12 * trace / s)
    b = off / float(w.mean()) ** 2
    shrink = b / (a + b * float(w @ w))

    def precondition(r: Floats) -> Floats:
        return (r - w * (shrink * float(w @ r))) / a

    product = _Product(design, cells)
    found = preconditioned_cg(product, right, precondition, tolerance=tolerance**2, most=most)
    if product.rounded:  # the residual of that solution, in double precision, and more steps where it is larger
        product.double = True
        found = preconditioned_cg(product, right, precondition, tolerance=tolerance**2, most=most, start=found.solution)
    return found.solution if found.converged else None


class _Product:
    """x -> H' diag(w) H x for the directions of conjugate gradients, in single precision where x is small.

    A direction of 1e-5 of the first one, rounded to 6e-8 of itself, changes the residual by 6e-13 of what it was: less
    than the decoders ask for. `conjugate_gradients` computes the residual again at the end, in double precision.
    """

    def __init__(self, design: Design, weights: Floats) -> None:
        self.design, self.weights = design, weights
        self.double = design.symbols * design.cohorts < _WORTH_ROUNDING
        self.rounded = False  # whether any product was in single precision
        self._heaviest = float(weights.max())
        self._light: npt.NDArray[Any] = (weights / self._heaviest).astype(np.float32)
        self._first = 0.0  # size of the first direction

    def __call__(self, x: Floats) -> Floats:
        size = float(np.abs(x).max())
        self._first = self._first or size
        if self.double or not 0 < size <= _SMALL_DIRECTION * self._first:
            return self.design.adjoint(self.weights * self.design.forward(x))
        self.rounded = True
        scaled: npt.NDArray[Any] = (x / size).astype(np.float32)  # so that nothing leaves the range of single precision
        product = self.design.adjoint(self._light * self.design.forward(scaled))
        return product.astype(np.float64) * (size * self._heaviest)
