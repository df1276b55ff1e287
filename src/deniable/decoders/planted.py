"""What planted reports could do to an estimate, and whether the checks of a tally would notice.

An attacker need not run the client: a planted report may be any that the collector accepts. The unbiased estimate is
linear in the counts, so the report that raises a set of symbols most is known (the maximal gain attack of Cao, Jia and
Gong, 2021): the column with the largest weight, for bits all columns with a positive weight, for sets the largest
ones. A fraction b of such reports raises the set by b (weight of the report - what an honest report adds on average).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.decoders.fit import LinearFit
from deniable.decoders.floor import FloorLaw
from deniable.decoders.goodness import cohort_sizes, pearson
from deniable.decoders.least_squares import normal_solve
from deniable.decoders.simplex import project
from deniable.errors import DecodeError
from deniable.matrices import BlockDesign
from deniable.survey import Symbol

Floats = npt.NDArray[np.float64]

_MOST_STEPS = 1 << 30  # multiplications for the influence; beyond it only the largest symbols are looked at
_EQUAL = 1e-9  # relative difference below which two columns serve an attacker alike
_CERTAIN = 0.995  # probability from which words say "almost surely"
_HARDLY = 0.005  # probability below which words say that no check would notice


@dataclass(frozen=True, slots=True)
class Planted:
    """What some planted reports could do to the shares of some symbols. Made by `Estimate.planted`.

    Parameters
    ----------
    symbols
        The symbols that the reports are meant to raise.
    share
        The planted part of all reports.
    n
        All reports, planted ones included.
    gain
        How much the unbiased shares of the symbols, added up, rise at most.
    lie
        How much they rise if as many people answer one of the symbols with an honest client: no check can notice that.
    noticed
        The probability that a check raises an alarm if the reports are planted for the largest gain.
    careful
        How much they rise if the reports are made to look ordinary: spread evenly over the cohorts, each with the cells
        of one of the symbols (bits: of all of them, and as many others as honest reports have).
    careful_noticed
        The probability that a check raises an alarm then.

    Examples
    --------
    >>> import deniable as dn
    >>> tally = dn.simulate(dn.oue(symbols=100, epsilon=1), dn.lab.zipf(100, 1), 10_000, np.random.default_rng(0))
    >>> found = dn.decode(tally).planted([7], share=0.005)
    >>> round(found.gain, 3), round(found.noticed, 2), round(found.careful_noticed, 3), round(found.lie, 3)
    (0.016, 0.37, 0.001, 0.005)
    """

    symbols: tuple[Symbol, ...]
    share: float
    n: int
    gain: float
    lie: float
    noticed: float
    careful: float
    careful_noticed: float

    @property
    def reports(self) -> int:
        """How many reports are planted."""
        return round(self.share * self.n)

    @property
    def words(self) -> str:
        """What it costs and whether it would be seen, in words.

        Examples
        --------
        >>> import deniable as dn
        >>> print(dn.decode(dn.Tally(dn.warner(epsilon=1), [[6000, 4000]])).planted(["yes"], share=0.005).words)
        50 of 10,000 reports move one share by up to 0.649 points; no check would notice. As many lies move it by 0.358.
        """
        what = "one share" if len(self.symbols) == 1 else f"{len(self.symbols)} shares together"
        them = "it" if len(self.symbols) == 1 else "them"
        said = f"{self.reports:,} of {self.n:,} reports move {what} by up to {100 * self.gain:.3g} points; "
        said += f"{chance_in_words(self.noticed)}."
        if self.careful < (1 - _EQUAL) * self.gain or self.careful_noticed < self.noticed - _HARDLY:
            said += f" Made to look ordinary they move {them} by {100 * self.careful:.3g}; "
            said += f"{chance_in_words(self.careful_noticed)}."
        return f"{said} As many lies move {them} by {100 * self.lie:.3g}."


def chance_in_words(noticed: float) -> str:
    """How likely a check would notice planted reports.

    >>> chance_in_words(0.0), chance_in_words(1.0), chance_in_words(0.25)
    ('no check would notice', 'a check would almost surely notice', 'a check would notice with probability 0.25')
    """
    if noticed < _HARDLY:
        return "no check would notice"
    if noticed > _CERTAIN:
        return "a check would almost surely notice"
    return f"a check would notice with probability {noticed:.2g}"


def plant(fit: LinearFit, symbols: tuple[Symbol, ...], targets: npt.NDArray[np.intp], share: float) -> Planted:
    """The best attack on some symbols, by index, and its chances."""
    weights = _weights(fit, _inside(fit, targets))
    loud, quiet = (reports_to_plant(fit, targets, share, careful=careful) for careful in (False, True))
    return Planted(
        symbols,
        share,
        fit.tally.n,
        gain=_gain(fit, weights, *loud, share),
        lie=share * (1 - float(fit.raw[targets].sum())),
        noticed=_noticed(fit, *loud, share),
        careful=_gain(fit, weights, *quiet, share),
        careful_noticed=_noticed(fit, *quiet, share),
    )


def reports_to_plant(
    fit: LinearFit, targets: npt.NDArray[np.intp], share: float, *, careful: bool = False
) -> tuple[Floats, Floats]:
    """How often each column is hit by a planted report of each cohort, (C, k), and how many are planted there, (C,).

    For the largest gain, or `careful`: so that the reports look ordinary.
    """
    inside, mechanism = _inside(fit, targets), fit.tally.survey.mechanism
    weights = _weights(fit, inside)
    best = best_reports(weights, mechanism.hits)
    if careful:
        return _ordinary(fit, inside, best), np.full(len(best), share * fit.tally.n / len(best))
    reports = _reports(fit)
    if fit.per_cohort and len(reports) > 1:
        gains = (weights * (best - _seen(fit))).sum(axis=1)
        return best, optimal_places(gains[None], reports, share)[0]
    top = int((weights * best).sum(axis=1).argmax())
    return best, np.where(np.arange(len(reports)) == top, share * float(fit.tally.n), 0.0)


def check_share(share: float) -> float:
    """A fraction of reports that are planted."""
    if isinstance(share, bool) or not (isinstance(share, (int, float)) and 0 < share < 1):
        raise DecodeError(f"share must be above 0 and below 1, got {share!r}; 0.01 is one planted report in a hundred")
    return float(share)


def _weights(fit: LinearFit, inside: Floats) -> Floats:
    """What a hit of each column adds to the sum of some unknowns, times the reports of its cohort: shape (C, k)."""
    _, r = fit.tally.survey.mechanism.affine
    if (blocks := fit.blocks) is not None:
        return _inverse_adjoint(blocks, inside) / r
    system = fit.system
    row = system.factor.solve(inside) if fit.is_kept else normal_solve(system, inside[None])[0]
    return system.forward(row) / r


def _inverse_adjoint(blocks: BlockDesign, inside: Floats) -> Floats:
    """The adjoint of `BlockDesign.invert`."""
    found = blocks.forward(inside)
    if blocks.shared:
        sums = np.bincount(blocks.keys % blocks.blocks, inside, blocks.blocks)
        found = found - blocks.shared / blocks.occupied * np.repeat(sums, blocks.cells // blocks.blocks)
    return found / blocks.distance


def best_reports(weights: Floats, hits: int | None) -> Floats:
    """How often each column is hit by the reports with the largest sum of weights, shape (C, k).

    A report hits so many columns, or any number. Reports that serve alike are sent equally often: that is seen less
    easily than one report many times.

    >>> best_reports(np.array([[2.0, 2.0, -1.0]]), 1), best_reports(np.array([[2.0, 2.0, -1.0]]), None)
    (array([[0.5, 0.5, 0. ]]), array([[1., 1., 0.]]))
    """
    near = _EQUAL * np.abs(weights).max(axis=1, keepdims=True)
    if hits is None:
        return np.asarray(weights > near, np.float64)
    last = -np.partition(-weights, hits - 1, axis=1)[:, hits - 1 : hits]
    sure, tied = weights > last + near, np.abs(weights - last) <= near
    left = hits - sure.sum(axis=1, keepdims=True)
    return np.asarray(sure + tied * (left / tied.sum(axis=1, keepdims=True)))


def _inside(fit: LinearFit, targets: npt.NDArray[np.intp]) -> Floats:
    inside = np.zeros(len(fit.unknowns))
    inside[targets] = 1.0
    return inside


def _fitted(fit: LinearFit) -> Floats:
    """The probability of each column under the fitted shares, shape (C, k)."""
    miss, r = fit.tally.survey.mechanism.affine
    return np.asarray(miss + r * fit.system.forward(project(fit.unknowns)))


def _seen(fit: LinearFit) -> Floats:
    """The frequencies that planted reports replace."""
    return np.asarray(fit.tally.counts / fit.tally.n) if fit.blocks is not None else fit.law.columns


def _reports(fit: LinearFit) -> npt.NDArray[np.int64]:
    """The reports of each cohort of `fit.system`."""
    return fit.tally.reports[fit.tally.reports > 0] if fit.per_cohort else fit.tally.reports


def _ordinary(fit: LinearFit, inside: Floats, best: Floats) -> Floats:
    """How often each column is hit by reports of the symbols that look ordinary."""
    mechanism = fit.tally.survey.mechanism
    if not mechanism.two_valued or (mechanism.hits or 1) > 1:  # rows of weights have no cells; sets are full already
        return best
    own = fit.system.forward(inside)
    if mechanism.one_column:
        return np.asarray(own / own.sum(axis=1, keepdims=True))
    own, columns = np.minimum(own, 1.0), _fitted(fit)
    others = np.where(own > 0, 0.0, columns)
    wanted = np.maximum(columns.sum(axis=1) - own.sum(axis=1), 0.0)
    scale = wanted / np.maximum(others.sum(axis=1), 1e-300)
    return np.asarray(own + np.minimum(others * scale[:, None], 1.0))


def _gain(fit: LinearFit, weights: Floats, sent: Floats, placed: Floats, share: float) -> float:
    """What the sum of some unknowns gains if reports that hit columns so often are planted in so many places."""
    reports, seen = _reports(fit), _seen(fit)
    if fit.per_cohort:
        honest = (1 - share) * reports
        return float(((weights * (sent - seen)).sum(axis=1) * placed / (honest + placed)).sum())
    rises = len(reports) * (weights * sent).sum(axis=1) * placed / float(reports.sum())
    return float(rises.sum() - share * (weights * seen).sum())


def _noticed(fit: LinearFit, sent: Floats, placed: Floats, share: float) -> float:
    """The probability that at least one check raises an alarm, taken as independent."""
    system, mechanism, blocks = fit.system, fit.tally.survey.mechanism, fit.blocks
    honest = np.full(len(sent), (1 - share) * fit.tally.n / len(sent))
    sizes = honest + placed
    counts = honest[:, None] * _fitted(fit) + placed[:, None] * sent
    silent = 1.0
    for test in (
        pearson(system, mechanism, counts, sizes, fit.unknowns, fit.effect),
        cohort_sizes(sizes, 1 + fit.repeated.others),
    ):
        silent *= 1.0 if test is None else 1 - test[1].power(test[0])
    miss, r = mechanism.affine
    u = (counts / sizes[:, None] - miss) / r
    raw = blocks.invert(u) if blocks is not None else normal_solve(system, system.adjoint(u)[None])[0]
    if (law := FloorLaw.of(fit, raw)) is not None:
        silent *= 1 - law.power(raw)
    return 1 - silent


def influence(fit: LinearFit, share: float) -> tuple[float, int | None]:
    """The largest rise of one symbol when `share` of the reports are planted for it, and which one, if any."""
    tally, mechanism, blocks = fit.tally, fit.tally.survey.mechanism, fit.blocks
    _, r = mechanism.affine
    if blocks is not None:
        columns = tally.counts / tally.n
        c = blocks.shared / blocks.occupied
        mean = blocks.adjoint(columns) - c * (blocks.block_sums(columns) if c else 0.0)
        rises = share * (1 - c - mean) / (r * blocks.distance)
        return float(rises.max()), int(rises.argmax())
    system, law = fit.system, fit.law
    size = fit.size
    if not size:
        return 0.0, None
    order = np.argsort(-fit.raw, kind="stable")
    some = order[: max(1, _MOST_STEPS // (system.cohorts * (system.hashes * size + system.cells)))]
    best, where = 0.0, int(order[0])
    step = max(1, (1 << 24) // (system.cohorts * system.cells))
    for start in range(0, len(some), step):
        part = some[start : start + step]
        units = np.zeros((len(part), system.symbols))
        units[np.arange(len(units)), part] = 1.0
        rows = system.factor.solve(units.T).T if fit.is_kept else normal_solve(system, units)
        weights = np.stack([system.forward(row) for row in rows]) / r
        mean = (weights * law.columns).sum(axis=2)
        top = weights.max(axis=2) if mechanism.one_column else np.maximum(weights, 0.0).sum(axis=2)
        if fit.per_cohort:
            reports, gains = tally.reports[law.kept], np.maximum(top - mean, 0.0)
            planted = optimal_places(gains, reports, share)
            rises = (gains * planted / ((1 - share) * reports + planted)).sum(axis=1)
        else:
            rises = share * (system.cohorts * top.max(axis=1) - mean.sum(axis=1))
        if float(rises.max()) > best:
            best, where = float(rises.max()), int(part[rises.argmax()])
    return best, where


def optimal_places(gains: Floats, reports: npt.NDArray[np.int64], share: float) -> Floats:
    """The t >= 0 with sum t = share * n and the largest sum_c gain_c t_c / (h_c + t_c), h being the honest reports.

    A cohort's counts are divided by its reports, so returns diminish. At the optimum the marginal gain mu is the same
    in all cohorts with planted reports: t_c = sqrt(h_c gain_c / mu) - h_c. It is found by bisection of log mu.
    """
    honest = (1 - share) * reports
    gain = np.maximum(gains, 0.0)
    high = np.maximum((gain / honest).max(axis=1), 1e-100)
    low = 1e-12 * high
    for _ in range(60):
        mu = np.sqrt(low * high)
        planted = np.maximum(np.sqrt(honest * gain / mu[:, None]) - honest, 0.0)
        over = planted.sum(axis=1) > share * reports.sum()
        low, high = np.where(over, mu, low), np.where(over, high, mu)
    return np.asarray(np.maximum(np.sqrt(honest * gain / high[:, None]) - honest, 0.0))
