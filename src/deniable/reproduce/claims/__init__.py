"""Every empirical sentence of the paper, checked against the tables of `deniable reproduce`.

`check` goes through the sentences in the paper's order. Nothing is known beforehand: verdicts and numbers come from
the tables alone, and a sentence whose rows are missing is "not measured". What counts as a difference, as a match, as
an exception is defined in `deniable.reproduce.claims.rules`, once for all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deniable.reproduce.claims.registry import CLAIMS, Question
from deniable.reproduce.claims.rules import Verdict
from deniable.reproduce.claims.tables import Data

__all__ = ["CLAIMS", "TABLES_NEEDED", "Claim", "Question", "check"]

TABLES_NEEDED = ("kary", "lines", "baselines", "privacy", "screen")


@dataclass(frozen=True, slots=True)
class Claim:
    """One empirical sentence of the paper and what became of it."""

    id: str
    section: str
    sentence: str
    verdict: Verdict
    measured: str
    exceptions: str


def check(tables: Mapping[str, Sequence[Mapping[str, object]]]) -> list[Claim]:
    """Judge every claim by the tables.

    >>> {claim.verdict for claim in check({})}
    {'not measured'}
    """
    data = Data(tables)
    found = []
    for question in CLAIMS:
        answer = question.ask(data)
        words = question.id, question.section, question.sentence
        found.append(Claim(*words, answer.verdict, answer.measured, answer.exceptions))
    return found
