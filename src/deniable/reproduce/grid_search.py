"""Grid searches: the best free parameters at each epsilon, chosen on some samples and reported on others.

The minimum over a grid is biased low on the samples it was chosen by, so no reported sample takes part in choosing.
Choosing races: a prediction (`lab.screen`) leaves the settings that may win, a few samples of each decide. What was
predicted and what was measured is kept in the table `screen`; `--exhaustive` measures the whole grid instead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from statistics import fmean, median

from deniable.lab.experiments import Cell, Point, RegressionTask, ScreenTask
from deniable.reproduce.pool import Results
from deniable.reproduce.settings import (
    COHORTS,
    LINE_EPSILONS,
    LINES_S4096,
    LOW_EPSILON,
    PARAMETER_EPSILONS,
    Settings,
    cells,
    hashes,
)

Row = dict[str, object]
CHOOSING_FROM = 1000  # the number of the first sample that parameters are chosen by


@dataclass(frozen=True)
class Study:
    """One alphabet, one number of users: what experiments 4 to 7 run on."""

    alphabet: str
    symbols: int
    n: int

    @property
    def epsilons(self) -> tuple[float, ...]:
        return LINE_EPSILONS if self.symbols == 256 else PARAMETER_EPSILONS


STUDIES = (
    Study("open", 256, 10**6),
    Study("closed", 256, 10**6),
    Study("open", 4096, 10**6),
    Study("open", 4096, 10**8),
)


@dataclass(frozen=True)
class Slice:
    """A part of the grid whose best setting is one point of a line: all of it, or one parameter fixed."""

    vary: str
    value: int
    cells: tuple[Cell, ...]


def grid(alphabet: str, symbols: int, mechanism: str) -> tuple[Cell, ...]:
    """Every setting of the free parameters.

    >>> len(grid("open", 256, "O-RR")), len(grid("open", 256, "O-RAPPOR")), len(grid("closed", 256, "k-RR"))
    (132, 660, 1)
    """
    if mechanism in ("k-RR", "k-RAPPOR"):
        return (Cell(alphabet, symbols, symbols, 1, 1),)
    all_hashes = (1,) if mechanism == "O-RR" else hashes(symbols)
    return tuple(Cell(alphabet, symbols, k, C, h) for h in all_hashes for k in cells(symbols) for C in COHORTS)


def slices(study: Study, mechanism: str, epsilon: float, *, parameters: bool) -> list[Slice]:
    """The lines that have a point at this epsilon, each with the settings it may choose from."""
    everything = grid(study.alphabet, study.symbols, mechanism)
    found = [Slice("best", 0, everything)]
    if mechanism in ("k-RR", "k-RAPPOR"):
        return found
    if study == STUDIES[0] and mechanism == "O-RR" and epsilon <= LOW_EPSILON:
        found.append(Slice("k=3", 3, tuple(Cell("open", study.symbols, 3, C, 1) for C in COHORTS)))
    if parameters and epsilon in PARAMETER_EPSILONS:
        for vary in ("k", "C", "h") if mechanism == "O-RAPPOR" else ("k", "C"):
            values = sorted({getattr(cell, vary) for cell in everything})
            if study.symbols != 256:
                values = list(LINES_S4096[vary])
            found += [Slice(vary, v, tuple(c for c in everything if getattr(c, vary) == v)) for v in values]
    return found


@dataclass(frozen=True)
class Contest:
    """One point of a line, and the settings that may win there."""

    point: Point
    contenders: tuple[Cell, ...]


def predictions(wanted: Iterable[tuple[tuple[Cell, ...], Point]], results: Results) -> dict[tuple[Cell, Point], float]:
    """What `lab.screen` predicts for every cell of a grid at every point."""
    tasks: dict[tuple[tuple[Cell, ...], str, int], list[Point]] = {}
    for cells_, point in wanted:
        for part in _blocks(cells_):
            tasks.setdefault((part, point.mechanism, point.n), []).append(point)
    screens = [ScreenTask(part, tuple(dict.fromkeys(points))) for (part, _, _), points in tasks.items()]
    numbers = results(screens, "predicting")
    return {
        (cell, point): value
        for screen in screens
        for point in screen.points
        for cell, value in zip(screen.cells, numbers[screen.key(point)], strict=True)
    }


def _blocks(cells_: tuple[Cell, ...]) -> list[tuple[Cell, ...]]:
    """A grid by its h and k: pieces small enough to share out, and the same whatever is asked for."""
    parts: dict[tuple[int, int], list[Cell]] = {}
    for cell in cells_:
        parts.setdefault((cell.h, cell.k), []).append(cell)
    return [tuple(part) for part in parts.values()]


def contenders(
    cells_: Sequence[Cell], point: Point, guess: dict[tuple[Cell, Point], float], settings: Settings
) -> tuple[Cell, ...]:
    """The settings that may win, best prediction first; of settings with one law only the simplest."""
    distinct: dict[Cell, float] = {}
    for cell in cells_:
        like = cell.like(point.mechanism)
        distinct[like] = min(distinct.get(like, float("inf")), guess[cell, point])
    ranked = sorted(distinct, key=lambda cell: (distinct[cell], cell))
    if settings.exhaustive:
        return tuple(ranked)
    race = settings.race(cells_[0].symbols)
    near = [cell for cell in ranked if distinct[cell] <= race.margin * distinct[ranked[0]]]
    if race.most == 1:  # no race: among equal predictions the setting with the fewest cells
        return (min(near, key=lambda cell: (cell.C * cell.h, distinct[cell])),)
    return tuple(near[: race.most])


def measure(
    wanted: Iterable[tuple[Cell, Point]], spans: Sequence[tuple[int, int]], results: Results, label: str
) -> dict[tuple[Cell, Point], list[float]]:
    """The l1 losses of samples in `spans`; everything about one cell is one task, so that its matrices serve all."""
    by_cell: dict[Cell, list[Point]] = {}
    for cell, point in dict.fromkeys(wanted):
        by_cell.setdefault(cell, []).append(point)
    tasks = [RegressionTask(cell, tuple(sorted(points)), *span) for cell, points in by_cell.items() for span in spans]
    numbers = results(tasks, label)
    found: dict[tuple[Cell, Point], list[float]] = {}
    for task in tasks:
        for point in task.points:
            found.setdefault((task.cell, point), []).extend(numbers[task.key(point)])
    return found


def choose(
    searches: Sequence[Contest], settings: Settings, results: Results
) -> tuple[list[Cell], dict[tuple[Cell, Point], list[float]]]:
    """The winner of each search, by the mean loss of samples that are never reported, and all that was measured."""
    found: dict[tuple[Cell, Point], list[float]] = {}
    for symbols in (256, 4096):
        wanted = [
            (cell, search.point)
            for search in searches
            if len(search.contenders) > 1 and search.contenders[0].symbols == symbols
            for cell in search.contenders
        ]
        span = (CHOOSING_FROM, CHOOSING_FROM + settings.race(symbols).samples)
        found |= measure(wanted, [span], results, f"choosing, S = {symbols}")

    def winner(search: Contest) -> Cell:
        if len(search.contenders) == 1:
            return search.contenders[0]
        return min(search.contenders, key=lambda cell: fmean(found[cell, search.point]))

    return [winner(search) for search in searches], found


def reported(settings: Settings, symbols: int) -> list[tuple[int, int]]:
    """How the reported samples are cut into tasks: the quick run's first, which a full run takes over."""
    stops = (0, 8, 22, 36, 50) if symbols == 256 else (0, 4, 50)
    return [(a, b) for a, b in pairwise(stops) if b <= settings.samples(symbols)]


def rows(wanted: Sequence[tuple[Study, bool]], settings: Settings, results: Results) -> tuple[list[Row], list[Row]]:
    """The tables `lines` and `screen` for studies, each with or without its parameter studies."""
    plan = [
        (study, Point(mechanism, study.n, epsilon), part)
        for study, parameters in wanted
        for mechanism in ("O-RR", "O-RAPPOR", *(("k-RR", "k-RAPPOR") if study.alphabet == "closed" else ()))
        for epsilon in study.epsilons
        for part in slices(study, mechanism, epsilon, parameters=parameters)
    ]
    guess = predictions(((part.cells, point) for _, point, part in plan), results)
    searches = [Contest(point, contenders(part.cells, point, guess, settings)) for _, point, part in plan]
    winners, chosen_by = choose(searches, settings, results)
    losses: dict[tuple[Cell, Point], list[float]] = {}
    for symbols in (256, 4096):
        pairs = [(w, s.point) for w, s in zip(winners, searches, strict=True) if w.symbols == symbols]
        losses |= measure(pairs, reported(settings, symbols), results, f"reporting, S = {symbols}")
    lines = []
    for (study, point, part), search, winner in zip(plan, searches, winners, strict=True):
        # Of settings with one law, the first that belongs to the line.
        shown = next(cell for cell in part.cells if cell.like(point.mechanism) == winner)
        raced = len(search.contenders) > 1
        lines.append(
            {"alphabet": study.alphabet, "S": study.symbols, "n": study.n, "mechanism": point.mechanism}
            | {"epsilon": point.epsilon, "vary": part.vary, "value": part.value}
            | {"k": shown.k, "C": shown.C, "h": shown.h}
            | quantiles(losses[winner, point])
            | {"selection_samples": settings.race(study.symbols).samples if raced else 0}
            | {"contenders": len(search.contenders)}
        )
    return lines, screened(chosen_by | losses, guess)


def screened(measured: dict[tuple[Cell, Point], list[float]], guess: dict[tuple[Cell, Point], float]) -> list[Row]:
    """The table `screen`: what was predicted beside what was measured."""
    return [
        {
            "S": cell.symbols,
            "alphabet": cell.alphabet,
            "n": point.n,
            "mechanism": point.mechanism,
            "epsilon": point.epsilon,
            "k": cell.k,
            "C": cell.C,
            "h": cell.h,
            "predicted": guess[cell, point],
            "measured": fmean(losses),
            "samples": len(losses),
        }
        for (cell, point), losses in measured.items()
    ]


def quantiles(losses: Sequence[float]) -> Row:
    """The median with its 99 % interval, and the band that holds 90 % of the samples."""
    ordered = sorted(losses)
    low, high = median_interval(len(ordered))
    return {
        "median": median(ordered),
        "low": _quantile(ordered, 0.05),
        "high": _quantile(ordered, 0.95),
        "median_low": ordered[low],
        "median_high": ordered[high],
        "samples": len(ordered),
    }


def _quantile(ordered: Sequence[float], q: float) -> float:
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def median_interval(samples: int, level: float = 0.99) -> tuple[int, int]:
    """Places of the order statistics between which the median lies with this probability, or the widest there are.

    >>> median_interval(50), median_interval(8)
    ((15, 34), (0, 7))
    """
    low = 0
    tail = 0.5**samples
    while low < (samples - 1) // 2:
        step = comb(samples, low + 1) * 0.5**samples
        if 2 * (tail + step) > 1 - level:
            break
        tail += step
        low += 1
    return low, samples - 1 - low
