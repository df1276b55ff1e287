"""The format of a survey's reports, as data: which reports are valid, and where their fields are.

A report has fields: the cohort, then the response. A field is a number below a limit, or a row of bits. Every reader is
derived from this: one report at a time (`reports`), packed rows and columns (`tally.checking`), SQL and Spark
(`survey.sql`). `tests/contracts/test_readers.py` runs one table of good and bad rows through all of them, and through
the JavaScript client.

A reader has an entry for every test in `TESTS`. A survey with another field is one more `Field`, and a field with
another rule one more test.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from deniable.mechanisms import Mechanism

__all__ = ["TESTS", "Field", "ReportFormat", "Rule"]

WIRE_VERSION = 1  # of packed reports: their first byte
PREFIX = 8  # bytes of the survey's digest in a packed report (decision 0005)


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a report: a number below `limit`, or if `bits` a row of `limit` bits, of which `ones` are set.

    Packed, a number is little-endian; bit j stands in byte j // 8 at place j % 8. A table of reports has a column of
    integers for a number, and of bytes for bits.
    """

    name: str
    size: int  # bytes in a packed report
    limit: int
    bits: bool = False
    ones: int | None = None  # None: any number of bits


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for the values of a field: the reason for refusing one, and the name of the test in `TESTS`."""

    reason: str
    field: Field
    test: str


def _bits(value: bytes) -> int:
    return int.from_bytes(value, "little")


# Each test returns whether a value is wrong. The value is an integer, or bytes if the field has bits, or None if it is
# missing in a table.
TESTS: dict[str, Callable[[Any, Field], bool]] = {
    "missing": lambda value, field: value is None,
    "length": lambda value, field: len(value) != field.size,
    "range": lambda value, field: not 0 <= value < field.limit,
    "padding": lambda value, field: _bits(value) >> field.limit != 0,
    "ones": lambda value, field: _bits(value).bit_count() != field.ones,
}


def _rules(fields: Iterable[Field]) -> Iterable[Rule]:
    """The rules in the order in which they are applied: a row is refused for the first that finds something."""
    parts = tuple(fields)
    yield from (Rule(f"no {part.name}", part, "missing") for part in parts)
    yield from (Rule(f"{part.name} of another length", part, "length") for part in parts if part.bits)
    for part in parts:
        if not part.bits:
            yield Rule(f"{part.name} out of range", part, "range")
            continue
        impossible = f"{part.name} that the mechanism cannot produce"
        if part.limit % 8:
            yield Rule(impossible, part, "padding")
        if part.ones is not None:
            yield Rule(impossible, part, "ones")


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """The bytes that every report of a survey begins with, its fields, and the rules that its rows obey.

    >>> import deniable as dn
    >>> form = dn.subset(symbols=5, epsilon=1, size=2).report_format
    >>> form.length, form.response
    (10, Field(name='response', size=1, limit=5, bits=True, ones=2))
    >>> [rule.test for rule in form.rules]
    ['missing', 'missing', 'length', 'range', 'padding', 'ones']
    >>> form.refusal(0, b"\\x07").reason
    'response that the mechanism cannot produce'
    """

    head: bytes
    cohort: Field
    response: Field
    rules: tuple[Rule, ...] = field(repr=False)

    @classmethod
    def of(cls, mechanism: Mechanism, cohorts: int, digest: str) -> "ReportFormat":
        """The format of a survey's reports.

        Parameters
        ----------
        mechanism
            Says how many columns there are, whether a response is the number of one or a bit for each, and how many
            bits every response has.
        cohorts
            How many cohorts there are; a report has as many bytes for one as the last needs, none if there is one.
        digest
            The survey's digest, in hexadecimal.
        """
        cohort = Field("cohort", ((cohorts - 1).bit_length() + 7) // 8, cohorts)
        bits = not mechanism.one_column
        ones = mechanism.hits if bits else None
        response = Field("response", mechanism.payload_bytes, mechanism.columns, bits, ones)
        head = bytes([WIRE_VERSION]) + bytes.fromhex(digest[: 2 * PREFIX])
        return cls(head, cohort, response, tuple(_rules((cohort, response))))

    @property
    def payload_start(self) -> int:
        """Where the response begins in a packed report."""
        return len(self.head) + self.cohort.size

    @property
    def length(self) -> int:
        """Bytes of a packed report."""
        return self.payload_start + self.response.size

    def refusal(self, cohort: int | None, response: int | bytes | None) -> Rule | None:
        """The first rule that a row of a table breaks, or None if the row is a report of this survey."""
        values = {"cohort": cohort, "response": response}
        return next((rule for rule in self.rules if TESTS[rule.test](values[rule.field.name], rule.field)), None)
