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
from deniable.matrices import StreamedDesign
from deniable.survey import Prefixes
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]

_JOINT = 512  # beginnings that are estimated jointly, at most: their collisions are noise to all others
_BY_CHANCE = 1.0  # beginnings of share zero that may be among them, about
_ROUNDS = 4  # times that all sums are formed, at most: what was taken out hides no others any more


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
    if not survey.repeats_noise or not tally.windows:
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

    Each has the sum of the unbiased counts in its cells, less what others have there on average. Those that are surely
    there are then estimated jointly, and taken out before the sums are formed once more. Only those: of 200,000
    beginnings some hundred share many cells with a heavy one by chance, and would take half of its share.

    >>> import deniable as dn
    >>> survey = dn.discovery(epsilon=6, length=2, levels=[(2, 32)], seed=bytes(16))
    >>> tally = dn.simulate(survey, [0.7, 0.3], 10**5, np.random.default_rng(0), symbols=["ab", "cd"])
    >>> beginning_shares(tally, [b"ab\\xff", b"cd\\xff", b"ab"]).values.round(1) + 0.0
    array([0.7, 0.3, 0. ])
    """
    from scipy.special import ndtri

    design, u = level_design(tally, beginnings), unbias(tally)
    weights = tally.reports / tally.n  # a cohort without reports has none
    cells, scale = design.cells, 1 - 1 / design.cells

    def scored(rest: Floats, part: int) -> tuple[Floats, float]:
        told = None if progress is None else lambda done, of: progress(done + part * of, _ROUNDS * of)
        table = rest * weights[:, None]
        centred = table - table.mean(axis=1, keepdims=True)
        error = float(np.sqrt((centred**2).mean(axis=1).sum()))
        return design.scores(table[None], told)[0] / scale, max(error / scale, 1e-300)

    equations = int((tally.reports > 0).sum()) * (cells - 1) + 1
    most, reach = min(_JOINT, equations // 4), -float(ndtri(min(_BY_CHANCE / len(beginnings), 0.01)))
    values, error = scored(u - 1 / cells, 0)
    joint = np.zeros(0, np.intp)
    for part in range(1, _ROUNDS):
        new = np.setdiff1d(np.flatnonzero(values > reach * error), joint)
        new = new[np.argsort(-values[new], kind="stable")][: most - len(joint)]
        if not len(new):
            break
        joint = np.sort(np.concatenate([joint, new]))
        system = design.part(joint)
        found = LeastSquares().solve([tally], system)[0].raw
        values, error = scored(u - system.forward(found), part)
        values[joint] = found[:-1]
    return BeginningShares(values, error)
