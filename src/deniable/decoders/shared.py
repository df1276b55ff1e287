"""What two tallies of the same devices have in common: the counts bound it from one side.

Devices that take part in both windows and repeat their noise make both estimates err alike, so that their difference
varies less than one of different people. By how much is not known: it depends on how many devices stay and keep their
answers. But the mean square of the differences over all cells is noise plus true change, and true change only adds. So
taking all of it for noise never makes error bars too narrow on average (SCIENCE: the *lower* bound of the overlap).

The mean square is itself an estimate, with few degrees of freedom where there are few cells: limits are Student's. The
symbol's own difference is left out of it, so that a change does not hide itself.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.fit import LinearFit
from deniable.theory import permanent_share

Floats = npt.NDArray[np.float64]

_FEWEST = 3.0  # degrees of freedom below which counts tell too little
# The part of alpha that each of two limits gets, that of different people and that of the mean square, of which the
# narrower is shown: computed, both together cover 94.2 to 96.5 % at 95 % for any overlap, from four degrees on.
_OF_ALPHA = 0.7


@dataclass(frozen=True, slots=True)
class SharedNoise:
    """The variance of a difference as a part of that of different people.

    Parameters
    ----------
    ratios
        One for each symbol, from the counts; may be above one.
    degrees
        The degrees of freedom of each.
    least
        What each is at least: the second stage of a report is drawn anew, whatever the devices are.
    """

    ratios: Floats
    degrees: float
    least: Floats

    @classmethod
    def of(cls, first: LinearFit, second: LinearFit, scores: Floats) -> "SharedNoise | None":
        """That of two fits, where their devices may be the same; None elsewhere, or where the counts do not tell.

        `scores` are the differences of all symbols in standard errors of different people.
        """
        one, two = first.tally, second.tally
        survey = one.survey
        if not survey.repeats_noise or survey.digest != two.survey.digest:
            return None
        both = (one.reports > 0) & (two.reports > 0)
        inverse = first.effect / one.reports[both] + second.effect / two.reports[both]
        counts = one.counts[both], two.counts[both]
        # Half a report keeps cells that nobody hit, or everybody, from having no variance.
        chance = (counts[0] + counts[1] + 0.5) / (one.reports + two.reports)[both, None]
        chance = np.clip(chance, None, 1 - 1e-9)
        apart = counts[0] / one.reports[both][:, None] - counts[1] / two.reports[both][:, None]
        each = apart**2 / (chance * inverse[:, None])
        mechanism = survey.mechanism
        if mechanism.one_column:
            total, degrees = float(each.sum()), each.size - len(each)
        else:  # bits of a report are nearly independent; if each has as many, one less in each cohort
            free = each.shape[1] - (mechanism.hits is not None)
            total, degrees = float((each / (1 - chance)).sum()) * free / each.shape[1], len(each) * free
        left = degrees - 1.0
        if left < _FEWEST:
            return None
        ratios = np.maximum(total - np.where(np.isfinite(scores), scores, 0.0) ** 2, 0.0) / left
        # Of the permanent part, too, what devices that were replaced, or answer anew, have is new: windows are at least
        # one apart.
        kept = min(fit.repeated.kept for fit in (first, second))
        fresh = 1 - permanent_share(survey, (first.raw + second.raw) / 2) * kept
        alone, wide = 1 / one.n + 1 / two.n, first.effects / one.n + second.effects / two.n
        least = fresh * alone / wide
        return cls(np.maximum(ratios, least), left, least)

    @property
    def errors(self) -> Floats:
        """Standard errors, as parts of those of different people."""
        return np.sqrt(np.minimum(self.ratios, 1.0))

    def reach(self, alpha: float) -> Floats:
        """The distance from a difference to its limits at 1 - alpha, as a part of that of different people."""
        from scipy import stats

        each = (_OF_ALPHA + (1 - _OF_ALPHA) * self.least) * alpha / 2
        normal, student = stats.norm.isf(each), stats.t.isf(each, self.degrees)
        return np.asarray(np.minimum(normal, student * np.sqrt(self.ratios)) / stats.norm.isf(alpha / 2))
