"""Whether 95 % intervals of windows hold the truth, for devices that live, change their answers and are replaced."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

import deniable as dn
from studies.time_rows import JOBS, SHARES, Floats, Row, row, surveys

WINDOWS, DEVICES = 20, 2000
LIVES = tuple((turnover, change) for turnover in (0.0, 0.05, 0.5) for change in (0.0, 0.05, 0.1))
PLAIN = dn.Projected()  # error bars belong to the unbiased estimate, whatever stands beside it
REACH = 1.959964  # standard errors of a 95 % interval


def inside(intervals: Floats, truth: Floats) -> float:
    return float(((intervals[..., 0] <= truth) & (truth <= intervals[..., 1])).mean())


def within(values: Floats, variances: Floats) -> npt.NDArray[np.float64]:
    """The part of the symbols that are covered, for each window: what `TrackedWindow.intervals` gives, all at once."""
    return np.asarray((np.abs(values - SHARES[:, None]) <= REACH * np.sqrt(variances)).mean(axis=0))


def one_history(
    survey: dn.Survey, turnover: float, change: float, rng: np.random.Generator, told: bool
) -> dict[str, object]:
    """What is covered in one history in which shares stay as they are; `told` whether the change is given, too."""
    truth = np.tile(SHARES, (WINDOWS, 1))
    tallies = dn.lab.panel(survey, truth, DEVICES, rng, turnover=turnover, change=change)
    known: dict[str, Any] = {
        "turnover": None if survey.participation == "once" else turnover,
        "change": change if told else None,
    }
    tracked = dn.track(tallies, **known)
    moving, zero = tracked.moving, np.zeros(len(SHARES))
    total = dn.decode(sum(tallies[1:], tallies[0]), constraint=PLAIN, **known)
    given = known if told else {}
    first, last = (dn.decode(tallies[place], constraint=PLAIN, **given) for place in (0, -1))
    return {
        "bands": within(moving.smoothed, moving.smoothed_variance),
        "as of": within(moving.filtered, moving.filtered_variance),
        "difference": inside(tracked.difference(-1, 4).intervals(), zero),
        "average": inside(tracked.average().intervals(), SHARES),
        "sum": inside(total.intervals(), SHARES),
        "two windows": inside(dn.difference(last, first).intervals(), zero),
        "no change": float(not tracked.changes()),
    }


def coverage(repeats: int, rng: np.random.Generator, kind: str, told: bool = False) -> Iterator[Row]:
    """A row of each mechanism and life, in several processes; what is drawn does not depend on their number.

    Histories are the same whether the change is `told` or not; where no answer changes, there is nothing to tell.
    """
    lives = LIVES if kind != "fresh" else ((1.0, 0.0),)
    cells = [(name, *life) for name in surveys(kind) for life in lives]
    seeds = rng.integers(0, 1 << 32, len(cells)).tolist()
    if told:
        seeds = [seed for seed, (_, _, change) in zip(seeds, cells, strict=True) if change]
        cells = [cell for cell in cells if cell[2]]
    with ProcessPoolExecutor(JOBS) as pool:
        for rows in pool.map(_cell, [kind] * len(cells), cells, seeds, [repeats] * len(cells), [told] * len(cells)):
            yield from rows


def _cell(kind: str, cell: tuple[str, float, float], seed: int, repeats: int, told: bool) -> list[Row]:
    """The rows of one mechanism and life. A repeat is one number: symbols and windows of a history share noise."""
    name, turnover, change = cell
    survey, rng, found = surveys(kind)[name], np.random.default_rng(seed), dict[str, list[object]]()
    for _ in range(repeats):
        for measure, value in one_history(survey, turnover, change, rng, told).items():
            found.setdefault(measure, []).append(value)
    table = f"{kind}, told" if told else kind
    rows, about = [], {"turnover": turnover, "change": change, "windows": WINDOWS}
    for measure, values in found.items():
        each = np.array(values, np.float64).reshape(repeats, -1)
        rows.append(row(table, name, measure, each.mean(axis=1), **about))
        if each.shape[1] > 1:
            by_window = each.mean(axis=0)
            for what, place in (("worst", by_window.argmin()), ("best", by_window.argmax())):
                rows.append(row(table, name, f"{measure}, {what}", each[:, place], **about))
    return rows


def merged(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """The measured example: k-RR, epsilon 2, six answers, 1,000 devices that memoise, added up over days."""
    survey = dn.krr(6, epsilon=2.0, participation="window")
    once = dn.krr(6, epsilon=2.0)
    for days in (1, 5, 20, 90):
        found: dict[str, list[float]] = {"windows remembered": [], "as if all people were others": []}
        for _ in range(repeats):
            day = dn.simulate(survey, SHARES, 1000, rng)
            total = sum([day] * (days - 1), day)
            found["windows remembered"].append(inside(dn.decode(total, constraint=PLAIN).intervals(), SHARES))
            naive = dn.decode(dn.Tally(once, total.counts), constraint=PLAIN)
            found["as if all people were others"].append(inside(naive.intervals(), SHARES))
        for measure, values in found.items():
            yield row("merged", "k-RR", measure, values, windows=days)
