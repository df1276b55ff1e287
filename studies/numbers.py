"""Numbers: errors against EM with smoothing, and the coverage of intervals; `python -m studies.numbers` makes both.

`--errors R` and `--coverage R` say how many surveys are simulated in each cell; `numbers_page.py` writes the page. What
is not begun after `--seconds` is left out, and made by the next call.
"""

import argparse
import csv
import math
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, astuple, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.decoders.bounded import unit_limits
from deniable.decoders.limits import SkewedLimits
from deniable.decoders.quantiles import blurs_of, inverted, is_smooth, ramps
from deniable.matrices import NeighbourDesign, design_of
from studies.square_wave import em_smoothed

Floats = npt.NDArray[np.float64]

EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE = (10**4, 10**5, 10**6)
BINS = (256, 1024)
POPULATIONS = ("beta", "bimodal", "spiky", "uniform", "point")
SMOOTH = ("beta", "bimodal", "uniform")  # populations without atoms
FIGURES = ("mean", "quartile 1", "median", "quartile 3", "share 0 to 25 %", "share 25 to 50 %", "share 62.5 to 87.5 %")
QUANTILES = (0.25, 0.5, 0.75)
BARE = tuple(f"{figure}, no bins added" for figure in FIGURES[1:4])  # intervals for smooth populations, whatever it is
RANGES = ((0.0, 0.25), (0.25, 0.5), (0.625, 0.875))  # of the scale: multiples of an eighth, which are edges
ERRORS = Path("docs/results/numbers.csv")
COVERAGE = Path("docs/results/numbers-coverage.csv")
LINEAR = 10_000  # surveys whose means and shares are asked: a standard error of 0.2 points
_AT_ONCE = 100  # surveys whose intervals are worked out together


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting: a population in some bins, an epsilon, a number of people."""

    population: str
    bins: int
    epsilon: float
    n: int


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Distances to the population, averaged over repeats, with standard errors: ours and those of the baseline."""

    population: str
    bins: int
    epsilon: float
    n: int
    distance: str
    repeats: int
    ours: float
    ours_error: float
    baseline: float
    baseline_error: float

    @property
    def ratio(self) -> float:
        return self.ours / self.baseline

    @property
    def worse_by(self) -> float:
        """How many standard errors ours is above the baseline."""
        return (self.ours - self.baseline) / math.hypot(self.ours_error, self.baseline_error)


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """How often the 95 % interval of a figure holds the truth, and how wide it is in parts of the scale."""

    population: str
    bins: int
    epsilon: float
    n: int
    figure: str
    repeats: int
    covered: float
    width: float


def population(name: str, bins: int) -> Floats:
    """The shares of the bins of one of the populations.

    >>> [float(population(name, 256).sum().round(12)) for name in POPULATIONS]
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    x = (np.arange(bins) + 0.5) / bins
    incomes = np.exp(-0.5 * (np.log(x / 0.25) / 0.6) ** 2) / x
    if name == "beta":
        p = x**4 * (1 - x)
    elif name == "bimodal":
        p = 0.6 / 0.07 * np.exp(-0.5 * ((x - 0.3) / 0.07) ** 2) + 0.4 / 0.05 * np.exp(-0.5 * ((x - 0.75) / 0.05) ** 2)
    elif name == "spiky":  # incomes: four fifths round them, most to a multiple of an eighth of that
        place, round_to = np.arange(bins), bins // 32
        rounded = np.where(place % round_to == 0, incomes, 0) * np.where(place % (4 * round_to) == 0, 4, 1)
        p = 0.2 * incomes / incomes.sum() + 0.8 * rounded / rounded.sum()
    elif name == "uniform":
        p = np.ones(bins)
    else:
        p = (np.arange(bins) == int(0.37 * bins)).astype(np.float64)
    return np.asarray(p / p.sum())


def cells() -> Iterator[Cell]:
    for bins in BINS:
        for epsilon in EPSILONS:
            for n in PEOPLE:
                for name in POPULATIONS:
                    yield Cell(name, bins, epsilon, n)


def _survey(cell: Cell) -> dn.Survey:
    return dn.number(0, 1, cell.epsilon, bins=cell.bins)


def errors(cell: Cell, repeats: int, seed: int = 2020) -> list[ErrorRow]:
    """Both decoders on the same simulated tallies, by Wasserstein and Kolmogorov distance."""
    survey, p = _survey(cell), population(cell.population, cell.bins)
    rng = np.random.default_rng([seed, *map(ord, repr(cell))])
    tallies = [dn.simulate(survey, p, n=cell.n, rng=rng) for _ in range(repeats)]
    ours = np.stack([estimate.probabilities for estimate in dn.decode_all(tallies)])
    base = em_smoothed(survey, np.stack([tally.counts[0] for tally in tallies]).astype(np.float64))
    gaps = [np.abs(np.cumsum(found - p, axis=1)) for found in (ours, base)]
    rows = []
    for name, measure in (("Wasserstein", lambda g: g.mean(axis=1)), ("Kolmogorov", lambda g: g.max(axis=1))):
        (a, a_error), (b, b_error) = (
            (float(v.mean()), float(v.std(ddof=1)) / math.sqrt(repeats)) for v in map(measure, gaps)
        )
        rows.append(ErrorRow(cell.population, cell.bins, cell.epsilon, cell.n, name, repeats, a, a_error, b, b_error))
    return rows


def coverage(cell: Cell, repeats: int, seed: int = 2022, linear_repeats: int = LINEAR) -> list[CoverageRow]:
    """Intervals of many simulated tallies at once; the first tally is also asked through `Estimate`, and compared.

    Numbers are spread evenly over each bin (`binning=False`). Means and shares are linear in the counts and cost
    nothing, so they are repeated `LINEAR` times; intervals of quantiles depend on the decoder's answer.
    """
    survey, p = _survey(cell), population(cell.population, cell.bins)
    design = design_of(survey)
    assert isinstance(design, NeighbourDesign)
    miss, r = survey.mechanism.affine
    law = miss + r * design.forward(p)[0]
    rng = np.random.default_rng([seed, *map(ord, repr(cell))])
    size, edges = cell.bins, np.linspace(0, 1, cell.bins + 1)
    asked = np.stack([(edges[:-1] >= a - 1e-9) & (edges[1:] <= b + 1e-9) for a, b in RANGES]).astype(np.float64)
    linear = np.vstack([(edges[:-1] + edges[1:]) / 2, asked])
    blurs = blurs_of(dn.decode(dn.simulate(survey, p, n=cell.n, rng=rng), decoder=dn.LeastSquares()))
    on_cells, *smoothed = (
        design.columns(design.factor.solve(np.vstack([np.ones(size), rows]).T)) / r
        for rows in (linear, *(ramps(size, blur)[:-1] for blur in blurs))
    )
    before = np.append(0.0, np.cumsum(p))
    places = [int(np.searchsorted(before, q)) - 1 for q in QUANTILES]
    quantiles = [float(edges[i] + (q - before[i]) / p[i] / size) for i, q in zip(places, QUANTILES, strict=True)]
    truths = dict(zip(FIGURES, [float(linear[0] @ p), *quantiles, *(asked @ p).tolist()], strict=True))
    truths |= dict(zip(BARE, quantiles, strict=True))
    held, widths, done = dict.fromkeys(truths, 0.0), dict.fromkeys(truths, 0.0), dict.fromkeys(truths, 0)

    def add(found: dict[str, Floats]) -> None:
        for figure, limits in found.items():
            held[figure] += ((limits[:, 0] <= truths[figure]) & (limits[:, 1] >= truths[figure])).sum()
            widths[figure] += (limits[:, 1] - limits[:, 0]).sum()
            done[figure] += len(limits)

    for start in range(0, repeats, _AT_ONCE):
        counts = rng.multinomial(cell.n, law / law.sum(), size=min(_AT_ONCE, repeats - start))
        estimates = dn.decode_all([dn.Tally(survey, [row.tolist()]) for row in counts])
        answers = np.stack([estimate.probabilities for estimate in estimates])
        m = counts / cell.n
        found = _linear(_limits(survey, on_cells, m, cell.n))
        found |= _quantiles([_limits(survey, rows, m, cell.n) for rows in smoothed], answers, blurs)
        if start == 0:
            _compare(estimates[0], np.stack([found[figure][0] for figure in FIGURES]))
        add(found)
    while done["mean"] < linear_repeats:
        counts = rng.multinomial(cell.n, law / law.sum(), size=_AT_ONCE)
        add(_linear(_limits(survey, on_cells, counts / cell.n, cell.n)))
    where = (cell.population, cell.bins, cell.epsilon, cell.n)
    return [CoverageRow(*where, f, done[f], held[f] / done[f], widths[f] / done[f]) for f in truths if done[f]]


def _limits(survey: dn.Survey, on_cells: Floats, m: Floats, n: int) -> tuple[Floats, Floats, Floats]:
    """Centres, standard errors and 95 % limits of linear functions, by tallies, from their column frequencies m."""
    miss, _ = survey.mechanism.affine
    whole, rest = on_cells[:, 0], on_cells[:, 1:]
    spread = m @ whole**2 - (m @ whole) ** 2
    both = (m * whole) @ rest - (m @ whole)[:, None] * (m @ rest)
    b = both / spread[:, None]  # (tallies, figures)
    # Sums over cells of (w - b v)**k m, opened up so that one product serves all tallies.
    one = [m @ rest**k for k in (1, 2, 3)]
    mixed = {(i, j): (m * whole**i) @ rest**j for i, j in ((1, 1), (1, 2), (2, 1))}
    alone = [(m @ whole**k)[:, None] for k in (1, 2, 3)]
    first = one[0] - b * alone[0]
    second = one[1] - 2 * b * mixed[1, 1] + b**2 * alone[1]
    cubes = one[2] - 3 * b * mixed[1, 2] + 3 * b**2 * mixed[2, 1] - b**3 * alone[2]
    variance, third = (second - first**2) / n, (cubes - 3 * first * second + 2 * first**3) / n**2
    raw = (m - miss) @ rest + b * (1 - ((m - miss) @ whole)[:, None])
    step = np.where(third >= 0, rest.max(axis=0) - first, first - rest.min(axis=0)) / n
    flat = SkewedLimits(raw.ravel(), np.maximum(variance, 0).ravel(), third.ravel(), step.ravel())
    return raw, np.sqrt(np.maximum(variance, 0)), flat.between(0.05).reshape(*raw.shape, 2)


def _linear(found: tuple[Floats, Floats, Floats]) -> dict[str, Floats]:
    """Intervals of the mean and the shares, one row a tally."""
    raw, _, limits = found
    shares = {f: unit_limits(raw[:, i], limits[:, i], 0.05) for i, f in enumerate(FIGURES[4:], 1)}
    return {FIGURES[0]: limits[:, 0]} | shares


def _quantiles(found: list[tuple[Floats, Floats, Floats]], answers: Floats, blurs: list[int]) -> dict[str, Floats]:
    """Intervals of the quartiles, as `deniable.decoders.quantiles` makes them, and the same with no bins added."""
    intervals = np.empty((2 * len(QUANTILES), len(answers), 2))
    for i, answer in enumerate(answers):
        smooth = [k for k, blur in enumerate(blurs) if is_smooth(answer, blur, found[k][1][i])]
        limits, more = (found[smooth[0]][2], 0) if smooth else (found[-1][2], blurs[-1])
        for k, q in enumerate(QUANTILES):
            low, high = inverted(limits[i, :, 0], limits[i, :, 1], q, 0)
            intervals[k, i], intervals[k + len(QUANTILES), i] = (low - more, high + more), (low, high)
    return dict(zip((*FIGURES[1:4], *BARE), np.clip(intervals / answers.shape[1], 0, 1), strict=True))


def _compare(estimate: dn.Estimate, found: Floats) -> None:
    """What is simulated in bulk is what the library says, but for four pseudo-reports and one report's move."""
    figures = [estimate.mean(), *(estimate.quantile(q) for q in QUANTILES)]
    figures += [estimate.share(a, b) for a, b in RANGES]
    asked = np.array([figure.interval(binning=False) for figure in figures])
    # Where a limit first reaches q it jumps from one crossing to the next, so quantiles are compared less strictly.
    allowed = (asked[:, 1] - asked[:, 0]) * np.where(["quartile" in f or f == "median" for f in FIGURES], 0.5, 0.05)
    assert (np.abs(asked - found) <= allowed[:, None] + 2e-3).all(), (asked, found)


def write(path: Path, rows: list[Any]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(rows[0])])
        writer.writerows([f"{v:.6g}" if isinstance(v, float) else v for v in asdict(row).values()] for row in rows)


def read(path: Path, kind: type[Any]) -> list[Any]:
    made = {field.name: field.type for field in fields(kind)}
    with path.open(newline="") as file:
        return [kind(**{name: made[name](value) for name, value in row.items()}) for row in csv.DictReader(file)]  # type: ignore[operator]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--errors", type=int, default=0)
    parser.add_argument("--coverage", type=int, default=0)
    parser.add_argument("--bins", type=int, nargs="*", default=BINS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--folder", type=Path, default=ERRORS.parent)
    args = parser.parse_args()
    started = time.monotonic()
    tasks: list[tuple[int, str, Any, Any]] = [
        (args.errors, ERRORS.name, ErrorRow, errors),
        (args.coverage, COVERAGE.name, CoverageRow, coverage),
    ]
    for repeats, name, kind, measure in tasks:
        if not repeats:
            continue
        path = args.folder / name
        rows = [row for row in (read(path, kind) if path.exists() else []) if row.repeats >= repeats]
        done = {(row.population, row.bins, row.epsilon, row.n) for row in rows}
        left = [cell for cell in cells() if cell.bins in args.bins and astuple(cell) not in done]
        left.sort(key=lambda cell: -cell.bins)  # the long ones first
        with ProcessPoolExecutor(args.jobs) as pool:
            waiting = iter(left)
            running: set[Future[list[Any]]] = set()
            while True:
                while len(running) < args.jobs and time.monotonic() - started < args.seconds:
                    cell = next(waiting, None)
                    if cell is None:
                        break
                    running.add(pool.submit(partial(measure, repeats=repeats), cell))
                if not running:
                    break
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    rows += future.result()
                write(path, sorted(rows, key=_place))


def _place(row: Any) -> tuple[Any, ...]:
    """Rows in the order of the cells, whoever was first."""
    return BINS.index(row.bins), row.epsilon, row.n, POPULATIONS.index(row.population)


if __name__ == "__main__":
    main()
