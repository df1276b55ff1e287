"""Least squares against SciPy's LSQR on the same system, its errors, a million candidates, the simplex projection."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

import deniable as dn
from benchmarks.measure import Line, compare, timed
from deniable.decoders.base import unbias
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.simplex import project
from deniable.design import Design, design_of
from deniable.tally import Tally

S, C, K = 4096, 1024, 16
MANY = 10**6
TALLIES = 100
ACCURACY = 1e-8


def problem(tallies: int) -> tuple[Design, list[Tally]]:
    survey = dn.orr(symbols=S, epsilon=1, cells=K, cohorts=C, seed=bytes(16))
    p, rng = dn.lab.geometric(S, S / 5), np.random.default_rng(0)
    return design_of(survey), [dn.simulate(survey, p, 10**6, rng) for _ in range(tallies)]


def fresh(design: Design) -> Design:
    """The same cell table with nothing computed from it yet."""
    return Design(design.table, design.cells)


def listed(count: int) -> Callable[[], object]:
    """Decoding an open survey by default, with so many candidates: from 3,841 on they are more than the equations."""
    survey = dn.orr(epsilon=2, cells=16, cohorts=256, seed=bytes(16))
    names = [f"candidate {i}" for i in range(count)]
    tally = dn.simulate(survey, dn.lab.zipf(count, 1), 10**6, np.random.default_rng(0), symbols=names)
    return lambda: dn.decode(tally, candidates=names)


def lines() -> Iterator[Line]:
    design, tallies = problem(TALLIES)
    rows = (design.table[:, 0].astype(np.int64) + np.arange(C)[:, None] * K).ravel()
    matrix = sparse.csr_array((np.ones(rows.size), (rows, np.tile(np.arange(S), C))), shape=(K * C, S))
    right = unbias(tallies[0]).ravel()
    decoder = LeastSquares()

    exact = design.factor.solve(design.adjoint(unbias(tallies[0])))
    found = decoder.solve(tallies[:1], fresh(design))[0].raw
    off = float(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    yield Line("least squares, relative error", "1e-8", off, ACCURACY, 1, unit="")

    one = compare(
        "least squares, one tally",
        "scipy lsqr, atol = btol = 1e-9",
        lambda: decoder.solve(tallies[:1], fresh(design)),
        lambda: lsqr(matrix, right, atol=1e-9, btol=1e-9),
        1 / 1.5,
        rounds=5,
    )
    yield one
    together = min(timed(lambda: decoder.solve(tallies, fresh(design))) for _ in range(2)) / TALLIES
    yield Line(f"least squares, each of {TALLIES} tallies", "scipy lsqr, one tally", together, one.theirs, 1 / 6)

    (peak,) = _elsewhere("squares")
    yield Line("least squares, peak memory", "1 GiB", peak / 2**20, 1024, 1, unit="MiB")

    peak, spent = _elsewhere("errors")
    yield Line("standard errors, processor time", "9 s", spent, 9, 1)
    yield Line("standard errors, peak memory", "1 GiB", peak / 2**20, 1024, 1, unit="MiB")

    peak, spent = _elsewhere("candidates")
    yield Line("10^6 candidates, processor time", "30 s", spent, 30, 1)
    yield Line("10^6 candidates, peak memory", "2 GiB", peak / 2**20, 2048, 1, unit="MiB")

    crowded, roomy = (listed(count) for count in (4096, 1024))
    what = "4096 candidates, 256 cohorts of 16 cells"
    yield compare(what, "1024 candidates", crowded, roomy, 8, rounds=3, clock=time.process_time)

    values = np.random.default_rng(0).normal(size=10**6) * 1e-6  # all of them contend
    yield compare(
        "simplex projection, 10^6 entries", "np.sort", lambda: project(values), lambda: np.sort(values), 3, rounds=7
    )


def _elsewhere(what: str) -> list[float]:
    """Bytes at the peak, and more numbers, of a process of its own."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.decoding", what], capture_output=True, check=True)
    return [float(number) for number in done.stdout.split()]


def errors() -> float:
    """Seconds of processor time, of all threads, for the standard errors and intervals of one estimate."""
    estimate = dn.decode(problem(1)[1][0], decoder=LeastSquares())
    began = time.process_time()
    estimate.intervals(simultaneous=True)
    spent = time.process_time() - began
    assert np.isfinite(estimate.standard_errors).all()
    return spent


def many_candidates() -> float:
    """Seconds of processor time, of all threads, to decode 1,000 Zipf shares among a million strings."""
    survey = dn.orr(epsilon=4, cells=64, cohorts=256, seed=bytes(16))
    names = [f"https://site-{i}.example/" for i in range(MANY)]
    tally = dn.simulate(survey, dn.lab.zipf(1000, 1), 10**8, np.random.default_rng(0), symbols=names[::1000])
    began = time.process_time()
    estimate = dn.decode(tally, candidates=names)
    estimate.intervals()
    spent = time.process_time() - began
    found = np.flatnonzero(estimate.probabilities)
    assert len(found) > 700
    assert (found % 1000 == 0).mean() > 0.99
    return spent


if __name__ == "__main__":
    numbers: list[float] = []
    if sys.argv[1] == "candidates":
        numbers.append(many_candidates())
    elif sys.argv[1] == "errors":
        numbers.append(errors())
    else:
        used, many = problem(TALLIES)
        LeastSquares().solve(many[:1], fresh(used))
        LeastSquares().solve(many, fresh(used))
    # Not ru_maxrss, which a child process inherits from its parent.
    high = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(int(high.split()[1]) * 1024, *numbers)
