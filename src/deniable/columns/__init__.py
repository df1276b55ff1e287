"""Encode, privatize and count on whole columns (NumPy, Arrow), tied to the one-at-a-time code by contract tests."""

from deniable.columns.batches import tell
from deniable.columns.encode import Cells, cell_table, keys_of
from deniable.columns.randomizing import privatize
from deniable.columns.table import ReportTable
from deniable.columns.tallying import count

__all__ = ["Cells", "ReportTable", "cell_table", "count", "keys_of", "privatize", "tell"]
