"""Variances of least squares: one per unknown, and that of any linear combination.

With G = H' H and M = Cov(H' u) the estimate G^+ H' u has the covariance G^+ M G^+. The variance of a combination a' p
needs no matrix: one solve z = G^+ a, and Var((H z)' u), a sum over cells. All variances at once are the diagonal of
G^+ M G^+ (`design.sandwich`): two S x S matrices in the memory of one, S**3 multiplications, and no matrix is kept.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import unbias
from deniable.decoders.cell_law import CellLaw
from deniable.decoders.least_squares import normal_solve
from deniable.errors import DecodeError
from deniable.matrices import BlockDesign, Design, OpenDesign, Sandwich, invert_in_place
from deniable.tally import Tally
from deniable.theory import ScoreLaw

Floats = npt.NDArray[np.float64]

_KEPT_AT_MOST = 8192  # candidates up to which a dense matrix is kept in memory: 512 MiB
_AT_MOST = 20_000  # candidates up to which one is made at all: 3 GiB, minutes


def is_kept(size: int) -> bool:
    """Whether a dense matrix of so many candidates may be kept in memory; beyond, error bars take minutes."""
    return size <= _KEPT_AT_MOST


def check_kept(size: int) -> None:
    """A `DecodeError` if the covariance would be too large."""
    if not is_kept(size):
        raise DecodeError(
            f"covariance must have at most {_KEPT_AT_MOST} candidates, got {size}; "
            "standard_errors, intervals and total need no matrix"
        )


@dataclass(frozen=True, slots=True)
class Misfit:
    """The residuals of a fit, and the part of their squares that the noise of the reports explains; see `_misfit`.

    `unlisted` is the estimate of Q, the sum of the squares of the unlisted masses.
    """

    residual: Floats
    noise: float  # the expected sum of squares by the noise of the reports
    free: float  # the expected sum of squares by unlisted answers with Q = 1

    @property
    def unlisted(self) -> float:
        # As many unknowns as cells: all residuals are zero.
        if self.free <= 1e-9 * self.residual.size:
            return 0.0
        return max(float((self.residual**2).sum()) - self.noise, 0.0) / self.free

    def minus(self, other: "Misfit") -> "Misfit":
        """The misfit of the difference of two tallies of one design, with independent noise.

        Unlisted answers have the same cells in both, so Q is then the sum of the squares of their changes.
        """
        return Misfit(self.residual - other.residual, self.noise + other.noise, self.free)


@dataclass(frozen=True, slots=True)
class Spread:
    """The variances of all unknowns, which of them are `estimable`, and by-products of computing them.

    A variance has two parts: `own`, the noise of the reports, and `meeting` times Q, the collisions with unlisted
    answers, which share cells with a candidate more or less often than on average.
    """

    own: Floats
    meeting: Floats
    inverse: Floats  # the diagonal of G^+
    estimable: npt.NDArray[np.bool_]
    rank: int
    condition: float
    misfit: Misfit | None  # of an open alphabet that need not be complete

    @property
    def unlisted(self) -> float:
        return 0.0 if self.misfit is None else self.misfit.unlisted

    @property
    def variances(self) -> Floats:
        return self.own + self.unlisted * self.meeting

    @classmethod
    def of(cls, design: Design, law: CellLaw, tally: Tally, *, per_cohort: bool) -> "Spread":
        """`design` and `law` are those of the cohorts that count.

        Claim: the diagonal of the dense covariance.
        Proof: tests/unit/decoders/test_spread.py::test_variances_are_the_diagonal_of_the_dense_covariance
        """
        packed, rank, condition, estimable = _inverse(design)
        inverse = packed.diagonal().copy()
        np.fill_diagonal(packed, 0.0)
        law.scores(tally, design, per_cohort=per_cohort).add_to(packed)
        vectors = _taken(design)
        found = Sandwich.of(packed, inverse, vectors)
        if not isinstance(design, OpenDesign):
            return cls(found.diagonal, np.zeros(len(inverse)), inverse, estimable, rank, condition, None)
        taken = float((vectors * found.along).sum())
        misfit = _misfit(design, law, tally, found.trace, rank, taken, per_cohort=per_cohort)
        a, b = _meetings(design)
        meeting = a * inverse + b * (found.along**2).sum(axis=1)
        return cls(found.diagonal, meeting, inverse, estimable, rank, condition, misfit)

    def noise(self, design: Design) -> Floats:
        """The part of Cov(H' u) by collisions with unlisted answers, dense."""
        if not isinstance(design, OpenDesign) or not self.unlisted:
            return np.zeros((design.symbols, design.symbols))
        (a, b), taken = _meetings(design), _taken(design)
        return np.asarray(self.unlisted * (a * design.gram + b * (taken @ taken.T)))


def variance_along(scores: ScoreLaw, values: Floats) -> tuple[float, float]:
    """Var(sum v u) for v of shape (C, k): by the reports, and by unlisted answers with Q = 1."""
    design, meeting = scores.design, 0.0
    if isinstance(design, OpenDesign):
        a, b = _meetings(design)
        meeting = a * float((values**2).sum()) + b * float((values.sum(axis=1) ** 2).sum())
    return max(scores.variance(values), 0.0), max(meeting, 0.0)


def _inverse(design: Design) -> tuple[Floats, int, float, npt.NDArray[np.bool_]]:
    """(G^+ in the upper triangle of a new matrix, rank, condition, which unknowns are determined)."""
    size = design.symbols - isinstance(design, OpenDesign)
    if is_kept(size):
        factor = design.factor
        return factor.inverse(), factor.rank, factor.condition, factor.estimable
    if size > _AT_MOST:
        raise DecodeError(
            f"standard errors must have at most {_AT_MOST} candidates, got {size}; "
            "decode a shorter candidate list, or with Screening()"
        )
    if isinstance(design, BlockDesign):
        raise DecodeError(
            f"standard errors of least squares on a block design must have at most {_KEPT_AT_MOST} candidates, "
            f"got {size}; decode with Inversion()"
        )
    packed = np.zeros((design.symbols, design.symbols), order="F")
    design.add_gram(packed, None, lower=False)
    # No entry of G is negative, so its column sums are G 1.
    norm = float(design.adjoint(design.forward(np.ones(design.symbols))).max())
    condition = invert_in_place(packed, norm)
    if condition is None:
        raise DecodeError(
            f"candidates must number at most {_KEPT_AT_MOST} where the reports do not determine all of them, "
            f"got {size}; decode a shorter candidate list, or with Screening()"
        )
    return packed, design.symbols, condition, np.ones(design.symbols, bool)


def _meetings(design: OpenDesign) -> tuple[float, float]:
    """(a, b): an unlisted answer of mass one differs from the background by a vector of covariance a I + b 1 1'."""
    return design.level - design.both, design.both - design.level**2


def _taken(design: Design) -> Floats:
    """Vectors t_c whose t_c t_c' add up to H' (1 1' of each cohort) H."""
    if not isinstance(design, OpenDesign):
        return np.zeros((design.symbols, 0))
    if design.hashes == 1:  # each candidate has one cell per cohort, so all vectors are the same
        return np.full((design.symbols, 1), np.sqrt(design.cohorts))
    return design.cohort_scores(np.ones((design.cohorts, design.cells)))


def _misfit(
    design: OpenDesign, law: CellLaw, tally: Tally, trace: float, rank: int, taken: float, *, per_cohort: bool
) -> Misfit:
    """How much more the residuals vary than the noise of the reports explains.

    The background is the average of an unlisted answer over hash functions. A single answer differs from it: in each
    cohort it has cells of its own. With Q the sum of the squares of the unlisted masses, a cohort's
    u differs from the background by a random vector of covariance Q (a I + b 1 1'), with

        a = P(a cell is taken) - P(two given cells are),    b = P(two given cells are taken) - P(a cell is taken)**2

    independently over cohorts. So the residual sum of squares has mean E + Q t, where E is what the reports' own noise
    gives and t = tr((I - H G^+ H') (a I + b 1 1')), and Q is estimated by moments, cut at zero. `trace` is that of
    G^+ Cov(H' u), `taken` the sum of t_c' G^+ t_c over the vectors of `_taken`.
    """
    u = unbias(tally, per_cohort=per_cohort)[law.kept]
    residual = u - design.forward(normal_solve(design, design.adjoint(u)[None])[0])
    a, b = _meetings(design)
    free = law.columns.size * design.level * (1 - design.level) - a * rank - b * taken
    return Misfit(residual, law.noise(design, tally, per_cohort=per_cohort) - trace, free)
