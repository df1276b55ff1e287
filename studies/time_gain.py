"""What tracking gains: mean squared error against decoding each window alone, and against plain filters."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.tracking.averaging import Series
from deniable.tracking.sharing import Sharing
from deniable.tracking.state_space import Models
from studies.time_rows import JOBS, Floats, Row, row

SEEN = 20  # windows of each history that are compared: decoding them all takes most of the time
DAYS = 70  # of a history of weeks
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
    """Rows of every movement and length, in several processes; what is drawn does not depend on their number."""
    cells = [(kind, windows) for windows in (20, 100, 400) for kind in KINDS]
    seeds = rng.integers(0, 1 << 32, len(cells)).tolist()
    with ProcessPoolExecutor(JOBS) as pool:
        for rows in pool.map(_cell, cells, seeds, [repeats] * len(cells)):
            yield from rows


def _cell(cell: tuple[str, int], seed: int, repeats: int) -> list[Row]:
    """Mean squared error at twenty windows of each history, in that of these windows decoded alone; and coverage."""
    kind, windows = cell
    survey, size, n, rng = dn.krr(16, epsilon=2.0), 16, 3000, np.random.default_rng(seed)
    miss, gap = survey.mechanism.affine
    noise = float(np.sqrt((miss + gap / size) * (1 - miss - gap / size) / n)) / gap
    places, found = np.linspace(0, windows - 1, SEEN).astype(np.intp), dict[str, list[float]]()
    for _ in range(repeats):
        truth = movements(kind, windows, size, noise, rng)
        tallies = [dn.simulate(survey, p, n, rng) for p in truth]
        for measure, value in _measured(dn.track(tallies), tallies, truth, places).items():
            found.setdefault(measure, []).append(value)
    return [row("gain", kind, measure, values, windows=windows) for measure, values in found.items()]


def weeks(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """The same where nothing differs but weekends: by how much, and with all or a third of the reports on them."""
    cells = [(off, part) for part in (1.0, 1 / 3) for off in (0.0, 0.5, 1.0, 2.0, 4.0)]
    seeds = rng.integers(0, 1 << 32, len(cells)).tolist()
    with ProcessPoolExecutor(JOBS) as pool:
        for rows in pool.map(_week, cells, seeds, [repeats] * len(cells)):
            yield from rows


def _week(cell: tuple[float, float], seed: int, repeats: int) -> list[Row]:
    (off, part), survey, n, rng = cell, dn.krr(6, epsilon=2.0), 2000, np.random.default_rng(seed)
    start = dn.lab.zipf(6, 0.5)
    error = float(np.median(dn.decode(dn.simulate(survey, start, n, rng)).standard_errors))
    found = dict[str, list[float]]()
    for place in range(repeats):
        days = [date(2026, 9, 7) + timedelta(place % 7 + day) for day in range(DAYS)]
        free = np.array([day.weekday() >= 5 for day in days])
        truth = start + off * error * np.outer(free, [1, -1, 1, -1, 1, -1])
        reports = np.where(free, round(n * part), n).tolist()
        tallies = [dn.simulate(survey, p, size, rng) for p, size in zip(truth, reports, strict=True)]
        tracked = dn.track(tallies, windows=days)
        for measure, value in _measured(tracked, tallies, truth, np.arange(DAYS), free).items():
            found.setdefault(measure, []).append(value)
    name = f"{off:g}, {'all' if part == 1 else 'a third'} of the reports"
    return [row("week", name, measure, values, windows=DAYS) for measure, values in found.items()]


def _measured(
    tracked: dn.Tracked,
    tallies: list[dn.Tally],
    truth: Floats,
    places: npt.NDArray[np.intp],
    free: npt.NDArray[np.bool_] | None = None,
) -> dict[str, float]:
    """Mean squared errors at some windows of a history, in that of these windows decoded alone; and coverage."""
    some, found = truth[places], dict[str, float]()
    alone = np.stack([one.probabilities for one in dn.decode_all([tallies[place] for place in places])])
    base = float(((alone - some) ** 2).mean())
    told = {
        "tracked": np.stack([tracked[int(place)].probabilities for place in places]),
        "tracked, as of": np.stack([tracked.as_of(int(place)).probabilities for place in places]),
        "plain Kalman smoother": plain(tracked.series, smooth=True).T[places],
        "plain Kalman filter": plain(tracked.series, smooth=False).T[places],
    }
    for measure, shares in told.items():
        found[measure] = float(((shares - some) ** 2).mean()) / base
    raw, moving = tracked.series.values.T, tracked.moving
    for measure, centred in (("best centred average", True), ("best trailing average", False)):
        found[measure] = best_average(raw, truth, places, centred=centred) / base
    for measure, levels, variances in (
        ("bands cover", moving.smoothed, moving.smoothed_variance),
        ("bands as of cover", moving.filtered, moving.filtered_variance),
    ):
        covered = np.abs(levels - truth.T) <= 1.959964 * np.sqrt(variances)
        found[measure] = float(covered.mean())
        if free is not None:
            found[f"{measure}, weekends"] = float(covered[:, free].mean())
    return found


def plain(series: Series, *, smooth: bool) -> Floats:
    """A random-walk Kalman filter for each symbol, its variance by maximum likelihood, shares projected."""
    walks = np.concatenate([[0.0], 10.0 ** np.arange(-5, 1.1, 0.25)])
    found = series.run(Models.walks(walks), Sharing.none(series.values.shape[1]))
    best = found.evidence.argmax(axis=1)
    levels = (found.smoothed if smooth else found.filtered)[np.arange(len(best)), best] * series.unit
    return projected(levels.T).T


def projected(rows: Floats) -> Floats:
    from deniable.decoders.simplex import project_rows

    return np.asarray(project_rows(np.ascontiguousarray(rows)))


def best_average(raw: Floats, truth: Floats, places: npt.NDArray[np.intp], *, centred: bool) -> float:
    """The mean squared error of the moving average whose width is best in hindsight, projected."""
    windows, best = len(raw), np.inf
    sums = np.vstack([np.zeros(raw.shape[1]), np.cumsum(raw, axis=0)])
    t = np.arange(windows)
    for width in sorted({round(1.3**power) for power in range(30) if 1.3**power <= windows} | {windows}):
        low = np.maximum(t - (width // 2 if centred else width - 1), 0)
        high = np.minimum(t + (width // 2 if centred else 0), windows - 1) + 1
        mean = (sums[high] - sums[low]) / (high - low)[:, None]
        best = min(best, float(((projected(mean[places]) - truth[places]) ** 2).mean()))
    return best
