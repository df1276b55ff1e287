"""Counts of reports, which are all that a collector keeps, and the validation of reports before they are counted."""

from deniable.tally.checking import refused_rows, split_rows
from deniable.tally.form_rows import answered_parts, count_part, refused_forms, refused_slots, slots_of
from deniable.tally.form_tally import FormTally
from deniable.tally.tally import Tally

__all__ = [
    "FormTally",
    "Tally",
    "answered_parts",
    "count_part",
    "refused_forms",
    "refused_rows",
    "refused_slots",
    "slots_of",
    "split_rows",
]
