"""Normal equations of a weighted regression with normal beliefs: the two steps of expectation propagation on them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.iteration import preconditioned_cg
from deniable.matrices import Design, OpenDesign

Floats = npt.NDArray[np.float64]

EXACT = 1e-14  # squared relative residual at which an iteration ends
ROUGH = 1e-9  # the same, in rounds whose answer is not used
_MOST_STEPS = 300  # steps of conjugate gradients, at most


@dataclass(frozen=True)
class Belief:
    """A normal belief about each unknown: its precision, and precision times mean."""

    precision: Floats
    pull: Floats


class System:
    """The normal equations of a weighted regression."""

    def cavities(self, belief: Belief, tolerance: float = EXACT) -> tuple[Floats, Floats]:
        """Values and variances of each unknown by the reports, given the beliefs about the others.

        `tolerance` is the squared relative residual at which an iteration ends.
        """
        mean, variance = self._solved(belief, tolerance)
        # Without its own belief an unknown has nearly no precision left where the reports say nothing about it.
        precision = np.maximum(1 / variance - belief.precision, 1e-9 / variance)
        return (mean / variance - belief.pull) / precision, 1 / precision

    def _solved(self, belief: Belief, tolerance: float = EXACT) -> tuple[Floats, Floats]:
        raise NotImplementedError


class Dense(System):
    """The inverse itself, for up to some hundred unknowns."""

    def __init__(self, gram: Floats, right: Floats) -> None:
        self.gram, self.right = gram, right
        self.ridge = 1e-12 * float(np.trace(gram)) / len(gram)

    def marginal_estimates(self) -> tuple[Floats, Floats]:
        """Values and variances by the reports alone, without beliefs."""
        nothing = np.zeros(len(self.gram))
        return self._solved(Belief(nothing, nothing))

    def _solved(self, belief: Belief, tolerance: float = EXACT) -> tuple[Floats, Floats]:
        from scipy.linalg import lapack

        filled = self.gram.copy(order="F")
        filled[np.diag_indices_from(filled)] += belief.precision + self.ridge
        factor, status = lapack.dpotrf(filled, overwrite_a=1)
        if status:
            raise np.linalg.LinAlgError("the normal equations with beliefs are not positive definite")
        mean, _ = lapack.dpotrs(factor, self.right + belief.pull)
        inverse, _ = lapack.dpotri(factor, overwrite_c=1)  # a third of the work of solving for the identity
        return mean, np.ascontiguousarray(np.diag(inverse))


class Random(System):
    """The same for many unknowns: conjugate gradients, and the diagonal of the inverse by random matrix theory.

    With R equations, d_i the information about unknown i if all others were known, and l the precision of the beliefs,
    the inverse has the diagonal 1 / (l_i + d_i e), 1 / e = 1 + sum_j (d_j / R) / (l_j + d_j e) (Marchenko and Pastur).
    """

    def __init__(
        self,
        design: Design,
        weights: Floats,
        right: Floats,
        overlap: float,
        equations: int,
        start: Floats | None = None,
    ) -> None:
        """`start` is a first solution: the one under other weights or beliefs is near."""
        self.design, self.weights, self.right, self.equations = design, weights, right, equations
        self.solution = np.zeros_like(right) if start is None else start
        self.weight = design.adjoint(weights)
        self.information = self.weight * (1 - overlap)

    def _solved(self, belief: Belief, tolerance: float = EXACT) -> tuple[Floats, Floats]:
        open_ = isinstance(self.design, OpenDesign)
        listed = slice(-1) if open_ else slice(None)
        information, held = self.information[listed], belief.precision[listed]
        kept = 1.0
        for _ in range(200):
            fresh = 1 / (1 + float((information / (held + information * kept)).sum()) / self.equations)
            if abs(fresh - kept) < 1e-9:
                break
            kept = (kept + fresh) / 2
        variance = 1 / (held + information * kept)
        if open_:  # the rest is one minus the sum of the others
            variance = np.append(variance, 1 / (belief.precision[-1] + 1 / float(variance.sum())))
        return self._iterated(belief, tolerance), variance

    def _iterated(self, belief: Belief, tolerance: float) -> Floats:
        scale = self.weight + belief.precision
        right = self.right + belief.pull

        def product(v: Floats) -> Floats:
            return self.design.adjoint(self.weights * self.design.forward(v)) + belief.precision * v

        found = preconditioned_cg(
            product, right, lambda r: r / scale, tolerance=tolerance, most=_MOST_STEPS, start=self.solution
        )
        self.solution = found.solution
        return found.solution
