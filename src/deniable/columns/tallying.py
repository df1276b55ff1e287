"""`count`: reports into a tally, whether they come one by one, as columns or already grouped by a database."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from deniable.columns.batches import BatchCounter, check_digest, refuse_rows
from deniable.columns.grouped import add_grouped, is_grouped
from deniable.columns.said import count_said
from deniable.columns.table import ReportTable
from deniable.errors import WireError
from deniable.reports import Report
from deniable.survey import Survey
from deniable.tally import Tally


def count(survey: Survey, reports: Any, *, refused: dict[str, int] | None = None) -> Tally:
    """Count reports into a tally; `deniable.count` without files.

    `reports` is a `ReportTable`, a table with Arrow's C interface (Arrow, pandas, Polars, DuckDB), the result of
    `survey.sql()` as such a table or as a list of rows, or an iterable of these, of reports or of packed bytes. A row
    that is no report is an error. If `refused` is a dictionary such rows are left out, and counted in it by reason.

    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["a", "b"], epsilon=1)
    >>> dn.count(survey, dn.privatize(survey, ["a", "b", "b"])).n
    3
    """
    if survey.mechanism.said and _is_said(reports):
        return count_said(survey, reports, refused)
    tally = Tally(survey)
    _add(tally, reports, refused)
    return tally


def _add(tally: Tally, reports: Any, refused: dict[str, int] | None) -> None:
    if isinstance(reports, (Report, bytes)) or (isinstance(reports, ReportTable) and refused is None):
        tally.accumulate(reports)
    elif hasattr(reports, "__arrow_c_stream__") or hasattr(reports, "__arrow_c_array__"):
        _add_arrow(tally, reports, refused)
    elif isinstance(reports, Iterable) and not isinstance(reports, (str, dict)):
        batch: list[Report | bytes] = []
        rows: list[Any] = []
        for item in reports:
            if isinstance(item, (Report, bytes)):
                batch.append(item)
                if len(batch) == 4096:
                    tally.accumulate(batch)
                    batch = []
            elif isinstance(item, (tuple, dict)):
                rows.append(item)
            else:
                _add(tally, item, refused)
        tally.accumulate(batch)
        if rows:
            add_grouped(tally, rows, refused)
    else:
        raise WireError(f"reports must be a report table, an Arrow table, or reports, got {type(reports).__name__}")


def _is_said(reports: Any) -> bool:
    """Whether these are answers that people gave by hand: a mapping of counts, or one column of values."""
    if isinstance(reports, Mapping) or hasattr(reports, "dictionary_encode") or type(reports).__name__ == "Series":
        return True
    if isinstance(reports, (np.ndarray, list, tuple)) and len(reports):
        return not isinstance(reports[0], (Report, bytes, ReportTable, tuple, dict)) and not hasattr(
            reports[0], "__arrow_c_stream__"
        )
    return False


def _add_arrow(tally: Tally, reports: Any, refused: dict[str, int] | None) -> None:
    import pyarrow as pa

    if hasattr(reports, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(reports)
    else:
        one = pa.record_batch(reports)
        reader = pa.RecordBatchReader.from_batches(one.schema, [one])
    if is_grouped(reader.schema.names):
        add_grouped(tally, reader.read_all().to_pylist(), refused)
        return
    check_digest(tally.survey, reader.schema)
    counter = BatchCounter(tally.survey, refused)
    for batch in [reports] if isinstance(reports, (pa.Table, pa.RecordBatch)) else reader:
        counter.add(batch)
        if refused is None:
            refuse_rows(counter.refused)
    found = counter.tally()
    tally.add(found.counts, found.reports)
