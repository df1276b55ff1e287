"""Bulk privatize and count against plain NumPy doing the same work."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import deniable as dn
from benchmarks.measure import Line, compare
from deniable.columns.encode import cell_table, keys_of

N = 2_000_000
S, K, C = 256, 16, 64


def lines() -> Iterator[Line]:
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
    yield compare("privatize, k-RR, codes", what, lambda: dn.privatize(krr, codes), numpy_krr, 3, per=N)
    yield compare("privatize, O-RR, codes", what, lambda: dn.privatize(orr, codes), numpy_orr, 3, per=N)

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
        )
