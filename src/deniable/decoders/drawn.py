"""The exact null distribution of a candidate's score: the sum of one random cell from each row of a table.

The hash functions of a candidate of share zero are independent of all answers. So, given the tally, its cell in each
cohort is uniform on all k, and the sum of any table over its cells is a sum of independent draws with a known
distribution, whatever the table contains: the noise of reports, a heavy unlisted answer in one cell of each cohort, or
many light ones. No parameter is estimated and no normality assumed. That matters: sharing cells with a heavy answer in
10 of 40 cohorts of 32 cells is 8 standard deviations out, yet in one of a hundred tallies one of 30,000 candidates
does.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_BINS = 1 << 13  # bins of the distribution of a tested sum; each value is split between the two nearest
_LIMIT_BINS = 1 << 11  # bins of the distribution of a sum for which confidence limits are computed
_SMEARED = 2.0  # standard deviations of the error by this splitting, which tails include
_AT_ONCE = 1 << 22  # bins of rows that are transformed together: 32 MiB
_LEAST = 1e-12  # tail probability, at least: below it the Fourier transform has rounding errors
_MOST_ROWS = 1024  # rows beyond which sums are so smooth that the corrected Chernoff bound is precise enough
_TILTS = np.array([0.35, 0.5, 0.7, 1.0, 1.4])  # tilts of Chernoff's bound, in those of a normal distribution
_LADDER = 0.25 * 1.5 ** np.arange(16)  # tilts, times the standard deviation
_FAR_OUT = 2.0  # standard deviations below which a normal score is used as it is
_UNSURE = 1.2  # error of the log of the corrected bound; at most 1.0 was seen, for sums of few large values


def judged(table: Floats, statistic: float, draws: int, chance: float) -> tuple[float, float]:
    """(log p-value of a candidate's sum, the statistic whose p-value would be `chance`).

    The p-value is Chernoff's bound, min over t of E[exp(t sum)] exp(-t x), if that is below `chance`. Otherwise it is
    the bound over z sqrt(2 pi), by which it exceeds a normal tail (z is the normal quantile), if that decides the test
    by a margin. Otherwise it is the exact tail.

    Claim: a p-value is at most u with probability at most u, if the cells are random.
    Proof: tests/unit/decoders/test_drawn.py::test_p_values_are_never_too_small

    >>> table = np.zeros((40, 32))
    >>> table[:, 0] = 1.0  # an unlisted answer, in one cell of each cohort
    >>> [float(np.exp(judged(table, met, 1, 1e-6)[0]).round(8)) for met in (9.0, 10.0, 20.0)]
    [3.21e-06, 6.3e-07, 0.0]
    """
    from scipy.special import ndtri

    centred = table - table.mean(axis=1, keepdims=True)
    apart = statistic - draws * float(table.mean(axis=1).sum())
    deviation, z = float(np.sqrt(draws * (centred**2).mean(axis=1).sum())), -float(ndtri(chance))
    if deviation <= 1e-150 or apart <= 0:
        return 0.0, np.inf
    top, tilts = centred.max(axis=1, keepdims=True), _TILTS * z / deviation
    logs = np.array([_cumulant(centred, top, tilt) for tilt in tilts.tolist()]) * draws
    found = float((logs - tilts * apart).min())
    short = float(np.log(max(z * np.sqrt(2 * np.pi), 1.0)))
    needed = float(((logs - np.log(chance) - short) / tilts).min()) + statistic - apart
    above = found - short - float(np.log(chance))  # in so far as that is the tail
    if found > np.log(chance) and above < _UNSURE:
        sure = above < -_UNSURE or len(table) > _MOST_ROWS
        found = found - short + (_UNSURE if above < -_UNSURE else 0.0) if sure else log_tail(table, statistic, draws)
    return min(found, 0.0), needed


def log_tail(table: Floats, x: float, draws: int = 1) -> float:
    """log P(sum >= x), rounded up by what binning may have put below x.

    Claim: the binomial law where a table has one cell of mass one in each row.
    Proof: tests/unit/decoders/test_drawn.py::test_meetings_with_one_answer_are_binomial
    """
    centred = table - table.mean(axis=1, keepdims=True)
    masses, start, step, slack = _convolved(centred[None], draws, _BINS)
    apart = x - draws * float(table.mean(axis=1).sum()) - slack[0]
    first = int(np.clip(np.ceil((apart - start[0]) / step[0]), 0, _BINS))
    return float(np.log(max(float(masses[0, first:].sum()), _LEAST)))


def drawn_z(table: Floats, sums: Floats, draws: int = 1) -> Floats:
    """Normal scores of sums: the z with P(N(0, 1) > z) equal to the tail of each sum.

    By the corrected Chernoff bound: fast, and precise enough to choose candidates, but not for tests.

    >>> table = np.zeros((40, 32))
    >>> table[:, 0] = 1.0
    >>> drawn_z(table, np.array([2.0, 9.0])).round(1)  # 0.7 and 7.0 standard deviations
    array([0.7, 4.5])
    """
    from scipy.special import ndtri_exp

    centred = table - table.mean(axis=1, keepdims=True)
    deviation = max(float(np.sqrt(draws * (centred**2).mean(axis=1).sum())), 1e-150)
    apart = sums - draws * float(table.mean(axis=1).sum())
    z = apart / deviation
    some = np.flatnonzero(z > _FAR_OUT)
    if not len(some):
        return z
    top, bound = centred.max(axis=1, keepdims=True), np.zeros(len(some))
    for tilt in (_LADDER / deviation).tolist():
        np.minimum(bound, draws * _cumulant(centred, top, tilt) - tilt * apart[some], out=bound)
    short = np.log(np.maximum(np.sqrt(-4 * np.pi * bound), 2.0))
    z[some] = np.maximum(-ndtri_exp(bound - short), _FAR_OUT)
    return z


def _cumulant(centred: Floats, top: Floats, tilt: float) -> float:
    """log E[exp(tilt sum)] for one random cell per row; `top` is the largest value of each row."""
    return float((np.log(np.exp(tilt * (centred - top)).mean(axis=1)) + tilt * top[:, 0]).sum())


@dataclass(frozen=True)
class DrawnReach:
    """Quantiles of such sums of several tables, as distances from their means.

    >>> table = np.zeros((1, 3, 30))
    >>> table[0, :, 0] = 1.0
    >>> [float(DrawnReach.of(table).reach(np.array([t]))[0][0].round(1)) for t in (0.2, 0.05, 0.002)]  # less 3 / 30
    [-0.1, 0.9, 1.9]
    """

    up: Floats  # P(sum >= grid), shape (tables, bins), falling
    down: Floats  # P(sum <= grid), rising
    starts: Floats
    steps: Floats
    slacks: Floats

    @classmethod
    def of(cls, tables: Floats, draws: int = 1) -> "DrawnReach":
        parts, some = [], max(1, _AT_ONCE // (_LIMIT_BINS * tables.shape[1]))
        for start in range(0, len(tables), some):
            here = tables[start : start + some]
            parts.append(_convolved(here - here.mean(axis=2, keepdims=True), draws, _LIMIT_BINS))
        masses, starts, steps, slacks = (np.concatenate(each) for each in zip(*parts, strict=True))
        up, down = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1], np.cumsum(masses, axis=1)
        return cls(up, down, starts, steps, slacks)

    def part(self, some: npt.NDArray[np.intp]) -> "DrawnReach":
        return DrawnReach(*(each[some] for each in (self.up, self.down, self.starts, self.steps, self.slacks)))

    def reach(self, tail: Floats) -> tuple[Floats, Floats]:
        """Distances above and below its mean that a sum exceeds with probability at most `tail`, one per table."""
        least = np.maximum(tail, _LEAST)[:, None]
        above = (self.up > least).sum(axis=1) - 1  # the last bin that is exceeded too often
        below = self.down.shape[1] - (self.down > least).sum(axis=1)
        up = self.starts + self.steps * above + self.slacks
        return up, self.slacks - self.starts - self.steps * below


def _convolved(centred: Floats, draws: int, bins: int) -> tuple[Floats, Floats, Floats, Floats]:
    """(masses, first sum, step, slack) of the sums of each table, by the product of their rows' Fourier transforms.

    The slack bounds the error of a sum by binning.
    """
    count, rows, cells = centred.shape
    deviation = np.sqrt(np.maximum(draws * (centred**2).mean(axis=2).sum(axis=1), 1e-300))
    low = np.maximum(centred.min(axis=2).sum(axis=1) * draws, -_width(-centred, draws, deviation))
    high = np.minimum(centred.max(axis=2).sum(axis=1) * draws, _width(centred, draws, deviation))
    # Sums beyond the window have probability 1e-14 and wrap around: half of the bins are left free for them.
    step = np.maximum((high - low) / (bins // 2), 1e-30)
    places = centred / step[:, None, None]
    below = np.floor(places)
    part = places - below
    offsets = bins * np.arange(count * rows).reshape(count, rows, 1)
    at = [(offsets + (below + more).astype(np.intp) % bins).ravel() for more in (0, 1)]
    flat = np.bincount(at[0], (1 - part).ravel() / cells, count * rows * bins)
    flat += np.bincount(at[1], part.ravel() / cells, count * rows * bins)
    transform = np.fft.rfft(flat.reshape(count, rows, bins)).prod(axis=1)
    masses = np.maximum(np.fft.irfft(transform**draws, bins), 0.0)
    first = np.floor(low / step).astype(np.intp) - bins // 4
    turned = (np.arange(bins) + first[:, None]) % bins
    smear = np.sqrt(draws * (part * (1 - part)).max(axis=2).sum(axis=1))
    slack = step * np.minimum(_SMEARED * smear + 1, float(draws * rows))
    return np.take_along_axis(masses, turned, axis=1), step * first, step, slack


def _width(centred: Floats, draws: int, deviation: Floats) -> Floats:
    """A sum that is exceeded with probability below 1e-14, by Chernoff's bound, for each table."""
    least, top = np.full(len(centred), np.inf), centred.max(axis=2, keepdims=True)
    for times in (1.0, 2.0, 4.0, 8.0, 16.0):
        tilt = times / deviation
        means = np.exp(tilt[:, None, None] * (centred - top)).mean(axis=2)
        logs = draws * (np.log(means) + tilt[:, None] * top[:, :, 0]).sum(axis=1)
        least = np.minimum(least, (logs + 14 * np.log(10.0)) / tilt)
    return least
