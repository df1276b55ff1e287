"""What six symbols and twenty windows tell of how fast shares move, and what that leaves for bands.

Noise is normal and of other people in each window. A history of each speed is a random walk of every symbol, with steps
of so many standard errors of a window.
"""

from collections.abc import Iterator

import numpy as np

from deniable.tracking.averaging import Series, averaged
from deniable.tracking.sharing import Sharing
from deniable.tracking.state_space import Models
from studies.time_rows import Floats, Row, row

SYMBOLS, WINDOWS = 6, 20
SPEEDS = (0.0, 0.05, 0.1, 0.15, 0.22, 0.3, 0.45, 0.6)  # steps, in standard errors of one window
REACH = 1.959964
LEVEL = 0.05  # of the test


def limits(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """A row of each speed and measure."""
    still = [_history(0.0, rng) for _ in range(repeats)]
    for speed in SPEEDS:
        moved = [_history(speed, rng) for _ in range(repeats)]
        about, case = {"windows": WINDOWS}, f"{speed:g}"
        bands = [_inside(*_smoothed(seen), truth) for truth, seen in moved]
        yield row("limits", case, "bands", bands, **about)
        known = [_with_known(speed, seen) for _, seen in moved]
        covered = [_inside(mean, variance, truth) for (truth, _), (mean, variance, _) in zip(moved, known, strict=True)]
        yield row("limits", case, "bands of one who knows the speed", covered, **about)
        width = float(np.sqrt(known[0][1]).mean() / np.sqrt(_with_known(0.0, still[0][1])[1]).mean())
        yield row("limits", case, "their width, in that of still shares", [width], **about)
        same = [_with_known(speed, seen) for _, seen in still]
        covered = [_inside(mean, variance, truth) for (truth, _), (mean, variance, _) in zip(still, same, strict=True)]
        yield row("limits", case, "what they cover if nothing moves", covered, **about)
        bound = float(np.quantile([ratio for _, _, ratio in same], 1 - LEVEL))
        seen_to_move = [ratio > bound for _, _, ratio in known]
        if speed:
            yield row("limits", case, "seen to move", seen_to_move, **about)


def _history(speed: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Shares and their noisy estimates, (S, T) each, in standard errors of a window."""
    truth = np.cumsum(rng.normal(0.0, 1.0, (SYMBOLS, WINDOWS)) * speed, axis=1)
    return truth, truth + rng.normal(size=truth.shape)


def _series(seen: Floats) -> Series:
    return Series(seen, np.ones_like(seen), np.zeros(SYMBOLS), np.full(WINDOWS, True))


def _smoothed(seen: Floats) -> tuple[Floats, Floats]:
    """What `dn.track` makes of it."""
    found = averaged(_series(seen), Sharing.none(WINDOWS))
    return found.smoothed, found.smoothed_variance


def _with_known(speed: float, seen: Floats) -> tuple[Floats, Floats, float]:
    """The smoother of a walk of this speed; and the log-likelihood ratio of it to shares that stand still."""
    found = _series(seen).run(Models.walks(np.array([0.0, speed**2])), Sharing.none(WINDOWS))
    ratio = float((found.evidence[:, 1] - found.evidence[:, 0]).sum())
    return found.smoothed[:, 1], np.broadcast_to(found.smoothed_variance[:, 1], seen.shape), ratio


def _inside(mean: Floats, variance: Floats, truth: Floats) -> float:
    return float((np.abs(mean - truth) <= REACH * np.sqrt(variance)).mean())
