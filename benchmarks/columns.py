"""Bulk privatize and count against plain NumPy doing the same work, and files against Arrow reading them."""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from time import process_time

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import deniable as dn
from benchmarks import limits
from benchmarks.measure import Line, compare
from deniable.columns.encode import cell_table, cells_at, keys_of
from deniable.engines import count_files

N = 2_000_000
S, K, C = 256, 16, 64
FILE_ROWS = 10_000_000
FORMS, QUESTIONS, ANSWERS = 1_000_000, 30, 16  # rows, and what each of them answers
EPSILON = 1.0  # of the mechanisms that came after the paper


def lines() -> Iterator[Line]:
    yield from _lines()
    yield from newer()


def _lines() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, S, N)
    names = [f"symbol number {i}" for i in range(S)]
    text = pa.array(names).take(pa.array(codes))
    krr, orr = dn.krr(symbols=S, epsilon=2), dn.orr(symbols=S, epsilon=2, cells=K, cohorts=C)
    cells = cell_table(orr.encoding, keys_of(orr, orr.symbols or ()))[:, 0]

    def numpy_krr() -> object:
        lies = rng.integers(0, S - 1, N)
        return np.where(rng.random(N) < float(krr.mechanism.hit), codes, lies + (lies >= codes))

    def numpy_orr() -> object:
        cohorts = rng.integers(0, C, N)
        truth = cells[cohorts, codes]
        lies = rng.integers(0, K - 1, N)
        return cohorts, np.where(rng.random(N) < float(orr.mechanism.hit), truth, lies + (lies >= truth))

    what = "NumPy's Generator on codes, plain vector code"
    yield compare(
        "privatize, k-RR, codes", what, lambda: dn.privatize(krr, codes), numpy_krr, 3, per=N, clock=process_time
    )
    yield compare(
        "privatize, O-RR, codes", what, lambda: dn.privatize(orr, codes), numpy_orr, 3, per=N, clock=process_time
    )

    yield _table(rng, codes)
    yield form_line(rng)

    # Strings may cost twice what codes may: six times NumPy, which still starts from codes.
    krr_text, orr_text = dn.krr(symbols=names, epsilon=2), dn.orr(symbols=names, epsilon=2, cells=K, cohorts=C)
    yield compare("privatize, k-RR, strings", what, lambda: dn.privatize(krr_text, text), numpy_krr, 6, per=N)
    yield compare("privatize, O-RR, strings", what, lambda: dn.privatize(orr_text, text), numpy_orr, 6, per=N)

    for name, survey in (("k-RR", krr), ("O-RR", orr)):
        table = dn.privatize(survey, codes)
        combined = table.cohorts.astype(np.int64) * survey.columns + table.responses
        size = survey.cohorts * survey.columns
        yield compare(
            f"count, {name} columns",
            "np.bincount on the combined index",
            lambda survey=survey, table=table: dn.count(survey, table),  # type: ignore[misc]
            lambda combined=combined, size=size: np.bincount(combined, minlength=size),  # type: ignore[misc]
            2,
            per=N,
            clock=process_time,
        )

    yield from _files(rng)
    yield from _bits(rng)


def table_of(answers: int, columns: int) -> tuple[npt.NDArray[np.float64], dn.Survey]:
    """A table with nothing regular about it, and its survey."""
    rows = np.random.default_rng(1).dirichlet(np.full(columns, 50.0), answers)
    return rows, dn.channel(rows, epsilon=4)


def _table(rng: np.random.Generator, codes: npt.NDArray[np.int64]) -> Line:
    """Table of 256 x 320, against one search in all of its rows laid end to end, with plain random numbers."""
    rows, survey = table_of(S, 320)
    edges = (np.cumsum(rows, axis=1) + np.arange(S)[:, None]).ravel()
    ours = partial(dn.privatize, survey, codes)
    what = "np.searchsorted in the same table, NumPy's Generator"

    def plain() -> object:
        return np.searchsorted(edges, rng.random(N) + codes) - codes * rows.shape[1]

    return compare("privatize, a table of 256 x 320", what, ours, plain, 3, per=N, rounds=3, clock=process_time)


def form_line(rng: np.random.Generator) -> Line:
    """Forms of 30 questions, in CPU time: all columns of a table, against one of them, the next one each time."""
    names = [f"q{i}" for i in range(QUESTIONS)]
    survey = dn.krr(ANSWERS, epsilon=1)
    form = dn.form(dict.fromkeys(names, survey), epsilon=8)
    columns = {name: rng.integers(0, ANSWERS, FORMS) for name in names}
    following = cycle(columns.values())
    return compare(
        f"privatize, forms of {QUESTIONS} questions",
        "privatize, one k-RR column of the same table",
        lambda: dn.privatize(form, columns),
        lambda: dn.privatize(survey, next(following)),
        QUESTIONS,
        per=FORMS,
        clock=process_time,
    )


def _files(rng: np.random.Generator) -> Iterator[Line]:
    """Counting a Parquet file of 131,072 cells, against reading its two columns and throwing them away."""
    survey = dn.orr(epsilon=4, cells=128, cohorts=1024, seed=bytes(16))
    columns = {"cohort": survey.cohorts, "response": survey.columns}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reports.parquet")
        numbers = {name: rng.integers(0, bound, FILE_ROWS).astype(np.uint16) for name, bound in columns.items()}
        pq.write_table(pa.table(numbers), path)

        def read() -> None:
            for _ in pq.ParquetFile(path).iter_batches(batch_size=1 << 19, columns=list(columns)):
                pass

        what = "Arrow reading the two columns and throwing them away"
        line = "count, 10^7 rows of Parquet"
        yield compare(line, what, lambda: count_files(survey, path), read, 1.5, per=FILE_ROWS)


def _bits(rng: np.random.Generator) -> Iterator[Line]:
    """Packed reports of 128 bits, in CPU time, against unpacking and adding them up, cohort by cohort."""
    packed = rng.integers(0, 256, (N, 16)).astype(np.uint8)
    for cohorts in (1, 64):
        of = rng.integers(0, cohorts, N).astype(np.uint8)
        survey = dn.orappor(epsilon=1, cells=128, cohorts=cohorts, seed=bytes(16))
        yield compare(
            f"count, 128 bits, {cohorts} cohorts",
            "np.unpackbits and a sum",
            partial(dn.count, survey, dn.ReportTable(survey, of, packed)),
            partial(_plain_bits, of, packed, cohorts),
            1,
            rounds=5,
            per=N,
            clock=process_time,
        )


def _plain_bits(of: npt.NDArray[np.uint8], packed: npt.NDArray[np.uint8], cohorts: int) -> list[limits.Ints]:
    return [limits.count_bits(packed[of == cohort], 128) for cohort in range(cohorts)]


# How many times what NumPy takes each may take. OLH looks its cells up by the fingerprints of open answers.
TARGETS = {"OUE": 2.0, "OLH": 6.0, "SS": 1.0, "HR": 3.0, "PGR": 3.0}


def newer() -> Iterator[Line]:
    """The mechanisms that came after the paper."""
    rng = np.random.default_rng(0)
    surveys = {
        "OUE": dn.oue(S, epsilon=EPSILON),
        "OLH": dn.olh(epsilon=EPSILON),
        "SS": dn.subset(S, epsilon=EPSILON),
        "HR": dn.hadamard(S, epsilon=EPSILON),
        "PGR": dn.projective(S, epsilon=EPSILON),
    }
    for name, survey in surveys.items():
        bits = not survey.mechanism.one_column
        n = 20_000 if bits else 500_000
        codes = rng.integers(0, S, n)
        plain: Callable[[], object] = partial(_plain(name, survey), codes)
        what = "NumPy's Generator, plain vector code"
        ours: Callable[[], object] = partial(dn.privatize, survey, codes)
        yield compare(
            f"privatize, {name}, codes", what, ours, plain, TARGETS[name], rounds=5, per=n, clock=process_time
        )

        reports = dn.privatize(survey, codes)
        if bits:
            what, target = "np.unpackbits and a sum", 1.5
            plain = partial(limits.count_bits, reports.responses, S)
        else:
            what, target = "np.bincount on the combined index", 3.0
            index = reports.cohorts.astype(np.int64) * survey.columns + reports.responses
            plain = partial(np.bincount, index, minlength=survey.cohorts * survey.columns)
        yield compare(
            f"count, {name}",
            what,
            partial(dn.count, survey, reports),
            plain,
            target,
            rounds=5,
            per=n,
            clock=process_time,
        )


def _plain(name: str, survey: dn.Survey) -> Callable[[limits.Ints], object]:
    """What NumPy does for it, without the exact words."""
    rng = np.random.default_rng(1)
    if name != "PGR":
        return lambda codes: limits.ENCODE[name](codes, S, EPSILON, rng)
    own = cells_at(survey.encoding, np.zeros(S, np.uint8), np.arange(S, dtype=np.uint64))
    mixed = survey.cells * float(survey.mechanism.miss)
    return lambda codes: limits.mixture(codes, own, survey.cells, mixed, rng)
