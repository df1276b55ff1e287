"""What tracking gains: mean squared error against decoding each window alone, and against plain filters."""

from collections.abc import Iterator

import numpy as np

import deniable as dn
from deniable.tracking.averaging import Series
from deniable.tracking.state_space import Models
from studies.time_rows import Floats, Row, row

KINDS = ("still", "random walk", "drift", "jump", "season")


def movements(kind: str, windows: int, size: int, noise: float, rng: np.random.Generator) -> Floats:
    """Shares of each window, (T, S), that move by `noise`, the standard error of one window."""
    t = np.arange(windows)[:, None]
    start = dn.lab.zipf(size, 0.7)
    scale = np.minimum(noise, start / 4)  # nothing leaves [0, 1]
    if kind == "random walk":
        steps = np.cumsum(rng.normal(0, 0.15, (windows, size)), axis=0)
        path = start + scale * 4 * np.tanh(steps / 4)
    elif kind == "drift":
        path = start + scale * rng.choice([-3.0, 3.0], size) * t / windows
    elif kind == "jump":
        places = rng.integers(windows // 5, 4 * windows // 5, size)
        path = start + scale * rng.choice([-3.0, 0.0, 3.0], size) * (t >= places)
    elif kind == "season":
        path = start + 2 * scale * np.sin(2 * np.pi * (t / 30 + rng.random(size)))
    else:
        path = np.tile(start, (windows, 1))
    return np.asarray(path / path.sum(axis=1, keepdims=True))


def gains(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """Mean squared error of tracked shares, in that of each window decoded alone; what plain filters have; coverage."""
    survey, size, n = dn.krr(16, epsilon=2.0), 16, 3000
    even = dn.simulate(survey, dn.lab.uniform(size), 10**7, rng)
    noise = float(dn.decode(even, constraint=dn.Projected()).standard_errors.mean()) * np.sqrt(10**7 / n)
    for windows in (20, 100, 400):
        for kind in KINDS:
            found: dict[str, list[float]] = {}
            for _ in range(max(repeats * 20 // windows, 3)):
                truth = movements(kind, windows, size, float(noise), rng)
                tallies = [dn.simulate(survey, p, n, rng) for p in truth]
                alone = np.stack([one.probabilities for one in dn.decode_all(tallies)])
                tracked = dn.track(tallies)
                base = float(((alone - truth) ** 2).mean())
                told = {
                    "tracked": np.stack([window.probabilities for window in tracked]),
                    "tracked, as of": np.stack([tracked.as_of(t).probabilities for t in range(windows)]),
                    "plain Kalman smoother": plain(tracked.series, smooth=True).T,
                    "plain Kalman filter": plain(tracked.series, smooth=False).T,
                }
                for measure, shares in told.items():
                    found.setdefault(measure, []).append(float(((shares - truth) ** 2).mean()) / base)
                raw = tracked.series.values.T
                found.setdefault("best centred average", []).append(best_average(raw, truth, centred=True) / base)
                found.setdefault("best trailing average", []).append(best_average(raw, truth, centred=False) / base)
                moving = tracked.moving
                for measure, levels, variances in (
                    ("bands cover", moving.smoothed, moving.smoothed_variance),
                    ("bands as of cover", moving.filtered, moving.filtered_variance),
                ):
                    covered = np.abs(levels - truth.T) <= 1.959964 * np.sqrt(variances)
                    found.setdefault(measure, []).append(float(covered.mean()))
            for measure, values in found.items():
                yield row("gain", kind, measure, values, windows=windows)


def plain(series: Series, *, smooth: bool) -> Floats:
    """A random-walk Kalman filter for each symbol, its variance by maximum likelihood, shares projected."""
    walks = np.concatenate([[0.0], 10.0 ** np.arange(-5, 1.1, 0.25)])
    found = series.run(Models.walks(walks), np.zeros(series.values.shape[1]))
    best = found.evidence.argmax(axis=1)
    levels = (found.smoothed if smooth else found.filtered)[np.arange(len(best)), best] * series.unit
    return projected(levels.T).T


def projected(rows: Floats) -> Floats:
    from deniable.decoders.simplex import project_rows

    return np.asarray(project_rows(np.ascontiguousarray(rows)))


def best_average(raw: Floats, truth: Floats, *, centred: bool) -> float:
    """The mean squared error of the moving average whose width is best in hindsight, projected."""
    windows, best = len(raw), np.inf
    sums = np.vstack([np.zeros(raw.shape[1]), np.cumsum(raw, axis=0)])
    t = np.arange(windows)
    for width in sorted({round(1.3**power) for power in range(30) if 1.3**power <= windows} | {windows}):
        low = np.maximum(t - (width // 2 if centred else width - 1), 0)
        high = np.minimum(t + (width // 2 if centred else 0), windows - 1) + 1
        mean = (sums[high] - sums[low]) / (high - low)[:, None]
        best = min(best, float(((projected(mean) - truth) ** 2).mean()))
    return best
