"""`Observed`: the unbiased estimates of all windows with their noise, before any model of movement."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders import Estimate, Inversion, LeastSquares, Repeated, Unconstrained, decode_all, own_and_unlisted
from deniable.errors import DecodeError
from deniable.survey import Survey, Symbol
from deniable.tally import Tally
from deniable.theory import cell_variance, permanent_share, returning_share
from deniable.tracking.changes import Tails
from deniable.tracking.overlap import Lives

__all__ = ["Observed", "tails"]

Floats = npt.NDArray[np.float64]

_MOST_DENSE = 1024  # symbols of which the covariance is looked at as a whole


@dataclass(frozen=True)
class Observed:
    """Unbiased estimates of the windows that have reports, (S, T); the unallocated share, if any, is the last row.

    Variances are those of all windows of a survey together, scaled by the sizes of the windows. Variances from each
    window's own estimate would give windows with low estimates too much weight.
    """

    symbols: tuple[Symbol, ...]
    surveys: tuple[Survey, ...]
    values: Floats
    variances: Floats
    permanent: Floats
    typical: Floats  # about how large each share is
    returns: float  # the chance that an answer that is drawn anew has the cells of the one before
    doubt: float  # relative standard deviation of the noise's mean square over the symbols, in one draw of it
    unlisted: Floats  # what unlisted answers add to the variance of a level, whatever the number of windows

    @classmethod
    def of(
        cls,
        tallies: list[Tally],
        candidates: list[object] | None,
        participation: str | None,
        lives: Lives,
    ) -> "Observed":
        """Those of some windows. A window may itself have been added up from shorter ones of the same devices."""
        by_survey: dict[str, list[int]] = {}
        for place, tally in enumerate(tallies):
            if tally.n:
                by_survey.setdefault(tally.survey.digest, []).append(place)
        if not by_survey:
            raise DecodeError("tallies must hold reports, got none in any window").because("empty")
        symbols: tuple[Symbol, ...] | None = None
        values = variances = np.empty((0, 0))
        permanent = typical = unlisted = np.empty(0)
        returns = doubt = 0.0
        for places in by_survey.values():
            some = [tallies[place] for place in places]
            survey = some[0].survey
            inverted = not (survey.alphabet.is_open or survey.cohorts > 1 or survey.encoding.is_ordered)
            decoder = Inversion() if inverted else LeastSquares()
            together = Tally(survey)
            for tally in some:  # as if of one window: what windows share is not part of a window's own noise
                together.add(tally.counts, tally.reports)
            *found, whole = decode_all(
                [*some, together], candidates=candidates, decoder=decoder, constraint=Unconstrained()
            )
            if symbols is None:
                symbols, size = whole.symbols, len(whole.symbols) + (whole.rest is not None)
                values, variances = np.zeros((size, len(tallies))), np.ones((size, len(tallies)))
                typical, permanent, unlisted = _with_rest(whole), np.zeros(size), np.zeros(size)
            if whole.symbols != symbols:
                raise DecodeError(
                    "tallies must be of surveys with the same symbols; track other questions as series of their own"
                )
            if not np.isfinite(whole.standard_errors).all():
                raise DecodeError("tallies must determine every symbol that is tracked; give fewer candidates").because(
                    "many"
                )
            doubt = max(doubt, _doubt(whole))
            values[:, places] = np.stack([_with_rest(one) for one in found], axis=1)
            repeats = participation != "once" if participation else survey.repeats_noise
            own, met = whole.standard_errors**2, np.zeros(len(whole.raw))
            if not whole.fit.blocks:
                own, met = own_and_unlisted(whole.fit, [one.fit for one in found] if repeats else [whole.fit])
            unlisted = np.maximum(unlisted, met)
            variances[:, places] = (own * whole.n)[:, None] / np.array([tally.n for tally in some])
            if repeats:
                part = permanent_share(survey, _with_rest(whole))
                returns = max(returns, returning_share(survey, whole.raw, symbols=whole.symbols))
                others = np.array([Repeated.of(tally, lives.turnover, lives.change, returns).others for tally in some])
                variances[:, places] *= 1 + part[:, None] * others
                permanent = np.maximum(permanent, part * (1 + others.max()) / (1 + part * others.max()))
        assert symbols is not None
        return cls(
            symbols, tuple(tally.survey for tally in tallies), values, variances, permanent, typical, returns, doubt,
            unlisted,
        )  # fmt: skip

    def tails(self, sizes: Floats) -> Tails:
        """How far the estimates of each symbol are from normal, where windows have so many reports."""
        return tails(self.surveys, self.typical[: len(self.symbols)], sizes)

    def relative(self, shares: Floats) -> Floats:
        """The ratio of the variance at these shares to the one that is assumed."""
        columns = [
            cell_variance(survey, survey.mechanism, shares[:, place])
            / cell_variance(survey, survey.mechanism, self.typical)
            for place, survey in enumerate(self.surveys)
        ]
        return np.stack(columns, axis=1)


def _with_rest(estimate: Estimate) -> Floats:
    return estimate.raw if estimate.rest is None else np.append(estimate.raw, estimate.rest[1])


def _doubt(estimate: Estimate) -> float:
    """How far one draw of the noise is from its variance: the mean square over the symbols varies by as much.

    Symbols that share cells share noise, so that 360 symbols in 1,024 cohorts tell as little as some hundred.

    >>> import deniable as dn
    >>> round(_doubt(dn.decode(dn.Tally(dn.krr(symbols=200, epsilon=1), [[9] * 200]))), 2)
    0.1
    """
    size = len(estimate.symbols)
    if estimate.tally.survey.cohorts == 1 or size > _MOST_DENSE:
        return float(np.sqrt(2 / size))
    cover = estimate.covariance
    return float(np.sqrt(2 * (cover**2).sum()) / np.trace(cover))


def tails(surveys: Sequence[Survey], shares: Floats, sizes: Floats, cells: int = 1) -> Tails:
    """How far the estimates of single windows are from normal, as if each were one count of reports.

    `cells` is how many each symbol has, where it is a sum of several.
    """
    rare = 0.5 / max(float(sizes.max()), 1.0)
    skewness, excess = np.zeros(len(shares)), np.zeros(len(shares))
    for survey in dict.fromkeys(surveys):
        miss, gap = survey.mechanism.affine
        chance = np.clip(cells * miss + gap * np.clip(shares, 0.0, 1.0), rare, 1 - rare)
        spread = chance * (1 - chance)
        skew = (1 - 2 * chance) / np.sqrt(spread)
        skewness = np.where(np.abs(skew) > np.abs(skewness), skew, skewness)
        excess = np.maximum(excess, 1 / spread)
    return Tails(skewness, excess, sizes)
