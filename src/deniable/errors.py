"""What can go wrong, as a tree.

    Exception
      DeniableError            every error this package raises on purpose
        SurveyError            a survey that is malformed, out of range, or not what it claims to be
        AlphabetError          a symbol or column that this survey cannot encode (never shows the value)
        WireError              report bytes that do not belong to this survey or are damaged
        TallyError             a tally file that is damaged, or counts that cannot be true
          TallyMismatch        two tallies, or a tally and a report, of different surveys
        DataError              a file of answers or reports that is damaged, of no known format, or not there
        DecodeError            a tally that cannot be decoded as asked
          UnfinishedSearch     a search for text that reached its limit, and can be resumed
          UnknownSymbol        a symbol that was not decoded; also a KeyError
        StateError             a client's state on disk that is foreign, damaged, lost or open to others
        BudgetError            a report past the epsilon that a device may spend
        ParticipationError     a report too soon: this device has answered in this window, or its clock went back
        DeliveryError          a collector that does not take reports, or an address that is none
        AuditError             a client under audit that cannot be asked, or does not answer
        PlanError              a plan that no survey can keep; says what it would take
        StoreError             a collector's store that is foreign, damaged, in use, or cannot be written
        EngineError            Spark that does not start or fails, or is asked for what it cannot do
        MissingExtra           a package that is not installed; names the command that brings it; also an ImportError

Each is also a `ValueError`, so `except ValueError` catches them all. Messages read
`<name> must <rule>, got <value>; <next step>`, and nothing that has seen a true answer is ever put in one.
"""

import sys
from typing import Any, Self

__all__ = [
    "AlphabetError",
    "AuditError",
    "BudgetError",
    "DataError",
    "DecodeError",
    "DeliveryError",
    "DeniableError",
    "EngineError",
    "MissingExtra",
    "ParticipationError",
    "PlanError",
    "StateError",
    "StoreError",
    "SurveyError",
    "TallyError",
    "TallyMismatch",
    "UnfinishedSearch",
    "UnknownSymbol",
    "WireError",
    "is_installed",
    "require",
]

# The extras of pyproject.toml, and the packages that each must bring, by the names that this code imports.
_ANALYSIS = ("numpy", "scipy", "pyarrow", "cryptography")
_CHARTS = ("altair", "vl_convert")
EXTRAS = {
    "analysis": _ANALYSIS,
    "charts": _CHARTS,
    "serve": (*_ANALYSIS, *_CHARTS, "uvicorn", "httptools", "uvloop", "msgspec"),
    "postgres": ("psycopg",),
    "relations": (*_ANALYSIS, "formulaic"),
    "spark": (*_ANALYSIS, "pyspark"),
}


class DeniableError(ValueError):
    """The root of every error that this package raises on purpose.

    Examples
    --------
    >>> from deniable import errors
    >>> issubclass(errors.WireError, errors.DeniableError) and issubclass(errors.WireError, ValueError)
    True
    """

    reason: str | None = None  # the same as the sentence in a word, where a page says it in another language

    def because(self, reason: str | None) -> Self:
        """The same error with its reason in a word, from which a page says it in its language.

        Parameters
        ----------
        reason
            The word; None where there is none.

        Returns
        -------
        DeniableError
            This error.

        Examples
        --------
        >>> DecodeError("candidates must be fewer").because("many").reason
        'many'
        """
        self.reason = reason
        return self


class SurveyError(DeniableError):
    """A survey is malformed, out of range, or not what its digest says."""


class AlphabetError(DeniableError):
    """A symbol cannot be encoded by this survey. The message never contains the symbol."""


class WireError(DeniableError):
    """Report bytes are truncated, padded, of another survey, or out of range."""


class TallyError(DeniableError):
    """A tally file is damaged, or holds counts that no set of reports could produce."""


class TallyMismatch(TallyError):
    """Counts of two different surveys met.

    Parameters
    ----------
    message : str
        The sentence.
    ours, theirs : str
        The digests of the two surveys; attributes of the same names.
    """

    def __init__(self, message: str, *, ours: str, theirs: str) -> None:
        super().__init__(message)
        self.ours = ours
        self.theirs = theirs


class DataError(DeniableError):
    """A file of answers or reports is cut off, damaged, of no known format, or lacks a column."""


class DecodeError(DeniableError):
    """The tally cannot be decoded as asked: wrong decoder, no candidates, no reports."""


class UnfinishedSearch(DecodeError):
    """A search for text reached its limit of time or candidates.

    Parameters
    ----------
    message : str
        The sentence.
    beginnings : Beginnings
        Where it can be resumed.

    Examples
    --------
    >>> UnfinishedSearch("a search must end within its limits", beginnings=None).beginnings is None
    True
    """

    def __init__(self, message: str, *, beginnings: Any) -> None:
        super().__init__(message)
        self.beginnings = beginnings


class UnknownSymbol(DecodeError, KeyError):
    """An estimate was asked for a symbol that was not decoded."""

    __str__ = Exception.__str__  # a KeyError would put its message into quotes


class StateError(DeniableError):
    """A client's state is foreign, damaged, lost or open to others; the client stops instead of inventing noise."""


class BudgetError(DeniableError):
    """One more report would spend more than this device may; nothing was reported."""


class ParticipationError(DeniableError):
    """The survey takes one answer of a device in a window of time, and it was given; nothing was reported."""


class DeliveryError(DeniableError):
    """The collector does not take these reports, or the address is none; they wait in the outbox."""


class AuditError(DeniableError):
    """A client under audit cannot be run, does not answer, or is asked for what it cannot be given."""


class PlanError(DeniableError):
    """No survey does what the plan asks for.

    Parameters
    ----------
    message : str
        The sentence.
    least : float, optional
        The smallest error that any survey has; an attribute.
    people : dict of float to float, optional
        For some epsilons, in nats, the number of people with whom the error would be met; an attribute.
    """

    def __init__(self, message: str, *, least: float | None = None, people: dict[float, float] | None = None) -> None:
        super().__init__(message)
        self.least = least
        self.people = people or {}


class StoreError(DeniableError):
    """A collector's store is foreign, damaged, in use by another process, or cannot be written."""


class EngineError(DeniableError):
    """Spark does not start, fails, or is asked for what it cannot do."""


class MissingExtra(DeniableError, ImportError):
    """A package is not installed; the message names the command that installs it."""


def require(purpose: str, *extras: str) -> None:
    """Refuse to go on unless every package of these extras is installed. Nothing is imported.

    Parameters
    ----------
    purpose
        What the packages are for, in words that follow "must be installed".
    extras
        Names of `EXTRAS`.

    Raises
    ------
    MissingExtra
        For the first package that is not there.

    Examples
    --------
    >>> require("to use deniable.decode", "analysis")
    """
    for package in dict.fromkeys(package for extra in extras for package in EXTRAS[extra]):
        if not is_installed(package):
            command = f"pip install 'deniable[{','.join(extras)}]'"
            raise MissingExtra(f"{package} must be installed {purpose}, and is not; run {command}")


def is_installed(package: str) -> bool:
    """Whether a package could be imported. Nothing is imported.

    Parameters
    ----------
    package : str
        Its name in an import statement.

    Returns
    -------
    bool
        Whether it is there.

    Examples
    --------
    >>> is_installed("json"), is_installed("a_package_that_nobody_made")
    (True, False)
    """
    if package in sys.modules:
        return sys.modules[package] is not None
    from importlib.util import find_spec

    return find_spec(package) is not None
