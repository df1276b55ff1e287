"""What reports, and what unlisted answers, add to the variances of several windows of one open survey.

Unlisted answers share the same cells with the candidates in every window. What they add to an estimate is no noise: it
does not become less with more windows, and cancels in the difference of two of them (`Misfit.minus`).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import unbias
from deniable.decoders.fit import LinearFit

__all__ = ["own_and_unlisted"]

Floats = npt.NDArray[np.float64]


def own_and_unlisted(together: LinearFit, windows: Sequence[LinearFit]) -> tuple[Floats, Floats]:
    """The variances of the unknowns by the noise of all reports, and by unlisted answers.

    How heavy unlisted answers are is told by residuals that the noise of reports does not explain (`Misfit`). Where
    devices repeat their noise, that of all windows together is more than that of so many reports: then residuals of
    single windows tell it, on average over them.

    Parameters
    ----------
    together
        The fit of all windows, as if each report were of another device.
    windows
        The fits whose residuals are looked at: those of single windows, or that of all together.

    Returns
    -------
    tuple of ndarray
        A variance for each unknown; the second are zeros where every answer is known.
    """
    spread = together.spread
    if spread.misfit is None or spread.misfit.free <= 1e-9 * spread.misfit.residual.size:
        return spread.own, np.zeros_like(spread.own)
    left = spread.misfit.noise / _squares(together)[1]  # of the noise of the reports, after the fit
    sizes = np.array([fit.tally.n for fit in windows], np.float64)
    excess = [squares - left * noise for squares, noise in map(_squares, windows)]
    return spread.own, max(float(np.average(excess, weights=sizes)), 0.0) / spread.misfit.free * spread.meeting


def _squares(fit: LinearFit) -> tuple[float, float]:
    """The sum of squares of the residuals, and of what the noise of the reports makes of the counts before any fit."""
    law, tally, design = fit.law, fit.tally, fit.system
    residual = unbias(tally, per_cohort=fit.per_cohort)[law.kept] - design.forward(fit.unknowns)
    return float((residual**2).sum()), law.noise(design, tally, per_cohort=fit.per_cohort)
