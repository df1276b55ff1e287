"""Encode, privatize and count on whole columns (NumPy, Arrow), tied to the one-at-a-time code by contract tests."""

from deniable.columns.randomizing import privatize
from deniable.columns.table import ReportTable
from deniable.columns.tallying import count

__all__ = ["ReportTable", "count", "privatize"]
