"""The likelihood of a tally over cohorts, and its maximum on the simplex.

Spectral projected gradients find the support and most digits; Newton steps on the support, solved by conjugate
gradients, find the rest. Both use H only in products, so the matrix is never formed.
"""

import numpy as np
import numpy.typing as npt

from deniable.decoders.iteration import preconditioned_cg
from deniable.decoders.simplex import project
from deniable.errors import DecodeError
from deniable.matrices import Design
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]

# Probability of a miss, at least. From epsilon 28 on it is smaller, and the likelihood would depend on shares of 1e-15,
# which no number of reports determines and doubles hardly represent.
_LEAST = 1e-12
_LEAST_VALUE = 1e-3  # nats per report: relative gaps are relative to a mean log-likelihood of at least this


class CohortLikelihood:
    """Minus the mean log-likelihood of a tally as a convex function of x = H p; smooth, because miss > 0.

    Index reports: sum N log m, m = miss + (hit - miss) x, exact given the cohort sizes. Bit reports: the same plus
    (n_c - N) log(1 - m), the product of the bits' marginals.
    """

    def __init__(self, tally: Tally, design: Design) -> None:
        mechanism = tally.survey.mechanism
        self.design = design
        miss, self.r = mechanism.affine
        self.miss = max(miss, _LEAST)
        self.lost = 0.0 if mechanism.one_column else max(float(1 - mechanism.hit), _LEAST)
        self.hits = tally.counts / tally.n
        self.misses = None if mechanism.one_column else tally.reports[:, None] / tally.n - self.hits

    def _hit(self, x: Floats) -> Floats:
        """m; positive even where a product rounds below zero by more than miss."""
        return self.miss + self.r * np.maximum(x, 0.0)

    def _missed(self, x: Floats) -> Floats:
        """1 - m, computed from 1 - hit: computed from m it would round to zero at a large epsilon."""
        return self.lost + self.r * np.maximum(1 - x, 0.0)

    def value(self, x: Floats) -> float:
        total = float((self.hits * np.log(self._hit(x))).sum())
        return -total if self.misses is None else -total - float((self.misses * np.log(self._missed(x))).sum())

    def gradient(self, x: Floats, p: Floats) -> Floats:
        """The gradient in p, less its mean under p: steps keep the sum, so only differences matter, and taking the
        common part out here keeps its rounding out of them."""
        slope = self.hits / self._hit(x)
        if self.misses is not None:
            slope -= self.misses / self._missed(x)
        full = self.design.adjoint(slope) * -self.r
        return full - float(full @ p)

    def curvature(self, x: Floats) -> Floats:
        """The diagonal of the Hessian in x."""
        weights = self.hits / self._hit(x) ** 2
        if self.misses is not None:
            weights += self.misses / self._missed(x) ** 2
        return weights * self.r**2


def maximize(likelihood: CohortLikelihood, start: Floats, tolerance: float) -> Floats:
    """The p on the simplex of largest likelihood, to a relative duality gap of at most `tolerance`.

    For a convex f on the simplex, gradient . p - min(gradient) bounds f(p) - f(best) from above. Where noise hardly
    hides anything f(best) is nearly zero, and the gap is relative to a thousandth of a nat per report.
    """
    p = _polish(likelihood, _descend(likelihood, start, min(tolerance, 1e-11)))
    x = likelihood.design.forward(p)
    gap = _gap(likelihood.gradient(x, p)) / max(abs(likelihood.value(x)), _LEAST_VALUE)
    if gap > tolerance:
        raise DecodeError(
            f"likelihood must converge to a relative gap of {tolerance:g}, got {gap:.2g}; raise Likelihood(tolerance=)"
        )
    return p


def _gap(g: Floats) -> float:
    """The duality gap: gradient . p - min(gradient), of a gradient whose mean under p is zero."""
    return -float(g.min())


def _descend(likelihood: CohortLikelihood, start: Floats, tolerance: float) -> Floats:
    """Barzilai-Borwein steps, projected on the simplex, accepted by a non-monotone line search."""
    design = likelihood.design
    p = start
    x = design.forward(p)
    f, g = likelihood.value(x), likelihood.gradient(x, p)
    recent = [f]
    step = 1.0 / max(float(np.abs(g - g.mean()).max()), 1e-300)
    for _ in range(20_000):
        if _gap(g) <= tolerance * max(abs(f), _LEAST_VALUE):
            break
        d = project(p - step * g) - p
        slope = float(g @ d)
        if slope >= 0:  # rounding: nothing is left to gain along this step
            step *= 0.1
            if step < 1e-14:
                break
            continue
        dx = design.forward(d)
        t, ceiling = 1.0, max(recent)
        while (trial := likelihood.value(x + t * dx)) > ceiling + 1e-4 * t * slope + 1e-15 * abs(f) and t > 1e-12:
            t *= 0.5
        if t <= 1e-12:
            break
        x, p = x + t * dx, np.maximum(p + t * d, 0.0)
        fresh = likelihood.gradient(x, p)
        bend = float((fresh - g) @ d) * t
        step = min(max(float(d @ d) * t * t / bend, 1e-10), 1e10) if bend > 0 else 1e10
        f, g = trial, fresh
        recent = [*recent[-9:], f]
    return np.asarray(p / p.sum())


def _polish(likelihood: CohortLikelihood, p: Floats, most: int = 25) -> Floats:
    """Newton steps on a support that is guessed anew after each: what a step makes negative leaves, what the
    multipliers ask for comes back. The best point by duality gap is kept, so a bad guess costs time, never accuracy."""
    design = likelihood.design
    best, best_gap = p, np.inf
    free = p > 0
    for _ in range(most):
        x = design.forward(p)
        g = likelihood.gradient(x, p)
        gap = _gap(g)
        if gap < best_gap:
            best, best_gap = p, gap
        elif gap > 1e3 * best_gap + 1e-13:
            break
        d, ahead = _newton_step(design, likelihood.curvature(x), g, free)
        level = float(ahead[free].mean())
        moved = p + d
        support = np.where(free, moved > 0, ahead < level - 1e-14)
        settled = bool((support == free).all()) and float(np.abs(d).max()) < 1e-14
        free, p = support, np.maximum(moved, 0.0)
        p /= p.sum()
        if settled:
            break
    return p if _gap(likelihood.gradient(design.forward(p), p)) <= best_gap else best


def _newton_step(design: Design, weights: Floats, g: Floats, free: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """argmin of g . d + d' H' W H d / 2 over directions on `free` that keep the sum, and the gradient it leads to."""

    # Where misses are rare the curvatures of cells differ by many powers of ten, so each symbol is scaled by its own.
    bends = design.adjoint(weights)
    scale = np.where(free, 1 / np.maximum(bends, max(1e-18 * float(bends.max()), 1e-100)), 0.0)

    def scaled(r: Floats) -> Floats:
        """The step of steepest descent that keeps the sum, in this scale."""
        return np.asarray(scale * (r - float(scale @ r) / float(scale.sum())))

    def product(d: Floats) -> Floats:
        return design.adjoint(weights * design.forward(d))

    found = preconditioned_cg(product, -g, scaled, tolerance=1e-16, most=100)
    return found.solution, -found.residual
