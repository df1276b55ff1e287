"""Counts of reports, which are all that a collector keeps, and the validation of reports before they are counted."""

from deniable.tally.checking import refused_rows, split_rows
from deniable.tally.tally import Tally

__all__ = ["Tally", "refused_rows", "split_rows"]
