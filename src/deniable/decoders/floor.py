"""The test of shares below zero: what is left to test where counts have no redundancy, as for k-RR.

No share is negative, but its unbiased estimate is, by chance. Planted reports that name a few symbols lower the
estimates of all others below what chance allows. The statistic is the sum of the squares of the negative scores,
estimate over standard error. It is largest, by chance, where all true shares are zero; its mean is then S / 2, and its
variance follows from the correlations. So the test errs on the side of silence where true shares are far above zero.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.fit import LinearFit
from deniable.decoders.goodness import ALARM, ChiSquare
from deniable.decoders.simplex import project
from deniable.matrices import OpenDesign
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]

_MOST_SYMBOLS = 1024  # symbols beyond which it is left out: it needs their covariance
_FINE = 10**12  # reports to which expected counts are scaled, so that they can be rounded
_FOURTH = 1.25  # variance of min(z, 0)**2 for a standard normal z
# Covariance of min(z, 0)**2 and min(y, 0)**2 at correlation c: about _FIRST c + c**2 / 2 (Hermite coefficients).
_FIRST = 2 / np.pi


@dataclass(frozen=True, slots=True)
class FloorLaw:
    """Which symbols are looked at, and the mean and variance of their statistic where all shares are zero."""

    which: npt.NDArray[np.intp]
    errors: Floats
    variance: float

    @classmethod
    def of(cls, fit: LinearFit, raw: Floats | None = None) -> "FloorLaw | None":
        """The law if the estimates are `raw`; None where there are too many symbols, or no share is determined."""
        if fit.size > _MOST_SYMBOLS or not fit.is_kept:
            return None
        # What unlisted answers add to the noise is seen in the counts alone.
        model, scale = (
            (fit, 1.0) if isinstance(fit.design, OpenDesign) else _as_fitted(fit, fit.unknowns if raw is None else raw)
        )
        errors = model.standard_errors * np.sqrt(scale)
        if len(fit.unknowns) > fit.size:  # the unallocated mass is a share, too
            known = np.isfinite(errors).all()
            errors = np.append(errors, np.sqrt(max(float(model.covariance[-1, -1]), 0.0)) if known else np.inf)
        which = np.flatnonzero(np.isfinite(errors) & (errors > 0))
        if not len(which):
            return None
        covariance = model.covariance[np.ix_(which, which)]
        root = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
        c = np.clip(covariance / np.outer(root, root), -1.0, 1.0)
        np.fill_diagonal(c, 0.0)
        variance = _FOURTH * len(which) + float((_FIRST * c + c**2 / 2).sum())
        return cls(which, errors[which], max(variance, len(which) / 4))

    @property
    def _mean(self) -> float:
        return len(self.which) / 2

    def test(self, raw: Floats) -> ChiSquare:
        """The observed statistic, scaled to a chi-square of the same mean and variance."""
        from scipy.special import gammaincc

        statistic = float((np.minimum(raw[self.which] / self.errors, 0.0) ** 2).sum())
        scale, shape = self.variance / self._mean, self._mean**2 / self.variance
        return ChiSquare(2 * statistic / scale, max(round(2 * shape), 1), float(gammaincc(shape, statistic / scale)))

    def power(self, raw: Floats) -> float:
        """The probability of an alarm if the estimates have these means."""
        from scipy.special import gammaincc, gammainccinv, ndtr

        scale, shape = self.variance / self._mean, self._mean**2 / self.variance
        critical = scale * float(gammainccinv(shape, ALARM))
        d = np.clip(raw[self.which] / self.errors, -1e6, 40.0)
        below, density = ndtr(-d), np.exp(-np.minimum(d**2, 1e3) / 2) / np.sqrt(2 * np.pi)
        second = (1 + d**2) * below - d * density
        fourth = (d**4 + 6 * d**2 + 3) * below - (d**3 + 5 * d) * density
        mean = float(second.sum())
        spread = float(np.maximum(fourth - second**2, 0.0).sum()) * self.variance / (_FOURTH * len(self.which))
        if mean <= 0 or spread <= 0:
            return 0.0
        if mean**2 > 1e6 * spread:  # a gamma law of so large a shape is normal
            return float(ndtr((mean - critical) / np.sqrt(spread)))
        return float(gammaincc(mean**2 / spread, critical * mean / spread))


def _as_fitted(fit: LinearFit, raw: Floats) -> tuple[LinearFit, float]:
    """A fit of many more counts, just as the fitted shares expect them, and by what its variances are too small.

    An estimate is far below zero where its count is low by chance; the variance that such a count suggests is too low.
    """
    tally, mechanism = fit.tally, fit.tally.survey.mechanism
    miss, r = mechanism.affine
    shares = project(raw)
    columns = miss + r * fit.design.forward(shares)
    many = max(1, _FINE // tally.n)
    reports = many * tally.reports
    counts = np.rint(reports[:, None] * np.maximum(columns, 0.0)).astype(np.int64)
    if (hits := mechanism.hits) is not None:  # what rounding left over goes to the largest count
        rows = np.arange(len(counts))
        counts[rows, counts.argmax(axis=1)] += hits * reports - counts.sum(axis=1)
    fitted = LinearFit(shares, Tally(tally.survey, counts, reports), fit.design, fit.per_cohort, fit.inverted)
    return fitted, many * fit.effect
