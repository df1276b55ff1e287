"""False alarms where nothing changes, and how many windows pass before a jump is noticed."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import deniable as dn
from studies.time_coverage import WINDOWS as COVERED
from studies.time_rows import JOBS, SHARES, Floats, Row, row, surveys

WINDOWS, DEVICES, ASKED = 30, 2000, 200.0
Life = tuple[str, float, str, float]
# Devices, their turnover, how they take part, and how many draw their answer anew in each window.
LIVES: tuple[Life, ...] = (
    ("fresh", 1.0, "once", 0.0),
    *(("memoised", turnover, "window", change) for turnover in (0.1, 0.0) for change in (0.0, 0.1)),
)
TOGETHER = 20  # histories of a task
# A mechanism, devices, their turnover, and how many change: the rows of coverage in which a change was named most
# often, and devices of which few make all the difference.
TOLD: tuple[tuple[str, int, float, float], ...] = (
    ("O-RR 4x16", 2000, 0.0, 0.05),
    ("Hadamard", 2000, 0.0, 0.05),
    ("Hadamard", 2000, 0.05, 0.1),
    ("k-RR", 300, 0.0, 0.02),
    ("OUE", 300, 0.01, 0.01),
)


def tracked_of(life: Life, path: Floats, rng: np.random.Generator) -> dn.Tracked:
    """One history, tracked with its turnover; how many answers change is not known."""
    _, turnover, how, change = life
    survey = dn.krr(6, epsilon=2.0, participation=how)
    return dn.track(dn.lab.panel(survey, path, DEVICES, rng, turnover=turnover, change=change), turnover=turnover)


def alarms(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """Histories in which nothing changes, in several processes; what is drawn does not depend on their number."""
    tasks = [(life, int(rng.integers(0, 1 << 32))) for life in LIVES for _ in range(0, repeats, TOGETHER)]
    found: dict[Life, list[tuple[float, float]]] = {}
    with ProcessPoolExecutor(JOBS) as pool:
        for (life, _), some in zip(tasks, pool.map(_nothing_changes, *zip(*tasks, strict=True)), strict=True):
            found.setdefault(life, []).extend(some)
    for life, pairs in found.items():
        (case, turnover, _, change), (named, raised) = life, np.array(pairs[:repeats]).T
        about = {"turnover": turnover, "change": change}
        yield row("alarms", case, "histories with a false change, 0.05 asked for", named, **about)
        yield row("alarms", case, f"false alarms a window, {1 / ASKED:g} asked for", raised, **about)


def _nothing_changes(life: Life, seed: int) -> list[tuple[float, float]]:
    rng, truth, found = np.random.default_rng(seed), np.tile(SHARES, (WINDOWS, 1)), []
    for _ in range(TOGETHER):
        tracked = tracked_of(life, truth, rng)
        found.append((float(bool(tracked.changes(0.95))), len(tracked.alarms(ASKED)) / (WINDOWS - 1)))
    return found


def rates(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """Histories in which nothing changes, of devices that memoise; turnover and change are given."""
    tasks = [(life, int(rng.integers(0, 1 << 32))) for life in TOLD for _ in range(0, repeats, TOGETHER)]
    found: dict[tuple[str, int, float, float], list[tuple[float, float]]] = {}
    with ProcessPoolExecutor(JOBS) as pool:
        for (life, _), some in zip(tasks, pool.map(_nothing_changes_told, *zip(*tasks, strict=True)), strict=True):
            found.setdefault(life, []).extend(some)
    for life, pairs in found.items():
        (name, devices, turnover, change), (named, raised) = life, np.array(pairs[:repeats]).T
        case, about = f"{name}, {devices:,} devices", {"turnover": turnover, "change": change}
        yield row("rates", case, "histories with a false change, 0.05 asked for", named, **about)
        yield row("rates", case, f"false alarms a window, {1 / ASKED:g} asked for", raised, **about)


def _nothing_changes_told(life: tuple[str, int, float, float], seed: int) -> list[tuple[float, float]]:
    name, devices, turnover, change = life
    survey, rng, found = surveys("memoised")[name], np.random.default_rng(seed), []
    truth = np.tile(SHARES, (COVERED, 1))
    for _ in range(TOGETHER):
        tallies = dn.lab.panel(survey, truth, devices, rng, turnover=turnover, change=change)
        tracked = dn.track(tallies, turnover=turnover, change=change)
        found.append((float(bool(tracked.changes(0.95))), len(tracked.alarms(ASKED)) / (COVERED - 1)))
    return found


def delays(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """Jumps after ten windows, of three sizes, in several processes."""
    tasks = [(size, life, int(rng.integers(0, 1 << 32)), repeats) for size in (1.0, 2.0, 5.0) for life in LIVES]
    with ProcessPoolExecutor(JOBS) as pool:
        for rows in pool.map(_jump, *zip(*tasks, strict=True)):
            yield from rows


def _jump(size: float, life: Life, seed: int, repeats: int) -> list[Row]:
    """A jump after ten windows: when an alarm is raised, whether it is named, and whether its size is covered."""
    miss, gap = dn.krr(6, epsilon=2.0).mechanism.affine
    chance = miss + gap * SHARES[1]
    error = float(np.sqrt(chance * (1 - chance) / DEVICES) / gap)  # of the share of one window
    after, rng = SHARES.copy(), np.random.default_rng(seed)
    after[:2] += (-size * error, size * error)
    path = np.vstack([np.tile(SHARES, (10, 1)), np.tile(after, (WINDOWS - 10, 1))])
    windows, found, covered = [], [], []
    for _ in range(repeats):
        tracked = tracked_of(life, path, rng)
        late = [int(str(window)) for symbol, window in tracked.alarms(1000.0) if symbol in (0, 1)]
        late = [window for window in late if window >= 10]
        windows.append(late[0] - 9 if late else WINDOWS - 10)
        near = [one for one in tracked.changes() if one.symbol == 1 and abs(int(str(one.window)) - 10) <= 2]
        found.append(float(bool(near)))
        covered += [float(one.interval[0] <= size * error <= one.interval[1]) for one in near[:1]]
    case, turnover, _, change = life
    told, about = f"a jump of {size:g} standard errors", {"turnover": turnover, "change": change}
    rows = [
        row("delay", case, f"{told}: windows until an alarm", windows, **about),
        row("delay", case, f"{told}: named in the history", found, **about),
    ]
    if len(covered) > repeats // 2:
        rows.append(row("delay", case, f"{told}: its size is covered", covered, **about))
    return rows
