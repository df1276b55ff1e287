"""A decoder for tallies that may hold planted reports: a mixture of honest reports and of few planted patterns.

The counts are taken for those of (1 - b) channel(p) + b F, where F is a law on reports that names few symbols. Its
unbiased estimate is (1 - b) p plus peaks at those symbols, less the same amount everywhere else: planted reports lack
the noise of honest ones. Where many symbols have hardly any share, that amount (`shift`) is seen, as shares below zero
(`floor`); how much the peaks hold then follows, because shares add up to one. Which symbols hold them does not: the
likelihood is flat between an honest peak and a planted one. So the tallest are lowered to one height, which changes
the least number of symbols. Where nothing is below zero, as after an attack on uniform shares, nothing is identified,
and nothing is changed: k-RR has no redundancy that could tell more. Where counts over cohorts have redundancy and do
not fit peaks at symbols, the model does not hold, and nothing is changed either.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution, unbias
from deniable.decoders.empirical_bayes import EmpiricalBayes
from deniable.decoders.fit import LinearFit
from deniable.decoders.floor import FloorLaw
from deniable.decoders.goodness import ALARM, NullLaw
from deniable.decoders.least_squares import normal_solve
from deniable.decoders.simplex import project
from deniable.matrices import BlockDesign, Design, OpenDesign
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]

_HALVINGS = 60  # of the interval of a shift: more than a float has digits


@dataclass(frozen=True, slots=True)
class Contaminated(Decoder):
    """The default decoder, corrected for planted reports where shares are below zero by more than chance allows.

    Without such an alarm it is `EmpiricalBayes`; a false one has probability 0.001. After one, every share is raised by
    the least amount that makes the negative ones noise, and the tallest are lowered to one height until all add up to
    one. It takes away most of what an attack of 5 % gains where noise is small beside it, and nothing where no alarm
    is raised: docs/results/poisoning.md has both. Do not use it where an honest share may stand far above all others:
    nothing tells it from a planted one, so it is lowered first, which may serve the attacker.

    Error bars belong to the unbiased estimate beside it. They describe chance, and do not allow for planted reports:
    their coverage under attack is on the same page.

    Examples
    --------
    >>> import deniable as dn
    >>> survey, p = dn.oue(symbols=100, epsilon=1), dn.lab.geometric(100, 10)
    >>> honest = dn.simulate(survey, p, 95_000, np.random.default_rng(0))
    >>> bits = np.zeros((1, 100), int)
    >>> bits[0, 40:45] = 5_000
    >>> tally = dn.Tally(survey, honest.counts + bits, honest.reports + 5_000)       # 5 % name five symbols each
    >>> [round(float(dn.decode(tally, decoder=d).probabilities[40:45].sum()), 1) for d in (None, Contaminated())]
    [0.9, 0.3]
    """

    def solve(self, tallies: Sequence[Tally], design: Design) -> list[Solution]:
        plain = EmpiricalBayes().solve(tallies, design)
        return [
            Solution(_corrected(solution, tally, design), solution.raw)
            for solution, tally in zip(plain, tallies, strict=True)
        ]

    def learns(self, symbols: int) -> bool:
        return EmpiricalBayes().learns(symbols)

    def surrogate(
        self, estimates: Floats, base: float, slope: float, *, teacher: int = 0, quick: bool = False
    ) -> Floats:
        """That of `EmpiricalBayes`: plans are made for honest reports.

        Parameters
        ----------
        estimates, base, slope, teacher, quick
            See `Decoder.surrogate`.

        Returns
        -------
        ndarray
            Constrained estimates, one survey per row.

        Examples
        --------
        >>> Contaminated().surrogate(np.array([[0.9, 0.3, -0.2]]), 0.01, 0.0).round(3)
        array([[0.8, 0.2, 0. ]])
        """
        return EmpiricalBayes().surrogate(estimates, base, slope, teacher=teacher, quick=quick)


def _corrected(solution: Solution, tally: Tally, design: Design) -> Floats:
    fit = LinearFit(solution.raw, tally, design, inverted=True)
    law = FloorLaw.of(fit)
    if law is None or law.test(solution.raw).p_value >= ALARM or not _fits(fit):
        return solution.values
    along = _shift_of_silence(design)
    raised = solution.raw + _least_shift(solution.raw, law, along) * along
    size = fit.size  # the unallocated mass is no peak
    excess = max(float(raised.sum()) - 1, 0.0)
    raised[:size] = lower_tallest(raised[:size], excess)
    return project(raised)


def _fits(fit: LinearFit) -> bool:
    """Whether counts over cohorts are those of any masses, whatever their sum and sign."""
    system, tally, mechanism = fit.system, fit.tally, fit.tally.survey.mechanism
    if isinstance(system, BlockDesign):
        return True
    reports = tally.reports[tally.reports > 0][:, None]
    _, r = mechanism.affine
    left = unbias(tally)[tally.reports > 0] - system.forward(fit.unknowns)
    m = np.clip(tally.counts[tally.reports > 0] / reports, 0.5 / reports, 1 - 0.5 / reports)
    variance = m if mechanism.one_column else m * (1 - m)
    statistic = float((left**2 * reports * r**2 / variance).sum()) / fit.effect
    degrees = left.size - (system.cohorts - 1 if mechanism.one_column else 0) - fit.rank
    return degrees <= 0 or NullLaw(degrees).test(statistic).p_value >= ALARM


def _shift_of_silence(design: Design) -> Floats:
    """By what the estimates fall, up to a factor, if reports lack the noise that hits every column alike."""
    if isinstance(design, OpenDesign):  # the background is what hits every column alike
        return np.append(np.zeros(design.symbols - 1), 1.0)
    ones = np.ones((design.cohorts, design.cells))
    right = design.adjoint(ones)[None]
    found = design.invert(ones) if isinstance(design, BlockDesign) else normal_solve(design, right)[0]
    found = np.maximum(found, 0.0)
    return np.asarray(found / found.max())


def _least_shift(raw: Floats, law: FloorLaw, along: Floats) -> float:
    """The least shift for which the negative estimates have the mean square of noise around zero: one."""
    some, errors, slope = raw[law.which], law.errors, along[law.which]
    low, high = 0.0, float(np.max(np.where(slope > 0, -some / np.where(slope > 0, slope, 1.0), 0.0), initial=0.0))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        z = (some + middle * slope) / errors
        below = z[z < 0]
        low, high = (middle, high) if len(below) and float((below**2).mean()) > 1 else (low, middle)
    return high


def lower_tallest(values: Floats, excess: float) -> Floats:
    """Lower the largest values to one height, so that the sum falls by `excess`.

    >>> lower_tallest(np.array([0.7, 0.4, 0.1]), 0.5)
    array([0.3, 0.3, 0.1])
    """
    falling = np.sort(values)[::-1]
    heights = (np.cumsum(falling) - excess) / np.arange(1, len(falling) + 1)
    # The height of the j tallest is right where the next one is not above it.
    fits = heights >= np.append(falling[1:], -np.inf)
    return np.asarray(np.minimum(values, heights[int(fits.argmax())]))
