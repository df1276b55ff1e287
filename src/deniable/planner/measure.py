"""Simulation to finish: the planned survey, simulated and decoded as it will be, a number of times that S decides."""

from collections.abc import Callable

import numpy as np

from deniable.decoders import decode_all
from deniable.decoders.empirical_bayes import FEW
from deniable.lab.streams import stream_of
from deniable.mechanisms import Subset
from deniable.planner.proxy import METRICS, Losses, losses_of
from deniable.planner.shapes import Shape
from deniable.simulation import simulate
from deniable.survey import Projective, Survey, Symbol

__all__ = ["measured", "repeats_for"]

# Milliseconds of one measurement, roughly; a count and not a clock, so that answers repeat. Large alphabets average by
# themselves, and take longer to search.
_BUDGET, _LARGE_BUDGET, _LARGE = 500.0, 350.0, 512
_REPEATS = (2, 3000)
_TOO_LONG = 2500.0  # milliseconds of one repeat past which the prediction has to do
_BATCH = 50


def repeats_for(survey: Survey, size: int) -> int:
    """How many simulated surveys are worth their time; none where one alone takes too long.

    >>> import deniable as dn
    >>> repeats_for(dn.krr(symbols=8, epsilon=1), 8), repeats_for(dn.subset(symbols=4096, epsilon=1), 4096)
    (1937, 2)
    """
    if isinstance(survey.mechanism, Subset):
        each = size * (0.042 + 6.5e-5 * survey.mechanism.size)
    elif survey.encoding.shared is not None:
        each = 0.25 + 1e-3 * size
        if isinstance(design := survey.encoding, Projective):  # a transform over all vectors, or lists of cells
            each += 5e-4 * min(design.order**design.dimension, size * design.hashes / 20)
    else:
        # Tables of cells, counters, and the fingerprints of an open survey's candidates.
        each = 1.0 + 2e-5 * size * survey.cohorts * survey.hashes + 2e-4 * survey.cohorts * survey.columns + 4e-3 * size
    if size > FEW:  # the prior is learned anew for each
        each += 15 + 0.03 * min(size, 3000)
        if survey.encoding.shared is None:  # in several rounds
            each += 60 + 4e-4 * size * survey.cohorts
    low, high = _REPEATS
    return 0 if each > _TOO_LONG else int(min(max((_LARGE_BUDGET if size > _LARGE else _BUDGET) / each, low), high))


def measured(
    survey: Survey,
    shape: Shape,
    n: int,
    repeats: int,
    *,
    place: tuple[object, ...],
    candidates: tuple[Symbol, ...] | None,
    tick: Callable[[float], None] = lambda share: None,
) -> tuple[Losses, str]:
    """The losses of simulated surveys under the default decoder, and that decoder's name."""
    rng = stream_of(*place)  # type: ignore[arg-type]
    rows = [np.empty((len(METRICS), 0))]
    name = "default"
    batch = min(_BATCH, max(1, repeats // 3))  # a bar moves between batches
    for start in range(0, repeats, batch):
        tick(start / repeats)
        count = min(batch, repeats - start)
        tallies = [simulate(survey, shape.p, n, rng, symbols=candidates) for _ in range(count)]
        estimates = decode_all(tallies, candidates=candidates)
        name = f"{type(estimates[0].decoder).__name__}, {type(estimates[0].constraint).__name__}"
        rows.append(losses_of(np.stack([e.probabilities for e in estimates]), shape.p))
    return Losses(np.concatenate(rows, axis=1)), name
