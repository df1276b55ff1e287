"""Numbers: errors against EM with smoothing, and the coverage of intervals; `python -m studies.numbers` makes both.

`--errors R`, `--shares R` and `--quantiles R` say how many surveys are simulated in each cell; `numbers_page.py` writes
the page. What is not begun after `--seconds` is left out, and made by the next call. Means and shares are linear in the
counts and cost nothing; quantiles need the decoder's answers, which are kept in `--answers` (`number_answers.py`).
"""

import argparse
import csv
import math
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, astuple, dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.decoders.bounded import unit_limits
from deniable.decoders.limits import SkewedLimits
from deniable.decoders.quantiles import blurs_of, choose, edges_of, inverted, moved_by, ramps, spread
from deniable.matrices import NeighbourDesign, design_of
from studies.number_answers import CHUNK, answers_of, answers_path, counts_of, law_of
from studies.number_cells import BINS, POPULATIONS, Cell, cells, population, survey_of
from studies.square_wave import em_smoothed

Floats = npt.NDArray[np.float64]

LINEAR = ("mean", "share 0 to 25 %", "share 25 to 50 %", "share 62.5 to 87.5 %")  # figures
ASKED = ("quartile 1", "median", "quartile 3", "decile 1")  # the last is at the foot of a large atom of spiky
QUANTILES = (0.25, 0.5, 0.75, 0.1)
FIGURES = (LINEAR[0], *ASKED[:3], *LINEAR[1:])
BARE = tuple(f"{figure}, no bins added" for figure in ASKED[:3])  # intervals for smooth populations, whatever it is
RANGES = ((0.0, 0.25), (0.25, 0.5), (0.625, 0.875))  # of the scale: multiples of an eighth, which are edges
ERRORS = Path("docs/results/numbers.csv")
COVERAGE = Path("docs/results/numbers-coverage.csv")


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


def errors(cell: Cell, repeats: int, seed: int = 2020) -> list[ErrorRow]:
    """Both decoders on the same simulated tallies, by Wasserstein and Kolmogorov distance."""
    survey, p = survey_of(cell), population(cell.population, cell.bins)
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


def shares(cell: Cell, repeats: int, seed: int = 2022) -> list[CoverageRow]:
    """Intervals of the mean and of shares, which are linear in the counts, of many simulated tallies at once."""
    survey, p, law = survey_of(cell), population(cell.population, cell.bins), law_of(cell)
    rows = _linear_rows(cell.bins)
    on_cells, counted = _weights(survey, rows), _Counted(cell, dict(zip(LINEAR, (rows @ p).tolist(), strict=True)))
    rng = np.random.default_rng([seed, *map(ord, repr(cell))])
    for _ in range(0, repeats, CHUNK):
        frequencies = rng.multinomial(cell.n, law, size=CHUNK) / cell.n
        counted.add(_linear(_limits(survey, on_cells, frequencies, cell.n)))
    return counted.rows()


def quantiles(cell: Cell, repeats: int, folder: Path) -> list[CoverageRow]:
    """Intervals of quantiles of at least so many simulated tallies, and of all whose answers are in `folder`.

    The first tally is also asked through `Estimate`, and compared. Numbers are spread evenly over each bin
    (`binning=False`).
    """
    survey, p = survey_of(cell), population(cell.population, cell.bins)
    before = np.append(0.0, np.cumsum(p))
    places = [int(np.searchsorted(before, q)) - 1 for q in QUANTILES]
    truths = [(i + (q - before[i]) / p[i]) / cell.bins for i, q in zip(places, QUANTILES, strict=True)]
    counted = _Counted(cell, dict(zip((*ASKED, *BARE), map(float, (*truths, *truths[:3])), strict=True)))
    table, chunk = _weights(survey, _rows(survey)), 0
    while chunk < repeats // CHUNK or answers_path(cell, chunk, folder).exists():
        counts, answers = counts_of(cell, chunk), answers_of(cell, chunk, folder)
        found = _quantiles(survey, counts, _limits(survey, table, counts / cell.n, cell.n), answers)
        if chunk == 0:
            linear = _limits(survey, _weights(survey, _linear_rows(cell.bins)), counts[:1] / cell.n, cell.n)
            _compare(dn.decode(dn.Tally(survey, [counts[0].tolist()])), _linear(linear) | found)
        counted.add(found)
        chunk += 1
    return counted.rows()


class _Counted:
    """How many intervals hold the truth, and the sum of their widths, by figure."""

    def __init__(self, cell: Cell, truths: dict[str, float]) -> None:
        self.cell, self.truths = cell, truths
        self.held, self.widths, self.done = (dict.fromkeys(truths, 0.0) for _ in range(3))

    def add(self, found: dict[str, Floats]) -> None:
        for figure, limits in found.items():
            truth = self.truths[figure]
            self.held[figure] += ((limits[:, 0] <= truth) & (limits[:, 1] >= truth)).sum()
            self.widths[figure] += (limits[:, 1] - limits[:, 0]).sum()
            self.done[figure] += len(limits)

    def rows(self) -> list[CoverageRow]:
        where = (self.cell.population, self.cell.bins, self.cell.epsilon, self.cell.n)
        return [
            CoverageRow(*where, f, int(n), float(self.held[f] / n), float(self.widths[f] / n))
            for f, n in self.done.items()
        ]


def _linear_rows(size: int) -> Floats:
    """The numbers that bins stand for, and whether they are in each of the ranges."""
    bounds = np.linspace(0, 1, size + 1)
    asked = [(bounds[:-1] >= a - 1e-9) & (bounds[1:] <= b + 1e-9) for a, b in RANGES]
    return np.vstack([(bounds[:-1] + bounds[1:]) / 2, *asked])


def _rows(survey: dn.Survey) -> Floats:
    """The rows of the averaged distribution functions of all blurs, one after the other."""
    size = len(survey.alphabet)
    return np.concatenate([ramps(edges_of(survey), size, blur) for blur in blurs_of(size)])


def _weights(survey: dn.Survey, rows: Floats) -> Floats:
    """The weights of the column frequencies in the sum of all shares, and in c'p for each row c."""
    design = design_of(survey)
    assert isinstance(design, NeighbourDesign)
    stacked = np.vstack([np.ones(rows.shape[1]), rows])
    return np.asarray(design.columns(design.factor.solve(stacked.T)) / survey.mechanism.affine[1])


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
    of_shares = {f: unit_limits(raw[:, i], limits[:, i], 0.05) for i, f in enumerate(LINEAR[1:], 1)}
    return {LINEAR[0]: limits[:, 0]} | of_shares


def _quantiles(
    survey: dn.Survey, counts: npt.NDArray[np.int64], found: tuple[Floats, Floats, Floats], answers: Floats
) -> dict[str, Floats]:
    """Intervals of the quartiles, as `deniable.decoders.quantiles` makes them, and the same with no bins added."""
    size, (miss, r), design = answers.shape[1], survey.mechanism.affine, design_of(survey)
    assert isinstance(design, NeighbourDesign)
    blurs, edges = blurs_of(size), edges_of(survey)
    raw = design.factor.solve(design.adjoint((counts / counts.sum(axis=1, keepdims=True) - miss)[:, None] / r).T).T
    intervals = np.empty((len(QUANTILES), len(answers), 4))
    for i, answer in enumerate(answers):
        values = np.append(0.0, np.cumsum(raw[i]))
        errors, limits = found[1][i].reshape(len(blurs), -1), found[2][i].reshape(len(blurs), -1, 2)

        @cache
        def between(blur: int, limits: Floats = limits, values: Floats = values) -> tuple[Floats, Floats]:
            low, high = limits[blurs.index(blur)].T
            return spread(values, edges, blur, low, high)

        def moved(blur: int, errors: Floats = errors, answer: Floats = answer) -> Floats:
            return moved_by(answer, blur, edges, errors[blurs.index(blur)])

        for k, q in enumerate(QUANTILES):
            blur, more = choose(q, blurs, between, moved)
            first, last = inverted(*between(blur), q)
            intervals[k, i] = first - more, last + more, first, last
    intervals = np.clip(intervals / size, 0, 1)
    kept, bare = intervals[..., :2], intervals[..., 2:]
    return dict(zip((*ASKED, *BARE), (*kept, *bare[:3]), strict=True))


def _compare(estimate: dn.Estimate, found: dict[str, Floats]) -> None:
    """What is simulated in bulk is what the library says, but for four pseudo-reports and one report's move."""
    figures = {LINEAR[0]: estimate.mean()} | dict(zip(ASKED, map(estimate.quantile, QUANTILES), strict=True))
    figures |= {f: estimate.share(a, b) for f, (a, b) in zip(LINEAR[1:], RANGES, strict=True)}
    for name, figure in figures.items():
        asked = np.array(figure.interval(binning=False))
        # Where a limit first reaches q it jumps from one crossing to the next, so quantiles are compared less strictly.
        allowed = (asked[1] - asked[0]) * (0.5 if name in ASKED else 0.05) + 2e-3
        assert (np.abs(asked - found[name][0]) <= allowed).all(), (name, asked, found[name][0])


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
    parser.add_argument("--shares", type=int, default=0)
    parser.add_argument("--quantiles", type=int, default=0)
    parser.add_argument("--answers", type=Path, default=Path("answers"), help="what number_answers.py has made")
    parser.add_argument("--bins", type=int, nargs="*", default=BINS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--folder", type=Path, default=ERRORS.parent)
    args = parser.parse_args()
    started = time.monotonic()
    of_answers = partial(quantiles, folder=args.answers)
    tasks: list[tuple[int, str, Any, Any, str, Sequence[str]]] = [
        (args.errors, ERRORS.name, ErrorRow, errors, "distance", ("Wasserstein", "Kolmogorov")),
        (args.shares, COVERAGE.name, CoverageRow, shares, "figure", LINEAR),
        (args.quantiles, COVERAGE.name, CoverageRow, of_answers, "figure", (*ASKED, *BARE)),
    ]
    for repeats, name, kind, measure, column, measured in tasks:
        if not repeats:
            continue
        path = args.folder / name
        every = read(path, kind) if path.exists() else []
        rows = [row for row in every if getattr(row, column) not in measured or row.repeats >= repeats]
        done = {_cell(row) for row in rows if getattr(row, column) in measured}
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


def _cell(row: Any) -> tuple[Any, ...]:
    return row.population, row.bins, row.epsilon, row.n


def _place(row: Any) -> tuple[Any, ...]:
    """Rows in the order of the cells, whoever was first."""
    return BINS.index(row.bins), row.epsilon, row.n, POPULATIONS.index(row.population)


if __name__ == "__main__":
    main()
