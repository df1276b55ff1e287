"""What a client says of itself. No answer, and nothing that depends on one."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Status"]


@dataclass(frozen=True, slots=True)
class Status:
    """How a device stands with one survey. Refused reports are in all four epsilons.

    Parameters
    ----------
    cohort : int
        The device's cohort.
    waiting : int
        Reports in the outbox.
    refused : mapping of str to int
        How many left it without being counted, and why: `closed` or `unknown-survey` if the survey was, `refused` if
        the collector would not take a report itself (`send` said why).
    spent : float
        Epsilon of this survey, in nats, if its answer stayed the same.
    worst : float
        The same, however often it changed.
    total_spent, total_worst : float
        Those of all surveys in the state.

    Examples
    --------
    >>> Status(0, waiting=0, refused={"closed": 2}, spent=1.0, worst=2.0, total_spent=1.0, total_worst=2.0).refused
    {'closed': 2}
    """

    cohort: int
    waiting: int
    refused: Mapping[str, int]
    spent: float
    worst: float
    total_spent: float
    total_worst: float
