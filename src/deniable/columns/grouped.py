"""The result of `survey.sql()`: rows that a database has already counted.

    cohort | cell  | reports | reason      index reports: how often each cell was named in a cohort
    cohort | cells | reports | reason      bit reports: how often each bit was set, as a list; and the reports

A row with a reason counts rows that were refused; its cohort and cell are null.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from deniable.columns.batches import settle_refused
from deniable.errors import WireError
from deniable.mechanisms import whole_number
from deniable.tally import Tally


def is_grouped(names: Sequence[str]) -> bool:
    """Whether columns of these names are a grouped result and not reports."""
    return "reports" in names and ("cell" in names or "cells" in names)


def add_grouped(tally: Tally, rows: Sequence[Any], refused: dict[str, int] | None) -> None:
    """Add the rows of a grouped result: tuples in the order of the query, or dictionaries; all of them or none."""
    survey = tally.survey
    bits = survey.report_format.response.bits
    cell_name = "cells" if bits else "cell"
    counts = np.zeros((survey.cohorts, survey.columns), np.int64)
    reports = np.zeros(survey.cohorts, np.int64)
    bad: dict[str, int] = {}
    for row in rows:
        if isinstance(row, tuple):
            if len(row) not in (3, 4):
                raise WireError(
                    f"a row must be (cohort, {cell_name}, reports) or end with a reason, got {len(row)} fields"
                )
            row = dict(zip(("cohort", cell_name, "reports", "reason"), row, strict=False))
        if "reports" not in row or cell_name not in row:
            raise WireError(
                f"a row must have the fields cohort, {cell_name} and reports, got {sorted(map(str, row))}; "
                "use the query that this survey's sql() prints"
            )
        number = number_in("reports", row["reports"], 2**63 - 1)
        reason = row.get("reason")
        if reason is not None:
            bad[str(reason)] = bad.get(str(reason), 0) + number
            continue
        cohort = number_in("cohort", row.get("cohort", 0), survey.cohorts - 1)
        if not bits:
            counts[cohort, number_in("cell", row["cell"], survey.columns - 1)] += number
        else:
            cells = row["cells"]
            if not isinstance(cells, Sequence) or len(cells) != survey.columns:
                raise WireError(f"cells must be a list of {survey.columns} numbers in every row")
            counts[cohort] += [number_in("cells", cell, 2**63 - 1) for cell in cells]
        reports[cohort] += number
    settle_refused(bad, refused)
    tally.add(counts, reports)


def number_in(name: str, value: object, most: int) -> int:
    """A whole number from 0 to `most`, in whatever type a driver has it."""
    found = whole_number(value)
    if found is None and isinstance(value, (float, Decimal)) and value == value // 1:
        found = int(value)  # what pandas makes of a column with nulls in it, and drivers of a sum
    if found is None:
        raise WireError(f"{name} must be a whole number in every row, got {type(value).__name__}")
    if not 0 <= found <= most:
        raise WireError(f"{name} must be from 0 to {most} in every row, got {found}")
    return found
