"""Encode, randomise and count whole columns (NumPy, Arrow). Contract tests compare it with the code for one report."""

from deniable.columns.batches import (
    BatchCounter,
    check_digest,
    count_refused,
    refuse_rows,
    report_columns,
    settle_refused,
    tell,
)
from deniable.columns.codes import arrow_or_none, encodable_rows, readable, without_views
from deniable.columns.encode import (
    Cells,
    Words,
    cell_rows,
    cell_table,
    fixed_words,
    keys_of,
    projective_digits,
    words_of_levels,
)
from deniable.columns.form_counting import count_form_table, count_forms
from deniable.columns.form_tables import FormTable, privatize_forms
from deniable.columns.numbers import SpelledNumbers, Unencodable, bins_of
from deniable.columns.randomizing import Answers, privatize, refreshed, samplers
from deniable.columns.said import count_said, places_said, said_codes
from deniable.columns.table import ReportTable
from deniable.columns.tallying import count

__all__ = [
    "Answers",
    "BatchCounter",
    "Cells",
    "FormTable",
    "ReportTable",
    "SpelledNumbers",
    "Unencodable",
    "Words",
    "arrow_or_none",
    "bins_of",
    "cell_rows",
    "cell_table",
    "check_digest",
    "count",
    "count_form_table",
    "count_forms",
    "count_refused",
    "count_said",
    "encodable_rows",
    "fixed_words",
    "keys_of",
    "places_said",
    "privatize",
    "privatize_forms",
    "projective_digits",
    "readable",
    "refreshed",
    "refuse_rows",
    "report_columns",
    "said_codes",
    "samplers",
    "settle_refused",
    "tell",
    "without_views",
    "words_of_levels",
]
