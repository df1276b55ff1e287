"""What clients and analyst agree on in public, and the presets that carry the paper's names."""

from deniable.survey.alphabet import Alphabet, Symbol
from deniable.survey.blocks import Hadamard, Projective
from deniable.survey.encodings import BlockEncoding, Direct, Encoding, Hashed, Permuted
from deniable.survey.files import descriptor_of, output_file, write_atomically
from deniable.survey.presets import hadamard, krappor, krr, olh, orappor, orr, oue, projective, subset, warner
from deniable.survey.reading import strict_json
from deniable.survey.report_format import Field, ReportFormat, Rule
from deniable.survey.sql import DIALECTS
from deniable.survey.survey import Survey

__all__ = [
    "DIALECTS",
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
    "descriptor_of",
    "hadamard",
    "krappor",
    "krr",
    "olh",
    "orappor",
    "orr",
    "oue",
    "output_file",
    "projective",
    "strict_json",
    "subset",
    "warner",
    "write_atomically",
]
