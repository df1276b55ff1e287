"""What presets have in common: a first stage, which every report may be randomised again from, and its budget."""

from fractions import Fraction

from deniable.mechanisms import Chain, Mechanism, parse_epsilon
from deniable.survey.alphabet import Alphabet
from deniable.survey.encodings import Encoding
from deniable.survey.survey import Survey, checked_name

__all__ = ["budget_of_report", "staged_survey"]


def staged_survey(
    alphabet: Alphabet, encoding: Encoding, first: Mechanism, epsilon_report: object, name: str, participation: str
) -> Survey:
    """The survey whose reports are those of `first`, or are randomised again from it."""
    stages = first if epsilon_report is None else Chain(first, epsilon_report)
    return Survey(alphabet, encoding, stages, checked_name(name), participation)


def budget_of_report(epsilon: object, epsilon_report: object) -> Fraction:
    """The epsilon that decides how much one report says, and so which parameters are best.

    >>> budget_of_report(2, None), budget_of_report(2, "1/2")
    (Fraction(2, 1), Fraction(1, 2))
    """
    return parse_epsilon(epsilon) if epsilon_report is None else parse_epsilon(epsilon_report, "epsilon_report")
