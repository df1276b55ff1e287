"""Encode, randomise and count whole columns (NumPy, Arrow). Contract tests compare it with the code for one report."""

from deniable.columns.batches import BatchCounter, check_digest, refuse_rows, report_columns, tell
from deniable.columns.codes import Unencodable, arrow_or_none, encodable_rows, readable, without_views
from deniable.columns.encode import Cells, cell_table, keys_of
from deniable.columns.randomizing import privatize
from deniable.columns.table import ReportTable
from deniable.columns.tallying import count

__all__ = [
    "BatchCounter",
    "Cells",
    "ReportTable",
    "Unencodable",
    "arrow_or_none",
    "cell_table",
    "check_digest",
    "count",
    "encodable_rows",
    "keys_of",
    "privatize",
    "readable",
    "refuse_rows",
    "report_columns",
    "tell",
    "without_views",
]
