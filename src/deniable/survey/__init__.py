"""What clients and analyst agree on in public, and the presets that carry the paper's names."""

from deniable.survey.alphabet import TEXTS, Alphabet, Symbol
from deniable.survey.blocks import Hadamard, Projective
from deniable.survey.encodings import BlockEncoding, Direct, Encoding, Hashed, Permuted
from deniable.survey.notebook import data_frame, facts, html_table
from deniable.survey.outputs import descriptor_of, output_file, write_atomically
from deniable.survey.participation import (
    PARTICIPATIONS,
    WINDOWS,
    first_hour,
    first_minute,
    participation_words,
    window_number,
)
from deniable.survey.presets import PRESETS, hadamard, krappor, krr, olh, orappor, orr, oue, projective, subset, warner
from deniable.survey.reading import strict_json
from deniable.survey.report_format import Field, ReportFormat, Rule
from deniable.survey.sql import DIALECTS, sql_refusals
from deniable.survey.strength import is_at_least, strength
from deniable.survey.survey import Survey

__all__ = [
    "DIALECTS",
    "PARTICIPATIONS",
    "PRESETS",
    "TEXTS",
    "WINDOWS",
    "Alphabet",
    "BlockEncoding",
    "Direct",
    "Encoding",
    "Field",
    "Hadamard",
    "Hashed",
    "Permuted",
    "Projective",
    "ReportFormat",
    "Rule",
    "Survey",
    "Symbol",
    "data_frame",
    "descriptor_of",
    "facts",
    "first_hour",
    "first_minute",
    "hadamard",
    "html_table",
    "is_at_least",
    "krappor",
    "krr",
    "olh",
    "orappor",
    "orr",
    "oue",
    "output_file",
    "participation_words",
    "projective",
    "sql_refusals",
    "strength",
    "strict_json",
    "subset",
    "warner",
    "window_number",
    "write_atomically",
]
