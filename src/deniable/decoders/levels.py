"""One level of a survey that discovers text: its tally, and estimates of very many beginnings at it.

A level is a survey by itself (`Prefixes.only`): its people are no other level's, and its hash functions are independent
of theirs. Not to be confused with `screening`, which tests candidates: estimates here only decide which beginnings are
worth extending, so they are fast and have no error control.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import numpy.typing as npt

from deniable.columns import words_of_levels
from deniable.decoders.base import unbias
from deniable.decoders.least_squares import LeastSquares
from deniable.design import StreamedDesign
from deniable.survey import Prefixes
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]

_JOINT = 512  # beginnings that are estimated jointly, at most: their collisions are noise to all others
_FROM = 3.0  # standard errors above zero from which a beginning may be among them


def level_tally(tally: Tally, level: int) -> Tally:
    """The reports of one level, as a tally of that level's own survey.

    >>> import deniable as dn
    >>> survey = dn.discovery(epsilon=1, length=3, levels=[(2, 1), (3, 2)], cells=2, seed=bytes(16))
    >>> level_tally(dn.Tally(survey, [[1, 2], [3, 4], [5, 6]]), 1).counts.tolist()
    [[3, 4], [5, 6]]
    """
    encoding = cast(Prefixes, tally.survey.encoding)
    start, (_, count) = encoding.starts[level], encoding.levels[level]
    part = slice(start, start + count)
    survey = replace(tally.survey, encoding=encoding.only(level))
    found = Tally(survey, tally.counts[part], tally.reports[part])
    if survey.participation == "once" or not tally.windows:
        return found
    # Windows have their shares of the level's reports, as far as anyone can tell.
    ends = np.rint(np.cumsum(tally.windows) * (found.n / tally.n)).astype(int)
    sizes = [int(size) for size in np.diff(ends, prepend=0) if size]
    return Tally(survey, found.counts, found.reports, windows=sizes)


def level_design(tally: Tally, beginnings: Sequence[bytes]) -> StreamedDesign:
    """The matrix H of beginnings at the one level of a tally."""
    encoding = cast(Prefixes, tally.survey.encoding)
    return StreamedDesign(encoding, words_of_levels(encoding, beginnings))


@dataclass(frozen=True, slots=True)
class BeginningShares:
    """Estimates of the shares of beginnings, which have one standard error."""

    values: Floats
    error: float


def beginning_shares(tally: Tally, beginnings: Sequence[bytes], progress: Progress | None = None) -> BeginningShares:
    """Estimate the shares of very many beginnings at one level.

    Each has the sum of the unbiased counts in its cells, less what others have there on average. The largest are then
    estimated jointly, and taken out before the sums are formed once more.

    >>> import deniable as dn
    >>> survey = dn.discovery(epsilon=6, length=2, levels=[(2, 32)], seed=bytes(16))
    >>> tally = dn.simulate(survey, [0.7, 0.3], 10**5, np.random.default_rng(0), symbols=["ab", "cd"])
    >>> beginning_shares(tally, [b"ab\\xff", b"cd\\xff", b"ab"]).values.round(1) + 0.0
    array([0.7, 0.3, 0. ])
    """
    design, u = level_design(tally, beginnings), unbias(tally)
    weights = tally.reports / tally.n  # a cohort without reports has none
    cells, scale = design.cells, 1 - 1 / design.cells

    def scored(rest: Floats, part: int) -> tuple[Floats, float]:
        told = None if progress is None else lambda done, of: progress(done + part * of, 2 * of)
        table = rest * weights[:, None]
        centred = table - table.mean(axis=1, keepdims=True)
        error = float(np.sqrt((centred**2).mean(axis=1).sum()))
        return design.scores(table[None], told)[0] / scale, max(error / scale, 1e-300)

    values, error = scored(u - 1 / cells, 0)
    equations = int((tally.reports > 0).sum()) * (cells - 1) + 1
    most = min(_JOINT, equations // 4, len(values))
    largest = np.argpartition(-values, most - 1)[:most] if most else np.zeros(0, np.intp)
    largest = np.sort(largest[values[largest] > _FROM * error])
    if not len(largest):
        return BeginningShares(values, error)
    system = design.part(largest)
    joint = LeastSquares().solve([tally], system)[0].raw
    values, error = scored(u - system.forward(joint), 1)
    values[largest] = joint[:-1]
    return BeginningShares(values, error)
