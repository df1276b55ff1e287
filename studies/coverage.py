"""How often intervals cover, and how wide they are: `python -m studies.coverage` writes docs/results/intervals.md.

For every survey, population and number of reports: tallies drawn from their exact law, decoded, and each interval
compared with the truth. Hash functions change every few tallies, and with every tally where answers are missing, since
collisions are then what is measured. `python -m studies.coverage WORD` measures the cases again that have the word.
"""

import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import ndtri

import deniable as dn
from deniable.decoders import Decoder

__all__ = ["CASES", "Case", "Row", "measure", "read"]

LEVELS = (0.9, 0.95, 0.99)
SIZES = (100, 1000, 10_000, 1_000_000)
SURVEYS_A_CELL = 20  # hash functions drawn for a cell, unless what they do is what is measured
RESULTS = Path(__file__).parents[1] / "docs" / "results"

Floats = npt.NDArray[np.float64]


def spiky(size: int) -> Floats:
    """Three symbols with mass, all others with none."""
    p = np.zeros(size)
    p[:3] = 0.8, 0.15, 0.05
    return p


POPULATIONS: dict[str, Callable[[int], Floats]] = {
    "spiky": spiky,
    "zipf": lambda size: dn.lab.zipf(size, 1.0),
    "uniform": lambda size: np.full(size, 1 / size),
}


@dataclass(frozen=True)
class Case:
    """A survey for every seed; `missing` of its heaviest answers are not among the candidates."""

    name: str
    symbols: int
    make: Callable[[bytes], dn.Survey]
    decoder: Decoder | None = None
    missing: int = 0
    complete: bool = False
    sizes: tuple[int, ...] = SIZES
    populations: tuple[str, ...] = ("spiky", "zipf")

    @property
    def repeats(self) -> int:
        return 240 if self.symbols <= 64 else 40 if self.symbols <= 256 else 4


def _orr(epsilon: float, cells: int, cohorts: int) -> Callable[[bytes], dn.Survey]:
    return lambda seed: dn.orr(epsilon=epsilon, cells=cells, cohorts=cohorts, seed=seed)


def _orappor(epsilon: float, cells: int, cohorts: int, hashes: int) -> Callable[[bytes], dn.Survey]:
    return lambda seed: dn.orappor(epsilon=epsilon, cells=cells, cohorts=cohorts, hashes=hashes, seed=seed)


JOINT = dn.LeastSquares(per_cohort=False)
FEW: dict[str, Any] = {"sizes": (10_000, 1_000_000), "populations": ("spiky",)}
CASES = (
    Case("k-RR, eps 1, 8 symbols", 8, lambda _: dn.krr(symbols=8, epsilon=1)),
    Case("k-RR, eps 4, 32 symbols", 32, lambda _: dn.krr(symbols=32, epsilon=4)),
    Case("k-RAPPOR, eps 2, 32 symbols", 32, lambda _: dn.krappor(symbols=32, epsilon=2)),
    Case("OUE, eps 1, 32 symbols", 32, lambda _: dn.oue(symbols=32, epsilon=1)),
    Case("subset selection, eps 1, 32 symbols", 32, lambda _: dn.subset(symbols=32, epsilon=1)),
    Case("projective geometry, eps 2, 32 symbols", 32, lambda _: dn.projective(symbols=32, epsilon=2)),
    Case("Hadamard, eps 1, 32 symbols", 32, lambda _: dn.hadamard(symbols=32, epsilon=1, blocks=1)),
    Case("Hadamard, 8 blocks, eps 5, 32 symbols", 32, lambda _: dn.hadamard(symbols=32, epsilon=5, blocks=8)),
    Case("closed O-RR 2x256, eps .25, 16 symbols", 16, lambda seed: dn.orr(
        symbols=16, epsilon=0.25, cells=2, cohorts=256, seed=seed)),
    Case("O-RR 8x64, eps 2, 32 symbols", 32, _orr(2, 8, 64), populations=("spiky", "zipf", "uniform")),
    Case("O-RR 8x64, eps 2, 32 symbols, joint", 32, _orr(2, 8, 64), decoder=JOINT),
    Case("O-RR 8x64, eps 2, 32 symbols, complete", 32, _orr(2, 8, 64), complete=True),
    Case("O-RR 8x64, eps 2, 256 symbols", 256, _orr(2, 8, 64), sizes=(1000, 1_000_000)),
    Case("O-RR 4x256, eps 1, 64 symbols", 64, _orr(1, 4, 256), sizes=(1000, 10_000)),
    Case("O-RR 8x1024, eps 2, 16 symbols", 16, _orr(2, 8, 1024)),
    Case("O-RR 8x1024, eps 2, 16 symbols, joint", 16, _orr(2, 8, 1024), decoder=JOINT),
    Case("O-RR 32x16, eps 4, 32 symbols", 32, _orr(4, 32, 16)),
    Case("O-RR 32x16, eps 4, 32 symbols, joint", 32, _orr(4, 32, 16), decoder=JOINT),
    Case("O-RR 64x8, eps 8, 32 symbols", 32, _orr(8, 64, 8)),
    Case("O-RR 256x4, eps 8, 32 symbols", 32, _orr(8, 256, 4)),
    Case("O-RR 16x128, eps 3, 1024 symbols", 1024, _orr(3, 16, 128), sizes=(10_000, 1_000_000)),
    Case("O-RAPPOR 64x8, eps 3, 32 symbols", 32, _orappor(3, 64, 8, 1)),
    Case("O-RAPPOR 64x8 h 2, eps 4, 32 symbols", 32, _orappor(4, 64, 8, 2)),
    Case("O-RAPPOR 32x16 h 3, eps 8, 16 symbols", 16, _orappor(8, 32, 16, 3)),
    Case("O-RR 8x64, eps 2, heaviest of 32 missing", 32, _orr(2, 8, 64), missing=1),
    Case("O-RR 32x16, eps 4, heaviest of 32 missing", 32, _orr(4, 32, 16), missing=1),
    Case("O-RR 32x16, eps 4, 16 heaviest of 32 missing", 32, _orr(4, 32, 16), missing=16, populations=("zipf",)),
    Case("O-RR 64x8, eps 8, heaviest of 32 missing", 32, _orr(8, 64, 8), missing=1),
    Case("O-RAPPOR 64x8 h 2, eps 4, heaviest of 32 missing", 32, _orappor(4, 64, 8, 2), missing=1),
    Case("O-RR 20x10, eps 3, heaviest of 13 missing", 13, _orr(3, 20, 10), missing=1, **FEW),
    Case("O-RR 60x2, eps 5, heaviest of 13 missing", 13, _orr(5, 60, 2), missing=1, **FEW),
    Case("O-RR 30x3, eps 5, heaviest of 13 missing", 13, _orr(5, 30, 3), missing=1, **FEW),
    Case("O-RR 30x1, eps 5, heaviest of 13 missing", 13, _orr(5, 30, 1), missing=1, **FEW),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One measured coverage: of what, at which level, with its Monte Carlo error, and beside it normal intervals'."""

    case: str
    population: str
    n: int
    kind: str  # exact or approximate
    what: str
    level: float
    coverage: float
    error: float
    normal: float  # what raw +- z standard errors cover; empty where there is no such interval
    width: float  # mean width over that of the normal interval
    mean_width: float


def _drawn(case: Case, population: str, n: int) -> Iterator[tuple[dn.Estimate, dn.Estimate, Floats, float]]:
    """Pairs of independent estimates, the masses of their symbols, and the mass that is not listed."""
    rng = np.random.default_rng(zlib.crc32(f"{case.name} {population} {n}".encode()))
    p, names = POPULATIONS[population](case.symbols), range(case.symbols)
    # Where answers are missing every tally has its own: whom an unlisted answer meets is decided by them.
    each = 1 if case.missing else max(1, case.repeats // SURVEYS_A_CELL)
    for _ in range(case.repeats // each):
        survey = case.make(rng.bytes(16))
        opened = survey.symbols is None
        tallies = [dn.simulate(survey, p, n, rng, symbols=names if opened else None) for _ in range(2 * each)]
        found = dn.decode_all(
            tallies,
            candidates=names[case.missing :] if opened else None,
            decoder=case.decoder,
            constraint=dn.Unconstrained(),
            complete=case.complete,
        )
        for one, two in zip(found[::2], found[1::2], strict=True):
            yield one, two, p[case.missing :], float(p[: case.missing].sum())


def measure(case: Case, population: str, n: int) -> list[Row]:
    """All rows of one cell; the same for the same arguments."""
    hits: dict[tuple[str, float], list[float]] = defaultdict(list)
    normal: dict[tuple[str, float], list[float]] = defaultdict(list)
    widths: dict[tuple[str, float], list[tuple[float, float]]] = defaultdict(list)
    kinds: dict[str, str] = defaultdict(lambda: "approximate")

    def note(what: str, level: float, truth: Floats, found: Floats, centre: Floats, errors: Floats) -> None:
        low, high = found.T
        reach = float(ndtri((1 + level) / 2)) * errors
        hits[what, level].append(float(np.mean((low <= truth) & (truth <= high))))
        normal[what, level].append(float(np.mean(np.abs(centre - truth) <= reach)))
        widths[what, level].append((float(np.mean(high - low)), float(np.mean(2 * reach))))

    for one, two, p, missing in _drawn(case, population, n):
        known = np.isfinite(one.standard_errors)
        classes = {
            "symbols of no mass": known & (p == 0),
            "light symbols": known & (p > 0) & (p < 0.05),
            "heavy symbols": known & (p >= 0.05),
        }
        half = one.total(one.symbols[::2])
        change = dn.difference(one, two)
        for level in LEVELS:
            bounds = one.intervals(level)
            for what, inside in classes.items():
                kinds[what] = one.interval_kind
                if inside.any():
                    note(what, level, p[inside], bounds[inside], one.raw[inside], one.standard_errors[inside])
            for what, mass, truth in (("sums", half, p[::2].sum()), ("unlisted mass", one.unallocated, missing)):
                if mass is not None and np.isfinite(mass.standard_error):
                    kinds[what] = "exact" if mass.exact else "approximate"
                    found = np.array([mass.interval(level)])
                    note(what, level, np.array([truth]), found, np.array([mass.raw]), np.array([mass.standard_error]))
            if known.any():
                apart = change.intervals(level)[known]
                zero = np.zeros(int(known.sum()))
                note("differences", level, zero, apart, change.raw[known], change.standard_errors[known])
            low, high = one.intervals(level, simultaneous=True).T
            kinds["all symbols at once"] = kinds["no false mark"] = one.interval_kind
            hits["all symbols at once", level].append(float(((low <= p) & (p <= high)).all()))
            hits["no false mark", level].append(float(not one.significant(level)[p == 0].any()))
    rows = []
    for (what, level), values in hits.items():
        if what == "no false mark" and population != "spiky":
            continue  # nothing can be marked falsely where every symbol has mass
        error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
        mine, theirs = np.mean(widths[what, level], axis=0) if (what, level) in widths else (np.nan, np.nan)
        plain = float(np.mean(normal[what, level])) if (what, level) in normal else np.nan
        rows.append(
            Row(case.name, population, n, kinds[what], what, level, float(np.mean(values)), error, plain,
                float(mine / theirs), float(mine))
        )  # fmt: skip
    return rows


def read(path: Path = RESULTS / "intervals.parquet") -> list[Row]:
    """The rows of a run."""
    return [Row(**row) for row in pq.read_table(path).to_pylist()]


def _write(rows: list[Row], path: Path) -> None:
    """As Parquet: a quarter of the size of CSV. Numbers have six digits, which is more than they know."""
    columns = {field.name: [_rounded(getattr(row, field.name)) for row in rows] for field in fields(Row)}
    pq.write_table(pa.table(columns), path, compression="zstd", compression_level=19)


def _rounded(value: object) -> object:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def main() -> None:
    from studies.coverage_page import page

    start, rows = time.perf_counter(), []
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    for case in CASES:
        if only in case.name:
            for population in case.populations:
                for n in case.sizes:
                    rows += measure(case, population, n)
            print(f"{time.perf_counter() - start:6.0f} s  {case.name}", flush=True)
    fresh = {row.case for row in rows}
    kept = [row for row in read() if row.case not in fresh] if only else []
    order = [case.name for case in CASES]
    _write(sorted(rows + kept, key=lambda row: order.index(row.case)), RESULTS / "intervals.parquet")
    (RESULTS / "intervals.md").write_text(page(read()), encoding="utf-8")


if __name__ == "__main__":
    main()
