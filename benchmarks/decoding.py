"""Least squares, its errors, a million candidates and the simplex projection, each against the plain way to do it.

Times are of the processor, over all threads; peaks of memory are those of processes of their own.
"""

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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
from deniable.design import Design, design_of
from deniable.tally import Tally

S, C, K = 4096, 1024, 16
MANY = 10**6
TALLIES = 100
ACCURACY = 1e-8
Work = Callable[[], None]


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

    one = compare(
        "least squares, one tally",
        "scipy lsqr, atol = btol = 1e-9",
        lambda: decoder.solve(tallies[:1], fresh(design)),
        lambda: lsqr(matrix, right, atol=1e-9, btol=1e-9),
        1 / 1.5,
        rounds=5,
        clock=time.process_time,
    )
    yield one
    together = min(timed(lambda: decoder.solve(tallies, fresh(design)), time.process_time) for _ in range(2)) / TALLIES
    yield Line(f"least squares, each of {TALLIES} tallies", "scipy lsqr, one tally", together, one.theirs, 1 / 6)

    for what, reference, slower, larger in ELSEWHERE:
        (ours, peak), (theirs, its_peak) = _elsewhere(what), _elsewhere(f"plain {what}")
        yield Line(f"{what}, processor time", reference, ours, theirs, slower)
        yield Line(f"{what}, peak memory", reference, peak / 2**20, its_peak / 2**20, larger, unit="MiB")

    crowded, roomy = (listed(count) for count in (4096, 1024))
    what = "4096 candidates, 256 cohorts of 16 cells"
    yield compare(what, "1024 candidates", crowded, roomy, 8, rounds=3, clock=time.process_time)

    values = np.random.default_rng(0).normal(size=10**6) * 1e-6  # all of them contend
    yield compare(
        "simplex projection, 10^6 entries", "np.sort", lambda: project(values), lambda: np.sort(values), 1, rounds=7
    )


def _elsewhere(what: str) -> tuple[float, float]:
    """Seconds of the processor and bytes at the peak, of a process of its own."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.decoding", what], capture_output=True, check=True)
    spent, peak = map(float, done.stdout.split())
    return spent, peak


def _system() -> tuple[sparse.csr_array, npt.NDArray[np.float64]]:
    """The equations of one tally as SciPy would have them."""
    design, tallies = problem(1)
    rows = (design.table[:, 0].astype(np.int64) + np.arange(C)[:, None] * K).ravel()
    matrix = sparse.csr_array((np.ones(rows.size), (rows, np.tile(np.arange(S), C))), shape=(K * C, S))
    return matrix, unbias(tallies[0]).ravel()


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
    chosen = PROCESSES[sys.argv[1]]()
    spent = timed(chosen, time.process_time)
    # Not ru_maxrss, which a child process inherits from its parent.
    high = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(spent, int(high.split()[1]) * 1024)
