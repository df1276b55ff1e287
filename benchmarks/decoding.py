"""Least squares, its errors, a million candidates and the simplex projection, each against the plain way to do it.

Times are of the processor, over all threads; peaks of memory are those of processes of their own.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import lsqr

import deniable as dn
from benchmarks import limits
from benchmarks.measure import Line, compare, timed
from deniable.decoders.base import unbias
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.simplex import project
from deniable.matrices import Design, design_of
from deniable.tally import Tally

S, C, K = 4096, 1024, 16
MANY = 10**6
TALLIES = 100
ACCURACY = 1e-8
CPU = time.process_time
Floats = npt.NDArray[np.float64]
Work = Callable[[], None]
SMALL = "256 symbols"
# Times of the reference that a decode of 256 symbols may take.
NUMBERS_TARGET = 5  # times the reference, which takes 20 ms
SMALL_TARGETS = {"OUE": 0.5, "PGR": 1.25, "O-RR, 64 cohorts of 16 cells": 1.5}


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
    matrix, right = _system()
    decoder = LeastSquares()

    exact = design.factor.solve(design.adjoint(unbias(tallies[0])))
    found = decoder.solve(tallies[:1], fresh(design))[0].raw
    off = float(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    yield Line("least squares, relative error", "1e-8", off, ACCURACY, 1, unit="")

    # With these tolerances LSQR's own solution is 7e-8 from the exact one; ours is the line above.
    one = compare(
        "least squares, one tally",
        "scipy lsqr, atol = btol = 1e-9",
        lambda: decoder.solve(tallies[:1], fresh(design)),
        lambda: lsqr(matrix, right, atol=1e-9, btol=1e-9),
        1 / 1.5,
        rounds=5,
        clock=CPU,
    )
    yield one
    together = min(timed(lambda: decoder.solve(tallies, fresh(design)), CPU) for _ in range(2)) / TALLIES
    yield Line(f"least squares, each of {TALLIES} tallies", "scipy lsqr, one tally", together, one.theirs, 1 / 6)

    for what, reference, slower, larger in ELSEWHERE:
        (ours, peak), (theirs, its_peak) = _elsewhere(what), _elsewhere(f"plain {what}")
        yield Line(f"{what}, processor time", reference, ours, theirs, slower)
        yield Line(f"{what}, peak memory", reference, peak / 2**20, its_peak / 2**20, larger, unit="MiB")

    crowded, roomy = (listed(count) for count in (4096, 1024))
    what = "4096 candidates, 256 cohorts of 16 cells"
    yield compare(what, "1024 candidates", crowded, roomy, 8, rounds=3, clock=CPU)

    yield local_hashing()
    # Matrices of 256 rows: with two BLAS threads on a busy machine most of the time would be spent waiting in a loop.
    single = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.decoding", SMALL], capture_output=True, check=True, env=single
    )
    for line in json.loads(done.stdout):
        yield Line(**line)

    values = np.random.default_rng(0).normal(size=10**6) * 1e-6  # all of them contend
    # Where the processor has vectors of 512 bits np.sort takes 5 ns an entry, elsewhere ten times as long.
    yield compare(
        "simplex projection, 10^6 entries", "np.sort", lambda: project(values), lambda: np.sort(values), 1, rounds=7
    )


def local_hashing() -> Line:
    """The default decoder on the default survey of local hashing, against SciPy's least squares of the same tally."""
    survey = dn.olh(epsilon=2, seed=bytes(16))
    names = [f"candidate {i}" for i in range(S)]
    tally = dn.simulate(survey, dn.lab.zipf(S, 1), 10**6, np.random.default_rng(0), symbols=names)
    matrix, right = _sparse(design_of(survey, names)), unbias(tally).ravel()
    return compare(
        f"OLH, {S} candidates, {survey.cohorts} cohorts",
        "scipy lsqr, atol = btol = 1e-9",
        lambda: dn.decode(tally, candidates=names),
        lambda: lsqr(matrix, right, atol=1e-9, btol=1e-9),
        1.0,
        rounds=3,
        clock=CPU,
    )


def small_surveys() -> Iterator[Line]:
    """The default decoder on 256 symbols, against expectation maximisation of a prior on a grid, in plain NumPy."""
    symbols, shares = 256, np.linspace(0, 0.3, 400)
    surveys = {
        "OUE": dn.oue(symbols=symbols, epsilon=1),
        "PGR": dn.projective(symbols=symbols, epsilon=1),
        "O-RR, 64 cohorts of 16 cells": dn.orr(symbols=symbols, epsilon=1, cells=16, cohorts=64, seed=bytes(16)),
    }
    for name, survey in surveys.items():
        tally = dn.simulate(survey, dn.lab.zipf(symbols, 1), 10**5, np.random.default_rng(0))
        seen = dn.decode(tally, constraint=dn.Unconstrained())
        raw, errors = seen.raw, seen.standard_errors

        def plain(raw: Floats = raw, errors: Floats = errors) -> None:
            table = np.exp(-0.5 * ((raw[:, None] - shares) / errors[:, None]) ** 2)
            weights = np.full(len(shares), 1 / len(shares))
            for _ in range(1000):
                weights = weights * (table.T @ (1 / (table @ weights))) / len(table)
            project(table @ (weights * shares) / (table @ weights))

        what, reference = f"{name}, {symbols} symbols", "1,000 steps of EM on 400 shares"
        yield compare(what, reference, partial(dn.decode, tally), plain, SMALL_TARGETS[name], rounds=7, clock=CPU)
    yield numbers()


def numbers() -> Line:
    """The default decoder on a quantity of 1,024 bins, against steps of expectation maximisation in plain NumPy."""
    survey, x = dn.number(0, 1, 1, bins=1024), np.arange(1024) / 1024
    p = np.exp(-0.5 * ((x - 0.3) / 0.07) ** 2) + 0.7 * np.exp(-0.5 * ((x - 0.75) / 0.05) ** 2)
    tally = dn.simulate(survey, p / p.sum(), 10**5, np.random.default_rng(0))
    miss, r = survey.mechanism.affine
    own, counts, cells = survey.hashes, tally.counts[0].astype(np.float64), np.arange(survey.cells)
    after, before = np.minimum(cells + 1, 1024), np.maximum(cells + 1 - own, 0)

    def plain() -> None:
        shares = np.full(1024, 1 / 1024)
        for _ in range(1000):
            sums = np.append(0.0, np.cumsum(shares))
            ratios = np.append(0.0, np.cumsum(counts / (miss + r * (sums[after] - sums[before]))))
            shares = shares * (miss * ratios[-1] + r * (ratios[own:] - ratios[:1024])) / tally.n

    what, reference = "a number, 1,024 bins, two peaks", "1,000 steps of EM on the bins"
    return compare(what, reference, partial(dn.decode, tally), plain, NUMBERS_TARGET, rounds=7, clock=CPU)


def _elsewhere(what: str) -> tuple[float, float]:
    """Seconds of the processor and bytes at the peak, of a process of its own."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.decoding", what], capture_output=True, check=True)
    spent, peak = map(float, done.stdout.split())
    return spent, peak


def _system() -> tuple[sparse.csr_array, Floats]:
    """The equations of one tally as SciPy would have them."""
    design, tallies = problem(1)
    return _sparse(design), unbias(tallies[0]).ravel()


def _sparse(design: Design) -> sparse.csr_array:
    """H of a design with one hash."""
    cohorts, _, symbols = design.table.shape
    rows = (design.table[:, 0].astype(np.int64) + np.arange(cohorts)[:, None] * design.cells).ravel()
    places = rows, np.tile(np.arange(symbols), cohorts)
    return sparse.csr_array((np.ones(rows.size), places), shape=(design.cells * cohorts, symbols))


def errors() -> Work:
    """The standard errors and simultaneous intervals of one estimate."""
    estimate = dn.decode(problem(1)[1][0], decoder=LeastSquares())

    def work() -> None:
        estimate.intervals(simultaneous=True)
        assert np.isfinite(estimate.standard_errors).all()

    return work


def plain_errors() -> Work:
    """The diagonal of (H'H)^-1 H' V H (H'H)^-1 with dense matrices, V the variances of the cells."""
    matrix, right = _system()

    def work() -> None:
        variances = sparse.diags_array(np.abs(right) / 1000)
        inverse = np.linalg.inv((matrix.T @ matrix).toarray())
        inner = (matrix.T @ variances @ matrix).toarray()
        np.sqrt(np.einsum("ij,ij->i", inverse @ inner, inverse))

    return work


def _listed() -> tuple[dn.Survey, list[str], Tally]:
    """A thousand Zipf shares among a million strings."""
    survey = dn.orr(epsilon=4, cells=64, cohorts=256, seed=bytes(16))
    names = [f"https://site-{i}.example/" for i in range(MANY)]
    tally = dn.simulate(survey, dn.lab.zipf(1000, 1), 10**8, np.random.default_rng(0), symbols=names[::1000])
    return survey, names, tally


def candidates() -> Work:
    """Decode them, with intervals."""
    _, names, tally = _listed()

    def work() -> None:
        estimate = dn.decode(tally, candidates=names)
        estimate.intervals()
        found = np.flatnonzero(estimate.probabilities)
        assert len(found) > 700
        assert (found % 1000 == 0).mean() > 0.99

    return work


def plain_candidates() -> Work:
    """One pass: hash every string, look up its cell in every cohort, add the cells' estimates up."""
    survey, names, tally = _listed()

    def work() -> None:
        digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names)
        keys = np.frombuffer(digests, np.int64)
        estimates = unbias(tally)
        scores = np.zeros(MANY)
        for cohort in range(survey.cohorts):
            scores += estimates[cohort][limits.hashed_cells(keys, cohort, survey.cells)]

    return work


PROCESSES: dict[str, Callable[[], Work]] = {
    "standard errors": errors,
    "plain standard errors": plain_errors,
    "10^6 candidates": candidates,
    "plain 10^6 candidates": plain_candidates,
}
# What, the reference, and how many times its time and its memory ours may take.
ELSEWHERE = (
    ("standard errors", "a dense inverse and a product", 1.25, 1.25),
    ("10^6 candidates", "one pass of hashing and scoring", 10.0, 2.0),
)

if __name__ == "__main__":
    if sys.argv[1] == SMALL:
        print(json.dumps([asdict(line) for line in small_surveys()]))
        sys.exit()
    chosen = PROCESSES[sys.argv[1]]()
    spent = timed(chosen, CPU)
    # Not ru_maxrss, which a child process inherits from its parent.
    high = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(spent, int(high.split()[1]) * 1024)
