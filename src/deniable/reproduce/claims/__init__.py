"""Every empirical sentence of the paper, checked against the tables of `deniable reproduce`.

`check` goes through the sentences in the paper's order. Nothing is known beforehand: verdicts and numbers come from
the tables alone, and a sentence whose rows are missing is "not measured". What counts as a difference, as a match, as
an exception is defined in `deniable.reproduce.claims.rules`, once for all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deniable.reproduce.claims.rules import Verdict
from deniable.reproduce.claims.sentences import CLAIMS, Statement
from deniable.reproduce.claims.tables import Data

__all__ = ["CLAIMS", "Claim", "Statement", "check"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One empirical sentence of the paper and what became of it.

    Parameters
    ----------
    id : str
        A short name, for instance "decoders-projected".
    section : str
        Where the paper says it.
    sentence : str
        What it says.
    verdict : {"holds", "holds except", "does not hold", "not measured"}
        What the tables say.
    measured : str
        The numbers behind the verdict.
    exceptions : str
        Where it does not hold, or nothing.

    Examples
    --------
    >>> check({})[0].verdict
    'not measured'
    """

    id: str
    section: str
    sentence: str
    verdict: Verdict
    measured: str
    exceptions: str


def check(tables: Mapping[str, Sequence[Mapping[str, object]]]) -> list[Claim]:
    """Judge every claim by the tables.

    Parameters
    ----------
    tables : mapping of str to sequences of rows
        What `deniable.reproduce.tables` returned. Tables may be missing.

    Returns
    -------
    list of Claim
        One for each sentence, in the paper's order.

    Examples
    --------
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
