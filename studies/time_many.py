"""Few symbols and many, even shares and uneven ones: tracked windows against each window decoded alone."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import deniable as dn
from studies.time_rows import JOBS, Floats, Row, row

WINDOWS, PEOPLE, SEEN = 30, 10_000, 5  # SEEN windows of each history are compared
SYMBOLS = (6, 36, 360, 1000)
FEWER = {360: 3, 1000: 6}  # by how much fewer histories there are: each of them has many numbers
KINDS = ("still", "random walk", "jump")


def populations(size: int) -> dict[str, Floats]:
    return {
        "uniform": np.full(size, 1 / size),
        "Zipf": dn.lab.zipf(size, 1),
        "geometric": dn.lab.geometric(size, mean=size / 5),
    }


def moved(kind: str, start: Floats, noise: float, rng: np.random.Generator) -> Floats:
    """Shares of each window, (T, S), that move by about `noise`, the standard error of one window."""
    scale, t = np.minimum(noise, start / 4), np.arange(WINDOWS)[:, None]
    path = np.tile(start, (WINDOWS, 1))
    if kind == "random walk":
        path = start + scale * 4 * np.tanh(np.cumsum(rng.normal(0, 0.15, path.shape), axis=0) / 4)
    elif kind == "jump":
        path = path + scale * rng.choice([-3.0, 0.0, 3.0], len(start)) * (t >= WINDOWS // 2)
    return np.asarray(path / path.sum(axis=1, keepdims=True))


def many(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """Rows of every population, number of symbols and movement; what is drawn does not depend on the processes."""
    cells = [(size, name, kind) for size in SYMBOLS for name in populations(size) for kind in KINDS]
    seeds = rng.integers(0, 1 << 32, len(cells)).tolist()
    with ProcessPoolExecutor(JOBS) as pool:
        for rows in pool.map(_cell, cells, seeds, [repeats] * len(cells)):
            yield from rows


def _cell(cell: tuple[int, str, str], seed: int, repeats: int) -> list[Row]:
    """The ratio of mean squared errors over all histories, with its error; and what bands cover."""
    size, name, kind = cell
    survey, rng = dn.oue(size, epsilon=1.0), np.random.default_rng(seed)
    miss, gap = survey.mechanism.affine
    noise = float(np.sqrt(miss * (1 - miss) / PEOPLE)) / gap
    places = np.linspace(0, WINDOWS - 1, SEEN).astype(np.intp).tolist()
    errors, covered = [], []
    for _ in range(max(repeats // FEWER.get(size, 1), 2)):
        truth = moved(kind, populations(size)[name], noise, rng)
        tallies = [dn.simulate(survey, p, PEOPLE, rng) for p in truth]
        tracked = dn.track(tallies)
        alone = np.stack([one.probabilities for one in dn.decode_all([tallies[place] for place in places])])
        ours = np.stack([tracked[place].probabilities for place in places])
        asof = np.stack([tracked.as_of(place).probabilities for place in places])
        errors.append([((found - truth[places]) ** 2).mean() for found in (alone, ours, asof)])
        reach = 1.959964 * np.sqrt(tracked.moving.smoothed_variance)
        covered.append(float((np.abs(tracked.moving.smoothed - truth.T) <= reach).mean()))
    base, *others = np.array(errors).T
    shape, case = {"windows": WINDOWS}, f"{name}, {size}, {kind}"
    rows = []
    for measure, found in zip(("tracked", "tracked, as of"), others, strict=True):
        ratio = found.sum() / base.sum()
        rows.append(row("many", case, measure, ratio + (found - ratio * base) / base.mean(), **shape))
    return [*rows, row("many", case, "bands cover", covered, **shape)]
