"""`count`: reports in any of our shapes, one at a time or by the column, into a tally."""

from collections.abc import Iterable
from typing import Any

from deniable.columns.table import ReportTable
from deniable.errors import WireError
from deniable.reports import Report
from deniable.survey import Survey
from deniable.tally import Tally

__all__ = ["count"]


def count(survey: Survey, reports: Any) -> Tally:
    """Add up reports: a `ReportTable`, an Arrow table or batch, or an iterable of these, of reports or packed bytes.

    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["a", "b"], epsilon=1)
    >>> dn.count(survey, dn.privatize(survey, ["a", "b", "b"])).n
    3
    """
    tally = Tally(survey)
    _add(tally, reports)
    return tally


def _add(tally: Tally, reports: Any) -> None:
    if isinstance(reports, (ReportTable, Report, bytes)):
        tally.accumulate(reports)
    elif hasattr(reports, "schema") and hasattr(reports, "column"):
        ReportTable.from_arrow(tally.survey, reports).add_to(tally)
    elif isinstance(reports, Iterable) and not isinstance(reports, (str, dict)):
        batch: list[Report | bytes] = []
        for item in reports:
            if isinstance(item, (Report, bytes)):
                batch.append(item)
                if len(batch) == 4096:
                    tally.accumulate(batch)
                    batch = []
            else:
                _add(tally, item)
        tally.accumulate(batch)
    else:
        raise WireError(f"reports must be a report table, an Arrow table, or reports, got {type(reports).__name__}")
