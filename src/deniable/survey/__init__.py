"""Surveys, the public parameters that clients, collector and analyst share, and presets that make them."""

from typing import TypeAlias

from deniable.survey.alphabet import (
    TEXTS,
    Alphabet,
    Symbol,
    canonical_symbol,
    read_candidates,
    symbol_bytes,
    symbol_from_json,
    symbol_to_json,
)
from deniable.survey.blocks import MAX_CELLS, Hadamard, Projective, is_prime
from deniable.survey.budgets import Optimum, budgets_table
from deniable.survey.channels import blocks, channel, sensitive, sensitive_designs, sensitive_positions, ubd, urr
from deniable.survey.encodings import BlockEncoding, Direct, Encoding, Hashed, Permuted
from deniable.survey.form import SPENDINGS, Form
from deniable.survey.form_format import FormFormat, Slot
from deniable.survey.form_making import form
from deniable.survey.hand_designs import DESIGNS, design
from deniable.survey.hashing import FEISTEL_ROUNDS, GAMMA, feistel_sides, fingerprint, fingerprints
from deniable.survey.neighbours import Neighbours, best_reach
from deniable.survey.notebook import Bar, data_frame, facts, html_table
from deniable.survey.numbers import Numbers
from deniable.survey.open_presets import discovery, olh, orappor, orr
from deniable.survey.outputs import descriptor_of, output_file, write_atomically
from deniable.survey.participation import (
    PARTICIPATIONS,
    WINDOWS,
    first_hour,
    first_minute,
    next_turn,
    participation_words,
    window_number,
)
from deniable.survey.picture import Picture
from deniable.survey.prefixes import END, MAX_LENGTH, OVERLONG, Prefixes, default_levels
from deniable.survey.presets import PRESETS, hadamard, krappor, krr, oue, projective, subset, warner
from deniable.survey.privacy import Privacy
from deniable.survey.quantities import number, ordered
from deniable.survey.questions import NO_ANSWER, FormPart, Question
from deniable.survey.reading import strict_json
from deniable.survey.report_format import Field, ReportFormat, Rule
from deniable.survey.scale import OUTSIDE, Scale, scale_of
from deniable.survey.sql import DIALECTS, sql_refusals
from deniable.survey.strength import SCALE, bound_of, is_at_least, strength
from deniable.survey.survey import Survey, checked_name

Agreement: TypeAlias = Survey | Form  # what a device answers: one question, or several


def read_agreement(fields: object) -> Agreement:
    """The survey or the form in a JSON object that is already parsed; its field `format` says which."""
    is_form = isinstance(fields, dict) and str(fields.get("format")).startswith("deniable-form/")
    return Form.from_fields(fields) if is_form else Survey.from_fields(fields)


def check_agreement(value: object, hint: str = "") -> Agreement:
    """Return `value` if it is a survey or a form; otherwise raise the error of `Survey.check`."""
    return value if isinstance(value, Form) else Survey.check(value, hint)


__all__ = [
    "DESIGNS",
    "DIALECTS",
    "END",
    "FEISTEL_ROUNDS",
    "GAMMA",
    "MAX_CELLS",
    "MAX_LENGTH",
    "NO_ANSWER",
    "OUTSIDE",
    "OVERLONG",
    "PARTICIPATIONS",
    "PRESETS",
    "SCALE",
    "SPENDINGS",
    "TEXTS",
    "WINDOWS",
    "Agreement",
    "Alphabet",
    "Bar",
    "BlockEncoding",
    "Direct",
    "Encoding",
    "Field",
    "Form",
    "FormFormat",
    "FormPart",
    "Hadamard",
    "Hashed",
    "Neighbours",
    "Numbers",
    "Optimum",
    "Permuted",
    "Picture",
    "Prefixes",
    "Privacy",
    "Projective",
    "Question",
    "ReportFormat",
    "Rule",
    "Scale",
    "Slot",
    "Survey",
    "Symbol",
    "best_reach",
    "blocks",
    "bound_of",
    "budgets_table",
    "canonical_symbol",
    "channel",
    "check_agreement",
    "checked_name",
    "data_frame",
    "default_levels",
    "descriptor_of",
    "design",
    "discovery",
    "facts",
    "feistel_sides",
    "fingerprint",
    "fingerprints",
    "first_hour",
    "first_minute",
    "form",
    "hadamard",
    "html_table",
    "is_at_least",
    "is_prime",
    "krappor",
    "krr",
    "next_turn",
    "number",
    "olh",
    "orappor",
    "ordered",
    "orr",
    "oue",
    "output_file",
    "participation_words",
    "projective",
    "read_agreement",
    "read_candidates",
    "scale_of",
    "sensitive",
    "sensitive_designs",
    "sensitive_positions",
    "sql_refusals",
    "strength",
    "strict_json",
    "subset",
    "symbol_bytes",
    "symbol_from_json",
    "symbol_to_json",
    "ubd",
    "urr",
    "warner",
    "window_number",
    "write_atomically",
]
