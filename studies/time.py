"""Windows over time, measured: what bands cover, what tracking gains, how often it raises a false alarm.

`python -m studies.time [--quick]` writes docs/results/time.csv; `python -m studies.time_page` makes the page of it.
"""

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.tracking.averaging import Series
from deniable.tracking.state_space import Models

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]

FILE = Path(__file__).parents[1] / "docs" / "results" / "time.csv"
COLUMNS = ("table", "case", "turnover", "change", "windows", "measure", "value", "error")
SEED = bytes(16)
SHARES = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
LIVES = ((0.0, 0.0), (0.05, 0.05), (0.5, 0.1))  # turnover, and answers that change


def surveys(kind: str) -> dict[str, dn.Survey]:
    """Five mechanisms, whose reports are randomised once or twice."""
    twice = {"epsilon_report": 1.0} if kind == "two stages" else {}
    common: dict[str, Any] = {"epsilon": 2.0, **twice}
    return {
        "k-RR": dn.krr(6, **common),
        "OUE": dn.oue(6, **common),
        "subset selection": dn.subset(6, **common),
        "O-RR 4x16": dn.orr(symbols=6, cells=4, cohorts=16, seed=SEED, **common),
        "Hadamard": dn.hadamard(6, **common),
    }


def row(table: str, case: str, measure: str, values: object, **more: object) -> Row:
    found = np.asarray(values, np.float64).ravel()
    error = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0
    return dict.fromkeys(COLUMNS, "") | {
        "table": table, "case": case, "measure": measure,
        "value": f"{found.mean():.6g}", "error": f"{error:.3g}", **more,
    }  # fmt: skip


def covered(intervals: Floats, truth: Floats) -> float:
    return float(((intervals[..., 0] <= truth) & (truth <= intervals[..., 1])).mean())


def coverage(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """Whether 95 % intervals hold the truth, at every window; a repeat is one number, because windows share noise."""
    windows, n = 20, 2000
    truth = np.tile(SHARES, (windows, 1))
    for kind in ("fresh", "memoised", "two stages"):
        for name, survey in surveys(kind).items():
            for turnover, change in LIVES if kind != "fresh" else ((1.0, 0.0),):
                found: dict[str, list[float]] = {}
                each = []
                for _ in range(repeats):
                    tallies = dn.lab.panel(survey, truth, n, rng, turnover=turnover, change=change)
                    how = "once" if kind == "fresh" else "window"
                    tracked = dn.track(tallies, turnover=turnover, participation=how)
                    smooth = np.stack([window.intervals() for window in tracked])
                    each.append(((smooth[..., 0] <= truth) & (truth <= smooth[..., 1])).mean(axis=1))
                    told = {
                        "bands": covered(smooth, truth),
                        "as of": covered(np.stack([tracked.as_of(t).intervals() for t in range(windows)]), truth),
                        "difference": covered(tracked.difference(-1, 4).intervals(), np.zeros(6)),
                        "average": covered(tracked.average().intervals(), SHARES),
                        "no change": float(not tracked.changes()),
                    }
                    for measure, value in told.items():
                        found.setdefault(measure, []).append(value)
                case = f"{kind}: {name}"
                for measure, values in found.items():
                    yield row("coverage", case, measure, values, turnover=turnover, change=change, windows=windows)
                worst = np.mean(each, axis=0).min()
                yield row("coverage", case, "worst window", worst, turnover=turnover, change=change, windows=windows)


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
    """Mean squared error of tracked shares, in that of each window decoded alone; and what plain filters have."""
    survey, size, n = dn.krr(16, epsilon=2.0), 16, 3000
    for windows in (20, 100, 400):
        for kind in ("still", "random walk", "drift", "jump", "season"):
            found: dict[str, list[float]] = {}
            for _ in range(repeats):
                even = dn.simulate(survey, dn.lab.uniform(size), n, rng)
                noise = float(dn.decode(even, constraint=dn.Projected()).standard_errors.mean())
                truth = movements(kind, windows, size, noise, rng)
                tallies = [dn.simulate(survey, p, n, rng) for p in truth]
                alone = np.stack([dn.decode(tally).probabilities for tally in tallies])
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


def alarms(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """False alarms where nothing changes, and how many windows pass before a jump is noticed."""
    windows, n, asked = 30, 2000, 200.0
    truth = np.tile(SHARES, (windows, 1))
    survey = dn.krr(6, epsilon=2.0)
    for case, turnover, how in (("fresh", 1.0, "once"), ("memoised", 0.1, "window"), ("memoised", 0.0, "window")):
        named, raised = [], []
        for _ in range(repeats):
            tallies = dn.lab.panel(survey, truth, n, rng, turnover=turnover)
            tracked = dn.track(tallies, turnover=turnover, participation=how)
            named.append(float(bool(tracked.changes(0.95))))
            raised.append(len(tracked.alarms(asked)) / (windows - 1))
        yield row("alarms", case, "histories with a false change, 5 % asked for", named, turnover=turnover)
        yield row("alarms", case, f"false alarms a window, {1 / asked:g} asked for", raised, turnover=turnover)
    error = float(dn.decode(dn.simulate(survey, SHARES, n, rng), constraint=dn.Projected()).standard_errors[1])
    for size in (1.0, 2.0, 5.0):
        after = SHARES.copy()
        after[1] += size * error
        after[0] -= size * error
        path = np.vstack([truth[:10], np.tile(after, (windows - 10, 1))])
        for case, turnover, how in (("fresh", 1.0, "once"), ("memoised", 0.1, "window")):
            delays = []
            for _ in range(max(repeats // 10, 5)):
                tallies = dn.lab.panel(survey, path, n, rng, turnover=turnover)
                tracked = dn.track(tallies, turnover=turnover, participation=how)
                seen = [int(str(window)) for symbol, window in tracked.alarms(1000.0) if symbol in (0, 1)]
                late = [window for window in seen if window >= 10]
                delays.append(late[0] - 9 if late else windows - 10)
            yield row("delay", case, f"windows until a jump of {size:g} standard errors", delays, turnover=turnover)


def loloha(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """The published setting of LOLOHA: 10,000 devices, 120 windows, 360 answers, a quarter drawn anew each time."""
    windows, n, size = 120, 10_000, 360
    truth = np.full((windows, size), 1 / size)
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0):
        for part in (0.4, 0.5, 0.6):
            first = round(part * epsilon, 6)
            cells = max(2, round(float(np.exp(first))) + 1)
            survey = dn.orr(symbols=size, epsilon=epsilon, epsilon_report=first, cells=cells, cohorts=512, seed=SEED)
            ours, alone = [], []
            for _ in range(repeats):
                tallies = dn.lab.panel(survey, truth, n, rng, change=0.25)
                tracked = dn.track(tallies, turnover=0.0, participation="window")
                ours.append(float(((np.stack([w.probabilities for w in tracked]) - truth) ** 2).mean()))
                # A window alone, unbiased, as LOLOHA decodes it, but with the exact chain of the two stages: the
                # published one spends less than it was asked to, and so errs more.
                alone.append(float(((tracked.series.values.T - truth) ** 2).mean()))
            case = f"epsilon {epsilon:g}, first report {part:g} of it"
            yield row("loloha", case, "mean squared error, tracked", ours)
            yield row("loloha", case, "mean squared error, each window alone, unbiased", alone)


TABLES = {"coverage": (coverage, 10), "gain": (gains, 2), "alarms": (alarms, 60), "loloha": (loloha, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--quick", action="store_true", help="a tenth of the repeats")
    options = parser.parse_args()
    kept: list[Row] = []
    if options.only and FILE.exists():
        with FILE.open(newline="") as file:
            kept = [one for one in csv.DictReader(file) if one["table"] not in _parts(options.only)]
    for name, (study, repeats) in TABLES.items():
        if options.only in (None, name):
            start = time.process_time()
            for one in study(max(repeats // 10, 2) if options.quick else repeats, np.random.default_rng(2026)):
                kept.append(one)
                print(*(one[column] for column in COLUMNS), sep="  ", flush=True)
            print(f"{name}: {time.process_time() - start:.0f} s of processor time", file=sys.stderr)
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
    return 0


def _parts(name: str) -> tuple[str, ...]:
    return (name, "delay") if name == "alarms" else (name,)


if __name__ == "__main__":
    sys.exit(main())
