"""Validate many reports at once: `ReportFormat.rules` on NumPy arrays.

The collector, `columns` and the audit use it. It is in `tally` and not in `columns` because the collector's upload path
imports surveys, reports and tallies only.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.survey import Field, ReportFormat, Rule

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


def _outside(values: Array, field: Field) -> Mask | None:
    low = not values.size or values.dtype.kind == "u" or int(values.min()) >= 0
    if low and (not values.size or int(values.max()) < field.limit):
        return None
    return np.asarray((values < 0) | (values >= field.limit))


# Tests that must have passed before values can be in an array.
SETTLED = ("missing", "length")
# A mask of the wrong values by test, or None if there are none.
TESTS: dict[str, Callable[[Array, Field], Mask | None]] = {
    "range": _outside,
    "padding": lambda rows, field: rows[:, -1] >= 1 << field.limit % 8,
    "ones": lambda rows, field: np.bitwise_count(rows).sum(axis=1, dtype=np.int64) != field.ones,
}


def refused_rows(form: ReportFormat, cohorts: Array, responses: Array) -> list[tuple[Rule, Mask]]:
    """The rows that are no reports of the survey, by the first rule that each breaks.

    Parameters
    ----------
    form
        The format of the survey's reports.
    cohorts
        The cohort of every row, as integers of any type.
    responses
        The response of every row: integers, or where responses are bits rows of so many bytes as the format says.

    Returns
    -------
    list
        Every rule that some row breaks, with a mask of the rows whose first it is. Empty if all rows are good.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.krr(symbols=4, epsilon=1).report_format
    >>> [(rule.reason, rows.tolist()) for rule, rows in refused_rows(form, np.array([0, 1]), np.array([4, 4]))]
    [('cohort out of range', [False, True]), ('response out of range', [True, False])]
    """
    values = {"cohort": cohorts, "response": responses}
    found: list[tuple[Rule, Mask]] = []
    for rule in form.rules:
        wrong = None if rule.test in SETTLED else TESTS[rule.test](values[rule.field.name], rule.field)
        if wrong is None:
            continue
        for _, earlier in found:
            wrong &= ~earlier
        if wrong.any():
            found.append((rule, wrong))
    return found


def split_rows(form: ReportFormat, rows: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], Array]:
    """The cohorts and the responses of packed reports, one a row; they may be of another survey or no reports at all.

    Parameters
    ----------
    form
        The format of the survey's reports.
    rows
        Bytes of shape (reports, `form.length`).

    Returns
    -------
    tuple
        Cohorts as integers; responses as integers, or as rows of bytes where they are bits.
    """
    payloads = rows[:, form.payload_start :]
    responses = payloads if form.response.bits else integers_of(payloads)
    return integers_of(rows[:, len(form.head) : form.payload_start]), responses


def integers_of(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Each row as a little-endian integer; rows of no bytes are 0."""
    value = np.zeros(len(rows), np.int64)
    for place in range(rows.shape[1]):
        value |= rows[:, place].astype(np.int64) << np.int64(8 * place)
    return value
