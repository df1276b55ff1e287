"""Counting whole columns of reports: one pass, in blocks that stay in cache."""

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import WireError

__all__ = ["count_bits", "count_cells"]

_BLOCK = 1 << 18

# Row b of this table holds the eight bits of byte b, lowest first.
_BITS_OF = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)

Counts = npt.NDArray[np.int64]


def _check_range(values: npt.NDArray[Any], name: str, bound: int) -> None:
    if values.size and not (int(values.min()) >= 0 and int(values.max()) < bound):
        wrong = int(((values < 0) | (values >= bound)).sum())
        raise WireError(f"{name} must be from 0 to {bound - 1} in every report, got {wrong} outside")


def count_cells(
    cohorts: npt.NDArray[Any], responses: npt.NDArray[Any], cohort_count: int, columns: int
) -> tuple[Counts, Counts]:
    """Counts (C, k) and reports (C,) of index reports.

    >>> import numpy as np
    >>> count_cells(np.array([0, 1, 1]), np.array([2, 0, 2]), 2, 3)[0].tolist()
    [[0, 0, 1], [1, 0, 1]]
    """
    _check_range(responses, "response", columns)
    _check_range(cohorts, "cohort", cohort_count)
    size = cohort_count * columns
    totals = np.zeros(size, np.int64)
    block = max(_BLOCK, size)
    for start in range(0, len(cohorts), block):
        # Combining in the narrowest type that holds the index moves half the memory or less.
        narrow: np.dtype[Any] = np.dtype(np.uint16 if size <= 1 << 16 else np.uint32)
        index = responses[start : start + block].astype(narrow)
        if cohort_count > 1:
            index += cohorts[start : start + block].astype(narrow) * narrow.type(columns)
        totals += np.bincount(index, minlength=size)
    counts = totals.reshape(cohort_count, columns)
    return counts, counts.sum(axis=1)


def count_bits(
    cohorts: npt.NDArray[Any], packed: npt.NDArray[np.uint8], cohort_count: int, columns: int
) -> tuple[Counts, Counts]:
    """Counts (C, k) and reports (C,) of packed bit reports: a histogram of each byte, then its eight bits.

    >>> import numpy as np
    >>> count_bits(np.array([0, 1]), np.array([[5], [1]], np.uint8), 2, 3)[0].tolist()
    [[1, 0, 1], [1, 0, 0]]
    """
    _check_range(cohorts, "cohort", cohort_count)
    spare = 8 * packed.shape[1] - columns
    if spare and (packed[:, -1] >> np.uint8(8 - spare)).any():
        raise WireError("response padding bits must be zero in every report")
    counts = np.zeros((cohort_count, packed.shape[1], 8), np.int64)
    block = max(_BLOCK, 256 * cohort_count)
    for start in range(0, len(cohorts), block):
        base = cohorts[start : start + block].astype(np.int64) * 256
        for place in range(packed.shape[1]):
            histogram = np.bincount(base + packed[start : start + block, place], minlength=256 * cohort_count)
            counts[:, place] += histogram.reshape(cohort_count, 256) @ _BITS_OF
    reports = np.bincount(cohorts.astype(np.intp), minlength=cohort_count).astype(np.int64)
    return counts.reshape(cohort_count, -1)[:, :columns].copy(), reports
