"""Counts of reports: all that a collector keeps, and the check that every report passes before it counts."""

from deniable.tally.checking import refused_rows, split_rows
from deniable.tally.tally import Tally

__all__ = ["Tally", "refused_rows", "split_rows"]
